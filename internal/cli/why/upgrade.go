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
	"slices"
	"strings"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/upgrade"
)

// upgradeOf returns what a refusal of a child has to do with an upgrade of the target of a record;
// nil where the requester was told nothing of that.
func upgradeOf(rec *v1alpha1.AllowanceRecord, e v1alpha1.HistoryEntry) *Upgrade {
	told := upgrade.Told(e.Message)
	if told == "" {
		return nil
	}
	out := &Upgrade{Told: told, Command: phrase.Suggest(e.User)}
	for i := range rec.Status.Versions {
		known := &rec.Status.Versions[i]
		// Who made it from a revision may be somebody else.
		if known.User != e.User && known.Trigger == v1alpha1.UpgradeOfController {
			continue
		}
		if text := upgrade.Text(known); text != "" {
			out.Versions = append(out.Versions, text+stateOf(known))
		}
	}
	if d := rec.Status.LastDenial; d != nil && d.User == e.User && d.Kind == e.Kind && isLast(rec, e) {
		for _, id := range d.Upgrades {
			out.Asked = append(out.Asked, withoutUID(id))
		}
	}
	return out
}

// isLast reports whether a refusal is the last one that the target of a record had of such children of the same
// requester: what was asked last may not have been there when one before it was refused.
func isLast(rec *v1alpha1.AllowanceRecord, e v1alpha1.HistoryEntry) bool {
	return !slices.ContainsFunc(rec.Status.History, func(other v1alpha1.HistoryEntry) bool {
		return other.Event == e.Event && other.User == e.User && other.Kind == e.Kind && other.Time.After(e.Time.Time)
	})
}

// withoutUID returns what people know an UpgradeAllowance by: NAME/GENERATION of NAME/GENERATION/UID.
func withoutUID(id string) string {
	parts := strings.SplitN(id, "/", 3)
	return strings.Join(parts[:min(len(parts), 2)], "/")
}

// stateOf says how a parent came to be made by a version.
func stateOf(known *v1alpha1.ControllerVersion) string {
	switch {
	case known.UpgradeAllowance == "":
		return ""
	case upgrade.IsMoving(known):
		return " (being upgraded to it, by UpgradeAllowance " + known.UpgradeAllowance + ")"
	default:
		return " (upgraded to it, by UpgradeAllowance " + known.UpgradeAllowance + ")"
	}
}
