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
	"strings"

	"gomodules.xyz/jsonpatch/v2"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ledger"
)

// marks are the names of the annotations that only the operator's controllers write.
var marks = []string{
	strings.TrimPrefix(v1alpha1.ConditionBlocked, v1alpha1.AnnotationPrefix),
	strings.TrimPrefix(v1alpha1.ConditionAffected, v1alpha1.AnnotationPrefix),
}

// patches returns what turns the new object of a request into the one with the
// ledger that it gets: nothing but annotations of Kausality changes, of these those that
// are the object's own (D10), and the switch of a gate. It also returns all annotations that
// the object then has.
func (r *request) patches(o *outcome) (ops []jsonpatch.Operation, want map[string]string) {
	have := r.new.GetAnnotations()
	own := r.ownAnnotations(o.facts, have)
	own.leavePrefix()
	if !o.Operator {
		own.dropForeign()
		own.dropMeaningless()
	}
	own.takeCommands(r.keepsBreakGlass(o.facts))
	if !o.Operator {
		own.restoreMarks()
	}
	own.set(ledger.NameAllowances, o.next.Encode())
	own.set(ledger.NameApproved, r.approvedText(o))
	set := o.gatePatches(r, own.want)
	return append(diff(have, own.want), set...), own.want
}

// restore makes an annotation what it was before the request.
func (r *request) restore(want map[string]string, key string) {
	delete(want, key)
	if r.old == nil {
		return
	}
	if value, ok := r.old.GetAnnotations()[key]; ok {
		want[key] = value
	}
}

// stored returns the value of an annotation that the request leaves as it is.
func (r *request) stored(key string) string {
	if r.old == nil || annotation(r.old, key) != annotation(r.new, key) {
		return ""
	}
	return annotation(r.old, key)
}

func diff(have, want map[string]string) []jsonpatch.Operation {
	const root = "/metadata/annotations"
	var ops []jsonpatch.Operation
	if have == nil && len(want) > 0 {
		ops = append(ops, jsonpatch.NewOperation("add", root, map[string]string{}))
	}
	for k, v := range want {
		if old, ok := have[k]; !ok || old != v {
			ops = append(ops, jsonpatch.NewOperation("add", root+"/"+pointer(k), v))
		}
	}
	for k := range have {
		if _, ok := want[k]; !ok {
			ops = append(ops, jsonpatch.NewOperation("remove", root+"/"+pointer(k), nil))
		}
	}
	return ops
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// pointer escapes a key for a JSON pointer.
func pointer(key string) string { return pointerEscapes.Replace(key) }
