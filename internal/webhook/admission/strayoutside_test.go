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

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/lineage"
)

// TestStrayOutside tells who has a stray adopted, and who approves it, what it stands for outside.
func TestStrayOutside(t *testing.T) {
	straying := func(obj *unstructured.Unstructured) { obj.SetUID("uid-of-b") }
	victim := bucket(t, "size: 1", gateClosed)
	victim.SetName("victim")
	victim.SetUID("uid-of-victim")
	for name, tt := range map[string]struct {
		outside string
		says    string
	}{
		"another's":    {outside: "victim", says: "the same outside as Bucket default/victim"},
		"somebody's":   {outside: "far", says: "something outside that is not called like it"},
		"what it says": {outside: "b"},
	} {
		t.Run(name, func(t *testing.T) {
			rec := &v1alpha1.AllowanceRecord{}
			rec.Spec.TargetRef.UID = "uid-of-web"
			rec.Status.Strays = []v1alpha1.StrayChild{{UID: "uid-of-b"}}
			w := &world{
				cached:  map[string]*unstructured.Unstructured{"Shop/web": shop(t), "Bucket/victim": victim},
				records: map[types.UID]*v1alpha1.AllowanceRecord{"uid-of-web": rec},
			}
			w.live = w.cached
			mutator, _ := w.hooks(t, shopPolicy)
			before := bucket(t, "size: 1", gateClosed, under(t, "size: 1"), with(nameKey, tt.outside), straying)
			after := bucket(t, "size: 1", gateClosed, under(t, "size: 1"), with(nameKey, tt.outside), straying, with("bucket.kausality.io/approve", lineage.OwnersPath))
			resp := mutator.Handle(t.Context(), asking(t, "alice", platformTeam, before, after))
			said := strings.Join(resp.Warnings, " ")
			if told := strings.Contains(said, "is no stray of"); !resp.Allowed || told != (tt.says != "") || !strings.Contains(said, tt.says) {
				t.Errorf("allowed = %t, and %q does not say %q", resp.Allowed, said, tt.says)
			}
			if len(rec.Status.Strays) > 0 {
				t.Errorf("it is not approved: %q", said)
			}
		})
	}
}
