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
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
)

// inVain is what somebody is told whom no approval would help.
type inVain struct {
	// why is a clause, and remedy what would help, in sentences.
	why, remedy string
}

// inVain says why no allowance of the parent would ever help this requester with what was denied:
// none can be about it, or they are for others. It is nil where one may help, or where something else
// is in the way that has to end first.
func (f *facts) inVain(v decision.Verdict) *inVain {
	if f.Parent.OneSided || f.Parent.Deleting || len(f.straysInTheWay()) > 0 || len(v.TakenBack) > 0 && len(v.Withheld) == 0 {
		return nil
	}
	isWithheld := len(v.Withheld)+len(f.HoldingBack()) > 0
	if impossible := f.Impossible(v.Uncovered, f.readByParent()); len(impossible) > 0 {
		why := noRuleAllows(impossible, v.Uncovered)
		if !isWithheld {
			return &inVain{why: why, remedy: f.withoutRule(v)}
		}
		// While something is withheld, not even what takes no rule goes on; but to approve that promises nothing here.
		if slices.ContainsFunc(impossible, func(act decision.Act) bool { return !f.isUpgraded(act) }) {
			return &inVain{why: fmt.Sprintf("which %s, %s", f.allowing(v), why), remedy: f.withoutRule(v)}
		}
	}
	if !f.IsForOthers(v.Uncovered) {
		return f.withoutAllowance(v, isWithheld)
	}
	return &inVain{
		why:    fmt.Sprintf("whose allowances %s %s%s", f.Requester.Username, decision.MayNotUse, shortList(f.Exercisers())),
		remedy: f.byOthers(v),
	}
}

// withoutAllowance says why no change of the parent helps with what only maintaining sections let through: for others,
// under conditions, or once the parent has settled. It is nil where that is not so, or something is withheld, which is
// what holds it back then.
func (f *facts) withoutAllowance(v decision.Verdict, isWithheld bool) *inVain {
	ruleless := f.Ruleless(v.Uncovered, f.readByParent())
	switch {
	case isWithheld || f.IsStray():
		return nil
	case f.IsLetGo(v.Uncovered):
		return &inVain{why: noRuleAllows(v.Uncovered, v.Uncovered), remedy: f.mayLetGo(v)}
	case len(ruleless) == 0:
		return nil
	}
	return &inVain{why: noRuleAllows(ruleless, v.Uncovered), remedy: f.withoutRule(v)}
}

// noRuleAllows says which of the acts that were denied no rule is about.
func noRuleAllows(acts, denied []decision.Act) string {
	what := "that"
	if len(acts) < len(denied) {
		what = listed(acts)
	}
	return fmt.Sprintf("and no rule allows %s, whatever changes", what)
}

// readByParent returns the policies for what the parent reads.
func (f *facts) readByParent() []*policy.Policy {
	return f.index.ReadBy(f.Parent.GVK.GroupKind(), f.Child.GVK.GroupKind())
}

// isUpgraded reports whether an UpgradeAllowance for the requester that selects the parent is about an act, which may let it
// through once nothing of the parent is withheld.
func (f *facts) isUpgraded(act decision.Act) bool {
	return slices.ContainsFunc(f.upgrades, func(a upgradeAsked) bool { return a.selects && f.AllowedByEntries(a.Entries, act) })
}

// withoutRule says what helps where no rule would.
func (f *facts) withoutRule(v decision.Verdict) string {
	ways := []string{"another rule"}
	if f.Requester.IsServiceAccount() {
		ways = append(ways, "an UpgradeAllowance")
	}
	takes, or := strings.Join(ways, " or "), " or "
	if len(v.Withheld)+len(f.HoldingBack()) > 0 {
		takes, or = takes+onceEnded, ", or "
	}
	if !f.carriesNoReason {
		takes += or + "breaking the glass"
	}
	if f.isMoved() {
		takes += ". Who may initiate on both parents moves it in two writes: the first takes it away from the one that it has, the second gives it the other one"
	}
	if f.claimed && f.Operation == decision.Create {
		// Crossplane makes another one for a claim that has lost the name of its own.
		takes += fmt.Sprintf(". If %s has had another %s before, put the name of that back into its %s", f.parentText(), f.Child.GVK.Kind, lineage.ResourceRefPath)
	}
	free, bound := f.maintaining(v)
	if who := append(f.initiatorsOn(v), free...); len(who) > 0 {
		bound = slices.Insert(bound, 0, anyOf(who)+" may do it")
	}
	if len(bound) > 0 {
		return fmt.Sprintf("%s; else it takes %s.", strings.Join(bound, ". "), takes)
	}
	return fmt.Sprintf("It takes %s.", takes)
}

// mayLetGo says for whom it is to let go of the child, or to have it adopted: those of whom the denial has told that they
// may use what the parent allows, or only who may initiate.
func (f *facts) mayLetGo(v decision.Verdict) string {
	who := "these"
	if f.IsForInitiators(v.Uncovered) && len(f.parentInitiators) > 0 {
		who = anyOf(f.parentInitiators)
	}
	return fmt.Sprintf("It is for %s %s.", who, decision.ToLetGo)
}

// maintaining says who may do it without an allowance: who may as it is, and, in a clause for each, who may under
// conditions, later, or a part of it.
func (f *facts) maintaining(v decision.Verdict) (free, bound []string) {
	for _, m := range v.Maintainers {
		who := m.Who
		switch {
		case m.Serves:
			who = []string{f.Requester.Username}
		case len(who) == 0:
			who = f.parentInitiators
		}
		isNew := f.Parent.Phase() == v1alpha1.PhaseInitializing
		if len(who) == 0 || len(m.Acts) == len(v.Uncovered) && len(m.NotMet) == 0 && !isNew {
			free = append(free, who...)
			continue
		}
		text := anyOf(who) + " may do it"
		if len(m.Acts) < len(v.Uncovered) {
			text = anyOf(who) + " may do this of it: " + listed(m.Acts)
		}
		if len(m.NotMet) > 0 {
			text += ", once it meets " + problemsText(m.NotMet)
		}
		if isNew {
			text += fmt.Sprintf(", once %s has settled", f.parentText())
		}
		if !slices.Contains(bound, text) {
			bound = append(bound, text)
		}
	}
	return free, bound
}

// isMoved reports whether one write takes the object from one controller and gives it another, by the
// policies of both of which it is judged.
func (f *facts) isMoved() bool {
	if f.Child.Old == nil || f.Child.New == nil {
		return false
	}
	was := metav1.GetControllerOf(&unstructured.Unstructured{Object: f.Child.Old})
	is := metav1.GetControllerOf(&unstructured.Unstructured{Object: f.Child.New})
	return was != nil && is != nil && was.UID != is.UID
}

// initiatorsOn returns who may do by the object's own policies what was refused: of fields that rules are about, who may
// initiate all that follows from them.
func (f *facts) initiatorsOn(v decision.Verdict) []string {
	var about []string
	for _, act := range v.Uncovered {
		path := act.Change.Path.String()
		if act.Operation == decision.Update && slices.ContainsFunc(f.OwnPolicies, func(p *policy.Policy) bool { return p.IsAbout(path) }) {
			about = append(about, path)
		}
	}
	switch {
	case len(about) == 0:
		return policy.InitiatorsIn(f.OwnPolicies)
	case decision.ApproversAbove(f.OwnPolicies, f.initiatorsAbove, about...):
		return nil
	default:
		return decision.Approvers(f.OwnPolicies, f.initiatorsAbove, about...)
	}
}

// onceEnded is for what helps as soon as nothing is withheld any more.
const onceEnded = ", once what is withheld is approved or taken back"

// mayDo says who may do it. A child that is made of what is withheld of its parent nobody may make before that has
// ended, an initiator of the child's own kind no more than who is denied it.
func (f *facts) mayDo(who []string) string {
	text := anyOf(who) + " may do it"
	if f.CopiesWithheld() {
		text += onceEnded
	}
	return text + "."
}

// byOthers says who else can do what the requester cannot, or have it done.
func (f *facts) byOthers(v decision.Verdict) string {
	if f.IsLetGo(v.Uncovered) {
		return f.mayLetGo(v)
	}
	var out []string
	if f.Parent.Account == "" {
		name := policy.ToName(f.Parent.GVK.GroupKind(), f.Requester.Username, names(f.Bounding()))
		if policy.MakerOf(f.Parent.GVK.GroupKind(), f.Requester.Username) == policy.IsMaker {
			return name // What others change of the parent it may not carry out either.
		}
		if name != "" {
			out = append(out, name)
		}
	}
	possible := func(act decision.Act) bool { return f.IsPossible(act, f.readByParent()) }
	free, bound := f.maintaining(v)
	who := append(f.initiatorsOn(v), free...)
	switch {
	case len(who) > 0:
		out = append(out, f.mayDo(who))
	case len(f.parentInitiators) == 0:
		out = append(out, "Nobody may initiate changes of "+f.parentText()+".")
	case !slices.ContainsFunc(v.Uncovered, func(act decision.Act) bool { return !possible(act) }):
		who, where := f.allowers(v)
		text := fmt.Sprintf("%s may have it done by changing %s", anyOf(who), where)
		if len(v.Withheld)+len(f.HoldingBack()) > 0 {
			text += onceEnded
		}
		out = append(out, text+".")
	}
	for _, text := range bound {
		out = append(out, text+".")
	}
	switch {
	case f.Eviction:
		out = append(out, "Evictions need Delete in the maintaining section of the policy.")
	case !f.carriesNoReason && len(out) == 0:
		out = append(out, "It takes breaking the glass.")
	}
	return strings.Join(out, " ")
}
