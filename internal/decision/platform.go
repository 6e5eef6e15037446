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

import "slices"

// Platform is the list of user names that keep a cluster alive; what they do to
// children is never caused by a parent (D3).
type Platform []string

// DefaultPlatform is who keeps a cluster alive where nothing else is configured:
// the scheduler, and those of the controller manager's controllers that act on
// any object whatever its parent says.
var DefaultPlatform = Platform{
	"system:kube-scheduler",
	"system:serviceaccount:kube-system:generic-garbage-collector",
	"system:serviceaccount:kube-system:namespace-controller",
	"system:serviceaccount:kube-system:node-controller",
	"system:serviceaccount:kube-system:pod-garbage-collector",
	"system:serviceaccount:kube-system:taint-eviction-controller",
	"system:serviceaccount:kube-system:ttl-after-finished-controller",
}

const (
	nodesGroup        = "system:nodes"
	controllerManager = "system:kube-controller-manager"
)

func platform(in *Input) bool {
	if slices.Contains(in.Platform, in.Requester.Username) || slices.Contains(in.Requester.Groups, nodesGroup) {
		return true
	}
	// Without service account credentials all controllers are one user; then only
	// the deletion of what lost its parent is known to be the collector's.
	return in.Requester.Username == controllerManager && in.Operation == Delete &&
		(in.ParentState == ParentGone || in.ParentState == ParentFound && in.Parent.Deleting)
}
