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

package generating

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/generate/plan"
)

func TestWhoIsLookedAtOnceAnObjectIsNotWanted(t *testing.T) {
	object := generate.ID{Kind: "ConfigMap", Namespace: "ns", Name: "made"}
	trigger := generate.ID{Kind: "Namespace", Name: "ns"}
	for _, tc := range []struct {
		name string
		// maker made the object, and others want it beside heir, who ceases to.
		maker  string
		others []string
		want   []request
	}{
		{"nobody else is concerned", "", nil, nil},
		{"it is the heir's own", "heir", nil, nil},
		{"another policy wants it", "", []string{"other"}, []request{{"other", trigger}}},
		{"another policy made it, and left it to the heir", "maker", nil, []request{{"maker", trigger}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBook()
			entryOf := func(name string) *entry {
				return &entry{
					Policy: plan.Policy{PolicyRef: plan.PolicyRef{Name: name}},
					wants:  map[generate.ID]map[generate.ID]bool{}, wantedBy: map[generate.ID]map[generate.ID]bool{},
				}
			}
			heir := entryOf("heir")
			b.put(heir, nil)
			b.wanted(heir, trigger, []generate.Wanted{{ID: object}})
			for _, name := range tc.others {
				other := entryOf(name)
				b.put(other, nil)
				b.wanted(other, trigger, []generate.Wanted{{ID: object}})
			}
			if tc.maker != "" {
				b.noteMade(object, namespaceKind, &plan.Marks{Policy: plan.PolicyRef{Name: tc.maker}, Triggers: []generate.ID{trigger}})
			}
			if diff := cmp.Diff(tc.want, b.wanted(heir, trigger, nil), cmp.AllowUnexported(request{})); diff != "" {
				t.Errorf("looked at again (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNextLook(t *testing.T) {
	refusedFor := func(uncaused bool) *objectOutcome { return &objectOutcome{state: refused, uncaused: uncaused} }
	a, b := generate.ID{Kind: "ConfigMap", Name: "a"}, generate.ID{Kind: "ConfigMap", Name: "b"}
	for name, tc := range map[string]struct {
		of   outcome
		want time.Duration
	}{
		"all is made":                               {of: outcome{objects: map[generate.ID]*objectOutcome{a: {state: made}}}},
		"it could not be evaluated":                 {of: outcome{failure: &v1alpha1.GeneratingFailure{}}, want: time.Second},
		"a kind is not served":                      {of: outcome{unserved: []schema.GroupVersionKind{{Version: "v1", Kind: "ConfigMapp"}}}, want: time.Second},
		"a right is missing":                        {of: outcome{objects: map[generate.ID]*objectOutcome{a: refusedFor(false), b: {state: made}}}, want: time.Second},
		"a cause is missing":                        {of: outcome{objects: map[generate.ID]*objectOutcome{a: refusedFor(true), b: {state: made}}}, want: seldom * time.Second},
		"a cause is missing, and elsewhere a right": {of: outcome{objects: map[generate.ID]*objectOutcome{a: refusedFor(true), b: refusedFor(false)}}, want: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.of.nextLook(time.Second); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// TestWhatIsKnownOfOthers has other policies come to want an object after a step for it was planned.
func TestWhatIsKnownOfOthers(t *testing.T) {
	object := generate.ID{Kind: "ConfigMap", Namespace: "ns", Name: "made"}
	trigger := generate.ID{Kind: "Namespace", Name: "ns"}
	created := time.Now()
	policyOf := func(name string, age time.Duration, synchronize bool) *v1alpha1.GeneratingPolicy {
		return &v1alpha1.GeneratingPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(created.Add(-age))},
			Spec:       v1alpha1.GeneratingPolicySpec{Evaluation: v1alpha1.GeneratingEvaluation{Synchronize: synchronize}},
		}
	}
	once, kept, younger := policyOf("once", time.Hour, false), policyOf("kept", time.Hour, true), policyOf("younger", -time.Hour, false)
	create, takeOver := plan.Step{ID: object, Do: plan.Create, Reason: plan.Wanted}, plan.Step{ID: object, Do: plan.Apply, Reason: plan.TakenOver}
	remove, mend := plan.Step{ID: object, Do: plan.Delete, Reason: plan.NotWanted}, plan.Step{ID: object, Do: plan.Apply, Reason: plan.Modified}
	type looked int
	const (
		never looked = iota
		begun
		done
	)
	for name, tc := range map[string]struct {
		step  plan.Step
		other *v1alpha1.GeneratingPolicy
		// looked is how far the other policy has come since the start, and wants whether it wants the object by
		// now.
		looked looked
		wants  bool
		want   bool
	}{
		"made, and nobody else wants it":                            {create, once, done, false, true},
		"made, and an older one begins to want it":                  {create, kept, done, true, false},
		"made, and an older one has not looked":                     {create, kept, never, false, true},
		"made, and an older one that makes once has not looked":     {create, once, never, false, false},
		"made, and an older one that makes once is about to":        {create, once, begun, false, false},
		"made, and a younger one that makes once has not looked":    {create, younger, never, false, true},
		"taken over, and nobody else wants it":                      {takeOver, once, done, false, true},
		"taken over of an older one that has made it meanwhile":     {takeOver, once, done, true, false},
		"taken over, and another one has not looked":                {takeOver, younger, begun, false, false},
		"deleted, and nobody else wants it":                         {remove, younger, done, false, true},
		"deleted, and another one begins to want it":                {remove, younger, done, true, false},
		"deleted, and another one has not looked":                   {remove, younger, begun, false, false},
		"put back, and another one has not looked":                  {mend, kept, begun, false, true},
		"put back, and an older one that makes once has not looked": {mend, once, never, false, false},
		"put back, and an older one begins to want it":              {mend, kept, done, true, false},
		"left as it is, and another one begins to want it as well":  {plan.Step{ID: object, Do: plan.Leave}, kept, done, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			self := policyOf("self", 0, true)
			scheme := runtime.NewScheme()
			if err := v1alpha1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			r := &Reconciler{book: newBook(), Clock: clock.RealClock{}, Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(self, tc.other).Build()}
			e, other := r.entryOf(self), r.entryOf(tc.other)
			r.book.put(e, map[generate.ID]bool{})
			if tc.looked > never {
				r.book.put(other, map[generate.ID]bool{})
			}
			if tc.looked == begun {
				other.pending[trigger] = true
			}
			l := &look{Reconciler: r, of: e, req: request{self.Name, trigger}, out: &outcome{objects: map[generate.ID]*objectOutcome{}}}
			k := r.book.of(l.req, object)
			if tc.wants {
				r.book.wanted(other, trigger, []generate.Wanted{{ID: object}})
			}
			got, err := l.knowsOthers(t.Context(), tc.step, k)
			if err != nil || got != tc.want {
				t.Errorf("got %t (%v), want %t", got, err, tc.want)
			}
			if isLooked := l.unseen || l.out.objects[object] != nil && e.deferred[trigger]; isLooked == got {
				t.Errorf("it is looked at again: %t", isLooked)
			}
		})
	}
}

// TestLookHearsWhatChangesMeanwhile shows that a trigger is looked at again where something changes that was read for
// it, before it is known to have been.
func TestLookHearsWhatChangesMeanwhile(t *testing.T) {
	trigger := generate.ID{Kind: "Namespace", Name: "shop"}
	read := []generate.Read{{Resource: allSecrets, Namespace: "sources", Name: "ca"}}
	for name, tc := range map[string]struct {
		// changed is the name of a Secret that changes during the look, or before it.
		changed string
		before  bool
		// isRead is set where the trigger has read it in an earlier look: then who changes it is heard at once.
		isRead bool
		want   []request
	}{
		"what it reads":                     {changed: "ca", want: []request{{"p", trigger}}},
		"what it reads, and read before":    {changed: "ca", isRead: true, want: []request{{"p", trigger}}},
		"what it does not read":             {changed: "db"},
		"what it reads, before it looks":    {changed: "ca", before: true},
		"nothing changes while it is there": {},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBook()
			b.put(&entry{
				Policy:  plan.Policy{PolicyRef: plan.PolicyRef{Name: "p"}},
				pending: map[generate.ID]bool{}, triggers: map[generate.ID]*outcome{}, readers: readers{},
			}, nil)
			out := &outcome{matched: true, reads: read}
			change := func() {
				if tc.changed != "" {
					b.readersOf(allSecrets, "sources", tc.changed, nil)
				}
			}
			if tc.isRead {
				e, during := b.begin("p")
				b.looked(e, trigger, out, during)
				b.end(e, during)
			}
			if tc.before {
				change()
			}
			e, during := b.begin("p")
			if !tc.before {
				change()
			}
			if diff := cmp.Diff(tc.want, b.looked(e, trigger, out, during), cmp.AllowUnexported(request{})); diff != "" {
				t.Errorf("looked at again (-want +got):\n%s", diff)
			}
			b.end(e, during)
			if len(e.underway) > 0 {
				t.Errorf("%d looks go on", len(e.underway))
			}
		})
	}
}
