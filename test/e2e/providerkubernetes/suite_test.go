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

// Package providerkubernetes tests the operator together with a published provider,
// provider-kubernetes. What it manages are ConfigMaps, so that the cluster is also the
// cloud, and its audit log says what was asked of that, and by whom. The provider takes
// minutes to build: this is for "make e2e-provider-kubernetes".
package providerkubernetes

import (
	"flag"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/crossplane"
	"kausality.io/operator/test/failures"
	"kausality.io/operator/test/stage"
)

const (
	// startTimeout bounds the start of a control plane with Crossplane and an
	// operator. They take some twenty seconds.
	startTimeout = 5 * time.Minute
	// specTimeout bounds what has no bound of its own.
	specTimeout = 3 * time.Minute
	// poll is how often the provider looks at what there is outside.
	poll = 3 * time.Second
	// twoLooks is longer than the provider takes to look twice.
	twoLooks = 2*poll + time.Second
)

// root is where the suite finds what it starts.
var root = filepath.Join("..", "..", "..")

// operatorBin is what is under test.
var operatorBin = flag.String("operator", filepath.Join(root, "bin", "manager"), "the operator to test")

var (
	// shared is the cluster of all specs.
	shared *world
	// members are what it runs in.
	members *controlplane.ControlPlane
)

// world is the cluster as specs see it.
type world struct {
	*stage.Cluster
}

func TestProviderKubernetes(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "End to end with provider-kubernetes")
}

var _ = ReportAfterSuite("What failed", failures.Print)

var _ = BeforeSuite(func(ctx SpecContext) {
	members = stage.StartControlPlane(ctx, controlplane.Options{})
	shared = &world{stage.Connect(members)}
	Expect(crossplane.Start(ctx, members, crossplane.Options{
		CoreOnly: true,
		Progress: func(line string) { GinkgoWriter.Println(line) },
	})).To(Succeed())
	shared.installProvider(ctx)
	stage.InstallOperator(ctx, members, controlplane.OperatorOptions{
		Binary:  *operatorBin,
		Overlay: filepath.Join(root, "config", "dev"),
		ExtraFlags: []string{
			"--composite-quiet-time=" + quietTime.String(), "--gate-settle-time=" + settleTime.String(),
		},
	})
	shared.offer(ctx, group)
	shared.offer(ctx, adoptedGroup)
	shared.Apply(ctx, policiesFor(group)...)
	shared.Apply(ctx, stage.ParsePolicies(testdata("deletions.yaml", group))...)
}, NodeTimeout(startTimeout))

var _ = BeforeEach(stage.SetDefaults)
