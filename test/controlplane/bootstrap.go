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

package controlplane

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

const (
	// kwokNodeAnnotation marks the nodes that kwok plays.
	kwokNodeAnnotation = "kwok.x-k8s.io/node"
	kwokNodeFake       = "fake"
	// kwokUser and nodesGroup make kwok a kubelet in the eyes of the API server,
	// and of whoever judges requests by who makes them.
	kwokUser   = "system:node:kwok"
	nodesGroup = "system:nodes"
	// nodeRole is the built-in role of kubelets, which no one has by default.
	nodeRole = "system:node"
	// controllerManagerUser is who kube-controller-manager is, and
	// controllerRolePrefix begins the names of the built-in roles of its
	// controllers.
	controllerManagerUser = "system:kube-controller-manager"
	controllerRolePrefix  = "system:controller:"
)

// usablePoll is how often objects are read that a new cluster creates by
// itself.
const usablePoll = 50 * time.Millisecond

// bootstrap writes the kubeconfig and creates what the components that are
// still to be started need.
func (cp *ControlPlane) bootstrap(ctx context.Context) error {
	if err := writeKubeconfig(cp.Kubeconfig(), cp.admin); err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(cp.admin)
	if err != nil {
		return err
	}
	if cp.runs(ControllerManager) && cp.opts.SharedControllerIdentity {
		if err := allowAllControllers(ctx, client); err != nil {
			return err
		}
	}
	if !cp.runs(Kwok) {
		return nil
	}
	if err := bind(ctx, client, "kwok-nodes", nodeRole, rbacv1.GroupKind, nodesGroup); err != nil {
		return fmt.Errorf("giving nodes their role: %w", err)
	}
	for i := range cp.opts.Nodes {
		name := fmt.Sprintf("node-%d", i+1)
		if _, err := client.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Annotations: map[string]string{kwokNodeAnnotation: kwokNodeFake},
			Labels:      map[string]string{corev1.LabelHostname: name},
		}}, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating node %s: %w", name, err)
		}
	}
	return nil
}

// allowAllControllers gives the user of kube-controller-manager the roles that
// otherwise the service account of each controller has.
func allowAllControllers(ctx context.Context, client kubernetes.Interface) error {
	roles, err := client.RbacV1().ClusterRoles().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing the roles of controllers: %w", err)
	}
	for i := range roles.Items {
		role := roles.Items[i].Name
		if !strings.HasPrefix(role, controllerRolePrefix) {
			continue
		}
		if err := bind(ctx, client, "shared-identity:"+role, role, rbacv1.UserKind, controllerManagerUser); err != nil {
			return fmt.Errorf("giving %s the role %s: %w", controllerManagerUser, role, err)
		}
	}
	return nil
}

// bind gives a user or group a cluster role.
func bind(ctx context.Context, client kubernetes.Interface, name, role, subjectKind, subject string) error {
	_, err := client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: subjectKind, Name: subject}},
	}, metav1.CreateOptions{})
	return err
}

// waitUsable returns when the namespace default accepts pods and each node
// takes some, as far as the running components bring that about.
func (cp *ControlPlane) waitUsable(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(cp.admin)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	var waiting string
	err = wait.PollUntilContextCancel(ctx, usablePoll, true, func(ctx context.Context) (bool, error) {
		missing, err := cp.missing(ctx, client)
		if err == nil {
			waiting = missing
		}
		return missing == "", err
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("the control plane runs but is not usable: waited for %s; the logs are in %s", waiting, cp.opts.Dir)
	}
	return err
}

// missing names what a new cluster still has to do, or nothing.
func (cp *ControlPlane) missing(ctx context.Context, client kubernetes.Interface) (string, error) {
	_, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "namespace " + metav1.NamespaceDefault, nil
	}
	if err != nil {
		return "", err
	}
	if !cp.runs(ControllerManager) {
		return "", nil
	}
	_, err = client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "the service account of namespace " + metav1.NamespaceDefault, nil
	}
	if err != nil || !cp.runs(Kwok) {
		return "", err
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for i := range nodes.Items {
		// The node controller takes the taint away once kwok has reported.
		if len(nodes.Items[i].Spec.Taints) > 0 || !nodeReady(&nodes.Items[i]) {
			return "node " + nodes.Items[i].Name, nil
		}
	}
	return "", nil
}

func nodeReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
