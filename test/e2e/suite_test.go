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
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/controlplane"
)

const (
	// startTimeout bounds the start of a control plane and an operator. They take
	// some ten seconds.
	startTimeout = 3 * time.Minute
	// specTimeout bounds what has no bound of its own.
	specTimeout = 2 * time.Minute
	// quietMoment is how long something is watched that must not happen. Controllers
	// act within milliseconds.
	quietMoment = 2 * time.Second
)

// Where the suite finds what it starts, and the policies that it applies.
var (
	root          = filepath.Join("..", "..")
	operatorSetup = filepath.Join(root, "config", "dev")
	samples       = filepath.Join(root, "config", "samples")
)

// operatorBin is the operator under test.
var operatorBin = flag.String("operator", filepath.Join(root, "bin", "manager"), "the operator to test")

// labelOwnPolicies is on namespaces that the sample policies leave alone: those
// of specs that bring policies of their own, or want none. Its value is what
// such policies select.
const labelOwnPolicies = "e2e.example.org/policies"

// cluster is how a process of the suite reaches the control plane that all of
// them share.
type cluster struct {
	Kubeconfig, AuditLog, ControllerManagerLog, Kubectl, MetricsURL string

	config        *rest.Config
	client.Client `json:"-"`
}

var (
	// shared is the cluster of all specs but those that break things.
	shared *cluster
	// operator is the operator in it, and members are what it runs in; only the
	// process that runs Serial specs has them.
	operator *controlplane.Operator
	members  *controlplane.ControlPlane
	scheme   = runtime.NewScheme()
)

func TestE2E(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "End to end")
}

var _ = SynchronizedBeforeSuite(func(ctx SpecContext) []byte {
	cp, installed := startCluster(ctx, controlplane.Options{}, controlplane.OperatorOptions{})
	operator, members = installed, cp
	c := connect(cp)
	c.applySamplePolicies(ctx)
	raw, err := json.Marshal(c)
	Expect(err).NotTo(HaveOccurred())
	return raw
}, func(raw []byte) {
	shared = &cluster{}
	Expect(json.Unmarshal(raw, shared)).To(Succeed())
	shared.dial()
}, NodeTimeout(startTimeout))

var _ = BeforeEach(func() { setDefaults() })

// setDefaults bounds what specs wait for. A step takes some seconds at most; the
// bound is for machines that are busy with other things.
func setDefaults() {
	EnforceDefaultTimeoutsWhenUsingContexts()
	SetDefaultEventuallyTimeout(time.Minute)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	SetDefaultConsistentlyDuration(3 * time.Second)
	SetDefaultConsistentlyPollingInterval(200 * time.Millisecond)
}

func init() {
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
}

// startCluster starts a control plane and an operator, which end with the
// current spec, container or suite. Their logs are part of the report of a
// failure.
func startCluster(ctx context.Context, opts controlplane.Options, install controlplane.OperatorOptions) (*controlplane.ControlPlane, *controlplane.Operator) {
	GinkgoHelper()
	setDefaults()
	logf.SetLogger(zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true)))
	cp := startControlPlane(ctx, opts)
	install.Binary, install.Overlay = *operatorBin, operatorSetup
	installed, err := controlplane.InstallOperator(ctx, cp, install)
	Expect(err).NotTo(HaveOccurred())
	return cp, installed
}

func startControlPlane(ctx context.Context, opts controlplane.Options) *controlplane.ControlPlane {
	GinkgoHelper()
	opts.Progress = func(line string) { GinkgoWriter.Println(line) }
	// Autoscalers look every 15 seconds by default.
	opts.ExtraControllerManagerFlags = append(opts.ExtraControllerManagerFlags, "--horizontal-pod-autoscaler-sync-period=1s")
	cp, err := controlplane.Start(ctx, opts)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(cp.Stop)
	GinkgoWriter.Println("logs are in", cp.Dir())
	return cp
}

// connect makes the specs' view of a control plane, with people in it.
func connect(cp *controlplane.ControlPlane) *cluster {
	GinkgoHelper()
	c := &cluster{
		Kubeconfig:           cp.Kubeconfig(),
		AuditLog:             cp.AuditLog(),
		ControllerManagerLog: cp.Log(string(controlplane.ControllerManager)),
		Kubectl:              filepath.Join(cp.BinDir(), "kubectl"),
		MetricsURL:           cp.MetricsURL(controlplane.DefaultOperatorName),
	}
	c.dial()
	return c
}

func (c *cluster) dial() {
	GinkgoHelper()
	var err error
	c.config, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	Expect(err).NotTo(HaveOccurred())
	c.config.QPS = -1
	c.Client, err = client.New(c.config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
}

// newNamespace creates a namespace that the sample policies are about, and which
// goes with the spec.
func (c *cluster) newNamespace(ctx context.Context) string {
	GinkgoHelper()
	return c.makeNamespace(ctx, nil)
}

// newNamespaceFor creates a namespace that policies select by its label
// labelOwnPolicies, and the sample policies do not.
func (c *cluster) newNamespaceFor(ctx context.Context, policies string) string {
	GinkgoHelper()
	return c.makeNamespace(ctx, map[string]string{labelOwnPolicies: policies})
}

func (c *cluster) makeNamespace(ctx context.Context, labels map[string]string) string {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-", Labels: labels}}
	Expect(c.Create(ctx, namespace)).To(Succeed())
	DeferCleanup(func(ctx context.Context) error { return client.IgnoreNotFound(c.Delete(ctx, namespace)) })
	c.allowPeople(ctx, namespace.Name)
	// Pods cannot be created before the namespace has its service account.
	Eventually(ctx, func() error {
		return c.Get(ctx, client.ObjectKey{Namespace: namespace.Name, Name: "default"}, &corev1.ServiceAccount{})
	}).Should(Succeed())
	return namespace.Name
}

// allowPeople gives everybody who acts in specs the rights that they would have
// without Kausality, so that a refusal is not RBAC's.
func (c *cluster) allowPeople(ctx context.Context, namespace string) {
	GinkgoHelper()
	Expect(c.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "people"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "admin"},
		Subjects: []rbacv1.Subject{
			{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: platformTeam},
			{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: developers},
			{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "default"},
		},
	})).To(Succeed())
}
