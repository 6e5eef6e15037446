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
	"cmp"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/knowledge"
)

// Deputy is a kind whose objects have their controller scale another object, which they
// name. The controller does so in its own name, whoever made the object: so who makes or
// changes it is judged as if scaling what it names.
type Deputy struct {
	// Kind of the objects, in any version.
	Kind schema.GroupKind
	*knowledge.Scales
}

// Deputies are the built-in ones, in order: the webhook is asked about their objects
// although no policy names them. The slice must not be changed.
var Deputies = sync.OnceValue(func() []Deputy {
	var out []Deputy
	for _, kind := range knowledge.Kinds() {
		if d, ok := deputyOf(kind, knowledge.BuiltIn(kind)); ok {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b Deputy) int { return cmp.Compare(a.Kind.String(), b.Kind.String()) })
	return out
})

// DeputyOf returns what is known of a kind, built in or by a policy for it, and false where
// its objects scale nothing.
func (i *Index) DeputyOf(kind schema.GroupKind) (Deputy, bool) { return deputyOf(kind, i.Known(kind)) }

// Deputy returns what is known of the policy's kind, and false where its objects scale
// nothing.
func (p *Policy) Deputy() (Deputy, bool) { return deputyOf(p.For.GroupKind(), p.Known()) }

func deputyOf(kind schema.GroupKind, known *knowledge.Kind) (Deputy, bool) {
	return Deputy{Kind: kind, Scales: known.Scales}, known.Scales != nil
}

// Metadata returns the patterns of what counts of an object's metadata, in a version.
func (d Deputy) Metadata(version string) []change.Pattern {
	patterns := Represented(d.Kind.WithVersion(version))
	for _, key := range d.Annotations {
		patterns = append(patterns, change.Pattern(annotationPath(key)))
	}
	return patterns
}
