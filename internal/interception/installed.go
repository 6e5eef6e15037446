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
	"cmp"
	"net/url"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// PolicyPath is where the API server asks about AllowancePolicies. The configuration that has
// it do so is installed with the operator, by whatever installs it and under whatever name, and
// is known by this path.
const PolicyPath = "/validate-kausality-io-v1alpha1-allowancepolicy"

// The paths where the API server asks about UpgradeAllowances: to have them stamped with who
// changes them, and whether they can work. Their webhooks are installed as that of
// AllowancePolicies is, and are no master switch: the operator has that which stamps go with it.
const (
	UpgradeStampPath = "/mutate-kausality-io-v1alpha1-upgradeallowance"
	UpgradePath      = "/validate-kausality-io-v1alpha1-upgradeallowance"
)

// GeneratingPath is where the API server asks about GeneratingPolicies.
const GeneratingPath = "/validate-kausality-io-v1alpha1-generatingpolicy"

// Installed is what the installation says that the operator is part of. It is the master switch:
// nothing is rendered without one, and what is rendered goes with it.
type Installed struct {
	// Owners are the installed configurations. There are two for a while where an installer
	// makes another one before it removes the last.
	Owners []metav1.OwnerReference
	// ClientConfig is how the API server reaches the operator, without the path of a hook. The
	// CA bundle is the one that is installed.
	ClientConfig admissionregistrationv1.WebhookClientConfig
}

// FindInstalled looks for the installed configurations of the webhook of our own kinds, and
// returns nil where there is none. One that is being deleted is gone. Of several, the latest
// says how the operator is reached.
func FindInstalled(configurations []admissionregistrationv1.ValidatingWebhookConfiguration) *Installed {
	var found []*admissionregistrationv1.ValidatingWebhookConfiguration
	for i := range configurations {
		if c := &configurations[i]; c.DeletionTimestamp == nil && IsInstalled(c) {
			found = append(found, c)
		}
	}
	if len(found) == 0 {
		return nil
	}
	latest := slices.MaxFunc(found, func(a, b *admissionregistrationv1.ValidatingWebhookConfiguration) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(found, func(a, b *admissionregistrationv1.ValidatingWebhookConfiguration) int {
		return cmp.Compare(a.Name, b.Name)
	})
	installed := &Installed{}
	for _, c := range found {
		// It blocks nobody's deletion: saying that it did takes a right to the finalizers of the owner.
		installed.Owners = append(installed.Owners, metav1.OwnerReference{
			APIVersion: admissionregistrationv1.SchemeGroupVersion.String(),
			Kind:       "ValidatingWebhookConfiguration",
			Name:       c.Name,
			UID:        c.UID,
		})
	}
	for _, webhook := range latest.Webhooks {
		if asksAboutPolicies(webhook.ClientConfig) {
			installed.ClientConfig = withoutPath(webhook.ClientConfig)
		}
	}
	return installed
}

// IsInstalled reports whether a configuration has the API server ask about AllowancePolicies.
func IsInstalled(c *admissionregistrationv1.ValidatingWebhookConfiguration) bool {
	return slices.ContainsFunc(c.Webhooks, func(webhook admissionregistrationv1.ValidatingWebhook) bool {
		return asksAboutPolicies(webhook.ClientConfig)
	})
}

// IsOfOwnKinds reports whether an object is a webhook configuration, of either kind, that has
// the API server ask about a kind of ours.
func IsOfOwnKinds(obj any) bool {
	switch c := obj.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		return slices.ContainsFunc(c.Webhooks, func(webhook admissionregistrationv1.ValidatingWebhook) bool {
			return calls(webhook.ClientConfig, PolicyPath) || calls(webhook.ClientConfig, UpgradePath) ||
				calls(webhook.ClientConfig, GeneratingPath)
		})
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		return slices.ContainsFunc(c.Webhooks, func(webhook admissionregistrationv1.MutatingWebhook) bool {
			return calls(webhook.ClientConfig, UpgradeStampPath)
		})
	default:
		return false
	}
}

func asksAboutPolicies(config admissionregistrationv1.WebhookClientConfig) bool {
	return calls(config, PolicyPath)
}

// calls reports whether a webhook is called at a path.
func calls(config admissionregistrationv1.WebhookClientConfig, path string) bool {
	if config.Service != nil {
		return ptr.Deref(config.Service.Path, "") == path
	}
	called, err := url.Parse(ptr.Deref(config.URL, ""))
	return err == nil && called.Path == path
}

// withoutPath returns how the operator is reached, whichever hook is called.
func withoutPath(config admissionregistrationv1.WebhookClientConfig) admissionregistrationv1.WebhookClientConfig {
	out := *config.DeepCopy()
	if out.Service != nil {
		out.Service.Path = nil
	}
	if out.URL != nil {
		if called, err := url.Parse(*out.URL); err == nil {
			called.Path = ""
			out.URL = new(called.String())
		}
	}
	return out
}
