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

package why

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/cli/text"
	"kausality.io/operator/internal/kubectl"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/record"
)

// straysOf returns the strays because of which a change of children was refused, nil where there are none.
func straysOf(rec *v1alpha1.AllowanceRecord, with scene, e v1alpha1.HistoryEntry) *Strays {
	isAbout := func(s v1alpha1.StrayChild) bool {
		return s.Kind == e.Kind && slices.Contains(e.Names, s.Name) && mayBeIn(rec.Spec.TargetRef, e, s.Namespace)
	}
	var strays []v1alpha1.StrayChild
	if isStray(rec, e) {
		for _, s := range rec.Status.Strays {
			if isAbout(s) {
				strays = append(strays, s)
			}
		}
	} else {
		_, strays = record.StraysInTheWay(rec.Status.Strays, e.Operation, e.Kind, "")
		strays = slices.DeleteFunc(strays, func(s v1alpha1.StrayChild) bool { return isAbout(s) || s.Time.After(e.Time.Time) })
	}
	strays = slices.DeleteFunc(strays, with.isGone)
	if len(strays) == 0 {
		return nil
	}
	ref := rec.Spec.TargetRef
	out := &Strays{Names: record.NamesOf(strays), Untold: with.Index == nil}
	out.Initiators = with.initiators(with.of(rec), ref)
	for _, of := range together(strays) {
		if with.versionToName != nil {
			of.Version = with.versionToName(schema.GroupKind{Group: of.Group, Kind: of.Kind})
		}
		out.Commands = append(out.Commands, kubectl.Delete(of), kubectl.Annotate(of, approveKey(ref, of.Kind), lineage.OwnersPath))
	}
	return out
}

// together returns strays of one kind by namespaces, as commands name them.
func together(strays []v1alpha1.StrayChild) []kubectl.Objects {
	var out []kubectl.Objects
	for _, s := range strays {
		i := slices.IndexFunc(out, func(of kubectl.Objects) bool { return of.Namespace == s.Namespace })
		if i < 0 {
			i = len(out)
			gv, _ := schema.ParseGroupVersion(s.APIVersion) // What cannot be parsed has no group.
			out = append(out, kubectl.Objects{Group: gv.Group, Kind: s.Kind, Namespace: s.Namespace})
		}
		out[i].Names = append(out[i].Names, s.Name)
	}
	return out
}

// approveKey returns the key of the annotation by which children of a kind are approved: it depends on
// their owner.
func approveKey(parent v1alpha1.TargetReference, kind string) string {
	child := &unstructured.Unstructured{Object: map[string]any{
		"kind":     kind,
		"metadata": map[string]any{"ownerReferences": []any{map[string]any{"kind": parent.Kind, "uid": string(parent.UID)}}},
	}}
	return ledger.AnnotationKey(child, ledger.NameApprove)
}

// renderAdopting adds what there is to say of an adoption that was refused with what else was asked.
func renderAdopting(facts *text.Table, r Refusal, untold bool) {
	if !r.Adopting {
		return
	}
	parent, child := phrase.Target(r.Parent), childText(r)
	facts.Row("allowed by", fmt.Sprintf("no change of %s: it would adopt %s without a cause, as somebody made that, or had it taken for its own. "+
		"%s may give it that parent (%s); what is allowed of %s covers it then",
		parent, child, who(r.Initiators, untold), lineage.OwnersPath, parent))
	facts.Row("or", fmt.Sprintf("delete %s, if it is not wanted, and see whether %s names it as its own, as in spec.crossplane.resourceRefs: "+
		"who may initiate puts back what was there", child, parent))
}

// renderStrays adds what there is to say of strays.
func renderStrays(facts *text.Table, r Refusal) {
	s := r.Strays
	switch {
	case s == nil && r.Stray && r.CarriedOut == nil:
		facts.Row("allowed by", "nothing, as it was adopted without a cause. It is gone by now")
		return
	case s == nil:
		return
	}
	do := who(s.Initiators, s.Untold) + " has to delete it, or to approve that it is there"
	if r.Stray {
		facts.Row("allowed by", "nothing, as it was adopted without a cause: "+do)
	} else {
		facts.Row("waits for", fmt.Sprintf("%s, which %s adopted without a cause, and for which no other %s is deleted: %s",
			phrase.Object(r.Kind, strings.Join(s.Names, ", ")), phrase.Target(r.Parent), r.Kind, do))
	}
	for i, command := range s.Commands {
		title := "delete"
		if i%2 > 0 {
			title = "or approve"
		}
		facts.Cells(text.Cell{Text: title}, text.Cell{Text: command, Unbroken: true})
	}
}
