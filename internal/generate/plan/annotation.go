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
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/generate"
)

// written is the annotation that an object says by how it came to be.
type written struct {
	Policy       PolicyRef     `json:"policy"`
	Object       generate.ID   `json:"object"`
	Triggers     []generate.ID `json:"triggers"`
	Source       *generate.ID  `json:"source,omitempty"`
	Above        []string      `json:"above,omitempty"`
	Synchronized bool          `json:"synchronized,omitempty"`
	Digest       string        `json:"digest"`
	Causes       []Cause       `json:"causes,omitempty"`
}

// Marked returns the content of a step with its marks on it. above are the policies by which its
// trigger was made, and causes who changed what it is made from.
func Marked(step Step, above []string, causes []Cause) (map[string]any, error) {
	encoded, err := json.Marshal(written{
		Policy: step.Marks.Policy, Object: step.ID, Triggers: step.Marks.Triggers, Source: step.Marks.Source,
		Above: above, Synchronized: step.Marks.Synchronized, Digest: step.Marks.Digest,
		Causes: causes,
	})
	if err != nil {
		return nil, fmt.Errorf("writing how %s came to be: %w", step.ID, err)
	}
	out := (&unstructured.Unstructured{Object: step.Content}).DeepCopy()
	out.SetAnnotations(with(out.GetAnnotations(), v1alpha1.AnnotationGeneratedFrom, string(encoded)))
	out.SetLabels(with(out.GetLabels(), v1alpha1.LabelGeneratedBy, LabelOf(step.Marks.Policy.Name)))
	return out.Object, nil
}

func with(to map[string]string, key, value string) map[string]string {
	if to == nil {
		to = map[string]string{}
	}
	to[key] = value
	return to
}

// LabelOf returns the value of the label of what a policy made.
func LabelOf(policy string) string {
	if len(validation.IsValidLabelValue(policy)) == 0 {
		return policy
	}
	sum := sha256.Sum256([]byte(policy))
	return hex.EncodeToString(sum[:16])
}

// MarksOf returns what an object says of how it came to be, and the policies by which its trigger
// was made. They are nil where no policy made it, where that cannot be read, and of a copy: its
// annotation is about another object.
func MarksOf(id generate.ID, content map[string]any) (marks *Marks, above []string) {
	w := writtenOn(id, content)
	if w.Policy.Name == "" {
		return nil, nil
	}
	return &Marks{Policy: w.Policy, Triggers: w.Triggers, Source: w.Source, Synchronized: w.Synchronized, Digest: w.Digest}, w.Above
}

// Above returns the policies that led to an object, the one that made it first; none where no policy did. It
// is what generate.Trigger has in its field Above.
func Above(object map[string]any) []string {
	marks, above := MarksOf(generate.IDOf(object), object)
	if marks == nil {
		return nil
	}
	return append([]string{marks.Policy.Name}, above...)
}

// writtenOn returns what an object says of how it came to be, nothing where MarksOf does.
func writtenOn(id generate.ID, content map[string]any) written {
	return writtenIn(id, (&unstructured.Unstructured{Object: content}).GetAnnotations())
}

func writtenIn(id generate.ID, annotations map[string]string) written {
	text := annotations[v1alpha1.AnnotationGeneratedFrom]
	var w written
	if text == "" || json.Unmarshal([]byte(text), &w) != nil || w.Object != id {
		return written{}
	}
	return w
}
