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
	"testing"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/api/v1alpha1"
)

func TestDrawn(t *testing.T) {
	deployment := v1alpha1.TraceHop{Kind: "Deployment", Name: "web", Generation: 3, Field: "spec.replicas"}
	replicaSet := func(generation int64, field string) v1alpha1.TraceHop {
		return v1alpha1.TraceHop{Kind: "ReplicaSet", Name: "web-1", Generation: generation, Field: field}
	}
	by := func(initiator, pod string, hops ...v1alpha1.TraceHop) created {
		return created{pod: pod, chain: chain{initiator: initiator, hops: hops}}
	}
	tests := map[string]struct {
		pods []created
		want string
	}{
		"nothing": {},
		"ways that begin the same": {
			pods: []created{
				by("alice", "a", deployment, replicaSet(1, "(created)")),
				by("alice", "b", deployment, replicaSet(2, "spec.replicas")),
				by("alice", "c", deployment, replicaSet(1, "(created)")),
			},
			want: `alice
└── Deployment/web spec.replicas, generation 3
    ├── ReplicaSet/web-1 (created), generation 1
    │   ├── Pod/a
    │   └── Pod/c
    └── ReplicaSet/web-1 spec.replicas, generation 2
        └── Pod/b
`,
		},
		"two persons": {
			pods: []created{by("alice", "a", deployment), by("carol", "b", deployment)},
			want: `alice
└── Deployment/web spec.replicas, generation 3
    └── Pod/a
carol
└── Deployment/web spec.replicas, generation 3
    └── Pod/b
`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, drawn(tc.pods)); diff != "" {
				t.Errorf("drawn otherwise (-want +got):\n%s", diff)
			}
		})
	}
}
