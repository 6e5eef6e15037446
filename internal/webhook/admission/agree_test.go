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

package admission

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lifecycle"
	"kausality.io/operator/internal/record"
)

// storyPolicies have rules that allow the same, some of it, and different things, one with a
// condition, and two groups of initiators, of whom one may change only part of the object. The last
// only warns, about all of the spec.
var storyPolicies = []string{deploymentPolicy + `  - trigger: spec.template
    policies:
    - target: {apiGroup: apps, apiVersion: v1, resource: replicasets}
      relation: ControllerChild
      verbs: [Create, Update]
      mutations: [{jsonPath: spec.replicas}]
  - trigger: spec.paused
    conditions: [object.spec.replicas > 1]
    policies:
    - target: {apiGroup: apps, apiVersion: v1, resource: replicasets}
      relation: ControllerChild
      mutations: [{jsonPath: spec.replicas}, {jsonPath: spec.minReadySeconds}]
`, `
metadata: {name: notes}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  validationActions: [Deny]
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  - {kind: User, name: bob, mayInitiate: true}
  rules:
  - trigger: spec.note
    policies:
    - target: {apiGroup: apps, apiVersion: v1, resource: replicasets}
      relation: ControllerChild
      mutations: [{jsonPath: metadata.labels}]
  - trigger: metadata.labels
    policies:
    - target: {apiGroup: apps, apiVersion: v1, resource: replicasets}
      relation: ControllerChild
      mutations: [{jsonPath: metadata.labels}]
`, `
metadata: {name: trial}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  validationActions: [Warn]
  subjects: [{kind: User, name: bea, mayInitiate: true}]
  rules:
  - trigger: spec
    policies: [{target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: ["*"]}]
`}

// storyFields are what the people of a story change, and what they approve.
var storyFields = []string{"spec.replicas", "spec.template.image", "spec.template.env", "spec.paused", "spec.note", "metadata.labels.team", "spec.untouched"}

// storyPeople may initiate everything, what only the policy that warns is about, the notes, and nothing.
var storyPeople = map[string][]string{"alice": platformTeam, "bea": nil, "bob": nil, "mallory": nil}

// story is an object over which requests come, with its record.
type story struct {
	w         *world
	mutator   *Mutator
	validator *Validator
	object    *unstructured.Unstructured
	counts    bool
	versions  int
	// numbers is true if people only change the number of replicas, by way of both webhooks, and approve
	// nothing: the same number comes back often then.
	numbers bool
	// hers are the values that alice has last written.
	hers map[string]any
	// away is true while the policy by which alice may initiate is not in effect.
	away bool
	// told are the requests, for whoever has to explain one.
	told []string
}

func newStory(t *testing.T, rt *rapid.T) *story {
	t.Helper()
	object := deployment(3)
	for _, path := range [][]string{{"spec", "template", "image"}, {"spec", "note"}} {
		if err := unstructured.SetNestedField(object.Object, "1", path...); err != nil {
			rt.Fatal(err)
		}
	}
	s := &story{w: &world{}, hers: map[string]any{}, counts: rapid.Bool().Draw(rt, "has generations")}
	s.becomes(unsettled(object))
	s.numbers = rapid.Bool().Draw(rt, "numbers alone")
	if !s.counts {
		object.SetGeneration(0)
	}
	s.w.records = map[types.UID]*v1alpha1.AllowanceRecord{object.GetUID(): {Spec: v1alpha1.AllowanceRecordSpec{TargetRef: record.TargetOf(object)}}}
	s.mutator, s.validator = s.w.hooks(t, storyPolicies...)
	return s
}

// written returns the object as a request has it, and says what that does.
func (s *story) written(rt *rapid.T, fields []string) (*unstructured.Unstructured, string) {
	after := s.object.DeepCopy()
	var says []string
	for _, field := range rapid.SliceOfNDistinct(rapid.SampledFrom(fields), 0, min(3, len(fields)), rapid.ID).Draw(rt, "fields") {
		path := strings.Split(field, ".")
		var value any
		switch field {
		case "spec.replicas":
			value = rapid.SampledFrom([]any{int64(1), int64(3), int64(5)}).Draw(rt, field)
		case "spec.paused":
			value = rapid.Bool().Draw(rt, field)
		default:
			value = rapid.SampledFrom([]any{"1", "2", "3", nil}).Draw(rt, field)
		}
		says = append(says, fmt.Sprintf("%s=%v", field, value))
		if value == nil {
			unstructured.RemoveNestedField(after.Object, path...)
		} else if err := unstructured.SetNestedField(after.Object, value, path...); err != nil {
			rt.Fatal(err)
		}
	}
	if !s.numbers && rapid.Bool().Draw(rt, "approves") {
		parts := rapid.SliceOfNDistinct(rapid.SampledFrom(append([]string{"*", "spec", "spec.template", "spec.template.*"}, storyFields...)), 1, 3, rapid.ID).Draw(rt, "approved")
		annotate(after, v1alpha1.AnnotationApprove, strings.Join(parts, ","))
		says = append(says, fmt.Sprint("approves ", parts))
	}
	return after, strings.Join(says, " ")
}

// stored lets a request through both webhooks, the first of them where it is asked, and
// returns what would be stored, if it passes, and what is pending then.
func (s *story) stored(t *testing.T, rt *rapid.T, user string, after *unstructured.Unstructured, mutates bool) (*unstructured.Unstructured, []v1alpha1.PendingGrant, admission.Response) {
	t.Helper()
	s.w.pending = nil
	after = after.DeepCopy()
	if mutates {
		resp := s.mutator.Handle(t.Context(), asking(t, user, storyPeople[user], s.object, after))
		if !resp.Allowed {
			return nil, nil, resp
		}
		after.SetAnnotations(patched(t, after, resp))
		req := asking(t, user, storyPeople[user], s.object, managed(after))
		for who, asked := range map[string]*Mutator{"the same replica": s.mutator, "another replica": replicaOf(s.mutator)} {
			again := asked.Handle(t.Context(), req)
			isNew := func(warning string) bool { return !slices.Contains(resp.Warnings, warning) }
			// Without generations, one that is granted again is the same as before, whatever it is for now.
			result := after.DeepCopy()
			result.SetAnnotations(patched(t, after, again))
			same := len(again.Patches) == 0 || !s.counts && cmp.Equal(s.effective(t, rt, after, s.with(nil)...), s.effective(t, rt, result, s.with(nil)...))
			if !same || slices.ContainsFunc(again.Warnings, isNew) {
				t.Fatalf("another webhook has %s asked again, and it says %v, with patches %v of %v\n%s", who, again.Warnings, again.Patches, after.GetAnnotations(), s)
			}
		}
	}
	// Of a Deployment a change of an annotation counts as well.
	same := cmp.Equal(s.object.Object["spec"], after.Object["spec"]) && cmp.Equal(s.object.GetAnnotations(), after.GetAnnotations())
	if s.counts && !same {
		counted(after)
	}
	resp := s.validator.Handle(t.Context(), asking(t, user, storyPeople[user], s.object, after))
	if !resp.Allowed {
		return nil, nil, resp
	}
	return after, s.w.pending, resp
}

// effective returns what counts of the object's ledger, with what is pending, and what is
// withheld.
func (s *story) effective(t *testing.T, rt *rapid.T, object *unstructured.Unstructured, pending ...v1alpha1.PendingGrant) []string {
	t.Helper()
	stored, err := ledger.Decode(ledger.Annotation(object, ledger.NameAllowances))
	if err != nil {
		rt.Fatal(err)
	}
	rec := s.w.records[object.GetUID()].DeepCopy()
	rec.Spec.LedgerKnown = true
	rec.Status.PendingGrants = pending
	effective := record.Effective(rec, object, stored)
	policies := s.validator.Policies.Index().For(object.GroupVersionKind().GroupKind())
	ended := lifecycle.Consumed(t.Context(), object, policies, lifecycle.Unknown)
	out := map[string]bool{}
	for _, e := range effective.Without(ended) {
		if !e.IsWithheld() {
			out[fmt.Sprintf("%s %s by %s at %d", e.Kind, e.Mutation, e.Initiator, e.Generation)] = true
		}
	}
	for _, d := range s.validator.standing(t.Context(), object, policies, effective, rec).Withheld() {
		out["withheld "+d.Path.String()] = true
	}
	return slices.Sorted(maps.Keys(out))
}

// TestBothWebhooksAgree makes random requests one after the other. If both webhooks are asked, nothing
// is pending; if the mutating one is not, the same counts as if it had been.
func TestBothWebhooksAgree(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newStory(t, rt)
		requests := []string{"write", "write", "write", "number", "scale", "report", "policy"}
		if s.numbers {
			requests = []string{"number", "number", "scale", "policy"}
		}
		for range rapid.IntRange(1, 8).Draw(rt, "requests") {
			switch rapid.SampledFrom(requests).Draw(rt, "request") {
			case "scale":
				s.scale(t, rt)
			case "report":
				s.report(t, rt)
			case "policy":
				s.policy(t, rt)
			case "number":
				s.write(t, rt, "spec.replicas")
			default:
				s.write(t, rt, storyFields...)
			}
		}
	})
}

// write has somebody write some of the fields of the object, with the mutating webhook and without.
func (s *story) write(t *testing.T, rt *rapid.T, fields ...string) {
	t.Helper()
	user := rapid.SampledFrom(slices.Sorted(maps.Keys(storyPeople))).Draw(rt, "user")
	after, says := s.written(rt, fields)
	s.told = append(s.told, user+": "+says)
	both, pending, resp := s.stored(t, rt, user, after, true)
	if both == nil {
		rt.Fatalf("refused: %+v\n%s", resp.Result, s)
	}
	if !s.counts && slices.ContainsFunc(pending, s.repeats) {
		// Nothing tells that this was approved: it waits, until somebody approves it again.
		s.becomes(both)
		s.keep(pending)
		clear(s.hers)
		return
	}
	// What is pending for the object already, and has come to its end, cannot be taken out of its ledger.
	// An earlier grant that would count again may have to be overruled by a mark.
	returns := record.Returning(s.w.records[s.object.GetUID()], s.object) != nil
	if len(s.with(nil)) == 0 && len(pending) > 0 || slices.ContainsFunc(pending, func(p v1alpha1.PendingGrant) bool {
		return slices.ContainsFunc(p.Allowances, func(a v1alpha1.Allowance) bool { return !returns || a.Relation != v1alpha1.RelationWithheld })
	}) {
		rt.Fatalf("pending %+v\n%s\nand after %v", pending, s, both.GetAnnotations())
	}
	want := s.effective(t, rt, both, s.with(pending)...)
	s.judge(rt, user, after, want)
	alone, pendingAlone, resp := s.stored(t, rt, user, after, false)
	if alone == nil {
		rt.Fatalf("refused alone: %+v\n%s", resp.Result, s)
	}
	if diff := cmp.Diff(want, s.effective(t, rt, alone, s.with(pendingAlone)...)); diff != "" {
		rt.Fatalf("something else counts where the mutating webhook was not asked (-both +alone):\n%s%s\npending %+v", diff, s, pendingAlone)
	}
	if !s.numbers && rapid.Bool().Draw(rt, "alone") {
		s.told = append(s.told, "  without the mutating webhook")
		s.becomes(alone)
		s.keep(pendingAlone)
		clear(s.hers) // A second change by somebody else may bring back the value before hers.
		return
	}
	s.becomes(both)
	if rapid.Bool().Draw(rt, "the operator looks") {
		s.fold()
	} else {
		s.told = append(s.told, "  before the operator looks")
		s.keep(pending)
	}
}

// scale has somebody scale the object, of which the mutating webhook cannot tell.
func (s *story) scale(t *testing.T, rt *rapid.T) {
	t.Helper()
	user := rapid.SampledFrom(slices.Sorted(maps.Keys(storyPeople))).Draw(rt, "user")
	to := rapid.SampledFrom([]int64{1, 3, 5}).Draw(rt, "to")
	s.told = append(s.told, fmt.Sprintf("%s: scales to %d", user, to))
	after := s.object.DeepCopy()
	if err := unstructured.SetNestedField(after.Object, to, "spec", "replicas"); err != nil {
		rt.Fatal(err)
	}
	both, _, _ := s.stored(t, rt, user, after, true)
	s.w.pending = nil
	req := scaling(t, user, storyPeople[user], replicasOf(s.object), to)
	s.w.cached = map[string]*unstructured.Unstructured{key("Deployment", "web"): s.object}
	s.w.live = s.w.cached
	resp := s.validator.Handle(t.Context(), req)
	s.w.cached, s.w.live = nil, nil
	if !resp.Allowed {
		return
	}
	if s.counts && replicasOf(after) != replicasOf(s.object) {
		counted(after)
	}
	scaled := s.effective(t, rt, after, s.with(s.w.pending)...)
	if diff := cmp.Diff(s.effective(t, rt, both), scaled); diff != "" {
		rt.Fatalf("something else counts of a scale than of an update (-update +scale):\n%s%s\npending %+v", diff, s, s.w.pending)
	}
	s.judge(rt, user, after, scaled)
	version := s.object.GetResourceVersion()
	s.becomes(after)
	for i, p := range s.w.pending {
		// As its first look does.
		s.w.pending[i].Allowances, s.w.pending[i].After = record.Allowances(p, after), version
	}
	s.keep(s.w.pending)
}

func replicasOf(obj *unstructured.Unstructured) int64 {
	n, _, _ := unstructured.NestedInt64(obj.Object, "spec", "replicas")
	return n
}

// report has the controller of the object say that it is done with its generation, or with the one
// before.
func (s *story) report(t *testing.T, rt *rapid.T) {
	t.Helper()
	before, _, _ := unstructured.NestedInt64(s.object.Object, "status", "observedGeneration")
	observed := max(before, s.object.GetGeneration()-rapid.Int64Range(0, 1).Draw(rt, "behind"))
	s.told = append(s.told, fmt.Sprintf("reported %d", observed))
	clear(s.hers) // It may prove that what is withheld is carried out.
	after := s.object.DeepCopy()
	n := replicasOf(after)
	after.Object["status"] = map[string]any{
		"observedGeneration": observed, "replicas": n, "updatedReplicas": n, "readyReplicas": n, "availableReplicas": n,
	}
	req := func(after *unstructured.Unstructured) admission.Request {
		req := asking(t, deployer, nil, s.object, after)
		req.SubResource = subresourceStatus
		return req
	}
	s.w.pending = nil
	resp := s.mutator.Handle(t.Context(), req(after))
	if !resp.Allowed {
		rt.Fatalf("refused: %+v\n%s", resp.Result, s)
	}
	want := s.effective(t, rt, after, s.with(nil)...)
	after.SetAnnotations(patched(t, after, resp))
	if resp := s.validator.Handle(t.Context(), req(after)); !resp.Allowed {
		rt.Fatalf("refused: %+v\n%s", resp.Result, s)
	}
	if diff := cmp.Diff(want, s.effective(t, rt, after)); diff != "" || len(s.w.pending) > 0 {
		rt.Fatalf("a status changes what counts (-without it +with it):\n%s%s\npending %+v", diff, s, s.w.pending)
	}
	s.becomes(after)
	s.fold()
}

// policy has the policy by which alice may initiate go, warn only, or come back.
func (s *story) policy(t *testing.T, rt *rapid.T) {
	t.Helper()
	texts := slices.Clone(storyPolicies)
	s.away = true
	switch what := rapid.SampledFrom([]string{"goes", "warns", "is back", "is back"}).Draw(rt, "policy"); what {
	case "goes":
		texts = texts[1:]
	case "warns":
		texts[0] = strings.Replace(texts[0], "validationActions: [Deny]", "validationActions: [Warn]", 1)
	default:
		s.away = false
	}
	s.told = append(s.told, fmt.Sprintf("away = %t with %d policies", s.away, len(texts)))
	s.mutator.Policies.Set(compiled(t, texts...))
}

// hersAlone are fields on which only alice may initiate, whatever else the object is like.
var hersAlone = []string{"spec.replicas", "spec.template.image", "spec.template.env"}

// judge checks that a field is withheld exactly if it has another value than alice last wrote into it. It
// skips fields of which that is not known, as something else may have been approved since.
func (s *story) judge(rt *rapid.T, user string, after *unstructured.Unstructured, effective []string) {
	for _, field := range hersAlone {
		was, is := valueAt(s.object, field), valueAt(after, field)
		if user == "alice" && was != is {
			s.hers[field] = is
		}
		hers, known := s.hers[field]
		if s.away {
			// Nobody is held back. What was approved before may become something else that is; what was not,
			// only by who has a right to it.
			if was != is && (hers == was || user == "alice" || user == "bea") {
				delete(s.hers, field)
			}
			continue
		}
		if user == "alice" && known && hers != is && after.GetAnnotations()[v1alpha1.AnnotationApprove] != "" {
			delete(s.hers, field) // It may be approved.
			continue
		}
		withheld := slices.ContainsFunc(effective, func(text string) bool {
			path, ok := strings.CutPrefix(text, "withheld ")
			return ok && (path == field || strings.HasPrefix(field, path+"."))
		})
		if known && withheld != (hers != is) {
			rt.Fatalf("%s is %v, and alice wrote %v: withheld = %t, as %v\n%s", field, is, hers, withheld, effective, s)
		}
	}
}

// valueAt returns the value of a field of an object, nil if it is false: that is the same as none.
func valueAt(obj *unstructured.Unstructured, field string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(obj.Object, strings.Split(field, ".")...)
	if on, is := value.(bool); is && !on {
		return nil
	}
	return value
}

// becomes has the object stored.
func (s *story) becomes(object *unstructured.Unstructured) {
	s.versions++
	s.object = object
	s.object.SetResourceVersion(strconv.Itoa(s.versions))
}

// repeats reports whether a grant is the same as one that is pending, or a part of one.
func (s *story) repeats(p v1alpha1.PendingGrant) bool {
	return !slices.ContainsFunc(p.Allowances, func(a v1alpha1.Allowance) bool {
		return a.Relation != v1alpha1.RelationWithheld || !slices.ContainsFunc(s.with(nil), func(old v1alpha1.PendingGrant) bool {
			return slices.ContainsFunc(old.Allowances, func(b v1alpha1.Allowance) bool { return a.Relation == b.Relation && a.Mutation == b.Mutation })
		})
	})
}

// with returns what is pending, with more of it.
func (s *story) with(more []v1alpha1.PendingGrant) []v1alpha1.PendingGrant {
	var out []v1alpha1.PendingGrant
	for _, p := range slices.Concat(s.w.records[s.object.GetUID()].Status.PendingGrants, more) {
		out = append(slices.DeleteFunc(out, func(old v1alpha1.PendingGrant) bool { return old.ID == p.ID }), p)
	}
	return out
}

// keep has the record of the object say what is pending.
func (s *story) keep(more []v1alpha1.PendingGrant) {
	s.w.records[s.object.GetUID()].Status.PendingGrants = s.with(more)
}

// fold has it say so no more, as the ledger does.
func (s *story) fold() { s.w.records[s.object.GetUID()].Status.PendingGrants = nil }

func (s *story) String() string {
	return fmt.Sprintf("of\n%s\nat generation %d with %v\nand pending %+v", strings.Join(s.told, "\n"), s.object.GetGeneration(), s.object.GetAnnotations(),
		s.w.records[s.object.GetUID()].Status.PendingGrants)
}
