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

package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/upgrade"
)

// Upgrade is an UpgradeAllowance for parents of a kind.
type Upgrade struct {
	// Name of it, and ChangedBy who last changed its spec.
	Name      string `json:"name"`
	ChangedBy string `json:"changedBy,omitempty"`
	// ServiceAccount whose requests it lets through, Triggers what has to be new for that, and
	// Versions which of these, empty for any.
	ServiceAccount string                    `json:"serviceAccount"`
	Triggers       []v1alpha1.UpgradeTrigger `json:"triggers"`
	Versions       []string                  `json:"versions,omitempty"`
	// Selects says which parents, empty for all of the kind.
	Selects string `json:"selects,omitempty"`
	// LetsThrough is what, of children that policies for the kind bound.
	LetsThrough []string `json:"letsThrough"`
	// WhyNot says why it lets nothing through now.
	WhyNot string `json:"whyNot,omitempty"`
	// Parent says how far the upgrade of an object is by it; left out for kinds.
	Parent string `json:"parent,omitempty"`
}

// upgradesUntold says why nothing is known of UpgradeAllowances.
func upgradesUntold(err error) string {
	return fmt.Sprintf("Which upgrades are agreed to cannot be told: %v", err)
}

// upgradesOf returns the UpgradeAllowances that select an object and name children which policies
// in effect for it bound.
func upgradesOf(s *sight) []Upgrade {
	self := s.chain[0]
	selecting := slices.DeleteFunc(slices.Clone(s.upgrades), func(u cluster.Upgrade) bool {
		return !u.Allowance.Selects(self.Labels, self.NamespaceLabels)
	})
	out := upgradesFor(s.policies.InEffect(s.chain), selecting)
	for i := range out {
		at := slices.IndexFunc(selecting, func(u cluster.Upgrade) bool { return u.Name == out[i].Name })
		out[i].Parent = progressOf(selecting[at].UID, s.obj.rec)
	}
	return out
}

// progressOf says how far the upgrade of an object is by an UpgradeAllowance.
func progressOf(uid types.UID, rec *v1alpha1.AllowanceRecord) string {
	if rec == nil {
		return "it is not upgraded"
	}
	var moved, moving []string
	for i := range rec.Status.Versions {
		known := &rec.Status.Versions[i]
		switch text := cmp.Or(upgrade.Text(known), "what was declared"); {
		case known.UpgradeAllowanceUID != uid:
		case upgrade.IsMoving(known):
			moving = append(moving, text)
		default:
			moved = append(moved, text)
		}
	}
	switch {
	case len(moving) > 0:
		return "it is being upgraded to " + strings.Join(moving, ", ")
	case len(moved) > 0:
		return "it was upgraded to " + strings.Join(moved, ", ") + ", and nothing more passes for that"
	default:
		return "it is not upgraded"
	}
}

// upgradesFor returns the UpgradeAllowances that name children which policies for a kind bound.
func upgradesFor(policies []*policy.Policy, upgrades []cluster.Upgrade) []Upgrade {
	bounded := childKinds(policies)
	var out []Upgrade
	for _, u := range upgrades {
		each := Upgrade{
			Name: u.Name, ChangedBy: u.Allowance.ChangedBy, ServiceAccount: u.Allowance.User, Triggers: u.Allowance.Triggers,
			Versions: u.Spec.Versions, Selects: selectsText(&u.Spec), WhyNot: whyNotUpgrade(u.UpgradeAllowance),
		}
		for _, e := range u.Allowance.Entries {
			if slices.Contains(bounded, e.Kind) {
				each.LetsThrough = append(each.LetsThrough, entryTexts(e)...)
			}
		}
		if len(each.LetsThrough) > 0 {
			out = append(out, each)
		}
	}
	return out
}

// selectsText says which parents an UpgradeAllowance selects; nothing where these are all.
func selectsText(spec *v1alpha1.UpgradeAllowanceSpec) string {
	var parts []string
	if spec.ObjectSelector != nil {
		parts = append(parts, "objects with "+metav1.FormatLabelSelector(spec.ObjectSelector))
	}
	if spec.NamespaceSelector != nil {
		parts = append(parts, "in namespaces with "+metav1.FormatLabelSelector(spec.NamespaceSelector))
	}
	return strings.Join(parts, ", ")
}

// whyNotUpgrade says why an UpgradeAllowance lets nothing through; nothing where it does.
func whyNotUpgrade(u *v1alpha1.UpgradeAllowance) string {
	c := apimeta.FindStatusCondition(u.Status.Conditions, v1alpha1.ConditionEnforced)
	switch {
	case u.DeletionTimestamp != nil:
		return "it is being deleted"
	case c == nil:
		return "nobody has looked at it yet"
	case c.Status != metav1.ConditionTrue:
		return c.Reason + ": " + c.Message
	default:
		return ""
	}
}

// about says what has to be new, and whose requests pass then.
func (u *Upgrade) about() string {
	triggers := make([]string, 0, len(u.Triggers))
	for _, t := range u.Triggers {
		triggers = append(triggers, string(t))
	}
	text := fmt.Sprintf("what %s does when another %s is there", phrase.Account(u.ServiceAccount), strings.Join(triggers, " or "))
	if len(u.Versions) > 0 {
		text += fmt.Sprintf(" (%s)", strings.Join(u.Versions, ", "))
	}
	return text
}

// upgradesText shows the UpgradeAllowances.
func upgradesText(upgrades []Upgrade) string {
	var b strings.Builder
	for _, u := range upgrades {
		fmt.Fprintf(&b, "\nUpgradeAllowance %s by %s, for %s\n", u.Name, cmp.Or(u.ChangedBy, "somebody"), u.about())
		if u.WhyNot != "" {
			fmt.Fprintf(&b, "  lets nothing through now: %s\n", u.WhyNot)
		}
		if u.Selects != "" {
			fmt.Fprintf(&b, "  selects %s\n", u.Selects)
		}
		for _, text := range u.LetsThrough {
			fmt.Fprintf(&b, "  would let through: %s\n", text)
		}
	}
	return b.String()
}
