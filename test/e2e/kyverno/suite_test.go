/*
Copyright 2026 The Kausality Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

// Package kyverno tests Kausality beside an installed Kyverno: the same policy in both, with
// objects of different names and of the same ones, and the hand-over that docs/from-kyverno.md
// describes. Who changed what is read from the audit log.
package kyverno

import (
	"flag"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/failures"
	"kausality.io/operator/test/kyverno"
	"kausality.io/operator/test/stage"
)

const (
	// startTimeout bounds the start of a control plane with Kyverno and an operator.
	startTimeout = 5 * time.Minute
	// specTimeout bounds what has no bound of its own.
	specTimeout = 4 * time.Minute
	// quietMoment is how long nothing may be written for everybody to be done. Kyverno's queue
	// is looked at every second.
	quietMoment = 5 * time.Second
)

// root is where the suite finds what it starts.
var root = filepath.Join("..", "..", "..")

var operatorBin = flag.String("operator", filepath.Join(root, "bin", "manager"), "the operator to test")

var (
	// shared is the cluster of all specs.
	shared *stage.Cluster
	// members are what it runs in.
	members *controlplane.ControlPlane
)

func TestKyverno(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "End to end beside Kyverno")
}

var _ = ReportAfterSuite("What failed", failures.Print)

var _ = BeforeSuite(func(ctx SpecContext) {
	members = stage.StartControlPlane(ctx, controlplane.Options{
		Components: []controlplane.Component{controlplane.Etcd, controlplane.APIServer, controlplane.ControllerManager},
		Nodes:      -1,
	})
	Expect(kyverno.Start(ctx, members, kyverno.Options{})).To(Succeed())
	stage.InstallOperator(ctx, members, controlplane.OperatorOptions{Binary: *operatorBin, Overlay: filepath.Join(root, "config", "dev")})
	shared = stage.Connect(members)
	// Namespaces are triggers: their deletion at the end of a spec would go on in the next one.
	shared.KeepsNamespaces = true
	letGenerate(ctx)
}, NodeTimeout(startTimeout))

var _ = BeforeEach(stage.SetDefaults)
