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

package convert

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/generate"
)

// kyverno is the group of Kyverno's policies that are written in CEL.
const kyverno = "policies.kyverno.io"

const (
	generatingKind           = v1alpha1.KindGeneratingPolicy
	namespacedGeneratingKind = "NamespacedGeneratingPolicy"
)

// kyvernoVersions are the versions of GeneratingPolicies that Kyverno 1.19 serves.
var kyvernoVersions = []string{"v1", "v1beta1", "v1alpha1"}

// isGenerating reports whether a document is a GeneratingPolicy, of Kyverno or of Kausality.
func isGenerating(gvk schema.GroupVersionKind) bool {
	switch gvk.Group {
	case kyverno:
		return gvk.Kind == generatingKind || gvk.Kind == namespacedGeneratingKind
	case v1alpha1.GroupVersion.Group:
		return gvk.Kind == generatingKind
	}
	return false
}

// fromGenerating converts a GeneratingPolicy of Kyverno. One of Kausality stays as it is. What would
// not be accepted is not written.
func (c *converter) fromGenerating(spec map[string]any, gvk schema.GroupVersionKind) {
	if gvk.Group == kyverno && !slices.Contains(kyvernoVersions, gvk.Version) {
		c.losef("apiVersion", "Kyverno 1.19 serves no version %s: give the policy in one of %v", gvk.Version, kyvernoVersions)
		return
	}
	metadata := c.metadata()
	if gvk.Kind == namespacedGeneratingKind && !c.unscope(metadata) {
		return
	}
	spec = runtime.DeepCopyJSON(spec)
	c.evaluation(spec)
	c.withoutCounterpart(spec)
	c.templates(spec)
	c.expressions(spec)
	if c.namespace != "" {
		c.limit(spec)
	}
	out := &v1alpha1.GeneratingPolicySpec{}
	name, _ := metadata["name"].(string)
	object := c.decode(generatingKind, metadata, spec, out)
	if object == nil {
		return
	}
	_, warnings, errs := generate.Compile(name, out)
	for _, warning := range warnings {
		if at, lost, ok := strings.Cut(warning, ": "); ok && strings.HasPrefix(at, "spec.matchConstraints") {
			c.losef(at, "%s", lost)
		}
	}
	for _, err := range errs {
		if c.unusable[err.Field] {
			continue
		}
		c.losef(err.Field, "%s", cmp.Or(c.foreign(spec, err.Field), err.Detail, err.ErrorBody()))
		c.unusable[err.Field] = true
	}
	if len(c.unusable) > 0 {
		c.losef("spec", "the policy is left out: without what is lost it would not be what it was")
		return
	}
	c.Object = object
}

// metadata returns what people write of it. The API server's own is left out, and what ties
// the object to others of its cluster is lost.
func (c *converter) metadata() map[string]any {
	held, ok := c.doc.Object["metadata"].(map[string]any)
	if !ok && c.doc.Object["metadata"] != nil {
		c.losef("metadata", "it has no fields")
	}
	metadata := maps.Clone(held)
	for _, name := range []string{
		"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
		"managedFields", "selfLink", "namespace",
	} {
		delete(metadata, name)
	}
	for _, name := range []string{"ownerReferences", "finalizers"} {
		if metadata[name] != nil {
			c.losef("metadata."+name, "it is about the original")
			delete(metadata, name)
		}
	}
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		annotations = maps.Clone(annotations)
		delete(annotations, corev1.LastAppliedConfigAnnotation)
		metadata["annotations"] = annotations
		if len(annotations) == 0 {
			delete(metadata, "annotations")
		}
	}
	return metadata
}

// evaluation writes the switches as the booleans that they are.
func (c *converter) evaluation(spec map[string]any) {
	const at = "spec.evaluation."
	evaluation, ok := spec["evaluation"].(map[string]any)
	if !ok {
		return
	}
	for _, name := range []string{"synchronize", "generateExisting", "orphanDownstreamOnPolicyDelete"} {
		wrapped, ok := evaluation[name].(map[string]any)
		if !ok {
			continue
		}
		c.others(wrapped, at+name+".", "enabled")
		delete(evaluation, name)
		if enabled, given := wrapped["enabled"]; given {
			evaluation[name] = enabled
		}
	}
	if admission, ok := evaluation["admission"].(map[string]any); ok {
		c.others(admission, at+"admission.", "enabled")
		if is(admission["enabled"], false) {
			c.losef(at+"admission", "here a policy is always about triggers that are written after it, too")
		}
	}
	if is(evaluation["skipBackgroundRequests"], true) {
		c.losef(at+"skipBackgroundRequests", "here what another policy generates is a trigger like any other; only what the policy itself has led to is none")
	}
	delete(evaluation, "admission")
	delete(evaluation, "skipBackgroundRequests")
	if len(evaluation) == 0 {
		delete(spec, "evaluation")
	}
}

// is reports whether a switch was given, and how.
func is(given any, value bool) bool { return given == any(value) }

// withoutCounterpart loses the fields that Kausality has not.
func (c *converter) withoutCounterpart(spec map[string]any) {
	if given := spec["auditAnnotations"]; given != nil {
		c.losef("spec.auditAnnotations", "nothing is written to the audit log: what was generated, and why, is in kubectl kausality trace")
	}
	if given := spec["webhookConfiguration"]; given != nil {
		c.losef("spec.webhookConfiguration", "triggers are watched: no request waits for the policy")
	}
	if is(spec["useServerSideApply"], false) {
		c.notef("spec.useServerSideApply", "objects are always written by server-side apply: fields that others add to them stay")
	}
	for _, name := range []string{"auditAnnotations", "webhookConfiguration", "useServerSideApply"} {
		delete(spec, name)
	}
}
