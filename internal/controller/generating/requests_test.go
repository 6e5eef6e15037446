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
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/generate/kept"
)

// TestRequests shows which of the Secrets that keep requests counts, and what is remembered of it.
func TestRequests(t *testing.T) {
	began := time.Unix(1000, 0)
	web := generate.ID{Kind: "ConfigMap", Namespace: "shop", Name: "web"}
	deletion := request{"archive", generate.RequestID(web, "DELETE", "")}
	r := newRequests(clocktesting.NewFakePassiveClock(began))
	r.note("first", deletion, began)
	r.note("second", deletion, began.Add(time.Second))
	r.note("other", request{"other", deletion.trigger}, began)
	r.note("second", deletion, began.Add(-time.Second)) // What is known stays.

	if diff := cmp.Diff([]string{"second", "first"}, r.secretsOf(deletion)); diff != "" {
		t.Errorf("the Secrets, the one that counts first (-want +got):\n%s", diff)
	}
	triggers := map[generate.ID]bool{}
	r.addTo(triggers, "archive")
	if diff := cmp.Diff(map[generate.ID]bool{deletion.trigger: true}, triggers); diff != "" {
		t.Errorf("the triggers of a policy (-want +got):\n%s", diff)
	}
	if r.seen("first") != began || !r.has("first") || r.has("third") {
		t.Error("it is not known since when there is a Secret")
	}

	if !r.isOpen("archive", web) || r.isOpen("archive", generate.ID{Kind: "ConfigMap", Namespace: "shop", Name: "db"}) {
		t.Error("want that it is open what a policy wants for the request, and for no other one")
	}
	r.noteLooked(r.secretsOf(deletion))
	if r.isOpen("archive", web) || !r.isOpen("other", web) {
		t.Error("want that it is known what the policy wants, and not what the other one does")
	}
	r.note("third", deletion, began)
	if !r.isOpen("archive", web) {
		t.Error("a request that came while another one was looked at counts as looked at")
	}
	r.forget("third")
	r.note("before", request{"archive", web}, began)
	if r.isOpen("archive", web) {
		t.Error("what an object was before is a request that is waited for")
	}

	made := []v1alpha1.GeneratedObject{{Name: "a"}, {Name: "b"}}
	r.made("second", nil, made[0])
	if diff := cmp.Diff(made, r.made("second", nil, made[1])); diff != "" {
		t.Errorf("what was made, which the watch does not show yet (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(made, r.made("second", made)); diff != "" {
		t.Errorf("what was made (-want +got):\n%s", diff)
	}

	if req, ok := r.forget("second"); !ok || req != deletion {
		t.Errorf("forgot %v, %v", req, ok)
	}
	if _, ok := r.forget("second"); ok {
		t.Error("forgot it twice")
	}
	r.forget("first")
	clear(triggers)
	r.addTo(triggers, "archive")
	if diff := cmp.Diff(map[generate.ID]bool{web: true}, triggers); diff != "" {
		t.Errorf("the triggers that are left (-want +got):\n%s", diff)
	}
}

// TestTooManyRequests shows that the oldest are given up, and those of one policy alone.
func TestTooManyRequests(t *testing.T) {
	began := time.Unix(1000, 0)
	r := newRequests(clocktesting.NewFakePassiveClock(began))
	for i := range kept.MaxRequests + 2 {
		of := generate.RequestID(generate.ID{Kind: "Pod", Name: strconv.Itoa(i)}, "DELETE", "")
		r.note(fmt.Sprint("secret-", i), request{"archive", of}, began.Add(-time.Duration(i)*time.Second))
	}
	r.note("other", request{"other", generate.ID{}}, began.Add(-time.Hour))
	want := []string{fmt.Sprint("secret-", kept.MaxRequests+1), fmt.Sprint("secret-", kept.MaxRequests)}
	if diff := cmp.Diff(want, r.tooMany("archive")); diff != "" {
		t.Errorf("given up (-want +got):\n%s", diff)
	}
	if got := r.tooMany("other"); len(got) > 0 {
		t.Errorf("given up: %v", got)
	}
}
