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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/generate/plan"
)

// Generated says that a GeneratingPolicy made the object.
type Generated struct {
	// Policy that made it.
	Policy string `json:"policy"`
	// Kept is true where it puts the object back that somebody changes or deletes.
	Kept bool `json:"kept"`
}

// generated says by which policy an object was made, nil where none did.
func generated(obj *unstructured.Unstructured) *Generated {
	marks, _ := plan.MarksOf(generate.IDOf(obj.Object), obj.Object)
	if marks == nil {
		return nil
	}
	return &Generated{Policy: marks.Policy.Name, Kept: marks.Synchronized}
}

// text says what that means for who would change the object.
func (g *Generated) text(ref v1alpha1.TargetReference) string {
	made := "GeneratingPolicy/" + g.Policy + " made it"
	if !g.Kept {
		return made + " once: it may be changed, and is not made again."
	}
	return made + ", and puts it back where it is changed or deleted. From what: " + phrase.Command("trace", ref)
}
