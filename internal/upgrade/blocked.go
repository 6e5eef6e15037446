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
	"time"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/denial"
)

// longestPause is longer than any controller waits before it tries again: the longest delay of the
// queues of client-go is 1,000 seconds.
const longestPause = 20 * time.Minute

// IsBlocked reports whether the last that a parent's record says of the user is a denial of what the
// UpgradeAllowance is about, since that was accepted, and somebody may still wait. A denial for another
// reason is none, which it says itself (NoUpgrade): what was in the way may be gone seconds later.
func (a *Allowance) IsBlocked(status *v1alpha1.AllowanceRecordStatus, now time.Time) bool {
	d := status.LastDenial
	return d != nil && !d.NoUpgrade && d.User == a.User && !a.AcceptedAt.IsZero() && !d.Time.Time.Before(a.AcceptedAt) &&
		a.isAboutDenial(status, d) && !isOverDenial(status, d, now)
}

// isOverDenial reports whether nobody waits any more for what was denied. It passed later; or nobody tried
// again for longestPause, and the parent has settled; or the upgrade of the parent went on, or ended, after
// the denial; or it is not wanted any more. A parent that is made from a revision settles only where nothing was
// denied since. When a version was last let through is known to some seconds only.
func isOverDenial(status *v1alpha1.AllowanceRecordStatus, d *v1alpha1.Decision, now time.Time) bool {
	return status.Blocked == nil && now.Sub(d.Time.Time) > longestPause || denial.Passed(status.History, d) ||
		d.Settled && slices.ContainsFunc(d.Versions, func(by v1alpha1.RequestVersion) bool { return by.Trigger != v1alpha1.UpgradeOfController }) ||
		slices.ContainsFunc(status.Versions, func(known v1alpha1.ControllerVersion) bool {
			return known.User == d.User && (known.LastUsed != nil && d.Time.Before(known.LastUsed) ||
				known.Trigger != v1alpha1.UpgradeOfController && known.MovedAt != nil && d.Time.Before(known.MovedAt))
		})
}

// isAboutDenial reports whether a denial is of the upgrade: a controller is denied other things as
// well, such as what a stranger's change would make of children. That an older version cannot put back
// what the new one has changed is none. A denial has no versions where none could be asked for, or where an
// earlier release recorded it: that may be one of the upgrade as the rest of it may.
func (a *Allowance) isAboutDenial(status *v1alpha1.AllowanceRecordStatus, d *v1alpha1.Decision) bool {
	return len(d.Versions) == 0 && a.mayBeRest(status, d) || slices.ContainsFunc(d.Versions, func(by v1alpha1.RequestVersion) bool {
		return a.Has(by.Trigger) && !isOlderNow(status.Versions, d.User, by) && a.concerns(status, d, by)
	})
}

// concerns reports whether a denial of a request by a version is one of the upgrade. A denial after the upgrade
// of the parent is over may be the rest of it.
func (a *Allowance) concerns(status *v1alpha1.AllowanceRecordStatus, d *v1alpha1.Decision, by v1alpha1.RequestVersion) bool {
	upgraded := slices.ContainsFunc(status.Versions, func(known v1alpha1.ControllerVersion) bool {
		return known.Trigger == by.Trigger && known.UpgradeAllowanceUID == a.UID && !IsMoving(&known)
	})
	switch by.Standing {
	case v1alpha1.StandingNew, v1alpha1.StandingMoving:
		return true
	case v1alpha1.StandingFirst:
		// By now the parent may remember another one.
		known := remembered(status.Versions, d.User, by)
		return known != nil && known.Image != "" && known.Image != by.Version ||
			a.Names(by.Version) && (len(a.versions) > 0 || !slices.Contains(a.RanBefore, by.Version))
	case v1alpha1.StandingUnknown:
		return !upgraded || a.mayBeRest(status, d)
	case v1alpha1.StandingSame:
		return upgraded && a.mayBeRest(status, d)
	default:
		return false
	}
}

// mayBeRest reports whether a denial of which nothing else tells may be of the upgrade: it is about a child that
// the UpgradeAllowance names, and nothing of the parent is withheld.
func (a *Allowance) mayBeRest(status *v1alpha1.AllowanceRecordStatus, d *v1alpha1.Decision) bool {
	return a.IsAbout(d.Kind) && !slices.ContainsFunc(status.Active, func(e v1alpha1.Allowance) bool { return e.Relation == v1alpha1.RelationWithheld })
}

// isOlderNow reports whether a version that was denied is older than the one that the parent remembers by
// now. When it was denied the parent may have remembered another one, or none, as its record was lost.
func isOlderNow(memory []v1alpha1.ControllerVersion, user string, by v1alpha1.RequestVersion) bool {
	if by.PodCreated == nil {
		return false
	}
	known := remembered(memory, user, by)
	return known != nil && known.Image != by.Version && isOlder(known, Version{PodCreated: by.PodCreated.Time})
}

// remembered returns what a parent remembers by now of what a version that was denied is one of, nil
// where that is nothing.
func remembered(memory []v1alpha1.ControllerVersion, user string, by v1alpha1.RequestVersion) *v1alpha1.ControllerVersion {
	return find(memory, Version{Trigger: by.Trigger}.id(user))
}
