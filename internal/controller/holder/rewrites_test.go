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

package holder

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/internal/controller/controllertest"
	"kausality.io/operator/internal/controller/requeue"
)

func versioned(resourceVersion string) *unstructured.Unstructured {
	obj := makeHolder().Unstructured
	obj.SetResourceVersion(resourceVersion)
	return obj
}

func TestRewritesInVainAreLimited(t *testing.T) {
	var r rewrites
	now := controllertest.Noon
	made := 0
	for range 10 * maxRewrites {
		next, due := r.start(versioned("100"), now)
		if due {
			made++
		}
		if gone := r.hasGivenUp(versioned("100")); gone != (made == maxRewrites) {
			t.Fatalf("after %d rewrites it has given up: %t", made, gone)
		}
		if next.IsZero() {
			break
		}
		if early, due := r.start(versioned("100"), now); due || !early.IsZero() && early != next {
			t.Fatalf("a rewrite is due again at once, or the next is at %s instead of %s", early, next)
		}
		now = next
	}
	if made != maxRewrites {
		t.Errorf("made %d rewrites of one version, want %d", made, maxRewrites)
	}
	if r.hasGivenUp(versioned("101")) {
		t.Error("the next version is given up")
	}
	if _, due := r.start(versioned("101"), now); !due {
		t.Error("a rewrite of the next version is not due")
	}
	r.forget(versioned("101").GetUID())
	if _, due := r.start(versioned("101"), now); !due {
		t.Error("what was forgotten is remembered")
	}
}

func TestRewritesLatest(t *testing.T) {
	var r rewrites
	r.done(versioned("100"))
	for _, step := range []struct{ cached, want string }{
		{cached: "99", want: "100"},
		{cached: "100", want: "100"},
		{cached: "99", want: "99"}, // the cache has caught up before: it is trusted again
	} {
		if got := r.latest(versioned(step.cached)).GetResourceVersion(); got != step.want {
			t.Errorf("with %s in the cache, the latest is %s, want %s", step.cached, got, step.want)
		}
	}
}

func TestSoonest(t *testing.T) {
	var s requeue.Soonest
	if got := s.In(controllertest.Noon); got != 0 {
		t.Errorf("no time is in %s", got)
	}
	s.At(controllertest.Noon.Add(time.Minute))
	s.At(time.Time{})
	s.At(controllertest.Noon.Add(2 * time.Minute))
	if got := s.In(controllertest.Noon); got != time.Minute {
		t.Errorf("the soonest is in %s, want 1m", got)
	}
	if got := s.In(controllertest.Noon.Add(time.Hour)); got <= 0 {
		t.Errorf("a time that has passed is in %s, want soon", got)
	}
}
