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

package cluster_test

import (
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/clustertest"
	"kausality.io/operator/internal/cli/text"
)

// TestUnenforced tells of the policies that are about an object or a namespace and are not enforced, each text once.
func TestUnenforced(t *testing.T) {
	now := time.Now()
	saying := func(name, reason, message string, change func(*v1alpha1.AllowancePolicy)) client.Object {
		p := clustertest.NotEnforced(reason, message, now.Add(-time.Minute))
		p.Name = name
		if change != nil {
			change(p)
		}
		return p
	}
	elsewhere := func(p *v1alpha1.AllowancePolicy) {
		p.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "other"}}
	}
	labeled := func(p *v1alpha1.AllowancePolicy) {
		p.Spec.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	}
	otherKind := func(p *v1alpha1.AllowancePolicy) { p.Spec.For.Kind = "Other" }
	asked := func(name string) string {
		return "To give it: kubectl kausality access " + name + " | kubectl apply -f -"
	}
	for name, tc := range map[string]struct {
		policies []client.Object
		// of and in are the policies told about the object, and about its namespace, a line for each text.
		of, in []string
	}{
		"none": {},
		"by several, for one reason": {
			policies: []client.Object{saying("a", v1alpha1.ReasonNotIntercepted, "gone", nil), saying("b", v1alpha1.ReasonNotIntercepted, "gone", nil)},
			of:       []string{"a b"}, in: []string{"a b"},
		},
		"each with its own command": {
			policies: []client.Object{saying("a", v1alpha1.ReasonForbidden, asked("a"), nil), saying("b", v1alpha1.ReasonForbidden, asked("b"), nil)},
			of:       []string{"a b"}, in: []string{"a b"},
		},
		"that goes on in part": {policies: []client.Object{saying("a", v1alpha1.ReasonImpaired, "no right", nil)}, of: []string{"a"}, in: []string{"a"}},
		"for different reasons": {
			policies: []client.Object{saying("a", v1alpha1.ReasonImpaired, "no right", nil), saying("b", v1alpha1.ReasonForbidden, asked("b"), nil)},
			of:       []string{"a", "b"}, in: []string{"a", "b"},
		},
		"about others": {
			policies: []client.Object{
				saying("a", v1alpha1.ReasonForbidden, "x", elsewhere), saying("b", v1alpha1.ReasonForbidden, "x", labeled), saying("c", v1alpha1.ReasonForbidden, "x", otherKind),
			},
			in: []string{"b c"},
		},
		"for another reason": {policies: []client.Object{saying("a", v1alpha1.ReasonPending, "soon", nil), saying("b", v1alpha1.ReasonSwitchedOff, "off", nil)}},
	} {
		t.Run(name, func(t *testing.T) {
			objects := append(tc.policies, clustertest.MakeClaim(nil), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}) //nolint:gocritic // It is ours.
			c := clustertest.WithClaims(t, func(client.ObjectList, string) bool { return true }, objects...)
			policies, err := c.Policies(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			names := func(all []cluster.Unenforced) []string {
				var out []string
				for _, u := range all {
					out = append(out, strings.Join(u.Policies, " "))
				}
				return out
			}
			of := c.UnenforcedFor(t.Context(), policies, clustertest.MakeClaim(nil))
			if diff := gocmp.Diff(tc.of, names(of)); diff != "" {
				t.Errorf("about the object (-want +got):\n%s", diff)
			}
			if diff := gocmp.Diff(tc.in, names(c.UnenforcedIn(t.Context(), policies, "shop"))); diff != "" {
				t.Errorf("about the namespace (-want +got):\n%s", diff)
			}
			page := cluster.Banner(text.Terminal{Width: text.DefaultWidth}, now, nil, of)
			if strings.Count(page, "Not enforced (") != len(tc.of) {
				t.Errorf("it says:\n%s", page)
			}
		})
	}
}
