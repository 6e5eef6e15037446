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

package eventrecorder

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	"kausality.io/operator/api/v1alpha1"
)

// event is what the recorder of client-go tells events apart by, with their note.
type event struct {
	regarding, related, reason, action, note string
}

// recorder keeps what it is told.
type recorder struct{ events []event }

func (r *recorder) Eventf(regarding, related runtime.Object, _, reason, action, note string, args ...any) {
	name := func(obj runtime.Object) string {
		if ref, ok := obj.(*corev1.ObjectReference); ok {
			return ref.APIVersion + " " + ref.Kind + " " + ref.Name + " " + string(ref.UID)
		}
		return ""
	}
	r.events = append(r.events, event{name(regarding), name(related), reason, action, fmt.Sprintf(note, args...)})
}

func ref(group, kind, name string) v1alpha1.TargetReference {
	return v1alpha1.TargetReference{Group: group, Version: "v1", Kind: kind, Name: name, UID: types.UID("uid-" + name)}
}

func denied(text string) Notice {
	return Notice{Reason: Denied, Action: "Update", Text: text, About: ref("apps", "Deployment", "web")}
}

func board() (*Board, *recorder, *testclock.FakePassiveClock) {
	r, clock := &recorder{}, testclock.NewFakePassiveClock(time.Unix(0, 0))
	return NewBoard(r, clock), r, clock
}

func TestPostTellsParentAndChild(t *testing.T) {
	b, r, _ := board()
	n := denied("mallory was refused: 100%")
	pod := ref("", "Pod", "web-a")
	n.Child = &pod
	b.Post(n)
	action := "Update-" + digest(n.Text)
	want := []event{
		{"apps/v1 Deployment web uid-web", "v1 Pod web-a uid-web-a", Denied, action, n.Text},
		{"v1 Pod web-a uid-web-a", "apps/v1 Deployment web uid-web", Denied, action, n.Text},
	}
	if diff := cmp.Diff(want, r.events, cmp.AllowUnexported(event{})); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// The recorder writes one Event for all that are the same but for their notes.
func TestPostKeepsDifferentNoticesApart(t *testing.T) {
	b, r, clock := board()
	for range 15 {
		b.Post(denied("one"))
		b.Post(denied("two"))
		clock.SetTime(clock.Now().Add(atOnce))
	}
	notes := map[event][]string{}
	for _, e := range r.events {
		key := e
		key.note = ""
		notes[key] = append(notes[key], e.note)
	}
	if len(notes) != 2 || len(r.events) != 30 {
		t.Errorf("got %d events of %d series, want 30 of 2", len(r.events), len(notes))
	}
	for key, texts := range notes {
		for _, text := range texts {
			if text != texts[0] {
				t.Errorf("%s and %s are the same to the recorder: %v", text, texts[0], key)
			}
		}
	}
}

func TestPostIsBounded(t *testing.T) {
	b, r, clock := board()
	count := func(notice func(int) Notice) int {
		r.events = nil
		for i := range 10 * burst {
			b.Post(notice(i))
		}
		return len(r.events)
	}
	different := func(i int) Notice { return denied(fmt.Sprint("path ", i)) }
	same := func(int) Notice { return denied("path 0") }
	elsewhere := func(int) Notice {
		n := denied("path 0")
		n.About = ref("apps", "Deployment", "other")
		return n
	}
	if got := count(different); got != burst {
		t.Errorf("%d different notices at once made %d events, want %d", 10*burst, got, burst)
	}
	if got := count(same); got != 0 {
		t.Errorf("a notice that was made a moment ago made %d events", got)
	}
	if got := count(elsewhere); got != 1 {
		t.Errorf("%d equal notices about another object made %d events, want 1", 10*burst, got)
	}
	clock.SetTime(clock.Now().Add(3 * every))
	if got := count(same); got != 1 {
		t.Errorf("a known notice goes on as %d events, want 1", got)
	}
	if got := count(func(i int) Notice { return denied(fmt.Sprint("later ", i)) }); got != 3 {
		t.Errorf("after the time for 3 events there were %d", got)
	}
}

func TestShortened(t *testing.T) {
	if got := Shortened("short"); got != "short" {
		t.Errorf("of a short text it makes %q", got)
	}
	got := Shortened(strings.Repeat("ä", maxText))
	if len(got) > maxText || !utf8.ValidString(got) || !strings.HasSuffix(got, "ä …") {
		t.Errorf("a text of %d bytes that ends in %q", len(got), got[len(got)-8:])
	}
}

// An Event with a longer note is refused by the API server.
// Names are in a notice, and a terminal shows Events.
func TestNotesAreVisible(t *testing.T) {
	const want = `role a\nb\x1b[2K`
	b, r, _ := board()
	b.Post(denied("role a\nb\x1b[2K"))
	if diff := cmp.Diff(want, r.events[0].note); diff != "" {
		t.Errorf("note (-want +got):\n%s", diff)
	}
}

func TestPostCutsText(t *testing.T) {
	fields := strings.Repeat("adding spec.töp, ", maxText/10)
	for name, tc := range map[string]struct{ text, starts, ends string }{
		"short":              {text: "short", starts: "short", ends: "short"},
		"just short enough":  {text: strings.Repeat("x", maxText), starts: "xxx", ends: strings.Repeat("x", maxText)},
		"what to do remains": {text: "mallory was refused: " + fields + "Group a may allow it", starts: "mallory was refused: adding ", ends: "spec.töp, Group a may allow it"},
		"without any space":  {text: strings.Repeat("€", maxText), starts: "€€", ends: "€€"},
	} {
		t.Run(name, func(t *testing.T) {
			b, r, _ := board()
			b.Post(denied(tc.text))
			note := r.events[0].note
			if len(note) > maxText || !utf8.ValidString(note) || !strings.HasPrefix(note, tc.starts) || !strings.HasSuffix(note, tc.ends) {
				t.Errorf("got a note of %d bytes: %q", len(note), note)
			}
			if first, last, cut := strings.Cut(note, " … "); cut != (len(tc.text) > maxText) || !strings.HasPrefix(tc.text, first) || !strings.HasSuffix(tc.text, last) {
				t.Errorf("the middle is not left out, or that is not said: %q", note)
			}
		})
	}
}
