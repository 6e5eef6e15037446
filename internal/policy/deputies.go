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
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/change"
)

// Deputy describes a kind whose objects have their controller scale another object, which
// they name. The controller does so in its own name, whoever made the object: so who makes
// or changes it is judged as if scaling what it names.
type Deputy struct {
	// Kind of the objects, in any version.
	Kind schema.GroupKind
	// Resource is that of the objects, in the version by which they are asked for: one that
	// has all fields. They live in namespaces, and name an object of their own one.
	Resource schema.GroupVersionResource
	// Reference is the field with the apiVersion, the kind and the name of what is scaled.
	Reference change.Path
	// Otherwise is the kind that a reference means which says none.
	Otherwise schema.GroupVersionKind
	// Annotations are those by which the objects say more than by their spec.
	Annotations []string
}

// deputies lists the kinds. Another one is another entry.
var deputies = []Deputy{
	{
		Kind:      schema.GroupKind{Group: autoscalingv2.GroupName, Kind: "HorizontalPodAutoscaler"},
		Resource:  autoscalingv2.SchemeGroupVersion.WithResource("horizontalpodautoscalers"),
		Reference: mustParse("spec.scaleTargetRef"),
	},
	{
		Kind:        schema.GroupKind{Group: "keda.sh", Kind: "ScaledObject"},
		Resource:    schema.GroupVersionResource{Group: "keda.sh", Version: "v1alpha1", Resource: "scaledobjects"},
		Reference:   mustParse("spec.scaleTargetRef"),
		Otherwise:   appsv1.SchemeGroupVersion.WithKind("Deployment"),
		Annotations: []string{"autoscaling.keda.sh/paused", "autoscaling.keda.sh/paused-replicas"},
	},
}

// Deputies are all that are known. The slice must not be changed.
func Deputies() []Deputy { return deputies }

// DeputyOf returns what is known of a kind, and false where its objects scale nothing.
func DeputyOf(kind schema.GroupKind) (Deputy, bool) {
	i := slices.IndexFunc(deputies, func(d Deputy) bool { return d.Kind == kind })
	if i < 0 {
		return Deputy{}, false
	}
	return deputies[i], true
}

// Metadata are the patterns of what counts of an object's metadata, in a version.
func (d Deputy) Metadata(version string) []change.Pattern {
	patterns := Represented(d.Kind.WithVersion(version))
	for _, key := range d.Annotations {
		patterns = append(patterns, change.Pattern(annotationPath(key)))
	}
	return patterns
}

// Target returns the kind and the name of what an object scales, and false where it names
// nothing. The version does not matter: controllers look for the kind in any.
func (d Deputy) Target(object map[string]any) (kind schema.GroupKind, name string, ok bool) {
	value, _ := d.Reference.Value(object)
	reference, _ := value.(map[string]any)
	name, _, _ = unstructured.NestedString(reference, "name")
	if name == "" {
		return schema.GroupKind{}, "", false
	}
	apiVersion, hasVersion, _ := unstructured.NestedString(reference, "apiVersion")
	kind.Kind, _, _ = unstructured.NestedString(reference, "kind")
	if kind.Kind == "" {
		kind.Kind = d.Otherwise.Kind
	}
	kind.Group = d.Otherwise.Group
	if hasVersion && apiVersion != "" {
		gv, err := schema.ParseGroupVersion(apiVersion)
		if err != nil {
			return schema.GroupKind{}, "", false // Its controller cannot read it either.
		}
		kind.Group = gv.Group
	}
	return kind, name, true
}
