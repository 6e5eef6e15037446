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

package policy

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/catalog"
	"kausality.io/operator/internal/controller/controllertest"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// changedAt has the API server have changed an object at a second, by that version.
func changedAt[T metav1.Object](obj T, second, version int) T {
	at := metav1.NewTime(controllertest.Noon.Add(time.Duration(second) * time.Second))
	obj.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "somebody", Time: &at}})
	obj.SetResourceVersion(strconv.Itoa(version))
	return obj
}

// TestAdoptLate shows who is adopting of those whose objects were found to be midway when everybody
// was asked. The policy came at second 2, and everybody is asked from second 6 on.
func TestAdoptLate(t *testing.T) {
	named := func(name string) *unstructured.Unstructured {
		obj := controllertest.Workload("Deployment", name)
		obj.SetUID(types.UID("uid-" + name))
		return obj
	}
	midway := func(name string, second, version int) *unstructured.Unstructured {
		return changedAt(controllertest.Unsettled(named(name)), second, version)
	}
	marked := midway("marked", 4, 40)
	marked.SetAnnotations(map[string]string{v1alpha1.AnnotationApproved: "v1:of something else"})
	granted := withLedger(midway("granted", 4, 40), v1alpha1.Allowance{Kind: "ReplicaSet", Mutation: "*", Generation: 1})
	dropped := withLedger(midway("dropped", 4, 40), v1alpha1.Allowance{Kind: "ReplicaSet", Mutation: "*", Generation: 1})
	holders := controllertest.Holders{
		midway("between", 4, 40),
		midway("just-before", 6, 59),
		midway("just-after", 6, 61),
		midway("unheard", 8, 80),
		midway("used-up", 8, 81),
		withLedger(midway("heard", 7, 70), v1alpha1.Allowance{Kind: "ReplicaSet", Mutation: "*", Generation: 1}),
		midway("later", 9, 90),
		midway("long-before", 1, 10),
		midway("known", 4, 40),
		changedAt(named("settled"), 4, 40),
		marked, granted, dropped,
	}
	p := controllertest.Bounding(controllertest.Initiated(controllertest.PolicyFor("Deployment")), "apps", "replicasets")
	index := policy.NewIndex(controllertest.Compiled(t, changedAt(p, 2, 20)))
	to := arrival{
		policy: index.Policies()[0], before: policy.NewIndex(nil), after: index, wantedAt: record.ChangeOf(p),
		recorded: map[types.UID]newcomer{
			"uid-known":   {midway: true},
			"uid-dropped": {raw: dropped.GetAnnotations()[v1alpha1.AnnotationAllowances]},
		},
	}
	records := &adoptedTargets{judged: []string{"used-up"}}
	adoption := Adoption{
		Holders: holders, Namespaces: controllertest.NoNamespaceLabels{}, Records: records,
		Clock: clocktesting.NewFakePassiveClock(controllertest.Noon),
	}
	for range 2 { // Once is enough for each.
		if err := adoption.adoptLate(t.Context(), to, record.WriteOf(changedAt(&metav1.ObjectMeta{}, 6, 60))); err != nil {
			t.Fatalf("adoptLate(): %v", err)
		}
	}
	if diff := cmp.Diff([]string{"between", "just-before", "just-after", "unheard", "dropped"}, records.names); diff != "" {
		t.Errorf("adopting (-want +got):\n%s", diff)
	}
}

// told has the API server have been told of each policy at a moment.
type told struct {
	Rendering
	rendered bool
	at       record.Moment
}

func (r *told) Rendered(*policy.Policy) bool        { return r.rendered }
func (r *told) ToldAt(*policy.Policy) record.Moment { return r.at }

// unreadable fails the first reads from the API server.
type unreadable struct {
	controllertest.Holders
	times int
}

func (h *unreadable) Live(ctx context.Context, kind schema.GroupVersionKind, key types.NamespacedName) (*unstructured.Unstructured, error) {
	h.times--
	if h.times >= 0 {
		return nil, errors.New("no")
	}
	return h.Holders.Live(ctx, kind, key)
}

// TestArrive shows that objects are looked at when everybody is asked, once more when the cache has
// had the time to show all of them, and not again.
func TestArrive(t *testing.T) {
	p := changedAt(controllertest.Bounding(controllertest.Initiated(controllertest.PolicyFor("Deployment")), "apps", "replicasets"), 2, 20)
	index := policy.NewIndex(controllertest.Compiled(t, p))
	entry := catalog.Entry{Policy: index.Policies()[0], Adopted: index.Policies()[0]}
	holders := &unreadable{times: 1}
	clock := clocktesting.NewFakePassiveClock(controllertest.Noon)
	records, rendering := &adoptedTargets{}, &told{}
	r := &Reconciler{
		Adoption:  Adoption{Holders: holders, Namespaces: controllertest.NoNamespaceLabels{}, Records: records, Clock: clock},
		Rendering: rendering,
		arrivals: map[string]arrival{p.Name: {
			policy: entry.Policy, before: policy.NewIndex(nil), after: index, wantedAt: record.ChangeOf(p), recorded: map[types.UID]newcomer{},
		}},
	}
	r.judgedFrom(changedAt(p, 6, 60))
	begin := func(name string, second int) {
		obj := controllertest.Unsettled(controllertest.Workload("Deployment", name))
		obj.SetUID(types.UID(name))
		holders.Holders = append(holders.Holders, changedAt(obj, second, 10*second))
	}
	begin("first", 4)
	// Another policy has come, and all are compiled anew.
	again := policy.NewIndex(controllertest.Compiled(t, p)).Policies()[0]
	entry = catalog.Entry{Policy: again, Adopted: again}
	look := func(after, again time.Duration, fails bool, want ...string) {
		t.Helper()
		clock.SetTime(controllertest.Noon.Add(after))
		got, err := r.arrive(t.Context(), entry)
		if got != again || (err != nil) != fails {
			t.Errorf("arrive() after %s = %s, %v, want %s, an error: %t", after, got, err, again, fails)
		}
		if diff := cmp.Diff(want, records.names); diff != "" {
			t.Errorf("adopting after %s (-want +got):\n%s", after, diff)
		}
	}
	look(0, 0, false)
	rendering.rendered, rendering.at = true, record.WriteOf(changedAt(&metav1.ObjectMeta{}, 7, 70))
	look(time.Second, 0, true)
	look(2*time.Second, arrivalSettles, false, "first")
	begin("second", 6)
	look(3*time.Second, arrivalSettles-time.Second, false, "first")
	look(2*time.Second+arrivalSettles, 0, false, "first", "second")
	begin("third", 6)
	look(time.Minute, 0, false, "first", "second")
}
