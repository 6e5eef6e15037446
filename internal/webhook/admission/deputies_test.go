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
	"cmp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/record"
)

// autoscaler returns an autoscaler for Deployment web, of so many Pods at most.
func autoscaler(version string, most int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "autoscaling/" + version, "kind": "HorizontalPodAutoscaler",
		"metadata": map[string]any{"name": "web", "namespace": "default", "uid": "uid-hpa", "resourceVersion": "1"},
		"spec": map[string]any{
			"scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
			"maxReplicas":    most,
		},
	}}
}

func scaledObject() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
		"metadata": map[string]any{"name": "web", "namespace": "default", "uid": "uid-so", "resourceVersion": "1"},
		"spec":     map[string]any{"scaleTargetRef": map[string]any{"name": "web"}},
	}}
}

func TestDeputies(t *testing.T) {
	const metrics = "autoscaling.alpha.kubernetes.io/metrics"
	pointingAt := func(obj *unstructured.Unstructured, apiVersion, kind, name string) *unstructured.Unstructured {
		_ = unstructured.SetNestedStringMap(obj.Object, map[string]string{"apiVersion": apiVersion, "kind": kind, "name": name}, "spec", "scaleTargetRef")
		return obj
	}
	tests := map[string]struct {
		user          string
		groups        []string
		before, after *unstructured.Unstructured
		// cached and live are the Deployment, nil where there is none.
		cached, live *unstructured.Unstructured
		broken       error
		refused      []string
		// noted is true where the Deployment's record says who did it.
		noted, warned bool
		// policies are in effect; one for each of the two kinds where this is empty.
		policies []string
		// on is the object whose record says what was refused, Deployment/web where none is named.
		on     string
		dryRun bool
	}{
		"a stranger makes one": {
			user: "mallory", after: autoscaler("v2", 9), cached: deployment(3), live: deployment(3),
			refused: []string{"HorizontalPodAutoscaler web would scale Deployment web", "mallory may not initiate a change of spec.replicas", "Group platform-team may"},
		},
		"a stranger makes one for what the cache does not have": {
			user: "mallory", after: autoscaler("v2", 9), live: deployment(3), refused: []string{"mallory may not initiate"},
		},
		"a stranger makes one for what does not exist yet": {
			user: "mallory", after: autoscaler("v2", 9), refused: []string{"mallory may not initiate"},
		},
		"who may makes one": {
			user: "alice", groups: platformTeam, after: autoscaler("v2", 9), cached: deployment(3), noted: true,
		},
		"who may makes one for what has a number withheld": {
			user: "alice", groups: platformTeam, after: autoscaler("v2", 9), cached: unsettled(deployment(3, held("spec.replicas", "2"))),
			refused: []string{"would carry out what is withheld of Deployment web", "put the number back first"},
		},
		"who may makes one for what has something else withheld": {
			user: "alice", groups: platformTeam, after: autoscaler("v2", 9), cached: unsettled(deployment(3, held("spec.minReadySeconds", "2"))),
			policies: []string{strings.ReplaceAll(deploymentPolicy, "trigger: spec.replicas", "trigger: spec")}, noted: true, warned: true,
		},
		"who may makes one for what does not exist yet": {user: "alice", groups: platformTeam, after: autoscaler("v2", 9)},
		"a stranger changes one": {
			user: "mallory", before: autoscaler("v2", 9), after: autoscaler("v2", 10), cached: deployment(3), live: deployment(3),
			refused: []string{"mallory may not initiate"},
		},
		"a stranger changes what only an annotation of an older version has": {
			user: "mallory", before: autoscaler("v1", 9), after: annotate(autoscaler("v1", 9), metrics, "[]"), cached: deployment(3), live: deployment(3),
			refused: []string{"mallory may not initiate"},
		},
		"a stranger points one elsewhere to it": {
			user: "mallory", before: pointingAt(autoscaler("v2", 9), "apps/v1", "Deployment", "mine"), after: autoscaler("v2", 9),
			cached: deployment(3), live: deployment(3), refused: []string{"mallory may not initiate"},
		},
		"a stranger points it away": {
			user: "mallory", before: autoscaler("v2", 9), after: pointingAt(autoscaler("v2", 9), "example.org/v1", "Thing", "mine"), cached: deployment(3),
		},
		"a stranger makes one for a version that is served no more": {
			user: "mallory", after: pointingAt(autoscaler("v2", 9), "apps/v1beta1", "Deployment", "web"), cached: deployment(3), live: deployment(3),
			refused: []string{"mallory may not initiate"},
		},
		"a stranger makes one for a child": {
			user: "mallory", after: pointingAt(autoscaler("v2", 9), "apps/v1", "ReplicaSet", "web-1"), cached: deployment(3), live: deployment(3),
			refused: []string{"HorizontalPodAutoscaler web would scale ReplicaSet web-1", "is not allowed by its parent Deployment web"},
			on:      "ReplicaSet/web-1",
		},
		"a stranger makes one for a child that has no policy of its own": {
			user: "mallory", after: pointingAt(autoscaler("v2", 9), "apps/v1", "ReplicaSet", "web-1"), cached: deployment(3), live: deployment(3),
			policies: []string{deploymentPolicy}, refused: []string{"is not allowed by its parent Deployment web"},
		},
		"a stranger asks what would happen": {
			user: "mallory", after: autoscaler("v2", 9), cached: deployment(3), live: deployment(3), dryRun: true,
			refused: []string{"mallory may not initiate"},
		},
		"who may initiate above makes one for a child": {
			user: "alice", groups: platformTeam, after: pointingAt(autoscaler("v2", 9), "apps/v1", "ReplicaSet", "web-1"), cached: deployment(3), live: deployment(3),
			noted: true,
		},
		"a stranger makes one for what nobody governs": {
			user: "mallory", after: pointingAt(autoscaler("v2", 9), "example.org/v1", "Thing", "web"),
		},
		"somebody applies one again as it is": {
			user: "mallory", before: autoscaler("v2", 9), after: annotate(autoscaler("v2", 9), "tool", "again"), cached: deployment(3),
		},
		"a stranger deletes one": {user: "mallory", before: autoscaler("v2", 9), cached: deployment(3)},
		"the API server is away when the answer would be no": {
			user: "mallory", after: autoscaler("v2", 9), cached: deployment(3), broken: errAway, refused: []string{"mallory may not initiate"},
		},
		"the API server is away and nothing is known": {
			user: "mallory", after: autoscaler("v2", 9), broken: errAway, warned: true,
		},
		"a stranger makes a ScaledObject": {
			user: "mallory", after: scaledObject(), cached: deployment(3), live: deployment(3),
			refused: []string{"ScaledObject web would scale Deployment web"},
		},
		"a stranger pauses a ScaledObject at a number": {
			user: "mallory", before: scaledObject(), after: annotate(scaledObject(), "autoscaling.keda.sh/paused-replicas", "9"), cached: deployment(3), live: deployment(3),
			refused: []string{"mallory may not initiate"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := &world{
				cached: map[string]*unstructured.Unstructured{key("ReplicaSet", "web-1"): replicaSet(3)}, live: map[string]*unstructured.Unstructured{key("ReplicaSet", "web-1"): replicaSet(3)},
				records: map[types.UID]*v1alpha1.AllowanceRecord{}, broken: tc.broken,
			}
			if tc.cached != nil {
				w.cached[key("Deployment", "web")] = tc.cached
			}
			if tc.live != nil {
				w.live[key("Deployment", "web")] = tc.live
			}
			if tc.policies == nil {
				tc.policies = []string{deploymentPolicy, replicaSetPolicy}
			}
			_, validator := w.hooks(t, tc.policies...)
			req := asking(t, tc.user, tc.groups, tc.before, tc.after)
			req.DryRun = &tc.dryRun
			resp := validator.Handle(t.Context(), req)
			if resp.Allowed != (len(tc.refused) == 0) {
				t.Fatalf("allowed %t: %+v", resp.Allowed, resp.Result)
			}
			for _, part := range tc.refused {
				if !strings.Contains(resp.Result.Message, part) {
					t.Errorf("%q does not say %q", resp.Result.Message, part)
				}
			}
			if warned := len(resp.Warnings) > 0; warned != tc.warned {
				t.Errorf("warnings: %q", resp.Warnings)
			}
			var by []string
			for _, o := range w.observed {
				if o.Decision != nil && o.Decision.Kind == tc.after.GetKind() {
					by = append(by, o.Decision.User)
				}
			}
			if noted := slices.Equal(by, []string{tc.user}); noted != tc.noted {
				t.Errorf("noted %t: %v", noted, w.observed)
			}
			tells := len(tc.refused) > 0 && (tc.cached != nil || tc.live != nil) && !tc.dryRun
			if told := len(w.notices) > 0; told != tells {
				t.Errorf("told: %v", w.notices)
			}
			var want []string
			if tells {
				want = []string{strings.Join([]string{cmp.Or(tc.on, "Deployment/web"), tc.user, operationOf(tc.before), tc.after.GetKind(), "web", resp.Result.Message}, " ")}
			}
			if diff := gocmp.Diff(want, refusedIn(w.observed)); diff != "" {
				t.Errorf("records of the refusal (-want +got):\n%s", diff)
			}
		})
	}
}

// operationOf returns how an object is written that was there before, or was not.
func operationOf(before *unstructured.Unstructured) string {
	if before == nil {
		return "Create"
	}
	return "Update"
}

// refusedIn returns what is recorded of refusals.
func refusedIn(observed []record.Outcome) []string {
	var out []string
	for _, o := range observed {
		for _, e := range o.History {
			if e.Event == v1alpha1.EventRefused {
				out = append(out, strings.Join(slices.Concat([]string{o.Target.Kind + "/" + o.Target.Name, e.User, e.Operation, e.Kind}, e.Names, []string{e.Message}), " "))
			}
		}
	}
	return out
}
