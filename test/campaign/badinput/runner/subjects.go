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

package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/campaign/badinput/inputs"
)

// annotations are those that Kausality reads and writes, and one that it does not know.
var annotations = []string{
	v1alpha1.AnnotationAllowances, v1alpha1.AnnotationApprove, v1alpha1.AnnotationApproved, v1alpha1.AnnotationBreakGlass, v1alpha1.AnnotationOrphan, v1alpha1.AnnotationReleaseGate,
	v1alpha1.AnnotationGateContent, v1alpha1.AnnotationGateCeiling, v1alpha1.AnnotationGateUnseen, v1alpha1.AnnotationGateProvider, v1alpha1.AnnotationGateParent,
	v1alpha1.AnnotationGateRequested, v1alpha1.AnnotationGateHeld, v1alpha1.ConditionBlocked, v1alpha1.ConditionAffected,
	v1alpha1.ReplicaSetAnnotationPrefix + "allowances", v1alpha1.ReplicaSetAnnotationPrefix + "approve",
	v1alpha1.AnnotationDerivedFrom, v1alpha1.AnnotationGeneratedFrom, v1alpha1.AnnotationManaged, v1alpha1.AnnotationInitiators, v1alpha1.AnnotationValidationActions,
	v1alpha1.AnnotationRecreate, v1alpha1.AnnotationChangedBy, v1alpha1.AnnotationNoted, v1alpha1.AnnotationRequests, v1alpha1.AnnotationChangedSpec, v1alpha1.AnnotationPrefix + "dropped", v1alpha1.AnnotationPrefix + "unheard-of",
}

// metadata are the fields of metadata that Kausality reads, and that somebody may write.
var metadata = []inputs.Field{
	{"metadata", "labels"}, {"metadata", "labels", "app"}, {"metadata", "annotations"}, {"metadata", "finalizers"},
	{"metadata", "ownerReferences"}, {"metadata", "ownerReferences", 0, "uid"},
}

// subjects returns all that bad input is put into.
func (s *stage) subjects(ctx context.Context) ([]subject, error) {
	policies, err := s.schema(ctx, "allowancepolicies")
	if err != nil {
		return nil, err
	}
	records, err := s.schema(ctx, "allowancerecords")
	if err != nil {
		return nil, err
	}
	spec := policies.Properties["spec"]
	fields := []inputs.Field{{"spec"}, {"metadata", "labels"}, {"metadata", "annotations"}}
	for _, f := range inputs.Fields(&spec, s.policy["spec"]) {
		fields = append(fields, append(inputs.Field{"spec"}, f...))
	}
	values, many := inputs.Values(s.Items), inputs.Values(inputs.Many)
	subjects := []subject{
		{name: "a new AllowancePolicy", fields: fields, values: values, try: s.createPolicy},
		{name: "an AllowancePolicy", fields: fields, values: values, try: s.changePolicy},
		{name: "the webhooks", fields: []inputs.Field{{"body"}}, values: reviews(), try: s.review},
	}
	record, err := s.recordSubject(ctx, records)
	if err != nil {
		return nil, err
	}
	subjects = append(subjects, record)
	thing := s.things() + "/holder"
	for name, path := range map[string]string{
		"a Thing": thing, "a managed Thing": s.managed() + "/managed",
		"a Deployment": s.apps("deployments") + "/web", "a ReplicaSet": s.replicaSet,
	} {
		h := holder{stage: s, path: path}
		subjects = append(subjects, subject{name: "the annotations of " + name, fields: annotationFields(), values: many, try: h.annotate})
	}
	contents := []inputs.Field{{"spec"}, {"spec", "config"}, {"spec", "items"}, {"spec", "items", 0}, {"spec", "items", 0, "name"}, {"spec", "else"}}
	for name, path := range map[string]string{"a Thing": s.things(), "a managed Thing": s.managed()} {
		h := holder{stage: s, path: path}
		subjects = append(subjects, subject{
			name: "what is in " + name, fields: append(contents, metadata...), values: many, try: h.fill,
		})
	}
	return subjects, nil
}

func annotationFields() []inputs.Field {
	out := make([]inputs.Field, 0, len(annotations))
	for _, key := range annotations {
		out = append(out, inputs.Field{"metadata", "annotations", key})
	}
	return out
}

// schema returns the schema of a kind of ours, as the API server has it.
func (s *stage) schema(ctx context.Context, resource string) (*apiextensionsv1.JSONSchemaProps, error) {
	path := "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + resource + ".kausality.io"
	a, err := s.admin.insist(ctx, http.MethodGet, path, asJSON, nil)
	if err != nil {
		return nil, err
	}
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(a.body, &definition); err != nil {
		return nil, err
	}
	if len(definition.Spec.Versions) != 1 {
		return nil, fmt.Errorf("%s have %d versions, and not one", resource, len(definition.Spec.Versions))
	}
	return definition.Spec.Versions[0].Schema.OpenAPIV3Schema, nil
}

// changed returns the object with the change, as JSON.
func changed(object map[string]any, c inputs.Change) ([]byte, error) {
	return json.Marshal(inputs.With(object, c.Field, c.Value.JSON))
}

// top returns a JSON patch that replaces one field of an object.
func top(object map[string]any, name string) any {
	return []any{map[string]any{"op": "add", "path": "/" + name, "value": object[name]}}
}

// createPolicy creates a policy, and deletes it if there is one then.
func (s *stage) createPolicy(ctx context.Context, n int, c inputs.Change) error {
	name := fmt.Sprintf("new-%d.%s", n, s.Group)
	body, err := changed(inName(s.policy, name), c)
	if err != nil {
		return err
	}
	a, err := s.admin.do(ctx, http.MethodPost, policiesPath, asJSON, body)
	if err != nil {
		return err
	}
	s.report.add("creating an AllowancePolicy with "+c.String(), a, a.fault(c.Field, c.Value.Long))
	exists, err := s.admin.do(ctx, http.MethodGet, policiesPath+"/"+name, asJSON, nil)
	if err != nil {
		return err
	}
	if exists.accepted() != a.accepted() {
		s.report.add("looking for an AllowancePolicy with "+c.String(), exists, fmt.Sprintf("the answer was %d, and then %d", a.code, exists.code))
	}
	if !exists.accepted() {
		return nil
	}
	if err := s.change(ctx, n, "a Thing under a policy with "+c.String()); err != nil {
		return err
	}
	_, err = s.admin.insist(ctx, http.MethodDelete, policiesPath+"/"+name, asJSON, nil)
	return err
}

// changePolicy changes the policy that is in effect, and takes that back.
func (s *stage) changePolicy(ctx context.Context, n int, c inputs.Change) error {
	part, _ := c.Field[0].(string)
	bad := inputs.With(inName(s.policy, s.policyName()), c.Field, c.Value.JSON)
	body, err := json.Marshal(top(bad, part))
	if err != nil {
		return err
	}
	if part == "metadata" {
		if body, err = json.Marshal(bad); err != nil {
			return err
		}
		a, err := s.admin.do(ctx, http.MethodPatch, s.policyPath(), asMerge, body)
		if err != nil {
			return err
		}
		s.report.add("changing an AllowancePolicy to "+c.String(), a, a.fault(c.Field, c.Value.Long))
		_, err = s.admin.insist(ctx, http.MethodPatch, s.policyPath(), asMerge, map[string]any{"metadata": map[string]any{"labels": nil, "annotations": nil}})
		return err
	}
	a, err := s.admin.do(ctx, http.MethodPatch, s.policyPath(), asPatch, body)
	if err != nil {
		return err
	}
	s.report.add("changing an AllowancePolicy to "+c.String(), a, a.fault(c.Field, c.Value.Long))
	if !a.accepted() {
		return nil
	}
	if err := s.change(ctx, n, "a Thing under a policy changed to "+c.String()); err != nil {
		return err
	}
	_, err = s.admin.insist(ctx, http.MethodPatch, s.policyPath(), asPatch, top(s.policy, part))
	return err
}

// change changes a Thing, so that its policies are asked.
func (s *stage) change(ctx context.Context, n int, what string) error {
	for _, who := range []*requester{s.mallory, s.alice} {
		body := fmt.Appendf(nil, `{"spec":{"config":"%d"}}`, n)
		a, err := who.do(ctx, http.MethodPatch, s.things()+"/recorded", asMerge, body)
		if err != nil {
			return err
		}
		s.report.add("changing "+what, a, a.fault(nil, false))
	}
	return nil
}
