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

package generating

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/derive/draft"
	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/policy"
)

// world is a snapshot that is a list of objects.
type world []map[string]any

var _ generate.Snapshot = world{}

func (world) KindOf(resource schema.GroupVersionResource) (schema.GroupVersionKind, bool, error) {
	kind, known := kindFor(resource)
	return kind, known, nil
}

func (world) IsNamespaced(kind schema.GroupVersionKind) (namespaced, isServed bool, err error) {
	_, known := resourceFor(kind)
	return kind.Kind != "Namespace" && kind.Kind != "ClusterRole", known, nil
}

func (w world) Get(resource schema.GroupVersionResource, namespace, name string) (map[string]any, error) {
	listed, err := w.List(resource, namespace, labels.Everything())
	for _, object := range listed {
		if generate.IDOf(object).Name == name && generate.IDOf(object).Namespace == namespace {
			return object, nil
		}
	}
	return nil, err
}

func (w world) List(resource schema.GroupVersionResource, namespace string, selector labels.Selector) ([]map[string]any, error) {
	var out []map[string]any
	for _, object := range w {
		id := generate.IDOf(object)
		if id.Kind == served[resource].Kind && (namespace == "" || id.Namespace == namespace) && selector.Matches(labels.Set(textsIn(object, "labels"))) {
			out = append(out, object)
		}
	}
	return out, nil
}

func textsIn(object map[string]any, field string) map[string]string {
	held, _ := object["metadata"].(map[string]any)
	fields, _ := held[field].(map[string]any)
	out := map[string]string{}
	for key, value := range fields {
		out[key], _ = value.(string)
	}
	return out
}

// wanted returns what a policy wants in a world, and what it is a clone of; false where it cannot be
// evaluated.
func (w world) wanted(ctx context.Context, p *generate.Policy, resource schema.GroupVersionResource, trigger map[string]any) (map[generate.ID]generate.Wanted, bool) {
	of := &generate.Trigger{Resource: resource, Object: trigger, Request: requestFor(trigger)}
	if namespace := generate.IDOf(trigger).Namespace; namespace != "" {
		of.Namespace = map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace, "labels": map[string]any{"env": "test"}}}
	}
	result, err := p.Evaluate(ctx, of, w)
	if err != nil {
		return nil, false
	}
	out := map[generate.ID]generate.Wanted{}
	for _, o := range result.Objects {
		out[o.ID] = o
	}
	return out, true
}

// requestFor returns a request by which an object came to be as it is: whatever it says comes by another.
func requestFor(object map[string]any) map[string]any {
	metadata, _ := object["metadata"].(map[string]any)
	said := maps.Clone(object)
	delete(said, "status")
	said["metadata"] = map[string]any{fieldLabels: metadata[fieldLabels], fieldAnnotations: metadata[fieldAnnotations]}
	user := fnv.New32()
	_, _ = fmt.Fprint(user, said)
	return map[string]any{"operation": "UPDATE", "userInfo": map[string]any{"username": strconv.FormatUint(uint64(user.Sum32()), 36)}}
}

// words are what fields are changed to.
var words = []string{"a", "b", "yes", "no", "none", "one", "two", "x,y", "red"}

// disturb changes an object at random, but for what never changes of one and what the API server counts
// up. It adds keys that there may be none of yet.
func disturb(t *rapid.T, object map[string]any) map[string]any {
	out := runtime.DeepCopyJSON(object)
	var places []change.Path
	var walk func(at change.Path, v any)
	walk = func(at change.Path, v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				if len(at) == 0 && (name == "apiVersion" || name == "kind" || name == "status") || len(at) == 1 && at.IsMetadata() && name != "labels" && name != "annotations" {
					continue
				}
				if below := at.Field(name); below.String() != "metadata" {
					places = append(places, below)
				}
				walk(at.Field(name), v[name])
			}
		case []any:
			for i := range v {
				places = append(places, at.Index(i))
				walk(at.Index(i), v[i])
			}
		}
	}
	walk(nil, out)
	for range rapid.IntRange(1, 3).Draw(t, "changes") {
		at := rapid.SampledFrom(places).Draw(t, "at")
		word := rapid.SampledFrom(words).Draw(t, "word")
		held, there := at.Value(out)
		if !there {
			continue
		}
		switch v := held.(type) {
		case map[string]any:
			switch keys, do := slices.Sorted(maps.Keys(v)), rapid.IntRange(0, 2).Draw(t, "of a map"); {
			case do == 0:
				at.Remove(out)
			case do == 1 || len(keys) == 0:
				v[rapid.SampledFrom([]string{"generate", "skip", "off", "color", "key", "on", "added", "profile", "clone", "allowedToBeCloned"}).Draw(t, "key")] = word
			default:
				delete(v, rapid.SampledFrom(keys).Draw(t, "key"))
			}
		case []any:
			var item any = word
			if len(v) > 0 {
				item = runtime.DeepCopyJSONValue(v[0])
				if fields, ok := item.(map[string]any); ok {
					fields["name"] = word
					delete(fields, rapid.SampledFrom([]string{"on", "other"}).Draw(t, "without"))
				} else {
					item = word
				}
			}
			changed := slices.Clone(v)
			switch rapid.IntRange(0, 3).Draw(t, "of a list") {
			case 0:
				changed = append(changed, item)
			case 1:
				changed = append([]any{item}, changed...)
			case 2:
				slices.Reverse(changed)
			default:
				changed = changed[min(1, len(changed)):]
			}
			_ = at.Set(out, changed)
		default:
			if rapid.Bool().Draw(t, "remove") {
				at.Remove(out)
			} else {
				_ = at.Set(out, word)
			}
		}
	}
	return out
}

// judge says what of the difference between two answers the rules that a change of a parent triggers do
// not allow. Where the policy allows things without a cause, such are not told.
func judge(p *policy.Policy, old, updated map[string]any, before, after map[generate.ID]generate.Wanted) []string {
	var entries []policy.Entry
	for _, c := range change.Find(old, updated, change.Options{Metadata: p.TriggerMetadata()}) {
		for _, r := range p.Rules {
			if _, ok := r.Trigger.Matches(c, nil); ok {
				entries = append(entries, r.Entries...)
			}
		}
	}
	var out []string
	allowed := func(id generate.ID, what string, allows func(policy.Entry) bool) {
		if !slices.ContainsFunc(entries, func(e policy.Entry) bool { return e.Kind == id.GroupKind() && allows(e) }) {
			out = append(out, id.String()+" "+what)
		}
	}
	for id, was := range before {
		is, there := after[id]
		if !there {
			allowed(id, "deleted", func(e policy.Entry) bool { return e.Delete })
			continue
		}
		metadataOf := p.ChildMetadata(id.GroupKind())
		if id.Kind == "ConfigMap" || id.Kind == "Secret" {
			metadataOf = []change.Pattern{metadata("labels"), metadata("annotations")}
		}
		for _, c := range change.Find(was.Content, is.Content, change.Options{Metadata: metadataOf}) {
			allowed(id, fmt.Sprintf("%s %s", c.Verb, c.Path), func(e policy.Entry) bool { return e.AllowsField(c) })
		}
	}
	for id := range after {
		if _, there := before[id]; !there {
			allowed(id, "created", func(e policy.Entry) bool { return e.Create })
		}
	}
	slices.Sort(out)
	return out
}

// policyFor returns the compiled policy for parents of a kind in a role, nil where there is none.
func policyFor(tb testing.TB, derived []*draft.Derivation, role string, id generate.ID) *policy.Policy {
	tb.Helper()
	for _, d := range derived[1:] {
		if d.Policy.Spec.For.Kind != id.Kind || !strings.Contains(d.Policy.Name, role) {
			continue
		}
		compiled, errs := policy.Compile(d.Policy, kindFor)
		if len(errs) > 0 {
			tb.Errorf("the API server would refuse the policy %s: %v", d.Policy.Name, errs)
		}
		return compiled
	}
	return nil
}

// clonesOf returns those of the objects that are clones of a source.
func clonesOf(objects map[generate.ID]generate.Wanted, source generate.ID) map[generate.ID]generate.Wanted {
	out := map[generate.ID]generate.Wanted{}
	for id, w := range objects {
		if w.Source != nil && *w.Source == source {
			out[id] = w
		}
	}
	return out
}

// TestSound changes a trigger or a source at random: whatever is wanted otherwise then, the rules allow
// which that change triggers. What is only read is no parent.
func TestSound(t *testing.T) {
	for name, s := range scenes(t) {
		t.Run(name, func(t *testing.T) {
			derived, err := Derive(s.policy, testOptions)
			if err != nil {
				t.Fatal(err)
			}
			compiled, _, errs := generate.Compile(s.policy.Name, &s.policy.Spec)
			if len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
			resource, trigger := s.trigger(t, compiled)
			ctx := t.Context()
			before, ok := world(s.objects).wanted(ctx, compiled, resource, trigger)
			if !ok || len(before) == 0 {
				t.Fatal("nothing is wanted to begin with")
			}
			policies := map[generate.ID]*policy.Policy{}
			for _, object := range s.objects {
				id, role := generate.IDOf(object), "-source-"
				if id == generate.IDOf(trigger) {
					role = "-trigger-"
				}
				policies[id] = policyFor(t, derived, role, id)
			}
			evaluated := 0
			change := func(t *rapid.T) {
				i := rapid.IntRange(0, len(s.objects)-1).Draw(t, "object")
				old, id := s.objects[i], generate.IDOf(s.objects[i])
				updated := disturb(t, old)
				w := slices.Clone(s.objects)
				w[i] = updated
				was, now := before, trigger
				if id == generate.IDOf(trigger) {
					now = updated
				}
				is, ok := world(w).wanted(ctx, compiled, resource, now)
				if !ok {
					return
				}
				evaluated++
				if id != generate.IDOf(trigger) {
					// What is no clone of an object is none of its children.
					was, is = clonesOf(was, id), clonesOf(is, id)
				}
				if len(was)+len(is) == 0 {
					return
				}
				if policies[id] == nil {
					t.Fatalf("there is no policy for %s, which is a parent", id)
				}
				for _, uncaused := range judge(policies[id], old, updated, was, is) {
					if s.policy.Spec.Evaluation.Synchronize || strings.HasSuffix(uncaused, " created") {
						t.Errorf("changing %s: no rule that it triggers allows: %s", id, uncaused)
					}
				}
			}
			rapid.Check(t, func(t *rapid.T) {
				for range 20 {
					change(t)
				}
			})
			if evaluated == 0 {
				t.Error("no change could be evaluated")
			}
		})
	}
}

// trigger returns the object that is called so, of a kind that the policy is about.
func (s scene) trigger(tb testing.TB, p *generate.Policy) (schema.GroupVersionResource, map[string]any) {
	tb.Helper()
	for _, object := range s.objects {
		id := generate.IDOf(object)
		version, _ := object[fieldVersion].(string)
		resource, known := resourceFor(schema.FromAPIVersionAndKind(version, id.Kind))
		if id.Name != "trigger" || !known {
			continue
		}
		of := &generate.Trigger{Resource: resource, Object: object, Operation: admissionregistrationv1.Update,
			Namespace: map[string]any{"metadata": map[string]any{"labels": map[string]any{"env": "test"}}}}
		if matches, err := p.Matches(of); err == nil && matches {
			return resource, object
		}
	}
	tb.Fatal("there is no trigger")
	return schema.GroupVersionResource{}, nil
}
