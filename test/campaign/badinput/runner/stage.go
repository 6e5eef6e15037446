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
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
)

// policyText is a policy with every field of a spec.
//
//go:embed policy.yaml
var policyText string

const (
	policiesPath = "/apis/kausality.io/v1alpha1/allowancepolicies"
	// everything is a group of people who may do all that RBAC knows of.
	everything = "system:masters"
	// initiators are the group of those who may initiate under the sample policies.
	initiators = "platform-team"
	// poll is how often something is looked at that takes a while, and patience for how
	// long.
	poll     = 50 * time.Millisecond
	patience = time.Minute
)

// stage has the clients and objects of a run.
type stage struct {
	*Runner

	report Report
	// admin may do everything, alice may initiate as well, and mallory may not. What the
	// operator may write they may not.
	admin, alice, mallory, operator *requester
	// policy is one with every field.
	policy map[string]any
	// replicaSet is the path of that of the Deployment.
	replicaSet string
}

func (s *stage) policyName() string { return "living." + s.Group }
func (s *stage) policyPath() string { return policiesPath + "/" + s.policyName() }
func (s *stage) things() string {
	return fmt.Sprintf("/apis/%s/v1/namespaces/%s/things", s.Group, s.Namespace)
}

func (s *stage) managed() string {
	return fmt.Sprintf("/apis/managed.%s/v1/namespaces/%s/things", s.Group, s.Namespace)
}

// unheeded returns a path of Things that no policy is about: requests for them go past Kausality.
func (s *stage) unheeded() string {
	return fmt.Sprintf("/apis/unheeded.%s/v1/namespaces/%s/things", s.Group, s.Namespace)
}

func (s *stage) apps(resource string) string {
	return fmt.Sprintf("/apis/apps/v1/namespaces/%s/%s", s.Namespace, resource)
}

// set makes the clients and objects that a run needs.
func (r *Runner) set(ctx context.Context) (*stage, error) {
	s := &stage{Runner: r}
	for _, who := range []struct {
		is     **requester
		name   string
		groups []string
	}{
		{&s.admin, "", nil},
		{&s.alice, "alice", []string{initiators, everything}},
		{&s.mallory, "mallory", []string{everything}},
		{&s.operator, r.Operator, []string{everything}},
	} {
		var err error
		if *who.is, err = newRequester(r.Admin, who.name, who.groups...); err != nil {
			return nil, err
		}
	}
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(policyText, "GROUP", s.Group)), &s.policy); err != nil {
		return nil, err
	}
	if err := s.define(ctx); err != nil {
		return nil, err
	}
	living := inName(s.policy, s.policyName())
	if _, err := s.admin.insist(ctx, http.MethodPost, policiesPath, asJSON, living); err != nil {
		return nil, err
	}
	if err := s.untilEnforced(ctx); err != nil {
		return nil, err
	}
	if err := s.furnish(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// define defines the kinds, and returns when they are served.
func (s *stage) define(ctx context.Context) error {
	managed := builders.ThingDefinition("managed." + s.Group)
	managed.Spec.Names.Categories = []string{"managed"}
	unheeded := builders.ThingDefinition("unheeded." + s.Group)
	for _, definition := range []*apiextensionsv1.CustomResourceDefinition{builders.ThingDefinition(s.Group), managed, unheeded} {
		definition.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
		path := "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
		if _, err := s.admin.insist(ctx, http.MethodPost, path, asJSON, definition); err != nil {
			return err
		}
	}
	for _, path := range []string{s.things(), s.managed(), s.unheeded()} {
		if err := s.until(ctx, func(ctx context.Context) error {
			_, err := s.admin.insist(ctx, http.MethodGet, path, asJSON, nil)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// furnish makes the objects.
func (s *stage) furnish(ctx context.Context) error {
	thing := s.thing("holder")
	a, err := s.alice.insist(ctx, http.MethodPost, s.things(), asJSON, thing)
	if err != nil {
		return err
	}
	owner := &unstructured.Unstructured{}
	if err := owner.UnmarshalJSON(a.body); err != nil {
		return err
	}
	managed := builders.MakeThing("managed."+s.Group, s.Namespace, "managed")
	managed.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(owner, owner.GroupVersionKind())})
	managed.Object["spec"] = contents()
	// It is the child of a Thing that is new.
	if err := s.until(ctx, func(ctx context.Context) error {
		_, err := s.alice.insist(ctx, http.MethodPost, s.managed(), asJSON, managed)
		return err
	}); err != nil {
		return err
	}
	if _, err := s.alice.insist(ctx, http.MethodPost, s.things(), asJSON, s.thing("recorded")); err != nil {
		return err
	}
	deployment := builders.MakeDeployment(s.Namespace, "web").Replicas(1).Image("web:0").Obj()
	deployment.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	if _, err := s.alice.insist(ctx, http.MethodPost, s.apps("deployments"), asJSON, deployment); err != nil {
		return err
	}
	return s.until(ctx, func(ctx context.Context) error {
		a, err := s.admin.insist(ctx, http.MethodGet, s.apps("replicasets"), asJSON, nil)
		if err != nil {
			return err
		}
		var sets appsv1.ReplicaSetList
		if err := json.Unmarshal(a.body, &sets); err != nil {
			return err
		}
		if len(sets.Items) == 0 {
			return errors.New("the Deployment has no ReplicaSet")
		}
		s.replicaSet = s.apps("replicasets") + "/" + sets.Items[0].Name
		return s.rolledOut(ctx)
	})
}

// contents returns what a Thing is about.
func contents() map[string]any {
	return map[string]any{"config": "aaaaaaaaaaaaaaaaaaaaaaaaaaaa", "items": []any{map[string]any{"name": "one"}}}
}

// thing returns a Thing.
func (s *stage) thing(name string) *unstructured.Unstructured {
	thing := builders.MakeThing(s.Group, s.Namespace, name)
	thing.Object["spec"] = contents()
	return thing
}

// inName returns a policy under another name.
func inName(policy map[string]any, name string) map[string]any {
	out := maps.Clone(policy)
	out["metadata"] = map[string]any{"name": name}
	return out
}

// until tries something until it works.
func (s *stage) until(ctx context.Context, try func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		err := try(ctx)
		if err == nil || ctx.Err() == nil {
			last = err
		}
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%w: %w", err, last)
	}
	return nil
}

// untilEnforced waits until the policy is in effect as it is.
func (s *stage) untilEnforced(ctx context.Context) error {
	return s.until(ctx, func(ctx context.Context) error {
		a, err := s.admin.insist(ctx, http.MethodGet, s.policyPath(), asJSON, nil)
		if err != nil {
			return err
		}
		live := &v1alpha1.AllowancePolicy{}
		if err := json.Unmarshal(a.body, live); err != nil {
			return err
		}
		enforced := apimeta.FindStatusCondition(live.Status.Conditions, v1alpha1.ConditionEnforced)
		if enforced == nil || enforced.Status != metav1.ConditionTrue || enforced.ObservedGeneration != live.Generation {
			return fmt.Errorf("AllowancePolicy %s is not enforced", live.Name)
		}
		return nil
	})
}

// remove takes away what reaches beyond the namespace: the policy, and the kinds.
func (s *stage) remove(ctx context.Context) error {
	definitions := "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things."
	var errs []error
	for _, path := range []string{s.policyPath(), definitions + "managed." + s.Group, definitions + "unheeded." + s.Group, definitions + s.Group} {
		_, err := s.admin.insist(ctx, http.MethodDelete, path, asJSON, nil)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
