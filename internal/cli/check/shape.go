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
	"fmt"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/internal/cli/source"
)

// shape checks what the API server itself checks of the objects of a kind.
type shape struct {
	structural *structuralschema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

// newShape returns the shape of a CustomResourceDefinition, which is YAML.
func newShape(text []byte) (*shape, error) {
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &definition); err != nil {
		return nil, fmt.Errorf("reading the definition of a kind: %w", err)
	}
	kind := definition.Spec.Names.Kind
	var declared apiextensions.CustomResourceValidation
	err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(
		definition.Spec.Versions[0].Schema, &declared, nil)
	if err != nil {
		return nil, fmt.Errorf("reading the schema of %s: %w", kind, err)
	}
	s := &shape{}
	if s.structural, err = structuralschema.NewStructural(declared.OpenAPIV3Schema); err != nil {
		return nil, fmt.Errorf("reading the schema of %s: %w", kind, err)
	}
	if s.schema, _, err = validation.NewSchemaValidator(declared.OpenAPIV3Schema); err != nil {
		return nil, fmt.Errorf("reading the schema of %s: %w", kind, err)
	}
	s.rules = cel.NewValidator(s.structural, true, celconfig.PerCallLimit)
	return s, nil
}

// malformed says what the API server refuses of a document that is to be decoded into a type. It
// fills in the defaults.
func (s *shape) malformed(ctx context.Context, doc *source.Document, into any) []Finding {
	var errs field.ErrorList
	name := nameOf(doc)
	if name == "" {
		errs = append(errs, field.Required(field.NewPath("metadata", "name"), "each policy has a name"))
	} else if wrong := apivalidation.NameIsDNSSubdomain(name, false); len(wrong) > 0 {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), name, strings.Join(wrong, "; ")))
	}
	defaulting.Default(doc.Object, s.structural)
	misshapen := validation.ValidateCustomResource(nil, doc.Object, s.schema)
	errs = append(errs, misshapen...)
	var out []Finding
	if len(misshapen) == 0 {
		// Only what has the right shape can be asked for more.
		for _, wrong := range doc.Decode(into) {
			out = append(out, problem(wrong))
		}
		errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.structural, doc.Object)...)
		more, _ := s.rules.Validate(ctx, nil, s.structural, doc.Object, nil, celconfig.RuntimeCELCostBudget)
		errs = append(errs, more...)
	}
	for _, err := range errs {
		out = append(out, problem(doc.Problem(err.Field, "%s", body(err))))
	}
	return out
}
