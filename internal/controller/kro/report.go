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

package kro

import (
	"context"
	"fmt"
	"slices"
	"strings"

	krov1alpha1 "github.com/kubernetes-sigs/kro/api/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/derive/draft"
	"kausality.io/operator/internal/derive/kro"
	"kausality.io/operator/internal/eventrecorder"
	"kausality.io/operator/internal/valuefree"
)

// mentioned is how many notes or differences a message has; kubectl kausality derive says all.
const mentioned = 8

// some returns the first of many, and how many there are besides.
func some(lines []string) string {
	if len(lines) <= mentioned {
		return strings.Join(lines, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(lines[:mentioned], "; "), len(lines)-mentioned)
}

// derived returns the condition of a policy that allows what is derived.
func derived(d *draft.Derivation, graph string, initiators int) metav1.Condition {
	fields, kinds := sets.New[string](), sets.New[string]()
	for _, row := range d.Rows {
		kinds.Insert(row.Kind)
		if row.Field != "" {
			fields.Insert(row.Field)
		}
	}
	out := metav1.Condition{
		Type: v1alpha1.ConditionDerived, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonDerived,
		Message: fmt.Sprintf("Derived from ResourceGraphDefinition %s: %d fields of %s, which reach %s.",
			graph, fields.Len(), d.Policy.Spec.For.Kind, strings.Join(sets.List(kinds), ", ")),
	}
	if initiators == 0 {
		out.Message += fmt.Sprintf(" It is in effect for nobody, as nobody may initiate: name some by the annotation %s of the graph, or by --kro-initiators.",
			v1alpha1.AnnotationInitiators)
	}
	if len(d.Notes) > 0 {
		notes := make([]string, 0, len(d.Notes))
		for _, n := range d.Notes {
			notes = append(notes, strings.TrimLeft(strings.TrimSpace(n.Resource+" "+n.Field)+": "+n.Message, ": "))
		}
		out.Reason = v1alpha1.ReasonPartlyDerived
		out.Message += " To know: " + some(notes)
	}
	return out
}

// kept returns the condition of a policy that somebody else keeps, and why is how one can tell.
func kept(d *draft.Derivation, there *v1alpha1.AllowancePolicy, graph, why string) metav1.Condition {
	out := metav1.Condition{
		Type: v1alpha1.ConditionDerived, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonTakenOver,
		Message: fmt.Sprintf("It is not kept in step with ResourceGraphDefinition %s: %s.", graph, why),
	}
	if lines := draft.Differences(d.Policy, there); len(lines) > 0 {
		out.Message += " It differs from what is derived (- is allowed and not derived, + the reverse): " + some(lines)
	} else {
		out.Message += " It allows what is derived."
	}
	return out
}

// failed returns the condition of a policy whose graph, or the annotations of that, cannot be read.
func failed(graph string, err error) metav1.Condition {
	return metav1.Condition{
		Type: v1alpha1.ConditionDerived, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNotDerived,
		Message: fmt.Sprintf("It stays as it is: nothing can be derived from ResourceGraphDefinition %s: %s", graph, valuefree.Text(err)),
	}
}

// refused returns the condition of a policy that the API server does not let be as it is derived.
func refused(graph string, err error) metav1.Condition {
	return metav1.Condition{
		Type: v1alpha1.ConditionDerived, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNotDerived,
		Message: fmt.Sprintf("It stays as it is: ResourceGraphDefinition %s can be followed, but what is derived from it may not be written: %s", graph, valuefree.Text(err)),
	}
}

// addedTo returns the condition of a policy that follows its graph and to which others have added
// what is not derived.
func addedTo(d *draft.Derivation, there *v1alpha1.AllowancePolicy, graph string, added []string) metav1.Condition {
	out := metav1.Condition{
		Type: v1alpha1.ConditionDerived, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonTakenOver,
		Message: fmt.Sprintf("It follows ResourceGraphDefinition %s, but others have added %s, which is not derived: take that out, or have it taken out by the annotation %s=true.",
			graph, strings.Join(added, ", "), v1alpha1.AnnotationManaged),
	}
	if lines := draft.Differences(d.Policy, there); len(lines) > 0 {
		out.Message += " It differs from what is derived (- is allowed and not derived, + the reverse): " + some(lines)
	}
	return out
}

// The reasons of Events on a graph.
const (
	eventDerived    = "PolicyDerived"
	eventNotKept    = "PolicyNotKept"
	eventNotDerived = "PolicyNotDerived"
	eventAction     = "Derive"
)

// report shows a condition on a policy, unless that is somebody else's, and tells of it on the
// graph, where it is news.
func (r *Reconciler) report(
	ctx context.Context, graph *krov1alpha1.ResourceGraphDefinition, there *v1alpha1.AllowancePolicy, mine bool, condition metav1.Condition,
) error {
	news := r.said.isNews(graph.Name, condition)
	if there != nil && mine {
		condition.ObservedGeneration = there.Generation
		before := apimeta.FindStatusCondition(there.Status.Conditions, v1alpha1.ConditionDerived)
		news = news && (before == nil || before.Status != condition.Status || before.Message != condition.Message)
		after := there.DeepCopy()
		apimeta.SetStatusCondition(&after.Status.Conditions, condition)
		if err := r.patchStatus(ctx, there, after); err != nil {
			return err
		}
	}
	if !news {
		return nil
	}
	kind, reason := corev1.EventTypeNormal, eventDerived
	if condition.Status != metav1.ConditionTrue {
		kind, reason = corev1.EventTypeWarning, eventNotKept
		if condition.Reason == v1alpha1.ReasonNotDerived {
			reason = eventNotDerived
		}
	}
	name := kro.PolicyName(graph.Name)
	r.Events.Eventf(graph, nil, kind, reason, eventAction, "%s", eventrecorder.Shortened(fmt.Sprintf("AllowancePolicy %s: %s", name, condition.Message)))
	return nil
}

// forget takes the condition off a policy that nobody derives any more.
func (r *Reconciler) forget(ctx context.Context, there *v1alpha1.AllowancePolicy) error {
	after := there.DeepCopy()
	after.Status.Conditions = slices.DeleteFunc(after.Status.Conditions, func(c metav1.Condition) bool { return c.Type == v1alpha1.ConditionDerived })
	return r.patchStatus(ctx, there, after)
}

// patchStatus writes what changed of the status, if anything did. Another reconciler writes the
// other conditions.
func (r *Reconciler) patchStatus(ctx context.Context, before, after *v1alpha1.AllowancePolicy) error {
	if equality.Semantic.DeepEqual(before.Status, after.Status) {
		return nil
	}
	err := r.Client.Status().Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	return client.IgnoreNotFound(err)
}
