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

package checker

import (
	"net/http"
	"testing"
	"time"

	"kausality.io/operator/test/campaign/audit"
)

// What the operator writes and the API server does not take is found, once for each object; what somebody else
// writes is not, nor what came too late.
func TestInvalid(t *testing.T) {
	for name, tc := range map[string]struct {
		user    string
		code    int
		message string
		want    []Promise
	}{
		"invalid":             {user: operatorUser, code: http.StatusUnprocessableEntity, want: []Promise{Invalid}},
		"overtaken":           {user: operatorUser, code: http.StatusConflict},
		"made anew":           {user: operatorUser, code: http.StatusUnprocessableEntity, message: `Deployment.apps "web" is invalid: metadata.uid: Invalid value: "a": field is immutable`},
		"of what is invalid":  {user: operatorUser, code: http.StatusUnprocessableEntity, message: `Deployment.apps "web" is invalid: metadata.finalizers[0]: Invalid value: "zq7z"`},
		"invalid, of another": {user: "mallory", code: http.StatusUnprocessableEntity},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			s.message = tc.message
			for range 3 {
				s.event(tc.user, audit.VerbPatch, deployments, "", "web", tc.code, map[string]any{"metadata": map[string]any{}}, map[string]any{"kind": "Status"})
			}
			s.finds(tc.want)
		})
	}
}

// What the operator writes again and again, while nothing happens, is found.
func TestLoops(t *testing.T) {
	for times, want := range map[int][]Promise{20: nil, 2000: {Looping}} {
		s := begin(t)
		for range times {
			s.write(operatorUser, audit.VerbPatch, deployments, "web", map[string]any{"metadata": map[string]any{"annotations": map[string]any{"a": "b"}}})
			s.later(10*time.Millisecond - 10*time.Second)
		}
		s.finds(want)
	}
}

// What the operator writes while nobody asks for anything is found long before that, in records, too.
func TestRestless(t *testing.T) {
	for name, tc := range map[string]struct {
		resource, name string
		times          int
		others         bool
		want           []Promise
	}{
		"some":                        {resource: deployments, name: "web", times: 3},
		"many":                        {resource: deployments, name: "web", times: 20, want: []Promise{Looping}},
		"many, of its record":         {resource: records, name: "r", times: 20, want: []Promise{Looping}},
		"many, as others ask as well": {resource: deployments, name: "web", times: 20, others: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			s.start(-3 * time.Minute)
			s.write(operatorUser, audit.VerbCreate, records, "r", map[string]any{"spec": map[string]any{"targetRef": map[string]any{"uid": "uid-web"}}})
			s.later(time.Minute)
			for range tc.times {
				s.write(operatorUser, audit.VerbPatch, tc.resource, tc.name, map[string]any{"metadata": map[string]any{"annotations": map[string]any{"a": "b"}}})
				s.later(-9 * time.Second)
				if tc.others {
					s.write("alice", audit.VerbPatch, deployments, "web", map[string]any{"metadata": map[string]any{"annotations": map[string]any{"c": "d"}}})
				}
			}
			s.finds(tc.want)
		})
	}
}
