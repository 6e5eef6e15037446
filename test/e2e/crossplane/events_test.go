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
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/crossplane/cloud"
	"kausality.io/operator/test/crossplane/provider/apis/instance"
	"kausality.io/operator/test/stage"
)

// eventsGroup is the group of the databases whose events are counted.
const eventsGroup = "events.example.org"

// Crossplane's circuit breaker counts each write of an object that a composite resource
// composes (D8): docs/crossplane.md says what a change costs.
var _ = Describe("The events of a change", Ordered, ContinueOnFailure, func() {
	BeforeAll(func(ctx SpecContext) { closeGatesOf(ctx, eventsGroup) }, NodeTimeout(specTimeout))

	DescribeTable("are no more than its provider needs",
		func(ctx SpecContext, traits string, fault cloud.Fault, most, passes int) {
			i := provision(ctx, eventsGroup, databaseKind, traits)
			shared.quiet(ctx, i.composite, i.instance)
			before := shared.current(ctx, i.instance)
			audit := shared.WatchObjects(i.instance)
			if fault.Delay > 0 {
				fault.Name, fault.Verb, fault.Times = i.instance.GetName(), cloud.Update, 1
				Expect(shared.cloud().Inject(ctx, fault)).To(Succeed())
			}
			i.resize(ctx, large)
			shared.has(ctx, i.instance, large)
			i.closed(ctx)
			shared.quiet(ctx, i.composite, i.instance)
			i.mutated(ctx, cloud.Create, cloud.Update)
			events := told(before, changes(audit, before))
			all := strings.Join(events, "\n")
			AddReportEntry("events", all)
			Expect(len(unshown(events))).To(BeNumerically("<=", most), all)
			Expect(strings.Count(all, "asks for a look")).To(BeNumerically("<=", passes), all)
		},
		Entry("one that waits for the cloud", SpecTimeout(specTimeout), "", cloud.Fault{}, 5, 0),
		Entry("one that waits for a slow cloud", SpecTimeout(specTimeout), "", brief, 5, 0),
		Entry("an asynchronous one that announces it", SpecTimeout(specTimeout), string(instance.Async), slow, 7, 0),
		Entry("an asynchronous one that announces it without generations", SpecTimeout(specTimeout), instance.Annotation(instance.Async, instance.NoGeneration), slow, 8, 1),
		Entry("an asynchronous one that tells afterwards", SpecTimeout(specTimeout), string(instance.AsyncLate), slow, 7, 0),
		Entry("an asynchronous one that says nothing", SpecTimeout(specTimeout), string(instance.AsyncSilent), slow, 8, 1),
		Entry("one whose conditions say no generation", SpecTimeout(specTimeout), string(instance.NoGeneration), cloud.Fault{}, 6, 1),
		Entry("one that does not show what the cloud has", SpecTimeout(specTimeout), string(instance.NoObservation), cloud.Fault{}, 7, 1),
	)

	It("leave the circuit breaker closed when there are three of them in a row", func(ctx SpecContext) {
		i := provision(ctx, eventsGroup, databaseKind, string(instance.Async))
		shared.quiet(ctx, i.composite, i.instance)
		before := shared.current(ctx, i.instance)
		audit := shared.WatchObjects(i.instance)
		for _, size := range []string{large, "db.t3.xlarge", "db.t3.2xlarge"} {
			Expect(shared.cloud().Inject(ctx, cloud.Fault{Name: i.instance.GetName(), Verb: cloud.Update, Delay: slow.Delay, Times: 1})).To(Succeed())
			i.resize(ctx, size)
			shared.has(ctx, i.instance, size)
		}
		i.closed(ctx)
		shared.quiet(ctx, i.composite, i.instance)
		i.mutated(ctx, cloud.Create, cloud.Update, cloud.Update, cloud.Update)
		events := told(before, changes(audit, before))
		AddReportEntry("events", strings.Join(events, "\n"))
		shared.Becomes(ctx, i.composite, "Responsive")
		Expect(len(unshown(events))).To(BeNumerically("<=", 3*7), strings.Join(events, "\n"))
	}, SpecTimeout(specTimeout))
})

// unshown leaves out the events by which a gate shows in its status how it is, which are
// two more for one that was open for three seconds. That is a matter of how busy the
// machine is, and not of the provider.
func unshown(events []string) []string {
	return slices.DeleteFunc(slices.Clone(events), func(event string) bool {
		return strings.Contains(event, "status: "+v1alpha1.ConditionGate+"=")
	})
}

// told says of each event who wrote what when, where before is the object
// as it was.
func told(before *unstructured.Unstructured, events controlplane.AuditEvents) []string {
	GinkgoHelper()
	var out []string
	for _, event := range events {
		written := &unstructured.Unstructured{}
		Expect(json.Unmarshal(event.ResponseObject.Raw, written)).To(Succeed())
		out = append(out, fmt.Sprintf("%s %s %s: %s", event.RequestReceivedTimestamp.Format("05.000"), by(&event), event.ObjectRef.Subresource, difference(before, written)))
		before = written
	}
	return out
}

// by returns who made a request, in a word.
func by(event *auditv1.Event) string {
	name := stage.UserOf(event)
	return name[strings.LastIndex(name, ":")+1:]
}

// difference says what a write changed.
func difference(before, after *unstructured.Unstructured) string {
	var out []string
	const pass = "crossplane.io/reconcile-requested-at"
	if was, is := before.GetAnnotations()[pass], after.GetAnnotations()[pass]; was != is {
		out = append(out, "asks for a look ("+is+")")
	}
	if was, is := stage.PoliciesOf(before), stage.PoliciesOf(after); was != is {
		out = append(out, is)
	}
	if was, is := askedSize(before), askedSize(after); was != is {
		out = append(out, "asks for "+is)
	}
	if was, is := observedSize(before), observedSize(after); was != is {
		out = append(out, "shows "+is)
	}
	for _, kind := range []string{"Synced", "Ready", "AsyncOperation", "LastAsyncOperation", "kausality.io/Gate"} {
		was, is := stage.Condition(before, kind), stage.Condition(after, kind)
		if fmt.Sprint(was) != fmt.Sprint(is) {
			out = append(out, fmt.Sprintf("%s=%v/%v@%v", kind, is["status"], is["reason"], is["observedGeneration"]))
		}
	}
	return strings.Join(out, ", ")
}
