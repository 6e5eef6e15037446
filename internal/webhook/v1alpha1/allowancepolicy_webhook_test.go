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

package v1alpha1

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/discovery"
	"kausality.io/operator/internal/policy"
)

// serves are the resources of an API server.
type serves []discovery.Resource

func (s serves) Serves(_ context.Context, gv schema.GroupVersion) ([]discovery.Resource, error) {
	return slices.DeleteFunc(slices.Clone(s), func(r discovery.Resource) bool { return r.GVR.GroupVersion() != gv }), nil
}

func (s serves) Everything(context.Context) ([]discovery.Resource, error) { return s, nil }

// asked notes the group versions that are asked about.
type asked struct {
	serves
	about map[schema.GroupVersion]bool
}

func (a asked) Serves(ctx context.Context, gv schema.GroupVersion) ([]discovery.Resource, error) {
	a.about[gv] = true
	return a.serves.Serves(ctx, gv)
}

// TestServedIsAskedOfWhatIsNamed has targets that are outside the cluster asked about nowhere: they name no
// version, without which the API server is not asked but says that there is an error.
func TestServedIsAskedOfWhatIsNamed(t *testing.T) {
	v := validator()
	serving := asked{about: map[schema.GroupVersion]bool{}}
	serving.serves, _ = v.Serving.(serves)
	v.Serving = serving
	p := parse(t, `
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  `+initiator+`
  deleting:
    policies:
    - {target: {external: {provider: aws}}, relation: External, verbs: [Delete]}
  rules:
  - trigger: spec.replicas
    policies:
    - {target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create]}
    - {target: {external: {provider: aws}}, relation: External, verbs: [Update]}`)
	if _, err := v.ValidateCreate(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	want := map[schema.GroupVersion]bool{{Group: "apps", Version: "v1"}: true, {Version: "v1"}: true}
	if diff := cmp.Diff(want, serving.about); diff != "" {
		t.Errorf("asked about (-want +got):\n%s", diff)
	}
}

// servedKinds returns those of kinds, whose resources are called after them.
func servedKinds(namespaced bool, kinds ...schema.GroupVersionKind) serves {
	out := make(serves, 0, len(kinds))
	for _, gvk := range kinds {
		plural, singular := apimeta.UnsafeGuessKindToResource(gvk)
		out = append(out, discovery.Resource{GVR: plural, GVK: gvk, Names: []string{singular.Resource}, Namespaced: namespaced})
	}
	return out
}

func validator() *AllowancePolicyValidator {
	served := servedKinds(true, []schema.GroupVersionKind{
		{Group: "apps", Version: "v1", Kind: "Deployment"},
		{Group: "apps", Version: "v1", Kind: "ReplicaSet"},
		{Group: "batch", Version: "v1", Kind: "Job"},
		{Version: "v1", Kind: "Pod"},
		{Version: "v1", Kind: "Secret"},
		{Version: "v1", Kind: "Service"},
		{Version: "v1", Kind: "Binding"},
	}...)
	served[0].Names = append(served[0].Names, "deploy")
	served[len(served)-1].Unwatchable = true
	return &AllowancePolicyValidator{
		Serving: append(served, servedKinds(false, schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolume"})...), Schemas: noSchemas{},
	}
}

// upgradeMapper knows what the tests of UpgradeAllowances name.
func upgradeMapper() apimeta.RESTMapper {
	mapper := apimeta.NewDefaultRESTMapper(nil)
	for _, kind := range []schema.GroupVersionKind{
		{Group: "apps", Version: "v1", Kind: "Deployment"},
		{Group: "apps", Version: "v1", Kind: "ReplicaSet"},
		{Version: "v1", Kind: "Pod"},
	} {
		mapper.Add(kind, apimeta.RESTScopeNamespace)
	}
	return mapper
}

// noSchemas are those of an API server that cannot be asked.
type noSchemas struct{}

func (noSchemas) Schemas(context.Context, ...schema.GroupVersionKind) (map[schema.GroupVersionKind]*discovery.Schema, error) {
	return nil, errors.New("the API server is away")
}

func parse(tb testing.TB, text string) *v1alpha1.AllowancePolicy {
	tb.Helper()
	var p v1alpha1.AllowancePolicy
	if err := yaml.UnmarshalStrict([]byte(text), &p); err != nil {
		tb.Fatalf("reading the policy: %v", err)
	}
	p.Name = "test"
	return &p
}

const (
	initiator = "subjects: [{kind: Group, name: platform-team, mayInitiate: true}]"
	nobody    = "no subject has mayInitiate: the policy takes effect only for a ReplicaSet whose own parent has " +
		"a policy in effect that names it as a target"
	unhealed = "Pods are bounded and spec.maintaining does not allow to create them: " +
		"replacing one that was evicted or lost will be denied"
)

// statusMutations returns warnings of mutations that are about the status.
func statusMutations(from, to int) admission.Warnings {
	var out admission.Warnings
	for i := from; i <= to; i++ {
		out = append(out, fmt.Sprintf("spec.rules[0].policies[0].mutations[%d].jsonPath: "+
			"no change of status counts, so that none needs to be allowed; it never matches", i))
	}
	return out
}

func TestWarnings(t *testing.T) {
	tests := map[string]struct {
		policy string
		want   admission.Warnings
	}{
		"nothing to say": {
			policy: `spec: {for: {apiGroup: apps, apiVersion: v1, kind: Deployment}, ` + initiator + `}`,
		},
		"nobody may initiate": {
			policy: `spec: {for: {apiGroup: apps, apiVersion: v1, kind: ReplicaSet}}`,
			want:   admission.Warnings{nobody},
		},
		"parent kind not served": {
			policy: `spec: {for: {apiGroup: example.com, apiVersion: v1, kind: Widget}, ` + initiator + `}`,
			want:   admission.Warnings{"spec.for: Widget in example.com/v1 is not served; the policy waits until it is"},
		},
		"parent version not served": {
			policy: `spec: {for: {apiGroup: apps, apiVersion: v2, kind: Deployment}, ` + initiator + `}`,
			want:   admission.Warnings{"spec.for: Deployment in apps/v2 is not served; the policy waits until it is; did you mean kind Deployment in apps/v1?"},
		},
		"parent kind in lower case": {
			policy: `spec: {for: {apiGroup: apps, apiVersion: v1, kind: deployment}, ` + initiator + `}`,
			want:   admission.Warnings{"spec.for: deployment in apps/v1 is not served; the policy waits until it is; did you mean kind Deployment in apps/v1?"},
		},
		"parent kind that cannot be listed": {
			policy: `spec: {for: {apiVersion: v1, kind: Binding}, ` + initiator + `}`,
			want: admission.Warnings{"spec.for: Binding in v1 cannot be listed and watched, so that nothing can be known of its objects: " +
				"none of the policy is enforced"},
		},
		"target by short name and without its group": {
			policy: `
spec:
  for: {apiGroup: batch, apiVersion: v1, kind: Job}
  ` + initiator + `
  deleting: {policies: [{target: {apiVersion: v1, resource: deploy}, relation: ControllerChild}]}`,
			want: admission.Warnings{"target resource deploy in v1 is not served; it is not bounded until it is; did you mean resource deployments in apps/v1?"},
		},
		"target not served, once": {
			policy: `
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  ` + initiator + `
  deleting:
    policies:
    - {target: {apiGroup: example.com, apiVersion: v1, resource: widgets}, relation: ControllerChild}
    - {target: {apiVersion: v1, resource: service}, relation: ControllerChild}
    - {target: {external: {provider: aws}}, relation: External, verbs: [Delete]}
  rules:
  - trigger: spec
    policies:
    - {target: {apiGroup: example.com, apiVersion: v1, resource: widgets}, relation: ControllerChild}`,
			want: admission.Warnings{
				"target resource widgets in example.com/v1 is not served; it is not bounded until it is",
				"target resource service in v1 is not served; it is not bounded until it is; did you mean resource services in v1?",
			},
		},
		"words that no system outside knows": {
			policy: `
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  ` + initiator + `
  deleting:
    policies:
    - {target: {external: {provider: aws, region: eu}}, relation: External, verbs: [Delete, destroy]}
    - {target: {external: {provider: aws, region: us}}, relation: External, verbs: ["*"]}`,
			want: admission.Warnings{
				`no system knows the key "region" of target.external, so that the entry is about nothing; there are apiGroup, kind, name, provider, resource`,
				`no system knows the verb "destroy" of relation External, so that it allows nothing; there are Create, Delete, Update`,
			},
		},
		"children that cannot be owned, and some more": {
			policy: `
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  ` + initiator + `
  rules:
  - trigger: spec
    policies:
    - target: {apiVersion: v1, resource: persistentvolumes}
      relation: ControllerChild
      mutations: [{jsonPath: kind}` + strings.Repeat(", {jsonPath: status.conditions}", 9) + `]`,
			want: slices.Concat(
				admission.Warnings{
					"spec.rules[0].policies[0].target: PersistentVolume objects are in no namespace, so that a Deployment, which is in one, cannot own them; it never matches",
					"spec.rules[0].policies[0].mutations[0].jsonPath: no change of kind counts, so that none needs to be allowed; it never matches",
				},
				statusMutations(1, 6),
				admission.Warnings{
					"3 more parts of the policy never match",
					"spec.maintaining: it does not name PersistentVolume, which rules do: what its controller does to one without a change of the Deployment " +
						"will be denied: what was deleted does not come back, and what changes by time or by other objects stays as it is",
				},
			),
		},
		"no healing": {
			policy: `
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: ReplicaSet}
  ` + initiator + `
  maintaining:
    policies: [{target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Delete]}]`,
			want: admission.Warnings{unhealed},
		},
		"healing": {
			policy: `
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: ReplicaSet}
  ` + initiator + `
  maintaining:
    policies: [{target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create]}]
  rules:
  - trigger: spec.replicas
    policies: [{target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create, Delete]}]`,
		},
		"Pods wait everywhere": {
			policy: `
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: ReplicaSet}
  failurePolicy: Fail
  ` + initiator + `
  deleting:
    policies: [{target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Delete]}]`,
			want: admission.Warnings{"spec.failurePolicy: without a namespaceSelector, Pods of every ReplicaSet wait for the operator, " +
				"but those with a system-critical priority class"},
		},
		"Pods wait where they are selected": {
			policy: `
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: ReplicaSet}
  failurePolicy: Fail
  namespaceSelector: {matchLabels: {team: a}}
  ` + initiator + `
  deleting:
    policies: [{target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Delete]}]`,
		},
		"Pods bounded while deleting only": {
			policy: `
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: ReplicaSet}
  ` + initiator + `
  deleting:
    policies: [{target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Delete]}]`,
		},
		"own controller": {
			policy: `
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: ReplicaSet}
  subjects:
  - {kind: ServiceAccount, name: deployment-controller, namespace: kube-system, mayInitiate: true}
  - {kind: ServiceAccount, name: deployment-controller, namespace: default, mayInitiate: true}
  - {kind: ServiceAccount, name: replicaset-controller, namespace: kube-system, mayInitiate: true}`,
			want: admission.Warnings{
				"spec.subjects[0]: deployment-controller writes a ReplicaSet for its parent; " +
					"with mayInitiate, anybody's change of the parent starts a chain here",
			},
		},
		"everybody": {
			policy: `
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  subjects:
  - {kind: Group, name: 'system:authenticated', mayInitiate: true}
  - {kind: Group, name: 'system:serviceaccounts:kube-system', mayInitiate: true}
  - {kind: Group, name: 'system:serviceaccounts'}
  - {kind: User, name: 'system:kube-controller-manager', mayInitiate: true}`,
			want: admission.Warnings{
				"spec.subjects[0]: group system:authenticated includes controllers; with mayInitiate, whatever they do starts a chain",
				"spec.subjects[1]: group system:serviceaccounts:kube-system includes controllers; with mayInitiate, whatever they do starts a chain",
				"spec.subjects[3]: all built-in controllers may act as system:kube-controller-manager; with mayInitiate, whatever they do starts a chain",
			},
		},
		"capturing a secret": {
			policy: `
spec:
  for: {apiVersion: v1, kind: Secret}
  ` + initiator + `
  rules:
  - {trigger: type, capture: ['metadata.annotations[jira]', type]}
  - {trigger: data, capture: ['data[password]', '*']}`,
			want: admission.Warnings{
				"spec.rules[1].capture: data[password] of a Secret would be readable in the annotations of its children",
				"spec.rules[1].capture: * of a Secret would be readable in the annotations of its children",
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := validator().ValidateCreate(t.Context(), parse(t, tc.policy))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			for _, w := range got {
				if len(w) > 256 || strings.Contains(w, "\n") {
					t.Errorf("the API server would cut this warning: %q", w)
				}
			}
		})
	}
}

const broken = `spec: {for: {apiGroup: apps, apiVersion: v1, kind: Deployment}, rules: [{trigger: 'a[', conditions: ['has(object)']}]}`

func TestRefusal(t *testing.T) {
	warnings, err := validator().ValidateCreate(t.Context(), parse(t, broken))
	if len(warnings) > 0 {
		t.Errorf("warnings about what is refused: %v", warnings)
	}
	if !apierrors.IsInvalid(err) {
		t.Fatalf("error = %v, want an Invalid one", err)
	}
	for _, want := range []string{
		`AllowancePolicy.kausality.io "test" is invalid`, "spec.rules[0].trigger", "spec.rules[0].conditions[0]", "has() needs a selection",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
}

func TestUpdate(t *testing.T) {
	before := parse(t, broken)
	relabeled := before.DeepCopy()
	relabeled.Labels = map[string]string{"a": "b"}
	if warnings, err := validator().ValidateUpdate(t.Context(), before, relabeled); err != nil || len(warnings) > 0 {
		t.Errorf("a spec that stays must be let through in silence, got %v, %v", warnings, err)
	}
	changed := before.DeepCopy()
	changed.Spec.FailurePolicy = v1alpha1.FailurePolicyFail
	if _, err := validator().ValidateUpdate(t.Context(), before, changed); !apierrors.IsInvalid(err) {
		t.Errorf("error = %v, want a changed spec to be judged", err)
	}
	fixed := parse(t, `spec: {for: {apiGroup: apps, apiVersion: v1, kind: ReplicaSet}}`)
	warnings, err := validator().ValidateUpdate(t.Context(), before, fixed)
	if diff := cmp.Diff(admission.Warnings{nobody}, warnings); err != nil || diff != "" {
		t.Errorf("error %v, warnings (-want +got):\n%s", err, diff)
	}
	if warnings, err := validator().ValidateDelete(t.Context(), before); err != nil || len(warnings) > 0 {
		t.Errorf("ValidateDelete() = %v, %v; want nothing", warnings, err)
	}
}

// TestSpecificationPolicies accepts each policy of the specification as it is
// printed there.
func TestSpecificationPolicies(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "policy", "testdata", "spec", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no policies of the specification: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := validator().ValidateCreate(t.Context(), parse(t, string(text))); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWarningOfControllers(t *testing.T) {
	v := validator()
	p := parse(t, `
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  - {kind: User, name: deployment-controller}
  maintaining: {}
  rules: [{trigger: spec.template, policies: [{target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild}]}]`)
	for name, tc := range map[string]struct {
		inEffect []*v1alpha1.AllowancePolicy
		want     admission.Warnings
	}{
		"the policy was right before": {
			inEffect: []*v1alpha1.AllowancePolicy{parse(t, `{spec: {for: {apiGroup: apps, apiVersion: v1, kind: Deployment}, subjects: [{kind: ServiceAccount, namespace: kube-system, name: deployment-controller}]}}`)},
			want: admission.Warnings{"spec.subjects: ServiceAccount kube-system/deployment-controller makes the ReplicaSet objects of a Deployment, and is no subject: " +
				"what it does to them will be denied"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			v.InEffect = func() []*policy.Policy {
				var out []*policy.Policy
				for _, other := range tc.inEffect {
					compiled, _ := policy.Compile(other, servedOnce(t.Context(), v.Serving).kindFor)
					out = append(out, compiled)
				}
				return out
			}
			got, err := v.ValidateCreate(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWarningOfUnservedChildren(t *testing.T) {
	p := parse(t, `
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  subjects: [{kind: Group, name: platform-team, mayInitiate: true}]
  maintaining: {}
  knowledge: {children: [{apiGroup: apps, kind: ReplicaSet}, {apiGroup: apps, kind: ReplicaSett}, {kind: ReplicaSet}]}
  rules: [{trigger: spec.template, policies: [{target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild}]}]`)
	v := &AllowancePolicyValidator{Serving: servedKinds(true, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
		schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}), Schemas: noSchemas{}}
	want := admission.Warnings{
		"spec.knowledge.children[1]: ReplicaSett.apps is not served, and no child is of it until it is",
		"spec.knowledge.children[2]: ReplicaSet is not served, and no child is of it until it is",
	}
	if diff := cmp.Diff(want, v.unservedChildren(t.Context(), p)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestWarningOfAnotherVersion(t *testing.T) {
	disk := schema.GroupKind{Group: "example.com", Kind: "Disk"}
	serving := servedKinds(true, disk.WithVersion("v1"), disk.WithVersion("v2"))
	named := func(name, version string) *v1alpha1.AllowancePolicy {
		p := parse(t, `spec: {for: {apiGroup: example.com, apiVersion: `+version+`, kind: Disk}, `+initiator+`}`)
		p.Name = name
		return p
	}
	for name, tc := range map[string]struct {
		inEffect, applied *v1alpha1.AllowancePolicy
		want              admission.Warnings
	}{
		"of the same version": {inEffect: named("a", "v1"), applied: named("b", "v1")},
		"of the same policy":  {inEffect: named("a", "v1"), applied: named("a", "v2")},
		"of another version": {
			inEffect: named("z", "v1"), applied: named("a", "v2"),
			want: admission.Warnings{"Disk.example.com is named in example.com/v2 here, and in example.com/v1 by policy z; none of this policy counts until both name the same version"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := &AllowancePolicyValidator{Serving: serving, Schemas: noSchemas{}, InEffect: func() []*policy.Policy {
				compiled, _ := policy.Compile(tc.inEffect, servedOnce(t.Context(), serving).kindFor)
				return []*policy.Policy{compiled}
			}}
			got, err := v.ValidateCreate(t.Context(), tc.applied)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}
