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

package check

import (
	"context"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/source"
	"kausality.io/operator/internal/generate"
)

// generatingKind is the kind that lintGenerating lints.
var generatingKind = v1alpha1.GroupVersion.WithKind(v1alpha1.KindGeneratingPolicy)

// lintGenerating returns the compiled GeneratingPolicy of a document, nil where anything is
// wrong with it, and what there is to say about it.
func (l *linter) lintGenerating(ctx context.Context, doc *source.Document) (*generate.Policy, []Finding) {
	if wrong := l.generating.malformed(ctx, doc, &v1alpha1.GeneratingPolicy{}); len(wrong) > 0 {
		return nil, wrong
	}
	p := &v1alpha1.GeneratingPolicy{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(doc.Object, p); err != nil {
		return nil, []Finding{problem(doc.Problem("", "%v", err))}
	}
	compiled, warnings, errs := generate.Compile(p.Name, &p.Spec)
	var out []Finding
	for _, err := range errs {
		out = append(out, problem(doc.Problem(err.Field, "%s", withoutExpression(err))))
	}
	if len(errs) > 0 {
		return nil, out
	}
	for _, w := range warnings {
		out = append(out, warning(doc, w))
	}
	return compiled, out
}

// withoutExpression returns what is wrong with a field. An expression is not repeated: its line
// says which it is.
func withoutExpression(err *field.Error) string {
	if (err.Type == field.ErrorTypeInvalid || err.Type == field.ErrorTypeForbidden) && strings.HasSuffix(err.Field, ".expression") {
		return err.Detail
	}
	return body(err)
}

// unknownTriggers returns the resources of triggers that a policy names and that are not known here.
func (l *linter) unknownTriggers(doc *source.Document) []string {
	p := &v1alpha1.GeneratingPolicy{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(doc.Object, p); err != nil || p.Spec.MatchConstraints == nil {
		return nil
	}
	out := map[string]bool{}
	for _, rule := range p.Spec.MatchConstraints.ResourceRules {
		for resource := range generate.ResourcesOf(&rule) {
			if _, known := l.kinds.KindFor(resource); !known {
				out[resource.GroupResource().String()] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(out))
}
