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

package discovery_test

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"kausality.io/operator/internal/discovery"
)

func TestResolverFollowsCategories(t *testing.T) {
	served := workloads()
	clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
	r := discovery.New(served, served, served, clock)
	update := func() {
		t.Helper()
		if _, err := r.Update(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}

	update()
	if served.searched > 0 {
		t.Error("all that is served was asked for, and nobody follows a category")
	}
	r.FollowCategories("managed")
	if r.Known() {
		t.Error("Known() although nobody has looked for the category")
	}
	update()
	if !r.Known() || len(r.InCategory("managed")) > 0 {
		t.Errorf("Known() = %t, InCategory() = %v, and there is none", r.Known(), r.InCategory("managed"))
	}

	served.served["example.com/v1"] = []metav1.APIResource{
		{Name: "widgets", Kind: "Widget", Categories: []string{"managed"}},
		{Name: "buttons", Kind: "Button"},
	}
	clock.Step(time.Hour)
	update() // the answer has settled long ago
	if searched := served.searched; searched > 2 {
		t.Errorf("asked %d times although nothing has changed", searched)
	}
	if !r.Invalidate("example.com") {
		t.Error("Invalidate() of a group that nobody names says that it does not matter")
	}
	update()
	if found := r.InCategory("managed"); len(found) != 1 || found[0].GVK != example.WithKind("Widget") {
		t.Errorf("InCategory() = %v", found)
	}
	if _, due := r.NextUpdate(); !due {
		t.Error("NextUpdate() relies on an answer that may not have settled")
	}

	served.err = errors.New("away")
	clock.Step(time.Second)
	if _, err := r.Update(t.Context(), nil); err == nil {
		t.Error("Update() hides that the API server is away")
	}
	if len(r.InCategory("managed")) != 1 {
		t.Error("kinds vanish while the API server is away")
	}
	served.err = nil
	r.FollowCategories()
	update()
	if len(r.InCategory("managed")) > 0 {
		t.Error("kinds stay that nobody follows any more")
	}
}
