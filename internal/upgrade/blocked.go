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
	"slices"

	"kausality.io/operator/api/v1alpha1"
)

// IsBlocked reports whether the last that a parent's record says of the service account of an
// UpgradeAllowance is a denial, since that was accepted. What is made from a revision has settled
// only where nothing was denied since: then it waits no more, whenever something was last let
// through, which is known to some seconds. That an older version cannot put back what the new one has
// changed is no denial of the upgrade.
func IsBlocked(u *v1alpha1.UpgradeAllowance, status *v1alpha1.AllowanceRecordStatus) bool {
	d := status.LastDenial
	if d == nil || d.User != u.Spec.ServiceAccount || u.Status.AcceptedAt == nil || d.Time.Before(u.Status.AcceptedAt) || isOlderDenial(u, d, status.Versions) {
		return false
	}
	return !slices.ContainsFunc(status.Versions, func(known v1alpha1.ControllerVersion) bool {
		return known.User == d.User && (known.LastUsed != nil && d.Time.Before(known.LastUsed) ||
			known.Trigger != v1alpha1.UpgradeOfController && known.MovedAt != nil && d.Time.Before(known.MovedAt))
	})
}

// isOlderDenial reports whether an older version was denied, and nothing newer of what the
// UpgradeAllowance is about. Denials that an earlier release recorded have no versions, and count.
func isOlderDenial(u *v1alpha1.UpgradeAllowance, d *v1alpha1.Decision, memory []v1alpha1.ControllerVersion) bool {
	triggers, older := triggersOf(u), false
	for _, by := range d.Versions {
		switch {
		case !slices.Contains(triggers, by.Trigger):
		case by.Standing == v1alpha1.StandingOlder, isOlderNow(memory, d.User, by):
			older = true
		case by.Standing == v1alpha1.StandingSame:
		default:
			return false
		}
	}
	return older
}

// isOlderNow reports whether a version that was denied is older than the one that the parent remembers by
// now. When it was denied the parent may have remembered another one, or none, as its record was lost.
func isOlderNow(memory []v1alpha1.ControllerVersion, user string, by v1alpha1.RequestVersion) bool {
	if by.PodCreated == nil {
		return false
	}
	denied := Version{Trigger: by.Trigger, Image: by.Version, PodCreated: by.PodCreated.Time}
	known := find(memory, denied.id(user))
	return known != nil && known.Image != by.Version && isOlder(known, denied)
}
