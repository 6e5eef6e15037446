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
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/clustertest"
)

func TestOff(t *testing.T) {
	since := time.Date(2026, 1, 1, 12, 0, 0, 0, time.Local)
	saying := func(name string, since time.Time, change func(*v1alpha1.AllowancePolicy)) client.Object {
		p := clustertest.SwitchedOff(since)
		p.Name = name
		if change != nil {
			change(p)
		}
		return p
	}
	for name, tc := range map[string]struct {
		policies  []client.Object
		forbidden bool
		want      *cluster.Off
	}{
		"nothing tells":   {},
		"switched off":    {policies: []client.Object{saying("a", since, nil)}, want: &cluster.Off{Since: metav1.NewTime(since)}},
		"by several":      {policies: []client.Object{saying("a", since.Add(time.Hour), nil), saying("b", since, nil)}, want: &cluster.Off{Since: metav1.NewTime(since)}},
		"may not be read": {policies: []client.Object{saying("a", since, nil)}, forbidden: true},
		"enforced": {policies: []client.Object{saying("a", since, func(p *v1alpha1.AllowancePolicy) {
			p.Status.Conditions[0].Status, p.Status.Conditions[0].Reason = metav1.ConditionTrue, v1alpha1.ConditionEnforced
		})}},
		"changed since": {policies: []client.Object{saying("a", since, func(p *v1alpha1.AllowancePolicy) { p.Generation++ })}},
	} {
		t.Run(name, func(t *testing.T) {
			c := clustertest.WithClaims(t, func(client.ObjectList, string) bool { return !tc.forbidden }, tc.policies...)
			if diff := gocmp.Diff(tc.want, c.Off(t.Context())); diff != "" {
				t.Errorf("Off() (-want +got):\n%s", diff)
			}
			policies, err := c.Policies(t.Context())
			if (err != nil) != tc.forbidden {
				t.Fatal(err)
			}
			if tc.forbidden {
				return
			}
			isOff := tc.want != nil
			kind := clustertest.Claims.GroupKind()
			if now := policies.Now(); (len(now.For(kind)) == 0 && len(now.IdleFor(kind)) == len(tc.policies)) != isOff && len(tc.policies) > 0 {
				t.Errorf("%d policies count now, and %d do not, of %d", len(now.For(kind)), len(now.IdleFor(kind)), len(tc.policies))
			}
		})
	}
}
