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
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/generate"
)

// TestCauseConditions asks as the API server does. What is written is name in ns; a Namespace is ns itself.
func TestCauseConditions(t *testing.T) {
	configMaps, namespaces := corev1.SchemeGroupVersion.WithResource("configmaps"), corev1.SchemeGroupVersion.WithResource("namespaces")
	source := func(of schema.GroupVersionResource, namespace, name *string) []generate.Source {
		return []generate.Source{{Resource: of, Namespace: namespace, Name: name}}
	}
	triggers := func(group string, resources ...string) []admissionregistrationv1.RuleWithOperations {
		return []admissionregistrationv1.RuleWithOperations{{Rule: admissionregistrationv1.Rule{APIGroups: []string{group}, Resources: resources}}}
	}
	configMap := func(data string, annotations ...string) *corev1.ConfigMap {
		out := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "name"}, Data: map[string]string{"key": data}}
		for _, key := range annotations {
			metav1.SetMetaDataAnnotation(&out.ObjectMeta, key, "bob")
		}
		return out
	}
	another := source(configMaps, new("ns"), new("another"))
	for name, tc := range map[string]struct {
		triggers    []admissionregistrationv1.RuleWithOperations
		sources     []generate.Source
		object, old *corev1.ConfigMap
		namespace   *corev1.Namespace
		user        string
		subresource string
		want        bool
	}{
		"a source":                              {sources: source(configMaps, new("ns"), new("name")), want: true},
		"a source in any namespace":             {sources: source(configMaps, nil, new("name")), want: true},
		"a source of any name":                  {sources: source(configMaps, new("ns"), nil), want: true},
		"one of several sources":                {sources: append(source(configMaps, new("ns"), new("name")), another...), want: true},
		"another object":                        {sources: another},
		"the same name elsewhere":               {sources: source(configMaps, new("other"), new("name"))},
		"another namespace, any name":           {sources: source(configMaps, new("other"), nil)},
		"another name, any namespace":           {sources: source(configMaps, nil, new("another"))},
		"a trigger, though not read":            {sources: another, triggers: triggers("", "configmaps"), want: true},
		"a trigger by wildcards":                {sources: another, triggers: triggers("*", "*"), want: true},
		"a trigger by its sub-resources":        {sources: another, triggers: triggers("", "configmaps/any"), want: true},
		"others are triggers":                   {sources: another, triggers: triggers("", "secrets")},
		"of another group are triggers":         {sources: another, triggers: triggers("apps", "configmaps")},
		"of another kind is read":               {sources: source(corev1.SchemeGroupVersion.WithResource("secrets"), new("ns"), new("other")), want: true},
		"nothing is read":                       {triggers: triggers("", "configmaps"), want: true},
		"it has a note":                         {sources: another, object: configMap("two", v1alpha1.AnnotationChangedBy), want: true},
		"its note is taken off":                 {sources: another, old: configMap("one", v1alpha1.AnnotationChangedBy), want: true},
		"it keeps requests":                     {sources: another, old: configMap("one", v1alpha1.AnnotationRequests), want: true},
		"nothing of a source is changed":        {sources: source(configMaps, new("ns"), new("name")), object: configMap("one")},
		"a source is changed by the operator":   {sources: source(configMaps, new("ns"), new("name")), user: operatorUser},
		"a sub-resource":                        {triggers: triggers("", "configmaps"), subresource: "status"},
		"a sub-resource brings notes":           {triggers: triggers("", "configmaps"), object: configMap("two", v1alpha1.AnnotationChangedBy), subresource: "status", want: true},
		"a sub-resource takes notes off":        {triggers: triggers("", "configmaps"), old: configMap("one", v1alpha1.AnnotationRequests), subresource: "status", want: true},
		"a sub-resource leaves notes":           {triggers: triggers("", "configmaps"), object: configMap("two", v1alpha1.AnnotationNoted), old: configMap("one", v1alpha1.AnnotationNoted), subresource: "status"},
		"a trigger is a sub-resource":           {triggers: triggers("", "configmaps/any"), subresource: "any", want: true},
		"a Namespace that is read":              {sources: source(namespaces, new(""), new("ns")), namespace: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}}, want: true},
		"a Namespace, and another one is read":  {sources: source(namespaces, new(""), new("other")), namespace: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}}},
		"a Namespace, and names depend on that": {sources: source(namespaces, new(""), nil), namespace: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.object == nil {
				tc.object = configMap("two")
			}
			if tc.old == nil {
				tc.old = configMap("one")
			}
			if tc.user == "" {
				tc.user = "jane"
			}
			of, attributes := configMaps, admission.NewAttributesRecord(tc.object, tc.old, corev1.SchemeGroupVersion.WithKind("ConfigMap"), "ns", "name",
				configMaps, tc.subresource, admission.Update, nil, false, &user.DefaultInfo{Name: tc.user})
			if tc.namespace != nil {
				of = namespaces
				attributes = admission.NewAttributesRecord(tc.namespace, nil, corev1.SchemeGroupVersion.WithKind("Namespace"), "ns", "ns",
					of, "", admission.Create, nil, false, &user.DefaultInfo{Name: tc.user})
			}
			versioned := &admission.VersionedAttributes{
				Attributes: attributes, VersionedKind: attributes.GetKind(),
				VersionedObject: admission.NewLazyObject(attributes.GetObject()), VersionedOldObject: admission.NewLazyObject(attributes.GetOldObject()),
			}
			rendered := Render(Input{OperatorUser: operatorUser, Triggers: tc.triggers, Sources: tc.sources}).Causes.Webhooks[0]
			if got := called(t, rendered.MatchConditions, versioned); got != tc.want {
				t.Errorf("the hook is called for %s: %v, want %v", of.Resource, got, tc.want)
			}
		})
	}
}

// TestCauseRules has the API server ask about what is read, however many policies read it.
func TestCauseRules(t *testing.T) {
	secret := generate.Source{Resource: corev1.SchemeGroupVersion.WithResource("secrets"), Namespace: new("ns"), Name: new("name")}
	rules := Render(Input{Sources: []generate.Source{secret, secret}}).Causes.Webhooks[0].Rules
	var got []string
	for i := range rules {
		got = append(got, rules[i].Resources...)
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"generatingpolicies", "secrets", "secrets/*"}, got); diff != "" {
		t.Errorf("resources of rules (-want +got):\n%s", diff)
	}
}

// TestCauseRulesNameSubresources has the API server ask about all that may store annotations of triggers.
func TestCauseRulesNameSubresources(t *testing.T) {
	rule := func(operation admissionregistrationv1.OperationType, resource string) admissionregistrationv1.RuleWithOperations {
		return admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{operation},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{resource}},
		}
	}
	for name, tc := range map[string]struct {
		trigger admissionregistrationv1.RuleWithOperations
		want    []string
	}{
		"objects":                {rule("CREATE", "namespaces"), []string{"CREATE namespaces", "CREATE UPDATE namespaces/*"}},
		"all objects":            {rule("CREATE", "*"), []string{"CREATE *", "CREATE UPDATE */*"}},
		"Pods":                   {rule("UPDATE", "pods"), []string{"CREATE UPDATE bindings", "CREATE UPDATE pods/*", "UPDATE pods"}},
		"about a sub-resource":   {rule("CONNECT", "pods/exec"), []string{"CONNECT pods/exec", "CREATE UPDATE bindings", "CREATE UPDATE pods/*"}},
		"deletions are triggers": {rule("DELETE", "secrets"), []string{"CREATE UPDATE secrets/*", "DELETE secrets"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, r := range Render(Input{Triggers: []admissionregistrationv1.RuleWithOperations{tc.trigger}}).Causes.Webhooks[0].Rules {
				if r.APIGroups[0] == v1alpha1.GroupVersion.Group {
					continue
				}
				var text []string
				for _, operation := range r.Operations {
					text = append(text, string(operation))
				}
				got = append(got, strings.Join(append(text, r.Resources[0]), " "))
			}
			slices.Sort(got)
			slices.Sort(tc.want)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("rules (-want +got):\n%s", diff)
			}
		})
	}
}
