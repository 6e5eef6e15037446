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

package checker

import (
	"testing"
	"time"

	"kausality.io/operator/test/campaign/audit"
)

// What a controller carries on is approved below only where it is approved above, however far that is.
func TestCarriedOn(t *testing.T) {
	controller := controllers[kinds[things]]
	// nested is a Thing of alice's with another one below it, that has a ConfigMap.
	nested := func(s *story, config string) {
		s.govern("nested", map[string]any{"metadata": map[string]any{}, "spec": map[string]any{
			"for":      map[string]any{"kind": "Thing"},
			"subjects": []any{map[string]any{"kind": "User", "name": "alice", "mayInitiate": true}},
			"rules": []any{map[string]any{"trigger": "spec", "policies": []any{map[string]any{
				"target": map[string]any{"resource": "things"}, "mutations": []any{map[string]any{"jsonPath": "spec"}},
			}}}},
		}})
		s.later(time.Minute)
		s.write("alice", audit.VerbCreate, things, "app", map[string]any{"metadata": map[string]any{}, "spec": map[string]any{"config": "a"}})
		s.write(controller, audit.VerbCreate, things, "app-below", map[string]any{"metadata": s.owned("Thing", "app"), "spec": map[string]any{"config": "a"}})
		s.write(controller, audit.VerbCreate, configMaps, "app-part", map[string]any{"metadata": s.owned("Thing", "app-below"), "data": map[string]any{"n": "a"}})
		s.write("alice", audit.VerbPatch, things, "app", spec(map[string]any{"config": config}))
	}
	carriesOn := func(s *story, text string) {
		s.write(controller, audit.VerbUpdate, things, "app-below", spec(map[string]any{"config": text}))
		s.write(controller, audit.VerbUpdate, configMaps, "app-part", map[string]any{"data": map[string]any{"n": text}})
	}
	// history has the controller of a set keep what a stranger wrote into it, and another value.
	history := func(s *story, text string) {
		s.set()
		s.write("mallory", audit.VerbPatch, statefulSets, "db", spec(map[string]any{"template": template("zq7z:1")}))
		s.write(controllers[kinds[statefulSets]], audit.VerbCreate, revisions, "db-r", map[string]any{
			"metadata": s.owned("StatefulSet", "db"), "revision": 1, "data": spec(map[string]any{"template": template(text)}),
		})
	}
	tests := map[string]struct {
		tell func(*story)
		want []Promise
	}{
		"what alice wrote":          {tell: func(s *story) { nested(s, "b"); carriesOn(s, "b") }},
		"what she wrote of others":  {tell: func(s *story) { nested(s, "zq7z"); carriesOn(s, "zq7z") }},
		"what is not from above":    {tell: func(s *story) { nested(s, "b"); carriesOn(s, "zq7z") }, want: []Promise{Smuggled, Smuggled}},
		"a controller's own value":  {tell: func(s *story) { nested(s, "b"); carriesOn(s, "zq9z") }},
		"what is new has it":        {tell: func(s *story) { nested(s, "b"); makes(s, "zq7z") }, want: []Promise{Smuggled, Smuggled}},
		"a history of what was":     {tell: func(s *story) { history(s, "zq7z:1") }},
		"a history of what was not": {tell: func(s *story) { history(s, "zq8z:1") }, want: []Promise{Smuggled}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			tc.tell(s)
			s.finds(tc.want)
		})
	}
}

// makes has the controller of a Thing make another one below it, with a value, and what is below that.
func makes(s *story, text string) {
	controller := controllers[kinds[things]]
	s.write(controller, audit.VerbCreate, things, "app-other", map[string]any{"metadata": s.owned("Thing", "app"), "spec": map[string]any{"config": text}})
	s.write(controller, audit.VerbCreate, configMaps, "other-part", map[string]any{"metadata": s.owned("Thing", "app-other"), "data": map[string]any{"n": text}})
}
