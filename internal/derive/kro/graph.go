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
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/google/cel-go/common/ast"
	krov1alpha1 "github.com/kubernetes-sigs/kro/api/v1alpha1"
	"github.com/kubernetes-sigs/kro/pkg/graph/parser"
	"github.com/kubernetes-sigs/kro/pkg/simpleschema"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/internal/derive/flow"
)

// graph is a ResourceGraphDefinition, read.
type graph struct {
	// instance is the kind of the instances.
	instance schema.GroupVersionKind
	// namespaced is true where instances are in a namespace.
	namespaced bool
	// spec is the schema of the spec of instances.
	spec *apiextensionsv1.JSONSchemaProps
	// conditions is true where the graph says which conditions its instances have.
	conditions bool
	// nodes are the resources, in the order of the graph.
	nodes []*node
	byID  map[string]*node
}

// node is one resource of a graph.
type node struct {
	id   string
	kind schema.GroupVersionKind
	// template is the object with its expressions in it, or, of what is only read, where
	// that is found.
	template map[string]any
	// external is true of what is only read, and selected of that which is selected by labels.
	external, selected bool
	includeWhen        []ast.Expr
	conditionTexts     []string
	forEach            []axis
	// names are what the names in its expressions stand for.
	names flow.Scope
	// needs are the resources that its expressions are about.
	needs []string
}

// axis is one list that a collection is made of.
type axis struct {
	name string
	list *flow.Value
	// text is the expression, as the graph has it.
	text string
}

// collection reports whether others see a list of objects.
func (n *node) collection() bool { return n.selected || len(n.forEach) > 0 }

// defaultGroup is that of instances of graphs that name none.
const defaultGroup = "kro.run"

// readGraph reads what a graph declares. It is as strict as it has to be: whether a graph is
// sound is for kro to say.
func readGraph(rgd *krov1alpha1.ResourceGraphDefinition) (*graph, error) {
	declared := rgd.Spec.Schema
	if declared == nil || declared.Kind == "" || declared.APIVersion == "" {
		return nil, errors.New("spec.schema: it says no kind and version of instances")
	}
	g := &graph{
		instance:   schema.GroupVersionKind{Group: cmp.Or(declared.Group, defaultGroup), Version: declared.APIVersion, Kind: declared.Kind},
		namespaced: declared.Scope != krov1alpha1.ResourceScopeCluster,
		byID:       map[string]*node{},
	}
	var err error
	if g.spec, err = specSchema(declared); err != nil {
		return nil, err
	}
	status, err := decoded(declared.Status)
	if err != nil {
		return nil, fmt.Errorf("spec.schema.status: %w", err)
	}
	_, g.conditions = status["conditions"]
	for i, r := range rgd.Spec.Resources {
		n, err := readNode(r)
		if err != nil {
			return nil, fmt.Errorf("spec.resources[%d]: %w", i, err)
		}
		if g.byID[n.id] != nil {
			return nil, fmt.Errorf("spec.resources[%d]: another resource has the id %q", i, n.id)
		}
		g.nodes, g.byID[n.id] = append(g.nodes, n), n
	}
	if err := g.link(rgd.Spec.Resources); err != nil {
		return nil, err
	}
	return g, nil
}

func decoded(raw runtime.RawExtension) (map[string]any, error) {
	out := map[string]any{}
	err := yaml.Unmarshal(raw.Raw, &out)
	return out, err
}

// specSchema returns what kro makes of the schema that the graph declares.
func specSchema(declared *krov1alpha1.Schema) (*apiextensionsv1.JSONSchemaProps, error) {
	fields, err := decoded(declared.Spec)
	if err != nil {
		return nil, fmt.Errorf("spec.schema.spec: %w", err)
	}
	own, err := decoded(declared.Types)
	if err != nil {
		return nil, fmt.Errorf("spec.schema.types: %w", err)
	}
	out, err := simpleschema.ToOpenAPISpec(fields, own)
	if err != nil {
		return nil, fmt.Errorf("spec.schema.spec: %w", err)
	}
	return out, nil
}

// readNode reads a resource as far as it can be read without the others.
func readNode(r *krov1alpha1.Resource) (*node, error) {
	if r == nil || r.ID == "" {
		return nil, errors.New("it has no id")
	}
	n := &node{id: r.ID, external: r.ExternalRef != nil}
	var err error
	if n.external {
		n.selected = r.ExternalRef.Metadata.HasSelector()
		n.template, err = runtime.DefaultUnstructuredConverter.ToUnstructured(r.ExternalRef)
	} else {
		n.template, err = decoded(r.Template)
	}
	if err != nil {
		return nil, fmt.Errorf("resource %q: %w", r.ID, err)
	}
	version, _ := n.template["apiVersion"].(string)
	kind, _ := n.template["kind"].(string)
	gv, err := schema.ParseGroupVersion(version)
	if err != nil || gv.Version == "" || kind == "" {
		return nil, fmt.Errorf("resource %q: it says no apiVersion and kind", r.ID)
	}
	n.kind = gv.WithKind(kind)
	return n, nil
}

// link reads what resources say of each other.
func (g *graph) link(resources []*krov1alpha1.Resource) error {
	names := flow.Scope{schemaRoot: {Is: []flow.Ref{{Root: schemaRoot}}}}
	for i, n := range g.nodes {
		names[n.id] = &flow.Value{Is: []flow.Ref{{Root: n.id}}, Listed: n.selected || len(resources[i].ForEach) > 0}
	}
	for i, n := range g.nodes {
		if err := n.link(resources[i], names); err != nil {
			return fmt.Errorf("resource %q: %w", n.id, err)
		}
	}
	for _, n := range g.nodes {
		if err := g.need(n); err != nil {
			return fmt.Errorf("resource %q: %w", n.id, err)
		}
	}
	return g.ordered()
}

// need finds the resources that the expressions of one are about.
func (g *graph) need(n *node) error {
	fields, err := n.fields()
	if err != nil {
		return err
	}
	var refs []flow.Ref
	for _, f := range fields {
		refs = append(refs, f.value.All()...)
	}
	for _, m := range n.texts(n.template["metadata"]) {
		if m.err != nil {
			return m.err
		}
		refs = append(refs, m.value.All()...)
	}
	for _, a := range n.forEach {
		refs = append(refs, a.list.All()...)
	}
	conditions, err := n.conditions()
	if err != nil {
		return err
	}
	for _, c := range conditions {
		refs = append(refs, c.refs...)
	}
	for _, r := range refs {
		if g.byID[r.Root] != nil && !slices.Contains(n.needs, r.Root) {
			n.needs = append(n.needs, r.Root)
		}
	}
	slices.Sort(n.needs)
	return nil
}

// ordered fails where resources need each other.
func (g *graph) ordered() error {
	done, on := map[string]bool{}, map[string]bool{}
	var visit func(id string) error
	visit = func(id string) error {
		if done[id] {
			return nil
		}
		if on[id] {
			return fmt.Errorf("resource %q: it depends on itself", id)
		}
		on[id] = true
		for _, needed := range g.byID[id].needs {
			if err := visit(needed); err != nil {
				return err
			}
		}
		done[id] = true
		return nil
	}
	for _, n := range g.nodes {
		if err := visit(n.id); err != nil {
			return err
		}
	}
	return nil
}

func (n *node) link(r *krov1alpha1.Resource, names flow.Scope) error {
	n.names = names
	for _, dimension := range r.ForEach {
		for name, text := range dimension {
			list, err := standalone(text)
			if err != nil {
				return fmt.Errorf("forEach %s: %w", name, err)
			}
			v, err := follow(list, names)
			if err != nil {
				return fmt.Errorf("forEach %s: %w", name, err)
			}
			n.forEach = append(n.forEach, axis{name, v, text})
			n.names = n.names.With(name, &flow.Value{Is: []flow.Ref{{Root: iteratorRoot(name)}}})
		}
	}
	for _, text := range r.IncludeWhen {
		e, err := standalone(text)
		if err != nil {
			return fmt.Errorf("includeWhen: %w", err)
		}
		n.includeWhen, n.conditionTexts = append(n.includeWhen, e), append(n.conditionTexts, text)
	}
	return nil
}

// standalone parses what is one expression and nothing else.
func standalone(text string) (ast.Expr, error) {
	unwrapped, err := parser.UnwrapExpressions([]string{text})
	if err != nil {
		return nil, err
	}
	return parse(unwrapped[0].Original)
}
