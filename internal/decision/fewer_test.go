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
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/knowledge"
)

// Pods end without their controller, so that fewer of them cannot wait, by whatever number says so.
func TestWantsFewerPods(t *testing.T) {
	apps := func(kind string) schema.GroupKind { return schema.GroupKind{Group: "apps", Kind: kind} }
	job, core := schema.GroupKind{Group: "batch", Kind: "Job"}, schema.GroupKind{Kind: "ReplicationController"}
	changed := func(path string, before, after any) change.Change {
		return change.Change{Path: change.MustParsePath(path), Verb: change.Mutate, Old: before, New: after}
	}
	sized := func(n any) any { return map[string]any{"replicas": n} }
	tests := map[string]struct {
		kind schema.GroupKind
		// request is the change of the request, and difference that from what is approved, the same where it has no path.
		request, difference change.Change
		want                bool
	}{
		"of a StatefulSet":                  {kind: apps("StatefulSet"), request: changed("spec.replicas", int64(3), int64(1)), want: true},
		"of a ReplicaSet":                   {kind: apps("ReplicaSet"), request: changed("spec.replicas", int64(3), int64(0)), want: true},
		"of a ReplicationController":        {kind: core, request: changed("spec.replicas", int64(3), int64(2)), want: true},
		"of a Job":                          {kind: job, request: changed("spec.parallelism", int64(2), int64(1)), want: true},
		"of a Job, where one is left out":   {kind: job, request: changed("spec.parallelism", int64(2), nil), want: true},
		"more of a StatefulSet":             {kind: apps("StatefulSet"), request: changed("spec.replicas", int64(1), int64(3))},
		"more than one that was left out":   {kind: apps("StatefulSet"), request: changed("spec.replicas", nil, int64(3))},
		"of a Deployment, which makes sets": {kind: apps("Deployment"), request: changed("spec.replicas", int64(3), int64(1))},
		"another number":                    {kind: apps("StatefulSet"), request: changed("spec.minReadySeconds", int64(3), int64(1))},
		"along with what is around it":      {kind: apps("StatefulSet"), request: changed("spec", sized(int64(3)), sized(int64(1))), want: true},
		"by leaving out what is around it":  {kind: apps("StatefulSet"), request: changed("spec", sized(int64(3)), nil), want: true},
		"less than before, and more than is approved": {
			kind: apps("StatefulSet"), request: changed("spec.replicas", int64(10), int64(5)), difference: changed("spec.replicas", int64(3), int64(5)),
		},
		"more than before, and less than is approved": {
			kind: apps("StatefulSet"), request: changed("spec.replicas", int64(1), int64(2)), difference: changed("spec.replicas", int64(3), int64(2)), want: true,
		},
		"less than before, where nobody knows what is approved": {
			kind: apps("StatefulSet"), request: changed("spec.replicas", int64(3), int64(2)), difference: changed("spec.replicas", "sealed", int64(2)), want: true,
		},
		"no number at all": {kind: apps("StatefulSet"), request: changed("spec.replicas", "a", "b")},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.difference.Path == nil {
				tc.difference = tc.request
			}
			if got := wantsFewerPods(knowledge.BuiltIn(tc.kind), tc.request, tc.difference); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

// On which nodes a DaemonSet has Pods, and at which ordinals a StatefulSet, evictions carry out as well.
func TestPlacesCannotWait(t *testing.T) {
	tests := map[string]map[string]bool{
		"DaemonSet": {
			"spec.template.spec.nodeSelector[disk]": false, "spec.template.spec.affinity.nodeAffinity": false, "spec.template.spec.tolerations[0]": false,
			"spec.template.spec.nodeName": false, "spec.template.spec.containers[0].image": true, "spec.updateStrategy.type": true,
		},
		"StatefulSet": {"spec.ordinals.start": false, "spec.template.spec.nodeSelector": true, "spec.replicas": true},
	}
	for kind, fields := range tests {
		for field, want := range fields {
			if got := knowledge.BuiltIn(schema.GroupKind{Group: "apps", Kind: kind}).Waits(nil, change.MustParsePath(field)); got != want {
				t.Errorf("%s of a %s waits: %t", field, kind, got)
			}
		}
	}
}
