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

package discovery_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	endpoints "k8s.io/apiserver/pkg/endpoints/discovery"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/internal/discovery"
)

// What is stored of an object is what the schema of the stored version has.
func TestStored(t *testing.T) {
	const declared = `
type: object
properties:
  spec:
    type: object
    properties:
      color: {type: string, description: of all, maxLength: 8}
      size: {type: integer, default: 3}
      free: {type: object, x-kubernetes-preserve-unknown-fields: true}
      parts: {type: array, items: {type: object, properties: {kind: {type: string}}}}
      byName: {type: object, additionalProperties: {type: object, properties: {kind: {type: string}}}}
      template: {type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: object}}}
`
	spec := func(fields map[string]any) map[string]any {
		return map[string]any{
			"apiVersion": "example.com/v2", "kind": "Widget", "spec": fields,
			"metadata": map[string]any{"name": "w", "annotations": map[string]any{"a": "b"}},
		}
	}
	for name, tc := range map[string]struct {
		written, want map[string]any // want is nil where all is stored
	}{
		"what it has":               {written: map[string]any{"color": "red"}},
		"what it has not":           {written: map[string]any{"color": "red", "tier": "gold"}, want: map[string]any{"color": "red", "size": int64(3)}},
		"in an item":                {written: map[string]any{"size": int64(1), "parts": []any{map[string]any{"kind": "a", "tier": "gold"}}}, want: map[string]any{"size": int64(1), "parts": []any{map[string]any{"kind": "a"}}}},
		"in a value of a map":       {written: map[string]any{"size": int64(1), "byName": map[string]any{"a": map[string]any{"tier": "gold"}}}, want: map[string]any{"size": int64(1), "byName": map[string]any{"a": map[string]any{}}}},
		"where everything may be":   {written: map[string]any{"free": map[string]any{"tier": "gold"}}},
		"in an object within":       {written: map[string]any{"template": map[string]any{"metadata": map[string]any{"name": "t"}, "kind": "Pod"}}},
		"beside an object's fields": {written: map[string]any{"size": int64(1), "template": map[string]any{"kind": "Pod", "tier": "gold"}}, want: map[string]any{"size": int64(1), "template": map[string]any{"kind": "Pod"}}},
	} {
		t.Run(name, func(t *testing.T) {
			schemaOf := &apiextensionsv1.JSONSchemaProps{}
			if err := yaml.UnmarshalStrict([]byte(declared), schemaOf); err != nil {
				t.Fatal(err)
			}
			storage, err := storageOf(t, schemaOf)
			if err != nil {
				t.Fatal(err)
			}
			if color := storage.Fields.Properties["spec"].Properties["color"]; color.Description != "" || color.ValueValidation != nil {
				t.Errorf("it keeps what nobody asks for: %+v", color)
			}
			want := spec(tc.want)
			if tc.want == nil {
				want = spec(tc.written)
			}
			written := spec(tc.written)
			before := runtime.DeepCopyJSON(written)
			got, dropped := (&discovery.Storing{Fields: storage.Fields, Defaults: storage.Defaults}).Stored(written)
			if diff := cmp.Diff(want, got); diff != "" || dropped == (tc.want == nil) {
				t.Errorf("Stored(): dropped = %t (-want +got):\n%s", dropped, diff)
			}
			if diff := cmp.Diff(before, written); diff != "" {
				t.Errorf("Stored() changed its argument (-want +got):\n%s", diff)
			}
		})
	}
}

// Where nothing tells what is stored, all is taken to be.
func TestResolverKnowsWhatIsStored(t *testing.T) {
	things := []metav1.APIResource{{Name: "widgets", Kind: "Widget"}}
	fields := &structuralschema.Structural{Properties: map[string]structuralschema.Structural{"spec": {}}}
	for name, tc := range map[string]struct {
		stored, requested  string
		converted, unknown bool
		want               string
	}{
		"in the stored version":         {stored: "v1", requested: "v1"},
		"in another one":                {stored: "v1", requested: "v2", want: "v1"},
		"in that of policies":           {stored: "v2", requested: "v1", want: "v2"},
		"in the stored one, not theirs": {stored: "v2", requested: "v2"},
		"where a webhook converts":      {stored: "v1", requested: "v2", converted: true},
		"where it may have any field":   {stored: "v1", requested: "v2", unknown: true},
	} {
		t.Run(name, func(t *testing.T) {
			served := &cluster{
				served:    map[string][]metav1.APIResource{"example.com/v1": things, "example.com/v2": things},
				converted: tc.converted, stored: map[string]string{"widgets": tc.stored},
			}
			if !tc.unknown {
				served.fields = map[string]*structuralschema.Structural{"widgets": fields}
			}
			r := discovery.New(served, served, served, clocktesting.NewFakePassiveClock(time.Unix(1000, 0)))
			if _, err := r.Update(t.Context(), []schema.GroupVersion{example}); err != nil {
				t.Fatalf("Update(): %v", err)
			}
			var want *discovery.Storing
			if tc.want != "" {
				want = &discovery.Storing{Version: tc.want, Fields: fields}
			}
			got := r.Storing(example.WithResource("widgets"), tc.requested)
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("Storing() (-want +got):\n%s", diff)
			}
		})
	}
}

// A command names the version in which objects are stored where kubectl takes another one.
func TestVersionToName(t *testing.T) {
	const kind = "Widget"
	for name, tc := range map[string]struct {
		named, stored string // of policies, and of the definition
		served        []string
		hash          string // the version of which discovery has the hash
		want, told    string
	}{
		"one version":                               {named: "v1", stored: "v1", served: []string{"v1"}, hash: "v1"},
		"the preferred one is stored":               {named: "v1", stored: "v1", served: []string{"v1", "v2"}, hash: "v1"},
		"another one is stored":                     {named: "v1", stored: "v2", served: []string{"v1", "v2"}, hash: "v2", want: "v2", told: "v2"},
		"another one, which policies name":          {named: "v2", stored: "v2", served: []string{"v1", "v2"}, hash: "v2", want: "v2", told: "v2"},
		"policies name another than what is stored": {named: "v2", stored: "v1", served: []string{"v1", "v2"}, hash: "v1"},
		"what is stored is not served":              {named: "v1", stored: "v3", served: []string{"v1", "v2"}},
		"nor that, and policies name another":       {named: "v2", stored: "v3", served: []string{"v1", "v2"}, want: "v2"},
		"no definition says anything":               {named: "v2", served: []string{"v1", "v2"}, hash: "other"},
		"what the group prefers is of another kind": {named: "v2", stored: "v2", served: []string{"v2"}, hash: "v2"},
		"what is stored comes last of several":      {named: "v1", stored: "v3", served: []string{"v1", "v2", "v3"}, hash: "v3", want: "v3", told: "v3"},
	} {
		t.Run(name, func(t *testing.T) {
			served := &cluster{served: map[string][]metav1.APIResource{"example.com/v1": {{Name: "others", Kind: "Other"}}}, stored: map[string]string{}}
			if tc.stored != "" {
				served.stored["widgets"] = tc.stored
			}
			for _, version := range tc.served {
				resource := metav1.APIResource{Name: "widgets", Kind: kind}
				if tc.hash != "" {
					resource.StorageVersionHash = endpoints.StorageVersionHash("example.com", tc.hash, kind)
				}
				served.served["example.com/"+version] = append(served.served["example.com/"+version], resource)
			}
			of := schema.GroupVersionKind{Group: "example.com", Version: tc.named, Kind: kind}
			r := discovery.New(served, served, served, clocktesting.NewFakePassiveClock(time.Unix(1000, 0)))
			if _, err := r.Update(t.Context(), []schema.GroupVersion{of.GroupVersion()}); err != nil {
				t.Fatalf("Update(): %v", err)
			}
			resource, ok, err := discovery.Told(t.Context(), served, of)
			if err != nil || !ok {
				t.Fatalf("Told(): %t, %v", ok, err)
			}
			if diff := cmp.Diff([]string{tc.want, tc.told}, []string{r.VersionToName(of.GroupKind()), resource.VersionToName()}); diff != "" {
				t.Errorf("the version to name, as a definition tells and as discovery does (-want +got):\n%s", diff)
			}
		})
	}
}

// A definition from before schemas had to say which fields there are drops nothing.
func TestStoredOfOldDefinitions(t *testing.T) {
	for name, declared := range map[string]*apiextensionsv1.JSONSchemaProps{
		"not structural": {Items: &apiextensionsv1.JSONSchemaPropsOrArray{JSONSchemas: []apiextensionsv1.JSONSchemaProps{{}}}},
	} {
		t.Run(name, func(t *testing.T) {
			if storage, err := storageOf(t, declared); err != nil || storage.Fields != nil {
				t.Errorf("Storage() = %+v, %v", storage, err)
			}
		})
	}
}
