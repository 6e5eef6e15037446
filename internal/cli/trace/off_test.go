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

package trace

import (
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/clustertest"
	"kausality.io/operator/internal/cli/text"
)

// That everything is switched off comes first: what is done meanwhile has no cause.
func TestTraceWhileOff(t *testing.T) {
	now := time.Now()
	everything := func(client.ObjectList, string) bool { return true }
	c := clustertest.WithClaims(t, everything, clustertest.MakeClaim(nil), clustertest.SwitchedOff(now.Add(-time.Hour)))
	report, err := tell(t.Context(), c, cluster.Target{GVK: clustertest.Claims, Namespace: "shop", Name: "c1"})
	if err != nil {
		t.Fatal(err)
	}
	of := &Lately{Namespace: "shop", SwitchedOff: c.Off(t.Context())}
	terminal := text.Terminal{Width: text.DefaultWidth}
	for what, page := range map[string]string{"an object": render(report, terminal, false, now), "a namespace": renderLately(of, terminal, now)} {
		if !strings.HasPrefix(page, "Everything is switched off, ") {
			t.Errorf("of %s:\n%s", what, page)
		}
	}
}

// That a policy about the object is not enforced comes first, and once.
func TestTraceWhileNotEnforced(t *testing.T) {
	now := time.Now()
	everything := func(client.ObjectList, string) bool { return true }
	c := clustertest.WithClaims(t, everything, clustertest.MakeClaim(nil), clustertest.NotEnforced(v1alpha1.ReasonForbidden, "Unwritten.", now.Add(-time.Hour)))
	report, err := tell(t.Context(), c, cluster.Target{GVK: clustertest.Claims, Namespace: "shop", Name: "c1"})
	if err != nil {
		t.Fatal(err)
	}
	page := render(report, text.Terminal{Width: text.DefaultWidth}, false, now)
	if !strings.HasPrefix(page, "Not enforced (Forbidden): ") || strings.Count(page, "Unwritten.") != 1 {
		t.Errorf("trace:\n%s", page)
	}
}
