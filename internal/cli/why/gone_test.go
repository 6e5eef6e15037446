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
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/text"
)

// TestGoneStrays names no child without a cause that does not exist any more, which a record may do for minutes.
func TestGoneStrays(t *testing.T) {
	rec := recordOf("web", v1alpha1.AllowanceRecordStatus{
		Strays: []v1alpha1.StrayChild{
			{APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: "shop", Name: "mine", UID: "1"},
			{APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: "shop", Name: "yours", UID: "2"},
		},
		History: []v1alpha1.HistoryEntry{
			denialOf(time.Minute, "Update", "mine", "spec.replicas"), denialOf(time.Hour, "Delete", "old", "delete"),
		},
	})
	for i := range rec.Status.Strays {
		rec.Status.Strays[i].Time = before(2 * time.Hour)
	}
	for name, tc := range map[string]struct {
		gone []string
		want map[string][]string
		says bool
	}{
		"all are there":  {want: map[string][]string{"Update": {"mine"}, "Delete": {"mine", "yours"}}},
		"one is gone":    {gone: []string{"mine"}, want: map[string][]string{"Delete": {"yours"}}, says: true},
		"all are gone":   {gone: []string{"mine", "yours"}, want: map[string][]string{}, says: true},
		"another's gone": {gone: []string{"yours"}, want: map[string][]string{"Update": {"mine"}, "Delete": {"mine"}}},
	} {
		t.Run(name, func(t *testing.T) {
			report := collect([]v1alpha1.AllowanceRecord{rec}, scene{Policies: policies(t), gone: func(s v1alpha1.StrayChild) bool {
				return strings.Contains(strings.Join(tc.gone, " "), s.Name)
			}}, nil)
			got := map[string][]string{}
			for _, r := range report.Refusals {
				if r.Strays != nil {
					got[r.Operation] = r.Strays.Names
				}
			}
			if diff := gocmp.Diff(tc.want, got); diff != "" {
				t.Errorf("strays (-want +got):\n%s", diff)
			}
			out := render(report, text.Terminal{Width: text.DefaultWidth}, false, now)
			if says := strings.Contains(out, "It is gone by now"); says != tc.says {
				t.Errorf("says that it is gone: %v, want %v:\n%s", says, tc.says, out)
			}
		})
	}
}

// In the version that kubectl takes by itself, a stray may lose fields.
func TestStraysNameAVersion(t *testing.T) {
	rec := recordOf("web", v1alpha1.AllowanceRecordStatus{Strays: []v1alpha1.StrayChild{
		{APIVersion: "example.org/v2", Kind: "Thing", Namespace: "shop", Name: "mine", UID: "1", Time: before(2 * time.Hour)},
	}})
	e := denialOf(time.Minute, "Update", "mine", "spec.size")
	e.Kind = "Thing"
	got := straysOf(&rec, scene{Policies: policies(t), versionToName: func(kind schema.GroupKind) string {
		return map[schema.GroupKind]string{{Group: "example.org", Kind: "Thing"}: "v1"}[kind]
	}}, e)
	if got == nil {
		t.Fatal("no strays")
	}
	want := []string{
		"kubectl delete -n shop thing.v1.example.org mine",
		"kubectl annotate -n shop thing.v1.example.org mine thing.kausality.io/approve='metadata.ownerReferences'",
	}
	if diff := gocmp.Diff(want, got.Commands); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}
