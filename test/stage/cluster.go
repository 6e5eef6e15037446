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

package stage

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"kausality.io/operator/test/controlplane"
)

// Scheme has the kinds that specs read and write as Go types.
var Scheme = controlplane.NewScheme()

// Cluster is how a process of a suite reaches the control plane that all of them
// share.
type Cluster struct {
	Kubeconfig, AuditLog, Kubectl string
	// KeepsNamespaces leaves the namespaces of specs to the end of the control plane. What a
	// gate holds keeps a namespace that is deleted, and its controller goes through all kinds of
	// it over and over again.
	KeepsNamespaces bool

	Config        *rest.Config `json:"-"`
	client.Client `json:"-"`
}

// SetDefaults bounds what specs wait for. A step takes some seconds at most; the
// bound is for machines that are busy with other things.
func SetDefaults() {
	EnforceDefaultTimeoutsWhenUsingContexts()
	SetDefaultEventuallyTimeout(time.Minute)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	SetDefaultConsistentlyDuration(3 * time.Second)
	SetDefaultConsistentlyPollingInterval(200 * time.Millisecond)
}

// StartControlPlane starts a control plane, which ends with the current spec,
// container or suite.
func StartControlPlane(ctx context.Context, opts controlplane.Options) *controlplane.ControlPlane {
	GinkgoHelper()
	SetDefaults()
	opts.Progress = func(line string) { GinkgoWriter.Println(line) }
	cp, err := controlplane.Start(ctx, opts)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(cp.Stop)
	GinkgoWriter.Println("logs are in", cp.Dir())
	return cp
}

// InstallOperator starts the operator that is to be tested, which ends with the
// control plane.
func InstallOperator(ctx context.Context, cp *controlplane.ControlPlane, install controlplane.OperatorOptions) *controlplane.Operator {
	GinkgoHelper()
	installed, err := controlplane.InstallOperator(ctx, cp, install)
	Expect(err).NotTo(HaveOccurred())
	return installed
}

// Connect makes the specs' view of a control plane.
func Connect(cp *controlplane.ControlPlane) *Cluster {
	GinkgoHelper()
	c := &Cluster{
		Kubeconfig: cp.Kubeconfig(),
		AuditLog:   cp.AuditLog(),
		Kubectl:    filepath.Join(cp.BinDir(), "kubectl"),
	}
	c.Dial()
	return c
}

// Dial makes the clients of a view that another process has made. What they log is
// part of the report of a spec that fails.
func (c *Cluster) Dial() {
	GinkgoHelper()
	logf.SetLogger(zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true)))
	var err error
	c.Config, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	Expect(err).NotTo(HaveOccurred())
	c.Config.QPS = -1
	c.Client, err = client.New(c.Config, client.Options{Scheme: Scheme})
	Expect(err).NotTo(HaveOccurred())
}

// RunKubectl runs kubectl with all rights, without the user's home.
func (c *Cluster) RunKubectl(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, c.Kubectl, append([]string{
		"--kubeconfig=" + c.Kubeconfig,
		"--cache-dir=" + filepath.Join(filepath.Dir(c.Kubeconfig), "kubectl"),
	}, args...)...)
	cmd.Env = []string{"KUBECTL_KUBERC=false"}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// MakeNamespace creates a namespace, which goes with the spec unless the cluster keeps it.
func (c *Cluster) MakeNamespace(ctx context.Context, labels map[string]string) string {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-", Labels: labels}}
	Expect(c.Create(ctx, namespace)).To(Succeed())
	if !c.KeepsNamespaces {
		DeferCleanup(func(ctx context.Context) error { return client.IgnoreNotFound(c.Delete(ctx, namespace)) })
	}
	c.allowPeople(ctx, namespace.Name)
	// Pods cannot be created before the namespace has its service account.
	Eventually(ctx, func() error {
		return c.Get(ctx, client.ObjectKey{Namespace: namespace.Name, Name: "default"}, &corev1.ServiceAccount{})
	}).Should(Succeed())
	return namespace.Name
}

// allowPeople gives everybody who acts in specs the rights that they would have
// without Kausality, so that a refusal is not RBAC's.
func (c *Cluster) allowPeople(ctx context.Context, namespace string) {
	GinkgoHelper()
	Expect(c.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "people"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "admin"},
		Subjects: []rbacv1.Subject{
			{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: PlatformTeam},
			{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: Developers},
			{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "default"},
		},
	})).To(Succeed())
	// The authorizer hears of it by a watch.
	Eventually(ctx, func(g Gomega) {
		may := &authorizationv1.LocalSubjectAccessReview{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace},
			Spec: authorizationv1.SubjectAccessReviewSpec{
				User: AliceName, Groups: []string{PlatformTeam},
				ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "create", Group: "apps", Resource: "deployments"},
			},
		}
		g.Expect(c.Create(ctx, may)).To(Succeed())
		g.Expect(may.Status.Allowed).To(BeTrue())
	}).Should(Succeed())
}
