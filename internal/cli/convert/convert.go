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

// Package convert turns policies of other forms into AllowancePolicies: those of
// kausal.io, the ancestor of Kausality, and such as are written in short.
package convert

import (
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/offline"
	"kausality.io/operator/internal/cli/source"
)

// ancestor is the group in which Kausality's policies began.
const ancestor = "kausal.io"

const policyKind = "AllowancePolicy"

// Converted is what a document became.
type Converted struct {
	// Policy is nil where the document cannot be converted.
	Policy *Policy
	// Lost is what the document says and the policy does not.
	Lost []source.Problem
	// Notes are what the policy means that the document did not.
	Notes []source.Problem
}

// Policy is an AllowancePolicy as people write it: without a status.
type Policy struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta            `json:"metadata"`
	Spec            v1alpha1.AllowancePolicySpec `json:"spec"`
}

// Document converts a document. Kinds are looked up where it names only the kind.
func Document(doc *source.Document, kinds *offline.Kinds) Converted {
	c := converter{doc: doc, kinds: kinds}
	gvk := doc.GVK()
	switch {
	case gvk.Kind == "UpgradeAllowance":
		c.losef("kind", "there is no UpgradeAllowance in this version of Kausality")
		return c.Converted
	case gvk.Kind != policyKind || gvk.Group != ancestor && gvk.Group != v1alpha1.GroupVersion.Group:
		c.losef("kind", "a %s is no policy, and is left out", kindText(gvk))
		return c.Converted
	}
	spec, ok := doc.Object["spec"].(map[string]any)
	if !ok {
		c.losef("spec", "the policy has no spec")
		return c.Converted
	}
	if gvk.Group == ancestor {
		spec = c.fromAncestor(spec)
	} else {
		c.lengthen(spec)
	}
	if spec != nil {
		c.write(spec)
	}
	return c.Converted
}

func kindText(gvk schema.GroupVersionKind) string {
	if gvk.Kind == "" {
		return "document without a kind"
	}
	return gvk.Kind
}

// converter converts one document.
type converter struct {
	Converted
	doc   *source.Document
	kinds *offline.Kinds
}

func (c *converter) losef(path, format string, args ...any) {
	c.Lost = append(c.Lost, c.doc.Problem(path, format, args...))
}

func (c *converter) notef(path, format string, args ...any) {
	c.Notes = append(c.Notes, c.doc.Problem(path, format, args...))
}

// others loses the fields of a map that are none of those known.
func (c *converter) others(m map[string]any, prefix string, known ...string) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(known, name) {
			c.losef(prefix+name, "there is no such field")
		}
	}
}

// write makes the policy of a spec that is in full. What it has no field for is lost.
func (c *converter) write(spec map[string]any) {
	metadata, _, err := unstructured.NestedMap(c.doc.Object, "metadata")
	if err != nil {
		c.losef("metadata", "it has no fields")
	}
	c.others(c.doc.Object, "", "apiVersion", "kind", "metadata", "spec", "status")
	full, err := source.Of(map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": policyKind, "metadata": metadata, "spec": spec,
	})
	if err != nil {
		c.losef("spec", "%v", err)
		return
	}
	policy := &Policy{}
	for _, wrong := range full.Decode(policy) {
		c.losef(wrong.Field, "%s", wrong.Message)
	}
	c.Policy = policy
}

// list is the value of a field that may be given as one item in place of a list.
func list(value any) []any {
	switch value := value.(type) {
	case nil:
		return nil
	case []any:
		return value
	default:
		return []any{value}
	}
}

// each shows the items of a list, with their paths. What has no fields is lost.
func (c *converter) each(parent map[string]any, path, name string, show func(item map[string]any, path string)) {
	for i, item := range list(parent[name]) {
		at := fmt.Sprintf("%s.%s[%d]", path, name, i)
		fields, ok := item.(map[string]any)
		if !ok {
			c.losef(at, "it has no fields")
			continue
		}
		show(fields, at)
	}
}
