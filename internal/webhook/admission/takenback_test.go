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

package admission

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/upgrade"
)

const healingPolicy = `
metadata: {name: replicaset}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: ReplicaSet}
  validationActions: [Deny]
  subjects: [{kind: Group, name: platform-team, mayInitiate: true}]
  maintaining:
    policies: [{target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create]}]
  rules:
  - trigger: spec.template
    policies: [{target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create, Delete]}]
`

// TestTakenBack shows that a controller which has not heard that a change was taken back
// makes nothing of it, whether the replica that is asked saw it taken back, or only that it
// was withheld.
func TestTakenBack(t *testing.T) {
	const controller = "system:serviceaccount:kube-system:replicaset-controller"
	of := func(image string) map[string]any {
		return map[string]any{"containers": []any{map[string]any{"name": "c", "image": image}}}
	}
	set := func(image string, generation int64) *unstructured.Unstructured {
		rs := replicaSet(3)
		unstructured.RemoveNestedField(rs.Object, "metadata", "ownerReferences")
		rs.SetGeneration(generation)
		rs.Object["spec"] = map[string]any{"replicas": int64(3), "template": map[string]any{"spec": of(image)}}
		return rs
	}
	podOf := func(image string) *unstructured.Unstructured {
		p := pod()
		p.Object["spec"] = of(image)
		return p
	}
	for name, watch := range map[string]func(*testing.T, *world, *Validator, *unstructured.Unstructured){
		"seen taken back": func(t *testing.T, _ *world, v *Validator, evil *unstructured.Unstructured) {
			t.Helper()
			if resp := v.Handle(t.Context(), asking(t, "mallory", nil, evil, set("good", 4))); !resp.Allowed {
				t.Fatalf("taking it back: %v", resp.Result)
			}
		},
		"seen withheld": func(t *testing.T, w *world, v *Validator, evil *unstructured.Unstructured) {
			t.Helper()
			w.cached[key("ReplicaSet", "web-1")], w.live[key("ReplicaSet", "web-1")] = evil, evil
			if resp := v.Handle(t.Context(), asking(t, controller, nil, nil, podOf("evil"))); resp.Allowed || upgrade.Kept(resp.Result.Message) != upgrade.Withheld {
				t.Fatalf("made of what is withheld: %+v", resp.Result)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{cached: map[string]*unstructured.Unstructured{}, live: map[string]*unstructured.Unstructured{}}
			mutator, validator := w.hooks(t, healingPolicy)
			good, evil := set("good", 2), set("evil", 2)
			resp := mutator.Handle(t.Context(), asking(t, "mallory", nil, good, evil))
			evil = counted(evil)
			evil.SetAnnotations(patched(t, evil, resp))
			watch(t, w, validator, evil)

			now := set("good", 4)
			w.cached[key("ReplicaSet", "web-1")], w.live[key("ReplicaSet", "web-1")] = now, now
			resp = validator.Handle(t.Context(), asking(t, controller, nil, nil, podOf("evil")))
			if resp.Allowed || !strings.Contains(resp.Result.Message, "spec.template.spec.containers[0].image") || !strings.Contains(resp.Result.Message, "once it has heard") || upgrade.Kept(resp.Result.Message) == "" {
				t.Errorf("made of what was taken back: %+v", resp.Result)
			}
			if resp := validator.Handle(t.Context(), asking(t, controller, nil, nil, podOf("good"))); !resp.Allowed {
				t.Errorf("made of what there is: %v", resp.Result)
			}
		})
	}
}

// TestApprovedBeforeItGoes shows that what was approved is nobody's to hold back any more, though who may takes it
// out again before a controller has heard of that: of what was withheld before no more is remembered. What of it
// was not approved, is.
func TestApprovedBeforeItGoes(t *testing.T) {
	const controller = "system:serviceaccount:kube-system:replicaset-controller"
	set := func(image, priority string, generation int64) *unstructured.Unstructured {
		rs := replicaSet(3)
		unstructured.RemoveNestedField(rs.Object, "metadata", "ownerReferences")
		rs.SetGeneration(generation)
		rs.Object["spec"] = map[string]any{"replicas": int64(3), "template": map[string]any{"spec": map[string]any{
			"priorityClassName": priority, "containers": []any{map[string]any{"name": "c", "image": image}},
		}}}
		return rs
	}
	for name, tt := range map[string]struct {
		approve   string
		image     string
		priority  string
		wantAllow bool
	}{
		"all of it":           {approve: "*", image: "evil", priority: "evil", wantAllow: true},
		"this part of it":     {approve: "spec.template.spec.containers[0].image", image: "evil", priority: "good", wantAllow: true},
		"another part of it":  {approve: "spec.template.spec.priorityClassName", image: "evil", priority: "good"},
		"nothing":             {image: "evil", priority: "good"},
		"what never was here": {approve: "*", image: "other", priority: "good", wantAllow: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{cached: map[string]*unstructured.Unstructured{}, live: map[string]*unstructured.Unstructured{}}
			mutator, validator := w.hooks(t, healingPolicy)
			write := func(user string, groups []string, old, now *unstructured.Unstructured) *unstructured.Unstructured {
				t.Helper()
				resp := mutator.Handle(t.Context(), asking(t, user, groups, old, now))
				now = counted(now)
				now.SetAnnotations(patched(t, now, resp))
				if resp := validator.Handle(t.Context(), asking(t, user, groups, old, now)); !resp.Allowed {
					t.Fatalf("%s: %v", user, resp.Result)
				}
				return now
			}
			team := []string{"platform-team"}
			evil := write("mallory", nil, set("good", "good", 2), set("evil", "evil", 2))
			w.cached[key("ReplicaSet", "web-1")], w.live[key("ReplicaSet", "web-1")] = evil, evil
			made := pod()
			made.Object["spec"] = map[string]any{"priorityClassName": tt.priority, "containers": []any{map[string]any{"name": "c", "image": tt.image}}}
			if resp := validator.Handle(t.Context(), asking(t, controller, nil, nil, made)); resp.Allowed && tt.image == "evil" {
				t.Fatal("made of what is withheld")
			}
			if tt.approve != "" {
				asked := evil.DeepCopy()
				annotations := asked.GetAnnotations()
				annotations["kausality.io/approve"] = tt.approve
				asked.SetAnnotations(annotations)
				evil = write("alice", team, evil, asked)
			}
			after := evil.DeepCopy()
			after.Object["spec"] = set("good", "good", 0).Object["spec"]
			now := write("alice", team, evil, after)
			w.cached[key("ReplicaSet", "web-1")], w.live[key("ReplicaSet", "web-1")] = now, now
			if resp := validator.Handle(t.Context(), asking(t, controller, nil, nil, made)); resp.Allowed != tt.wantAllow {
				t.Errorf("made of what was there before: allowed %t, want %t: %v", resp.Allowed, tt.wantAllow, resp.Result)
			}
		})
	}
}

// TestForget shows what is forgotten of what was withheld: what a later version has and does not hold against anybody. What
// waits for a policy to come back is still held.
func TestForget(t *testing.T) {
	image, class := change.Path{}.Field("image"), change.Path{}.Field("class")
	version := func(generation int64, image, class string, differences ...approved.Difference) *approved.Standing {
		return &approved.Standing{
			Object:      approved.Object{Generation: generation, Fields: map[string]any{"image": image, "class": class}},
			Differences: differences,
		}
	}
	differs := func(path change.Path, counts bool) approved.Difference {
		return approved.Difference{Change: change.Change{Path: path, Verb: change.Mutate, Old: "good", New: "evil"}, Counts: counts}
	}
	for name, tt := range map[string]struct {
		now  *approved.Standing
		want []string
	}{
		"nothing of it is withheld": {now: version(3, "evil", "evil")},
		"a part of it is withheld":  {now: version(3, "evil", "evil", differs(class, true)), want: []string{"class"}},
		"all of it is withheld":     {now: version(3, "evil", "evil", differs(class, true), differs(image, true)), want: []string{"class", "image"}},
		"it waits for its policy":   {now: version(3, "evil", "evil", differs(class, false), differs(image, false)), want: []string{"class", "image"}},
		"it is gone":                {now: version(3, "good", "good"), want: []string{"class", "image"}},
		"a part of it is gone":      {now: version(3, "evil", "good"), want: []string{"class"}},
		"the version is older":      {now: version(1, "evil", "evil"), want: []string{"class", "image"}},
		"nobody compared it":        {want: []string{"class", "image"}},
	} {
		t.Run(name, func(t *testing.T) {
			var w withdrawn
			w.note("uid", version(2, "evil", "evil", differs(class, true), differs(image, true)))
			w.forget("uid", tt.now)
			var got []string
			for _, st := range w.with("uid", nil) {
				for _, d := range st.Withheld() {
					got = append(got, d.Path.String())
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("what is remembered (-want +got):\n%s", diff)
			}
		})
	}
}
