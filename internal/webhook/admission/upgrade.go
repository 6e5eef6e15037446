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
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/eventrecorder"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/record"
	"kausality.io/operator/internal/upgrade"
)

// upgradeAsked is an UpgradeAllowance for the requester, and what it says of the request.
type upgradeAsked struct {
	*upgrade.Allowance
	// selects is true where it selects the parent.
	selects bool
	// answers has one for each version of the request that its triggers are about.
	answers []versionAnswer
	// why says why there are none.
	why string
}

// versionAnswer is what it says about one version.
type versionAnswer struct {
	upgrade.Answer
	by upgrade.Version
}

// open returns the answers that let the request through.
func (a upgradeAsked) open() []versionAnswer {
	return slices.DeleteFunc(slices.Clone(a.answers), func(answer versionAnswer) bool { return !answer.Open })
}

// gatherUpgrades finds out whether a request that nothing covers is part of an upgrade of the
// parent. It reads what the request comes from, and is asked only where everything else was read
// live: no request is kept waiting for it that something covers.
func (g *Gatherer) gatherUpgrades(ctx context.Context, r *request, f *facts) error {
	if g.Versions == nil || !f.MayUpgrade() || !r.requester.IsController() {
		return nil
	}
	triggers, unread := g.Versions.Triggers(), map[v1alpha1.UpgradeTrigger]error{}
	for _, trigger := range triggers {
		versions, err := g.Versions[trigger].Of(ctx, upgrade.Request{User: r.user, Parent: f.parentObject})
		if err != nil {
			unread[trigger] = err
		}
		f.versions = append(f.versions, versions...)
	}
	// An UpgradeAllowance that comes while that is read counts: who waits for it is woken once.
	allowances := g.Upgrades.For(r.requester.Username)
	for _, trigger := range triggers {
		if err := unread[trigger]; err != nil && slices.ContainsFunc(allowances, func(a *upgrade.Allowance) bool { return a.Has(trigger) }) {
			return err
		}
	}
	parent := ancestry.Holder(ctx, g.Namespaces, f.parentObject)
	for _, a := range allowances {
		asked := upgradeAsked{Allowance: a, why: "it does not select " + f.parentText()}
		if a.Selects(parent.Labels, parent.NamespaceLabels) {
			asked.selects = true
			asked.answers, asked.why = f.askFor(a, g.now()), "it is about no version that makes the request"
		}
		f.upgrades = append(f.upgrades, asked)
		if len(asked.open()) > 0 {
			f.Upgrades = append(f.Upgrades, decision.Upgrade{
				Name: a.Name, Generation: a.Generation, Initiator: a.ChangedBy, Entries: a.Entries,
			})
		}
	}
	return nil
}

// gatherHelpless notes the UpgradeAllowances that select the parent of a request which was denied for a reason that no
// UpgradeAllowance changes, such as a withheld change of the parent. None was asked, and none is to wake whoever waits.
func (g *Gatherer) gatherHelpless(ctx context.Context, r *request, f *facts, verdict decision.Verdict) {
	if f.ParentState != decision.ParentFound || len(verdict.Uncovered) > 0 && f.MayUpgrade() {
		return
	}
	f.noUpgrade = true
	allowances := g.Upgrades.For(r.requester.Username)
	if len(allowances) == 0 {
		return
	}
	parent := ancestry.Holder(ctx, g.Namespaces, f.parentObject)
	for _, a := range allowances {
		if a.Selects(parent.Labels, parent.NamespaceLabels) {
			f.upgrades = append(f.upgrades, upgradeAsked{Allowance: a, selects: true})
		}
	}
}

// gatherMoving finds the UpgradeAllowances by which the parent is being upgraded, whoever makes the request.
func (g *Gatherer) gatherMoving(ctx context.Context, f *facts) {
	if !f.MayUpgrade() || !g.Upgrades.Any() {
		return
	}
	parent := ancestry.Holder(ctx, g.Namespaces, f.parentObject)
	for _, a := range g.Upgrades.Selecting(parent.Labels, parent.NamespaceLabels) {
		if a.Moves(f.rememberedVersions()) {
			f.Upgrades = append(f.Upgrades, decision.Upgrade{
				Name: a.Name, Generation: a.Generation, Initiator: a.ChangedBy, Entries: a.Entries, Moves: true,
			})
		}
	}
}

// askFor asks an UpgradeAllowance about each version that makes the request.
func (f *facts) askFor(a *upgrade.Allowance, now time.Time) []versionAnswer {
	var out []versionAnswer
	for _, by := range f.versions {
		if a.Has(by.About()) {
			out = append(out, versionAnswer{a.Ask(f.rememberedVersions(), by, now), by})
		}
	}
	return out
}

// rememberedVersions returns the versions that the parent remembers.
func (f *facts) rememberedVersions() []v1alpha1.ControllerVersion {
	if f.parentRecord == nil {
		return nil
	}
	return f.parentRecord.Status.Versions
}

// keepUpgrade has the parent remember the versions that are let through, before the request is:
// another replica, or this one after it was started anew, must not let the next one through for
// it.
func (v *Validator) keepUpgrade(ctx context.Context, r *request, f *facts, verdict decision.Verdict) error {
	if r.dryRun || verdict.Upgrade == nil {
		return nil
	}
	i := slices.IndexFunc(f.upgrades, func(a upgradeAsked) bool { return a.Name == verdict.Upgrade.Name })
	for _, answer := range f.upgrades[i].open() {
		if answer.Note == nil {
			continue
		}
		if err := v.keepVersion(ctx, r, f, f.upgrades[i].Allowance, answer.by); err != nil {
			return err
		}
	}
	return nil
}

// keepVersion does that for one version of those that the request comes from.
func (v *Validator) keepVersion(ctx context.Context, r *request, f *facts, by *upgrade.Allowance, version upgrade.Version) error {
	begins, open := false, false
	err := v.Records.RememberVersion(ctx, f.parent, func(memory []v1alpha1.ControllerVersion) *v1alpha1.ControllerVersion {
		answer := by.Ask(memory, version, v.now())
		open = answer.Open
		begins = answer.Note != nil && answer.Note.LastUsed.Equal(&answer.Note.Since)
		return answer.Note
	})
	switch {
	case err != nil:
		return lostError{err}
	case !open:
		return lostError{fmt.Errorf("the upgrade of %s was over in the meantime", f.parentText())}
	case begins:
		v.Notices.Post(eventrecorder.Notice{
			Reason: eventrecorder.Upgrading, Action: operationText(r), About: f.parent, Normal: true,
			Text: fmt.Sprintf("%s is being upgraded to %s, as UpgradeAllowance %s by %s lets it through",
				f.parentText(), versionText(version, by.User), by.Name, by.ChangedBy),
		})
	}
	return nil
}

// versionText names what a parent is upgraded to.
func versionText(v upgrade.Version, user string) string {
	switch {
	case v.About() != v1alpha1.UpgradeOfController:
		return v.String()
	case v.Image == "":
		return "a declared version of " + user
	default:
		return v.String() + " of " + user
	}
}

// keepLeft has an object remember what its children were made from when it goes over to
// something else by its own write, before anything is made from that: the other one is an
// upgrade then. What was chosen in vain is not remembered. What cannot be remembered holds up
// nobody: such an object is upgraded like one that remembers nothing.
func (v *Validator) keepLeft(ctx context.Context, r *request, f *facts) {
	if r.dryRun || r.operation != decision.Update || r.subresource != "" || len(f.OwnPolicies) == 0 {
		return
	}
	for _, source := range v.Versions {
		leaver, ok := source.(upgrade.Leaver)
		if !ok {
			continue
		}
		left, next, ok := leaver.Left(ctx, r.old, r.new)
		if !ok {
			continue
		}
		note := func(memory []v1alpha1.ControllerVersion) *v1alpha1.ControllerVersion {
			return upgrade.Leaves(memory, r.requester.Username, left, next, !withholdsBooks(f.Child.Standing), v.now())
		}
		if f.record != nil && note(f.record.Status.Versions) == nil {
			continue
		}
		if err := v.Records.RememberVersion(ctx, r.target(), note); err != nil {
			logf.FromContext(ctx).Error(err, "Cannot remember what an object was made from; as long as nothing does, only spec.versions of an UpgradeAllowance can tell that it is an upgrade",
				"kind", r.gvk.Kind, "namespace", r.namespace, "name", r.objectName(), "left", left.String())
		}
	}
}

// withholdsBooks reports whether something is withheld of what an object says in the books of its system:
// what it names there may come of that, and nothing is made by it.
func withholdsBooks(standing *approved.Standing) bool {
	return standing != nil && slices.ContainsFunc(standing.Differences, func(d approved.Difference) bool {
		return d.Counts && lineage.IsBook(d.Path)
	})
}

// madeBy returns the versions that make the children of a parent that is new: what the parent
// remembers first; and, of one that is not, those by which something is made without an upgrade
// that it does not remember. They are found out later, while nobody waits; nil where there is
// none to find.
func (v *Validator) madeBy(r *request, f *facts, verdict decision.Verdict) *record.MadeBy {
	if !verdict.Allowed || !r.requester.IsServiceAccount() {
		return nil
	}
	triggers := slices.DeleteFunc(v.Versions.Triggers(), func(t v1alpha1.UpgradeTrigger) bool {
		return !f.isMadeFirst(t, r.requester.Username, verdict) && !f.isMadeAlso(t, v.Versions[t], verdict)
	})
	if len(triggers) == 0 {
		return nil
	}
	now := v.now()
	asked := upgrade.Request{User: r.user, Parent: f.parentObject, At: now}
	return &record.MadeBy{User: r.user.Username, Find: func(ctx context.Context) []v1alpha1.ControllerVersion {
		var out []v1alpha1.ControllerVersion
		for _, trigger := range triggers {
			versions, err := v.Versions[trigger].Of(ctx, asked)
			if err != nil {
				continue // Then the next request tells, or none.
			}
			for _, by := range versions {
				if made := upgrade.MadeBy(asked.User.Username, by, now); made != nil {
					out = append(out, *made)
				}
			}
		}
		return out
	}}
}

// isMadeFirst reports whether a request makes children of a new parent that remembers no version yet, and
// that by nothing that is withheld.
func (f *facts) isMadeFirst(trigger v1alpha1.UpgradeTrigger, user string, verdict decision.Verdict) bool {
	return f.Parent.Phase() == v1alpha1.PhaseInitializing && !f.remembersVersionOf(trigger, user) && !withholdsBooks(f.Parent.Standing) &&
		(verdict.Reason == decision.ReasonInitializing || verdict.Reason == decision.ReasonCovered)
}

// isMadeAlso reports whether a request makes something by a revision that the parent names and has yet to
// note. What is done while something of the parent is withheld is not by what is withheld, and what
// an upgrade lets through the parent remembers anyway.
func (f *facts) isMadeAlso(trigger v1alpha1.UpgradeTrigger, source upgrade.Source, verdict decision.Verdict) bool {
	leaver, ok := source.(upgrade.Leaver)
	if !ok || !f.MayUpgrade() {
		return false
	}
	switch verdict.Reason {
	case decision.ReasonAdopting, decision.ReasonInitializing, decision.ReasonCovered, decision.ReasonBreakGlass, decision.ReasonWarned, decision.ReasonAudited:
		return upgrade.MayAlso(f.rememberedVersions(), trigger, leaver.Named(f.parentObject))
	default:
		return false
	}
}

func (f *facts) remembersVersionOf(trigger v1alpha1.UpgradeTrigger, user string) bool {
	return slices.ContainsFunc(f.rememberedVersions(), func(v v1alpha1.ControllerVersion) bool {
		return v.Trigger == trigger && (v.User == user || trigger != v1alpha1.UpgradeOfController)
	})
}

// askedUpgrades returns the UpgradeAllowances that select the parent and were asked, or that nobody had to ask, with
// their generations. One that comes to select it, as labels change, has not been asked yet: it may help.
func (f *facts) askedUpgrades() []string {
	out := make([]string, 0, len(f.upgrades))
	for _, a := range f.upgrades {
		if a.selects {
			out = append(out, a.ID())
		}
	}
	return out
}

// standings returns what the versions that a request comes from are to the parent.
func (f *facts) standings() []v1alpha1.RequestVersion {
	out := make([]v1alpha1.RequestVersion, 0, len(f.versions))
	for _, by := range f.versions {
		out = append(out, upgrade.Standing(f.rememberedVersions(), f.Requester.Username, by))
	}
	return out
}

// upgradeText says what a denial has to do with an upgrade: why no UpgradeAllowance lets the
// request through, or that one could, where it comes from another version than the one that
// the parent remembers. It is empty where nothing is known of that.
func (f *facts) upgradeText(v decision.Verdict) string {
	out := make([]string, 0, len(f.upgrades))
	for _, a := range f.upgrades {
		if f.concerns(a) {
			out = append(out, upgrade.SaysNo(a.Name, f.whyNot(a, v)))
		}
	}
	hint := f.newVersionText()
	switch {
	case len(out) == 0:
		return hint
	case hint == "":
		return strings.Join(out, "; ") + "."
	default:
		return strings.Join(out, "; ") + ". " + hint
	}
}

// concerns reports whether an UpgradeAllowance has to do with a request: it was asked about a version, or it
// may have been meant for one. A request of nothing but what made the parent is no upgrade: what others say
// of it helps nobody.
func (f *facts) concerns(a upgradeAsked) bool {
	return len(a.answers) > 0 || slices.ContainsFunc(f.versions, func(by upgrade.Version) bool {
		switch upgrade.Standing(f.rememberedVersions(), f.Requester.Username, by).Standing {
		case v1alpha1.StandingNew, v1alpha1.StandingMoving, v1alpha1.StandingFirst:
			return a.selects || a.Has(by.About())
		case v1alpha1.StandingUnknown:
			return a.Has(by.About())
		default:
			return false
		}
	})
}

// whyNot says why an UpgradeAllowance does not let a request through.
func (f *facts) whyNot(a upgradeAsked, v decision.Verdict) string {
	switch {
	case len(a.open()) > 0:
		const notCovered = "spec.policies does not cover it"
		if unnamed := f.NotNamedBy(&decision.Upgrade{Entries: a.Entries}, v.Uncovered); len(unnamed) > 0 {
			return notCovered + ", as it has to name what says what the object stands for outside: " + listed(unnamed)
		}
		return notCovered
	case len(a.answers) == 0:
		return a.why
	}
	whys := make([]string, 0, len(a.answers))
	for _, answer := range a.answers {
		whys = append(whys, answer.Why)
	}
	slices.Sort(whys)
	return strings.Join(slices.Compact(whys), ", and ")
}

// newVersionText tells of an upgrade that nobody has agreed to: an UpgradeAllowance for other parents, or for
// something else that makes the request, agrees to nothing here.
func (f *facts) newVersionText() string {
	user := f.Requester.Username
	for _, by := range f.versions {
		if slices.ContainsFunc(f.upgrades, func(a upgradeAsked) bool { return a.selects && a.Has(by.About()) }) {
			continue
		}
		if known, is := upgrade.Replaces(f.rememberedVersions(), user, by); is {
			return upgrade.Agree(by, f.parentText(), upgrade.Text(known), fmt.Sprintf(
				"an UpgradeAllowance with spec.serviceAccount %s%s, see kubectl explain upgradeallowance.spec", user, triggerText(by.About())))
		}
	}
	return ""
}

// triggerText names a trigger that is not the default.
func triggerText(trigger v1alpha1.UpgradeTrigger) string {
	if trigger == v1alpha1.UpgradeOfController {
		return ""
	}
	return fmt.Sprintf(" and spec.triggers [%s]", trigger)
}
