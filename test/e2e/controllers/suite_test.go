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

// Package controllers tests the operator together with published controllers that
// nobody here has written, under the policies of config/samples/controllers. What they
// did, and who was refused, is read from the audit log. Each has a story, which is also
// played where no policy is in effect, to compare what it costs.
package controllers

import (
	"context"
	"encoding/json"
	"flag"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/controllers"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/failures"
	"kausality.io/operator/test/stage"
)

const (
	// startTimeout bounds the start of a control plane with the controllers and an
	// operator. They take some thirty seconds.
	startTimeout = 5 * time.Minute
	// specTimeout bounds what has no bound of its own.
	specTimeout = 4 * time.Minute
	// quietMoment is how long nothing may be written for everybody to be done.
	quietMoment = 4 * time.Second
)

// labelGoverned is on the namespaces that the policies are about.
const labelGoverned = "controllers.example.org/governed"

// root is where the suite finds what it starts.
var root = filepath.Join("..", "..", "..")

// What is under test, and beside what.
var (
	operatorBin = flag.String("operator", filepath.Join(root, "bin", "manager"), "the operator to test")
	started     = flag.String("controllers", "argo-rollouts,cert-manager,prometheus-operator,kustomize-controller,kro", "which controllers to start")
)

// all are the controllers that there are.
var all = []*controllers.Controller{
	controllers.ArgoRollouts, controllers.CertManager, controllers.PrometheusOperator, controllers.KustomizeController,
	controllers.Kro,
}

// world is the cluster as specs see it.
type world struct {
	*stage.Cluster
}

var (
	// shared is the cluster of all specs.
	shared *world
	// members are what it runs in; only the process that runs Serial specs has them.
	members *controlplane.ControlPlane
)

func TestControllers(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "End to end with controllers of others")
}

var _ = ReportAfterSuite("What failed", failures.Print)

var _ = SynchronizedBeforeSuite(func(ctx SpecContext) []byte {
	members = stage.StartControlPlane(ctx, controlplane.Options{})
	wanted := slices.DeleteFunc(slices.Clone(all), func(c *controllers.Controller) bool {
		return !slices.Contains(strings.Split(*started, ","), c.Name)
	})
	Expect(controllers.Start(ctx, members, wanted...)).To(Succeed())
	stage.InstallOperator(ctx, members, controlplane.OperatorOptions{
		Binary: *operatorBin, Overlay: filepath.Join(root, "config", "dev"),
	})
	first := &world{stage.Connect(members)}
	first.applyPolicies(ctx, wanted)
	raw, err := json.Marshal(first)
	Expect(err).NotTo(HaveOccurred())
	return raw
}, func(raw []byte) {
	shared = &world{}
	Expect(json.Unmarshal(raw, shared)).To(Succeed())
	shared.Dial()
}, NodeTimeout(startTimeout))

var _ = BeforeEach(stage.SetDefaults)

// A spec that fails since nobody was asked does not look like it: what it sees is that
// something passed, or that an annotation is not there.
var _ = SynchronizedAfterSuite(func() {}, func() {
	if shared == nil {
		return // It did not start.
	}
	unasked := stage.Unjudged(shared.AuditLog).Requests()
	Expect(describe(unasked)).To(BeEmpty(), "the webhook did not answer, though the operator was there")
})

// samples returns the folders with the policies of a controller, and the names of those that
// are of it where there are others as well.
func samples(c *controllers.Controller) map[string][]string {
	if c == controllers.Kro {
		return nil // Its policies are derived.
	}
	folder := filepath.Join(root, "config", "samples")
	out := map[string][]string{filepath.Join(folder, "controllers", c.Name): nil}
	if c == controllers.ArgoRollouts || c == controllers.KustomizeController {
		out[folder] = []string{"replicaset"}
	}
	return out
}

// applyPolicies applies those of controllers, for the namespaces that are governed.
func (w *world) applyPolicies(ctx context.Context, wanted []*controllers.Controller) {
	GinkgoHelper()
	policies := map[string]*v1alpha1.AllowancePolicy{}
	for _, c := range wanted {
		for folder, names := range samples(c) {
			out, err := w.RunKubectl(ctx, "kustomize", folder)
			Expect(err).NotTo(HaveOccurred(), out)
			for _, p := range stage.ParsePolicies(out) {
				if len(names) == 0 || slices.Contains(names, p.Name) {
					policies[p.Name] = p
				}
			}
		}
	}
	for _, p := range policies {
		p.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{labelGoverned: "true"}}
		Expect(w.Create(ctx, p)).To(Succeed())
	}
	for _, p := range policies {
		w.Enforced(ctx, p, time.Minute)
	}
}

// describe says in a line each who did what.
func describe(events []auditv1.Event) []string {
	var lines []string
	for _, event := range events {
		lines = append(lines, stage.DescribeEvent(&event))
	}
	return lines
}
