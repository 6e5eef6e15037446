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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/generate"
)

func TestWatchIsBehindUntilItShowsTheLastWrite(t *testing.T) {
	id := generate.ID{Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
	object := func(uid, version string) *unstructured.Unstructured {
		out := &unstructured.Unstructured{}
		out.SetUID(types.UID(uid))
		out.SetResourceVersion(version)
		return out
	}
	type shows struct {
		object *unstructured.Unstructured
		behind bool
	}
	for name, tc := range map[string]struct {
		version string
		deleted types.UID
		gone    *unstructured.Unstructured
		later   time.Duration
		then    []shows
	}{
		"a write":                                 {version: "9", then: []shows{{nil, true}, {object("a", "8"), true}, {object("a", "9"), false}, {object("a", "8"), false}}},
		"a write, and somebody else's":            {version: "9", then: []shows{{object("a", "10"), false}}},
		"a write of what is gone since":           {version: "9", gone: object("a", "11"), then: []shows{{nil, false}}},
		"a write, before which another one ended": {version: "9", gone: object("b", "7"), then: []shows{{nil, true}}},
		"a write that is never shown":             {version: "9", later: catchUp + time.Second, then: []shows{{nil, false}}},
		"a deletion":                              {deleted: "a", then: []shows{{object("a", "9"), true}, {nil, false}}},
		"a deletion, and another object":          {deleted: "a", then: []shows{{object("b", "9"), false}}},
	} {
		t.Run(name, func(t *testing.T) {
			clock := testingclock.NewFakePassiveClock(time.Unix(0, 0))
			w := newWritten(clock)
			if w.isBehind(id, nil) {
				t.Fatal("it is behind what nobody wrote")
			}
			w.note(id, tc.version, tc.deleted)
			if tc.gone != nil {
				w.gone(id, tc.gone)
			}
			clock.SetTime(clock.Now().Add(tc.later))
			for i, s := range tc.then {
				if got := w.isBehind(id, s.object); got != s.behind {
					t.Errorf("%d: it is behind: %t, want %t", i, got, s.behind)
				}
			}
		})
	}
}

// TestRemembersWhatRecordsDoNotShowYet shows that what was made once is known as soon as it is written down.
func TestRemembersWhatRecordsDoNotShowYet(t *testing.T) {
	clock := testingclock.NewFakePassiveClock(time.Unix(0, 0))
	w := newWritten(clock)
	made := v1alpha1.GeneratedObject{Policy: "p", Kind: "ConfigMap", Namespace: "shop", Name: "made"}
	w.remember("a", made)
	if diff := cmp.Diff([]v1alpha1.GeneratedObject{made}, w.remembered("a")); diff != "" {
		t.Errorf("what is remembered (-want +got):\n%s", diff)
	}
	if got := w.remembered("b"); got != nil {
		t.Errorf("another trigger remembers %v", got)
	}
	clock.SetTime(clock.Now().Add(catchUp + time.Second))
	w.remember("b", made)
	if got := w.remembered("a"); got != nil || len(w.once) != 1 {
		t.Errorf("%v is kept after its record shows it, of %d triggers", got, len(w.once))
	}
}

// TestWhoWroteNeedNotLookAgain shows whom the watch tells nothing new: who wrote what it shows, and has found it to
// be as wanted.
func TestWhoWroteNeedNotLookAgain(t *testing.T) {
	id := generate.ID{Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
	by, other := request{"p", generate.ID{Kind: "Namespace", Name: "shop"}}, request{"p", generate.ID{Kind: "Namespace", Name: "shed"}}
	nobody := request{}
	// what happens, and who is told nothing new by what is shown; for the end of a look whether it is repeated.
	type event struct {
		begin, end  bool
		wrote       string
		notAsWanted bool
		shows       string
		knows       request
		repeated    bool
		later       time.Duration
		other       bool
	}
	for name, events := range map[string][]event{
		"shown afterwards":           {{begin: true}, {wrote: "9"}, {end: true}, {shows: "9", knows: by}, {shows: "10", knows: nobody}},
		"shown before it is through": {{begin: true}, {wrote: "9"}, {shows: "9", knows: by}, {end: true}, {shows: "10", knows: nobody}},
		"shown before it is known":   {{begin: true}, {shows: "9", knows: by}, {wrote: "9"}, {end: true}},
		"an older one is shown first": {
			{begin: true}, {shows: "7", knows: by}, {wrote: "9"}, {end: true}, {shows: "8", knows: by}, {shows: "9", knows: by}, {shows: "9", knows: nobody},
		},
		"changed before it is through":  {{begin: true}, {wrote: "9"}, {shows: "9", knows: by}, {shows: "10", knows: by}, {end: true, repeated: true}},
		"changed before it is shown":    {{begin: true}, {wrote: "9"}, {end: true}, {shows: "10", knows: nobody}},
		"not as wanted":                 {{begin: true}, {wrote: "9"}, {end: true, notAsWanted: true}, {shows: "9", knows: nobody}},
		"shown, and not as wanted":      {{begin: true}, {wrote: "9"}, {shows: "9", knows: by}, {end: true, notAsWanted: true, repeated: true}},
		"refused, while it is changed":  {{begin: true}, {shows: "8", knows: by}, {end: true, notAsWanted: true, repeated: true}},
		"refused":                       {{begin: true}, {end: true, notAsWanted: true}, {shows: "8", knows: nobody}},
		"of two looks at once":          {{begin: true}, {begin: true, other: true}, {wrote: "9"}, {shows: "9", knows: nobody}, {end: true}, {end: true, other: true}, {shows: "9", knows: nobody}},
		"shown before another look":     {{begin: true}, {shows: "8", knows: by}, {begin: true, other: true}, {end: true, other: true}, {end: true, repeated: true}},
		"long ago":                      {{begin: true}, {wrote: "9"}, {end: true}, {later: catchUp + time.Second}, {shows: "9", knows: nobody}},
		"what nobody wrote":             {{shows: "9", knows: nobody}},
		"written again":                 {{begin: true}, {wrote: "9"}, {end: true}, {begin: true}, {wrote: "11"}, {end: true}, {shows: "9", knows: by}, {shows: "11", knows: by}},
		"written again by another look": {{begin: true}, {wrote: "9"}, {end: true}, {begin: true, other: true}, {wrote: "11"}, {end: true, other: true}, {shows: "9", knows: other}, {shows: "11", knows: other}},
	} {
		t.Run(name, func(t *testing.T) {
			clock := testingclock.NewFakePassiveClock(time.Unix(0, 0))
			w := newWritten(clock)
			for i, e := range events {
				clock.SetTime(clock.Now().Add(e.later))
				who := by
				if e.other {
					who = other
				}
				switch {
				case e.begin:
					w.begin(id, who)
				case e.wrote != "":
					w.note(id, e.wrote, "")
				case e.shows != "":
					object := &unstructured.Unstructured{}
					object.SetResourceVersion(e.shows)
					if got := w.shows(id, object); got != e.knows {
						t.Errorf("%d: version %s is no news to %v, want %v", i, e.shows, got, e.knows)
					}
				case e.end:
					if got := w.end(id, who, !e.notAsWanted); got != e.repeated {
						t.Errorf("%d: the look is repeated: %t, want %t", i, got, e.repeated)
					}
				}
			}
			if len(w.inFlight) > 0 {
				t.Errorf("%d writes go on", len(w.inFlight))
			}
		})
	}
}
