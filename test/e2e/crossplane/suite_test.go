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

// Package crossplane tests the operator together with Crossplane: the real core, a
// provider on Crossplane's own runtime, and a cloud that remembers what it was asked
// for. What counts is what reached the cloud.
package crossplane

import (
	"encoding/json"
	"flag"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/crossplane"
	"kausality.io/operator/test/crossplane/cloud"
	"kausality.io/operator/test/crossplane/provider"
	"kausality.io/operator/test/failures"
	"kausality.io/operator/test/stage"
)

const (
	// startTimeout bounds the start of a control plane with Crossplane and an
	// operator. They take some twenty seconds.
	startTimeout = 5 * time.Minute
	// specTimeout bounds what has no bound of its own.
	specTimeout = 4 * time.Minute
	// quietMoment is how long nothing may be written for everybody to be done.
	// Controllers act within milliseconds.
	quietMoment = 2 * time.Second
	// quietTime is how long a composite resource has to be left alone before what it
	// says of itself is believed: some times longer than the slowest composition.
	quietTime = 5 * time.Second
	// settleTime is how long a provider is given that does not say when it is done:
	// longer than the cloud ever takes.
	settleTime = 10 * time.Second
	// poll is how often the provider looks at what the cloud has.
	poll = 3 * time.Second
)

// Groups of databases. They are there from the beginning: the garbage collector takes
// half a minute to know a new kind.
const (
	// plainGroup is one that no policy is about.
	plainGroup = "plain.example.org"
	// governedGroup is one whose policies are about what happens in the cluster.
	governedGroup = "governed.example.org"
	// slowGroup is another one, whose databases take their time to compose.
	slowGroup = "slow.example.org"
)

// Where the suite finds what it starts, and the policies that it applies.
var (
	root    = filepath.Join("..", "..", "..")
	samples = filepath.Join(root, "config", "samples", "crossplane")
)

// What is under test.
var (
	operatorBin   = flag.String("operator", filepath.Join(root, "bin", "manager"), "the operator to test")
	operatorSetup = flag.String("setup", filepath.Join(root, "config", "dev"), "kustomization with what the operator needs in the cluster")
	pluginBin     = flag.String("plugin", filepath.Join(root, "bin", "kubectl-kausality"), "the kubectl plugin to test")
)

// world is what the processes of the suite share.
type world struct {
	*stage.Cluster

	CloudURL string
}

var (
	// shared is the cluster of all specs.
	shared *world
	// members are what it runs in; only the process that runs Serial specs has them.
	members *controlplane.ControlPlane
	// operator is the one under test, where members are.
	operator *controlplane.Operator
)

func TestCrossplane(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "End to end with Crossplane")
}

var _ = ReportAfterSuite("What failed", failures.Print)

var _ = SynchronizedBeforeSuite(func(ctx SpecContext) []byte {
	members = stage.StartControlPlane(ctx, controlplane.Options{})
	Expect(crossplane.Start(ctx, members, crossplane.Options{
		Poll:     poll,
		Progress: func(line string) { GinkgoWriter.Println(line) },
	})).To(Succeed())
	startOlderProvider(ctx)
	operator = stage.InstallOperator(ctx, members, controlplane.OperatorOptions{
		Binary:  *operatorBin,
		Overlay: *operatorSetup,
		ExtraFlags: []string{
			"--composite-quiet-time=" + quietTime.String(), "--upgrade-quiet-time=" + upgradeQuietTime.String(), "--gate-settle-time=" + settleTime.String(),
			"--crossplane-providers=" + olderGroup + "=" + olderProvider, "--crossplane-runtimes=" + olderProvider + "=v1.19.0",
		},
	})
	first := &world{Cluster: stage.Connect(members)}
	first.offer(ctx, plainGroup)
	first.offer(ctx, governedGroup)
	first.offer(ctx, slowGroup)
	first.offer(ctx, deletionGroup)
	first.applySamplePolicies(ctx)
	first.slowDown(ctx, slowGroup, slowness)
	for _, group := range []string{governedGroup, slowGroup} {
		first.govern(ctx, "databases.yaml", group)
	}
	first.governDeletions(ctx)
	first.offerOlder(ctx)
	cluster := stage.Connect(members)
	cluster.KeepsNamespaces = true
	raw, err := json.Marshal(&world{Cluster: cluster, CloudURL: crossplane.CloudURL(members)})
	Expect(err).NotTo(HaveOccurred())
	return raw
}, func(raw []byte) {
	shared = &world{}
	Expect(json.Unmarshal(raw, shared)).To(Succeed())
	shared.Dial()
}, NodeTimeout(startTimeout))

var _ = BeforeEach(stage.SetDefaults)

func init() {
	if err := provider.AddToScheme(stage.Scheme); err != nil {
		panic(err)
	}
}

// cloud returns the cloud, as a test sees it.
func (w *world) cloud() cloud.Client { return cloud.Client{URL: w.CloudURL} }
