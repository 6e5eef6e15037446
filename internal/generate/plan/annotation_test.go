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

package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/generate"
)

func TestMarksAreReadAsWritten(t *testing.T) {
	id := generate.ID{Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
	source := generate.ID{Kind: "ConfigMap", Namespace: "default", Name: "settings"}
	want := &Marks{
		Policy:   PolicyRef{Name: "settings", UID: "uid", Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
		Triggers: []generate.ID{{Kind: "Namespace", Name: "shop"}, {Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}},
		Source:   &source, Synchronized: true, Digest: "digest",
	}
	causes := []Cause{{Object: source, User: "alice", Time: new(metav1.NewTime(want.Policy.Created))}, {Object: want.Triggers[0], User: "bob"}}
	content := map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"namespace": "shop", "name": "settings", "labels": map[string]any{"a": "b"}},
	}
	before := runtime.DeepCopyJSON(content)
	marked, err := Marked(Step{ID: id, Content: content, Marks: want}, []string{"above"}, causes)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, content); diff != "" {
		t.Errorf("what was wanted is not as it was (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(causes, CausesOn(id, marked)); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
	got, above := MarksOf(id, marked)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("marks (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"above"}, above); diff != "" {
		t.Errorf("above (-want +got):\n%s", diff)
	}

	id.Name = "copy"
	if got, _ := MarksOf(id, marked); got != nil {
		t.Errorf("a copy has the marks %v", got)
	}
	metadata, _ := marked["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	annotations[v1alpha1.AnnotationGeneratedFrom] = "no JSON"
	id.Name = "settings"
	if got, _ := MarksOf(id, marked); got != nil {
		t.Errorf("what cannot be read is %v", got)
	}
}

func TestLabelIsAValue(t *testing.T) {
	long := strings.Repeat("a", 64)
	if got := LabelOf("short.name"); got != "short.name" {
		t.Errorf("a name that is a value of a label becomes %q", got)
	}
	if got := LabelOf(long); len(got) != 32 || got == LabelOf(long+"b") {
		t.Errorf("a long name becomes %q", got)
	}
}
