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
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
)

// TestIsScaled shows that a scale counts for the replicas alone, and since a time.
func TestIsScaled(t *testing.T) {
	noon := metav1.NewTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	before, after := metav1.NewTime(noon.Add(-time.Minute)), metav1.NewTime(noon.Add(time.Minute))
	tests := map[string]struct {
		subresource, path string
		since             *metav1.Time
		want              bool
	}{
		"scaled since":             {subresource: scaleSubresource, path: "spec.replicas", since: &before, want: true},
		"scaled before":            {subresource: scaleSubresource, path: "spec.replicas", since: &after},
		"scaled whenever":          {subresource: scaleSubresource, path: "spec.replicas", want: true},
		"another field":            {subresource: scaleSubresource, path: "spec.template", since: &before},
		"set in the object itself": {path: "spec.replicas", since: &before},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			obj := &unstructured.Unstructured{Object: map[string]any{}}
			obj.SetManagedFields([]metav1.ManagedFieldsEntry{{
				Manager: "m", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "apps/v1", FieldsType: "FieldsV1",
				Subresource: tc.subresource, Time: &noon,
			}})
			if got := IsScaled(obj, tc.path, tc.since); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}

// TestUnexplained shows what explains that an object has another content than was known, and that a
// generation does only where there is one.
func TestUnexplained(t *testing.T) {
	policies := databasePolicies(t, "none", "data", "metadata.labels.team")
	of := func(generation int64, digests ...string) *v1alpha1.ApprovedContent {
		out := &v1alpha1.ApprovedContent{Generation: generation}
		for i := 0; i < len(digests); i += 2 {
			out.Digests = append(out.Digests, v1alpha1.ContentDigest{Path: digests[i], Digest: digests[i+1]})
		}
		return out
	}
	grant := func(generation int64, field string) v1alpha1.Allowance {
		return v1alpha1.Allowance{
			Kind: "Secret", Mutation: "*", Generation: generation, Initiator: "alice",
			Trace: []v1alpha1.TraceHop{{Kind: "Database", Name: "db", Generation: generation, Field: field}},
		}
	}
	tests := map[string]struct {
		was, now *v1alpha1.ApprovedContent
		// has are the grants in the ledger, and known those of them that the record knows.
		has, known []v1alpha1.Allowance
		pending    []v1alpha1.PendingGrant
		want       []string
	}{
		"another value":                        {was: of(4, "data[a]", "1"), now: of(5, "data[a]", "2"), want: []string{"data[a]"}},
		"another value, without generations":   {was: of(0, "data[a]", "1"), now: of(0, "data[a]", "2"), want: []string{"data[a]"}},
		"the same value, without generations":  {was: of(0, "data[a]", "1"), now: of(0, "data[a]", "1")},
		"a key more, without generations":      {was: of(0, "data[a]", "1"), now: of(0, "data[a]", "1", "data[b]", "1"), want: []string{"data[b]"}},
		"all gone, without generations":        {was: of(0, "data[a]", "1"), now: of(0, "data", ""), want: []string{"data[a]"}},
		"generations that came with a version": {was: of(0, "data[a]", "1"), now: of(1, "data[a]", "2"), want: []string{"data[a]"}},
		"a new default":                        {was: of(4, "data[a]", "1"), now: of(4, "data[a]", "2", "data[b]", "1")},
		"a label":                              {was: of(4, "metadata.labels[team]", "1"), now: of(4, "metadata.labels[team]", "2"), want: []string{"metadata.labels[team]"}},
		"granted": {
			was: of(4, "data[a]", "1"), now: of(5, "data[a]", "2"), has: []v1alpha1.Allowance{grant(5, "data[a]")},
		},
		"granted before": {
			was: of(4, "data[a]", "1"), now: of(5, "data[a]", "2"), has: []v1alpha1.Allowance{grant(4, "data[a]")}, want: []string{"data[a]"},
		},
		"granted, without generations": {
			was: of(0, "data[a]", "1"), now: of(0, "data[a]", "2"), has: []v1alpha1.Allowance{grant(0, "data[a]")},
		},
		"granted before, without generations": {
			was: of(0, "data[a]", "1"), now: of(0, "data[a]", "2"),
			has: []v1alpha1.Allowance{grant(0, "data[a]")}, known: []v1alpha1.Allowance{grant(0, "data[a]")}, want: []string{"data[a]"},
		},
		"created, without generations": {
			was: of(0, "data[a]", "1"), now: of(0, "data[a]", "2"),
			has: []v1alpha1.Allowance{grant(1, v1alpha1.FieldCreated)}, known: []v1alpha1.Allowance{grant(1, v1alpha1.FieldCreated)}, want: []string{"data[a]"},
		},
		"granted for a label, which counted no generation up": {
			was: of(4, "data[a]", "1"), now: of(5, "data[a]", "2"),
			has: []v1alpha1.Allowance{grant(5, "metadata.labels[team]")}, known: []v1alpha1.Allowance{grant(5, "metadata.labels[team]")}, want: []string{"data[a]"},
		},
		"granted before it was stored": {
			was: of(4, "data[a]", "1"), now: of(5, "data[a]", "2"),
			has: []v1alpha1.Allowance{grant(5, "data[a]")}, known: []v1alpha1.Allowance{grant(5, "data[a]")},
			pending: []v1alpha1.PendingGrant{{Allowances: []v1alpha1.Allowance{grant(5, "data[a]")}}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			knows := &v1alpha1.AllowanceRecordStatus{Approved: tc.was, Active: tc.known, PendingGrants: tc.pending}
			var got []string
			for _, d := range Unexplained(knows, tc.now, policies, ledger.Ledger{}.Merge(tc.has...)) {
				got = append(got, d.Path)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Unexplained() (-want +got):\n%s", diff)
			}
		})
	}
}

// TestStillUnexplainedUncounted shows what ends it where no generation tells what is newer.
func TestStillUnexplainedUncounted(t *testing.T) {
	policies := databasePolicies(t, "none", "data")
	of := func(digests ...string) *v1alpha1.ApprovedContent {
		out := &v1alpha1.ApprovedContent{}
		for i := 0; i < len(digests); i += 2 {
			out.Digests = append(out.Digests, v1alpha1.ContentDigest{Path: digests[i], Digest: digests[i+1]})
		}
		return out
	}
	granted := ledger.NewEntry(v1alpha1.Allowance{
		Kind: "Secret", Mutation: "*", Initiator: "alice", Trace: []v1alpha1.TraceHop{{Kind: "Database", Name: "db", Field: "data[a]"}},
	})
	tests := map[string]struct {
		found, content *v1alpha1.ApprovedContent
		effective      ledger.Ledger
		had            []string
		want           bool
	}{
		"as it was found":           {found: of("data[a]", "1"), content: of("data[a]", "2", "data[b]", "1"), want: true},
		"put back":                  {found: of("data[a]", "1"), content: of("data[a]", "1", "data[b]", "1")},
		"a key that came":           {found: of("data[a]", ""), content: of("data[a]", "2"), want: true},
		"a key that came, and went": {found: of("data[a]", ""), content: of("data[b]", "1")},
		"granted since":             {found: of("data[a]", "1"), content: of("data[a]", "2"), effective: ledger.Ledger{granted}},
		"granted before":            {found: of("data[a]", "1"), content: of("data[a]", "2"), effective: ledger.Ledger{granted}, had: []string{granted.ID()}, want: true},
		"another field granted":     {found: of("data[b]", "1"), content: of("data[b]", "2"), effective: ledger.Ledger{granted}, want: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			known := of(tc.found.Digests[0].Path, tc.found.Digests[0].Digest)
			if got := len(StillUnexplained(tc.found, known, tc.content, policies, tc.effective, tc.had)) > 0; got != tc.want {
				t.Errorf("unexplained: %t, want %t", got, tc.want)
			}
		})
	}
}

// TestStillUnexplained shows what ends that a field is unexplained, which it was once.
func TestStillUnexplained(t *testing.T) {
	trigger, err := change.ParsePattern("spec")
	if err != nil {
		t.Fatal(err)
	}
	policies := []*policy.Policy{{Action: v1alpha1.ActionDeny, Rules: []policy.Rule{{Trigger: trigger}}}}
	of := func(generation int64, template string) *v1alpha1.ApprovedContent {
		return &v1alpha1.ApprovedContent{Generation: generation, Digests: []v1alpha1.ContentDigest{{Path: "spec.template", Digest: template}}}
	}
	entry := func(mutation string, generation int64, relation v1alpha1.Relation) ledger.Ledger {
		return ledger.Ledger{{Allowance: v1alpha1.Allowance{Mutation: mutation, Generation: generation, Relation: relation}}}
	}
	tests := map[string]struct {
		approved, content *v1alpha1.ApprovedContent
		effective         ledger.Ledger
		want              bool
	}{
		"as it was found":                {approved: of(4, "ours"), content: of(5, "theirs"), want: true},
		"changed again":                  {approved: of(4, "ours"), content: of(6, "theirs again"), want: true},
		"put back":                       {approved: of(4, "ours"), content: of(6, "ours")},
		"approved":                       {approved: of(5, "theirs"), content: of(5, "theirs")},
		"approved, and changed again":    {approved: of(5, "theirs"), content: of(6, "theirs again"), want: true},
		"a record that knows nothing":    {content: of(5, "theirs"), want: true},
		"granted":                        {approved: of(4, "ours"), content: of(5, "theirs"), effective: entry("spec.template", 5, v1alpha1.RelationControllerChild)},
		"part of it granted":             {approved: of(4, "ours"), content: of(5, "theirs"), effective: entry("spec.template.spec", 5, v1alpha1.RelationControllerChild)},
		"granted before":                 {approved: of(4, "ours"), content: of(5, "theirs"), effective: entry("spec.template", 4, v1alpha1.RelationControllerChild), want: true},
		"another field granted":          {approved: of(4, "ours"), content: of(5, "theirs"), effective: entry("spec.replicas", 5, v1alpha1.RelationControllerChild), want: true},
		"noted as withheld, and no more": {approved: of(4, "ours"), content: of(5, "theirs"), effective: entry("spec.template", 5, v1alpha1.RelationWithheld), want: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := len(StillUnexplained(of(4, "ours"), tc.approved, tc.content, policies, tc.effective, nil)) > 0; got != tc.want {
				t.Errorf("unexplained: %t, want %t", got, tc.want)
			}
		})
	}
}

// TestLastChange shows that a status is no change.
func TestLastChange(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	at := func(sub string, ago time.Duration) metav1.ManagedFieldsEntry {
		when := metav1.NewTime(noon.Add(-ago))
		return metav1.ManagedFieldsEntry{Manager: "m", Operation: "Update", APIVersion: "apps/v1", FieldsType: "FieldsV1", Subresource: sub, Time: &when}
	}
	obj.SetManagedFields([]metav1.ManagedFieldsEntry{at("", time.Hour), at(statusSubresource, time.Second), at(scaleSubresource, time.Minute)})
	if got := LastChange(obj); !got.Equal(noon.Add(-time.Minute)) {
		t.Errorf("changed at %s, want that of the scale", got)
	}
}
