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

package holder

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/controllertest"
	"kausality.io/operator/internal/controller/requeue"
	"kausality.io/operator/internal/lineage"
)

// TestIgnore shows which parents of a holder count for nothing.
func TestIgnore(t *testing.T) {
	given := func(until time.Time, uids ...types.UID) attached {
		a := attached{until: until}
		for _, uid := range uids {
			a.refs = append(a.refs, lineage.Ref{UID: uid, Name: string(uid)})
		}
		return a
	}
	tests := map[string]struct {
		parents  []string
		attached attached
		before   []string
		want     []string
	}{
		"what nobody was seen to give":      {parents: []string{"new"}, attached: given(time.Time{}, "new"), want: []string{"new"}},
		"once":                              {parents: []string{"new"}, attached: given(time.Time{}, "new"), before: []string{"new"}, want: []string{"new"}},
		"not while somebody may tell of it": {parents: []string{"new"}, attached: given(controllertest.Noon.Add(time.Second), "new")},
		"as long as it is there":            {parents: []string{"old", "new"}, before: []string{"new"}, want: []string{"new"}},
		"not once it is gone":               {parents: []string{"old"}, before: []string{"new"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			v := look(makeHolder().Unstructured, nil, controllertest.Noon)
			v.parents, v.attached = tc.parents, tc.attached
			status := &v1alpha1.AllowanceRecordStatus{}
			for _, id := range tc.before {
				status.IgnoredParents = append(status.IgnoredParents, v1alpha1.IgnoredParent{ID: id})
			}
			v.ignore(status, &requeue.Soonest{})
			var got []string
			for _, p := range status.IgnoredParents {
				got = append(got, p.ID)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("ignored (-want +got):\n%s", diff)
			}
			if said := apimeta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionParentIgnored); said != (len(tc.want) > 0) {
				t.Errorf("ParentIgnored is %v with %v", said, tc.want)
			}
		})
	}
}

// TestIgnoredAreToldInShort shows that the record can be written of an object that was given very many parents: each
// is ignored, and the condition counts those that nobody would read.
func TestIgnoredAreToldInShort(t *testing.T) {
	const many = 1000
	v := look(makeHolder().Unstructured, nil, controllertest.Noon)
	for i := range many {
		ref := lineage.Ref{UID: types.UID(strconv.Itoa(i)), Name: strconv.Itoa(i)}
		v.parents, v.attached.refs = append(v.parents, ref.ID()), append(v.attached.refs, ref)
	}
	status := &v1alpha1.AllowanceRecordStatus{}
	v.ignore(status, &requeue.Soonest{})
	if got := len(status.IgnoredParents); got != many {
		t.Errorf("%d are ignored, want %d", got, many)
	}
	said := apimeta.FindStatusCondition(status.Conditions, v1alpha1.ConditionParentIgnored)
	if said == nil || !strings.Contains(said.Message, "and 992 more") || len(said.Message) > 1024 {
		t.Errorf("the condition: %+v", said)
	}
}
