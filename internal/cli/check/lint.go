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
	"fmt"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

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
	structural *structuralschema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
	kinds      *offline.Kinds
	webhook    *webhookv1alpha1.AllowancePolicyValidator
}

func newLinter(kinds *offline.Kinds) (*linter, error) {
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(crd.AllowancePolicies, &definition); err != nil {
		return nil, fmt.Errorf("reading the definition of AllowancePolicies: %w", err)
	}
	var declared apiextensions.CustomResourceValidation
	err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(
		definition.Spec.Versions[0].Schema, &declared, nil)
	if err != nil {
		return nil, fmt.Errorf("reading the schema of AllowancePolicies: %w", err)
	}
	l := &linter{kinds: kinds, webhook: &webhookv1alpha1.AllowancePolicyValidator{Mapper: kinds.Mapper(), Schemas: kinds}}
	if l.structural, err = structuralschema.NewStructural(declared.OpenAPIV3Schema); err != nil {
		return nil, fmt.Errorf("reading the schema of AllowancePolicies: %w", err)
	}
	if l.schema, _, err = validation.NewSchemaValidator(declared.OpenAPIV3Schema); err != nil {
		return nil, fmt.Errorf("reading the schema of AllowancePolicies: %w", err)
	}
	l.rules = cel.NewValidator(l.structural, true, celconfig.PerCallLimit)
	return l, nil
}

// lint returns the compiled policy of a document, nil where anything is wrong with it,
// and what there is to say about it.
func (l *linter) lint(ctx context.Context, doc *source.Document) (*policy.Policy, []Finding) {
	if wrong := l.malformed(ctx, doc); len(wrong) > 0 {
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

// malformed says what the API server itself refuses. It fills in the defaults.
func (l *linter) malformed(ctx context.Context, doc *source.Document) []Finding {
	var errs field.ErrorList
	name := nameOf(doc)
	if name == "" {
		errs = append(errs, field.Required(field.NewPath("metadata", "name"), "each policy has a name"))
	} else if wrong := apivalidation.NameIsDNSSubdomain(name, false); len(wrong) > 0 {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), name, strings.Join(wrong, "; ")))
	}
	defaulting.Default(doc.Object, l.structural)
	misshapen := validation.ValidateCustomResource(nil, doc.Object, l.schema)
	errs = append(errs, misshapen...)
	var out []Finding
	if len(misshapen) == 0 {
		// Only what has the right shape can be asked for more.
		for _, wrong := range doc.Decode(&v1alpha1.AllowancePolicy{}) {
			out = append(out, problem(wrong))
		}
		errs = append(errs, listtype.ValidateListSetsAndMaps(nil, l.structural, doc.Object)...)
		more, _ := l.rules.Validate(ctx, nil, l.structural, doc.Object, nil, celconfig.RuntimeCELCostBudget)
		errs = append(errs, more...)
	}
	for _, err := range errs {
		out = append(out, problem(doc.Problem(err.Field, "%s", body(err))))
	}
	return out
}

// nameOf is the name of the object in a document.
func nameOf(doc *source.Document) string {
	name, _, _ := unstructured.NestedString(doc.Object, "metadata", "name")
	return name
}

// body is what is wrong with a field, without the field. A value that is more than one
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

// refusal is what the webhook refuses, field by field.
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
