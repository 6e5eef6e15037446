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
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/upgrade"
)

// refusal is something that a user was refused.
type refusal struct {
	v1alpha1.HistoryEntry
	parent v1alpha1.TargetReference
	// triggers lists the triggers for which the record of the parent has a version.
	triggers []v1alpha1.UpgradeTrigger
	// gone is true where the parent does not exist any more, and held where something of it is withheld now.
	gone, held bool
}

// isKept reports whether what was in the way of a refusal still is: what is gone waits for nothing, and what was withheld
// may be approved since. Of what is withheld of something that the parent reads, its record does not tell.
func (r *refusal) isKept(why string) bool {
	return !r.gone && (why != upgrade.Withheld || r.held || strings.Contains(r.Message, " is withheld of "))
}

// refusalsOf returns what a user was refused since then.
func refusalsOf(records []v1alpha1.AllowanceRecord, user string, since time.Time) (out []refusal) {
	for i := range records {
		rec := &records[i]
		for _, e := range rec.Status.History {
			if e.Event == v1alpha1.EventDenied && e.User == user && !e.Time.Time.Before(since) {
				out = append(out, refusal{
					HistoryEntry: e, parent: rec.Spec.TargetRef, triggers: triggersIn(rec, user),
					gone: rec.Status.EndedAt != nil, held: withheldOf(rec) != "",
				})
			}
		}
	}
	return out
}

// newestImage returns the image in the youngest Pod that was refused anything, empty where none is
// known.
func newestImage(all []refusal) (image string) {
	var created *metav1.Time
	for _, r := range all {
		for _, by := range r.Versions {
			if by.Trigger == v1alpha1.UpgradeOfController && by.PodCreated != nil && (created == nil || created.Before(by.PodCreated)) {
				image, created = by.Version, by.PodCreated
			}
		}
	}
	return image
}

// new returns those versions by which an UpgradeAllowance could let a refusal through. Of controllers it
// is the newest one: what runs no more is not upgraded to. One of what the parent remembers none is
// left out beside one that differs from what it remembers.
func (r *refusal) new(newest string) []v1alpha1.RequestVersion {
	isOf := func(standings ...v1alpha1.VersionStanding) []v1alpha1.RequestVersion {
		return slices.DeleteFunc(slices.Clone(r.Versions), func(by v1alpha1.RequestVersion) bool {
			return !slices.Contains(standings, by.Standing) ||
				by.Trigger == v1alpha1.UpgradeOfController && by.Version != newest && by.Standing != v1alpha1.StandingUnknown
		})
	}
	if known := isOf(v1alpha1.StandingNew, v1alpha1.StandingMoving); len(known) > 0 {
		return known
	}
	return slices.DeleteFunc(isOf(v1alpha1.StandingFirst, v1alpha1.StandingUnknown), func(by v1alpha1.RequestVersion) bool {
		return by.Standing == v1alpha1.StandingUnknown && by.Trigger != v1alpha1.UpgradeOfController
	})
}

// newVersions are what a suggestion is for.
type newVersions struct {
	triggers []v1alpha1.UpgradeTrigger
	names    []string
	// unknown is true where the version of the controller was not known.
	unknown bool
	// left has the versions that no UpgradeAllowance lets through, with how often each was refused
	// something.
	left map[string]int64
	// kept has what something else is in the way of, with how often it was refused.
	kept map[keptBy]int64
}

// keptBy is a parent, and what is in the way of an upgrade of it.
type keptBy struct {
	parent v1alpha1.TargetReference
	why    string
}

// newOf returns those refusals that an UpgradeAllowance could let through, and their versions. Refusals
// that an earlier release recorded have no versions: for them, all triggers in the parent's record count.
// Nor have those that something else is in the way of.
func newOf(all []refusal) ([]refusal, newVersions) {
	v := newVersions{left: map[string]int64{}, kept: map[keptBy]int64{}}
	newest := newestImage(all)
	isKnown := slices.ContainsFunc(all, func(r refusal) bool { return slices.ContainsFunc(r.new(newest), isOfOthers) })
	all = slices.DeleteFunc(all, func(r refusal) bool {
		if len(r.Versions) == 0 {
			if why := upgrade.Kept(r.Message); why != "" {
				if r.isKept(why) {
					v.kept[keptBy{r.parent, why}] += max(r.Count, 1)
				}
				return true
			}
			v.triggers = append(v.triggers, r.triggers...)
			return false
		}
		by := r.new(newest)
		if isKnown {
			by = slices.DeleteFunc(by, isUnknown)
		}
		if len(by) == 0 {
			v.left[namesOf(r.Versions)] += max(r.Count, 1)
		}
		v.add(by)
		return len(by) == 0
	})
	slices.Sort(v.triggers)
	slices.Sort(v.names)
	v.triggers, v.names = slices.Compact(v.triggers), slices.Compact(v.names)
	if len(v.triggers) == 0 {
		v.triggers = []v1alpha1.UpgradeTrigger{v1alpha1.UpgradeOfController}
	}
	return all, v
}

// isUnknown reports whether nothing tells a version. Of a controller without a Pod none can be told: an
// UpgradeAllowance that is about it as well is not enforced.
func isUnknown(by v1alpha1.RequestVersion) bool { return by.Version == "" }

// isOfOthers reports whether a version is known, and of something else than the controller.
func isOfOthers(by v1alpha1.RequestVersion) bool {
	return by.Trigger != v1alpha1.UpgradeOfController && !isUnknown(by)
}

// add has a suggestion be for versions.
func (v *newVersions) add(all []v1alpha1.RequestVersion) {
	for _, by := range all {
		v.triggers = append(v.triggers, by.Trigger)
		if isUnknown(by) {
			v.unknown = true
		} else {
			v.names = append(v.names, by.Version)
		}
	}
}

func namesOf(versions []v1alpha1.RequestVersion) string {
	var out []string
	for _, by := range versions {
		if by.Version != "" {
			out = append(out, by.Version)
		}
	}
	return strings.Join(out, ", ")
}

// maxVersions is how many an UpgradeAllowance can name.
const maxVersions = 16

// writeTo has an UpgradeAllowance be about the versions.
func (v *newVersions) writeTo(spec *v1alpha1.UpgradeAllowanceSpec) {
	spec.Triggers = v.triggers
	ofController := slices.Contains(v.triggers, v1alpha1.UpgradeOfController)
	switch {
	case ofController && v.unknown && len(v.triggers) == 1 && len(v.names) == 0:
		spec.Detection = v1alpha1.DetectionDeclared
	case len(v.names) <= maxVersions:
		spec.Versions = v.names
	}
}

// notes say what is left out.
func (v *newVersions) notes() (out []string) {
	for by, count := range v.kept {
		do := ""
		if by.why == upgrade.Withheld {
			do = "approve it or take it back, "
		}
		out = append(out, fmt.Sprintf("what was refused %d times for %s, as %s, which no UpgradeAllowance lets through: %ssee %s",
			count, phrase.Target(by.parent), by.why, do, phrase.Command("why", by.parent)))
	}
	for name, count := range v.left {
		if name == "" {
			name = "a version that is not known"
		}
		out = append(out, fmt.Sprintf("what %s was refused %d times: the parents were made by it, or another version has replaced it", name, count))
	}
	slices.Sort(out)
	return out
}
