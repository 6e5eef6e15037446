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

package knowledge

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/change"
)

// Naming is how children name their parent by labels, where the parent is of a kind that
// belongs to a category. Only what is built in says so: whoever says which labels count
// says whose child an object is.
type Naming struct {
	// Category of the kinds of parents. Of a kind without it nobody is named.
	Category string
	// UID, Group, Version, Kind, Namespace and Name are the labels that name the parent. One
	// without a namespace is in none.
	UID, Group, Version, Kind, Namespace, Name string
	// Found are the other labels and annotations by which the parent's controller finds its
	// children, and knows what each of them is.
	Found []change.Path
}

// naming is the form of a Naming in a declaration.
type naming struct {
	UID       string   `json:"uid"`
	Group     string   `json:"group"`
	Version   string   `json:"version"`
	Kind      string   `json:"kind"`
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Found     []string `json:"found"`
}

// Namings returns all that are built in, by category.
func Namings() []*Naming { return builtIn().namings }

// NamingOf returns how objects of a category are named, nil where not by labels.
func NamingOf(category string) *Naming {
	if i := slices.IndexFunc(Namings(), func(n *Naming) bool { return n.Category == category }); i >= 0 {
		return Namings()[i]
	}
	return nil
}

// Label returns the path of a label.
func Label(key string) change.Path { return change.Path(labelsOf).Field(key) }

// Identity returns the paths of what says which object the parent is, and of what its controller
// finds the child by: all that counts, but for the version.
func (n *Naming) Identity() []change.Path {
	out := make([]change.Path, 0, 5+len(n.Found))
	for _, key := range []string{n.UID, n.Group, n.Kind, n.Namespace, n.Name} {
		out = append(out, Label(key))
	}
	return append(out, n.Found...)
}

// Parent returns the parent that an object names, by its UID, kind, namespace and name, and
// false where it names none.
func (n *Naming) Parent(obj *unstructured.Unstructured) (uid string, kind schema.GroupVersionKind, namespace, name string, ok bool) {
	value, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "metadata", "labels")
	labels, _ := value.(map[string]any)
	text := func(key string) string {
		s, _ := labels[key].(string)
		return s
	}
	uid = text(n.UID)
	kind = schema.GroupVersionKind{Group: text(n.Group), Version: text(n.Version), Kind: text(n.Kind)}
	return uid, kind, text(n.Namespace), text(n.Name), uid != "" && kind.Kind != "" && text(n.Name) != ""
}

// compile checks a declaration: each label is needed, and is another one.
func (d *naming) compile(category string) (*Naming, error) {
	if d == nil {
		return nil, nil
	}
	if category == "" {
		return nil, errors.New("labels name parents of a category")
	}
	keys := map[string]bool{d.UID: true, d.Group: true, d.Version: true, d.Kind: true, d.Namespace: true, d.Name: true}
	if keys[""] || len(keys) != 6 {
		return nil, fmt.Errorf("labels that are missing, or the same: %q", slices.Sorted(maps.Keys(keys)))
	}
	out := &Naming{Category: category, UID: d.UID, Group: d.Group, Version: d.Version, Kind: d.Kind, Namespace: d.Namespace, Name: d.Name}
	for _, text := range d.Found {
		path, err := change.ParsePath(text)
		if err != nil {
			return nil, err
		}
		if len(path) != 3 || !path.IsMetadata() {
			return nil, fmt.Errorf("%s is neither a label nor an annotation", text)
		}
		out.Found = append(out.Found, path)
	}
	return out, nil
}
