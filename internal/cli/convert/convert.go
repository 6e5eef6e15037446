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

// Package convert turns policies of other forms into those of Kausality: AllowancePolicies of
// kausal.io, its ancestor, AllowancePolicies and UpgradeAllowances that are written in short, and
// GeneratingPolicies of Kyverno.
package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	// Object is nil where the document cannot be converted.
	Object *Object
	// Lost is what the document says and the object does not.
	Lost []source.Problem
	// Notes are what the object means that the document did not.
	Notes []source.Problem
}

// Object is what a document became, as people write it: without a status.
type Object struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta `json:"metadata"`
	// Spec points to that of the kind.
	Spec any `json:"spec"`
}

// Document converts a document. Kinds are looked up where it names only the kind.
func Document(doc *source.Document, kinds *offline.Kinds) Converted {
	c := converter{doc: doc, kinds: kinds, unusable: map[string]bool{}}
	gvk := doc.GVK()
	isOurs := gvk.Group == v1alpha1.GroupVersion.Group
	isPolicy := gvk.Kind == policyKind && (isOurs || gvk.Group == ancestor)
	isUpgrade := gvk.Kind == v1alpha1.KindUpgradeAllowance && isOurs
	if !isPolicy && !isUpgrade && !isGenerating(gvk) {
		c.losef("kind", "%s", noPolicy(gvk))
		return c.Converted
	}
	spec, ok := doc.Object["spec"].(map[string]any)
	switch {
	case !ok:
		c.losef("spec", "the policy has no spec")
	case isGenerating(gvk):
		c.fromGenerating(spec, gvk)
	case isUpgrade:
		c.lengthenUpgrade(spec)
		c.Object = c.decode(gvk.Kind, c.metadata(), spec, &v1alpha1.UpgradeAllowanceSpec{})
	case gvk.Group == ancestor:
		if spec = c.fromAncestor(spec); spec != nil {
			c.Object = c.decode(policyKind, c.metadata(), spec, &v1alpha1.AllowancePolicySpec{})
		}
	default:
		c.lengthen(spec)
		c.Object = c.decode(policyKind, c.metadata(), spec, &v1alpha1.AllowancePolicySpec{})
	}
	return c.Converted
}

// noPolicy says why a document of a kind is not converted.
func noPolicy(gvk schema.GroupVersionKind) string {
	switch {
	case gvk.Group == "kyverno.io" && strings.HasSuffix(gvk.Kind, "Policy"):
		return fmt.Sprintf("a %s of kyverno.io is not converted: write its generate rules as a %s first, as Kyverno's documentation shows", gvk.Kind, generatingKind)
	case gvk.Kind == "PolicyException" && strings.HasSuffix(gvk.Group, "kyverno.io"):
		return "a PolicyException is not converted: say what is exempt in matchConditions or excludeResourceRules of the policy"
	}
	return fmt.Sprintf("a %s is no policy, and is left out", kindText(gvk))
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
	// namespace of a namespaced policy; empty for others.
	namespace string
	// unusable are the fields without which there is no policy.
	unusable map[string]bool
}

func (c *converter) losef(path, format string, args ...any) {
	c.Lost = append(c.Lost, c.doc.Problem(path, format, args...))
}

func (c *converter) notef(path, format string, args ...any) {
	c.Notes = append(c.Notes, c.doc.Problem(path, format, args...))
}

// noSuchField is what a document in full says of a field, too.
const noSuchField = "there is no such field"

// others loses the fields of a map that are none of those known.
func (c *converter) others(m map[string]any, prefix string, known ...string) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(known, name) {
			c.losef(prefix+name, noSuchField)
		}
	}
}

// decode makes the object of a spec that is in full. What it has no field for is lost.
func (c *converter) decode(kind string, metadata, spec map[string]any, into any) *Object {
	c.others(c.doc.Object, "", "apiVersion", "kind", "metadata", "spec", "status")
	full, err := source.Of(map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": kind, "metadata": metadata, "spec": spec,
	})
	if err != nil {
		c.losef("spec", "%v", err)
		return nil
	}
	object := &Object{Spec: into}
	for _, wrong := range full.Decode(object) {
		c.losef(wrong.Field, "%s", wrong.Message)
		if wrong.Message != noSuchField {
			c.unusable[wrong.Field] = true // Behind a value of another type, the rest may not have been read.
		}
	}
	return object
}

// list returns the value of a field that may be given as one item in place of a list.
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
