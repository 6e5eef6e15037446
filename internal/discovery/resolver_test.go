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
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"kausality.io/operator/internal/discovery"
)

var (
	apps    = schema.GroupVersion{Group: "apps", Version: "v1"}
	example = schema.GroupVersion{Group: "example.com", Version: "v1"}
)

// cluster serves documents by group version, and counts what it is asked.
type cluster struct {
	served map[string][]metav1.APIResource
	// paths that scales set, by resource, or by version and resource.
	paths map[string]string
	// converted is true where webhooks convert custom resources.
	converted bool
	// stored are the versions in which custom resources are stored, by resource.
	stored map[string]string
	// defaults are those of that version, by resource.
	defaults map[string]*discovery.Defaults
	fields   map[string]*structuralschema.Structural
	// markers of definitions, by resource.
	markers map[string][]string
	err     error
	asked   int
	// searched is how often all that is served was asked for.
	searched int

	documents   map[string]string
	documentErr error
	read        int
}

func (c *cluster) ServerResourcesForGroupVersionWithContext(_ context.Context, groupVersion string) (*metav1.APIResourceList, error) {
	c.asked++
	if c.err != nil {
		return nil, c.err
	}
	resources, ok := c.served[groupVersion]
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{}, groupVersion)
	}
	return &metav1.APIResourceList{GroupVersion: groupVersion, APIResources: resources}, nil
}

func (c *cluster) ServerPreferredResourcesWithContext(context.Context) ([]*metav1.APIResourceList, error) {
	c.searched++
	if c.err != nil {
		return nil, c.err
	}
	var out []*metav1.APIResourceList
	for groupVersion, resources := range c.served {
		out = append(out, &metav1.APIResourceList{GroupVersion: groupVersion, APIResources: resources})
	}
	return out, nil
}

func (c *cluster) ServerGroupsWithContext(context.Context) (*metav1.APIGroupList, error) {
	if c.err != nil {
		return nil, c.err
	}
	list := &metav1.APIGroupList{}
	for _, groupVersion := range slices.Sorted(maps.Keys(c.served)) {
		gv, err := schema.ParseGroupVersion(groupVersion)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(list.Groups, func(g metav1.APIGroup) bool { return g.Name == gv.Group })
		if i < 0 {
			i, list.Groups = len(list.Groups), append(list.Groups, metav1.APIGroup{Name: gv.Group})
		}
		list.Groups[i].Versions = append(list.Groups[i].Versions, metav1.GroupVersionForDiscovery{GroupVersion: groupVersion, Version: gv.Version})
	}
	return list, nil
}

func (c *cluster) Scale(_ context.Context, resource schema.GroupVersionResource) (discovery.Scale, error) {
	if path, ok := c.paths[resource.Version+"/"+resource.Resource]; ok {
		return discovery.Scale{Path: path, Converted: c.converted}, nil
	}
	return discovery.Scale{Path: c.paths[resource.Resource], Converted: c.converted}, nil
}

func (c *cluster) Storage(_ context.Context, resource schema.GroupResource) (discovery.Storage, error) {
	return discovery.Storage{Version: c.stored[resource.Resource], Converted: c.converted, Defaults: c.defaults[resource.Resource], Fields: c.fields[resource.Resource]}, nil
}

func (c *cluster) Markers(_ context.Context, resource schema.GroupResource) ([]string, error) {
	return c.markers[resource.Resource], nil
}

func workloads() *cluster {
	return &cluster{
		served: map[string][]metav1.APIResource{"apps/v1": {
			{Name: "deployments/status", Kind: "Deployment", Namespaced: true},
			{Name: "deployments", Kind: "Deployment", Namespaced: true},
			{Name: "deployments/scale", Kind: "Scale", Group: "autoscaling", Version: "v1", Namespaced: true},
			{Name: "controllerrevisions", Kind: "ControllerRevision", Namespaced: true},
		}},
		paths: map[string]string{},
	}
}

func TestResolverKnowsWhatIsServed(t *testing.T) {
	served := workloads()
	served.served["example.com/v1"] = []metav1.APIResource{
		{Name: "widgets", Kind: "Widget", Categories: []string{"crossplane", "composite"}},
		{Name: "widgets/scale", Kind: "Scale"},
	}
	served.paths["widgets"] = "spec.count"
	served.markers = map[string][]string{"widgets": {"kro.run/owned"}}
	r := discovery.New(served, served, served, clocktesting.NewFakePassiveClock(time.Unix(1000, 0)))
	if _, ok := r.ByKind(apps.WithKind("Deployment")); ok {
		t.Error("ByKind() knows a kind before the first Update")
	}
	changed, err := r.Update(t.Context(), []schema.GroupVersion{apps, example, apps})
	if !changed || err != nil {
		t.Fatalf("Update() = %t, %v, want true, nil", changed, err)
	}
	if served.asked != 2 {
		t.Errorf("the API server was asked %d times about 2 group versions", served.asked)
	}
	for name, tc := range map[string]struct {
		resource schema.GroupVersionResource
		want     discovery.Resource
	}{
		"with sub-resources": {apps.WithResource("deployments"), discovery.Resource{
			GVR: apps.WithResource("deployments"), GVK: apps.WithKind("Deployment"), Namespaced: true,
			Subresources: []string{"scale", "status"}, ReplicasPath: "spec.replicas",
		}},
		"without": {apps.WithResource("controllerrevisions"), discovery.Resource{
			GVR: apps.WithResource("controllerrevisions"), GVK: apps.WithKind("ControllerRevision"), Namespaced: true,
		}},
		"cluster-scoped, with a path of its own": {example.WithResource("widgets"), discovery.Resource{
			GVR: example.WithResource("widgets"), GVK: example.WithKind("Widget"),
			Subresources: []string{"scale"}, ReplicasPath: "spec.count", Categories: []string{"composite", "crossplane", "kro.run/owned"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			byResource, ok := r.ByResource(tc.resource)
			if diff := cmp.Diff(tc.want, byResource); !ok || diff != "" {
				t.Errorf("ByResource() = %t (-want +got):\n%s", ok, diff)
			}
			byKind, ok := r.ByKind(tc.want.GVK)
			if diff := cmp.Diff(tc.want, byKind); !ok || diff != "" {
				t.Errorf("ByKind() = %t (-want +got):\n%s", ok, diff)
			}
			if got, ok := r.KindFor(tc.resource); !ok || got != tc.want.GVK {
				t.Errorf("KindFor() = %v, %t", got, ok)
			}
			if got := r.Namespaced(tc.want.GVK); got != tc.want.Namespaced {
				t.Errorf("Namespaced() = %t", got)
			}
			if got := r.ReplicasPath(tc.resource, tc.resource.Version); got != tc.want.ReplicasPath {
				t.Errorf("ReplicasPath() = %q", got)
			}
			if got := r.Categories(tc.want.GVK.GroupKind()); !slices.Equal(got, tc.want.Categories) {
				t.Errorf("Categories() = %q", got)
			}
		})
	}
	if _, ok := r.KindFor(apps.WithResource("deployments/scale")); ok {
		t.Error("KindFor() takes a sub-resource for a resource")
	}
	if _, ok := r.ByKind(apps.WithKind("Scale")); ok {
		t.Error("ByKind() takes the kind of a sub-resource for that of a resource")
	}
}

func TestResolverAsksOnlyWhenItMatters(t *testing.T) {
	served := workloads()
	clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	r := discovery.New(served, served, served, clock)
	named := []schema.GroupVersion{apps}
	update := func(wantAsked int, wantChanged bool) {
		t.Helper()
		before := served.asked
		changed, err := r.Update(t.Context(), named)
		if err != nil {
			t.Fatalf("Update(): %v", err)
		}
		if asked := served.asked - before; asked != wantAsked || changed != wantChanged {
			t.Errorf("Update() asked %d times and returned %t, want %d and %t", asked, changed, wantAsked, wantChanged)
		}
	}
	pass := func(d time.Duration) { clock.SetTime(clock.Now().Add(d)) }

	update(1, true)
	update(0, false)
	pass(time.Hour)
	update(1, false) // what was just named is looked at once more
	pass(time.Hour)
	update(0, false)
	if _, ok := r.NextUpdate(); ok {
		t.Error("NextUpdate() wants another look at what has settled")
	}

	// Something appears in another group, then in one that is named.
	if r.Invalidate("example.com") {
		t.Error("Invalidate() takes a group for relevant that nobody names")
	}
	named = append(named, example)
	update(1, false)
	pass(2 * time.Second)
	update(1, false)
	if next, ok := r.NextUpdate(); !ok || next != time.Minute {
		t.Errorf("NextUpdate() = %v, %t, want to look for the missing group version in a minute", next, ok)
	}
	if !r.Invalidate("example.com") {
		t.Error("Invalidate() takes a named group for irrelevant")
	}
	update(1, false) // discovery lags behind the definition
	served.served["example.com/v1"] = widgetResources
	if next, ok := r.NextUpdate(); !ok || next != 500*time.Millisecond {
		t.Errorf("NextUpdate() = %v, %t, want to look again in half a second", next, ok)
	}
	pass(500 * time.Millisecond)
	update(1, true)
	if !hasWidgets(r) {
		t.Error("ByKind() does not know what has appeared")
	}

	// It goes again, and discovery lags again.
	r.Invalidate("example.com")
	update(1, false)
	delete(served.served, "example.com/v1")
	pass(time.Second)
	update(1, true)
	if hasWidgets(r) {
		t.Error("ByKind() knows what is gone")
	}
	pass(10 * time.Second)
	update(1, false)
	pass(10 * time.Second)
	update(0, false)

	// What is not named any more is forgotten.
	named = named[:1]
	update(0, false)
	if r.Invalidate("example.com") {
		t.Error("Invalidate() remembers a group that is not named any more")
	}
}

func TestResolverKeepsWhatItCannotAskAbout(t *testing.T) {
	served := workloads()
	r := discovery.New(served, served, served, clocktesting.NewFakePassiveClock(time.Unix(1000, 0)))
	if _, err := r.Update(t.Context(), []schema.GroupVersion{apps}); err != nil {
		t.Fatalf("Update(): %v", err)
	}
	served.err = errors.New("the API server is shutting down")
	r.Invalidate("apps")
	changed, err := r.Update(t.Context(), []schema.GroupVersion{apps})
	if changed || !errors.Is(err, served.err) {
		t.Errorf("Update() = %t, %v, want false and the error", changed, err)
	}
	if _, ok := r.ByKind(apps.WithKind("Deployment")); !ok {
		t.Error("ByKind() has forgotten a kind because nobody could be asked")
	}
	if !r.Known() {
		t.Error("Known() has forgotten an answer because nobody could be asked again")
	}
}

func TestResolverTellsUnknownFromUnserved(t *testing.T) {
	served := workloads()
	served.err = errors.New("the API server is starting")
	clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	r := discovery.New(served, served, served, clock)
	if _, err := r.Update(t.Context(), []schema.GroupVersion{example}); !errors.Is(err, served.err) {
		t.Errorf("Update() = %v, want the error", err)
	}
	if r.Known() {
		t.Error("Known() takes what nobody could be asked about for known")
	}
	served.err = nil
	clock.SetTime(clock.Now().Add(time.Second))
	if _, err := r.Update(t.Context(), []schema.GroupVersion{example}); err != nil {
		t.Errorf("Update(): %v", err)
	}
	if !r.Known() || hasWidgets(r) {
		t.Error("Known() does not know that nothing is served")
	}
}

func TestResolverKnowsScalesOfOtherVersions(t *testing.T) {
	widget := example.WithKind("Widget")
	things := []metav1.APIResource{{Name: "widgets", Kind: "Widget"}}
	scaled := append(slices.Clone(things), metav1.APIResource{Name: "widgets/scale", Kind: "Scale"})
	for name, tc := range map[string]struct {
		served    map[string][]metav1.APIResource
		converted bool
		scales    map[string]string
		only      []string
		// paths that are set, by the version that is requested; "" for none.
		paths map[string]string
	}{
		"in none": {
			served: map[string][]metav1.APIResource{"example.com/v1": things, "example.com/v2": things},
			paths:  map[string]string{"": "", "v1": "", "v2": ""},
		},
		"in its own": {
			served: map[string][]metav1.APIResource{"example.com/v1": scaled, "example.com/v2": things},
			paths:  map[string]string{"": "spec.one", "v1": "spec.one", "v2": "spec.one"},
		},
		"in another one": {
			served: map[string][]metav1.APIResource{"example.com/v1": things, "example.com/v2": scaled, "example.com/v3": scaled},
			scales: map[string]string{"v2": "spec.two", "v3": "spec.replicas"},
			only:   []string{"v2", "v3"},
			paths:  map[string]string{"": "spec.two", "v1": "", "v2": "spec.two", "v3": "spec.replicas"},
		},
		"in both": {
			served: map[string][]metav1.APIResource{"example.com/v1": scaled, "example.com/v2": scaled},
			scales: map[string]string{"v1": "spec.one", "v2": "spec.two"},
			paths:  map[string]string{"": "spec.one", "v1": "spec.one", "v2": "spec.two"},
		},
		"in both, and converted": {
			served:    map[string][]metav1.APIResource{"example.com/v1": scaled, "example.com/v2": scaled},
			converted: true,
			scales:    map[string]string{"v1": "spec.one", "v2": "spec.one"},
			paths:     map[string]string{"": "spec.one", "v1": "spec.one", "v2": "spec.one"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			served := &cluster{served: tc.served, converted: tc.converted, paths: map[string]string{"v1/widgets": "spec.one", "v2/widgets": "spec.two"}}
			r := discovery.New(served, served, served, clocktesting.NewFakePassiveClock(time.Unix(1000, 0)))
			if _, err := r.Update(t.Context(), []schema.GroupVersion{example}); err != nil {
				t.Fatalf("Update(): %v", err)
			}
			found, _ := r.ByKind(widget)
			if diff := cmp.Diff(tc.scales, found.Scales); diff != "" {
				t.Errorf("Scales (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.only, found.OnlyElsewhere()["scale"]); diff != "" {
				t.Errorf("OnlyElsewhere() (-want +got):\n%s", diff)
			}
			for version, want := range tc.paths {
				if got := r.ReplicasPath(found.GVR, version); got != want {
					t.Errorf("ReplicasPath(%q) = %q, want %q", version, got, want)
				}
				kind, ok := r.GroupKindFor(found.GVR.GroupResource().WithVersion(version))
				if want := version != ""; ok != want || ok && kind != widget.GroupKind() {
					t.Errorf("GroupKindFor(%q) = %v, %t, want %t", version, kind, ok, want)
				}
			}
		})
	}
}

func TestResolverKnowsSubresourcesOfOtherVersions(t *testing.T) {
	thing := metav1.APIResource{Name: "widgets", Kind: "Widget"}
	status, scale := metav1.APIResource{Name: "widgets/status", Kind: "Widget"}, metav1.APIResource{Name: "widgets/scale", Kind: "Scale"}
	for name, tc := range map[string]struct {
		// own and other are what v1, which is asked about, and v2 serve.
		own, other []metav1.APIResource
		elsewhere  map[string][]string
		inObject   bool
	}{
		"none":                                 {own: []metav1.APIResource{thing}, inObject: true},
		"no status in either":                  {own: []metav1.APIResource{thing}, other: []metav1.APIResource{thing}, inObject: true},
		"a status in both":                     {own: []metav1.APIResource{thing, status}, other: []metav1.APIResource{thing, status}},
		"a status in its own":                  {own: []metav1.APIResource{thing, status}, other: []metav1.APIResource{thing}, inObject: true},
		"a status in the other one":            {own: []metav1.APIResource{thing}, other: []metav1.APIResource{thing, status}, elsewhere: map[string][]string{"status": {"v2"}}, inObject: true},
		"a status and a scale in the other":    {own: []metav1.APIResource{thing}, other: []metav1.APIResource{thing, status, scale}, elsewhere: map[string][]string{"scale": {"v2"}, "status": {"v2"}}, inObject: true},
		"a status in its own, a scale in both": {own: []metav1.APIResource{thing, status, scale}, other: []metav1.APIResource{thing, scale}, inObject: true},
	} {
		t.Run(name, func(t *testing.T) {
			served := &cluster{served: map[string][]metav1.APIResource{"example.com/v1": tc.own, "example.com/v2": tc.other}}
			r := discovery.New(served, served, served, clocktesting.NewFakePassiveClock(time.Unix(1000, 0)))
			if _, err := r.Update(t.Context(), []schema.GroupVersion{example}); err != nil {
				t.Fatalf("Update(): %v", err)
			}
			found, _ := r.ByKind(example.WithKind("Widget"))
			if diff := cmp.Diff(tc.elsewhere, found.OnlyElsewhere()); diff != "" {
				t.Errorf("OnlyElsewhere() (-want +got):\n%s", diff)
			}
			if got := found.HasStatusInObject(); got != tc.inObject {
				t.Errorf("HasStatusInObject() = %t, want %t", got, tc.inObject)
			}
		})
	}
}

func TestResolverKnowsWhereObjectsAreStored(t *testing.T) {
	things := []metav1.APIResource{{Name: "widgets", Kind: "Widget"}}
	reported := append(slices.Clone(things), metav1.APIResource{Name: "widgets/status", Kind: "Widget"})
	for name, tc := range map[string]struct {
		other  []metav1.APIResource // what v2 serves
		stored string
		want   discovery.StoredVersion
	}{
		"in its own version":                 {other: reported, stored: "v1"},
		"in another one":                     {other: reported, stored: "v2", want: discovery.StoredVersion{Name: "v2", HasStatus: true}},
		"in one without a status":            {other: things, stored: "v2", want: discovery.StoredVersion{Name: "v2"}},
		"in one that is not served":          {other: things, stored: "v3"},
		"in one that nobody can say":         {other: things},
		"in another one, which has no Thing": {other: []metav1.APIResource{}, stored: "v2"},
	} {
		t.Run(name, func(t *testing.T) {
			served := &cluster{
				served: map[string][]metav1.APIResource{"example.com/v1": things, "example.com/v2": tc.other},
				stored: map[string]string{"widgets": tc.stored},
			}
			r := discovery.New(served, served, served, clocktesting.NewFakePassiveClock(time.Unix(1000, 0)))
			if _, err := r.Update(t.Context(), []schema.GroupVersion{example}); err != nil {
				t.Fatalf("Update(): %v", err)
			}
			found, _ := r.ByKind(example.WithKind("Widget"))
			got, ok := found.StoredElsewhere()
			if wanted := tc.want.Name != ""; ok != wanted || ok && got != tc.want {
				t.Errorf("StoredElsewhere() = %v, %t, want %v", got, ok, tc.want)
			}
		})
	}
}

func TestReaderScale(t *testing.T) {
	definition := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{Conversion: &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter}, Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
			{Name: "v1", Subresources: &apiextensionsv1.CustomResourceSubresources{
				Scale: &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: ".spec.count"},
			}},
			{Name: "v2", Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
				Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": {Properties: map[string]apiextensionsv1.JSONSchemaProps{
					"color": {Type: "string"}, "size": {Type: "integer", Default: &apiextensionsv1.JSON{Raw: []byte(`3`)}},
				}}},
			}}},
		}},
	}
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	reader := discovery.Reader{Reader: fake.NewClientBuilder().WithScheme(scheme).WithObjects(definition).Build()}
	for name, tc := range map[string]struct {
		resource schema.GroupVersionResource
		want     discovery.Scale
	}{
		"a version with it":    {example.WithResource("widgets"), discovery.Scale{Path: "spec.count", Converted: true}},
		"a version without it": {schema.GroupVersionResource{Group: "example.com", Version: "v2", Resource: "widgets"}, discovery.Scale{}},
		"no definition":        {apps.WithResource("deployments"), discovery.Scale{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := reader.Scale(t.Context(), tc.resource)
			if err != nil || got != tc.want {
				t.Errorf("Scale() = %v, %v, want %v", got, err, tc.want)
			}
		})
	}
	want := discovery.Storage{Version: "v2", Fields: &structuralschema.Structural{Properties: map[string]structuralschema.Structural{
		"spec": {Properties: map[string]structuralschema.Structural{
			"color": {Generic: structuralschema.Generic{Type: "string"}}, "size": {Generic: structuralschema.Generic{Type: "integer"}},
		}},
	}}, Converted: true, Defaults: fieldDefaults("spec", fieldDefaults("size", &discovery.Defaults{Value: int64(3)}))}
	got, err := reader.Storage(t.Context(), schema.GroupResource{Group: "example.com", Resource: "widgets"})
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("Storage(): %v (-want +got):\n%s", err, diff)
	}
}

func TestMarkers(t *testing.T) {
	definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{
		Name:   "widgets.example.com",
		Labels: map[string]string{"kro.run/owned": "true", "kro.run/other": "false", "composite": "true", "a.io/b": "true", "app": "kro"},
	}}
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	all := fake.NewClientBuilder().WithScheme(scheme).WithObjects(definition).Build()
	for name, tc := range map[string]struct {
		resource schema.GroupResource
		want     []string
	}{
		"those that are true, and no category": {schema.GroupResource{Group: "example.com", Resource: "widgets"}, []string{"a.io/b", "kro.run/owned"}},
		"no definition":                        {schema.GroupResource{Group: "example.com", Resource: "gadgets"}, nil},
		"a kind of Kubernetes":                 {schema.GroupResource{Group: "apps", Resource: "deployments"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, reader := range []discovery.Reader{{Reader: all}, {Metadata: all}} {
				got, err := reader.Markers(t.Context(), tc.resource)
				if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
					t.Errorf("Markers() = %v (-want +got):\n%s", err, diff)
				}
			}
		})
	}
}

var widgetResources = []metav1.APIResource{{Name: "widgets", Kind: "Widget"}}

func hasWidgets(r *discovery.Resolver) bool {
	_, ok := r.ByKind(example.WithKind("Widget"))
	return ok
}
