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

package admission

import (
	"fmt"
	"slices"
	"strings"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/ledger"
)

// mostMistyped is how many keys that mean nothing are told of; the others are counted.
const mostMistyped = 5

// mistyped returns what somebody is told who sets an annotation below our domain that means nothing, such as one with a
// mistyped name, or one that means something in another place, as a label. Without it kubectl says "annotated", and
// nobody learns that nothing was asked for. What Kausality writes itself is no such key: old manifests bring it.
// Controllers, which copy annotations, ask for nothing.
func (r *request) mistyped(f *facts) []string {
	if r.new == nil || f.Operator || f.KeepsBooks() || f.Requester.IsController() || r.subresource != "" {
		return nil
	}
	var out []string
	for _, key := range r.meaningless() {
		out = append(out, r.mistypedText(key))
	}
	if n := len(out) - mostMistyped; n > 0 {
		out = append(out[:mostMistyped], fmt.Sprintf("kausality: %d more annotations of %s below kausality.io/ mean nothing, and are taken off it",
			n, objectText(r.gvk.Kind, r.objectName())))
	}
	key := ledger.AnnotationKey(r.new, ledger.NameApprove)
	if text, asks := r.new.GetAnnotations()[key]; asks && strings.TrimSpace(text) == "" && !r.hadAnnotation(key) && r.operation == decision.Update {
		out = append(out, fmt.Sprintf("kausality: nothing of %s is approved: %s names no fields, and not '*' either", objectText(r.gvk.Kind, r.objectName()), key))
	}
	return slices.Concat(out, r.asLabels(), r.inTemplates())
}

// meaningless returns the keys of annotations that the request sets below our domain and that mean nothing, sorted:
// those that what protects annotations inside the API server has taken away already, and those that are there.
func (r *request) meaningless() []string {
	var keys []string
	dropped := ledger.AnnotationKey(r.new, ledger.NameDropped)
	if text := annotation(r.new, dropped); text != "" && r.stored(dropped) == "" {
		keys = strings.Split(text, ",")
	}
	for key := range r.new.GetAnnotations() {
		if isMeaningless(key) && !r.hadAnnotation(key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// isMeaningless reports whether an annotation is below our domain and means nothing on any object.
func isMeaningless(key string) bool {
	name, isOurs := ledger.NameOf(key)
	return isOurs && !slices.Contains(ledger.Known(), name)
}

// hadAnnotation reports whether the object had an annotation before, with the same value.
func (r *request) hadAnnotation(key string) bool {
	if r.old == nil {
		return false
	}
	before, had := r.old.GetAnnotations()[key]
	return had && before == annotation(r.new, key)
}

func (r *request) mistypedText(key string) string {
	subject, name := objectText(r.gvk.Kind, r.objectName()), key[strings.LastIndex(key, "/")+1:]
	what := fmt.Sprintf("kausality: the annotation %s means nothing to Kausality, and is taken off %s", key, subject)
	if name == ledger.NameApproved {
		what = fmt.Sprintf("kausality: the annotation %s is Kausality's own to write, and stays as it was on %s", key, subject)
	}
	if meant := ledger.Meant(name); meant != "" {
		return what + "; did you mean " + r.commandKey(meant) + "?"
	}
	return fmt.Sprintf("%s; to approve, or to break the glass, the keys are %s and %s", what,
		r.commandKey(ledger.NameApprove), r.commandKey(ledger.NameBreakGlass))
}

// commandKey returns the key of a command on the object: what is said about a gate has one key everywhere.
func (r *request) commandKey(name string) string {
	if key := v1alpha1.AnnotationPrefix + name; hasOneKey(key) {
		return key
	}
	return ledger.AnnotationKey(r.new, name)
}

// asLabels returns what somebody is told who sets a command as a label.
func (r *request) asLabels() []string {
	var before map[string]string
	if r.old != nil {
		before = r.old.GetLabels()
	}
	var out []string
	for key, value := range r.new.GetLabels() {
		if name := commandIn(key); name != "" && before[key] != value {
			out = append(out, fmt.Sprintf("kausality: the label %s of %s asks for nothing; the annotation %s does", key,
				objectText(r.gvk.Kind, r.objectName()), r.commandKey(name)))
		}
	}
	slices.Sort(out)
	return out
}

// commandIn returns the command that a key below our domain is, or that is meant with it; empty for others.
func commandIn(key string) string {
	name, isOurs := ledger.NameOf(key)
	if !isOurs || slices.Contains(ledger.Known(), name) && !slices.Contains(ledger.Commands(), name) {
		return ""
	}
	return ledger.Meant(name)
}

// templates are where kinds keep the metadata of what is made of them.
var templates = []change.Path{
	change.Path{}.Field("spec").Field("template").Field(fieldMetadata),
	change.Path{}.Field("spec").Field("jobTemplate").Field(fieldMetadata),
	change.Path{}.Field("spec").Field("jobTemplate").Field("spec").Field("template").Field(fieldMetadata),
}

// inTemplates returns what somebody is told who sets a command on what is made of the object, instead of on itself.
func (r *request) inTemplates() []string {
	var out []string
	subject := objectText(r.gvk.Kind, r.objectName())
	for _, at := range templates {
		for _, field := range []string{"annotations", "labels"} {
			path := at.Field(field)
			for key := range mapAt(path, r.new.Object) {
				name := commandIn(key)
				if name == "" || r.old != nil && mapAt(path, r.old.Object)[key] != nil {
					continue
				}
				out = append(out, fmt.Sprintf("kausality: %s in %s of %s asks for nothing; the annotation %s of %s itself does",
					key, path, subject, r.commandKey(name), subject))
			}
		}
	}
	slices.Sort(out)
	return out
}

func mapAt(path change.Path, obj map[string]any) map[string]any {
	value, _ := path.Value(obj)
	found, _ := value.(map[string]any)
	return found
}
