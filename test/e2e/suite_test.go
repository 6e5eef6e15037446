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

// Package e2e tests the operator in a whole control plane: the real controllers
// make and scale ReplicaSets and Pods, and the operator, a process of its own,
// decides from outside what they may do. What was written is read from the audit
// log, which does not depend on what the operator says.
package e2e

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/failures"
	"kausality.io/operator/test/stage"
)

const (
	// startTimeout bounds the start of a control plane and an operator. They take
	// some ten seconds.
	startTimeout = 3 * time.Minute
	// specTimeout bounds what has no bound of its own. Most take seconds; on a machine that is
	// busy with something else, a minute.
	specTimeout = 4 * time.Minute
	// quietMoment is how long something is watched that must not happen. Controllers
	// act within milliseconds.
	quietMoment = 2 * time.Second
)

// Where the suite finds what it starts, and the policies that it applies.
var (
	root    = filepath.Join("..", "..")
	samples = filepath.Join(root, "config", "samples")
)

// What is under test: the operator, and what it needs in the cluster.
var (
	operatorBin   = flag.String("operator", filepath.Join(root, "bin", "manager"), "the operator to test")
	shiftedBin    = flag.String("shifted", filepath.Join(root, "bin", "shifted", "manager"), "the same operator, with a clock that can be set")
	operatorSetup = flag.String("setup", filepath.Join(root, "config", "dev"), "kustomization with what the operator needs in the cluster")
)

// labelOwnPolicies is on namespaces that the sample policies leave alone: those
// of specs that bring policies of their own, or want none. Its value is what
// such policies select.
const labelOwnPolicies = "e2e.example.org/policies"

// cluster is how a process of the suite reaches the control plane that all of
// them share.
type cluster struct {
	*stage.Cluster

	ControllerManagerLog, MetricsURL, ReadyURL string
}

var (
	// shared is the cluster of all specs but those that start one of their own.
	shared *cluster
	// operator runs in the shared cluster, and members are that cluster's processes. Only a
	// process that runs specs which are alone has them.
	operator *controlplane.Operator
	members  *controlplane.ControlPlane
	scheme   = stage.Scheme
)

func TestE2E(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "End to end")
}

var _ = ReportAfterSuite("What failed", failures.Print)

// apart says that each process of the suite has a cluster of its own, in which one spec runs
// at a time. Those that need that, as they take the operator away or change what it asks
// about, need not wait for each other then.
var apart = os.Getenv("E2E_APART") != ""

// alone decorates what no other spec may run beside in its cluster.
var alone = func() []any {
	if apart {
		return []any{Label("alone")}
	}
	return []any{Label("alone"), Serial}
}()

var _ = SynchronizedBeforeSuite(func(ctx SpecContext) []byte {
	if apart {
		return nil
	}
	startShared(ctx)
	raw, err := json.Marshal(shared)
	Expect(err).NotTo(HaveOccurred())
	return raw
}, func(ctx SpecContext, raw []byte) {
	if apart {
		startShared(ctx)
		return
	}
	shared = &cluster{}
	Expect(json.Unmarshal(raw, shared)).To(Succeed())
	shared.Dial()
}, NodeTimeout(startTimeout))

// startShared starts the cluster of the specs, with the sample policies.
func startShared(ctx context.Context) {
	GinkgoHelper()
	members, operator = startCluster(ctx, controlplane.Options{})
	shared = connect(members)
	shared.applySamplePolicies(ctx)
}

var _ = BeforeEach(stage.SetDefaults)

// aloneSince is when the specs began that run alone, since some of them take the operator away.
var aloneSince time.Time

var _ = ReportBeforeEach(func(spec SpecReport) {
	if spec.IsSerial && aloneSince.IsZero() {
		aloneSince = time.Now()
	}
})

// A spec that fails since nobody was asked does not look like it: what it sees is that
// something passed, or that an annotation is not there.
var _ = SynchronizedAfterSuite(func() {}, func() {
	if shared == nil || apart {
		return // It did not start, or each spec may have taken the operator away.
	}
	unasked := stage.Unjudged(shared.AuditLog).Requests(func(event *auditv1.Event) bool {
		return aloneSince.IsZero() || event.RequestReceivedTimestamp.Time.Before(aloneSince)
	})
	var lines []string
	for _, event := range unasked {
		lines = append(lines, fmt.Sprintf("%s %s %v", event.RequestReceivedTimestamp.Format(time.RFC3339Nano), describeEvent(&event), event.Annotations))
	}
	Expect(lines).To(BeEmpty(), "the webhook did not answer, though the operator was there")
})

// startCluster starts a control plane and an operator, which end with the
// current spec, container or suite. Their logs are part of the report of a
// failure.
func startCluster(ctx context.Context, opts controlplane.Options) (*controlplane.ControlPlane, *controlplane.Operator) {
	GinkgoHelper()
	cp := startControlPlane(ctx, opts)
	return cp, stage.InstallOperator(ctx, cp, controlplane.OperatorOptions{
		Binary: *operatorBin, Overlay: *operatorSetup, ExtraFlags: []string{"--status-quiet-time=" + statusQuietTime.String()},
	})
}

// statusQuietTime is shorter than the default, as many specs wait for it more than once.
const statusQuietTime = 2 * time.Second

func startControlPlane(ctx context.Context, opts controlplane.Options) *controlplane.ControlPlane {
	GinkgoHelper()
	opts.ExtraControllerManagerFlags = append(opts.ExtraControllerManagerFlags,
		// Autoscalers look every 15 seconds by default.
		"--horizontal-pod-autoscaler-sync-period=1s",
		// The Deployment controller tells of each try that failed.
		"--vmodule=deployment_controller=2")
	return stage.StartControlPlane(ctx, opts)
}

// connect makes the specs' view of a control plane.
func connect(cp *controlplane.ControlPlane) *cluster {
	GinkgoHelper()
	return &cluster{
		Cluster:              stage.Connect(cp),
		ControllerManagerLog: cp.Log(string(controlplane.ControllerManager)),
		MetricsURL:           cp.MetricsURL(controlplane.DefaultOperatorName),
		ReadyURL:             cp.ReadyURL(controlplane.DefaultOperatorName),
	}
}

// newNamespace creates a namespace that the sample policies are about, and which
// goes with the spec.
func (c *cluster) newNamespace(ctx context.Context) string {
	GinkgoHelper()
	return c.MakeNamespace(ctx, nil)
}

// newNamespaceFor creates a namespace that policies select by its label
// labelOwnPolicies, and the sample policies do not.
func (c *cluster) newNamespaceFor(ctx context.Context, policies string) string {
	GinkgoHelper()
	return c.MakeNamespace(ctx, map[string]string{labelOwnPolicies: policies})
}
