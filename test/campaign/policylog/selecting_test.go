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

package policylog

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/test/campaign/audit"
)

// A policy that selects by labels is in effect while those of the object and of its namespace match.
func TestOf(t *testing.T) {
	at := func(second int) time.Time { return time.Date(2026, 1, 1, 0, 0, second, 0, time.UTC) }
	selector := func(key, value string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
	}
	// has returns labels from a second to another one: 0 is the beginning, and 60 the end.
	has := func(key, value string, from, until int) Labels {
		l := Labels{Until: at(until), ByKey: map[string]string{key: value}}
		if from > 0 {
			l.Asked, l.Stored = at(from), at(from)
		}
		if until == 60 {
			l.Until = audit.Forever
		}
		return l
	}
	namespace := []Labels{has("team", "a", 0, 20), has("team", "b", 20, 30), has("team", "a", 30, 60)}
	object := []Labels{has("tier", "low", 0, 10), has("tier", "high", 10, 40), has("tier", "high", 40, 60)}
	tests := map[string]struct {
		namespace, object *metav1.LabelSelector
		want              []int // The seconds of those that are asked about in which it is certainly in effect.
	}{
		"that selects all":           {want: []int{6, 11, 15, 21, 25, 31, 35, 45}},
		"by the namespace":           {namespace: selector("team", "a"), want: []int{6, 11, 15, 35, 45}},
		"by the object":              {object: selector("tier", "high"), want: []int{15, 21, 25, 31, 35, 45}},
		"by both":                    {namespace: selector("team", "a"), object: selector("tier", "high"), want: []int{15, 35, 45}},
		"by what was never there":    {namespace: selector("team", "c")},
		"by what the object has not": {object: selector("team", "a")},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := &Policy{Since: at(0), From: at(5), Unbroken: at(5), Until: audit.Forever, Subjects: []Subject{{MayInitiate: true}}, NamespaceSelector: tc.namespace, ObjectSelector: tc.object}
			p.For.Kind = "Deployment"
			rules := Log{p}.Of(namespace, object)
			var got []int
			for _, second := range []int{3, 6, 11, 15, 21, 25, 31, 35, 45} {
				if len(rules.During("Deployment", false, at(second), at(second))) > 0 {
					got = append(got, second)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("in effect in seconds (-want +got):\n%s", diff)
			}
			if came := rules.Came("Deployment", at(39), at(41)); came {
				t.Error("it came or went as other labels were the same")
			}
		})
	}
}
