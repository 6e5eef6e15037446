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

package explain

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
)

// TestGateOfWhatIsKept says which finalizers keep what is being deleted once nothing holds that back.
func TestGateOfWhatIsKept(t *testing.T) {
	const provider = "finalizer.managedresource.crossplane.io"
	const works = "It is being deleted, and its provider has still to do with what it stands for outside."
	const kept = "It is being deleted, and stays until whoever has set these finalizers takes them off: example.org/mine."
	for name, tt := range map[string]struct {
		finalizers []string
		stays      bool
		want       string
	}{
		"by its provider":   {finalizers: []string{provider}, want: works},
		"by somebody":       {finalizers: []string{"example.org/mine"}, want: kept},
		"by both":           {finalizers: []string{provider, "example.org/mine"}, want: works + " " + kept},
		"by nothing":        {},
		"not being deleted": {finalizers: []string{"example.org/mine"}, stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			obj := &unstructured.Unstructured{}
			obj.SetKind("RDSInstance")
			obj.SetName("main")
			obj.SetAnnotations(map[string]string{v1alpha1.AnnotationGateContent: "hash"})
			obj.SetFinalizers(tt.finalizers)
			if !tt.stays {
				obj.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1_700_000_000, 0)})
			}
			s := &sight{}
			s.obj.obj = obj
			if got := gateOf(s).Waits; got != tt.want {
				t.Errorf("it says %q, want %q", got, tt.want)
			}
		})
	}
}
