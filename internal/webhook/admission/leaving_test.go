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

package admission

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Who is named where an object may not leave its policies could have it leave all of them.
func TestWhoMayLeave(t *testing.T) {
	labeled := func(name, subjects, selector string) string {
		return `
metadata: {name: ` + name + `}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  objectSelector: {matchLabels: {` + selector + `}}
  validationActions: [Deny]
  subjects: [` + subjects + `]
  rules: [{trigger: spec.none}]
`
	}
	const (
		alice = "{kind: User, name: alice, mayInitiate: true}"
		bob   = "{kind: User, name: bob, mayInitiate: true}"
	)
	tests := map[string]struct {
		user     string
		policies []string
		want     string
	}{
		"one policy": {user: "mallory", policies: []string{labeled("one", alice, "in: all")}, want: "User alice"},
		"one of two that may be left by the requester": {
			user: "alice", policies: []string{labeled("one", alice, "in: all"), labeled("two", bob, "in: all")}, want: "whoever is User alice as well as User bob",
		},
		"two that one may leave": {
			user: "mallory", policies: []string{labeled("one", alice+", "+bob, "in: all"), labeled("two", bob, "in: all")}, want: "User bob",
		},
		"one, beside one that it stays in": {
			user: "mallory", policies: []string{labeled("one", alice, "in: all"), labeled("two", bob, "stays: in")}, want: "User alice",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in := func(labels map[string]string) *unstructured.Unstructured {
				d := deployment(3)
				d.SetLabels(labels)
				return d
			}
			_, validator := (&world{}).hooks(t, tt.policies...)
			resp := validator.Handle(t.Context(), asking(t, tt.user, nil, in(map[string]string{"in": "all", "stays": "in"}), in(map[string]string{"stays": "in"})))
			if resp.Allowed {
				t.Fatal("it may leave")
			}
			_, got, _ := strings.Cut(resp.Result.Message, "which is for who may initiate: ")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("who may (-want +got):\n%s", diff)
			}
		})
	}
}
