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
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/record"
)

// otherKey is an annotation that another mutating webhook writes.
const otherKey = "example.org/other"

// replicaOf returns the mutating webhook of another replica, in the same world.
func replicaOf(m *Mutator) *Mutator {
	return &Mutator{Gatherer: &Gatherer{
		Policies: m.Policies, Objects: m.Objects, Namespaces: m.Namespaces, Records: m.Records, Notices: m.Notices, Kinds: m.Kinds, Pods: m.Pods,
		Access: m.Access, Generators: m.Generators, Upgrades: m.Upgrades, Versions: m.Versions, Gates: m.Gates, Holds: m.Holds,
		OperatorNamespace: m.OperatorNamespace, OperatorUser: m.OperatorUser, Platform: m.Platform, Baseline: m.Baseline, Current: m.Current,
		Clock: m.Clock, DigestKey: m.DigestKey,
	}}
}

// askAgain asks the mutating webhook about a request that it has answered, as the API server does where
// another one has changed the object since, under another UID: another replica first, and then the same. Neither
// writes anything else then, nor has anything else to say, to the user or to the records. The result is the object
// as it is then.
func askAgain(t *testing.T, mutator *Mutator, req admission.Request, first admission.Response) *unstructured.Unstructured {
	t.Helper()
	between := applied(t, req, first)
	changed := annotate(between.DeepCopy(), otherKey, "x")
	req.UID, req.Object = "2", encoded(t, managed(changed))
	w, isWorld := mutator.Notices.(*world)
	if !isWorld {
		t.Fatalf("notices go to %T", mutator.Notices)
	}
	told, notes := len(w.observed), w.notes()
	var after *unstructured.Unstructured
	for _, asked := range []struct {
		who string
		*Mutator
	}{{"another replica", replicaOf(mutator)}, {"the same replica", mutator}} {
		resp := asked.Handle(t.Context(), req)
		after = applied(t, req, resp)
		if diff := cmp.Diff(unmanaged(changed).Object, unmanaged(after).Object); diff != "" {
			t.Errorf("the object, %s asked again (-first +again):\n%s", asked.who, diff)
		}
		for _, warning := range resp.Warnings {
			if !slices.Contains(first.Warnings, warning) {
				t.Errorf("asked again, %s warns %q", asked.who, warning)
			}
		}
		again := slices.ContainsFunc(w.observed[told:], func(o record.Outcome) bool { return o.Full == "" })
		if again || w.notes() != notes {
			t.Errorf("asked again, %s tells records %v, and there are %d notes of broken glass after %d", asked.who, w.observed[told:], w.notes(), notes)
		}
	}
	return after
}

// managed gives an object the managed fields of somebody who has written annotations.
func managed(obj *unstructured.Unstructured, keys ...string) *unstructured.Unstructured {
	written := make([]string, 0, len(keys)+1)
	for _, key := range append([]string{otherKey}, keys...) {
		written = append(written, `"f:`+key+`":{}`)
	}
	fields := &metav1.FieldsV1{}
	fields.SetRawString(`{"f:metadata":{"f:annotations":{".":{},` + strings.Join(written, ",") + `}}}`)
	obj = obj.DeepCopy()
	obj.SetManagedFields(append(obj.GetManagedFields(), metav1.ManagedFieldsEntry{
		Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: "FieldsV1",
		FieldsV1: fields,
	}))
	return obj
}

func unmanaged(obj *unstructured.Unstructured) *unstructured.Unstructured {
	obj = obj.DeepCopy()
	obj.SetManagedFields(nil)
	return obj
}

// notes returns how many notes of broken glass there are.
func (w *world) notes() int {
	n := 0
	for _, rec := range w.records {
		n += len(rec.Status.BrokenGlass)
	}
	return n
}

// The API server asks again where another mutating webhook has changed the object, and maybe another replica:
// that does not take what the first has written for what somebody forges.
func TestAskedAgainElsewhere(t *testing.T) {
	tests := map[string]struct {
		before, after *unstructured.Unstructured
		// forge edits the ledger in between.
		forge func(ledger.Ledger) ledger.Ledger
		warns string
	}{
		"a change":   {before: deployment(3), after: deployment(5)},
		"a creation": {after: deployment(3)},
		"another webhook gives it more": {
			before: deployment(3), after: deployment(5), warns: "has no effect",
			forge: func(l ledger.Ledger) ledger.Ledger { return l.Merge(mayScale("mallory", 9)) },
		},
		"another webhook makes it another's": {
			before: deployment(3), after: deployment(5), warns: "has no effect",
			forge: func(ledger.Ledger) ledger.Ledger { return ledger.Ledger{}.Merge(mayScale("mallory", 5)) },
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := &world{}
			mutator, _ := w.hooks(t, deploymentPolicy)
			other, _ := w.hooks(t, deploymentPolicy)
			req := asking(t, "alice", platformTeam, tt.before, tt.after)
			first := applied(t, req, mutator.Handle(t.Context(), req))
			between := annotate(first.DeepCopy(), otherKey, "x")
			if tt.forge != nil {
				l, err := ledger.Decode(between.GetAnnotations()[ledgerKey])
				if err != nil {
					t.Fatal(err)
				}
				annotate(between, ledgerKey, tt.forge(l).Encode())
			}
			req.Object = encoded(t, between)
			for replica, hook := range map[string]*Mutator{"the same": mutator, "another": other} {
				resp := hook.Handle(t.Context(), req)
				if warned := strings.Join(resp.Warnings, "\n"); tt.warns == "" != (warned == "") || !strings.Contains(warned, tt.warns) {
					t.Errorf("%s replica warns %q, want %q", replica, warned, tt.warns)
				}
				if diff := cmp.Diff(first.GetAnnotations()[ledgerKey], applied(t, req, resp).GetAnnotations()[ledgerKey]); diff != "" {
					t.Errorf("the ledger by %s replica (-first +again):\n%s", replica, diff)
				}
			}
		})
	}
}

// What a request asked for counts when it is asked about again, and does for no other request.
func TestAskedAgainIsTheSameRequest(t *testing.T) {
	waiting := func() *unstructured.Unstructured { return unsettled(deployment(5, held("spec.replicas", "3"))) }
	approving := annotate(waiting(), v1alpha1.AnnotationApprove, "*")
	tests := map[string]struct {
		user   string
		groups []string
		edit   func(*unstructured.Unstructured)
		// written is true where the object has what was written for the first request.
		written  bool
		approved bool
	}{
		"the same request":                        {user: "alice", groups: platformTeam, written: true, approved: true},
		"another one of the same user":            {user: "alice", groups: platformTeam},
		"another one, with a copy, of a stranger": {user: "mallory", written: true},
		"another one, with a copy, of the object later": {
			user: "alice", groups: platformTeam, written: true, edit: func(obj *unstructured.Unstructured) { obj.SetResourceVersion("8") },
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := &world{records: map[types.UID]*v1alpha1.AllowanceRecord{}}
			mutator, _ := w.hooks(t, deploymentPolicy)
			req := asking(t, "alice", platformTeam, waiting(), approving)
			granted := applied(t, req, mutator.Handle(t.Context(), req))
			told := len(w.observed)
			before, after := waiting(), annotate(waiting(), otherKey, "x")
			if tt.written {
				after = annotate(granted.DeepCopy(), otherKey, "x")
			}
			if tt.edit != nil {
				tt.edit(before)
			}
			req = asking(t, tt.user, tt.groups, before, after)
			got := maps.Clone(applied(t, req, mutator.Handle(t.Context(), req)).GetAnnotations())
			if approved := got[ledgerKey] == granted.GetAnnotations()[ledgerKey] && got[approvedKey] == ""; approved != tt.approved {
				t.Errorf("approved %t, want %t: %v", approved, tt.approved, got)
			}
			if tt.approved && len(w.observed) > told {
				t.Errorf("the record is told again: %v", w.observed[told:])
			}
		})
	}
}
