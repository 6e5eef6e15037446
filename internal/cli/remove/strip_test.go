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

package remove

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/internal/gate/crossplane"
)

func TestStrip(t *testing.T) {
	for name, tc := range map[string]struct {
		object, after, held string
		gated               bool
		want                Left
	}{
		"nothing": {
			object: "{metadata: {annotations: {a: b}}, status: {conditions: [{type: Ready}]}}",
			after:  "{metadata: {annotations: {a: b}}, status: {conditions: [{type: Ready}]}}",
		},
		"annotations, under all keys of the domain": {
			object: "{metadata: {annotations: {a: b, kausality.io/allowances: '[]', replicaset.kausality.io/approved: x, notkausality.io/a: b}}}",
			after:  "{metadata: {annotations: {a: b, notkausality.io/a: b}}}",
			want:   Left{Annotations: []string{"kausality.io/allowances", "replicaset.kausality.io/approved"}},
		},
		"the last annotation": {
			object: "{metadata: {annotations: {kausality.io/allowances: '[]'}}}",
			after:  "{metadata: {}}",
			want:   Left{Annotations: []string{"kausality.io/allowances"}},
		},
		"conditions": {
			object: "{metadata: {}, status: {conditions: [{type: kausality.io/Blocked}, {type: Ready}]}}",
			after:  "{metadata: {}, status: {conditions: [{type: Ready}]}}",
			want:   Left{Conditions: []string{"kausality.io/Blocked"}},
		},
		"conditions that are none": {
			object: "{metadata: {}, status: {conditions: none}}",
			after:  "{metadata: {}, status: {conditions: none}}",
		},
		"a gate": {
			gated:  true,
			object: "{metadata: {annotations: {kausality.io/gate-content: x, crossplane.io/paused: 'true'}}, spec: {managementPolicies: [Observe]}}",
			after:  "{metadata: {annotations: {crossplane.io/paused: 'true'}}, spec: {managementPolicies: ['*']}}",
			want:   Left{Gate: true, Annotations: []string{"kausality.io/gate-content"}},
		},
		"a gate with a ceiling, and a look that was asked for": {
			gated: true,
			object: "{metadata: {annotations: {kausality.io/gate-content: x, kausality.io/gate-ceiling: '[\"Observe\",\"Create\"]', " +
				"crossplane.io/reconcile-requested-at: kausality-3}}, spec: {managementPolicies: [Observe]}}",
			after: "{metadata: {}, spec: {managementPolicies: [Observe, Create]}}",
			want:  Left{Gate: true, Annotations: []string{"crossplane.io/reconcile-requested-at", "kausality.io/gate-ceiling", "kausality.io/gate-content"}},
		},
		"what a policy made": {
			object: "{metadata: {labels: {kausality.io/generated-by: p, app: web}, annotations: {kausality.io/generated-from: x}}}",
			after:  "{metadata: {labels: {app: web}}}",
			want:   Left{Annotations: []string{"kausality.io/generated-from"}, Labels: []string{"kausality.io/generated-by"}},
		},
		"what a policy made, once its annotation is gone": {
			object: "{metadata: {labels: {kausality.io/generated-by: p}}}",
			after:  "{metadata: {}}",
			want:   Left{Labels: []string{"kausality.io/generated-by"}},
		},
		"a label that people have set": {
			object: "{metadata: {labels: {example.kausality.io/team: a}}}",
			after:  "{metadata: {labels: {example.kausality.io/team: a}}}",
		},
		"a look that somebody else has asked for": {
			gated:  true,
			object: "{metadata: {annotations: {crossplane.io/reconcile-requested-at: now}}}",
			after:  "{metadata: {annotations: {crossplane.io/reconcile-requested-at: now}}}",
		},
		"what looks like a gate on a kind that has none": {
			object: "{metadata: {annotations: {kausality.io/gate-content: x}}, spec: {replicas: 1}}",
			after:  "{metadata: {}, spec: {replicas: 1}}",
			want:   Left{Annotations: []string{"kausality.io/gate-content"}},
		},
		"a gate, and the kind has lost its category": {
			object: "{metadata: {annotations: {kausality.io/gate-content: x, crossplane.io/reconcile-requested-at: kausality-3}}, spec: {managementPolicies: [Observe]}}",
			after:  "{metadata: {}, spec: {managementPolicies: ['*']}}",
			want:   Left{Gate: true, Annotations: []string{"crossplane.io/reconcile-requested-at", "kausality.io/gate-content"}},
		},
		"a deletion that is held back, and the kind has lost its category": {
			object: held,
			after:  held,
			want:   Left{Undecided: true},
		},
		"a switch that nobody has set for a gate": {
			object: "{metadata: {annotations: {kausality.io/allowances: '[]'}}, spec: {managementPolicies: [Observe]}}",
			after:  "{metadata: {}, spec: {managementPolicies: [Observe]}}",
			want:   Left{Annotations: []string{"kausality.io/allowances"}},
		},
		"a hold without a deletion": {
			gated:  true,
			object: "{metadata: {annotations: {kausality.io/gate-content: x, kausality.io/gate-held: '{\"user\":\"a\"}', crossplane.io/paused: 'true'}}, spec: {managementPolicies: [Observe]}}",
			after:  "{metadata: {}, spec: {managementPolicies: ['*']}}",
			want:   Left{Gate: true, Pause: true, Annotations: []string{"kausality.io/gate-content", "kausality.io/gate-held"}},
		},
		"a hold of what was paused before": {
			gated:  true,
			object: "{metadata: {annotations: {kausality.io/gate-content: x, kausality.io/gate-held: '{\"paused\":true}', crossplane.io/paused: 'true'}}, spec: {managementPolicies: [Observe]}}",
			after:  "{metadata: {annotations: {crossplane.io/paused: 'true'}}, spec: {managementPolicies: ['*']}}",
			want:   Left{Gate: true, Annotations: []string{"kausality.io/gate-content", "kausality.io/gate-held"}},
		},
		"a deletion that is held back": {
			gated:  true,
			object: held,
			after:  held,
			want:   Left{Undecided: true},
		},
		"a deletion that is held back, and what is outside stays": {
			gated: true, held: heldOrphan,
			object: held,
			after:  "{metadata: {deletionTimestamp: '2026-11-01T00:00:00Z'}, spec: {managementPolicies: [Observe]}}",
			want:   Left{Gate: true, Pause: true, Annotations: []string{"kausality.io/gate-content", "kausality.io/gate-held"}},
		},
		"a deletion that is held back, and what is outside goes": {
			gated: true, held: heldDelete,
			object: held,
			after:  "{metadata: {deletionTimestamp: '2026-11-01T00:00:00Z'}, spec: {managementPolicies: [Observe, Delete]}}",
			want:   Left{Gate: true, Pause: true, Annotations: []string{"kausality.io/gate-content", "kausality.io/gate-held"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			obj, want := parse(t, tc.object), parse(t, tc.after)
			before := obj.DeepCopy()
			var got *unstructured.Unstructured
			var left Left
			if tc.gated {
				got, left = strip(obj, crossplane.Driver{}, tc.held)
			} else {
				got, left = strip(obj, nil, tc.held)
			}
			if diff := cmp.Diff(tc.want, left); diff != "" {
				t.Errorf("what was left (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want.Object, got.Object); diff != "" {
				t.Errorf("the object afterwards (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, obj); diff != "" {
				t.Errorf("the object that was given has changed:\n%s", diff)
			}
			if again, more := strip(got, nil, tc.held); !tc.want.Undecided && (!more.none() || !cmp.Equal(again, got)) {
				t.Errorf("a second time there is still something: %v", more)
			}
		})
	}
}

// held is an object whose deletion is held back.
const held = "{metadata: {deletionTimestamp: '2026-11-01T00:00:00Z', annotations: {kausality.io/gate-content: x, " +
	"kausality.io/gate-held: '{\"user\":\"a\"}', crossplane.io/paused: 'true'}}, spec: {managementPolicies: [Observe]}}"

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		t.Fatal(err)
	}
	return obj
}
