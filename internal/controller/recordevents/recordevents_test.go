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

package recordevents

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/objectcache"
)

// packed is a record as a cache packs it.
type packed struct{ note any }

func (n packed) Note() any { return n.note }

func TestNoteOf(t *testing.T) {
	rec := &v1alpha1.AllowanceRecord{
		Spec: v1alpha1.AllowanceRecordSpec{TargetRef: v1alpha1.TargetReference{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: "web"}},
		Status: v1alpha1.AllowanceRecordStatus{
			Adopting: true, Conditions: []metav1.Condition{{Type: v1alpha1.ConditionOverdue, Status: metav1.ConditionTrue}},
		},
	}
	want := Note{
		Holder:   objectcache.RequestFor(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, types.NamespacedName{Namespace: "shop", Name: "web"}),
		Adopting: true, Overdue: true, Open: true,
	}
	for name, tc := range map[string]struct {
		obj    any
		want   Note
		wantOK bool
	}{
		"a packed record":                      {packed{NoteOf(rec)}, want, true},
		"a record":                             {rec, want, true},
		"a tombstone of a packed one":          {toolscache.DeletedFinalStateUnknown{Obj: packed{NoteOf(rec)}}, want, true},
		"a tombstone with nothing":             {toolscache.DeletedFinalStateUnknown{Key: "shop/web"}, Note{}, false},
		"packed by a cache that notes nothing": {packed{}, Note{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := noted(tc.obj)
			if ok != tc.wantOK {
				t.Errorf("noted() is %t", ok)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(Note{}), cmp.Comparer(func(a, b objectcache.Request) bool { return a == b })); diff != "" {
				t.Errorf("noted() (-want +got):\n%s", diff)
			}
		})
	}
}
