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

	authenticationv1 "k8s.io/api/authentication/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/notice"
	"kausality.io/operator/internal/record"
	"kausality.io/operator/internal/scope"
	"kausality.io/operator/internal/upgrade"
)

// Versions knows which version of a controller makes a request. *identity.Pods is one.
type Versions interface {
	// Of is the version that makes the requests of a user. An error says that it cannot be
	// read now.
	Of(ctx context.Context, user authenticationv1.UserInfo) (upgrade.Version, error)
}

// upgradeAsked is an UpgradeAllowance for the requester, and what it says of the request.
type upgradeAsked struct {
	*upgrade.Allowance
	answer upgrade.Answer
}

// gatherUpgrades finds out whether a request that nothing covers is part of an upgrade of the
// parent. It reads the Pod of the requester, and is asked only where everything else was read
// live: no request is kept waiting for it that something covers.
func (g *Gatherer) gatherUpgrades(ctx context.Context, r *request, f *facts) error {
	if g.Versions == nil || !f.MayUpgrade() || !r.requester.IsController() {
		return nil
	}
	by, err := g.Versions.Of(ctx, r.user)
	if err != nil {
		return err
	}
	f.version = by
	parent := scope.Holder(ctx, g.Namespaces, f.parentObject)
	for _, a := range g.Upgrades.For(r.requester.Username) {
		asked := upgradeAsked{a, upgrade.Answer{Why: "it does not select " + f.parentText()}}
		if a.Selects(parent.Labels, parent.NamespaceLabels) {
			asked.answer = a.Ask(f.rememberedVersions(), by, g.now())
		}
		f.upgrades = append(f.upgrades, asked)
		if asked.answer.Open {
			f.Upgrades = append(f.Upgrades, decision.Upgrade{
				Name: a.Name, Generation: a.Generation, Initiator: a.ChangedBy, Entries: a.Entries,
			})
		}
	}
	return nil
}

// rememberedVersions are the versions that the parent remembers.
func (f *facts) rememberedVersions() []v1alpha1.ControllerVersion {
	if f.parentRecord == nil {
		return nil
	}
	return f.parentRecord.Status.Versions
}

// keepUpgrade has the parent remember the version that is let through, before it is: another
// replica, or this one after it was started anew, must not let the next one through for it.
func (v *Validator) keepUpgrade(ctx context.Context, r *request, f *facts, verdict decision.Verdict) error {
	if r.dryRun || verdict.Upgrade == nil {
		return nil
	}
	i := slices.IndexFunc(f.upgrades, func(a upgradeAsked) bool { return a.Name == verdict.Upgrade.Name })
	asked := f.upgrades[i]
	if asked.answer.Note == nil {
		return nil
	}
	begins, open := false, false
	err := v.Records.RememberVersion(ctx, f.parent, func(memory []v1alpha1.ControllerVersion) *v1alpha1.ControllerVersion {
		answer := asked.Ask(memory, f.version, v.now())
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
		v.Notices.Post(notice.Notice{
			Reason: notice.Upgrading, Action: operationText(r), About: f.parent, Normal: true,
			Text: fmt.Sprintf("%s is being upgraded to %s of %s, as UpgradeAllowance %s by %s lets it through",
				f.parentText(), versionText(f.version), asked.User, asked.Name, asked.ChangedBy),
		})
	}
	return nil
}

func versionText(v upgrade.Version) string {
	if v.Image == "" {
		return "a declared version"
	}
	return "image " + v.Image
}

// madeBy is the version that makes the children of a parent that is new: what the parent
// remembers first. It is found out later, while nobody waits; nil where there is none to find.
func (v *Validator) madeBy(r *request, f *facts, verdict decision.Verdict) *record.MadeBy {
	if v.Versions == nil || !verdict.Allowed || !r.requester.IsServiceAccount() || f.Parent.Phase() != v1alpha1.PhaseInitializing ||
		verdict.Reason != decision.ReasonInitializing && verdict.Reason != decision.ReasonCovered || f.remembersVersionOf(r.requester.Username) {
		return nil
	}
	user, now := r.user, v.now()
	return &record.MadeBy{User: user.Username, Find: func(ctx context.Context) *v1alpha1.ControllerVersion {
		by, err := v.Versions.Of(ctx, user)
		if err != nil {
			return nil // Then the next request tells, or none.
		}
		return upgrade.MadeBy(user.Username, by, now)
	}}
}

func (f *facts) remembersVersionOf(user string) bool {
	return slices.ContainsFunc(f.rememberedVersions(), func(v v1alpha1.ControllerVersion) bool { return v.User == user })
}

// upgradeText says what a denial has to do with an upgrade: why no UpgradeAllowance lets the
// request through, or that one could, where it comes from another version than the one that
// the parent remembers. It is empty where nothing is known of that.
func (f *facts) upgradeText() string {
	if len(f.upgrades) == 0 {
		return f.newVersionText()
	}
	out := make([]string, 0, len(f.upgrades))
	for _, a := range f.upgrades {
		why := a.answer.Why
		if a.answer.Open {
			why = "spec.policies does not cover it"
		}
		out = append(out, fmt.Sprintf("UpgradeAllowance %s does not let it through: %s", a.Name, why))
	}
	return strings.Join(out, "; ") + "."
}

// newVersionText tells of an upgrade that nobody has agreed to.
func (f *facts) newVersionText() string {
	if f.version.Image == "" {
		return ""
	}
	user := f.Requester.Username
	for _, known := range f.rememberedVersions() {
		if known.User == user && known.Image != "" && known.Image != f.version.Image {
			return fmt.Sprintf("The request comes from image %s, and %s was made by, or upgraded to, image %s: if this is an upgrade, "+
				"agree to it by an UpgradeAllowance with spec.serviceAccount %s, see kubectl explain upgradeallowance.spec.",
				f.version.Image, f.parentText(), known.Image, user)
		}
	}
	return ""
}
