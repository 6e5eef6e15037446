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

package decision

import (
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/policy"
)

// CarriesMetadata reports whether the labels and annotations of the child count in the
// request although no policy names them: something is withheld of the parent, whose
// controllers may show it there, and one of them makes the request (D2). Observed without
// it: an annotation that a stranger set in the secretTemplate of a Certificate was on the
// Secret within 1.5 seconds.
func (in *Input) CarriesMetadata() bool {
	return in.ParentState == ParentFound && in.Parent.isWithheld() && !in.Parent.Known().TemplateMetadata &&
		!policy.MayInitiate(in.Requester, in.Parent.Policies) &&
		in.MayExercise()
}

// Carried returns the changes of labels and annotations that show something of what is
// withheld of the parent: its key, or its value. What else is written there, such as the
// books of the child's own controllers, goes on.
func (in *Input) Carried(metadata []change.Change) []change.Change {
	shown := sets.New[string]()
	for _, d := range in.Parent.Standing.Withheld() {
		shown.Insert(textsOf(d.Path[len(d.Path)-1].Field, d.Old)...)
		shown.Insert(textsOf(d.Path[len(d.Path)-1].Field, d.New)...)
	}
	return slices.DeleteFunc(slices.Clone(metadata), func(c change.Change) bool {
		texts := sets.New(textsOf(c.Path[len(c.Path)-1].Field, c.Old)...)
		texts.Insert(textsOf("", c.New)...)
		return !texts.HasAny(sets.List(shown)...) && !slices.ContainsFunc(sets.List(shown), func(text string) bool {
			return len(text) >= tellingLength && slices.ContainsFunc(sets.List(texts), func(t string) bool { return strings.Contains(t, text) })
		})
	})
}

const (
	// tellingLength is that of a text which is found within a longer one by no accident.
	tellingLength = 6
	// leastLength is that of a text which two fields have by no accident.
	leastLength = 3
)

// textsOf returns the name of a field, and the names and values of all that its value has, as
// labels and annotations would show them.
func textsOf(name string, value any) []string {
	var out []string
	add := func(text string) {
		if len(text) >= leastLength && text != "true" && text != "false" {
			out = append(out, text)
		}
	}
	add(name)
	switch value := value.(type) {
	case map[string]any:
		for key, below := range value {
			out = append(out, textsOf(key, below)...)
		}
	case []any:
		for _, item := range value {
			out = append(out, textsOf("", item)...)
		}
	case string:
		add(value)
	case nil:
	default:
		if text, err := json.Marshal(value); err == nil {
			add(string(text))
		}
	}
	return out
}
