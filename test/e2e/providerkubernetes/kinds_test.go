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

package providerkubernetes

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"kausality.io/operator/test/stage"
)

// settings are those that a spec is about, each in a namespace of its own. What happens
// to them happens at once, as most of it is waiting.
type settings []*setting

// ofAllKinds returns settings of each kind that nobody has created yet.
func ofAllKinds(ctx context.Context, group, name string) settings {
	GinkgoHelper()
	var all settings
	for _, kind := range []string{claimKind, settingKind, objectKind} {
		all = append(all, planned(kind, group, shared.MakeNamespace(ctx, nil), name))
	}
	return all
}

// created has the platform team create settings, and returns when they are ready.
func (all settings) created(ctx context.Context) {
	GinkgoHelper()
	for _, s := range all {
		s.create(ctx)
	}
	for _, s := range all {
		s.comes(ctx)
	}
}

// set has the platform team give settings a value, and returns when they have it outside.
func (all settings) set(ctx context.Context, value string) {
	GinkgoHelper()
	for _, s := range all {
		Expect(s.by.Patch(ctx, s.written, s.patch(value))).To(Succeed())
	}
	all.are(ctx, value)
}

// are waits until the ConfigMaps say a value.
func (all settings) are(ctx context.Context, value string) {
	GinkgoHelper()
	for _, s := range all {
		s.is(ctx, value)
	}
}

// drift changes the ConfigMaps behind the provider's back.
func (all settings) drift(ctx context.Context) {
	GinkgoHelper()
	for _, s := range all {
		s.drift(ctx)
	}
}

// closed waits until the gates are closed.
func (all settings) closed(ctx context.Context) {
	GinkgoHelper()
	for _, s := range all {
		shared.Closed(ctx, s.object, stage.Observing)
	}
}

// mutated waits until these, and no other changes, were asked for outside of each since
// it was created.
func (all settings) mutated(ctx context.Context, verbs ...string) {
	GinkgoHelper()
	for _, s := range all {
		Eventually(ctx, func() []string { return mutations(s.audit, s.key().Namespace) }).Should(Equal(verbs), s.written.GetKind())
	}
}

// rest tells that the provider looks at all of them, and asks for no change, while
// something happens and after it.
func (all settings) rest(ctx context.Context, happens func()) {
	GinkgoHelper()
	audit := shared.Watch()
	happens()
	Consistently(ctx, func(g Gomega) {
		for _, s := range all {
			g.Expect(mutations(audit, s.key().Namespace)).To(BeEmpty(), s.written.GetKind())
		}
	}).WithTimeout(twoLooks).Should(Succeed())
	for _, s := range all {
		Expect(looks(audit, s.key().Namespace)).To(BeNumerically(">=", 2), "the provider does not look at %s", s.written.GetKind())
	}
}
