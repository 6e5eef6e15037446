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

package lifecycle

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/change"
)

// proofs are the fields of which the status of a kind proves that they are carried out,
// where Reached says so: the template and the number of a workload show in the Pods that
// it counts, its strategy does not. A Job that has ended makes nothing any more. What a
// status proves is known for each kind, or it proves nothing: observed, a Certificate says
// that it is Ready at its new generation without having looked at the field that changed.
var proofs = map[schema.GroupKind][]change.Pattern{
	{Group: appsv1.GroupName, Kind: "DaemonSet"}:   patterns("spec.template"),
	{Group: appsv1.GroupName, Kind: "Deployment"}:  patterns("spec.template", "spec.replicas"),
	{Group: appsv1.GroupName, Kind: "StatefulSet"}: patterns("spec.template", "spec.replicas"),
	jobKind: patterns("spec"),
}

func patterns(texts ...string) []change.Pattern {
	out := make([]change.Pattern, 0, len(texts))
	for _, text := range texts {
		p, err := change.ParsePattern(text)
		if err != nil {
			panic("lifecycle: " + err.Error())
		}
		out = append(out, p)
	}
	return out
}

// Proven are the fields of which the status of obj proves that all children are as the
// object has them. A change of them that is withheld is over then: there is nothing left
// to hold back (D2).
func Proven(obj *unstructured.Unstructured) []change.Pattern {
	known := proofs[obj.GroupVersionKind().GroupKind()]
	if len(known) == 0 || !Reached(obj) {
		return nil
	}
	return known
}
