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

package access

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/discovery"
	"kausality.io/operator/internal/policy"
)

// servedKinds are those that are served.
type servedKinds []discovery.Resource

func (s servedKinds) ByKind(kind schema.GroupVersionKind) (discovery.Resource, bool) {
	for _, r := range s {
		if r.GVK == kind {
			return r, true
		}
	}
	return discovery.Resource{}, false
}

func (s servedKinds) ByResource(resource schema.GroupVersionResource) (discovery.Resource, bool) {
	for _, r := range s {
		if r.GVR == resource {
			return r, true
		}
	}
	return discovery.Resource{}, false
}

func (s servedKinds) kindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
	r, ok := s.ByResource(resource)
	return r.GVK, ok
}

func served(group, kind, resource string, subresources ...string) discovery.Resource {
	gv := schema.GroupVersion{Group: group, Version: "v1"}
	return discovery.Resource{GVK: gv.WithKind(kind), GVR: gv.WithResource(resource), Subresources: subresources}
}

func TestRoleOfAPolicy(t *testing.T) {
	all := servedKinds{
		served("apps", "ReplicaSet", "replicasets", "scale", "status"), served("example.org", "Plain", "plains"),
		served("", "Pod", "pods", "status"), served("", "Secret", "secrets"),
	}
	rule := func(group string, resources []string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
	}
	for name, tc := range map[string]struct {
		group, kind string
		targets     []v1alpha1.Target
		gated       []discovery.Resource
		want        []rbacv1.PolicyRule
	}{
		"a kind with a status, and Pods": {
			group: "apps", kind: "ReplicaSet",
			targets: []v1alpha1.Target{{APIVersion: "v1", Resource: "pods"}},
			want: []rbacv1.PolicyRule{
				rule("", []string{"pods"}, "get", "list"),
				rule("apps", []string{"replicasets"}, "get", "list", "patch", "watch"),
				rule("apps", []string{"replicasets/status"}, "patch"),
			},
		},
		"a kind without one, and what is only named": {
			group: "example.org", kind: "Plain",
			targets: []v1alpha1.Target{{APIVersion: "v1", Resource: "secrets"}, {APIGroup: new("none.example.org"), APIVersion: "v1", Resource: "none"}},
			want: []rbacv1.PolicyRule{
				rule("", []string{"secrets"}, "get"),
				rule("example.org", []string{"plains"}, "get", "list", "patch", "watch"),
			},
		},
		"what has a gate": {
			group: "example.org", kind: "Plain",
			gated: []discovery.Resource{served("example.org", "Gated", "gateds", "status")},
			want: []rbacv1.PolicyRule{
				rule("example.org", []string{"gateds", "plains"}, "get", "list", "patch", "watch"),
				rule("example.org", []string{"gateds/status"}, "patch"),
			},
		},
		"a kind that is not served": {group: "none.example.org", kind: "None", want: []rbacv1.PolicyRule{}},
	} {
		t.Run(name, func(t *testing.T) {
			p := &v1alpha1.AllowancePolicy{}
			p.Spec.For = v1alpha1.ParentKind{APIGroup: tc.group, APIVersion: "v1", Kind: tc.kind}
			p.Spec.Initializing = &v1alpha1.InitializingSection{}
			for _, target := range tc.targets {
				p.Spec.Initializing.Policies = append(p.Spec.Initializing.Policies, v1alpha1.PolicyEntry{
					Target: target, Relation: v1alpha1.RelationControllerChild, Verbs: []string{"Create"},
				})
			}
			compiled, errs := policy.Compile(p, all.kindFor)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			role := ClusterRole("role", Of(compiled, all, tc.gated))
			if diff := cmp.Diff(tc.want, role.Rules); diff != "" {
				t.Errorf("rules (-want +got):\n%s", diff)
			}
			if role.Labels[AggregationLabel] != "true" {
				t.Error("the role is not added to what the operator may")
			}
		})
	}
}

// The role that is installed for workloads is enough for any policy about them: what a policy is about without
// saying so is part of it.
func TestShippedRoleIsEnoughForWorkloads(t *testing.T) {
	text, err := os.ReadFile("../../config/access/workloads/role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var shipped rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict(text, &shipped); err != nil {
		t.Fatal(err)
	}
	all := servedKinds{
		served("apps", "ReplicaSet", "replicasets", "scale", "status"), served("apps", "Deployment", "deployments", "scale", "status"),
		served("apps", "StatefulSet", "statefulsets", "scale", "status"), served("apps", "DaemonSet", "daemonsets", "status"),
		served("apps", "ControllerRevision", "controllerrevisions"), served("batch", "Job", "jobs", "status"),
		served("batch", "CronJob", "cronjobs", "status"), served("", "Pod", "pods", "status"),
	}
	for _, parent := range all {
		for _, child := range all {
			if parent.GVK.Kind == "Pod" || parent.GVK.Kind == "ControllerRevision" {
				continue // They are no parents.
			}
			p := &v1alpha1.AllowancePolicy{}
			p.Spec.For = v1alpha1.ParentKind{APIGroup: parent.GVK.Group, APIVersion: "v1", Kind: parent.GVK.Kind}
			p.Spec.Initializing = &v1alpha1.InitializingSection{Policies: []v1alpha1.PolicyEntry{{
				Target:   v1alpha1.Target{APIGroup: &child.GVR.Group, APIVersion: "v1", Resource: child.GVR.Resource},
				Relation: v1alpha1.RelationControllerChild, Verbs: []string{"Create"},
			}}}
			compiled, errs := policy.Compile(p, all.kindFor)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			for _, need := range Of(compiled, all, nil) {
				if !allows(shipped.Rules, need) {
					t.Errorf("a policy for %s that names %s takes the right to %s, which is not installed", parent.GVK.Kind, child.GVR.Resource, need)
				}
			}
		}
	}
}

// allows reports whether one of the rules gives a right.
func allows(rules []rbacv1.PolicyRule, need Need) bool {
	resource := need.Resource
	if need.Subresource != "" {
		resource += "/" + need.Subresource
	}
	return slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.APIGroups, need.Group) && slices.Contains(r.Resources, resource) && slices.Contains(r.Verbs, need.Verb)
	})
}

// What has been answered is asked again: soon where a right is missing, and later where it is there.
func TestReviewsAskAgain(t *testing.T) {
	allowed, asked, broken := false, 0, false
	c := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, obj client.Object, _ ...client.CreateOption) error {
			review, ok := obj.(*authorizationv1.SelfSubjectAccessReview)
			if !ok {
				t.Fatalf("a %T is created", obj)
			}
			asked++
			review.Status.Allowed = allowed
			if broken {
				return errors.New("broken")
			}
			return nil
		},
	})
	clock := testingclock.NewFakePassiveClock(time.Now())
	r := &Reviews{Client: c, Clock: clock}
	need := Need{Group: "apps", Resource: "deployments", Verb: "get"}
	check := func(wantMissing bool, wantAsked int) {
		t.Helper()
		missing, err := r.Missing(t.Context(), []Need{need})
		if err != nil || (len(missing) > 0) != wantMissing || asked != wantAsked {
			t.Errorf("missing %v after %d questions, error %v; want any missing: %t, after %d", missing, asked, err, wantMissing, wantAsked)
		}
	}
	step := func(d time.Duration) { clock.SetTime(clock.Now().Add(d)) }
	check(true, 1)
	check(true, 1)
	allowed = true
	step(missingFor)
	check(false, 2)
	allowed = false
	step(missingFor)
	check(false, 2)
	step(grantedFor)
	check(true, 3)
	broken = true
	step(missingFor)
	if _, err := r.Missing(t.Context(), []Need{need}); err == nil {
		t.Error("what could not be asked is taken for an answer")
	}
}
