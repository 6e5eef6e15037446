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

package kro

import (
	"encoding/base64"
	"flag"
	"fmt"
	"go/build"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	krov1alpha1 "github.com/kubernetes-sigs/kro/api/v1alpha1"
	"github.com/kubernetes-sigs/kro/pkg/features"
	krograph "github.com/kubernetes-sigs/kro/pkg/graph"
	kroruntime "github.com/kubernetes-sigs/kro/pkg/runtime"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/policy"
)

// anyFields is the schema of all children: kro checks no types then, and an expression has
// what it finds.
type anyFields struct{}

func (anyFields) ResolveSchema(schema.GroupVersionKind) (*spec.Schema, error) {
	s := &spec.Schema{}
	s.Type = spec.StringOrArray{"object"}
	s.Extensions = spec.Extensions{"x-kubernetes-preserve-unknown-fields": true}
	return s, nil
}

// anyKinds returns a mapper for the kinds that a graph names.
func anyKinds(rgd *krov1alpha1.ResourceGraphDefinition) apimeta.RESTMapper {
	mapper := apimeta.NewDefaultRESTMapper(nil)
	for _, r := range rgd.Spec.Resources {
		n, err := readNode(r)
		if err != nil {
			continue
		}
		scope := apimeta.RESTScope(apimeta.RESTScopeNamespace)
		for _, kind := range []string{"Namespace", "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "PersistentVolume", "StorageClass"} {
			if n.kind.Kind == kind {
				scope = apimeta.RESTScopeRoot
			}
		}
		mapper.Add(n.kind, scope)
	}
	return mapper
}

// oracle says what kro makes of an instance, by its own runtime.
type oracle struct {
	graph *krograph.Graph
	// observed is what children have that kro does not write, by the id of their resource.
	observed map[string][]change.Pattern
}

var sizes = krograph.Config{MaxCollectionSize: 100, MaxCollectionDimensionSize: 5}

func newOracle(rgd *krov1alpha1.ResourceGraphDefinition) (*oracle, error) {
	// What is ready decides on when, not on what.
	rgd = rgd.DeepCopy()
	for _, r := range rgd.Spec.Resources {
		r.ReadyWhen = nil
	}
	builder, err := krograph.NewBuilder(nil, nil, krograph.WithSchemaResolver(anyFields{}), krograph.WithRESTMapper(anyKinds(rgd)))
	if err != nil {
		return nil, err
	}
	g, err := builder.NewResourceGraphDefinition(rgd, sizes)
	return &oracle{graph: g, observed: map[string][]change.Pattern{}}, err
}

// made is what kro makes of an instance: the objects by their identity, and the resources of
// which it makes none yet.
type made struct {
	objects map[string]*unstructured.Unstructured
	pending []string
}

// make evaluates the graph. What is observed of children says the word.
func (o *oracle) make(instance map[string]any, word any) (made, error) {
	out := made{objects: map[string]*unstructured.Unstructured{}}
	object := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(instance)}
	rt, err := kroruntime.FromGraph(o.graph, sizes)
	if err != nil {
		return out, err
	}
	rt.Instance().SetObserved([]*unstructured.Unstructured{object})
	for _, n := range rt.Nodes() {
		id := n.Spec.Meta.ID
		ignored, err := n.IsIgnored()
		if kroruntime.IsDataPending(err) {
			out.pending = append(out.pending, id)
			continue
		}
		if err != nil {
			return out, fmt.Errorf("%s: %w", id, err)
		}
		if ignored {
			continue
		}
		desired, err := n.GetDesired()
		if kroruntime.IsDataPending(err) {
			out.pending = append(out.pending, id)
			continue
		}
		if err != nil {
			return out, fmt.Errorf("%s: %w", id, err)
		}
		var observed []*unstructured.Unstructured
		for _, obj := range desired {
			if !o.external(n) {
				key := obj.GetKind() + "/" + obj.GetNamespace() + "/" + obj.GetName()
				if _, twice := out.objects[key]; twice {
					return out, fmt.Errorf("%s: it would be made twice, which kro refuses", key)
				}
				out.objects[key] = storedObject(obj)
			}
			live := obj.DeepCopy()
			if text, ok := word.(string); ok && o.external(n) {
				// Another object has something else there.
				o.observe(id, live, text+" of "+fmt.Sprint(obj.Object["metadata"]))
			} else {
				o.observe(id, live, word)
			}
			observed = append(observed, live)
		}
		n.SetObserved(observed)
	}
	return out, nil
}

// storedObject returns an object as the API server stores it: of a Secret what is in stringData is in data.
func storedObject(obj *unstructured.Unstructured) *unstructured.Unstructured {
	texts, written := obj.Object["stringData"].(map[string]any)
	if obj.GroupVersionKind().GroupKind() != (schema.GroupKind{Kind: "Secret"}) || !written {
		return obj
	}
	out := obj.DeepCopy()
	data, _ := out.Object["data"].(map[string]any)
	if data == nil {
		data = map[string]any{}
	}
	for name, text := range texts {
		data[name] = base64.StdEncoding.EncodeToString(fmt.Append(nil, text))
	}
	out.Object["data"] = data
	delete(out.Object, "stringData")
	return out
}

func (*oracle) external(n *kroruntime.Node) bool {
	return n.Spec.Meta.Type == krograph.NodeTypeExternal || n.Spec.Meta.Type == krograph.NodeTypeExternalCollection
}

// observe puts into an object what others write there, as far as the graph asks for it.
func (o *oracle) observe(id string, obj *unstructured.Unstructured, word any) {
	for _, path := range o.observed[id] {
		put(obj.Object, path, word)
	}
}

// put writes a value at a path, with all that is missing on the way, and of lists one item.
func put(in any, path change.Pattern, word any) any {
	if len(path) == 0 {
		if in != nil {
			return in
		}
		return word
	}
	if name := path[0].Field; name != "" {
		m, ok := in.(map[string]any)
		if !ok {
			if in != nil {
				return in
			}
			m = map[string]any{}
		}
		m[name] = put(m[name], path[1:], word)
		return m
	}
	l, ok := in.([]any)
	if !ok {
		if in != nil {
			return in
		}
		l = []any{nil, nil}
	}
	for i := range l {
		l[i] = put(l[i], path[1:], word)
	}
	return l
}

// sample returns a value of a schema; n makes others.
func sample(s *apiextensionsv1.JSONSchemaProps, at string, n int) any {
	if s == nil {
		return fmt.Sprintf("%s%d", at, n)
	}
	if len(s.Enum) > 0 {
		var v any
		if yaml.Unmarshal(s.Enum[n%len(s.Enum)].Raw, &v) == nil {
			return v
		}
	}
	switch s.Type {
	case "integer":
		return int64(2 + n)
	case "number":
		return float64(2 + n)
	case "boolean":
		return n%2 == 0
	case "array":
		return []any{sample(s.Items.Schema, at, n+10), sample(s.Items.Schema, at, n+20)}
	case "object":
		out := map[string]any{}
		for name, property := range s.Properties {
			out[name] = sample(&property, at+name, n)
		}
		if len(s.Properties) == 0 {
			var of *apiextensionsv1.JSONSchemaProps
			if s.AdditionalProperties != nil {
				of = s.AdditionalProperties.Schema
			}
			out["one"], out["two"] = sample(of, at, n+1), sample(of, at, n+2)
		}
		return out
	default:
		return fmt.Sprintf("%s%d", at, n)
	}
}

// variant is an instance of which one thing was changed.
type variant struct {
	what     string
	instance map[string]any
}

// variants changes each field of an instance in each way that there is.
func variants(instance map[string]any) []variant {
	var out []variant
	var walk func(at change.Path, v any)
	set := func(what string, at change.Path, v any) {
		changed := runtime.DeepCopyJSON(instance)
		if err := at.Set(changed, v); err == nil {
			out = append(out, variant{at.String() + " " + what, changed})
		}
	}
	remove := func(at change.Path) {
		changed := runtime.DeepCopyJSON(instance)
		at.Remove(changed)
		out = append(out, variant{at.String() + " removed", changed})
	}
	walk = func(at change.Path, v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				walk(at.Field(name), v[name])
				remove(at.Field(name))
			}
			if len(v) > 0 {
				first := v[slices.Sorted(maps.Keys(v))[0]]
				set("gets a key", at.Field("added"), runtime.DeepCopyJSONValue(first))
			}
		case []any:
			for i, item := range v {
				walk(at.Index(i), item)
			}
			set("emptied", at, []any{})
			if len(v) > 0 {
				set("one item less", at, runtime.DeepCopyJSONValue(v[1:]))
				more := renamed(runtime.DeepCopyJSONValue(v[0]))
				set("one item more", at, append([]any{more}, copied(v)...))
				set("one item more at the end", at, append(copied(v), more))
			}
		case string:
			set("changed", at, v+"x")
			set("emptied", at, "")
		case int64:
			set("changed", at, v+1)
			set("zero", at, int64(0))
		case float64:
			set("changed", at, v+1)
		case bool:
			set("changed", at, !v)
		}
	}
	walk(change.Path{}.Field("spec"), instance["spec"])
	for i := range out {
		// The API server counts each change of the spec.
		_ = change.Path{}.Field("metadata").Field("generation").Set(out[i].instance, int64(2))
	}
	for _, name := range []string{"labels", "annotations"} {
		metadata, _ := instance["metadata"].(map[string]any)
		walk(change.Path{}.Field("metadata").Field(name), metadata[name])
	}
	return out
}

func copied(list []any) []any {
	out, _ := runtime.DeepCopyJSONValue(list).([]any)
	return out
}

// renamed gives all texts in a value another one.
func renamed(v any) any {
	switch v := v.(type) {
	case string:
		return v + "more"
	case map[string]any:
		for name := range v {
			v[name] = renamed(v[name])
		}
	case []any:
		for i := range v {
			v[i] = renamed(v[i])
		}
	case int64:
		return v + 100
	}
	return v
}

// verdict is what the oracle found of one graph.
type verdict struct {
	variants, pending, failed, changes int
	// denied are changes that kro makes and the policy does not allow.
	denied []string
	// allowed counts what rules allow; unused of these is what no variant made use of.
	allowed int
	unused  []string
}

// judge compares what kro makes of changed instances with what the policy allows.
func (o *oracle) judge(t *testing.T, rgd *krov1alpha1.ResourceGraphDefinition) verdict {
	t.Helper()
	derived, err := Derive(rgd, Options{})
	if err != nil {
		t.Fatalf("Derive(): %v", err)
	}
	kinds := map[schema.GroupVersionResource]schema.GroupVersionKind{}
	for _, r := range rgd.Spec.Resources {
		if n, err := readNode(r); err == nil {
			resource, _ := apimeta.UnsafeGuessKindToResource(n.kind)
			kinds[resource] = n.kind
		}
	}
	compiled, errs := policy.Compile(derived.Policy, func(r schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
		kind, ok := kinds[r]
		return kind, ok
	})
	if len(errs) > 0 {
		t.Errorf("the policy is wrong: %v", errs)
	}
	for _, row := range derived.Rows {
		id, path, _ := strings.Cut(row.Observed, ".")
		if i := strings.IndexByte(id, '['); i >= 0 {
			id, path = id[:i], row.Observed[i:]
			if _, below, ok := strings.Cut(path, "]."); ok {
				path = below
			} else {
				path = ""
			}
		}
		if p, err := change.ParsePattern(path); err == nil && path != "" {
			o.observed[id] = append(o.observed[id], p)
		}
	}
	specSchema := o.graph.CRD.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	var out verdict
	used := map[string]bool{}
	// What is observed has a type, which nobody declares.
	words := []struct{ before, after any }{{"seen for a long time", "seen otherwise"}, {true, false}, {int64(1), int64(2)}}
	for base := range 2 * len(words) {
		word := words[base/2]
		instance := map[string]any{
			"apiVersion": rgd.Spec.Schema.APIVersion, "kind": rgd.Spec.Schema.Kind,
			"metadata": map[string]any{
				"name": "it", "namespace": "there", "uid": "u1", "generation": int64(1),
				"labels":      map[string]any{"team": "one", "app": "one"},
				"annotations": map[string]any{"note": "one", "team": "one"},
			},
			"spec": sample(&specSchema, "", base%2),
		}
		before, err := o.make(instance, word.before)
		if err != nil {
			out.failed++
			t.Logf("nothing is made: %v", err)
			continue
		}
		if len(before.pending) > 0 {
			t.Logf("pending: %v", before.pending)
		}
		out.pending += len(before.pending)
		for _, v := range variants(instance) {
			out.variants++
			after, err := o.make(v.instance, word.before)
			if err != nil || !slices.Equal(before.pending, after.pending) {
				out.failed++
				if err != nil {
					t.Logf("%s: %v", v.what, err)
				}
				continue
			}
			o.compare(&out, compiled, instance, v, before, after, used)
		}
		o.compareObserved(&out, compiled, instance, before, word.after)
	}
	for _, r := range compiled.Rules {
		for _, e := range r.Entries {
			for _, key := range keysAllowed(r.Trigger.String(), e) {
				out.allowed++
				if !used[key] {
					out.unused = append(out.unused, key)
				}
			}
		}
	}
	return out
}

func keysAllowed(trigger string, e policy.Entry) []string {
	at := trigger + " -> " + e.Kind.Kind + " "
	var out []string
	if e.Create || e.Delete {
		out = append(out, at+"membership")
	}
	for _, f := range e.Fields {
		out = append(out, at+f.Pattern.String())
	}
	return out
}

// changed is a change of a child that kro makes.
type changed struct {
	kind             schema.GroupKind
	created, deleted bool
	field            change.Change
	what             string
}

func differences(p *policy.Policy, before, after made) []changed {
	var out []changed
	for id, obj := range before.objects {
		kind := obj.GroupVersionKind().GroupKind()
		updated, there := after.objects[id]
		if !there {
			out = append(out, changed{kind: kind, deleted: true, what: id + " deleted"})
			continue
		}
		for _, c := range change.Find(obj.Object, updated.Object, change.Options{Metadata: p.ChildMetadata(kind)}) {
			out = append(out, changed{kind: kind, field: c, what: fmt.Sprintf("%s %s %s", id, c.Verb, c.Path)})
		}
	}
	for id, obj := range after.objects {
		if _, there := before.objects[id]; !there {
			out = append(out, changed{kind: obj.GroupVersionKind().GroupKind(), created: true, what: id + " created"})
		}
	}
	return out
}

func allows(e policy.Entry, c changed) bool {
	switch {
	case e.Kind != c.kind:
		return false
	case c.created:
		return e.Create
	case c.deleted:
		return e.Delete
	default:
		return e.AllowsField(c.field)
	}
}

func (*oracle) compare(out *verdict, p *policy.Policy, instance map[string]any, v variant, before, after made, used map[string]bool) {
	triggered := map[int]bool{}
	for _, c := range change.Find(instance, v.instance, change.Options{Metadata: p.TriggerMetadata()}) {
		for i, r := range p.Rules {
			if _, ok := r.Trigger.Matches(c, nil); ok {
				triggered[i] = true
			}
		}
	}
	for _, c := range differences(p, before, after) {
		out.changes++
		covered := false
		for i, r := range p.Rules {
			for _, e := range r.Entries {
				if !triggered[i] || !allows(e, c) {
					continue
				}
				covered = true
				for _, f := range e.Fields {
					if !c.created && !c.deleted && f.Pattern.Covers(c.field.Path) {
						used[r.Trigger.String()+" -> "+e.Kind.Kind+" "+f.Pattern.String()] = true
					}
				}
				if c.created || c.deleted {
					used[r.Trigger.String()+" -> "+e.Kind.Kind+" membership"] = true
				}
			}
		}
		if !covered && !maintains(p, c) {
			out.denied = append(out.denied, v.what+": "+c.what)
		}
	}
}

// compareObserved changes what kro does not write, which only maintaining may allow.
func (o *oracle) compareObserved(out *verdict, p *policy.Policy, instance map[string]any, before made, word any) {
	after, err := o.make(instance, word)
	if err != nil || !slices.Equal(before.pending, after.pending) {
		return
	}
	for _, c := range differences(p, before, after) {
		out.changes++
		if !maintains(p, c) {
			out.denied = append(out.denied, "something observed: "+c.what)
		}
	}
}

// maintains reports whether a change needs no cause.
func maintains(p *policy.Policy, c changed) bool {
	return slices.ContainsFunc(p.Maintaining, func(m policy.MaintainingEntry) bool { return allows(m.Entry, c) })
}

// kroModule returns where kro's module is.
func kroModule(tb testing.TB) string {
	tb.Helper()
	found, err := build.Import("github.com/kubernetes-sigs/kro/pkg/graph", ".", build.FindOnly)
	if err != nil {
		tb.Fatalf("finding kro's module: %v", err)
	}
	return filepath.Join(found.Dir, "..", "..")
}

// graphsIn reads all graphs below a directory.
func graphsIn(tb testing.TB, dir string) map[string]*krov1alpha1.ResourceGraphDefinition {
	tb.Helper()
	out := map[string]*krov1alpha1.ResourceGraphDefinition{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" || strings.HasSuffix(path, ".golden.yaml") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for i, doc := range strings.Split(string(text), "\n---") {
			rgd := &krov1alpha1.ResourceGraphDefinition{}
			if yaml.Unmarshal([]byte(doc), rgd) != nil || rgd.Kind != "ResourceGraphDefinition" || rgd.Spec.Schema == nil {
				continue
			}
			name, _ := filepath.Rel(dir, path)
			if i > 0 {
				name = fmt.Sprintf("%s#%d", name, i)
			}
			out[name] = rgd
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// further is a folder with more graphs for TestOracle, such as those of somebody's cluster.
var further = flag.String("graphs", "", "a directory with further graphs, as YAML, to ask kro about")

// TestOracle asks kro's runtime what it makes of instances, and of instances of which one
// thing was changed: all that differs has to be allowed, and what is allowed should differ.
func TestOracle(t *testing.T) {
	if err := features.FeatureGate.SetFromMap(map[string]bool{string(features.CELOmitFunction): true}); err != nil {
		t.Fatal(err)
	}
	module := kroModule(t)
	type total struct{ graphs, refused, variants, failed, pending, changes, denied, allowed, unused int }
	all := map[string]string{
		"our own": "testdata", "kro's examples": filepath.Join(module, "examples"), "kro's tests": filepath.Join(module, "test"),
	}
	if *further != "" {
		all = map[string]string{*further: *further}
	}
	for name, dir := range all {
		t.Run(name, func(t *testing.T) {
			var sum total
			for file, rgd := range graphsIn(t, dir) {
				o, err := newOracle(rgd)
				if err != nil {
					sum.refused++
					t.Logf("%s: kro refuses it: %v", file, err)
					continue
				}
				t.Run(file, func(t *testing.T) {
					v := o.judge(t, rgd)
					sum.graphs++
					sum.variants += v.variants
					sum.failed += v.failed
					sum.pending += v.pending
					sum.changes += v.changes
					sum.denied += len(v.denied)
					sum.allowed += v.allowed
					sum.unused += len(v.unused)
					for _, denied := range v.denied {
						t.Errorf("kro's change is not allowed: %s", denied)
					}
					for _, unused := range v.unused {
						t.Logf("nothing makes use of: %s", unused)
					}
				})
			}
			if sum.unused*5 > sum.allowed {
				t.Errorf("of %d things allowed, %d are none that kro does", sum.allowed, sum.unused)
			}
			t.Logf("%s: %d graphs (%d that kro refuses), %d changed instances (%d of which kro makes nothing), %d resources pending, %d changes of children, %d denied; %d things allowed, %d of which nothing made use of",
				name, sum.graphs, sum.refused, sum.variants, sum.failed, sum.pending, sum.changes, sum.denied, sum.allowed, sum.unused)
		})
	}
}
