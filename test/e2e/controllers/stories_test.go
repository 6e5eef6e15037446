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

package controllers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/stage"
)

// mostWrites is how many times the writes of a story there may be with Kausality,
// compared with the same story without.
const mostWrites = 1.3

// scene is a namespace with people in it.
type scene struct {
	*stage.Witness

	namespace     string
	governed      bool
	alice, bob    *stage.Actor
	mallory, evil *stage.Actor
}

// setScene makes a namespace, which goes with the spec.
func setScene(ctx context.Context, governed bool) *scene {
	GinkgoHelper()
	s := &scene{governed: governed, namespace: shared.MakeNamespace(ctx, map[string]string{labelGoverned: strconv.FormatBool(governed)})}
	// With all rights of RBAC, so that a refusal is not its.
	s.alice = shared.As(stage.AliceName, stage.PlatformTeam, "system:masters")
	s.bob = shared.As("bob", stage.PlatformTeam, "system:masters")
	s.mallory = shared.As(stage.MalloryName, "system:masters")
	s.evil = shared.As("system:serviceaccount:"+s.namespace+":default", "system:serviceaccounts", "system:masters")
	s.look()
	DeferCleanup(func(ctx context.Context) {
		if CurrentSpecReport().Failed() {
			AddReportEntry("refused", strings.Join(s.refusals(), "\n"))
			AddReportEntry("verdicts", strings.Join(s.verdicts(), "\n"))
			out, err := shared.RunKubectl(ctx, "get", "allowancerecords", "--namespace="+s.namespace, "-o", "yaml")
			AddReportEntry("records", fmt.Sprint(out, err))
		}
	})
	return s
}

// verdicts returns what was decided since the scene was last looked at.
func (s *scene) verdicts() []string {
	var lines []string
	for _, event := range s.Writes() {
		if reason := event.Annotations[stage.AuditReason]; reason != "" {
			lines = append(lines, stage.DescribeEvent(&event)+" "+reason+" "+event.Annotations[stage.AuditTrace])
		}
		if granted := event.Annotations[stage.AuditGranted]; granted != "" {
			lines = append(lines, stage.DescribeEvent(&event)+" granted "+granted)
		}
	}
	return lines
}

// look begins to look at what is written in the namespace.
func (s *scene) look() {
	GinkgoHelper()
	witness := shared.WatchNamespace(s.namespace)
	s.Witness = &witness
}

// object reads an object of the namespace from YAML.
func (s *scene) object(text string) *unstructured.Unstructured {
	GinkgoHelper()
	object := &unstructured.Unstructured{}
	Expect(yaml.Unmarshal([]byte(text), &object.Object)).To(Succeed())
	object.SetNamespace(s.namespace)
	return object
}

// ref names an object of the namespace.
func (s *scene) ref(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(s.namespace)
	object.SetName(name)
	return object
}

// merge patches an object.
func merge(ctx context.Context, who *stage.Actor, object client.Object, patch string) {
	GinkgoHelper()
	Expect(who.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
}

// mergeStatus patches the status of an object.
func mergeStatus(ctx context.Context, who *stage.Actor, object client.Object, patch string) {
	GinkgoHelper()
	Expect(who.Status().Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
}

// approve approves all that is withheld of an object.
func approve(ctx context.Context, who *stage.Actor, object client.Object) {
	GinkgoHelper()
	merge(ctx, who, object, `{"metadata":{"annotations":{"kausality.io/approve":"*"}}}`)
}

// pods returns how many there are by image, those that are being deleted left out.
func (s *scene) pods(ctx context.Context, g Gomega) map[string]int {
	var list corev1.PodList
	g.Expect(shared.List(ctx, &list, client.InNamespace(s.namespace))).To(Succeed())
	out := map[string]int{}
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil {
			out[pod.Spec.Containers[0].Image]++
		}
	}
	return out
}

// anyPod returns one of them.
func (s *scene) anyPod(ctx context.Context) *corev1.Pod {
	GinkgoHelper()
	var list corev1.PodList
	Expect(shared.List(ctx, &list, client.InNamespace(s.namespace))).To(Succeed())
	Expect(list.Items).NotTo(BeEmpty())
	return &list.Items[0]
}

// evict evicts a Pod.
func evict(ctx context.Context, who *stage.Actor, pod *corev1.Pod) {
	GinkgoHelper()
	Expect(who.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
	})).To(Succeed())
}

// live reads an object.
func live(ctx context.Context, g Gomega, object *unstructured.Unstructured) {
	g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
}

// quiet waits until nothing was written for a moment.
func (s *scene) quiet(ctx context.Context) {
	GinkgoHelper()
	s.UntilQuiet(ctx, quietMoment)
}

// refusals returns what Kausality refused since the scene was last looked at. Others refuse as
// well: some controllers find out by that what cannot be changed.
func (s *scene) refusals() []string {
	GinkgoHelper()
	return describe(s.Writes(stage.Failed, func(e *auditv1.Event) bool {
		// Kausality's own records of what is in a namespace cannot be made while that ends.
		return strings.Contains(stage.DescribeEvent(e), "kausality.io") && stage.UserOf(e) != controlplane.OperatorUser
	}))
}

// caused expects that all of a resource that controllers created or deleted since the
// scene was last looked at is traced to somebody.
func (s *scene) caused(resource, initiator string, verbs ...string) {
	GinkgoHelper()
	events := s.Writes(controlplane.Succeeded, controlplane.ByVerb(verbs...), controlplane.OfSubresource(""),
		func(e *auditv1.Event) bool { return e.ObjectRef.Resource == resource && isController(e) })
	Expect(events).NotTo(BeEmpty(), "nothing was written")
	for _, event := range events {
		if slices.Contains([]string{"update", "patch"}, event.Verb) && slices.Contains([]string{"", "Unchanged"}, event.Annotations[stage.AuditReason]) {
			continue // It changes nothing that counts, which mostly the API server finds out itself.
		}
		who, _, _ := strings.Cut(event.Annotations[stage.AuditTrace], " ")
		Expect(who).To(Equal(initiator), "%s: %v", stage.DescribeEvent(&event), event.Annotations)
	}
}

// causedThrough expects that all of a resource that controllers wrote since the scene was
// last looked at, and that counts, is traced to somebody who changed an object of a kind.
func (s *scene) causedThrough(resource, initiator, kind string, verbs ...string) {
	GinkgoHelper()
	s.caused(resource, initiator, verbs...)
	var ways []string
	for _, event := range s.Writes(controlplane.Succeeded, controlplane.ByVerb(verbs...), controlplane.OfSubresource("")) {
		if way := event.Annotations[stage.AuditTrace]; event.ObjectRef.Resource == resource && way != "" {
			ways = append(ways, way)
		}
	}
	Expect(ways).To(ContainElement(ContainSubstring(kind)))
}

// refused expects that Kausality refuses somebody something.
func refused(err error) {
	GinkgoHelper()
	Expect(err).To(MatchError(ContainSubstring("kausality.io")))
}

// isController wants what controllers did.
func isController(event *auditv1.Event) bool {
	user := stage.UserOf(event)
	return strings.HasPrefix(user, "system:serviceaccount:") && !strings.Contains(user, ":generic-garbage-collector")
}

// counted returns the writes of a story that cost somebody something: those that were carried
// out, records apart, which nobody watches.
func (s *scene) counted() controlplane.AuditEvents {
	GinkgoHelper()
	return s.Writes(controlplane.Succeeded, func(event *auditv1.Event) bool {
		return !sets.New("allowancerecords", "leases", "endpoints", "endpointslices", "serviceaccounts", "rolebindings").Has(event.ObjectRef.Resource)
	})
}

// compare plays a story with policies and without, and expects that it costs about the
// same and that nobody is refused.
func compare(ctx context.Context, name string, play func(context.Context, *scene)) {
	GinkgoHelper()
	with := setScene(ctx, true)
	play(ctx, with)
	with.quiet(ctx)
	without := setScene(ctx, false)
	play(ctx, without)
	without.quiet(ctx)

	Expect(with.refusals()).To(BeEmpty(), "somebody was refused")
	got, want := with.counted(), without.counted()
	ratio := float64(len(got)) / float64(len(want))
	report := fmt.Sprintf("%-20s %4d writes with policies, %4d without: %.2f times\n%s", name, len(got), len(want), ratio, table(got, want))
	AddReportEntry("writes", ReportEntryVisibilityAlways, report)
	Expect(len(want)).To(BeNumerically(">", 10), "the story without policies was not played")
	Expect(ratio).To(BeNumerically("<=", mostWrites), report)
}

// table compares who wrote what.
func table(with, without controlplane.AuditEvents) string {
	got, want := with.Tally(), without.Tally()
	keys := map[controlplane.AuditKey]bool{}
	for key := range got {
		keys[key] = true
	}
	for key := range want {
		keys[key] = true
	}
	var lines []string
	for key := range keys {
		lines = append(lines, fmt.Sprintf("  %-60s %-8s %-36s %4d %4d", key.User, key.Verb, strings.Trim(key.Resource+"/"+key.Subresource, "/"), got[key], want[key]))
	}
	slices.SortFunc(lines, cmp.Compare)
	return strings.Join(lines, "\n")
}

// within is how long a story waits for a step of it.
const within = 90 * time.Second

// notStatus wants requests about anything but a status.
func notStatus(event *auditv1.Event) bool { return event.ObjectRef.Subresource != "status" }
