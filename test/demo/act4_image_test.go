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

package main

import (
	"strings"
	"testing"
)

func TestCheckLedger(t *testing.T) {
	const good = `generation 3
[
{"kind":"ReplicaSet","mutation":"create","generation":3,"initiator":"alice","trace":[{"kind":"Deployment","name":"web","generation":3,"field":"spec.template.spec.containers[0].image"}]},
{"kind":"ReplicaSet","mutation":"spec.replicas","generation":3,"initiator":"alice","trace":[{"kind":"Deployment","name":"web","generation":3,"field":"spec.template.spec.containers[0].image"}]}
]
`
	replaced := func(what, with string) string { return strings.Replace(good, what, with, 1) }
	tests := map[string]struct {
		out string
		ok  bool
	}{
		"as it has to be":       {out: good, ok: true},
		"empty":                 {out: "generation 3\n[]"},
		"no ledger":             {out: "generation 3\n"},
		"no generation":         {out: "[]"},
		"another generation":    {out: replaced("generation 3", "generation 4")},
		"another initiator":     {out: replaced("alice", "mallory")},
		"another field":         {out: replaced("containers[0].image", "containers[1].image")},
		"another object":        {out: replaced(`"name":"web"`, `"name":"api"`)},
		"allows something else": {out: replaced(`"create"`, `"*"`)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if err := checkLedger(tc.out, newCast().alice, imageField); (err == nil) != tc.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}
