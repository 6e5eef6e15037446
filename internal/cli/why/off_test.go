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

package why

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/clustertest"
	"kausality.io/operator/internal/cli/text"
)

// That everything is switched off comes first, also where there is nothing else to say.
func TestWhyWhileOff(t *testing.T) {
	everything := func(client.ObjectList, string) bool { return true }
	c := clustertest.WithClaims(t, everything, clustertest.MakeClaim(nil), clustertest.SwitchedOff(now.Add(-time.Hour)))
	report, err := findOf(t.Context(), c, &cluster.Target{GVK: clustertest.Claims, Namespace: "shop", Name: "c1"})
	if err != nil {
		t.Fatal(err)
	}
	page := render(report, text.Terminal{Width: text.DefaultWidth}, false, now)
	if !strings.HasPrefix(page, "Everything is switched off, ") || !strings.Contains(page, "Nothing was refused") {
		t.Errorf("why:\n%s", page)
	}
}

// That a policy about the object is not enforced comes first, and once.
func TestWhyWhileNotEnforced(t *testing.T) {
	everything := func(client.ObjectList, string) bool { return true }
	for _, reason := range []string{v1alpha1.ReasonNotIntercepted, v1alpha1.ReasonForbidden, v1alpha1.ReasonImpaired} {
		c := clustertest.WithClaims(t, everything, clustertest.MakeClaim(nil), clustertest.NotEnforced(reason, "Unwritten.", now.Add(-time.Hour)),
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
		for what, subject := range map[string]*cluster.Target{"an object": {GVK: clustertest.Claims, Namespace: "shop", Name: "c1"}, "a namespace": nil} {
			report, err := findOf(t.Context(), c, subject)
			if err != nil {
				t.Fatal(err)
			}
			page := render(report, text.Terminal{Width: text.DefaultWidth}, false, now)
			if !strings.HasPrefix(page, "Not enforced ("+reason+"): AllowancePolicy claims, ") || strings.Count(page, "Unwritten.") != 1 {
				t.Errorf("why of %s:\n%s", what, page)
			}
		}
	}
}
