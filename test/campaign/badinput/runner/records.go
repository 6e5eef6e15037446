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
	"errors"
	"fmt"
	"net/http"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/campaign/badinput/inputs"
)

// stranger returns what somebody who is not the operator tries to write.
func stranger(n int) []byte {
	return fmt.Appendf(nil, `[{"op":"add","path":"/status","value":{"initiator":"mallory-%d"}}]`, n)
}

// recordSubject returns the status of the record of a Thing. It is the operator's alone; so it
// is written under its name, as an operator might that is broken.
func (s *stage) recordSubject(ctx context.Context, schema *apiextensionsv1.JSONSchemaProps) (subject, error) {
	path := ""
	err := s.until(ctx, func(ctx context.Context) error {
		a, err := s.admin.insist(ctx, http.MethodGet, fmt.Sprintf("/apis/kausality.io/v1alpha1/namespaces/%s/allowancerecords", s.Namespace), asJSON, nil)
		if err != nil {
			return err
		}
		var records v1alpha1.AllowanceRecordList
		if err := json.Unmarshal(a.body, &records); err != nil {
			return err
		}
		for _, r := range records.Items {
			if r.Spec.TargetRef.Name == "recorded" {
				path = fmt.Sprintf("/apis/kausality.io/v1alpha1/namespaces/%s/allowancerecords/%s/status", s.Namespace, r.Name)
				return nil
			}
		}
		return errors.New("the Thing has no record")
	})
	status := schema.Properties["status"]
	sample := map[string]any{"status": inputs.Sample(&status)}
	fields := []inputs.Field{{"status"}}
	for _, f := range inputs.Fields(&status, sample["status"]) {
		fields = append(fields, append(inputs.Field{"status"}, f...))
	}
	return subject{name: "an AllowanceRecord", fields: fields, values: inputs.Values(s.Items), try: func(ctx context.Context, n int, c inputs.Change) error {
		body, err := json.Marshal(top(inputs.With(sample, c.Field, c.Value.JSON), "status"))
		if err != nil {
			return err
		}
		a, err := s.operator.do(ctx, http.MethodPatch, path, asPatch, body)
		if err != nil {
			return err
		}
		s.report.add("the operator changes an AllowanceRecord to "+c.String(), a, a.fault(c.Field, c.Value.Long))
		if a, err = s.mallory.do(ctx, http.MethodPatch, path, asPatch, stranger(n)); err != nil {
			return err
		}
		if a.code != http.StatusForbidden {
			s.report.add("mallory changes an AllowanceRecord", a, fmt.Sprintf("the answer is %d, and not that a stranger may not", a.code))
		}
		return s.change(ctx, n, "a Thing whose record has "+c.String())
	}}, err
}
