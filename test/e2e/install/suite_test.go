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

// Package install follows the documentation into a cluster and out of it, word by word: it
// runs the commands of docs/install.md, with the objects that they install as they are. Pods
// are processes on this machine, to which kube-apiserver is led through their Service. Of
// everything in the cluster there is a list, from before and from after. Building what it runs
// takes minutes: this is for "make e2e-install".
package install

import (
	"context"
	"flag"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/failures"
	"kausality.io/operator/test/stage"
)

const (
	// startTimeout bounds the start of a control plane, which takes some ten seconds.
	startTimeout = 3 * time.Minute
	// specTimeout bounds one way in and out, which takes about a minute, where make has nothing to build.
	specTimeout = 8 * time.Minute
	// settled is how long the cluster may take to be as before.
	settled = 2 * time.Minute
)

// root is where the suite finds what it starts.
var root = filepath.Join("..", "..", "..")

// operatorBin is what is under test.
var operatorBin = flag.String("operator", filepath.Join(root, "bin", "manager"), "the operator to test")

// world is the cluster as specs see it, and the processes that are its Pods.
type world struct {
	*stage.Cluster

	cp *controlplane.ControlPlane
	// namespace is that of a team, which is there before Kausality is, and after it.
	namespace string
	// turn counts the connections to Services, which lead to one Pod after the other.
	turn atomic.Int64
	// left are the names of those that Services do not lead to any more.
	left sync.Map
}

var shared *world

func TestInstall(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Installing and removing")
}

var _ = ReportAfterSuite("What failed", failures.Print)

var _ = BeforeSuite(func(ctx SpecContext) { shared = newWorld(ctx) }, NodeTimeout(startTimeout))

var _ = BeforeEach(stage.SetDefaults)

// newWorld starts an empty cluster, which ends with the current spec, container or suite.
func newWorld(ctx context.Context, apiServerFlags ...string) *world {
	GinkgoHelper()
	w := &world{}
	services, err := controlplane.ServeServices(ctx, w.pods)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(services.Close)
	w.cp = stage.StartControlPlane(ctx, controlplane.Options{ExtraAPIServerFlags: append(services.APIServerFlags(), apiServerFlags...)})
	w.Cluster = stage.Connect(w.cp)
	// Kubelets say what they run on.
	nodes := &corev1.NodeList{}
	Expect(w.List(ctx, nodes)).To(Succeed())
	for i := range nodes.Items {
		Expect(w.Patch(ctx, &nodes.Items[i], client.RawPatch(types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"kubernetes.io/os":"linux","kubernetes.io/arch":"amd64"}}}`)))).To(Succeed())
	}
	w.namespace = w.MakeNamespace(ctx, nil)
	return w
}

// pods returns the processes behind the address of a Service: where it selects the Pods of the
// operator, the operators that run, each in turn.
func (w *world) pods(ctx context.Context, address string) []string {
	ip, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil
	}
	services, deployment := &corev1.ServiceList{}, &appsv1.Deployment{}
	if w.List(ctx, services) != nil || w.Get(ctx, operatorKey, deployment) != nil {
		return nil
	}
	template := deployment.Spec.Template
	for i := range services.Items {
		s := &services.Items[i]
		leads := s.Spec.ClusterIP == ip && s.Namespace == operatorKey.Namespace &&
			labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(template.Labels)) &&
			slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool {
				return strconv.Itoa(int(p.Port)) == port && isWebhookPort(p, &template.Spec.Containers[0])
			})
		if leads {
			return w.operators()
		}
	}
	return nil
}

// isWebhookPort reports whether a port of a Service leads to the one that the operator is told to
// serve webhooks at.
func isWebhookPort(port corev1.ServicePort, container *corev1.Container) bool {
	at := port.TargetPort.IntValue()
	for _, p := range container.Ports {
		if p.Name == port.TargetPort.StrVal {
			at = int(p.ContainerPort)
		}
	}
	return slices.Contains(container.Args, "--webhook-port="+strconv.Itoa(at))
}

// operators returns where those that run serve webhooks.
func (w *world) operators() []string {
	addresses := map[string]string{}
	for _, m := range w.cp.Status() {
		if _, left := w.left.Load(m.Name); left || !m.Running || !strings.HasPrefix(m.Name, controlplane.DefaultOperatorName) {
			continue
		}
		for _, arg := range w.cp.Args(m.Name) {
			if port, found := strings.CutPrefix(arg, "--webhook-port="); found {
				addresses[m.Name] = net.JoinHostPort("127.0.0.1", port)
			}
		}
	}
	out := make([]string, 0, len(addresses))
	for _, name := range slices.Sorted(maps.Keys(addresses)) {
		out = append(out, addresses[name])
	}
	if len(out) > 1 {
		first := int(w.turn.Add(1)) % len(out)
		out = slices.Concat(out[first:], out[:first])
	}
	return out
}
