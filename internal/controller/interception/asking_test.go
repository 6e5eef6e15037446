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
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/internal/interception"
)

const key, rendersTo = "key", "kausality-admission"

// desiring is what is rendered for a kind.
func desiring(kind string) interception.Desired {
	meta := metav1.ObjectMeta{Name: rendersTo}
	return interception.Desired{
		Mutating: &admissionregistrationv1.MutatingWebhookConfiguration{
			ObjectMeta: meta, Webhooks: []admissionregistrationv1.MutatingWebhook{{Name: "grant." + kind}},
		},
		Validating: &admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: meta, Webhooks: []admissionregistrationv1.ValidatingWebhook{{Name: "verdict." + kind}},
		},
	}
}

// appears has a replica see what is rendered for a kind, with the seal of a key.
func appears(a *Asking, kind, key string) {
	desired := desiring(kind)
	desired.Mutating.Annotations = map[string]string{interception.AnnotationSeal: interception.Seal(desired.Mutating.Webhooks, key)}
	desired.Validating.Annotations = map[string]string{interception.AnnotationSeal: interception.Seal(desired.Validating.Webhooks, key)}
	a.observe(desired.Mutating, false)
	a.observe(desired.Validating, false)
}

// TestAsking shows when it is known that the API server asks.
func TestAsking(t *testing.T) {
	for name, tc := range map[string]struct {
		// leads is true of the replica that renders.
		leads bool
		do    func(*Asking)
		// lapsed says whether the API server counts at once as one that does not ask, later whether it counts so some
		// seconds after, and count is how many lapses there were.
		lapsed, later bool
		count         int64
	}{
		"nothing happens":               {do: func(*Asking) {}},
		"nothing happens to the leader": {leads: true, do: func(*Asking) {}},
		"another configuration goes": {do: func(a *Asking) {
			a.observe(&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, true)
		}},
		"one is deleted":              {do: func(a *Asking) { a.observe(desiring("a").Mutating, true) }, lapsed: true, later: true, count: 1},
		"one is deleted, of a leader": {leads: true, do: func(a *Asking) { a.observe(desiring("a").Validating, true) }, lapsed: true, later: true, count: 1},
		"one has no webhooks any more": {leads: true, do: func(a *Asking) {
			a.observe(&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: rendersTo}}, false)
		}, lapsed: true, later: true, count: 1},
		"it is about to be taken away, and is not yet": {leads: true, do: func(a *Asking) { a.switchOff() }, lapsed: true, later: true, count: 1},
		"it is taken away, and written again as before": {leads: true, do: func(a *Asking) {
			a.switchOff()
			a.observe(desiring("a").Mutating, true)
			a.observe(desiring("a").Validating, true)
			a.want(desiring("a"))
			appears(a, "a", key)
		}, lapsed: true, count: 1},
		"somebody writes another one":                  {do: func(a *Asking) { appears(a, "b", "theirs") }, lapsed: true, later: true, count: 1},
		"somebody puts back an earlier one":            {leads: true, do: func(a *Asking) { appears(a, "earlier", key) }, lapsed: true, later: true, count: 1},
		"the leader writes another one":                {do: func(a *Asking) { appears(a, "b", key) }},
		"the leader writes another one, as it says":    {leads: true, do: func(a *Asking) { a.want(desiring("b")); appears(a, "b", key) }},
		"the leader is about to":                       {leads: true, do: func(a *Asking) { a.want(desiring("b")) }},
		"what was there before another one comes back": {leads: true, do: func(a *Asking) { a.want(desiring("b")); appears(a, "b", key); appears(a, "a", key) }, lapsed: true, later: true, count: 1},
		"it is put back": {leads: true, do: func(a *Asking) {
			a.observe(desiring("a").Mutating, true)
			appears(a, "a", key)
		}, lapsed: true, count: 1},
		"it is put back, and goes again": {do: func(a *Asking) {
			a.observe(desiring("a").Mutating, true)
			appears(a, "a", key)
			time.Sleep(untilHeard / 2) //nolint:forbidigo // It is the clock of the bubble that passes.
			a.observe(desiring("a").Mutating, true)
		}, lapsed: true, later: true, count: 1},
		"it is put back twice": {do: func(a *Asking) {
			a.observe(desiring("a").Mutating, true)
			appears(a, "a", key)
			time.Sleep(2 * untilHeard) //nolint:forbidigo // It is the clock of the bubble that passes.
			a.observe(desiring("a").Mutating, true)
			appears(a, "a", key)
		}, lapsed: true, count: 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := NewAsking(rendersTo, key)
				var told []bool
				a.Notify(func(lapsed bool) { told = append(told, lapsed) })
				appears(a, "a", key)
				a.begin()
				if tc.leads {
					a.want(desiring("a"))
				}
				tc.do(a)
				count, lapsed := a.Lapses()
				if count != tc.count || lapsed != tc.lapsed {
					t.Errorf("lapsed: %t, %d times, want %t, %d", lapsed, count, tc.lapsed, tc.count)
				}
				time.Sleep(2 * untilHeard) //nolint:forbidigo // It is the clock of the bubble that passes.
				synctest.Wait()
				if _, lapsed := a.Lapses(); lapsed != tc.later {
					t.Errorf("lapsed later: %t, want %t", lapsed, tc.later)
				}
				var want []bool
				for range tc.count {
					want = append(want, true, false)
				}
				if tc.later {
					want = want[:len(want)-1]
				}
				if diff := cmp.Diff(want, told); diff != "" {
					t.Errorf("told (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestAskingFromTheStart shows what a process knows that has just begun.
func TestAskingFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAsking(rendersTo, key)
		a.begin()
		if _, lapsed := a.Lapses(); !lapsed {
			t.Error("nobody is known to ask, and it counts as asked")
		}
		a.want(interception.Desired{})
		time.Sleep(2 * untilHeard) //nolint:forbidigo // It is the clock of the bubble that passes.
		synctest.Wait()
		if _, lapsed := a.Lapses(); lapsed {
			t.Error("nothing is to be asked about, and that counts as a lapse")
		}
	})
}
