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

package upgrade

import (
	"fmt"
	"slices"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/upgrade"
)

// view is one look at an UpgradeAllowance. What follows from it is decided by its methods,
// which read nothing else.
type view struct {
	u         *v1alpha1.UpgradeAllowance
	allowance *upgrade.Allowance
	errs      field.ErrorList
	// bounded is true where a policy bounds something that it names.
	bounded bool
	// absent is true where there is no such service account.
	absent bool
	// runs are the images that run as its service account, and forbidden is true where the
	// operator may not know.
	runs      []string
	forbidden bool
	// moving and moved count the parents, and blocked are those for which something was denied.
	moving, moved int32
	blocked       []v1alpha1.BlockedParent
	now           metav1.Time
}

// countParent counts a parent that remembers these versions: once, of however many it was
// upgraded to.
func (v *view) countParent(versions []v1alpha1.ControllerVersion) {
	mine := slices.DeleteFunc(slices.Clone(versions), func(known v1alpha1.ControllerVersion) bool {
		return known.UpgradeAllowanceUID != v.u.UID || v.u.UID == ""
	})
	switch {
	case len(mine) == 0:
	case slices.ContainsFunc(mine, func(known v1alpha1.ControllerVersion) bool { return upgrade.IsMoving(&known) }):
		v.moving++
	default:
		v.moved++
	}
}

// say writes it into the status.
func (v *view) say(status *v1alpha1.UpgradeAllowanceStatus) {
	accepted := v.accepted()
	if accepted.Status == metav1.ConditionTrue && status.AcceptedAt == nil {
		status.AcceptedAt, status.RanBefore = &v.now, v.runs
	}
	status.Runs = v.runs
	status.Moving, status.Moved = v.moving, v.moved
	status.Blocked = int32(len(v.blocked)) //nolint:gosec // There are not that many records.
	status.BlockedParents = v.blocked[:min(len(v.blocked), maxBlocked)]
	for _, condition := range []metav1.Condition{accepted, v.enforced(accepted), v.upgraded(status)} {
		condition.ObservedGeneration = v.u.Generation
		apimeta.SetStatusCondition(&status.Conditions, condition)
	}
}

func condition(kind, reason string, is bool, message string) metav1.Condition {
	status := metav1.ConditionFalse
	if is {
		status = metav1.ConditionTrue
	}
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
}

// accepted says whether it can work.
func (v *view) accepted() metav1.Condition {
	switch {
	case len(v.errs) > 0:
		return condition(v1alpha1.ConditionAccepted, v1alpha1.ReasonInvalid, false, v.errs.ToAggregate().Error())
	case !upgrade.IsStamped(v.u):
		return condition(v1alpha1.ConditionAccepted, v1alpha1.ReasonUnstamped, false,
			"Its spec was changed while Kausality was not asked, so that nobody knows by whom: delete it and create it again, or change its spec.")
	case v.forbidden && v.u.Status.AcceptedAt == nil:
		return condition(v1alpha1.ConditionAccepted, v1alpha1.ReasonForbidden, false,
			"Kausality may not list the Pods of the service account, or FunctionRevisions, by which it knows versions: it takes a ClusterRole such as kausality-access-workloads.")
	default:
		return condition(v1alpha1.ConditionAccepted, v1alpha1.ReasonAccepted, true, "It can work.")
	}
}

// enforced says whether new versions are let through by it.
func (v *view) enforced(accepted metav1.Condition) metav1.Condition {
	say := func(reason, message string) metav1.Condition {
		return condition(v1alpha1.ConditionEnforced, reason, reason == v1alpha1.ReasonEnforced, message)
	}
	switch {
	case accepted.Status != metav1.ConditionTrue:
		return say(accepted.Reason, "It is not accepted.")
	case v.u.DeletionTimestamp != nil:
		return say(v1alpha1.ReasonPending, "It is being deleted, and lets nothing new through.")
	case !v.bounded:
		return say(v1alpha1.ReasonNothingBounded, "No AllowancePolicy bounds a resource that it names, so that nothing has to let changes through.")
	case v.absent:
		return say(v1alpha1.ReasonIdentityUnknown, fmt.Sprintf("There is no ServiceAccount %s, so that nothing asks as it, and nothing is let through: "+
			"correct spec.serviceAccount, or create it.", v.u.Spec.ServiceAccount))
	case v.allowance.Declared:
		return say(v1alpha1.ReasonEnforced, "Each parent is upgraded once by it, whatever version makes the requests.")
	case v.forbidden:
		return say(v1alpha1.ReasonForbidden, "Kausality may not read the Pods of the service account, or FunctionRevisions, by which it knows versions.")
	case len(v.runs) == 0 && v.allowance.Has(v1alpha1.UpgradeOfController):
		return say(v1alpha1.ReasonIdentityUnknown, fmt.Sprintf("No Pod runs as %s, so that no version of it is known. "+
			"Where its tokens are bound to none, as those of the controller manager, detection Declared serves.", v.u.Spec.ServiceAccount))
	default:
		return say(v1alpha1.ReasonEnforced, "New versions are let through by it.")
	}
}

// upgraded says how far the parents are.
func (v *view) upgraded(status *v1alpha1.UpgradeAllowanceStatus) metav1.Condition {
	say := func(reason, message string) metav1.Condition {
		return condition(v1alpha1.ConditionUpgraded, reason, reason == v1alpha1.ReasonUpgraded, message)
	}
	switch {
	case status.Blocked > 0:
		first := status.BlockedParents[0]
		return say(v1alpha1.ReasonBlocked, fmt.Sprintf("Something was denied for %d parents, first for %s %s: %s.",
			status.Blocked, first.Kind, strings.TrimPrefix(first.Namespace+"/"+first.Name, "/"), strings.Join(first.Paths, ", ")))
	case status.Moving > 0:
		return say(v1alpha1.ReasonMoving, fmt.Sprintf("%d parents are being upgraded, %d were.", status.Moving, status.Moved))
	case status.Moved > 0:
		return say(v1alpha1.ReasonUpgraded, fmt.Sprintf("%d parents were upgraded.", status.Moved))
	case !v.allowance.Declared && !v.allowance.IsOfRevisions() && len(v.runs) > 0 && !slices.ContainsFunc(v.runs, v.isNew):
		return say(v1alpha1.ReasonWaitingForVersion, "No parent was upgraded. All that runs now ran when this was accepted, or is no version that spec.versions names: "+
			"parents that do not remember another version are upgraded to it only if spec.versions names it.")
	default:
		return say(v1alpha1.ReasonWaitingForVersion, "No parent was upgraded yet.")
	}
}

// isNew reports whether an image is a new version for a parent that remembers none.
func (v *view) isNew(image string) bool {
	return v.allowance.Names(image) && (len(v.u.Spec.Versions) > 0 || !slices.Contains(v.u.Status.RanBefore, image))
}
