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

package crossplane

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/crossplane"
	"kausality.io/operator/test/crossplane/cloud"
	"kausality.io/operator/test/crossplane/provider/apis/namespaced"
	"kausality.io/operator/test/stage"
)

// A provider that was built with an older version of Crossplane's runtime, and was not
// installed by a package: the operator is told what it is (D16).
const (
	// olderProvider is its name.
	olderProvider = "provider-older"
	// olderGroup is the group of its instances, and olderDatabases that of the
	// databases that are composed of these.
	olderGroup     = "rds.older.example.org"
	olderDatabases = "older.example.org"
)

// startOlderProvider starts it beside the other one.
func startOlderProvider(ctx context.Context) {
	GinkgoHelper()
	definition, err := crossplane.ResourceDefinition(olderGroup)
	Expect(err).NotTo(HaveOccurred())
	Expect(members.Apply(ctx, []*unstructured.Unstructured{definition})).To(Succeed())
	Expect(crossplane.StartProvider(ctx, members, crossplane.ProviderOptions{
		Name: olderProvider, Poll: poll, ExtraFlags: []string{"--older", "--group=" + olderGroup},
	})).To(Succeed())
}

// offerOlder lets people have databases that are composed of its instances.
func (w *world) offerOlder(ctx context.Context) {
	GinkgoHelper()
	older := strings.NewReplacer(namespaced.GroupVersion.Group, olderGroup, crossplane.ProviderName, olderProvider, "GROUP", olderDatabases,
		"KIND", databaseKind, "LOWER", strings.ToLower(databaseKind))
	w.offer(ctx, olderDatabases, func(object *unstructured.Unstructured) {
		raw, err := object.MarshalJSON()
		Expect(err).NotTo(HaveOccurred())
		Expect(object.UnmarshalJSON([]byte(older.Replace(string(raw))))).To(Succeed())
	})
	w.Apply(ctx, stage.ParsePolicies(older.Replace(closingPolicies+"---"+externalDeletion))...)
}

// shut returns the management policies of the gate of an instance that is closed.
func (i *gatedInstance) shut() string {
	if i.instance.GroupVersionKind().Group == olderGroup {
		return "Observe"
	}
	return stage.Observing
}

var _ = Describe("The gates of an older provider", func() {
	It("are set to what it supports only", func(ctx SpecContext) {
		audit := shared.Watch()
		db := database(olderDatabases, databaseKind, shared.MakeNamespace(ctx, nil), "main", medium)
		db.SetAnnotations(map[string]string{"jira": "INFRA-1"})
		db.SetLabels(map[string]string{goesLabel: "true"})
		i := provisioned(ctx, db)
		Expect(gateAt(ctx, audit, i.instance, medium).Policies).To(Equal("Create,LateInitialize,Observe"))

		shared.settled(ctx, i.database) // until then it may be created, too

		By("changing it")
		i.resize(ctx, large)
		shared.has(ctx, i.instance, large)
		i.closed(ctx)
		Expect(gateAt(ctx, audit, i.instance, large).Policies).To(Equal("Observe,Update"))

		By("changing the cloud behind its back")
		Expect(shared.cloud().Drift(ctx, i.instance.GetName(), cloud.Parameters{"instanceClass": "db.t3.nano"})).To(Succeed())
		Consistently(ctx, func() []cloud.Verb { return shared.calls(ctx, i.instance).Mutations().Verbs() }).
			WithTimeout(poll + time.Second).Should(Equal([]cloud.Verb{cloud.Create, cloud.Update}))

		By("deleting it")
		Expect(i.by.Delete(ctx, i.database)).To(Succeed())
		shared.Gone(ctx, i.instance, i.database)
		i.mutated(ctx, cloud.Create, cloud.Update, cloud.Delete)
		Expect(saidOf(audit, i.instance, "Synced")).NotTo(ContainElement(ContainSubstring("not supported")))
	}, SpecTimeout(specTimeout))
})

// saidOf returns the messages that a condition of an object had.
func saidOf(audit stage.Witness, object client.Object, kind string) []string {
	GinkgoHelper()
	writes := audit.Writes(controlplane.Succeeded, controlplane.OnObject(object.GetNamespace(), object.GetName()), controlplane.OfSubresource("status"))
	Expect(writes).NotTo(BeEmpty())
	var out []string
	for _, event := range writes {
		written := &unstructured.Unstructured{}
		Expect(json.Unmarshal(event.ResponseObject.Raw, written)).To(Succeed())
		if message, ok := stage.Condition(written, kind)["message"].(string); ok {
			out = append(out, message)
		}
	}
	return out
}
