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
	"fmt"
	"slices"
	"strings"
	"time"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/output"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/cli/text"
	"kausality.io/operator/internal/policy"
)

const indent = "  "

// render turns a report into text.
func render(r *Report, t text.Terminal, wide bool, now time.Time) string {
	var out strings.Builder
	for i, w := range r.Withheld {
		out.WriteString(renderWithheld(w, r.place(w.Object), r.allBy(i), t, now) + "\n")
	}
	for _, c := range r.CarriedOut {
		out.WriteString(renderCarriedOut(c, r.place(c.Object), t, now) + "\n")
	}
	if r.Blocked != "" {
		out.WriteString(renderBlocked(r.Blocked, t) + "\n")
	}
	for _, refusal := range r.Refusals {
		out.WriteString(renderRefusal(refusal, r.place(refusal.Parent), t, wide, now) + "\n")
	}
	if more := output.More(t, r.More); more != "" {
		out.WriteString(more + "\n")
	}
	for _, spared := range r.Spared {
		out.WriteString(renderSpared(spared, t, wide, now) + "\n")
	}
	for _, b := range r.Below {
		out.WriteString(renderBelow(b, t, now) + "\n")
	}
	for _, g := range r.Generating {
		out.WriteString(renderGenerating(g, t) + "\n")
	}
	for _, note := range r.Notes {
		out.WriteString(t.Wrap("", note) + "\n")
	}
	first := cluster.Banner(t, now, r.SwitchedOff, r.Unenforced)
	if out.Len() == 0 {
		return first + t.Wrap("", fmt.Sprintf("Nothing was refused and nothing is withheld, as the AllowanceRecords tell of %s. "+
			"They are written up to two seconds after a refusal: if you have just seen one, ask again. What could not be written "+
			"down is refused with an error that no record tells of, but the log of whoever asked.", r.Subject)) + r.unasked(t)
	}
	return first + strings.TrimSuffix(out.String(), "\n")
}

// unasked says, where nothing else is told, that nobody is asked about the subject.
func (r *Report) unasked(t text.Terminal) string {
	if r.Unasked == "" {
		return ""
	}
	return "\n" + t.Paint(text.Bad, "Not asked") + "\n" + strings.TrimSuffix(t.Wrap(indent, r.Unasked), "\n")
}

// place says in which namespace an object is, where the report tells of several.
func (r *Report) place(ref v1alpha1.TargetReference) string {
	if !r.everywhere {
		return ""
	}
	return phrase.In(ref.Namespace)
}

// allBy returns the command that approves all that one person changed of an object, where what is withheld at a position is
// the last of several such; else nothing.
func (r *Report) allBy(at int) string {
	var all []string
	several := false
	for i, w := range r.Withheld {
		if w.Object != r.Withheld[at].Object || w.User != r.Withheld[at].User || len(w.NotMet) > 0 || w.WaitsForRule {
			continue
		}
		if i > at {
			return ""
		}
		several = several || len(all) > 0
		all = append(all, w.Approvals...)
	}
	if !several || len(r.Withheld[at].NotMet) > 0 || r.Withheld[at].WaitsForRule {
		return ""
	}
	return phrase.Command("approve", r.Withheld[at].Object, all...)
}

// renderWithheld tells of what is withheld. all approves what else is by the same person, empty where there is nothing else
// or more to come.
func renderWithheld(w Withheld, place, all string, t text.Terminal, now time.Time) string {
	var out strings.Builder
	since := ""
	if w.Since != nil {
		since = " " + phrase.Ago(w.Since.Time, now)
	}
	out.WriteString(t.Paint(text.Wait, "Withheld"+since) + "  " + t.Paint(text.Strong, phrase.Target(w.Object)) + place + "\n")
	var facts text.Table
	facts.Row("changed", strings.Join(w.Paths, ", "))
	facts.Row("by", phrase.Author(w.User))
	if w.WaitsForRule {
		renderWaitsForRule(&facts, w)
		out.WriteString(facts.Render(t, indent))
		return out.String()
	}
	facts.Row("effect", "the change stands; nothing follows from it until it is approved, changed again or taken back")
	for _, c := range w.NotMet {
		facts.Row("not met", c+": nobody can approve it before that holds of "+phrase.Target(w.Object)+". Change it so that it does, and approve then")
	}
	facts.Row("approval", "by "+w.approvers())
	facts.Cells(text.Cell{Text: "command"}, text.Cell{Text: phrase.Command("approve", w.Object, w.Approvals...), Unbroken: true})
	if all != "" {
		facts.Cells(text.Cell{Text: "all by them"}, text.Cell{Text: all, Unbroken: true})
	}
	out.WriteString(facts.Render(t, indent))
	return out.String()
}

// renderWaitsForRule adds what there is to say of a change that no rule in effect is about.
func renderWaitsForRule(facts *text.Table, w Withheld) {
	facts.Row("effect", "nothing is held back now: no rule of a policy in effect that denies is about it, and what follows may be carried out. "+
		"It is withheld again when such a rule is back")
	approval := "not before such a rule is back"
	if len(w.Initiators) > 0 {
		approval += "; until then it counts as approved once " + phrase.Who(w.Initiators) + " changes it again"
	}
	facts.Row("approval", approval+". To put back what was there ends it, whoever does that")
}

// approvers names who may approve it.
func (w *Withheld) approvers() string {
	if len(w.Initiators) == 0 && w.Unowned && !w.Untold {
		return "nobody: no policy in effect lets anybody initiate it, and nothing owns " + phrase.Target(w.Object)
	}
	return who(w.Initiators, w.Untold)
}

// who names those who may do something, where the policies that say so could be read.
func who(initiators []string, untold bool) string {
	if untold {
		return "whoever the policies name"
	}
	return phrase.Who(initiators)
}

// renderBlocked says what the object itself shows of a refusal.
func renderBlocked(message string, t text.Terminal) string {
	var facts text.Table
	facts.Row("refused", message)
	return t.Paint(text.Bad, "Blocked") + "\n" + facts.Render(t, indent)
}

func renderRefusal(r Refusal, place string, t text.Terminal, wide bool, now time.Time) string {
	var out strings.Builder
	out.WriteString(t.Paint(text.Bad, "Refused "+phrase.Ago(r.Time.Time, now)) + indent +
		t.Paint(text.Strong, changeText(r)) + place + state(r, t) + "\n")
	var facts text.Table
	facts.Row("asked by", r.User+repeated(r, now))
	if r.Reason == v1alpha1.ReasonNoRoom {
		renderNoRoom(&facts, r, wide)
		out.WriteString(facts.Render(t, indent))
		return out.String()
	}
	if r.Event == v1alpha1.EventRefused {
		renderRefusedItself(&facts, r, wide)
		out.WriteString(facts.Render(t, indent))
		return out.String()
	}
	facts.Row("not covered", strings.Join(r.Paths, ", "))
	facts.Row("bounded by", phrase.Target(r.Parent)+through(r.Policies)+gone(r))
	if r.Held {
		facts.Row("waits for", "what is withheld of "+phrase.Target(r.Parent)+": until that is approved or taken back, nothing allows it")
	}
	if r.Overwritten != nil {
		facts.Row("overwritten", r.Overwritten.text(now))
	}
	if r.CarriedOut != nil {
		facts.Row("since then", r.CarriedOut.text(now))
	}
	if r.Ended != nil {
		facts.Row("since then", r.Ended.text(r.Parent, now))
	}
	renderAdopting(&facts, r, len(r.Initiators) == 0)
	renderStrays(&facts, r)
	renderNotNamed(&facts, r)
	for _, remedy := range r.Remedies {
		if (!r.Held || remedy.Policy == "") && (r.Ended == nil || !r.Ended.TakenBack) {
			facts.Row("allowed by", remedyText(r, remedy))
		}
	}
	if r.Upgrade != nil {
		renderUpgrade(&facts, r.Upgrade)
	}
	if wide {
		facts.Row("record", r.Record)
		facts.Row("answer", r.Message)
	}
	out.WriteString(facts.Render(t, indent))
	return out.String()
}

// renderUpgrade adds what there is to say of an upgrade.
func renderUpgrade(facts *text.Table, u *Upgrade) {
	facts.Row("upgrade", u.Told)
	if len(u.Versions) > 0 {
		facts.Row("made from", strings.Join(u.Versions, ", "))
	}
	if len(u.Asked) > 0 {
		facts.Row("asked", "UpgradeAllowance "+strings.Join(u.Asked, ", ")+" (name/generation)")
	}
	facts.Cells(text.Cell{Text: "command"}, text.Cell{Text: u.Command, Unbroken: true})
}

// renderRefusedItself adds what there is to say of a change that the object's own policies
// refuse, or of what would have changed the object by its controller.
func renderRefusedItself(facts *text.Table, r Refusal, wide bool) {
	switch {
	case len(r.Paths) == 0:
	case r.Kind != "":
		facts.Row("would change", strings.Join(r.Paths, ", ")+" of "+phrase.Target(r.Parent))
	default:
		facts.Row("of", strings.Join(r.Paths, ", "))
	}
	facts.Row("refused by", "AllowancePolicy "+strings.Join(r.Policies, ", "))
	if r.ParentGone {
		facts.Row("now", phrase.Target(r.Parent)+" is gone")
	}
	if len(r.Initiators) > 0 {
		to := phrase.Who(r.Initiators)
		if len(r.Conditions) > 0 {
			to += ", if " + strings.Join(r.Conditions, " and ")
		}
		facts.Row("allowed to", to)
	}
	if wide || len(r.Paths) == 0 || r.Attaching {
		facts.Row("answer", r.Message)
	}
	if wide {
		facts.Row("record", r.Record)
	}
}

// renderNoRoom adds what there is to say of a change for which annotations have no room.
func renderNoRoom(facts *text.Table, r Refusal, wide bool) {
	facts.Row("refused by", "the API server, for the size of the annotations")
	facts.Row("because", r.Message)
	if wide {
		facts.Row("record", r.Record)
	}
}

// through names the policies by which something was refused. Of what keeps its gate under policies that were not in effect
// no policy was named before.
func through(policies []string) string {
	if len(policies) == 0 {
		return ", by its gate"
	}
	return ", through AllowancePolicy " + strings.Join(policies, ", ")
}

// gone says that nothing bounds the child any more.
func gone(r Refusal) string {
	if !r.ParentGone {
		return ""
	}
	return "; it is gone since, and bounds nothing any more"
}

// changeText says what was refused.
func changeText(r Refusal) string { return strings.ToLower(r.Operation) + " of " + childText(r) }

// childText names the first of the children that were refused, or of what would have scaled the object, or the object
// itself.
func childText(r Refusal) string {
	if r.Event == v1alpha1.EventRefused && r.Kind == "" {
		return phrase.Target(r.Parent)
	}
	switch in := phrase.In(r.Namespace); len(r.Names) {
	case 0:
		return phrase.Object(r.Kind, "") + in
	case 1:
		return phrase.Object(r.Kind, r.Names[0]) + in
	default:
		return fmt.Sprintf("%s%s and %d more", phrase.Object(r.Kind, r.Names[0]), in, len(r.Names)-1)
	}
}

func state(r Refusal, t text.Terminal) string {
	if r.Waiting {
		return ", " + t.Paint(text.Wait, "still waiting")
	}
	if r.MayWait {
		return ", " + t.Paint(text.Wait, "may be waiting, too")
	}
	if r.Passed {
		return ", " + t.Paint(text.Good, "passed since")
	}
	if r.PassedFor != "" {
		return ", " + t.Paint(text.Good, "done since by "+r.PassedFor)
	}
	return ""
}

// repeated says how often a controller asked, where it asked again.
func repeated(r Refusal, now time.Time) string {
	if r.Count < 2 || r.FirstTime == nil {
		return ""
	}
	return fmt.Sprintf(", %d times since %s", r.Count, phrase.Ago(r.FirstTime.Time, now))
}

// orUpgrade names an upgrade, which is something that only controllers do.
func orUpgrade(r Refusal) string {
	if r.Upgrade == nil && (policy.Requester{Username: r.User}).IsServiceAccount() {
		return ", or an UpgradeAllowance"
	}
	return ""
}

// orGlass names breaking the glass where a request for the paths can carry the reason. The API server
// takes ephemeral containers of Pods, and other sizes, by sub-resources only, in which a reason does not count.
func orGlass(r Refusal, remedy Remedy) string {
	if r.Kind == "Pod" && r.Operation == "Update" && slices.ContainsFunc(remedy.Paths, bySubresource) {
		return ""
	}
	return ", or breaking the glass"
}

func bySubresource(text string) bool {
	path, err := change.ParsePath(text)
	return err == nil && slices.ContainsFunc(subresourceFields, func(p change.Pattern) bool { return p.Covers(path) })
}

// subresourceFields are the fields of Pods that only sub-resources change.
var subresourceFields = []change.Pattern{
	change.MustParsePattern("spec.ephemeralContainers"),
	change.MustParsePattern("spec.containers[*].resources"),
	change.MustParsePattern("spec.initContainers[*].resources"),
}

// remedyText says in a sentence what would have allowed a part of the change.
func remedyText(r Refusal, remedy Remedy) string {
	part := ""
	if len(remedy.Paths) < len(r.Paths) {
		part = strings.Join(remedy.Paths, ", ") + ": "
	}
	if remedy.LetGo {
		return fmt.Sprintf("%sno change: letting go of it, or having %s adopt it, is for %s, in a request that does nothing else",
			part, phrase.Target(r.Parent), phrase.Who(remedy.Initiators))
	}
	if remedy.OfChild {
		return fmt.Sprintf("%s%s doing it: who may initiate on %s itself needs no change of %s", part, phrase.Who(remedy.Initiators), childText(r), phrase.Target(r.Parent))
	}
	if remedy.Upgrade != "" {
		return fmt.Sprintf("%sUpgradeAllowance %s, which covers it, in an upgrade of %s while nothing of it is withheld", part, remedy.Upgrade, phrase.Target(r.Parent))
	}
	if remedy.Trigger == "" && remedy.Policy != "" {
		return fmt.Sprintf("%s%s doing it while %s is steady and nothing of it is withheld%s: that needs no change of it (maintaining, AllowancePolicy %s)",
			part, phrase.Who(remedy.Initiators), phrase.Target(r.Parent), ofChild(r, remedy.Conditions), remedy.Policy)
	}
	if remedy.Trigger == "" {
		return part + "no rule of " + strings.Join(r.Policies, ", ") + ", whatever changes: it would need another rule" + orUpgrade(r) + orGlass(r, remedy)
	}
	of := phrase.Target(r.Parent)
	if remedy.Read != "" {
		of = "a " + remedy.Read + " that " + of + " reads,"
	}
	text := fmt.Sprintf("%sa change of %s of %s by %s (AllowancePolicy %s)",
		part, remedy.Trigger, of, phrase.Who(remedy.Initiators), remedy.Policy)
	if len(remedy.Conditions) > 0 {
		text += ", if " + strings.Join(remedy.Conditions, " and ")
	}
	return text
}

// ofChild says which conditions have to hold of what was refused.
func ofChild(r Refusal, conditions []string) string {
	if len(conditions) == 0 {
		return ""
	}
	return ", once this holds of " + childText(r) + ": " + strings.Join(conditions, " and ")
}
