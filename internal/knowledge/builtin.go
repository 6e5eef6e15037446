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
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
)

//go:embed builtin/*.yaml
var builtin embed.FS

// declaration is what a document of the directory builtin has: a kind, or the category of
// kinds that others define, and what is known of it, in the form of the spec of a policy.
type declaration struct {
	For       v1alpha1.ParentKind `json:"for"`
	Category  string              `json:"category"`
	Knowledge *v1alpha1.Knowledge `json:"knowledge"`
	// Controller is the service account that writes the children of the kind, nil where it is not the same in all clusters.
	Controller *v1alpha1.Subject `json:"controller"`
	// NamedBy is how children name objects of the category, nil where they do not by labels.
	NamedBy *naming `json:"namedBy"`
}

// declarations are all that are built in.
type declarations struct {
	kinds map[schema.GroupKind]*Kind
	// controllers write the children of kinds.
	controllers map[schema.GroupKind]v1alpha1.Subject
	categories  map[string]*Kind
	namings     []*Naming
}

// BuiltIn returns what Kausality knows by itself of a kind, which says that it belongs to some
// categories. Of a kind that it does not know it says nothing.
func BuiltIn(kind schema.GroupKind, categories ...string) *Kind {
	if k, known := builtIn().kinds[kind]; known {
		return k
	}
	for _, category := range categories {
		if k, known := builtIn().categories[category]; known {
			return k
		}
	}
	return &unknown
}

// ControllerOf returns the service account that writes the children of a kind, and false where it is not known. In a cluster
// whose controllers have no accounts of their own they all are one user.
func ControllerOf(kind schema.GroupKind) (v1alpha1.Subject, bool) {
	account, known := builtIn().controllers[kind]
	return account, known
}

// Kinds returns the kinds with a built-in declaration, in no order.
func Kinds() []schema.GroupKind {
	return slices.Collect(maps.Keys(builtIn().kinds))
}

// unknown is what is known of other kinds.
var unknown = Kind{Settled: Settled{Generation: change.MustParsePath(observedGeneration)}}

// builtIn are the declarations that are built in. They are part of the program: one that is
// wrong is found by the tests of this package.
var builtIn = sync.OnceValue(func() *declarations {
	out, err := load(builtin)
	if err != nil {
		panic("knowledge: " + err.Error())
	}
	return out
})

// load reads declarations as strictly as the API server does those of policies.
func load(files fs.FS) (*declarations, error) {
	out := &declarations{
		kinds: map[schema.GroupKind]*Kind{}, categories: map[string]*Kind{}, controllers: map[schema.GroupKind]v1alpha1.Subject{},
	}
	names, err := fs.Glob(files, "builtin/*.yaml")
	if err != nil {
		return out, err
	}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return out, err
		}
		for i, document := range strings.Split(string(text), "\n---\n") {
			if err := out.add(document); err != nil {
				return out, fmt.Errorf("document %d of %s: %w", i+1, name, err)
			}
		}
	}
	return out, nil
}

// add reads one declaration.
func (all *declarations) add(document string) error {
	var d declaration
	if err := yaml.UnmarshalStrict([]byte(document), &d); err != nil {
		return err
	}
	kind := schema.GroupKind{Group: d.For.APIGroup, Kind: d.For.Kind}
	if d.Knowledge == nil || (kind.Kind == "") == (d.Category == "") {
		return errors.New("nothing is said, or not of one kind or category")
	}
	compiled, errs := Compile(d.Knowledge, field.NewPath("knowledge"))
	if err := errs.ToAggregate(); err != nil {
		return err
	}
	named, err := d.NamedBy.compile(d.Category)
	if err != nil {
		return err
	}
	_, kindTwice := all.kinds[kind]
	_, categoryTwice := all.categories[d.Category]
	switch {
	case kindTwice || categoryTwice:
		return fmt.Errorf("%s%s is declared twice", kind, d.Category)
	case d.Category != "":
		if named != nil {
			all.namings = append(all.namings, named)
		}
		all.categories[d.Category] = compiled.Over(&unknown)
	default:
		all.kinds[kind] = compiled
		if d.Controller != nil {
			all.controllers[kind] = *d.Controller
		}
	}
	return nil
}
