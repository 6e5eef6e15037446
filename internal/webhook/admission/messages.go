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

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/kubectl"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/upgrade"
)

// denial returns what a refused requester is told: which object, bounded by whom, what
// is not covered, what is, who could start it, and what to do next (D13). It
// names paths, never values, and is the same for the same refusal.
func denial(f *facts, v decision.Verdict) string {
	if f.ParentState != decision.ParentFound {
		return renameDenial(f, v)
	}
	var b strings.Builder
	parent := "its parent"
	if f.IsAdopted() {
		parent = "the parent that it would get,"
	}
	fmt.Fprintf(&b, "%s of %s is not allowed by %s %s (%s%s), ",
		listed(v.Uncovered), objectText(f.Child.GVK.Kind, f.Child.Name), parent, f.parentText(), f.Parent.Phase(), throughPolicies(v.Policies))
	if gone := f.goneAbove(); gone != nil {
		fmt.Fprintf(&b, "for which no policy is in effect, as its own parent %s does not exist. %s", objectText(gone.GVK.Kind, gone.Name), f.goneAboveRemedy(gone))
	} else if vain := f.inVain(v); vain != nil {
		fmt.Fprintf(&b, "%s. %s", vain.why, vain.remedy)
	} else {
		fmt.Fprintf(&b, "which %s. %s", f.allowing(v), f.remedy(v))
	}
	if text := f.upgradeText(v); text != "" {
		b.WriteString(" " + text)
	}
	b.WriteString(upgrade.Details(fmt.Sprintf("kubectl get allowancerecord%s %s -o yaml", kubectl.NamespaceFlag(f.parentRecordKey.Namespace), kubectl.Name(f.parentRecordKey.Name))))
	return b.String()
}

// allowing says what the parent allows, or why nothing.
func (f *facts) allowing(v decision.Verdict) string {
	switch {
	case f.Parent.OneSided:
		return fmt.Sprintf("does not name it in %s, and so allows nothing", lineage.ResourceRefPath)
	case f.Parent.Deleting:
		return "is being deleted and allows only what spec.deleting of the policy says"
	case f.IsAdopted() && f.IsStray():
		return decision.WouldAdopt + ", so that no allowance covers it"
	case f.IsStray():
		return "adopted it without a cause, so that no allowance covers it"
	case len(f.Parent.Surplus) > 0:
		return fmt.Sprintf("adopted %s %s without a cause, for which healing makes no room", f.Child.GVK.Kind, strings.Join(f.Parent.Surplus, ", "))
	case len(v.Withheld) > 0:
		return "allows nothing while " + withheldText(v.Withheld.Allowances())
	case len(f.HoldingBack()) > 0:
		return "allows nothing while " + referentsText(f.HoldingBack())
	case len(v.TakenBack) > 0:
		return fmt.Sprintf("has no longer what it is made of (%s), as that was withheld and is gone", pathsText(v.TakenBack))
	default:
		return "allows " + f.allowedText()
	}
}

// renameDenial returns what somebody is told who would have an object stand for something else
// outside the cluster, where no parent could allow it.
func renameDenial(f *facts, v decision.Verdict) string {
	by := "its gate"
	if len(v.Policies) > 0 {
		by = "AllowancePolicy " + listedNames(v.Policies)
	}
	message := fmt.Sprintf("%s of %s is not allowed by %s: it says what the object stands for outside, or by whose credentials",
		listed(v.Uncovered), objectText(f.Child.GVK.Kind, f.Child.Name), by)
	if len(f.initiators) > 0 {
		message += "; " + anyOf(f.initiators) + " may change it"
	}
	return message
}

// remedy says who can do what about a denial.
func (f *facts) remedy(v decision.Verdict) string {
	if f.Parent.OneSided {
		return fmt.Sprintf("No allowance of %s counts until it does.", f.parentText())
	}
	if f.Parent.Deleting {
		return "No allowance counts any more."
	}
	if len(v.TakenBack) > 0 && len(v.Withheld) == 0 {
		return "Its controller tries again once it has heard of that; nobody has to do anything."
	}
	if referents := f.HoldingBack(); len(referents) > 0 && len(v.Withheld) == 0 {
		return f.approveReferent(referents[0])
	}
	if f.IsAdopted() && f.IsStray() {
		return f.adoptionRemedy(v)
	}
	if strays := f.straysInTheWay(); len(strays) > 0 {
		return f.strayRemedy(f.parentInitiators, f.approveKey, strays...)
	}
	if text := f.changeWhatIsRead(v); text != "" && len(v.Withheld) == 0 {
		return text
	}
	if len(f.parentInitiators) == 0 {
		return "Nobody may initiate changes of " + f.parentText() + "."
	}
	if len(v.Withheld) > 0 {
		return f.approveFirst(v)
	}
	who, where := f.allowers(v)
	return fmt.Sprintf("%s may %s by changing %s, or approve what is already there: %s.", anyOf(who), f.toAllow(where), where,
		f.approveParent(v1alpha1.Any))
}

// approveParent returns the command that approves paths of the parent.
func (f *facts) approveParent(paths ...string) string {
	return f.approveCommand(f.parent.Group, f.parent.Kind, f.Parent.Namespace, f.parentApproveKey, paths, f.parent.Name)
}

// toAllow says what somebody does by changing something: allowing it, or, further up, having it allowed.
func (f *facts) toAllow(where string) string {
	if where != f.parentText() {
		return "have it allowed"
	}
	return "allow it"
}

// approveFirst says who can do what about a denial while something of the parent is withheld. That its approval allows
// what is denied is promised only of those by whose rules it does.
func (f *facts) approveFirst(v decision.Verdict) string {
	paths := withheldPaths(v.Withheld.Allowances())
	approvers, where := f.approversOfParent(paths)
	command := f.approveParent(decision.Approvals(v.Withheld.Allowances())...)
	read := f.readByParent()
	who := approvers
	if where == f.parentText() && !slices.ContainsFunc(v.Uncovered, func(act decision.Act) bool { return !f.IsPossible(act, read) }) {
		helps := f.HelpedBy(paths, v.Uncovered)
		who = slices.DeleteFunc(slices.Clone(approvers), func(name string) bool { return !slices.Contains(helps, name) })
	}
	if len(who) > 0 {
		return fmt.Sprintf("%s may %s by changing %s, or approve what is already there: %s.", anyOf(who), f.toAllow(where), where, command)
	}
	text := fmt.Sprintf("%s may approve that: %s.", anyOf(approvers), command)
	if change := f.changeWhatIsRead(v); change != "" {
		return text + " After that " + change
	}
	who, where = f.allowers(v)
	return fmt.Sprintf("%s After that %s may %s by changing %s.", text, anyOf(who), f.toAllow(where), where)
}

// changeWhatIsRead says who may allow what was denied by changing what the parent reads, where no rule of the parent's
// own policies is about it; else nothing.
func (f *facts) changeWhatIsRead(v decision.Verdict) string {
	through := f.OnlyThrough(v.Uncovered, f.readByParent())
	if len(through) == 0 {
		return ""
	}
	out := make([]string, 0, len(f.Referents))
	for _, r := range f.Referents {
		if len(r.Initiators) == 0 || len(f.OnlyThrough(v.Uncovered, r.Policies)) == 0 {
			continue
		}
		out = append(out, fmt.Sprintf("%s may allow it by changing %s, which %s reads, or approve what is already there: %s.", anyOf(r.Initiators), objectText(r.GVK.Kind, r.Name),
			f.parentText(), f.approveCommand(r.GVK.Group, r.GVK.Kind, r.Namespace, r.ApproveKey, []string{v1alpha1.Any}, r.Name)))
	}
	if len(out) > 0 {
		const most = 3
		return strings.Join(out[:min(len(out), most)], " ")
	}
	kinds := make([]string, 0, len(through))
	for _, p := range through {
		kinds = append(kinds, p.For.Kind)
	}
	return fmt.Sprintf("%s may allow it by changing a %s that %s reads; it reads none now that AllowancePolicy %s is for.", anyOf(policy.InitiatorsIn(through)),
		strings.Join(slices.Compact(slices.Sorted(slices.Values(kinds))), " or a "), f.parentText(), listedNames(through))
}

// adoptionRemedy says what helps whose request would make the object a stray, and does more than that.
func (f *facts) adoptionRemedy(v decision.Verdict) string {
	var out []string
	if who := f.initiatorsOn(v); len(who) > 0 {
		out = append(out, f.mayDo(who))
	}
	isLineage := func(act decision.Act) bool {
		return act.Operation == decision.Update && lineage.IsLineage(act.Change.Path)
	}
	switch {
	case slices.ContainsFunc(v.Uncovered, isLineage):
	case len(f.adopterInitiators) > 0:
		out = append(out, fmt.Sprintf("The adoption alone passes, and %s may approve it; what is allowed of %s covers it then.", anyOf(f.adopterInitiators), f.parentText()))
	default:
		out = append(out, "The adoption alone passes.")
	}
	if len(out) == 0 && !f.carriesNoReason {
		out = append(out, "It takes breaking the glass.")
	}
	return strings.Join(out, " ")
}

// straysInTheWay returns the names of the strays for which the request is denied. What the request
// would make one is none yet, and nothing to delete.
func (f *facts) straysInTheWay() []string {
	if f.IsStray() && !f.IsAdopted() {
		return []string{f.Child.Name}
	}
	return f.Parent.Surplus
}

// allowedText lists what the parent's ledger allows on the child's kind now.
func (f *facts) allowedText() string {
	var out []string
	entries := slices.Clone(f.Parent.Ledger)
	for _, r := range f.Referents {
		entries = append(entries, r.Ledger...)
	}
	for _, e := range entries {
		if !e.IsWithheld() && !e.IsExternal() && (e.Through == "" || e.Through == f.Parent.GVK.GroupKind().String()) {
			out = append(out, fmt.Sprintf("%s of %s (generation %d, by %s)", mutationText(e.Allowance), e.Kind, e.Generation, e.Initiator))
		}
	}
	if len(out) == 0 {
		return "nothing now"
	}
	const most = 5
	if len(out) > most {
		out = append(out[:most], "…")
	}
	return "only " + strings.Join(out, ", ")
}

// withheldWarning tells the author of an uncaused change that it stands, and
// what has to happen before anything follows from it.
func withheldWarning(ctx context.Context, f *facts, withheld []v1alpha1.Allowance, problems []decision.Problem) string {
	paths := withheldPaths(withheld)
	var b strings.Builder
	fmt.Fprintf(&b, "kausality: the change of %s of %s is withheld: nothing follows from it, as %s",
		strings.Join(paths, ", "), objectText(f.Child.GVK.Kind, f.Child.Name), f.uncaused(paths, problems))
	who := f.approversOf(paths)
	if len(who) == 0 {
		return b.String()
	}
	b.WriteString("; ")
	if len(problems) > 0 {
		b.WriteString("once it does, ")
	} else if notMet := decision.NotMet(ctx, f.OwnPolicies, f.Child, paths...); len(notMet) > 0 {
		// Nor may somebody approve it before, who may otherwise.
		fmt.Fprintf(&b, "once this holds of it, %s, ", strings.Join(notMet, " and "))
	}
	fmt.Fprintf(&b, "%s may approve it: %s", anyOf(who), f.approving(withheld))
	return b.String()
}

// uncaused says why a change has no cause.
func (f *facts) uncaused(paths []string, problems []decision.Problem) string {
	if len(problems) > 0 {
		return "it does not meet " + problemsText(problems)
	}
	return f.mayNotInitiate(paths)
}

// mayNotInitiate says that the requester may not initiate a change of the paths, or not by all policies that are
// about it.
func (f *facts) mayNotInitiate(paths []string) string {
	what := "it"
	if slices.ContainsFunc(f.OwnPolicies, func(p *policy.Policy) bool { return p.MayInitiate(f.Requester) && p.IsAbout(paths...) }) {
		what = "all that follows from it"
	}
	return f.Requester.Username + " may not initiate " + what
}

// approversOf returns who may approve a change of the paths. One that no rule is about, such as an act through the
// status, is for whoever may initiate.
func (f *facts) approversOf(paths []string) []string {
	if f.isAct(paths) {
		return f.initiators
	}
	return decision.Approvers(f.OwnPolicies, f.initiatorsAbove, paths...)
}

// isAct reports whether no rule of the object's policies is about any of the paths: what was changed is then no field
// that anything follows from, but something done through the status.
func (f *facts) isAct(paths []string) bool {
	return !slices.ContainsFunc(f.OwnPolicies, func(p *policy.Policy) bool { return p.IsAbout(paths...) })
}

// allowers returns who may have what is denied allowed by changing something, and what that is: the parent, for the
// initiators of those of its policies whose rules are about that; else what owns it, for those further up.
func (f *facts) allowers(v decision.Verdict) (who []string, where string) {
	return f.orAbove(f.InitiatorsFor(v.Uncovered))
}

// approversOfParent returns who may approve what is withheld of the parent at some paths, and by changing what they may
// have it end as well.
func (f *facts) approversOfParent(paths []string) (who []string, where string) {
	if decision.ApproversAbove(f.Parent.Policies, f.initiatorsAboveParent, paths...) {
		return f.orAbove(nil)
	}
	return f.orAbove(decision.Approvers(f.Parent.Policies, f.initiatorsAboveParent, paths...))
}

// orAbove returns initiators of the parent, with the parent, or, where there are none, those further up, with what owns it.
func (f *facts) orAbove(own []string) (who []string, where string) {
	switch {
	case len(own) > 0:
		return own, f.parentText()
	case len(f.initiatorsAboveParent) > 0:
		return f.initiatorsAboveParent, "what owns " + f.parentText()
	default:
		return f.parentInitiators, f.parentText()
	}
}

// problemsText names conditions that did not hold.
func problemsText(problems []decision.Problem) string {
	var out []string
	for _, p := range problems {
		text := fmt.Sprintf("the condition %q of AllowancePolicy %s", p.Expression, p.Policy)
		if p.Err != nil {
			text += " (it " + p.Why() + ")"
		}
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return strings.Join(out, " and ")
}

func withheldText(withheld []v1alpha1.Allowance) string {
	out := make([]string, 0, len(withheld))
	for _, w := range withheld {
		by := w.Initiator
		if by == "" {
			by = "somebody while Kausality was away or not asked, or right before it ended"
		}
		out = append(out, fmt.Sprintf("the change of %s by %s is withheld", w.Mutation, by))
	}
	return strings.Join(out, " and ")
}

// referentsText says what is withheld of that which a parent reads.
func referentsText(referents []decision.Referent) string {
	out := make([]string, 0, len(referents))
	for _, r := range referents {
		out = append(out, fmt.Sprintf("%s of %s, which it reads", withheldText(decision.Withheld(r.Standing).Allowances()), objectText(r.GVK.Kind, r.Name)))
	}
	return shortList(out)
}

// approveReferent says who may do what about what is withheld of something that a parent
// reads.
func (f *facts) approveReferent(r decision.Referent) string {
	if len(r.Initiators) == 0 {
		return "Nobody may initiate changes of " + objectText(r.GVK.Kind, r.Name) + "."
	}
	return fmt.Sprintf("%s may approve that: %s.", anyOf(r.Initiators), f.approveCommand(r.GVK.Group, r.GVK.Kind, r.Namespace, r.ApproveKey,
		decision.Approvals(decision.Withheld(r.Standing).Allowances()), r.Name))
}

func withheldPaths(withheld []v1alpha1.Allowance) []string {
	var out []string
	for _, w := range withheld {
		if !slices.Contains(out, w.Mutation) {
			out = append(out, w.Mutation)
		}
	}
	return out
}

// describeGrants returns the short form of what was granted, for the audit log.
func describeGrants(allowances []v1alpha1.Allowance) string {
	out := make([]string, 0, len(allowances))
	for _, a := range allowances {
		what := a.Kind
		if a.Relation == v1alpha1.RelationExternal {
			what = string(a.Relation)
		}
		out = append(out, fmt.Sprintf("%s %s by %s", what, mutationText(a), a.Initiator))
	}
	return strings.Join(out, "; ")
}

func pathsText(paths []change.Path) string {
	out := make([]string, 0, len(paths))
	for _, p := range paths {
		out = append(out, p.String())
	}
	return strings.Join(out, ", ")
}

func mutationText(a v1alpha1.Allowance) string {
	switch {
	case a.Relation == v1alpha1.RelationExternal:
		return strings.Join(a.Mutations, "+")
	case a.Mutation == v1alpha1.Any && len(a.Verbs) == 0:
		return "anything"
	case a.Mutation == v1alpha1.Any:
		return "any field"
	default:
		return a.Mutation
	}
}

func listed(acts []decision.Act) string {
	const most = 8
	var out []string
	for i, a := range acts {
		if i == most {
			out = append(out, fmt.Sprintf("and %d more", len(acts)-most))
			break
		}
		out = append(out, actText(a))
	}
	return strings.Join(out, ", ")
}

func actText(a decision.Act) string {
	switch {
	case a.Operation == decision.Create:
		return "creation"
	case a.Operation == decision.Delete:
		return "deletion"
	case a.Change.Verb == change.Insert:
		return "adding " + a.Change.Path.String()
	case a.Change.Verb == change.Delete:
		return "removing " + a.Change.Path.String()
	case a.Change.IsReorder():
		return "changing the order of " + a.Change.Path.String()
	default:
		return "changing " + a.Change.Path.String()
	}
}

func (f *facts) parentText() string {
	return objectText(f.Parent.GVK.Kind, f.Parent.Name)
}

func objectText(kind, name string) string {
	if name == "" {
		return "a " + kind
	}
	return kind + " " + name
}

// anyOf names who may do something.
func anyOf(subjects []string) string {
	subjects = slices.Compact(slices.Sorted(slices.Values(subjects)))
	return strings.Join(subjects, " or ")
}

// approveCommand returns the command that approves paths of objects.
func (f *facts) approveCommand(group, kind, namespace, key string, paths []string, names ...string) string {
	return kubectl.Annotate(f.objects(group, kind, namespace, names...), key, change.JoinPaths(paths))
}

// objects returns what a command about objects is told.
func (f *facts) objects(group, kind, namespace string, names ...string) kubectl.Objects {
	of := kubectl.Objects{Group: group, Kind: kind, Namespace: namespace, Names: names}
	if f.versionToName != nil {
		of.Version = f.versionToName(schema.GroupKind{Group: group, Kind: kind})
	}
	return of
}

// listedNames names policies.
func listedNames(policies []*policy.Policy) string { return strings.Join(names(policies), ", ") }

func names(policies []*policy.Policy) []string {
	out := make([]string, 0, len(policies))
	for _, p := range policies {
		out = append(out, p.Name)
	}
	return out
}
