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

package registry_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"kausality.io/operator/internal/discovery"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/gate/crossplane"
	"kausality.io/operator/internal/gate/registry"
	"kausality.io/operator/internal/policy"
)

// served are managed buckets and queues, and a kind of something else.
type served map[string]discovery.Resource

func (s served) ByKind(kind schema.GroupVersionKind) (discovery.Resource, bool) {
	r, ok := s[kind.Kind]
	return r, ok
}

func (s served) InCategory(name string) []discovery.Resource {
	var out []discovery.Resource
	for _, kind := range []string{"Bucket", "Queue", "Shop"} {
		if slices.Contains(s[kind].Categories, name) {
			out = append(out, s[kind])
		}
	}
	return out
}

func resource(group, kind, plural string, categories ...string) discovery.Resource {
	gv := schema.GroupVersion{Group: group, Version: "v1"}
	return discovery.Resource{GVK: gv.WithKind(kind), GVR: gv.WithResource(plural), Categories: categories}
}

func newRegistry(t *testing.T, owners ...metav1.OwnerReference) *registry.Registry {
	t.Helper()
	definition := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "buckets.s3.example.org", OwnerReferences: owners}}
	definition.SetGroupVersionKind(discovery.Definition().GetObjectKind().GroupVersionKind())
	scheme := runtime.NewScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	revision := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: "provider-s3-0123456789ab", Labels: map[string]string{"pkg.crossplane.io/package": "provider-s3"},
	}}
	revision.SetGroupVersionKind(schema.GroupVersionKind{Group: "pkg.crossplane.io", Version: "v1", Kind: "ProviderRevision"})
	return &registry.Registry{
		Drivers: gate.Drivers{crossplane.Driver{}},
		Served: served{
			"Bucket": resource("s3.example.org", "Bucket", "buckets", "crossplane", "managed"),
			"Queue":  resource("sqs.example.org", "Queue", "queues", "managed"),
			"Shop":   resource("example.com", "Shop", "shops", "composite"),
		},
		Definitions: fake.NewClientBuilder().WithScheme(scheme).WithObjects(definition, revision).Build(),
		Providers:   map[string]string{"*.example.org": "provider-mapped", "sqs.example.org": "provider-sqs"},
		Systems:     []string{"system:serviceaccount:crossplane-system:*"},
		Composers:   []string{"system:serviceaccount:crossplane-system:crossplane"},
	}
}

func TestGate(t *testing.T) {
	owner := func(kind, name string) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: "pkg.crossplane.io/v1", Kind: kind, Name: name, UID: "1"}
	}
	tests := map[string]struct {
		kind     string
		owners   []metav1.OwnerReference
		provider string
		none     bool
	}{
		"by its package":             {kind: "Bucket", owners: []metav1.OwnerReference{owner("ProviderRevision", "provider-s3-0123456789ab"), owner("Provider", "provider-s3")}, provider: "provider-s3"},
		"by its revision":            {kind: "Bucket", owners: []metav1.OwnerReference{owner("ProviderRevision", "provider-s3-0123456789ab")}, provider: "provider-s3"},
		"by a pattern":               {kind: "Bucket", owners: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Provider", Name: "other"}}, provider: "provider-mapped"},
		"by its group":               {kind: "Queue", provider: "provider-sqs"},
		"a kind that is not managed": {kind: "Shop", none: true},
		"a kind that nobody serves":  {kind: "Table", none: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, kind, ok := newRegistry(t, tt.owners...).Gate(t.Context(), schema.GroupVersionKind{Kind: tt.kind})
			if ok == tt.none || kind.Provider != tt.provider {
				t.Errorf("gate: %t, provider %q, want %q", ok, kind.Provider, tt.provider)
			}
		})
	}
}

// What tells of a kind that it has gates, and whose it is, may go while gates are closed.
func TestKindsAreKept(t *testing.T) {
	bySQS := &policy.Policy{Deleting: &policy.Section{Entries: []policy.Entry{{External: map[string]string{"provider": "provider-sqs"}}}}}
	queue := resource("sqs.example.org", "Queue", "queues", "managed").GVK
	tests := map[string]struct {
		// before says whether policies have named the kind before, and keep of what objects tell.
		before bool
		keep   map[schema.GroupVersionKind][]string
		change func(*registry.Registry, served)
		behind []string
		gate   bool
	}{
		"another provider": {before: true, change: func(r *registry.Registry, _ served) { r.Providers = nil }, behind: []string{"queues"}, gate: true},
		"another provider, after a restart": {
			keep: map[schema.GroupVersionKind][]string{queue: {"provider-sqs"}}, change: func(r *registry.Registry, _ served) { r.Providers = nil }, behind: []string{"queues"}, gate: true,
		},
		"without its category": {
			before: true, change: func(_ *registry.Registry, s served) {
				s["Queue"] = resource("sqs.example.org", "Queue", "queues")
			}, behind: []string{"queues"}, gate: true,
		},
		"without its category, after a restart": {
			keep: map[schema.GroupVersionKind][]string{queue: nil}, change: func(_ *registry.Registry, s served) {
				s["Queue"] = resource("sqs.example.org", "Queue", "queues")
			},
			behind: []string{"queues"}, gate: true,
		},
		"never known": {change: func(_ *registry.Registry, s served) {
			s["Queue"] = resource("sqs.example.org", "Queue", "queues")
		}},
		"not served any more":  {before: true, change: func(_ *registry.Registry, s served) { delete(s, "Queue") }},
		"nothing has happened": {before: true, change: func(*registry.Registry, served) {}, behind: []string{"queues"}, gate: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRegistry(t)
			if tt.before {
				r.Behind(t.Context(), bySQS)
			}
			serves, ok := r.Served.(served)
			if !ok {
				t.Fatalf("serves %T", r.Served)
			}
			tt.change(r, serves)
			followed := r.Keep(tt.keep)
			var behind []string
			for _, resource := range r.Behind(t.Context(), bySQS) {
				behind = append(behind, resource.GVR.Resource)
			}
			if diff := cmp.Diff(tt.behind, behind); diff != "" {
				t.Errorf("behind (-want +got):\n%s", diff)
			}
			if _, _, ok := r.Gate(t.Context(), queue); ok != tt.gate {
				t.Errorf("has a gate: %t, want %t", ok, tt.gate)
			}
			if followed := slices.Contains(followed, queue); followed != tt.gate {
				t.Errorf("is followed: %t, want %t", followed, tt.gate)
			}
		})
	}
}

func TestBehind(t *testing.T) {
	naming := func(external map[string]string) *policy.Policy {
		return &policy.Policy{Deleting: &policy.Section{Entries: []policy.Entry{{External: external}}}}
	}
	tests := map[string]struct {
		external map[string]string
		want     []string
	}{
		"by provider":             {external: map[string]string{"provider": "provider-sqs"}, want: []string{"queues"}},
		"whatever its name":       {external: map[string]string{"kind": "Bucket", "name": "b"}, want: []string{"buckets"}},
		"a key that nobody knows": {external: map[string]string{"region": "eu"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, r := range newRegistry(t).Behind(t.Context(), &policy.Policy{}, naming(tt.external)) {
				got = append(got, r.GVR.Resource)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("resources (-want +got):\n%s", diff)
			}
		})
	}
}

func TestIsSystem(t *testing.T) {
	account := func(namespace, name string) policy.Requester {
		return policy.Requester{
			Username: "system:serviceaccount:" + namespace + ":" + name,
			Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace},
		}
	}
	tests := map[string]struct {
		who  policy.Requester
		want bool
	}{
		"a provider":        {who: account("crossplane-system", "provider-s3-0123456789ab"), want: true},
		"Crossplane itself": {who: account("crossplane-system", "crossplane")},
		"somebody else":     {who: account("default", "provider-s3")},
		"a person":          {who: policy.Requester{Username: "mallory"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := newRegistry(t).IsSystem(tt.who); got != tt.want {
				t.Errorf("is a system: %t, want %t", got, tt.want)
			}
		})
	}
}

func TestParseMapping(t *testing.T) {
	got, err := registry.ParseMapping("a.example.org=provider-a, *.b=provider-b,")
	if diff := cmp.Diff(map[string]string{"a.example.org": "provider-a", "*.b": "provider-b"}, got); diff != "" || err != nil {
		t.Errorf("mapping (-want +got), %v:\n%s", err, diff)
	}
	for _, text := range []string{"provider-a", "=provider-a", "a=", "[=a"} {
		if _, err := registry.ParseMapping(text); err == nil {
			t.Errorf("%q was taken for a mapping", text)
		}
	}
}
