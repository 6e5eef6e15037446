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
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestFindInstalled(t *testing.T) {
	begin := time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC)
	called := func(config admissionregistrationv1.WebhookClientConfig) admissionregistrationv1.ValidatingWebhook {
		return admissionregistrationv1.ValidatingWebhook{Name: "some.example.org", ClientConfig: config}
	}
	service := func(name, path string) admissionregistrationv1.ValidatingWebhook {
		return called(admissionregistrationv1.WebhookClientConfig{
			Service: &admissionregistrationv1.ServiceReference{Namespace: "ns", Name: name, Path: &path, Port: new(int32(8443))},
		})
	}
	configuration := func(name string, age int, webhooks ...admissionregistrationv1.ValidatingWebhook) admissionregistrationv1.ValidatingWebhookConfiguration {
		return admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(begin.Add(-time.Duration(age) * time.Hour))},
			Webhooks:   webhooks,
		}
	}
	going := configuration("going", 0, service("going", PolicyPath))
	going.DeletionTimestamp = new(metav1.NewTime(begin))
	owner := func(name string) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingWebhookConfiguration", Name: name, UID: types.UID("uid-" + name)}
	}
	reached := func(name string) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{
			Service: &admissionregistrationv1.ServiceReference{Namespace: "ns", Name: name, Port: new(int32(8443))},
		}
	}
	for name, tc := range map[string]struct {
		there []admissionregistrationv1.ValidatingWebhookConfiguration
		want  *Installed
	}{
		"none":              {},
		"others only":       {there: []admissionregistrationv1.ValidatingWebhookConfiguration{configuration("other", 0, service("other", "/validate"))}},
		"one that is going": {there: []admissionregistrationv1.ValidatingWebhookConfiguration{going}},
		"one, whatever its name": {
			there: []admissionregistrationv1.ValidatingWebhookConfiguration{configuration("any-x7k2p", 0, service("mine", PolicyPath)), configuration("other", 0)},
			want:  &Installed{Owners: []metav1.OwnerReference{owner("any-x7k2p")}, ClientConfig: reached("mine")},
		},
		"one of several webhooks": {
			there: []admissionregistrationv1.ValidatingWebhookConfiguration{configuration("both", 0, service("other", "/validate"), service("mine", PolicyPath), service("third", "/"))},
			want:  &Installed{Owners: []metav1.OwnerReference{owner("both")}, ClientConfig: reached("mine")},
		},
		"two, of which the latest counts, and all own": {
			there: []admissionregistrationv1.ValidatingWebhookConfiguration{configuration("b", 2, service("old", PolicyPath)), configuration("a", 1, service("new", PolicyPath)), going},
			want:  &Installed{Owners: []metav1.OwnerReference{owner("a"), owner("b")}, ClientConfig: reached("new")},
		},
		"by URL, with an authority": {
			there: []admissionregistrationv1.ValidatingWebhookConfiguration{configuration("url", 0, called(admissionregistrationv1.WebhookClientConfig{
				URL: new("https://localhost:9443" + PolicyPath), CABundle: []byte("ca"),
			}))},
			want: &Installed{
				Owners:       []metav1.OwnerReference{owner("url")},
				ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: new("https://localhost:9443"), CABundle: []byte("ca")},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, FindInstalled(tc.there)); diff != "" {
				t.Errorf("FindInstalled() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestIsOfOwnKinds(t *testing.T) {
	at := func(path string) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Path: &path}}
	}
	validating := func(path string) any {
		return &admissionregistrationv1.ValidatingWebhookConfiguration{
			Webhooks: []admissionregistrationv1.ValidatingWebhook{{ClientConfig: at("/other")}, {ClientConfig: at(path)}},
		}
	}
	mutating := func(path string) any {
		return &admissionregistrationv1.MutatingWebhookConfiguration{Webhooks: []admissionregistrationv1.MutatingWebhook{{ClientConfig: at(path)}}}
	}
	tests := map[string]struct {
		obj  any
		want bool
	}{
		"of policies":               {obj: validating(PolicyPath), want: true},
		"of generation":             {obj: validating(GeneratingPath), want: true},
		"of upgrades":               {obj: validating(UpgradePath), want: true},
		"the stamp of upgrades":     {obj: mutating(UpgradeStampPath), want: true},
		"of others":                 {obj: validating("/validate")},
		"of others, that mutate":    {obj: mutating("/mutate")},
		"what is rendered":          {obj: mutating(MutatePath)},
		"another kind of an object": {obj: &metav1.PartialObjectMetadata{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := IsOfOwnKinds(tt.obj); got != tt.want {
				t.Errorf("is of own kinds: %v", got)
			}
		})
	}
}
