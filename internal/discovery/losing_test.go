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
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/internal/discovery"
)

// fieldDefaults returns the defaults of a map in which one field has some.
func fieldDefaults(name string, field *discovery.Defaults) *discovery.Defaults {
	return &discovery.Defaults{Fields: map[string]*discovery.Defaults{name: field}}
}

// A write loses what the version lacks in which it is made, unless objects are stored in that.
func TestResolverKnowsWhichVersionsLoseFields(t *testing.T) {
	things := []metav1.APIResource{{Name: "widgets", Kind: "Widget"}}
	defaults := fieldDefaults("spec", fieldDefaults("size", &discovery.Defaults{Value: int64(3)}))
	for name, tc := range map[string]struct {
		stored string
		// others are the versions that are served besides v1, which policies name.
		others    []string
		requested string
		want      *discovery.Losing
	}{
		"in its own version":             {stored: "v1", others: []string{"v1beta1"}, requested: "v1"},
		"in another one":                 {stored: "v1", others: []string{"v1beta1"}, requested: "v1beta1", want: &discovery.Losing{Versions: []string{"v1beta1"}}},
		"in the stored one":              {stored: "v1beta1", others: []string{"v1beta1"}, requested: "v1beta1"},
		"in a third one":                 {stored: "v2", others: []string{"v2", "v1beta1"}, requested: "v1beta1", want: &discovery.Losing{Versions: []string{"v1beta1"}}},
		"where the stored one is hidden": {stored: "v2", others: []string{"v1beta1"}, requested: "v1beta1", want: &discovery.Losing{Versions: []string{"v1beta1"}}},
		"in one that is not served":      {stored: "v1", others: []string{"v1beta1"}, requested: "v1alpha1"},
		"where there is no other one":    {stored: "v1", requested: "v1beta1"},
		"where nothing is defined":       {others: []string{"v1beta1"}, requested: "v1beta1"},
	} {
		t.Run(name, func(t *testing.T) {
			served := &cluster{
				served: map[string][]metav1.APIResource{"example.com/v1": things}, converted: true,
				stored: map[string]string{"widgets": tc.stored}, defaults: map[string]*discovery.Defaults{"widgets": defaults},
			}
			for _, other := range tc.others {
				served.served["example.com/"+other] = things
			}
			r := discovery.New(served, served, served, clocktesting.NewFakePassiveClock(time.Unix(1000, 0)))
			if _, err := r.Update(t.Context(), []schema.GroupVersion{example}); err != nil {
				t.Fatalf("Update(): %v", err)
			}
			if tc.want != nil {
				tc.want.Converted, tc.want.Defaults = true, defaults
			}
			if diff := cmp.Diff(tc.want, r.Losing(example.WithResource("widgets"), tc.requested)); diff != "" {
				t.Errorf("Losing() (-want +got):\n%s", diff)
			}
		})
	}
}

// What is read of an object that lacks something has the defaults of the definition.
func TestLosingRead(t *testing.T) {
	const declared = `
properties:
  spec:
    default: {}
    properties:
      color: {type: string}
      size: {type: integer, default: 3}
      limit: {type: integer, default: 4, nullable: true}
      backend: {type: object, properties: {port: {type: integer, default: 80}}}
      storage: {type: object, default: {class: fast}, properties: {class: {type: string}, copies: {type: integer, default: 2}}}
      parts: {type: array, items: {type: object, properties: {kind: {type: string, default: plain}}}}
      byName: {type: object, additionalProperties: {type: object, default: {tier: low}, properties: {tier: {type: string, default: high}}}}
`
	filled := func(spec map[string]any) map[string]any {
		for name, value := range map[string]any{"size": int64(3), "limit": int64(4), "storage": map[string]any{"class": "fast", "copies": int64(2)}} {
			if _, ok := spec[name]; !ok {
				spec[name] = value
			}
		}
		return map[string]any{"spec": spec}
	}
	for name, tc := range map[string]struct{ obj, want map[string]any }{
		"nothing":    {obj: map[string]any{}, want: filled(map[string]any{})},
		"other ones": {obj: map[string]any{"spec": map[string]any{"size": int64(5)}}, want: filled(map[string]any{"size": int64(5)})},
		"null": {
			obj:  map[string]any{"spec": map[string]any{"size": nil, "limit": nil}},
			want: filled(map[string]any{"limit": nil}),
		},
		"below what is there": {
			obj:  map[string]any{"spec": map[string]any{"backend": map[string]any{}, "storage": map[string]any{"class": "slow"}}},
			want: filled(map[string]any{"backend": map[string]any{"port": int64(80)}, "storage": map[string]any{"class": "slow", "copies": int64(2)}}),
		},
		"items": {
			obj:  map[string]any{"spec": map[string]any{"parts": []any{map[string]any{}, map[string]any{"kind": "x"}}}},
			want: filled(map[string]any{"parts": []any{map[string]any{"kind": "plain"}, map[string]any{"kind": "x"}}}),
		},
		"values of a map": {
			obj:  map[string]any{"spec": map[string]any{"byName": map[string]any{"a": nil, "b": map[string]any{}}}},
			want: filled(map[string]any{"byName": map[string]any{"a": map[string]any{"tier": "low"}, "b": map[string]any{"tier": "high"}}}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			schemaOf := &apiextensionsv1.JSONSchemaProps{}
			if err := yaml.UnmarshalStrict([]byte(declared), schemaOf); err != nil {
				t.Fatal(err)
			}
			stored, err := storageOf(t, schemaOf)
			if err != nil {
				t.Fatal(err)
			}
			before := runtime.DeepCopyJSON(tc.obj)
			got := (&discovery.Losing{Defaults: stored.Defaults}).Read(tc.obj)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Read() (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, tc.obj); diff != "" {
				t.Errorf("the object is another one then (-want +got):\n%s", diff)
			}
		})
	}
	stored, err := storageOf(t, &apiextensionsv1.JSONSchemaProps{Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": {Type: "object"}}})
	if err != nil || stored.Defaults != nil {
		t.Errorf("a schema without defaults has %v, %v", stored.Defaults, err)
	}
}

// storageOf returns what is read of a definition with a schema.
func storageOf(t *testing.T, declared *apiextensionsv1.JSONSchemaProps) (discovery.Storage, error) {
	t.Helper()
	definition := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
			{Name: "v1", Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: declared}},
		}},
	}
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	reader := discovery.Reader{Reader: fake.NewClientBuilder().WithScheme(scheme).WithObjects(definition).Build()}
	return reader.Storage(t.Context(), schema.GroupResource{Group: "example.com", Resource: "widgets"})
}
