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
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/derive/flow"
)

// source is where what reaches a field comes from in the end: a field of the instance, or
// something that changes without a change of the instance.
type source struct {
	// path of the field of the instance, nil where it is observed.
	path change.Pattern
	// observed is what else it is, for people.
	observed string
}

func (s source) key() string {
	if s.path == nil {
		return "observed " + s.observed
	}
	return s.path.String()
}

// sources are by key, with the shortest way that leads from each: the places between.
type sources map[string]found

type found struct {
	source
	via []string
}

func (s sources) add(of source, via []string) {
	if known, ok := s[of.key()]; !ok || len(via) < len(known.via) {
		s[of.key()] = found{of, slices.Clone(via)}
	}
}

// sorted returns the sources in the order of their keys.
func (s sources) sorted() []found {
	out := make([]found, 0, len(s))
	for _, key := range slices.Sorted(maps.Keys(s)) {
		out = append(out, s[key])
	}
	return out
}

// resolver follows places to sources.
type resolver struct {
	*graph
	out sources
	// on are the places that are being followed, in which none may be met again.
	on  map[string]bool
	err error
}

// sourcesOf follows places, as the expressions of a resource name them, to their sources.
func (g *graph) sourcesOf(n *node, refs []flow.Ref, via ...string) (sources, error) {
	r := &resolver{graph: g, out: sources{}, on: map[string]bool{}}
	r.all(n, refs, via)
	return r.out, r.err
}

func (r *resolver) all(n *node, refs []flow.Ref, via []string) {
	for _, at := range refs {
		r.follow(n, at, via)
	}
}

// value follows what a value depends on at a path below it, unless it was not found.
func (r *resolver) value(n *node, v *flow.Value, err error, below change.Pattern, via []string) {
	if err != nil {
		r.fail(err)
		return
	}
	r.all(n, selected(v, below).All(), via)
}

// selected returns what a value has at a path.
func selected(v *flow.Value, path change.Pattern) *flow.Value {
	for _, s := range path {
		if s.Type == fieldpath.SegmentField {
			v = v.Field(s.Field)
		} else {
			v = v.At(s)
		}
	}
	return v
}

func (r *resolver) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *resolver) follow(n *node, at flow.Ref, via []string) {
	key := at.Key()
	if strings.HasPrefix(at.Root, iteratorRoot("")) {
		key = n.id + key
	}
	if r.on[key] {
		r.fail(fmt.Errorf("resource %q: what it is made of depends on itself", n.id))
		return
	}
	r.on[key] = true
	defer delete(r.on, key)
	switch {
	case at.Root == schemaRoot:
		r.instance(at, via)
	case strings.HasPrefix(at.Root, iteratorRoot("")):
		for _, a := range n.forEach {
			if iteratorRoot(a.name) == at.Root {
				r.value(n, a.list.Element(), nil, at.Path, via)
			}
		}
	default:
		r.resource(r.byID[at.Root], at, append(slices.Clip(via), shown(at)))
	}
}

// shown returns a place as the expressions of the graph have it.
func shown(at flow.Ref) string {
	if len(at.Path) == 0 {
		return at.Root
	}
	if at.Path[0] == change.Wildcard || at.Path[0].Type == fieldpath.SegmentIndex {
		first := "[" + strings.Trim(at.Path[:1].String(), "[]") + "]"
		return shown(flow.Ref{Root: at.Root + first, Path: at.Path[1:]})
	}
	return at.Root + "." + at.Path.String()
}

// resource follows a field of another resource to what its template makes it of.
func (r *resolver) resource(n *node, at flow.Ref, via []string) {
	path := at.Path
	if n.collection() {
		r.membership(n, via)
		if len(path) > 0 {
			path = path[1:]
		} else if at.Length {
			if n.external {
				r.observe(at, via)
			}
			return
		}
	}
	if n.external {
		r.observe(at, via)
		// Which object it is may be computed.
		for _, f := range n.texts(n.template["metadata"]) {
			r.value(n, f.value, f.err, nil, via)
		}
		return
	}
	root := at.Root
	if n.collection() {
		root += "[*]"
	}
	r.template(n, n.template, flow.Ref{Root: root}, path, via)
}

func (r *resolver) observe(at flow.Ref, via []string) {
	r.out.add(source{observed: shown(at)}, via[:max(len(via)-1, 0)])
}

// template follows what a template has at a path.
func (r *resolver) template(n *node, has any, at flow.Ref, path change.Pattern, via []string) {
	switch has := has.(type) {
	case string:
		v, isExpression, err := n.expression(has)
		if isExpression || err != nil {
			r.value(n, v, err, path, via)
		}
	case map[string]any:
		if len(path) == 0 || path[0] == change.Wildcard {
			for _, name := range slices.Sorted(maps.Keys(has)) {
				r.template(n, has[name], at.Below(flow.FieldSegment(name)), path[min(1, len(path)):], via)
			}
			r.observe(at, via) // Others may have written more into it.
			return
		}
		name := path[0].Field
		if held, ok := has[name]; ok {
			r.template(n, held, at.Below(path[0]), path[1:], via)
			return
		}
		at = flow.Ref{Root: at.Root, Path: slices.Concat(at.Path, path)}
		if text := at.Path.String(); text != "metadata.namespace" {
			r.observe(at, via)
		}
	case []any:
		for i, item := range has {
			r.template(n, item, at.Below(flow.IndexSegment(uint(i))), path[min(1, len(path)):], via)
		}
		if len(path) == 0 {
			r.observe(at, via)
		}
	}
}

// expression follows the expression in a text of the template.
func (n *node) expression(text string) (v *flow.Value, isExpression bool, err error) {
	expression, isExpression, err := expressionIn(text)
	if err != nil || !isExpression {
		return nil, isExpression, err
	}
	parsed, err := parse(expression)
	if err != nil {
		return nil, true, err
	}
	v, err = follow(parsed, n.names)
	if err != nil {
		return nil, true, fmt.Errorf("${%s}: %w", expression, err)
	}
	return v, true, nil
}

// The metadata of an instance that never changes, and that of which each is followed.
var (
	constantMetadata = map[string]bool{
		"name": true, "namespace": true, "uid": true, "creationTimestamp": true, "generateName": true, "selfLink": true,
	}
	keyedMetadata = map[string]bool{"labels": true, "annotations": true}
	// kroDomains are those in which kro itself writes labels and annotations of an instance.
	kroDomains = []string{"kro.run/", "applyset.kubernetes.io/"}
)

// instance follows a field of the instance, which is a source.
func (r *resolver) instance(at flow.Ref, via []string) {
	if len(at.Path) == 0 {
		r.out.add(source{path: change.Pattern{flow.FieldSegment("spec")}}, via)
		r.observe(at, via)
		return
	}
	switch at.Path[0].Field {
	case "apiVersion", "kind":
	case "metadata":
		r.metadata(at, via)
	case "spec":
		path := r.stable(at.Path)
		r.out.add(source{path: path}, via)
	default:
		r.fail(fmt.Errorf("%s is no field that expressions may be about", shown(at)))
	}
}

func (r *resolver) metadata(at flow.Ref, via []string) {
	if len(at.Path) == 1 {
		r.out.add(source{observed: shown(at)}, via)
		return
	}
	switch field := at.Path[1].Field; {
	case constantMetadata[field]:
	case field == "generation":
		r.out.add(source{path: change.Pattern{flow.FieldSegment("spec")}}, via)
	case keyedMetadata[field] && len(at.Path) > 2 && at.Path[2] != change.Wildcard && !ofKro(at.Path[2].Field):
		r.out.add(source{path: at.Path[:3]}, via)
	default:
		r.out.add(source{observed: shown(at)}, via)
	}
}

// ofKro reports whether kro itself writes a label or an annotation.
func ofKro(key string) bool {
	return slices.ContainsFunc(kroDomains, func(domain string) bool {
		return strings.HasPrefix(key, domain) || strings.Contains(key, "."+domain)
	})
}

// stable returns a path of the spec in which an index is any, where the items of the list move
// when others come and go: those of a list of objects, which are known by their names.
func (g *graph) stable(path change.Pattern) change.Pattern {
	out := slices.Clone(path)
	at := g.spec
	for i, s := range out[1:] {
		if s.Type != fieldpath.SegmentIndex && s != change.Wildcard {
			at = property(at, s.Field)
			continue
		}
		at = items(at)
		if at == nil || at.Type == "object" || at.Type == "array" || at.Type == "" {
			out[i+1] = change.Wildcard
		}
	}
	return out
}

func property(in *apiextensionsv1.JSONSchemaProps, name string) *apiextensionsv1.JSONSchemaProps {
	if in == nil {
		return nil
	}
	if p, ok := in.Properties[name]; ok {
		return &p
	}
	if in.AdditionalProperties != nil {
		return in.AdditionalProperties.Schema
	}
	return nil
}

func items(in *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	switch {
	case in == nil:
		return nil
	case in.Items != nil:
		return in.Items.Schema
	case in.AdditionalProperties != nil:
		return in.AdditionalProperties.Schema
	default:
		return nil
	}
}

// membership follows what decides on whether there is an object of a resource, and on how
// many there are.
func (r *resolver) membership(n *node, via []string) {
	r.inclusion(n, via)
	if n.external {
		return
	}
	for _, m := range n.identity() {
		r.value(n, m.value, m.err, nil, via)
	}
}

// inclusion follows the conditions of a resource, and of those that its expressions are
// about: without these, it is left out too.
func (r *resolver) inclusion(n *node, via []string) {
	for _, m := range r.needed(n, map[string]bool{}) {
		conditions, err := m.conditions()
		if err != nil {
			r.fail(err)
			return
		}
		for _, c := range conditions {
			r.all(m, c.refs, via)
		}
	}
}

// written is one expression in a template.
type written struct {
	field, text string
	value       *flow.Value
	err         error
}

// texts returns the expressions in a part of a template.
func (n *node) texts(in any) []written {
	switch in := in.(type) {
	case string:
		if v, isExpression, err := n.expression(in); isExpression || err != nil {
			return []written{{value: v, err: err}}
		}
	case map[string]any:
		var out []written
		for _, name := range slices.Sorted(maps.Keys(in)) {
			out = append(out, n.texts(in[name])...)
		}
		return out
	case []any:
		var out []written
		for _, item := range in {
			out = append(out, n.texts(item)...)
		}
		return out
	}
	return nil
}

// identity returns the expressions in the name and the namespace.
func (n *node) identity() []written {
	metadata, _ := n.template["metadata"].(map[string]any)
	var out []written
	for _, field := range []string{"name", "namespace"} {
		text, _ := metadata[field].(string)
		if v, isExpression, err := n.expression(text); isExpression || err != nil {
			out = append(out, written{field, text, v, err})
		}
	}
	return out
}
