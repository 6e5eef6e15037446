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

package decision

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/policy"
)

// Platform is the list of user names that keep a cluster alive; what they do to
// children is never caused by a parent (D3).
type Platform []string

// DefaultPlatform is who keeps a cluster alive where nothing else is configured:
// the scheduler, and those of the controller manager's controllers that act on
// any object whatever its parent says. Who binds volume claims to volumes, and who fills in
// aggregated ClusterRoles, are among them: refused, a claim of a custom resource stayed
// pending for ever.
var DefaultPlatform = Platform{
	"system:kube-scheduler",
	"system:serviceaccount:kube-system:clusterrole-aggregation-controller",
	"system:serviceaccount:kube-system:generic-garbage-collector",
	"system:serviceaccount:kube-system:namespace-controller",
	"system:serviceaccount:kube-system:node-controller",
	"system:serviceaccount:kube-system:persistent-volume-binder",
	"system:serviceaccount:kube-system:pod-garbage-collector",
	"system:serviceaccount:kube-system:taint-eviction-controller",
	"system:serviceaccount:kube-system:ttl-after-finished-controller",
}

// FollowsDeletion reports whether a requester deletes nothing but what goes with something else that is gone: its owners,
// its namespace or its node.
func FollowsDeletion(r policy.Requester) bool {
	switch r.Username {
	case controllerManager,
		"system:serviceaccount:kube-system:generic-garbage-collector",
		"system:serviceaccount:kube-system:namespace-controller",
		"system:serviceaccount:kube-system:node-controller",
		"system:serviceaccount:kube-system:pod-garbage-collector":
		return true
	default:
		return slices.Contains(r.Groups, nodesGroup)
	}
}

const (
	nodesGroup        = "system:nodes"
	controllerManager = "system:kube-controller-manager"
)

var secretKind = schema.GroupKind{Kind: "Secret"}

func platform(in *Input) bool {
	if slices.Contains(in.Platform, in.Requester.Username) || slices.Contains(in.Requester.Groups, nodesGroup) {
		return true
	}
	// Without service account credentials all controllers are one user; then only
	// the deletion of what lost its parent is known to be the collector's. Who fills in the
	// tokens of service accounts always goes by that name.
	return in.Requester.Username == controllerManager && (in.isToken() || in.Operation == Delete &&
		(in.ParentState == ParentGone || in.ParentState == ParentFound && in.Parent.Deleting))
}

// isToken reports whether an existing Secret is for the token of a service account, which
// the controller manager writes into it, and deletes with the account.
func (in *Input) isToken() bool {
	return in.Child.GVK.GroupKind() == secretKind && in.Child.Old["type"] == string(corev1.SecretTypeServiceAccountToken)
}
