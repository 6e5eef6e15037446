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

package target

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/conditions"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/listing"
	"kausality.io/operator/internal/objectcache"
)

// reasonInEffect is the reason of the condition. Its message names the policies, as
// a reason cannot have the characters of a name.
const reasonInEffect = "PolicyInEffect"

// place is where an object shows which policies are in effect for it.
type place string

const (
	// inCondition is a condition of a kind whose controller keeps it.
	inCondition place = "condition"
	// inAnnotation is the annotation of the same name.
	inAnnotation place = "annotation"
)

// mark is what an object shows of the policies in effect for it.
type mark struct {
	uid types.UID
	// key of the annotation.
	key string
	// others are the keys of other objects under which it has such an annotation: copies,
	// or what was its own while it had another owner, or with an earlier version.
	others []string
	// texts are what is shown, by where.
	texts map[place]string
	// since is the time of the condition, if there is one.
	since string
}

// markOf reads what an object shows.
func markOf(obj *unstructured.Unstructured) mark {
	name := strings.TrimPrefix(v1alpha1.ConditionAffected, v1alpha1.AnnotationPrefix)
	m := mark{
		uid:   obj.GetUID(),
		key:   ledger.AnnotationKey(obj, name),
		texts: map[place]string{},
	}
	if obj.GroupVersionKind().GroupKind() != conditions.Deployments {
		for key, text := range obj.GetAnnotations() {
			switch at, _ := ledger.NameOf(key); {
			case key == m.key && text != "":
				m.texts[inAnnotation] = text
			case key != m.key && at == name:
				m.others = append(m.others, key)
			}
		}
		slices.Sort(m.others)
	}
	if condition := conditions.Of(obj, v1alpha1.ConditionAffected); condition != nil {
		m.texts[inCondition], _ = condition["message"].(string)
		m.since, _ = condition["lastTransitionTime"].(string)
	}
	return m
}

// markText returns what an object is to show; empty for nothing.
func markText(where place, policies []string) string {
	switch {
	case len(policies) == 0:
		return ""
	case where == inAnnotation:
		return listing.Join(policies, ", ")
	case len(policies) == 1:
		return fmt.Sprintf("AllowancePolicy %s says what may happen to its children.", policies[0])
	default:
		return fmt.Sprintf("AllowancePolicies %s say what may happen to its children.", listing.Join(policies, ", "))
	}
}

// differs returns where an object does not show what it is to show: the policies in
// one place, and nothing in the other. It first shows the new and then removes the
// old.
func (m mark) differs(where place, policies []string) (in place, text string, differs bool) {
	want := map[place]string{where: markText(where, policies)}
	places := []place{inCondition, inAnnotation}
	if where == inAnnotation {
		slices.Reverse(places)
	}
	for _, in := range places {
		shown, shows := m.texts[in]
		if shown != want[in] || shows != (want[in] != "") {
			return in, want[in], true
		}
	}
	return "", "", false
}

// marking is the write by which an object shows something.
type marking struct {
	patch client.Patch
	// status is true where it is one of the status, and opts are for that.
	status bool
	opts   []client.SubResourcePatchOption
}

// fieldOwner owns the conditions of custom resources.
const fieldOwner = client.FieldOwner("kausality-target-status")

// write makes an object show a text in a place, or nothing there.
func (m mark) write(req objectcache.Request, in place, text string, now time.Time) marking {
	metadata := map[string]any{"uid": m.uid} // It is not for one that is created anew.
	patch := map[string]any{"metadata": metadata}
	if in == inAnnotation {
		var value any
		if text != "" {
			value = text
		}
		annotations := map[string]any{m.key: value}
		if m.texts[inAnnotation] == "" {
			// Once: if somebody's controller puts them back, they stay.
			for _, key := range m.others {
				annotations[key] = nil
			}
		}
		metadata["annotations"] = annotations
		return marking{patch: rawPatch(types.MergePatchType, patch)}
	}
	since := m.since
	if since == "" {
		since = now.UTC().Format(time.RFC3339)
	}
	if req.GVK().GroupKind() == conditions.Deployments {
		patch["status"] = conditions.RemovedOfDeployment(v1alpha1.ConditionAffected)
		if text != "" {
			patch["status"] = conditions.OfDeployment(v1alpha1.ConditionAffected, reasonInEffect, text, since, now.UTC().Format(time.RFC3339))
		}
		return marking{patch: rawPatch(types.StrategicMergePatchType, patch), status: true}
	}
	// Applied, it touches nobody else's conditions; left out, it goes.
	patch["apiVersion"], patch["kind"] = req.GVK().GroupVersion().String(), req.GVK().Kind
	if text != "" {
		patch["status"] = map[string]any{"conditions": []any{map[string]any{
			"type":               v1alpha1.ConditionAffected,
			"status":             string(metav1.ConditionTrue),
			"reason":             reasonInEffect,
			"message":            text,
			"lastTransitionTime": since,
		}}}
	}
	return marking{
		patch: rawPatch(types.ApplyPatchType, patch), status: true,
		opts: []client.SubResourcePatchOption{fieldOwner, client.ForceOwnership},
	}
}

func rawPatch(patchType types.PatchType, patch map[string]any) client.Patch {
	raw, err := json.Marshal(patch)
	if err != nil {
		panic("a patch of strings that cannot be encoded: " + err.Error())
	}
	return client.RawPatch(patchType, raw)
}
