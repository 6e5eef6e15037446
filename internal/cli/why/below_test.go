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

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/text"
)

// TestWhyBelow tells of what waits below an object, and of nothing else.
func TestWhyBelow(t *testing.T) {
	const name, top = "web", types.UID("top")
	below := func(kind, name string, uid, parent types.UID, status v1alpha1.AllowanceRecordStatus) v1alpha1.AllowanceRecord {
		rec := recordOf(name, status)
		rec.Spec.TargetRef.Kind, rec.Spec.TargetRef.UID = kind, uid
		rec.Status.ParentUID = &parent
		return rec
	}
	deletion := denialOf(34*time.Second, "Delete", "web-1-a", "delete")
	deletion.Kind = "Pod"
	blocked := v1alpha1.AllowanceRecordStatus{
		Blocked: &v1alpha1.Blocked{Since: before(time.Minute), User: "mallory", Message: "Delete of Pod web-1-a was denied: no allowance covers it."},
		History: []v1alpha1.HistoryEntry{deletion},
	}
	forgotten := v1alpha1.AllowanceRecordStatus{Blocked: blocked.Blocked}
	over := blocked
	over.EndedAt = new(before(time.Second))
	withheld := v1alpha1.AllowanceRecordStatus{Active: []v1alpha1.Allowance{
		{Relation: v1alpha1.RelationWithheld, Mutation: "spec.replicas", Initiator: "mallory"},
		{Relation: v1alpha1.RelationWithheld, Mutation: "spec.paused", Initiator: "mallory"},
	}}
	tests := map[string]struct {
		records []v1alpha1.AllowanceRecord
		// unread is true where the object cannot be read, and its record says who it is.
		unread bool
		want   string
	}{
		"nothing waits": {
			records: []v1alpha1.AllowanceRecord{below("ReplicaSet", "web-1", "rs", top, v1alpha1.AllowanceRecordStatus{History: blocked.History})},
			want:    nothing("it"),
		},
		"a child is blocked": {
			records: []v1alpha1.AllowanceRecord{below("ReplicaSet", "web-1", "rs", top, blocked), below("ReplicaSet", "api-1", "other", "another", blocked)},
			want: `Below it  ReplicaSet/web-1
  refused   delete of Pod/web-1-a, 34s ago, still waiting
  command   kubectl kausality why -n shop replicaset/web-1
`,
		},
		"its record is all there is": {
			unread:  true,
			records: []v1alpha1.AllowanceRecord{below("Deployment", name, top, "", v1alpha1.AllowanceRecordStatus{}), below("ReplicaSet", "web-1", "rs", top, blocked)},
			want: `Below it  ReplicaSet/web-1
  refused   delete of Pod/web-1-a, 34s ago, still waiting
  command   kubectl kausality why -n shop replicaset/web-1
`,
		},
		"nobody knows any more by what": {
			records: []v1alpha1.AllowanceRecord{below("ReplicaSet", "web-1", "rs", top, forgotten)},
			want: `Below it  ReplicaSet/web-1
  refused   Delete of Pod web-1-a was denied: no allowance covers it, 60s ago, still waiting
  command   kubectl kausality why -n shop replicaset/web-1
`,
		},
		"a change further down is withheld": {
			records: []v1alpha1.AllowanceRecord{
				below("Widget", "w", "w", "rs", withheld),
				below("ReplicaSet", "web-1", "rs", top, v1alpha1.AllowanceRecordStatus{}),
			},
			want: `Below it  Widget/w
  withheld   spec.replicas, spec.paused
  command    kubectl kausality why -n shop widget/w
`,
		},
		"it has ended": {
			records: []v1alpha1.AllowanceRecord{below("ReplicaSet", "web-1", "rs", top, over)},
			want:    nothing("it"),
		},
		"owners point in a circle": {
			records: []v1alpha1.AllowanceRecord{below("ReplicaSet", "web-1", "rs", top, blocked), below("Deployment", name, top, "rs", v1alpha1.AllowanceRecordStatus{})},
			want: `Below it  ReplicaSet/web-1
  refused   delete of Pod/web-1-a, 34s ago, still waiting
  command   kubectl kausality why -n shop replicaset/web-1
`,
		},
	}
	subject := &cluster.Target{GVK: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Namespace: "shop", Name: name}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			obj := &unstructured.Unstructured{}
			obj.SetUID(top)
			if tc.unread {
				obj = nil
			}
			report := collect(tc.records, scene{Policies: policies(t)}, subject)
			report.Subject = "it"
			report.addBelow(tc.records, subject, obj)
			if diff := gocmp.Diff(tc.want, render(report, text.Terminal{Width: text.DefaultWidth}, false, now)); diff != "" {
				t.Errorf("why (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("of what is in the cluster", func(t *testing.T) {
		scheme := runtime.NewScheme()
		for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, appsv1.AddToScheme} {
			if err := add(scheme); err != nil {
				t.Fatal(err)
			}
		}
		rec := below("ReplicaSet", "web-1", "rs", top, blocked)
		rec.Namespace = "shop"
		web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: top}}
		c := &cluster.Cluster{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(&rec, web).Build(), Namespace: "shop"}
		report, err := findOf(t.Context(), c, subject)
		if err != nil || len(report.Below) != 1 {
			t.Errorf("%+v, %v: want what waits below it", report, err)
		}
	})
	t.Run("no more than is asked for", func(t *testing.T) {
		report := &Report{Below: make([]Below, 12)}
		report.shorten(10)
		if len(report.Below) != 10 || !strings.Contains(strings.Join(report.Notes, " "), "2 more") {
			t.Errorf("%d are told, and %q", len(report.Below), report.Notes)
		}
	})
}
