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

package explain

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/clustertest"
	"kausality.io/operator/internal/cli/text"
)

// While everything is switched off no policy counts, which the page says first of all.
func TestExplainWhileOff(t *testing.T) {
	everything := func(client.ObjectList, string) bool { return true }
	c := clustertest.WithClaims(t, everything, clustertest.MakeClaim(nil), clustertest.SwitchedOff(now.Add(-time.Hour)))
	seen, err := read(t.Context(), c, cluster.Target{GVK: clustertest.Claims, Namespace: "shop", Name: "c1"})
	if err != nil {
		t.Fatal(err)
	}
	report := build(seen)
	page := render(report, text.Terminal{Width: text.DefaultWidth}, now)
	if !strings.HasPrefix(page, "Everything is switched off, ") || !strings.Contains(page, "60m ago") {
		t.Errorf("it does not say so first:\n%s", page)
	}
	if p := report.AsParent.Policies; len(p) != 1 || p[0].InEffect || p[0].WhyNot != "everything is switched off" || len(report.AsParent.Bounds) > 0 {
		t.Errorf("a policy counts: %+v, bounds %+v", p, report.AsParent.Bounds)
	}
}

// That policies about the object are not enforced is said once, and of others only that they are about others.
func TestExplainWhileNotEnforced(t *testing.T) {
	everything := func(client.ObjectList, string) bool { return true }
	one, other, apart := clustertest.NotEnforced(v1alpha1.ReasonForbidden, "Unwritten.", now), clustertest.NotEnforced(v1alpha1.ReasonForbidden, "Unwritten.", now),
		clustertest.NotEnforced(v1alpha1.ReasonForbidden, "Unwritten.", now)
	other.Name, apart.Name = "other", "apart"
	apart.Spec.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	c := clustertest.WithClaims(t, everything, clustertest.MakeClaim(nil), one, other, apart)
	seen, err := read(t.Context(), c, cluster.Target{GVK: clustertest.Claims, Namespace: "shop", Name: "c1"})
	if err != nil {
		t.Fatal(err)
	}
	report := build(seen)
	page := render(report, text.Terminal{Width: text.DefaultWidth}, now)
	if !strings.HasPrefix(page, "Not enforced (Forbidden): AllowancePolicy claims, other, ") || strings.Count(page, "Unwritten.") != 1 {
		t.Errorf("explain:\n%s", page)
	}
	why := map[string]string{}
	for _, p := range report.AsParent.Policies {
		why[p.Name] = p.WhyNot
	}
	const above = "it is not enforced, as said above"
	if why["claims"] != above || why["other"] != above || why["apart"] != leavesOut {
		t.Errorf("policies: %v", why)
	}
}
