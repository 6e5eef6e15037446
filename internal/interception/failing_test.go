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

package interception

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/policy"
)

// failing returns a policy with failurePolicy Fail.
func failing(t *testing.T, spec v1alpha1.AllowancePolicySpec, namespaces, objects *metav1.LabelSelector) *policy.Policy {
	t.Helper()
	spec.FailurePolicy = v1alpha1.FailurePolicyFail
	spec.NamespaceSelector, spec.ObjectSelector = namespaces, objects
	return compile(t, spec)
}

// byLabels has the children of a policy's objects name them by labels.
func byLabels(t *testing.T, p *policy.Policy) *policy.Policy {
	t.Helper()
	p.Categorize(func(schema.GroupKind) []string { return []string{"kro.run/owned"} })
	return p
}

func labeled(kv ...string) *metav1.LabelSelector {
	set := map[string]string{}
	for i := 0; i < len(kv); i += 2 {
		set[kv[i]] = kv[i+1]
	}
	return &metav1.LabelSelector{MatchLabels: set}
}

// asked has a line for each webhook that gives a verdict: what it is called, the policy,
// the resources, and the namespaces.
func asked(d Desired) []string {
	var lines []string
	for _, w := range d.Validating.Webhooks {
		if isDeputy(w.Name) {
			continue // They have tests of their own.
		}
		var resources, namespaces []string
		for _, rule := range w.Rules {
			for _, resource := range rule.Resources {
				if !strings.Contains(resource, "/") {
					resources = append(resources, resource)
				}
			}
		}
		for _, e := range w.NamespaceSelector.MatchExpressions {
			if e.Key == corev1.LabelMetadataName {
				e.Key = "name"
			}
			namespaces = append(namespaces, strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Key, e.Operator, strings.Join(e.Values, ","))))
		}
		lines = append(lines, fmt.Sprintf("%s %s %s: %s", strings.TrimSuffix(w.Name, ".kausality.io"), *w.FailurePolicy,
			strings.Join(resources, ","), strings.Join(namespaces, "; ")))
	}
	return lines
}

func TestFailsWhereItIsSelected(t *testing.T) {
	maps := specFor("apps/v1/Deployment", "/v1/configmaps")
	cases := map[string]struct {
		policies   []*policy.Policy
		kubeSystem bool
		want       []string
	}{
		"all namespaces": {
			policies: []*policy.Policy{failing(t, specFor("/v1/ConfigMap"), nil, nil)},
			want:     []string{"verdict-fail Fail configmaps: name NotIn kausality-system,kube-system"},
		},
		"all namespaces, and another policy asks for kube-system": {
			policies:   []*policy.Policy{failing(t, specFor("/v1/ConfigMap"), nil, nil)},
			kubeSystem: true,
			want: []string{
				"verdict-fail Fail configmaps: name NotIn kausality-system,kube-system",
				"verdict-elsewhere Ignore configmaps: name In kube-system",
			},
		},
		"all without a label, kube-system among them": {
			policies: []*policy.Policy{failing(t, specFor("/v1/ConfigMap"), &metav1.LabelSelector{
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: metav1.LabelSelectorOpDoesNotExist}},
			}, nil)},
			kubeSystem: true,
			want: []string{
				"verdict-fail Fail configmaps: name NotIn kausality-system,kube-system; team DoesNotExist",
				"verdict-elsewhere Ignore configmaps: name In kube-system",
				"verdict-elsewhere-2 Ignore configmaps: name NotIn kausality-system,kube-system; team Exists",
			},
		},
		"kube-system by name": {
			policies:   []*policy.Policy{failing(t, specFor("/v1/ConfigMap"), labeled(corev1.LabelMetadataName, "kube-system"), nil)},
			kubeSystem: true,
			want: []string{
				"verdict-fail Fail configmaps: name In kube-system",
				"verdict-elsewhere Ignore configmaps: name NotIn kausality-system,kube-system",
			},
		},
		"some": {
			policies: []*policy.Policy{failing(t, specFor("/v1/ConfigMap"), labeled("team", "a"), nil)},
			want: []string{
				"verdict-fail Fail configmaps: name NotIn kausality-system,kube-system; team In a",
				"verdict-elsewhere Ignore configmaps: name NotIn kausality-system,kube-system; team NotIn a",
			},
		},
		"several policies": {
			policies: []*policy.Policy{
				failing(t, maps, labeled("team", "a", "env", "prod"), nil),
				failing(t, specFor("/v1/ConfigMap"), labeled("tier", "gold"), nil),
			},
			want: []string{
				"verdict-fail Fail deployments: env In prod; name NotIn kausality-system,kube-system; team In a",
				"verdict-spared Ignore deployments: env In prod; name NotIn kausality-system,kube-system; team In a",
				"verdict-elsewhere Ignore deployments: env In prod; name NotIn kausality-system,kube-system; team NotIn a",
				"verdict-elsewhere-2 Ignore deployments: env NotIn prod; name NotIn kausality-system,kube-system",
				"verdict-fail-2 Fail configmaps: env In prod; name NotIn kausality-system,kube-system; team In a",
				"verdict-fail-3 Fail configmaps: env In prod; name NotIn kausality-system,kube-system; team NotIn a; tier In gold",
				"verdict-fail-4 Fail configmaps: env NotIn prod; name NotIn kausality-system,kube-system; tier In gold",
				"verdict-elsewhere-3 Ignore configmaps: env In prod; name NotIn kausality-system,kube-system; team NotIn a; tier NotIn gold",
				"verdict-elsewhere-4 Ignore configmaps: env NotIn prod; name NotIn kausality-system,kube-system; tier NotIn gold",
			},
		},
		"one of several for all": {
			policies: []*policy.Policy{
				failing(t, specFor("/v1/ConfigMap"), labeled("team", "a"), nil),
				failing(t, maps, nil, nil),
			},
			want: []string{
				"verdict-fail Fail deployments: name NotIn kausality-system,kube-system",
				"verdict-spared Ignore deployments: name NotIn kausality-system,kube-system",
				"verdict-fail-2 Fail configmaps: name NotIn kausality-system,kube-system",
			},
		},
		"what is in no namespace, and its children in any": {
			policies: []*policy.Policy{failing(t, specFor("example.org/v1/Thing", "/v1/configmaps"), labeled("team", "a"), nil)},
			want:     []string{"verdict-fail Fail configmaps,things: name NotIn kausality-system,kube-system"},
		},
		"Pods of some parents here, and of others there": {
			policies: []*policy.Policy{
				failing(t, specFor("apps/v1/ReplicaSet", "/v1/pods"), labeled("team", "a"), nil),
				failing(t, specFor("apps/v1/StatefulSet", "/v1/pods"), nil, nil),
				failing(t, specFor("apps/v1/Deployment", "/v1/pods"), labeled("team", "a"), nil),
			},
			want: []string{
				"verdict-fail Fail controllerrevisions,statefulsets: name NotIn kausality-system,kube-system",
				"verdict-spared Ignore controllerrevisions,statefulsets: name NotIn kausality-system,kube-system",
				"verdict-fail-2 Fail deployments,replicasets: name NotIn kausality-system,kube-system; team In a",
				"verdict-spared-2 Ignore deployments,replicasets: name NotIn kausality-system,kube-system; team In a",
				"verdict-elsewhere Ignore deployments,replicasets: name NotIn kausality-system,kube-system; team NotIn a",
				"verdict-fail-3 Fail pods: name NotIn kausality-system,kube-system; team In a",
				"verdict-spared-3 Ignore pods: name NotIn kausality-system,kube-system; team In a",
				"verdict-fail-4 Fail pods: name NotIn kausality-system,kube-system; team NotIn a",
				"verdict-spared-4 Ignore pods: name NotIn kausality-system,kube-system; team NotIn a",
			},
		},
		"nobody, as the selector is not valid": {
			policies: []*policy.Policy{broken(t, specFor("/v1/ConfigMap"))},
			want:     []string{"verdict Ignore configmaps: name NotIn kausality-system,kube-system"},
		},
		"others do not": {
			policies: []*policy.Policy{
				failing(t, specFor("apps/v1/StatefulSet"), labeled("team", "a"), nil),
				forKind(t, "/v1/ConfigMap"),
			},
			want: []string{
				"verdict Ignore configmaps: name NotIn kausality-system,kube-system",
				"verdict-fail Fail statefulsets: name NotIn kausality-system,kube-system; team In a",
				"verdict-spared Ignore statefulsets: name NotIn kausality-system,kube-system; team In a",
				"verdict-elsewhere Ignore statefulsets: name NotIn kausality-system,kube-system; team NotIn a",
			},
		},
		// Their children are anywhere, and nothing owns them.
		"children that name their parent by labels": {
			policies: []*policy.Policy{byLabels(t, failing(t, specFor("apps/v1/ReplicaSet", "/v1/pods"), labeled("team", "a"), nil))},
			want: []string{
				"verdict-fail Fail pods: name NotIn kausality-system,kube-system",
				"verdict-spared Ignore pods: name NotIn kausality-system,kube-system",
				"verdict-fail-2 Fail replicasets: name NotIn kausality-system,kube-system; team In a",
				"verdict-spared-2 Ignore replicasets: name NotIn kausality-system,kube-system; team In a",
				"verdict-elsewhere Ignore replicasets: name NotIn kausality-system,kube-system; team NotIn a",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := inputOf(tc.policies...)
			in.KubeSystem = tc.kubeSystem
			if diff := cmp.Diff(tc.want, asked(Render(in))); diff != "" {
				t.Errorf("webhooks (-want +got):\n%s", diff)
			}
		})
	}
}

// broken returns a policy with failurePolicy Fail whose namespaceSelector is not valid.
func broken(t *testing.T, spec v1alpha1.AllowancePolicySpec) *policy.Policy {
	t.Helper()
	spec.FailurePolicy = v1alpha1.FailurePolicyFail
	spec.NamespaceSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: "Sometimes"}}}
	compiled, errs := policy.Compile(&v1alpha1.AllowancePolicy{Spec: spec}, nil)
	if len(errs) == 0 {
		t.Fatal("the selector is valid")
	}
	return compiled
}

// TestWaits asks which requests for what a policy with Fail names are refused while nobody
// answers. Exactly one of the two webhooks is called for each.
func TestWaits(t *testing.T) {
	const critical, other = "system-node-critical", "important"
	all := []*policy.Policy{
		failing(t, specFor("apps/v1/ReplicaSet", "/v1/pods"), nil, nil),
		failing(t, specFor("apps/v1/StatefulSet", "/v1/pods"), nil, nil),
		failing(t, specFor("apps/v1/Deployment"), nil, labeled("app", "x")),
	}
	podKind, revisionKind := corev1.SchemeGroupVersion.WithKind("Pod"), appsv1.SchemeGroupVersion.WithKind("ControllerRevision")
	setKind := appsv1.SchemeGroupVersion.WithKind("ReplicaSet")
	pod := func(priority string, owners ...string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "name"}, Spec: corev1.PodSpec{PriorityClassName: priority}}
		for _, owner := range owners {
			apiVersion, kind, _ := strings.Cut(owner, " ")
			p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: "n", UID: "u"})
		}
		return p
	}
	manyOf := func(n int, owner string) []string {
		var out []string
		for range n {
			out = append(out, owner)
		}
		return out
	}
	set := func(priority string) *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{PriorityClassName: priority}}}}
	}
	revision := func(data string) *appsv1.ControllerRevision {
		return &appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: []byte(data)}}
	}
	relabeled := func(labels map[string]string) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) { d.Labels = maps.Clone(labels) }
	}
	const replicaSet, agent = "apps/v1 ReplicaSet", "apps/v1 DaemonSet"
	of := func(kind schema.GroupVersionKind, operation admission.Operation, object, old runtime.Object, subresource ...string) request {
		r := request{kind: kind, operation: operation, object: object, old: old}
		if len(subresource) > 0 {
			r.subresource = subresource[0]
		}
		return r
	}
	cases := map[string]struct {
		request
		waits bool
	}{
		"a Pod of a ReplicaSet":                     {of(podKind, admission.Create, pod("", replicaSet), nil), true},
		"a Pod of a StatefulSet":                    {of(podKind, admission.Create, pod(other, "apps/v1 StatefulSet"), nil), true},
		"a Pod of a ReplicaSet, in another version": {of(podKind, admission.Create, pod("", "apps/v1beta1 ReplicaSet"), nil), true},
		"a Pod of a DaemonSet":                      {of(podKind, admission.Create, pod("", agent), nil), false},
		"a Pod of a kind of that name":              {of(podKind, admission.Create, pod("", "example.org/v1 ReplicaSet"), nil), false},
		"a Pod of a core kind of that name":         {of(podKind, admission.Create, pod("", "v1 ReplicaSet"), nil), false},
		"a Pod of several":                          {of(podKind, admission.Create, pod("", agent, replicaSet), nil), true},
		"a Pod of nobody":                           {of(podKind, admission.Create, pod(""), nil), false},
		"a Pod of very many":                        {of(podKind, admission.Create, pod("", manyOf(manyOwners+1, agent)...), nil), true},
		"a Pod that is given to a ReplicaSet":       {of(podKind, admission.Update, pod("", replicaSet), pod("")), true},
		"a Pod that is taken from a ReplicaSet":     {of(podKind, admission.Update, pod(""), pod("", replicaSet)), true},
		"deleting a Pod of a ReplicaSet":            {of(podKind, admission.Delete, nil, pod("", replicaSet)), true},
		"deleting a Pod of a DaemonSet":             {of(podKind, admission.Delete, nil, pod("", agent)), false},
		"a critical Pod of a ReplicaSet":            {of(podKind, admission.Create, pod(critical, replicaSet), nil), false},
		"a cluster-critical Pod of a ReplicaSet":    {of(podKind, admission.Create, pod("system-cluster-critical", replicaSet), nil), false},
		"deleting a critical Pod":                   {of(podKind, admission.Delete, nil, pod(critical, replicaSet)), false},
		"a Pod that becomes critical":               {of(podKind, admission.Update, pod(critical, replicaSet), pod("", replicaSet)), true},
		"a Pod that is critical no more":            {of(podKind, admission.Update, pod("", replicaSet), pod(critical, replicaSet)), true},
		"the status of a critical Pod":              {of(podKind, admission.Update, pod(critical, replicaSet), pod(critical, replicaSet), "status"), false},
		"evicting a Pod":                            {of(podKind, admission.Create, &policyv1.Eviction{}, nil, "eviction"), true},
		"a ReplicaSet":                              {of(setKind, admission.Create, set(""), nil), true},
		"a critical ReplicaSet":                     {of(setKind, admission.Create, set(critical), nil), false},
		"a ReplicaSet that becomes critical":        {of(setKind, admission.Update, set(critical), set("")), true},
		"a critical revision":                       {of(revisionKind, admission.Create, revision(`{"spec":{"template":{"spec":{"priorityClassName":"system-node-critical"}}}}`), nil), false},
		"a revision":                                {of(revisionKind, admission.Create, revision(`{"spec":{"template":{"spec":{}}}}`), nil), true},
		"a revision with anything in it":            {of(revisionKind, admission.Create, revision(`{"spec":["template"]}`), nil), true},
		"a revision with a text":                    {of(revisionKind, admission.Create, revision(`"spec"`), nil), true},
		"a revision with nothing":                   {of(revisionKind, admission.Create, revision(`null`), nil), true},
		"a Deployment that is selected":             {request{operation: admission.Create, object: deployment()}, true},
		"a Deployment that is not":                  {request{operation: admission.Create, object: deployment(relabeled(nil))}, false},
		"a Deployment that is not any more":         {request{operation: admission.Update, object: deployment(relabeled(nil)), old: deployment()}, true},
		"a Deployment that is from now on":          {request{operation: admission.Update, object: deployment(), old: deployment(relabeled(nil))}, true},
		"a Deployment with another label":           {request{operation: admission.Create, object: deployment(relabeled(map[string]string{"app": "y"}))}, false},
		"scaling a Deployment":                      {request{operation: admission.Update, object: deployment(relabeled(nil)), old: deployment(relabeled(nil)), subresource: "scale"}, true},
	}
	var waits, passes []admissionregistrationv1.MatchCondition
	for _, w := range Render(inputOf(all...)).Validating.Webhooks {
		switch {
		case w.Name == "verdict-fail.kausality.io":
			waits = w.MatchConditions[:1]
		case w.Name == "verdict-spared.kausality.io":
			passes = w.MatchConditions[:1]
		case isDeputy(w.Name): // They only wait where policies select.
		default:
			t.Fatalf("another webhook %s", w.Name)
		}
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, converted := range []bool{false, true} {
				attributes := tc.attributes(t, converted)
				if got := called(t, waits, attributes); got != tc.waits {
					t.Errorf("it waits: %v, want %v (converted: %v)", got, tc.waits, converted)
				}
				if got := called(t, passes, attributes); got == tc.waits {
					t.Errorf("it does not wait: %v, want %v (converted: %v)", got, !tc.waits, converted)
				}
			}
		})
	}
}

// Labels match in the API server as they do where policies select.
func TestAnyMatches(t *testing.T) {
	for _, text := range []string{"app", "!app", "app=x", "app in (x,y)", "app!=x", "app notin (x,y),tier", "app,app!=x"} {
		selector, err := labels.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		condition := admissionregistrationv1.MatchCondition{Name: "matches", Expression: "[object].all(o, " + anyMatches([]labels.Selector{selector}) + ")"}
		for _, set := range []map[string]string{nil, {"app": "x"}, {"app": "z"}, {"tier": "x"}, {"app": "z", "tier": "x"}} {
			d := deployment()
			d.Labels = set
			want := selector.Matches(labels.Set(set))
			attributes := request{operation: admission.Create, object: d}.attributes(t, true)
			if got := called(t, []admissionregistrationv1.MatchCondition{condition}, attributes); got != want {
				t.Errorf("%s matches %v: %v, want %v", text, set, got, want)
			}
		}
	}
}
