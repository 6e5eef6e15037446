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
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/internal/discovery"
	"kausality.io/operator/internal/ledger"
)

// lossyPolicy is for a kind of which an older version lacks spec.size, and spec.tier, which has a default.
const lossyPolicy = `
metadata: {name: instances}
spec:
  for: {apiGroup: example.com, apiVersion: v1, kind: Instance}
  validationActions: [Deny]
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  - {kind: ServiceAccount, name: controller, namespace: default}
  rules:
  - trigger: spec
    policies:
    - target: {apiVersion: v1, resource: pods}
      relation: ControllerChild
      verbs: ["*"]
`

// instance returns an Instance at resource version 7, with fields of its spec.
func instance(spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Instance",
		"metadata": map[string]any{"name": "db", "namespace": "default", "uid": "uid-db", "generation": int64(4), "resourceVersion": "7"},
		"spec":     spec,
		"status":   map[string]any{"observedGeneration": int64(4), "conditions": []any{map[string]any{"type": "Ready", "status": "True"}}},
	}}
}

// inOlder makes a request one in version v1beta1, of which the API server asks in v1.
func inOlder(req admission.Request) admission.Request {
	resource, kind := req.Resource, req.Kind
	resource.Version, kind.Version = "v1beta1", "v1beta1"
	req.RequestResource, req.RequestKind = &resource, &kind
	return req
}

// lossyWorld has an Instance, and loses what the older version lacks.
func lossyWorld(converted bool, stored *unstructured.Unstructured) *world {
	return &world{
		losing: &discovery.Losing{Versions: []string{"v1beta1"}, Converted: converted, Defaults: &discovery.Defaults{Fields: map[string]*discovery.Defaults{
			"spec": {Fields: map[string]*discovery.Defaults{"tier": {Value: "low"}}},
		}}},
		cached: map[string]*unstructured.Unstructured{},
		live:   map[string]*unstructured.Unstructured{key("Instance", "db"): stored},
		lacks: func(obj *unstructured.Unstructured, version string) *unstructured.Unstructured {
			out := obj.DeepCopy()
			out.SetAPIVersion("example.com/" + version)
			unstructured.RemoveNestedField(out.Object, "spec", "size")
			unstructured.RemoveNestedField(out.Object, "spec", "tier")
			return out
		},
	}
}

// What a request loses because its version does not have it is a change of whoever makes the request.
func TestLostFields(t *testing.T) {
	const loss = "in version v1beta1 also removes spec.size, which"
	full := map[string]any{"color": "red", "size": "5", "tier": "low"}
	for name, tc := range map[string]struct {
		user   string
		groups []string
		// stored is what the API server has, all of full if nil; sent is what the older version has of it, and
		// written what becomes of that.
		stored, sent, written map[string]any
		labels                map[string]any
		subresource           string
		refuse, converted     bool
		same                  bool // the request comes in v1
		cached, newer, older  bool // the cache has it; the API server has it newer, or older
		broken                error
		denied                bool
		withheld              []string // the paths that the answers tell of as withheld
		warnings              []string // parts of the warnings of the validating webhook, in order
		pending               []string // what is written down as the request cannot say it
		liveReads             int64
	}{
		"a stranger labels it": {
			user: "mallory", labels: map[string]any{"a": "b"}, withheld: []string{"spec.size"}, warnings: []string{"spec.size", loss}, liveReads: 2,
		},
		"the same, from the cache": {
			user: "mallory", labels: map[string]any{"a": "b"}, cached: true, withheld: []string{"spec.size"}, warnings: []string{"spec.size", loss},
		},
		"the same, where a webhook converts": {
			user: "mallory", labels: map[string]any{"a": "b"}, converted: true, withheld: []string{"spec.size"}, warnings: []string{"spec.size", loss}, liveReads: 2,
		},
		"in the version of the policies": {user: "mallory", labels: map[string]any{"a": "b"}, same: true},
		"a stranger, where policies refuse": {
			user: "mallory", labels: map[string]any{"a": "b"}, refuse: true, denied: true, warnings: []string{loss}, liveReads: 2,
		},
		"a stranger reports": {
			user: "mallory", subresource: subresourceStatus, warnings: []string{"spec.size", loss}, pending: []string{"spec.size"}, liveReads: 2,
		},
		"its controller reports": {
			user: "system:serviceaccount:default:controller", subresource: subresourceStatus, warnings: []string{"spec.size", loss}, pending: []string{"spec.size"}, liveReads: 2,
		},
		"an initiator changes another field": {
			user: "alice", groups: platformTeam, written: map[string]any{"color": "blue"}, warnings: []string{loss}, liveReads: 2,
		},
		"a default alone": {
			user: "mallory", stored: map[string]any{"color": "red", "tier": "low"}, labels: map[string]any{"a": "b"}, liveReads: 2,
		},
		"a default that came after the object": {
			user: "mallory", stored: map[string]any{"color": "red"}, labels: map[string]any{"a": "b"}, liveReads: 2,
		},
		"another value than the default": {
			user: "mallory", stored: map[string]any{"color": "red", "tier": "high"}, labels: map[string]any{"a": "b"},
			withheld: []string{"spec.tier"}, warnings: []string{"spec.tier", "in version v1beta1 also resets spec.tier, which"}, liveReads: 2,
		},
		"it is written meanwhile":     {user: "mallory", labels: map[string]any{"a": "b"}, newer: true, liveReads: 2},
		"it is gone":                  {user: "mallory", labels: map[string]any{"a": "b"}, stored: map[string]any{}, liveReads: 2},
		"it cannot be read":           {user: "mallory", labels: map[string]any{"a": "b"}, broken: errors.New("away"), warnings: []string{"not judged, and let through"}, liveReads: 2},
		"it is read as it was before": {user: "mallory", labels: map[string]any{"a": "b"}, older: true, warnings: []string{"not judged, and let through"}, liveReads: 2},
		"it cannot be read, and another is refused": {
			user: "mallory", written: map[string]any{"color": "blue"}, refuse: true, broken: errors.New("away"), denied: true, liveReads: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			stored := tc.stored
			if stored == nil {
				stored = full
			}
			w := lossyWorld(tc.converted, instance(stored))
			w.broken = tc.broken
			if tc.cached {
				w.cached = w.live
			}
			switch {
			case tc.newer:
				w.live[key("Instance", "db")].SetResourceVersion("8")
			case tc.older:
				w.live[key("Instance", "db")].SetResourceVersion("6")
			case len(stored) == 0:
				clear(w.live)
			}
			policyText := lossyPolicy
			if tc.refuse {
				policyText += "  uncausedChanges: Refuse\n"
			}
			mutator, validator := w.hooks(t, policyText)
			before, after := instance(map[string]any{"color": "red"}), instance(map[string]any{"color": "red"})
			if tc.same {
				before, after = instance(full), instance(full)
			}
			if tc.written != nil {
				after.Object["spec"] = tc.written
			}
			if tc.labels != nil {
				if err := unstructured.SetNestedMap(after.Object, tc.labels, fieldMetadata, "labels"); err != nil {
					t.Fatal(err)
				}
			}
			req := asking(t, tc.user, tc.groups, before, after)
			req.SubResource = tc.subresource
			if !tc.same {
				req = inOlder(req)
			}
			granted := mutator.Handle(t.Context(), req)
			if !granted.Allowed {
				t.Fatalf("the mutating hook refuses: %+v", granted.Result)
			}
			if annotations := patched(t, after, granted); tc.subresource == "" && len(annotations) > 0 {
				after.SetAnnotations(annotations)
			}
			entries, err := ledger.Decode(ledger.Annotation(after, ledger.NameAllowances))
			if err != nil {
				t.Fatal(err)
			}
			var withheld []string
			for _, e := range entries.Without(isAllowance) {
				withheld = append(withheld, e.Mutation)
			}
			if tc.written != nil {
				after.SetGeneration(5)
			}
			req.Object = encoded(t, after)
			resp := validator.Handle(t.Context(), req)
			if resp.Allowed == tc.denied {
				t.Errorf("allowed %t, want %t: %+v", resp.Allowed, !tc.denied, resp.Result)
			}
			if len(resp.Warnings) != len(tc.warnings) {
				t.Errorf("warnings: %q, want %q", resp.Warnings, tc.warnings)
			}
			for i := range min(len(resp.Warnings), len(tc.warnings)) {
				if !strings.Contains(resp.Warnings[i], tc.warnings[i]) {
					t.Errorf("warning %q, want %q in it", resp.Warnings[i], tc.warnings[i])
				}
			}
			var pending []string
			for _, p := range w.pending {
				for _, a := range p.Allowances {
					pending = append(pending, a.Mutation)
				}
			}
			if diff := cmp.Diff(tc.pending, pending); diff != "" {
				t.Errorf("written down (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.withheld, withheld); diff != "" && !tc.denied {
				t.Errorf("withheld (-want +got):\n%s", diff)
			}
			if got := w.liveReads.Load(); got != tc.liveReads {
				t.Errorf("%d objects read live, want %d", got, tc.liveReads)
			}
		})
	}
}

// A scale in a version that lacks fields loses them as well.
func TestScaleLosesFields(t *testing.T) {
	for name, tc := range map[string]struct {
		user      string
		groups    []string
		version   string
		newer     bool
		converted bool
		denied    bool
		warned    bool
		liveReads int64
	}{
		"a stranger, of the number that is there": {user: "mallory", version: "v1beta1", denied: true, warned: true, liveReads: 2},
		"an initiator": {user: "alice", groups: platformTeam, version: "v1beta1", warned: true, liveReads: 2},
		"a stranger, in the version of the policies":      {user: "mallory", version: "v1", liveReads: 1},
		"a stranger, where it is written meanwhile":       {user: "mallory", version: "v1beta1", newer: true, liveReads: 2},
		"a stranger, where nobody tells what it would be": {user: "mallory", version: "v1beta1", converted: true, liveReads: 1},
	} {
		t.Run(name, func(t *testing.T) {
			stored := instance(map[string]any{"replicas": int64(2), "size": "5", "tier": "low"})
			if tc.newer {
				stored.SetResourceVersion("8")
			}
			w := lossyWorld(tc.converted, stored)
			_, validator := w.hooks(t, lossyPolicy)
			scale := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "autoscaling/v1", "kind": "Scale",
				"metadata": map[string]any{"name": "db", "namespace": "default", "uid": "uid-db", "resourceVersion": "7"},
				"spec":     map[string]any{"replicas": int64(2)},
			}}
			req := asking(t, tc.user, tc.groups, scale, scale)
			req.SubResource = subresourceScale
			req.Resource.Group, req.Resource.Version, req.Resource.Resource = "example.com", "v1", "instances"
			requested := req.Resource
			requested.Version = tc.version
			req.RequestResource = &requested
			resp := validator.Handle(t.Context(), req)
			if resp.Allowed == tc.denied {
				t.Errorf("allowed %t, want %t: %+v", resp.Allowed, !tc.denied, resp.Result)
			}
			if warned := strings.Contains(strings.Join(resp.Warnings, ""), "also removes spec.size"); warned != tc.warned {
				t.Errorf("warnings: %q", resp.Warnings)
			}
			if got := w.liveReads.Load(); got != tc.liveReads {
				t.Errorf("%d objects read live, want %d", got, tc.liveReads)
			}
		})
	}
}

// A status in a version that alone has one loses what that version lacks of the rest.
func TestStatusOfAnotherVersionLosesFields(t *testing.T) {
	sent := instance(map[string]any{"color": "red"})
	sent.SetAPIVersion("example.com/v2")
	for name, tc := range map[string]struct {
		stored  map[string]any
		pending []string
	}{
		"a field":   {stored: map[string]any{"color": "red", "size": "5", "tier": "low"}, pending: []string{"spec.size"}},
		"a default": {stored: map[string]any{"color": "red", "tier": "low"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := lossyWorld(false, instance(tc.stored))
			_, validator := w.hooks(t, lossyPolicy)
			req := asking(t, "mallory", nil, sent, sent)
			req.SubResource = subresourceStatus
			if resp := validator.Handle(t.Context(), req); !resp.Allowed {
				t.Fatalf("refused: %+v", resp.Result)
			}
			var pending []string
			for _, p := range w.pending {
				for _, a := range p.Allowances {
					pending = append(pending, a.Mutation)
				}
			}
			if diff := cmp.Diff(tc.pending, pending); diff != "" {
				t.Errorf("written down (-want +got):\n%s", diff)
			}
		})
	}
}

// What only was lost counts up no generation, and a grant for it is for the next one.
func TestLossCountsUpNoGeneration(t *testing.T) {
	w := lossyWorld(false, instance(map[string]any{"color": "red", "size": "5", "tier": "low"}))
	mutator, _ := w.hooks(t, lossyPolicy)
	for name, tc := range map[string]struct {
		spec map[string]any
		want bool
	}{
		"nothing but the loss": {spec: map[string]any{"color": "red"}, want: true},
		"more":                 {spec: map[string]any{"color": "blue"}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := mutator.decode(t.Context(), inOlder(asking(t, "alice", platformTeam, instance(map[string]any{"color": "red"}), instance(tc.spec))), false)
			if err != nil {
				t.Fatal(err)
			}
			want := int64(5)
			if tc.want {
				want = 4
			}
			if got := r.generation(nil, r.lost); r.uncounted != tc.want || got != want {
				t.Errorf("uncounted: %t, generation %d, want %t, %d", r.uncounted, got, tc.want, want)
			}
		})
	}
}

// What is cached lacks some of the metadata, which is the same in all versions.
func TestMetadataAsRead(t *testing.T) {
	const applied = "kubectl.kubernetes.io/last-applied-configuration"
	managed := []any{map[string]any{"manager": "kubectl", "operation": "Update"}}
	object := func(managedFields []any, annotations map[string]any) *unstructured.Unstructured {
		metadata := map[string]any{"name": "db"}
		if managedFields != nil {
			metadata["managedFields"] = managedFields
		}
		if annotations != nil {
			metadata["annotations"] = annotations
		}
		return &unstructured.Unstructured{Object: map[string]any{fieldMetadata: metadata}}
	}
	for name, tc := range map[string]struct{ read, sent, want *unstructured.Unstructured }{
		"nothing more": {read: object(nil, nil), sent: object(nil, nil), want: object(nil, nil)},
		"what a webhook keeps in annotations": {
			read: object(nil, map[string]any{"a": "b"}), sent: object(nil, map[string]any{"port": "80"}), want: object(nil, map[string]any{"a": "b"}),
		},
		"what is not cached": {
			read: object(nil, map[string]any{"a": "b"}), sent: object(managed, map[string]any{applied: "{}"}),
			want: object(managed, map[string]any{"a": "b", applied: "{}"}),
		},
		"the same, without annotations": {read: object(nil, nil), sent: object(managed, map[string]any{applied: "{}"}), want: object(managed, map[string]any{applied: "{}"})},
		"what does not count":           {read: object(managed, nil), sent: object(nil, nil), want: object(nil, nil)},
	} {
		t.Run(name, func(t *testing.T) {
			before := tc.read.DeepCopy()
			if diff := cmp.Diff(tc.want.Object[fieldMetadata], any(metadataAsRead(tc.read, tc.sent))); diff != "" {
				t.Errorf("metadata (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, tc.read); diff != "" {
				t.Errorf("what was read is another one then (-want +got):\n%s", diff)
			}
		})
	}
}
