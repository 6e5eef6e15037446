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
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/derive/flow"
	"kausality.io/operator/internal/generate"
)

// The roots of what expressions are about, as they call it. Those of what they read are by read.key.
const (
	rootObject    = "object"
	rootOld       = "oldObject"
	rootRequest   = "request"
	rootNamespace = "namespaceObject"
	rootResource  = "resource"
	rootGenerator = "generator"
	nameVariables = "variables"
)

// The fields that expressions name and objects have in common.
const (
	fieldVersion     = "apiVersion"
	fieldKind        = "kind"
	fieldLabels      = "labels"
	fieldAnnotations = "annotations"
)

// read is what calls of resource.Get or resource.List with the same arguments read.
type read struct {
	// resource that is read, empty where that is computed.
	resource schema.GroupVersionResource
	// namespace and name are nil where they are computed, or all are read.
	namespace, name *string
	// labels that a list selects by, nil where there are none or they are computed.
	labels map[string]string
	list   bool
}

func (r *read) isKnown() bool { return r.resource.Resource != "" }

// key is what the expressions read, as people see it.
func (r *read) key() string {
	shown := func(part *string) string {
		if part == nil {
			return "*"
		}
		return *part
	}
	what := "(computed)"
	if r.isKnown() {
		what = r.resource.GroupResource().String()
	}
	out := what + " " + shown(r.namespace) + "/" + shown(r.name)
	if len(r.labels) > 0 {
		out += fmt.Sprintf(" %v", r.labels)
	}
	return out
}

// application is one call of generator.ApplyAll.
type application struct {
	why string
	// under are the places that decide on whether it is called.
	under []flow.Ref
	// namespace and objects are its arguments.
	namespace, objects *flow.Value
}

// followed is a GeneratingPolicy whose expressions were followed.
type followed struct {
	reads   map[string]*read
	applied []application
	// conditions are what decides on whether there is a trigger, by what says so.
	conditions []condition

	// why is the expression that is being followed.
	why string
}

type condition struct {
	why  string
	refs []flow.Ref
}

// follow follows all expressions of a policy that compiles.
func follow(spec *v1alpha1.GeneratingPolicySpec) (*followed, error) {
	f := &followed{reads: map[string]*read{}}
	variables := &flow.Value{Fields: map[string]*flow.Value{}}
	root := func(name string) *flow.Value { return &flow.Value{Is: []flow.Ref{{Root: name}}} }
	names := flow.Scope{
		rootObject: root(rootObject), rootNamespace: root(rootNamespace), rootResource: root(rootResource),
		rootRequest: root(rootRequest), rootOld: root(rootRequest), // It is another one with each request.
		rootGenerator: root(rootGenerator), nameVariables: variables,
	}
	for i, v := range spec.Variables {
		of, err := f.expression(fmt.Sprintf("spec.variables[%d].expression", i), v.Expression, names)
		if err != nil {
			return nil, err
		}
		variables.Fields[v.Name] = of
	}
	for i, c := range spec.MatchConditions {
		why := fmt.Sprintf("spec.matchConditions[%d].expression", i)
		on, err := f.expression(why, c.Expression, names)
		if err != nil {
			return nil, err
		}
		f.conditions = append(f.conditions, condition{why, on.All()})
	}
	for i, g := range spec.Generate {
		if _, err := f.expression(fmt.Sprintf("spec.generate[%d].expression", i), g.Expression, names); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (f *followed) expression(why, source string, names flow.Scope) (*flow.Value, error) {
	e, err := generate.Parse(source)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", why, err)
	}
	f.why = why
	v, err := flow.Follow(e, names, f.call)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", why, err)
	}
	return v, nil
}

// call follows the functions that GeneratingPolicies have beside Kubernetes' own.
func (f *followed) call(c *flow.Call) (*flow.Value, bool) {
	if !c.IsMemberFunction() {
		return nil, false
	}
	args := c.Args()
	switch name := strings.ToLower(c.FunctionName()); {
	case name == "get" && len(args) == 4, name == "list" && (len(args) == 3 || len(args) == 4):
		if isRoot(c.Follow(c.Target()), rootResource) {
			return f.read(name == "list", c), true
		}
	case (name == "applyall" || name == "apply") && len(args) == 2:
		if isRoot(c.Follow(c.Target()), rootGenerator) {
			for _, e := range elements(args[1]) {
				f.applied = append(f.applied, application{f.why, c.Under, c.Follow(args[0]), c.Follow(e)})
			}
			return &flow.Value{}, true
		}
	case name == "setfield" && len(args) == 2:
		return set(c.Follow(c.Target()), c.Follow(args[0]), c.Follow(args[1])), true
	}
	return nil, false
}

// elements returns those of a list that is written out, each by itself, so that what one is made of is
// not taken for that of others.
func elements(e ast.Expr) []ast.Expr {
	if e.Kind() != ast.ListKind || len(e.AsList().OptionalIndices()) > 0 {
		return []ast.Expr{e}
	}
	var out []ast.Expr
	for _, element := range e.AsList().Elements() {
		out = append(out, elements(element)...)
	}
	return out
}

func isRoot(v *flow.Value, root string) bool {
	return slices.ContainsFunc(v.Is, func(r flow.Ref) bool { return r.Root == root && len(r.Path) == 0 })
}

// text returns the one text that a value is, nil where it may be another one.
func text(v *flow.Value) *string {
	if len(v.Texts) != 1 || v.Open || len(v.All()) > 0 {
		return nil
	}
	return &v.Texts[0]
}

// read follows resource.Get and resource.List.
func (f *followed) read(list bool, c *flow.Call) *flow.Value {
	args := make([]*flow.Value, 0, len(c.Args()))
	for _, arg := range c.Args() {
		args = append(args, c.Follow(arg))
	}
	r := &read{list: list, namespace: text(args[2])}
	if version, resource := text(args[0]), text(args[1]); version != nil && resource != nil {
		if gv, err := schema.ParseGroupVersion(*version); err == nil {
			r.resource = gv.WithResource(*resource)
		}
	}
	from := flow.Computed(args...).From
	if !list {
		r.name = text(args[3])
		f.reads[r.key()] = r
		return &flow.Value{Is: []flow.Ref{{Root: r.key()}}, From: from, Gone: true}
	}
	if r.namespace != nil && *r.namespace == "" {
		r.namespace = nil // It lists all.
	}
	if len(args) == 4 {
		r.labels = constants(c.Args()[3])
	}
	f.reads[r.key()] = r
	from = append(from, r.selectedBy(len(args) == 4)...)
	items := &flow.Value{
		Item: &flow.Value{Is: []flow.Ref{{Root: r.key()}}}, Listed: true, Sized: true,
		From: append([]flow.Ref{{Root: r.key(), Length: true}}, from...),
	}
	return &flow.Value{Fields: map[string]*flow.Value{fieldVersion: {}, fieldKind: {}, "items": items}, From: from}
}

// selectedBy returns the labels of what is read that decide on whether it is.
func (r *read) selectedBy(selects bool) []flow.Ref {
	switch {
	case !selects:
		return nil
	case r.labels == nil:
		return []flow.Ref{{Root: r.key(), Path: metadata(fieldLabels)}}
	}
	var out []flow.Ref
	for _, key := range slices.Sorted(maps.Keys(r.labels)) {
		out = append(out, flow.Ref{Root: r.key(), Path: append(metadata(fieldLabels), flow.FieldSegment(key))})
	}
	return out
}

// constants returns a map of texts that is written out, and nil for any other expression.
func constants(e ast.Expr) map[string]string {
	if e.Kind() != ast.MapKind {
		return nil
	}
	out := map[string]string{}
	for _, entry := range e.AsMap().Entries() {
		key, isKey := literal(entry.AsMapEntry().Key())
		value, isValue := literal(entry.AsMapEntry().Value())
		if !isKey || !isValue {
			return nil
		}
		out[key] = value
	}
	return out
}

func literal(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	out, ok := e.AsLiteral().Value().(string)
	return out, ok
}

// set follows setField: an object with another value at a path. Where the path is computed, or goes
// through a list, all of the object may be another one.
func set(object, at, to *flow.Value) *flow.Value {
	if written := text(at); written != nil {
		path, err := change.ParsePath(*written)
		if err == nil && !slices.ContainsFunc(path, func(s change.Segment) bool { return s.Field == "" }) {
			for _, s := range slices.Backward(path) {
				to = &flow.Value{Fields: map[string]*flow.Value{s.Field: to}}
			}
			return flow.Either(object, to)
		}
	}
	return object.But(flow.Computed(at, to).From...)
}
