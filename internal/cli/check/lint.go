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

// Package check judges policies without a cluster: it says of each what the API server
// and Kausality would say if it was applied, and runs tests that say what policies
// should answer.
package check

import (
	"context"
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/config/crd"
	"kausality.io/operator/internal/cli/offline"
	"kausality.io/operator/internal/cli/source"
	"kausality.io/operator/internal/policy"
	webhookv1alpha1 "kausality.io/operator/internal/webhook/v1alpha1"
)

// policyKind is what is linted.
var policyKind = v1alpha1.GroupVersion.WithKind("AllowancePolicy")

// linter says what the API server would.
type linter struct {
	policies, generating *shape
	kinds                *offline.Kinds
	webhook              *webhookv1alpha1.AllowancePolicyValidator
}

func newLinter(kinds *offline.Kinds) (*linter, error) {
	policies, err := newShape(crd.AllowancePolicies)
	if err != nil {
		return nil, err
	}
	generating, err := newShape(crd.GeneratingPolicies)
	if err != nil {
		return nil, err
	}
	return &linter{
		policies: policies, generating: generating, kinds: kinds,
		webhook: &webhookv1alpha1.AllowancePolicyValidator{Serving: kinds, Schemas: kinds},
	}, nil
}

// lint returns the compiled policy of a document, nil where anything is wrong with it,
// and what there is to say about it.
func (l *linter) lint(ctx context.Context, doc *source.Document) (*policy.Policy, []Finding) {
	if wrong := l.policies.malformed(ctx, doc, &v1alpha1.AllowancePolicy{}); len(wrong) > 0 {
		return nil, wrong
	}
	p := &v1alpha1.AllowancePolicy{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(doc.Object, p); err != nil {
		return nil, []Finding{problem(doc.Problem("", "%v", err))}
	}
	warnings, err := l.webhook.ValidateCreate(ctx, p)
	if err != nil {
		return nil, refusal(doc, err)
	}
	var out []Finding
	for _, w := range warnings {
		out = append(out, warning(doc, w))
	}
	compiled, _ := policy.Compile(p, l.kinds.KindFor)
	compiled.Categorize(l.kinds.Categories)
	for _, a := range advice(p, compiled) {
		out = append(out, warning(doc, a))
	}
	return compiled, out
}

// unknown names the kinds and resources of a policy of which nothing is known here.
func (l *linter) unknown(p *policy.Policy) []string {
	var out []string
	if _, known := l.kinds.ResourceFor(p.For); !known {
		out = append(out, p.For.GroupKind().String())
	}
	for _, e := range p.Entries() {
		if !e.IsExternal() && e.Kind.Empty() {
			out = append(out, e.Resource.GroupResource().String())
		}
	}
	return out
}

// nameOf returns the name of the object in a document.
func nameOf(doc *source.Document) string {
	name, _, _ := unstructured.NestedString(doc.Object, "metadata", "name")
	return name
}

// body returns what is wrong with a field, without the field. A value that is more than one
// line says nothing that its line does not.
func body(err *field.Error) string {
	switch err.BadValue.(type) {
	case string, bool, int64, float64:
		if err.BadValue != "object" && err.BadValue != "array" {
			return err.ErrorBody()
		}
	}
	if err.Type == field.ErrorTypeInvalid && err.Detail != "" {
		return err.Detail
	}
	return err.ErrorBody()
}

// refusal returns what the webhook refuses, field by field.
func refusal(doc *source.Document, err error) []Finding {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return []Finding{problem(doc.Problem("", "%v", err))}
	}
	var out []Finding
	for _, cause := range status.Status().Details.Causes {
		out = append(out, problem(doc.Problem(cause.Field, "%s", cause.Message)))
	}
	return out
}

// warning is about a field where it begins with its path.
func warning(doc *source.Document, text string) Finding {
	path, rest, ok := strings.Cut(text, ": ")
	if !ok || !strings.HasPrefix(path, "spec.") || strings.Contains(path, " ") {
		path, rest = "", text
	}
	return Finding{Problem: doc.Problem(path, "%s", rest), Severity: SeverityWarning}
}

// define adds the kinds of a CustomResourceDefinition.
func define(kinds *offline.Kinds, doc *source.Document) []Finding {
	if err := kinds.DefineObject(doc.Object); err != nil {
		return []Finding{problem(doc.Problem("spec", "%v", err))}
	}
	return nil
}
