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

package policy

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/change"
)

// history describes where the controller of a kind keeps the Pod templates that its
// objects had.
type history struct {
	// resource holds one template in each object.
	resource schema.GroupVersionResource
	// labels relate the Pods of a set to one of its templates. A
	// change of one makes it replace Pods, so it counts like a change of the content.
	labels []string
}

// histories lists the kinds that keep one. StatefulSets make Pods from their
// revisions, not from spec.template, and "kubectl rollout undo" copies a revision into
// the template of either kind. Bounding only their Pods would leave it to anybody who
// may write revisions what the next Pods are.
var histories = map[schema.GroupKind]history{
	{Group: appsv1.GroupName, Kind: "StatefulSet"}: {
		resource: appsv1.SchemeGroupVersion.WithResource("controllerrevisions"),
	},
	{Group: appsv1.GroupName, Kind: "DaemonSet"}: {
		resource: appsv1.SchemeGroupVersion.WithResource("controllerrevisions"),
		labels:   []string{appsv1.DefaultDaemonSetUniqueLabelKey},
	},
}

var podResource = schema.GroupResource{Group: corev1.GroupName, Resource: "pods"}

// imply adds what p bounds without naming it: the history of a kind whose Pods it
// bounds. The entries allow nothing. Controllers write their history as bookkeeping
// (D5), for which they need no entry.
func (c *compiler) imply(p *Policy) {
	h, keeps := histories[p.For.GroupKind()]
	if !keeps || !slices.ContainsFunc(p.Entries(), func(e Entry) bool { return e.Resource.GroupResource() == podResource }) {
		return
	}
	kind, served := c.kinds(h.resource)
	if !served {
		return
	}
	p.implied = append(p.implied, Entry{Resource: h.resource, Kind: kind.GroupKind()})
	if p.Initializing != nil {
		p.Initializing.implied = append(p.Initializing.implied, kind.GroupKind())
	}
}

// historyLabels are the labels that count on the history of a kind although no entry
// names them.
func historyLabels(parent schema.GroupKind) []change.Pattern {
	names := histories[parent].labels
	out := make([]change.Pattern, 0, len(names))
	for _, name := range names {
		pattern, err := change.ParsePattern("metadata.labels[" + name + "]")
		if err != nil {
			panic("policy: a label of its own that does not parse: " + name)
		}
		out = append(out, pattern)
	}
	return out
}
