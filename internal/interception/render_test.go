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
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/policy"
)

var updateGolden = flag.Bool("update", false, "write what is rendered to testdata instead of comparing")

// served is what the cluster of the tests serves.
var served = []struct {
	gvk          schema.GroupVersionKind
	resource     string
	namespaced   bool
	subresources []string
	elsewhere    map[string][]string
}{
	{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, "deployments", true, []string{"scale", "status"}, nil},
	{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}, "replicasets", true, []string{"scale", "status"}, nil},
	{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}, "statefulsets", true, []string{"scale", "status"}, nil},
	{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ControllerRevision"}, "controllerrevisions", true, nil, nil},
	{schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}, "horizontalpodautoscalers", true, []string{"status"}, nil},
	{schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, "pods", true, []string{
		"attach", "binding", "ephemeralcontainers", "eviction", "exec", "log", "portforward", "proxy", "resize", "status",
	}, nil},
	{schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, "configmaps", true, nil, nil},
	{schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, "namespaces", false, []string{"finalize", "status"}, nil},
	{schema.GroupVersionKind{Group: "certificates.k8s.io", Version: "v1", Kind: "CertificateSigningRequest"}, "certificatesigningrequests", false, []string{"approval", "status"}, nil},
	{schema.GroupVersionKind{Version: "v1", Kind: "Node"}, "nodes", false, []string{"proxy", "status"}, nil},
	{schema.GroupVersionKind{Version: "v1", Kind: "Event"}, "events", true, nil, nil},
	{schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}, "leases", true, nil, nil},
	{schema.GroupVersionKind{Group: "kausality.io", Version: "v1alpha1", Kind: "AllowancePolicy"}, "allowancepolicies", false, []string{"status"}, nil},
	{schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingWebhookConfiguration"}, "mutatingwebhookconfigurations", false, nil, nil},
	{schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Thing"}, "things", false, []string{"eviction", "status"}, nil},
	{schema.GroupVersionKind{Group: "example.org", Version: "v2", Kind: "Thing"}, "things", false, []string{"eviction", "status"}, nil},
	{schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Sized"}, "sizeds", true, []string{"status"}, map[string][]string{"scale": {"v1beta1", "v2"}}},
	{schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Reported"}, "reporteds", true, nil, map[string][]string{"eviction": {"v2"}, "status": {"v2"}}},
}

func inputOf(policies ...*policy.Policy) Input {
	return Input{
		Policies: policies,
		Holder: func(gvk schema.GroupVersionKind) (Served, bool) {
			for _, s := range served {
				if s.gvk == gvk {
					return Served{gvk.GroupVersion().WithResource(s.resource), s.namespaced, s.subresources, s.elsewhere, !slices.Contains(s.subresources, "status"), nil}, true
				}
			}
			return Served{}, false
		},
		Child: func(gvr schema.GroupVersionResource) (Served, bool) {
			for _, s := range served {
				if s.gvk.GroupVersion().WithResource(s.resource) == gvr {
					return Served{gvr, s.namespaced, s.subresources, s.elsewhere, !slices.Contains(s.subresources, "status"), nil}, true
				}
			}
			return Served{}, false
		},
		ClientConfig: admissionregistrationv1.WebhookClientConfig{
			Service:  &admissionregistrationv1.ServiceReference{Namespace: "kausality-system", Name: "kausality-webhook-service"},
			CABundle: []byte("bundle"),
		},
		OperatorNamespace: "kausality-system",
		OperatorUser:      operatorUser,
	}
}

// forKind returns a policy for a kind ("group/version/Kind") with a rule that names
// resources ("group/version/resources").
func forKind(t *testing.T, kind string, resources ...string) *policy.Policy {
	t.Helper()
	return compile(t, specFor(kind, resources...))
}

func specFor(kind string, resources ...string) v1alpha1.AllowancePolicySpec {
	k := strings.Split(kind, "/")
	spec := v1alpha1.AllowancePolicySpec{For: v1alpha1.ParentKind{APIGroup: k[0], APIVersion: k[1], Kind: k[2]}}
	if len(resources) > 0 {
		spec.Rules = []v1alpha1.Rule{{Trigger: "spec", Policies: entries(resources...)}}
	}
	return spec
}

func entries(resources ...string) []v1alpha1.PolicyEntry {
	var list []v1alpha1.PolicyEntry
	for _, resource := range resources {
		r := strings.Split(resource, "/")
		list = append(list, v1alpha1.PolicyEntry{
			Relation: v1alpha1.RelationControllerChild,
			Target:   v1alpha1.Target{APIGroup: new(r[0]), APIVersion: r[1], Resource: r[2]},
		})
	}
	return list
}

// describe has a line for each rule of each webhook and of the admission policy.
func describe(d Desired) []string {
	var lines []string
	add := func(name string, rules ...admissionregistrationv1.RuleWithOperations) {
		for _, r := range rules {
			var operations []string
			for _, o := range r.Operations {
				operations = append(operations, string(o))
			}
			lines = append(lines, strings.Join([]string{
				name, strings.Join(operations, ","),
				strings.Join(r.APIGroups, ",") + "/" + strings.Join(r.APIVersions, ","),
				string(*r.Scope), strings.Join(r.Resources, " "),
			}, " "))
		}
	}
	if d.Mutating != nil {
		for _, w := range d.Mutating.Webhooks {
			add(w.Name+" "+string(*w.FailurePolicy), w.Rules...)
		}
	}
	if d.Validating != nil {
		for _, w := range d.Validating.Webhooks {
			if isDeputy(w.Name) {
				continue // They have a test of their own.
			}
			add(w.Name+" "+string(*w.FailurePolicy), w.Rules...)
		}
	}
	if d.AdmissionPolicy != nil {
		for _, r := range d.AdmissionPolicy.Spec.MatchConstraints.ResourceRules {
			add("protect", r.RuleWithOperations)
		}
	}
	return lines
}

func isDeputy(hook string) bool { return strings.HasPrefix(hook, deputyPrefix) }

func TestRules(t *testing.T) {
	failing := func(spec v1alpha1.AllowancePolicySpec) *policy.Policy {
		spec.FailurePolicy = v1alpha1.FailurePolicyFail
		return compile(t, spec)
	}
	cases := map[string]struct {
		policies []*policy.Policy
		want     []string
	}{
		"no policy, nothing": {},
		"a holder and its children": {
			policies: []*policy.Policy{forKind(t, "apps/v1/Deployment", "apps/v1/replicasets")},
			want: []string{
				"grant.kausality.io Ignore CREATE,UPDATE apps/v1 Namespaced deployments",
				"grant.kausality.io Ignore UPDATE apps/v1 Namespaced deployments/status",
				"break-glass.kausality.io Ignore CREATE,UPDATE apps/v1 Namespaced replicasets",
				"verdict.kausality.io Ignore CREATE,UPDATE,DELETE apps/v1 Namespaced deployments replicasets",
				"verdict.kausality.io Ignore UPDATE apps/v1 Namespaced deployments/scale deployments/status replicasets/scale replicasets/status",
				"protect CREATE,UPDATE apps/v1 Namespaced deployments",
				"protect UPDATE apps/v1 Namespaced deployments/status",
			},
		},
		"pods as children": {
			policies: []*policy.Policy{forKind(t, "apps/v1/ReplicaSet", "/v1/pods")},
			want: []string{
				"grant.kausality.io Ignore CREATE,UPDATE apps/v1 Namespaced replicasets",
				"grant.kausality.io Ignore UPDATE apps/v1 Namespaced replicasets/status",
				"break-glass.kausality.io Ignore CREATE,UPDATE /v1 Namespaced pods",
				"verdict.kausality.io Ignore CREATE,UPDATE,DELETE /v1 Namespaced pods",
				"verdict.kausality.io Ignore UPDATE /v1 Namespaced pods/ephemeralcontainers pods/resize pods/status",
				"verdict.kausality.io Ignore CREATE /v1 Namespaced pods/eviction",
				"verdict.kausality.io Ignore CREATE,UPDATE,DELETE apps/v1 Namespaced replicasets",
				"verdict.kausality.io Ignore UPDATE apps/v1 Namespaced replicasets/scale replicasets/status",
				"protect CREATE,UPDATE apps/v1 Namespaced replicasets",
				"protect UPDATE apps/v1 Namespaced replicasets/status",
			},
		},
		"pods of a kind with a history: who breaks the glass apart, only the verdict is asked of revisions": {
			policies: []*policy.Policy{forKind(t, "apps/v1/StatefulSet", "/v1/pods")},
			want: []string{
				"grant.kausality.io Ignore CREATE,UPDATE apps/v1 Namespaced statefulsets",
				"grant.kausality.io Ignore UPDATE apps/v1 Namespaced statefulsets/status",
				"break-glass.kausality.io Ignore CREATE,UPDATE /v1 Namespaced pods",
				"break-glass.kausality.io Ignore CREATE,UPDATE apps/v1 Namespaced controllerrevisions",
				"verdict.kausality.io Ignore CREATE,UPDATE,DELETE /v1 Namespaced pods",
				"verdict.kausality.io Ignore UPDATE /v1 Namespaced pods/ephemeralcontainers pods/resize pods/status",
				"verdict.kausality.io Ignore CREATE /v1 Namespaced pods/eviction",
				"verdict.kausality.io Ignore CREATE,UPDATE,DELETE apps/v1 Namespaced controllerrevisions statefulsets",
				"verdict.kausality.io Ignore UPDATE apps/v1 Namespaced statefulsets/scale statefulsets/status",
				"protect CREATE,UPDATE apps/v1 Namespaced statefulsets",
				"protect UPDATE apps/v1 Namespaced statefulsets/status",
			},
		},
		"children whose owners other sub-resources store as well": {
			policies: []*policy.Policy{forKind(t, "example.org/v1/Thing", "/v1/namespaces", "certificates.k8s.io/v1/certificatesigningrequests")},
			want: []string{
				"grant.kausality.io Ignore CREATE,UPDATE example.org/v1 Cluster things",
				"grant.kausality.io Ignore UPDATE example.org/v1 Cluster things/status",
				"break-glass.kausality.io Ignore CREATE,UPDATE /v1 Cluster namespaces",
				"break-glass.kausality.io Ignore CREATE,UPDATE certificates.k8s.io/v1 Cluster certificatesigningrequests",
				"verdict.kausality.io Ignore CREATE,UPDATE,DELETE /v1 Cluster namespaces",
				"verdict.kausality.io Ignore UPDATE /v1 Cluster namespaces/finalize namespaces/status",
				"verdict.kausality.io Ignore CREATE,UPDATE,DELETE certificates.k8s.io/v1 Cluster certificatesigningrequests",
				"verdict.kausality.io Ignore UPDATE certificates.k8s.io/v1 Cluster certificatesigningrequests/approval certificatesigningrequests/status",
				"verdict.kausality.io Ignore CREATE,UPDATE,DELETE example.org/v1 Cluster things",
				"verdict.kausality.io Ignore UPDATE example.org/v1 Cluster things/status",
				"protect CREATE,UPDATE example.org/v1 Cluster things",
				"protect UPDATE example.org/v1 Cluster things/status",
			},
		},
		"pods as holders: a binding can carry annotations": {
			policies: []*policy.Policy{forKind(t, "/v1/Pod")},
			want: []string{
				"grant.kausality.io Ignore CREATE,UPDATE /v1 Namespaced pods",
				"grant.kausality.io Ignore UPDATE /v1 Namespaced pods/status",
				"verdict.kausality.io Ignore CREATE,UPDATE,DELETE /v1 Namespaced pods",
				"verdict.kausality.io Ignore UPDATE /v1 Namespaced pods/ephemeralcontainers pods/resize pods/status",
				"verdict.kausality.io Ignore CREATE /v1 Namespaced pods/eviction",
				"protect CREATE,UPDATE /v1 Namespaced pods",
				"protect CREATE /v1 Namespaced bindings pods/binding",
				"protect UPDATE /v1 Namespaced pods/status",
			},
		},
		"every section names children": {
			policies: []*policy.Policy{compile(t, v1alpha1.AllowancePolicySpec{
				For:          v1alpha1.ParentKind{APIGroup: "missing.org", APIVersion: "v1", Kind: "Missing"},
				Initializing: &v1alpha1.InitializingSection{Policies: entries("/v1/configmaps")},
				Deleting:     &v1alpha1.DeletingSection{Policies: entries("apps/v1/replicasets")},
				Maintaining:  &v1alpha1.MaintainingSection{Policies: []v1alpha1.MaintainingEntry{{PolicyEntry: entries("apps/v1/deployments")[0]}}},
				Rules:        []v1alpha1.Rule{{Trigger: "spec", Policies: entries("example.org/v1/things")}},
			})},
			want: []string{
				"break-glass.kausality.io Ignore CREATE,UPDATE /v1 Namespaced configmaps",
				"break-glass.kausality.io Ignore CREATE,UPDATE apps/v1 Namespaced deployments replicasets",
				"break-glass.kausality.io Ignore CREATE,UPDATE example.org/v1 Cluster things",
				"verdict.kausality.io Ignore CREATE,UPDATE,DELETE /v1 Namespaced configmaps",
				"verdict.kausality.io Ignore CREATE,UPDATE,DELETE apps/v1 Namespaced deployments replicasets",
				"verdict.kausality.io Ignore UPDATE apps/v1 Namespaced deployments/scale deployments/status replicasets/scale replicasets/status",
				"verdict.kausality.io Ignore CREATE,UPDATE,DELETE example.org/v1 Cluster things",
				"verdict.kausality.io Ignore UPDATE example.org/v1 Cluster things/status",
			},
		},
		"a scale that only other versions have": {
			policies: []*policy.Policy{forKind(t, "example.org/v1/Sized")},
			want: []string{
				"grant.kausality.io Ignore CREATE,UPDATE example.org/v1 Namespaced sizeds",
				"grant.kausality.io Ignore UPDATE example.org/v1 Namespaced sizeds/status",
				"verdict.kausality.io Ignore CREATE,UPDATE,DELETE example.org/v1 Namespaced sizeds",
				"verdict.kausality.io Ignore UPDATE example.org/v1 Namespaced sizeds/status",
				"verdict.kausality.io Ignore UPDATE example.org/v1beta1 Namespaced sizeds/scale",
				"verdict.kausality.io Ignore UPDATE example.org/v2 Namespaced sizeds/scale",
				"protect CREATE,UPDATE example.org/v1 Namespaced sizeds",
				"protect UPDATE example.org/v1 Namespaced sizeds/status",
			},
		},
		"a status that only another version has": {
			policies: []*policy.Policy{forKind(t, "example.org/v1/Reported")},
			want: []string{
				"grant.kausality.io Ignore CREATE,UPDATE example.org/v1 Namespaced reporteds",
				"grant.kausality.io Ignore UPDATE example.org/v2 Namespaced reporteds/status",
				"verdict.kausality.io Ignore CREATE,UPDATE,DELETE example.org/v1 Namespaced reporteds",
				"verdict.kausality.io Ignore UPDATE example.org/v2 Namespaced reporteds/status",
				"protect CREATE,UPDATE example.org/v1 Namespaced reporteds",
			},
		},
		"external targets are the gate driver's": {
			policies: []*policy.Policy{compile(t, v1alpha1.AllowancePolicySpec{
				For: v1alpha1.ParentKind{APIGroup: "missing.org", APIVersion: "v1", Kind: "Missing"},
				Rules: []v1alpha1.Rule{{Trigger: "spec", Policies: []v1alpha1.PolicyEntry{{
					Relation: v1alpha1.RelationExternal,
					Target:   v1alpha1.Target{External: map[string]string{"apiGroup": "example.org"}},
					Verbs:    []string{"Create"},
				}}}},
			})},
		},
		"what is not served is left out": {
			policies: []*policy.Policy{forKind(t, "missing.org/v1/Missing", "missing.org/v1/missings", "/v1/configmaps")},
			want: []string{
				"break-glass.kausality.io Ignore CREATE,UPDATE /v1 Namespaced configmaps",
				"verdict.kausality.io Ignore CREATE,UPDATE,DELETE /v1 Namespaced configmaps",
			},
		},
		"what keeps a cluster alive is left out": {
			policies: []*policy.Policy{
				forKind(t, "missing.org/v1/Missing", "/v1/nodes", "/v1/events", "coordination.k8s.io/v1/leases",
					"kausality.io/v1alpha1/allowancepolicies"),
			},
		},
		"Fail wins": {
			policies: []*policy.Policy{
				forKind(t, "apps/v1/Deployment", "apps/v1/replicasets"),
				failing(specFor("apps/v1/ReplicaSet", "/v1/configmaps")),
			},
			want: []string{
				"grant.kausality.io Ignore CREATE,UPDATE apps/v1 Namespaced deployments",
				"grant.kausality.io Ignore UPDATE apps/v1 Namespaced deployments/status",
				"grant-fail.kausality.io Fail CREATE,UPDATE apps/v1 Namespaced replicasets",
				"grant-fail.kausality.io Fail UPDATE apps/v1 Namespaced replicasets/status",
				"grant-spared.kausality.io Ignore CREATE,UPDATE apps/v1 Namespaced replicasets",
				"grant-spared.kausality.io Ignore UPDATE apps/v1 Namespaced replicasets/status",
				"break-glass.kausality.io Ignore CREATE,UPDATE /v1 Namespaced configmaps",
				"verdict.kausality.io Ignore CREATE,UPDATE,DELETE apps/v1 Namespaced deployments",
				"verdict.kausality.io Ignore UPDATE apps/v1 Namespaced deployments/scale deployments/status",
				"verdict-fail.kausality.io Fail CREATE,UPDATE,DELETE /v1 Namespaced configmaps",
				"verdict-fail.kausality.io Fail CREATE,UPDATE,DELETE apps/v1 Namespaced replicasets",
				"verdict-fail.kausality.io Fail UPDATE apps/v1 Namespaced replicasets/scale replicasets/status",
				"verdict-spared.kausality.io Ignore CREATE,UPDATE,DELETE apps/v1 Namespaced replicasets",
				"verdict-spared.kausality.io Ignore UPDATE apps/v1 Namespaced replicasets/scale replicasets/status",
				"protect CREATE,UPDATE apps/v1 Namespaced deployments replicasets",
				"protect UPDATE apps/v1 Namespaced deployments/status replicasets/status",
			},
		},
		"one version is asked about": {
			policies: []*policy.Policy{forKind(t, "example.org/v1/Thing"), failing(specFor("example.org/v2/Thing"))},
			want: []string{
				"grant-fail.kausality.io Fail CREATE,UPDATE example.org/v1 Cluster things",
				"grant-fail.kausality.io Fail UPDATE example.org/v1 Cluster things/status",
				"verdict-fail.kausality.io Fail CREATE,UPDATE,DELETE example.org/v1 Cluster things",
				"verdict-fail.kausality.io Fail UPDATE example.org/v1 Cluster things/status",
				"protect CREATE,UPDATE example.org/v1 Cluster things",
				"protect UPDATE example.org/v1 Cluster things/status",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, describe(Render(inputOf(tc.policies...)))); diff != "" {
				t.Errorf("rules (-want +got):\n%s", diff)
			}
		})
	}
}

// TestGolden shows all of what is rendered.
func TestGolden(t *testing.T) {
	url := inputOf(forKind(t, "apps/v1/ReplicaSet", "/v1/pods"), forKind(t, "apps/v1/Deployment", "apps/v1/replicasets"))
	url.Name = "other"
	url.KubeSystem = true
	url.TimeoutSeconds = 2
	url.ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: new("https://localhost:9443/")}
	cases := map[string]Input{
		"deployments":    inputOf(forKind(t, "apps/v1/Deployment", "apps/v1/replicasets"), forKind(t, "apps/v1/ReplicaSet", "/v1/pods")),
		"url-and-system": url,
	}
	for name, in := range cases {
		t.Run(name, func(t *testing.T) {
			d := Render(in)
			var documents []string
			for _, object := range []any{d.Mutating, d.Validating, d.AdmissionPolicy, d.Binding} {
				document, err := yaml.Marshal(object)
				if err != nil {
					t.Fatal(err)
				}
				documents = append(documents, string(document))
			}
			got := strings.Join(documents, "---\n")
			file := filepath.Join("testdata", name+".yaml")
			if *updateGolden {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("rendered (-want +got); run with -update if that is right:\n%s", diff)
			}
		})
	}
}

func TestRenderIsDeterministic(t *testing.T) {
	policies := []*policy.Policy{
		forKind(t, "apps/v1/Deployment", "apps/v1/replicasets", "/v1/configmaps"),
		forKind(t, "apps/v1/ReplicaSet", "/v1/pods"),
		forKind(t, "example.org/v1/Thing", "/v1/configmaps"),
		policyNaming(t, "metadata.annotations[jira]"),
		policyNaming(t, "metadata.annotations[change]"),
	}
	want := Render(inputOf(policies...))
	for range policies {
		policies = append(policies[1:], policies[0])
		if diff := cmp.Diff(want, Render(inputOf(policies...))); diff != "" {
			t.Fatalf("another order of policies renders something else (-want +got):\n%s", diff)
		}
	}
}

func TestSelectsKubeSystem(t *testing.T) {
	name := func(operator metav1.LabelSelectorOperator, values ...string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: corev1.LabelMetadataName, Operator: operator, Values: values},
		}}
	}
	cases := map[string]struct {
		selector *metav1.LabelSelector
		want     bool
	}{
		"none":           {nil, false},
		"empty":          {&metav1.LabelSelector{}, false},
		"by name":        {name(metav1.LabelSelectorOpIn, "kube-system", "other"), true},
		"another's name": {name(metav1.LabelSelectorOpIn, "other"), false},
		"all but it":     {name(metav1.LabelSelectorOpNotIn, "kube-system"), false},
		"another label":  {&metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}, false},
		"invalid":        {name("Sometimes", "kube-system"), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := SelectsKubeSystem(tc.selector); got != tc.want {
				t.Errorf("SelectsKubeSystem = %v, want %v", got, tc.want)
			}
		})
	}
}
