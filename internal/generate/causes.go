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

package generate

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
)

// Source is what a policy is known to read whatever the trigger, as constants name it.
type Source struct {
	// Resource that is read, in the version that the expression names.
	Resource schema.GroupVersionResource
	// Namespace and Name are nil where they depend on the trigger, or where all are read. One of
	// them is given: of what depends on the trigger alone nobody knows beforehand.
	Namespace, Name *string
}

// TriggerRules returns the rules of a webhook for the triggers of the policy: the creation and change of
// objects, and the requests that are triggers themselves.
func (p *Policy) TriggerRules() []admissionregistrationv1.RuleWithOperations {
	out := make([]admissionregistrationv1.RuleWithOperations, 0, len(p.matcher.watched)+len(p.matcher.kept))
	for _, rule := range slices.Concat(p.matcher.watched, p.matcher.kept) {
		out = append(out, rule.RuleWithOperations)
	}
	return out
}

// Sources returns what the policy is known to read whatever the trigger. It must not be modified.
func (p *Policy) Sources() []Source { return p.sources }

// writing are the operations that leave an object behind to say who did it.
var writing = []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update}

// Concerns reports whether a change of an object may change what the policy wants: it is a trigger as
// far as can be told without reading anything, or something that the policy is known to read.
func (p *Policy) Concerns(ctx context.Context, object *Trigger) bool {
	id := object.id()
	if slices.ContainsFunc(p.sources, func(s Source) bool {
		return s.Resource.GroupResource() == object.Resource.GroupResource() &&
			(s.Namespace == nil || *s.Namespace == id.Namespace) && (s.Name == nil || *s.Name == id.Name)
	}) {
		return true
	}
	if matches, err := p.Matches(object); err != nil || !matches {
		return err != nil
	}
	e := newEvaluation(p, object, nothing{})
	e.resolve = e.runner(ctx)
	// Which request the object keeps is nothing that it says.
	matched, err := e.matched(ctx, func(x *expression) bool { return !x.usesOld && !x.usesRequest && object.tells(x) })
	return matched || err != nil
}

// nothing is a Snapshot in which nobody looks.
type nothing struct{}

var errNotRead = errors.New("nothing is read to tell who is concerned")

func (nothing) KindOf(schema.GroupVersionResource) (schema.GroupVersionKind, bool, error) {
	return schema.GroupVersionKind{}, false, errNotRead
}

func (nothing) IsNamespaced(schema.GroupVersionKind) (namespaced, served bool, err error) {
	return false, false, errNotRead
}

func (nothing) Get(schema.GroupVersionResource, string, string) (map[string]any, error) {
	return nil, errNotRead
}

func (nothing) List(schema.GroupVersionResource, string, labels.Selector) ([]map[string]any, error) {
	return nil, errNotRead
}

// SameContent reports whether two states of an object say the same to policies: what the API server
// and controllers note of it apart, as its status, and what is Kausality's own.
func SameContent(before, after map[string]any) bool {
	return equality.Semantic.DeepEqual(said(before), said(after))
}

func said(object map[string]any) map[string]any {
	out := make(map[string]any, len(object))
	for name, value := range object {
		if name != "status" && name != "metadata" {
			out[name] = value
		}
	}
	metadata, _ := object["metadata"].(map[string]any)
	out["labels"] = withoutOurs(metadata["labels"])
	out["annotations"] = withoutOurs(metadata["annotations"])
	return out
}

func withoutOurs(marked any) map[string]any {
	out := map[string]any{}
	values, _ := marked.(map[string]any)
	for key, value := range values {
		domain, _, _ := strings.Cut(key, "/")
		if ours := strings.TrimSuffix(v1alpha1.AnnotationPrefix, "/"); domain != ours && !strings.HasSuffix(domain, "."+ours) {
			out[key] = value
		}
	}
	return out
}

// noteSources notes what a parsed expression reads, as far as constants say.
func (c *compiler) noteSources(parsed *cel.Ast) {
	ast.PreOrderVisit(parsed.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind {
			return
		}
		s, ok := c.sourceOf(e.AsCall())
		if ok && !slices.ContainsFunc(c.out.sources, func(other Source) bool { return equality.Semantic.DeepEqual(s, other) }) {
			c.out.sources = append(c.out.sources, s)
		}
	}))
}

// sourceOf returns what a call of resource.Get or resource.List reads, and false where it is another
// call, or nothing of that is known beforehand.
func (c *compiler) sourceOf(call ast.CallExpr) (Source, bool) {
	args := call.Args()
	if !call.IsMemberFunction() || !isIdent(call.Target(), varResource) || len(args) < 3 {
		return Source{}, false
	}
	version, resource := c.constant(args[0]), c.constant(args[1])
	if version == nil || resource == nil {
		return Source{}, false
	}
	gvr, err := resourceOf(*version, *resource)
	s := Source{Resource: gvr, Namespace: c.constant(args[2])}
	switch isGet := strings.EqualFold(call.FunctionName(), "get"); {
	case isGet && len(args) > 3:
		s.Name = c.constant(args[3])
	case !isGet && s.Namespace != nil && *s.Namespace == "":
		s.Namespace = nil // All namespaces are listed.
	}
	return s, err == nil && (s.Namespace != nil || s.Name != nil)
}

// constant returns what an expression says whatever the trigger: a literal, or a variable that is one.
// It is nil for any other.
func (c *compiler) constant(e ast.Expr) *string {
	if s, ok := constant(e); ok {
		return &s
	}
	if e.Kind() == ast.SelectKind && isIdent(e.AsSelect().Operand(), varVariables) {
		if s, ok := c.constants[e.AsSelect().FieldName()]; ok {
			return &s
		}
	}
	return nil
}
