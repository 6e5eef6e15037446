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

package main

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/campaign/generating/model"
)

// template is a policy, with what its triggers are and what it makes.
const template = `
metadata: {name: %s}
spec:
  evaluation: {synchronize: %t, generateExisting: %t, orphanDownstreamOnPolicyDelete: %t}
  matchConstraints:
    namespaceSelector: {matchLabels: {team: "yes"}}
%s
  generate:
  - expression: |-
      generator.ApplyAll(%s)
`

const (
	aboutConfigMaps = `    objectSelector: {matchLabels: {trigger: "yes"}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]`
	aboutNamespaces = `    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [namespaces]}]`
)

// policyOf returns a policy as it is written.
func policyOf(name string, spec model.Spec) (*v1alpha1.GeneratingPolicy, error) {
	configMap := func(namespace, name, data string) string {
		return fmt.Sprintf(`%s, {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': %s}, 'data': {%s}}`, namespace, name, data)
	}
	rev := fmt.Sprintf(`'rev': '%s-%d'`, name, spec.Rev)
	about := aboutConfigMaps
	var wants string
	switch spec.Shape {
	case model.Beside:
		wants = configMap("object.metadata.namespace", fmt.Sprintf("'%s-' + object.metadata.name", name), rev+`, 'value': object.data.value`)
	case model.Central:
		wants = configMap("'"+model.Targets+"'", "'for-' + object.metadata.namespace + '-' + object.metadata.name", rev+`, 'value': object.data.value`)
	case model.Shared:
		wants = configMap("'"+model.Targets+"'", "'"+model.SharedName(spec.Index)+"'", rev)
	case model.Clone:
		about = aboutNamespaces
		wants = fmt.Sprintf(`object.metadata.name, resource.Get('%s', 'seeds', '%s', '%s')`, apiVersionOf(model.Seed), model.Sources, model.SourceName(spec.Index))
	default:
		about = aboutNamespaces
		wants = fmt.Sprintf(`object.metadata.name, resource.List('%s', 'seeds', '%s')`, apiVersionOf(model.Seed), model.Sources)
	}
	text := fmt.Sprintf(template, name, spec.Synchronize, spec.GenerateExisting, spec.Orphan, about, wants)
	p := &v1alpha1.GeneratingPolicy{}
	return p, yaml.UnmarshalStrict([]byte(text), p)
}

// untilAccepted waits until nothing is missed any more of what a policy is about.
func (s *stage) untilAccepted(ctx context.Context, p *v1alpha1.GeneratingPolicy) error {
	err := wait.PollUntilContextTimeout(ctx, poll/4, patience, true, func(ctx context.Context) (bool, error) {
		if err := s.attend(ctx); err != nil {
			return false, err
		}
		is := &v1alpha1.GeneratingPolicy{}
		if err := s.admin.Get(ctx, client.ObjectKeyFromObject(p), is); err != nil {
			return false, err
		}
		c := apimeta.FindStatusCondition(is.Status.Conditions, v1alpha1.ConditionAccepted)
		return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration >= p.Generation, nil
	})
	if err != nil {
		return fmt.Errorf("GeneratingPolicy %s is not accepted: %w", p.Name, err)
	}
	return nil
}

// finish waits until policies that were deleted are gone, where nothing keeps them.
func (s *stage) finish(ctx context.Context) error {
	long := patience
	if len(s.model.MayNotWrite) > 0 {
		long = settled
	}
	for _, name := range s.model.Ending() {
		err := wait.PollUntilContextTimeout(ctx, poll/4, long, true, func(ctx context.Context) (bool, error) {
			if err := s.attend(ctx); err != nil {
				return false, err
			}
			err := s.admin.Get(ctx, client.ObjectKey{Name: name}, &v1alpha1.GeneratingPolicy{})
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		})
		switch {
		case err == nil:
			s.model.Finished(name)
		case wait.Interrupted(err) && ctx.Err() == nil && len(s.model.MayNotWrite) > 0:
			// It waits for a right to delete.
		default:
			return fmt.Errorf("GeneratingPolicy %s was deleted, and stays: %w", name, err)
		}
	}
	return nil
}
