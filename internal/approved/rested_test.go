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

package approved

import (
	"testing"

	"kausality.io/operator/internal/change"
)

// TestReturns shows when it is known that children have to be led back to what is approved: where the object had
// settled with that, something of it was withheld, and all of it was taken back.
func TestReturns(t *testing.T) {
	const (
		good    = `{spec: {image: good, size: 3}}`
		evil    = `{spec: {image: evil, size: 3}}`
		larger  = `{spec: {image: evil, size: 4}}`
		again   = `{spec: {image: good, size: 4}}`
		another = `{spec: {image: worse, size: 3}}`
	)
	tests := map[string]struct {
		// unsettled is true where the object had not settled when it was changed first.
		unsettled bool
		// observed is the generation that its status is about when it is changed last, 2 where it is zero.
		observed int64
		steps    []string
		// caused are the steps that who may makes, and approves that whose difference is approved.
		caused, approves int
		want             bool
	}{
		"taken back":                                     {steps: []string{evil, good}, want: true},
		"changed again, and taken back":                  {steps: []string{evil, another, good}, want: true},
		"taken back, and written once more":              {steps: []string{evil, good, good}, want: true},
		"taken back, and withheld again, and back":       {steps: []string{evil, good, evil, good}, want: true},
		"taken back by who may":                          {steps: []string{evil, good}, caused: 2, want: true},
		"still there":                                    {steps: []string{evil}},
		"taken back before its status tells of it":       {steps: []string{evil, good}, observed: 1, want: true},
		"of an object that had not settled":              {steps: []string{evil, good}, unsettled: true},
		"approved":                                       {steps: []string{evil}, approves: 1},
		"approved, and changed back by who may":          {steps: []string{evil, good}, approves: 1, caused: 2},
		"another field changed that no rule is about":    {steps: []string{evil, larger, again}},
		"the same, along with taking it back":            {steps: []string{evil, again}},
		"the same, afterwards":                           {steps: []string{evil, good, again}},
		"the same, afterwards, and back":                 {steps: []string{evil, good, again, good}},
		"who may changes something once it is as it was": {steps: []string{evil, good, another}, caused: 3},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			image := triggers(patterns(t, "spec.image"))
			settled := !tt.unsettled
			of := func(text string, generation int64) Object {
				return Object{
					UID: uid, Generation: generation, Fields: object(t, text), Triggers: image,
					Settled: func() bool { return settled }, Observed: 1,
				}
			}
			now := of(good, 1)
			var state *State
			for i, text := range tt.steps {
				next := of(text, int64(i+2))
				if next.Observed = 2; tt.observed > 0 {
					next.Observed = tt.observed
				}
				r := Request{New: next, User: "mallory"}
				for _, c := range change.Find(now.Fields, next.Fields, change.Options{}) {
					if image(c) && tt.caused != i+1 {
						r.Uncaused = append(r.Uncaused, c)
					}
				}
				if tt.approves == i+1 {
					r.Approves = func(Difference) bool { return true }
				}
				after := Now(state, Pending{}, now).After(r)
				state, now, settled = stored(t, after), next, false
			}
			st := Now(state, Pending{}, now)
			if got := st.Returns(); got != tt.want || state.Returns() != tt.want {
				t.Errorf("returns %v, and its state %v", got, state.Returns())
			}
			if st.Settle().State() != nil && len(st.Differences) == 0 {
				t.Error("something is kept of an object that has settled again")
			}
			changed := of(`{spec: {image: other, size: 3}}`, now.Generation)
			if state.Returns() && (Now(state, Pending{}, changed).Returns() || Resumed(state, changed).Returns() || !Resumed(state, now).Returns()) {
				t.Error("it counts for an object that is another one by now, or not for one that is the same")
			}
		})
	}
}

// TestReturnsUnseen shows that what is taken back while nobody looks is taken back as well.
func TestReturnsUnseen(t *testing.T) {
	image := triggers(patterns(t, "spec.image"))
	good := Object{UID: uid, Generation: 1, Fields: object(t, `{spec: {image: good}}`), Triggers: image, Settled: func() bool { return true }, Observed: 1}
	evil := Object{UID: uid, Generation: 2, Fields: object(t, `{spec: {image: evil}}`), Triggers: image, Observed: 1}
	state := stored(t, Now(nil, Pending{}, good).After(Request{
		New: evil, User: "mallory", Uncaused: change.Find(good.Fields, evil.Fields, change.Options{}),
	}))
	back := good
	back.Generation, back.Observed = 3, 2
	if !Now(state, Pending{}, back).Returns() || !Resumed(state, back).Returns() {
		t.Error("it is not known that it had settled so before")
	}
	if Now(state, Pending{Cleared: []change.Path{path(t, "spec.image")}}, evil).Returns() {
		t.Error("what is approved counts as taken back")
	}
}

// stored returns the state of an object as it is read again.
func stored(tb testing.TB, st *Standing) *State {
	tb.Helper()
	s, err := Decode(st.State().Encode(uid))
	if err != nil {
		tb.Fatal(err)
	}
	return s
}
