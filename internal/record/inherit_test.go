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

package record

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/api/v1alpha1"
)

func TestInherit(t *testing.T) {
	ref := func(kind, namespace string) v1alpha1.TargetReference {
		return v1alpha1.TargetReference{Kind: kind, Namespace: namespace, Name: "a"}
	}
	deleted := func(kind, namespace string) v1alpha1.TraceHop {
		return v1alpha1.TraceHop{Kind: kind, Name: "a", Namespace: namespace, Field: v1alpha1.FieldDeleted}
	}
	d := &v1alpha1.Deletion{User: "alice", Policies: []string{"claims"}, Trace: []v1alpha1.TraceHop{deleted("Claim", "")}}
	tests := map[string]struct {
		below []v1alpha1.TargetReference // from the bottom up
		want  *v1alpha1.Deletion
	}{
		"of the object itself": {want: d},
		"of what is beside it": {
			below: []v1alpha1.TargetReference{ref("Database", "shop")},
			want:  &v1alpha1.Deletion{User: "alice", Trace: []v1alpha1.TraceHop{deleted("Claim", ""), deleted("Database", "")}},
		},
		"of what is in another namespace, by way of what is in none": {
			below: []v1alpha1.TargetReference{ref("Database", "cloud"), ref("Composite", "")},
			want: &v1alpha1.Deletion{User: "alice", Trace: []v1alpha1.TraceHop{
				deleted("Claim", "shop"), deleted("Composite", ""), deleted("Database", ""),
			}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, inherit(d, ref("Claim", "shop"), tt.below)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if d.Trace[0].Namespace != "" {
		t.Error("the deletion of the object itself has changed")
	}
}
