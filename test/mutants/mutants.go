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

package main

import "strings"

// edit replaces a piece of code, which is in its file exactly once.
type edit struct {
	file, find, replace string
}

// mutant is the operator without one check; the ways around that the check closes
// are rows of docs/bypasses.md, whose tests have to fail.
type mutant struct {
	name  string
	edits []edit
	ways  []string
	// cloud is set where the tests of the ways need Crossplane.
	cloud bool
	// unit are the arguments of "go test" where only a unit test can tell.
	unit []string
	// bypassesOf is the package whose TestBypass has the ways, for mutants of kausality-cri.
	bypassesOf string
}

// tests returns what have to fail: those of the ways, or, where it closes none by itself, the
// unit tests.
func (m mutant) tests() []string {
	if len(m.ways) == 0 {
		return []string{"go test " + strings.Join(m.unit, " ")}
	}
	return m.ways
}

// suite returns the package that has the tests of the ways.
func (m mutant) suite() string {
	if m.cloud {
		return inCloud
	}
	return inCluster
}

const (
	elsewhere = "internal/webhook/admission/elsewhere.go"

	admissionTests = "./internal/webhook/admission"

	rules     = "internal/interception/rules.go"
	webhooks  = "internal/interception/webhooks.go"
	judge     = "internal/decision/judge.go"
	cover     = "internal/decision/cover.go"
	gather    = "internal/webhook/admission/gather.go"
	parentage = "internal/webhook/admission/parentage.go"
	glass     = "internal/webhook/admission/glass.go"
	glassNeed = "internal/webhook/admission/glassneed.go"
	inVain    = "internal/webhook/admission/invain.go"
	decide    = "internal/webhook/admission/decide.go"
	validate  = "internal/webhook/admission/validate.go"
	implied   = "internal/policy/implied.go"
	records   = "config/record-protection/policy.yaml"
	unseen    = "internal/controller/holder/unseen.go"

	credentials = "internal/credential/credential.go"

	authorities  = "internal/webhook/entry/authorities.go"
	entryPackage = "./internal/webhook/entry"
)

// unprotected takes out the admission policy that protects ledgers inside the API
// server: each ledger has two guards.
var unprotected = edit{"internal/interception/admissionpolicy.go", "if len(rules) == 0 {", "if len(rules) >= 0 {"}

// believed computes a ledger from what the request says, instead of from the old
// object.
var believed = edit{
	decide,
	"	if len(f.Child.Ledger) > 0 {\n		spent := lifecycle.Consumed(ctx, r.seen(), f.OwnPolicies, lifecycle.Unknown)\n		kept = f.Child.Ledger.Without(",
	"	if r.new != nil {\n		kept, _ = r.ledgerAsked()\n	}\n	if r.old != nil {\n		spent := lifecycle.Consumed(ctx, r.seen(), f.OwnPolicies, lifecycle.Unknown)\n		kept = kept.Without(",
}

// without returns the mutant whose configuration does not have the API server ask about
// an operation or a sub-resource.
func without(name, find, replace string, ways ...string) mutant {
	return mutant{name: name, edits: []edit{{rules, find, replace}}, ways: ways}
}

// generatedTests show what becomes of what a GeneratingPolicy made.
var generatedTests = []string{admissionTests, "-run=TestGenerated$"}

var mutants = []mutant{
	without("updates are not judged", `rules.add(r, "", create, update, remove)`, `rules.add(r, "", create, remove)`,
		"updating a child", "patching a child as JSON", "patching a child by merging", "applying a child with force", "changing a grandchild",
		"writing while nobody converts"),
	without("creations are not judged", `rules.add(r, "", create, update, remove)`, `rules.add(r, "", update, remove)`,
		"creating another child", "creating another child under a generated name"),
	without("deletions are not judged", `rules.add(r, "", create, update, remove)`, `rules.add(r, "", create, update)`,
		"deleting a child", "deleting all children at once", "keeping a child from its end with a finalizer"),
	without("scales are not judged", `{name: "scale", operation: update},`, ``, "scaling a child"),
	without("statuses are not judged", `{name: "status", operation: update},`, ``,
		"taking the owner of a child away through its status", "relabeling a child through its status"),
	without("finalizations are not judged", `{name: "finalize", operation: update},`, ``, "taking the owner of a child away through its finalization"),
	without("approvals of requests are not judged", `{name: "approval", operation: update},`, ``, "taking the owner of a child away through its approval"),
	without("resizes are not judged", `{name: "resize", operation: update, podsOnly: true},`, ``, "resizing a Pod"),
	without("ephemeral containers are not judged", `{name: "ephemeralcontainers", operation: update, podsOnly: true},`, ``,
		"adding an ephemeral container to a Pod"),
	without("evictions are not judged", `{name: "eviction", operation: create, podsOnly: true},`, ``,
		"evicting a Pod that no policy lets anybody delete"),
	{
		name:  "who puts a part back has taken out the rest",
		edits: []edit{{"internal/approved/authors.go", "	if c.Verb == change.Delete && a.claims[number].inserted {", "	if false && c.Verb == change.Delete && a.claims[number].inserted {"}},
		unit:  []string{"-run=TestPartPutBack", "./internal/approved"},
	},
	{
		name:  "what was changed in the second of the first request was changed before it",
		edits: []edit{{"internal/webhook/admission/missed.go", "Before(since.Truncate(time.Second))", "Before(since)"}},
		unit:  []string{"-run=TestMissed", admissionTests},
	},
	{
		name:  "a condition that looks at nothing may come true",
		edits: []edit{{"internal/policy/misjudged.go", "always, same := constant(changeScope, source); same && !always", "always, same := constant(changeScope, source); false && same && !always"}},
		unit:  []string{"-run=TestMisjudgedConditions", "./internal/policy"},
	},
	{
		name:  "any name is somebody's",
		edits: []edit{{"internal/policy/unmatched.go", "if why := nobody(s); why != \"\" {", "if why := nobody(s); false && why != \"\" {"}},
		unit:  []string{"-run=TestUnmatched", "./internal/policy"},
	},
	{
		name:  "policies are for kinds that nobody is asked about",
		edits: []edit{{"internal/policy/compile.go", "	if ExemptKind(out.GroupKind()) {", "	if false && ExemptKind(out.GroupKind()) {"}},
		unit:  []string{"-run=TestCompile", "./internal/policy"},
	},
	{
		name:  "kro: who sets what happens to what is not allowed takes the policy over",
		edits: []edit{{"internal/controller/kro/keeping.go", `{"subjects", "validationActions"}`, `{"subjects"}`}},
		unit:  []string{"./test/integration", "-ginkgo.focus=" + "keeps what somebody sets to happen"},
	},
	{
		name:  "kro: what others add is taken for derived",
		edits: []edit{{"internal/controller/kro/controller.go", "len(added) > 0 {", "len(added) < 0 {"}},
		unit:  []string{"./test/integration", "-ginkgo.focus=" + "says what others add to it"},
	},
	{
		name:  "takeover: a dry run promises what is refused",
		edits: []edit{{"internal/cli/takeover/takeover.go", "err := mark(ctx, c, step, client.DryRunAll); err != nil {", "err := mark(ctx, c, step, client.DryRunAll); err != nil && false {"}},
		unit:  []string{"./test/integration", "-ginkgo.focus=" + "takes over what another generator made"},
	},
	{
		name:  "generating: a number stands with the cause of one",
		edits: []edit{{"internal/controller/generating/status.go", "case c.of < all:", "case false:"}},
		unit:  []string{"-run=TestStanding", "./internal/controller/generating"},
	},
	{
		name:  "generating: what is there counts as made only where it is as it should be",
		edits: []edit{{"internal/controller/generating/status.go", "object.state == made || b.isMadeBy(e, id)", "object.state == made"}},
		unit:  []string{"-run=TestStanding", "./internal/controller/generating"},
	},
	{
		name:  "generating: an AllowancePolicy that changes is no reason to try again",
		edits: []edit{{"internal/controller/generating/reconciler.go", "range r.book.allUncaused() {", "range r.book.allUncaused()[:0] {"}},
		unit:  []string{"./test/integration", "-ginkgo.focus=" + "tries again what AllowancePolicies refuse, once"},
	},
	{
		name:  "schedules: CronJobs are marked at full minutes",
		edits: []edit{{"internal/controller/target/show.go", "if after := r.waits(req, obj.GetResourceVersion()); after > 0 {", "if after := r.waits(req, obj.GetResourceVersion()); after < 0 {"}},
		unit:  []string{"./test/integration", "-ginkgo.focus=" + "are left alone around full minutes"},
	},
	{
		name:  "schedules: what has just changed is written",
		edits: []edit{{"internal/controller/lull/lull.go", "before.version != version", "false"}},
		unit:  []string{"./internal/controller/lull"},
	},
	{
		name:  "records: of what never existed they stay",
		edits: []edit{{"internal/controller/holder/ended.go", "record.NeverSeen(rec) &&", "false &&"}},
		unit:  []string{"./test/integration", "-ginkgo.focus=" + "leaves no record where it was not stored"},
	},
	{
		name:  "records: of what may still come they go",
		edits: []edit{{"internal/record/neverseen.go", "rec.CreationTimestamp.Add(UnseenLimit)", "rec.CreationTimestamp.Time"}},
		unit:  []string{"./internal/record"},
	},
	{
		name:  "records: of what somebody deletes they go",
		edits: []edit{{"internal/record/neverseen.go", "case s.Deletion != nil, s.LastDecision", "case s.LastDecision"}},
		unit:  []string{"./internal/record"},
	},
	{
		name:  "an item that is new is what a stranger had added",
		edits: []edit{{"internal/change/merge.go", "		lists.tellApart()\n", ""}},
		unit:  []string{"-run=TestStories", "./internal/approved"},
	},
	{
		name:  "what many items hold is the stranger's who had it, too",
		edits: []edit{{"internal/change/merge_leaves.go", "isApproved := l.isHeld", "isApproved := func(string) bool { return false }"}},
		unit:  []string{"-run=TestStories", "./internal/approved"},
	},
	{
		name:  "who has changed what moves in a list is nobody",
		edits: []edit{{"internal/approved/standing.go", "		next.nameInLists(st.Differences)\n", "		_ = next\n"}},
		unit:  []string{"-run=TestStories", "./internal/approved"},
	},
	{
		name:  "what no rule is about moves to other items of a list",
		edits: []edit{{"internal/approved/standing.go", "slices.Concat(r.Uncaused, r.Following, st.besideItems(&r, next.patterns))", "slices.Concat(r.Uncaused, r.Following)"}},
		unit:  []string{"-run=TestBesideItems", "./internal/approved"},
	},
	{
		name:  "what one parent lets happen and another one refuses has happened",
		edits: []edit{{"internal/webhook/admission/validate.go", "if ru.refusal == nil || !ru.verdict.Allowed {", "if ru != nil {"}},
		unit:  []string{"-run=TestTwoParents", "./internal/webhook/admission"},
	},
	{
		name:  "trace reads one kind of a name",
		edits: []edit{{"internal/cli/trace/read.go", "if !found.has(kind) &&", "if !slices.Contains(s.listed, kind.Kind) &&"}},
		unit:  []string{"-run=TestOneKindOfTwoGroups", "./internal/cli/trace"},
	},
	{
		name:  "trace: the youngest record is taken, though its object never existed",
		edits: []edit{{"internal/cli/trace/build.go", "was != is {", "was != is && !was {"}},
		unit:  []string{"./internal/cli/trace"},
	},
	{
		name:  "generating: what somebody made is overwritten",
		edits: []edit{{"internal/controller/generating/writer.go", "\tobject.SetResourceVersion(neverWritten)\n", ""}},
		unit:  []string{"./test/integration", "-ginkgo.focus=" + "leaves alone what it did not make"},
	},
	{
		name:  "generating: what cannot be evaluated wants nothing",
		edits: []edit{{"internal/controller/generating/trigger.go", "\tresult, err := l.ask(ctx, of, object, out)\n\tif err != nil {\n\t\treturn t, err\n\t}\n", "\tresult, err := l.ask(ctx, of, object, out)\n\tif err != nil {\n\t\tresult = &generate.Result{}\n\t}\n"}},
		unit:  []string{"./test/integration", "-ginkgo.focus=" + "deletes nothing where it cannot be evaluated"},
	},
	{
		name: "generating: a policy ends in the middle of what it makes",
		edits: []edit{
			{"internal/controller/generating/end.go", "\tif r.book.isLooking(p.UID) {\n\t\treturn ctrl.Result{RequeueAfter: again}, nil\n\t}\n", ""},
			{"internal/controller/generating/end.go", "r.listMade(ctx, kind, e.Name)", `r.results.list(ctx, kind, "", labels.SelectorFromSet(labels.Set{v1alpha1.LabelGeneratedBy: plan.LabelOf(e.Name)}))`},
		},
		unit: []string{"./test/integration", "-ginkgo.focus=" + "in the middle of what it makes"},
	},
	{
		name:  "generating: what a broken watch shows is gone by",
		edits: []edit{{"internal/controller/generating/watches.go", "case known.stale():", "case false:"}},
		unit:  []string{"./internal/controller/generating"},
	},
	{
		name:  "what a quota refused was there",
		edits: []edit{{"internal/cli/trace/unproven.go", "if !n.onlyLetCreate() {", "if n.end {"}},
		unit:  []string{"./internal/cli/trace"},
	},
	{
		name:  "a record that says nothing of its target proves it",
		edits: []edit{{"internal/cli/trace/unproven.go", "!record.NeverSeen(rec)", "!record.NeverSeen(rec) || rec != nil"}},
		unit:  []string{"./internal/cli/trace"},
	},
	{
		name:  "what is refused with an error is told by records alone",
		edits: []edit{{"internal/cli/why/unrecorded.go", `add(message, "The condition "+kind)`, `_, _ = message, kind`}},
		unit:  []string{"./internal/cli/why"},
	},
	{
		name:  "a credential that an API server refuses is good",
		edits: []edit{{credentials, "if !c.isRefused() {", "if !c.isRefused() || c.last.After(c.first) {"}},
		unit:  []string{"./internal/credential"},
	},
	{
		name:  "a credential is refused by one answer",
		edits: []edit{{credentials, "c.last.Sub(c.first) >= tolerated }", "c.last.Sub(c.first) >= 0 }"}},
		unit:  []string{"./internal/credential"},
	},
	{
		name:  "a credential is refused by a server behind the API server",
		edits: []edit{{"internal/servertime/listener.go", "err == nil && isOurs(r.URL.Path)", "err == nil && (isOurs(r.URL.Path) || true)"}},
		unit:  []string{"./internal/credential"},
	},
	{
		name:  "nobody begins anew once a credential is good again",
		edits: []edit{{credentials, "c.over.Do(c.Again)", "c.over.Do(func() {})"}},
		unit:  []string{"./internal/credential"},
	},
	{
		name:  "watches: one that ends while it is catching up has caught up",
		edits: []edit{{"internal/watchstate/watchstate.go", "\t\ts.down = s.before\n", "\t\ts.down = now\n"}},
		unit:  []string{"./internal/watchstate"},
	},
	{
		name:  "generating: what an API server lists that starts is all that it serves",
		edits: []edit{{"internal/controller/generating/served.go", "err == nil && what.lacks(s.known)", "err == nil && what == nil"}},
		unit:  []string{"./internal/controller/generating"},
	},
	{
		name:  "generating: what an APIService does not tell of is not served",
		edits: []edit{{"internal/controller/generating/served.go", "err != nil && !found {", "err != nil && found {"}},
		unit:  []string{"./internal/controller/generating"},
	},
	{
		name:  "generating: who began to want an object meanwhile is not asked",
		edits: []edit{{"internal/controller/generating/carryout.go", "\tif !k.hasRivals(l.book.of(l.req, step.ID).rivals) {", "\tif false {"}},
		unit:  []string{"./internal/controller/generating"},
	},
	{
		name:  "generating: what an older policy made once, a younger one puts back",
		edits: []edit{{"internal/controller/generating/carryout.go", "step, k, matters); !mayTake {", "step, k, matters); !mayTake && (step.Do != plan.Apply || step.Reason == plan.TakenOver) {"}},
		unit:  []string{"./internal/controller/generating"},
	},
	{
		name: "generating: what an older policy made once, and somebody deleted, a younger one makes",
		edits: []edit{
			{"internal/controller/generating/carryout.go", "!p.Spec.Evaluation.Synchronize && refOf(p).OlderThan(l.of.PolicyRef)", "refOf(p).Name == \"\""},
			{"internal/controller/generating/carryout.go", "e.Synchronize || !e.OlderThan(l.of.PolicyRef) ||", "e.Name != \"\" ||"},
		},
		unit: []string{"./test/integration", "-ginkgo.focus=" + "made once, and somebody deleted"},
	},
	{
		name:  "generated: any account is covered",
		edits: []edit{{"internal/decision/input.go", "in.Parent.Account != \"\" {", "in.Parent.Account == in.Requester.Username {"}},
		unit:  generatedTests,
	},
	{
		name:  "a trace goes on to another namespace without naming its own",
		edits: []edit{{"internal/ledger/entry.go", "from == to || last < 0", "from != to || last < 0"}},
		unit:  []string{"-run=TestTracesAcrossNamespaces", "./internal/decision"},
	},
	{
		name:  "a deletion goes on to another namespace without naming its own",
		edits: []edit{{"internal/record/index.go", "above.Namespace, ref.Namespace)", "above.Namespace, above.Namespace)"}},
		unit:  []string{"-run=TestInherit", "./internal/record"},
	},
	{
		name:  "any controller fills in what is new",
		edits: []edit{{"internal/decision/chain.go", "in.Requester.IsController() && p.Names(in.Requester) &&", "in.Requester.IsController() &&"}},
		unit:  []string{"-run=TestGrants", "./internal/decision"},
	},
	{
		name:  "what is new is its controller's to change",
		edits: []edit{{"internal/decision/chain.go", "s.act.Change.Verb == change.Insert &&", "s.act.Change.Verb != change.Delete &&"}},
		unit:  []string{"-run=TestGrants", "./internal/decision"},
	},
	{
		name:  "what is going may be given an autoscaler by anybody",
		edits: []edit{{"internal/decision/delegate.go", "\tout.Child.Deleting = false\n", ""}, {"internal/decision/delegate.go", "v.Reason == ReasonOwn, v.Reason == ReasonPlatform", "v.Reason == ReasonOwn, v.Reason == ReasonFinishing, v.Reason == ReasonPlatform"}},
		ways:  []string{"making an autoscaler for a parent that is going"},
	},
	{
		name:  "generated: what was made is nobody's",
		edits: []edit{{"internal/lineage/lineage.go", "\tgenerated{},\n", ""}},
		ways: []string{
			"changing what a GeneratingPolicy made", "changing it as the account of the policy",
			"having a GeneratingPolicy find no trigger any more", "relabeling the namespace of a trigger",
		},
	},
	{
		name:  "generated: the younger of two policies decides",
		edits: []edit{{"internal/generate/plan/types.go", "cmp.Compare(p.Name, other.Name)) < 0", "cmp.Compare(p.Name, other.Name)) > 0"}},
		ways:  []string{"wanting what another GeneratingPolicy made"},
	},
	{
		name:  "generated: what an object says of its making is anybody's to change",
		edits: []edit{{"internal/webhook/admission/generated.go", "\tif !r.isGenerator() {\n\t\treturn changes\n\t}\n", ""}},
		ways:  []string{"taking the marks off what a GeneratingPolicy made", "having somebody's trigger say that a GeneratingPolicy made it"},
	},
	{
		name:  "generated: what waits of one parent another lets pass",
		edits: []edit{{"internal/webhook/admission/generated.go", "\t\tcase len(o.verdict.Withheld) > 0:\n\t\t\treturn o\n", ""}},
		unit:  generatedTests,
	},
	{
		name:  "generated: what is gone lets anybody",
		edits: []edit{{"internal/webhook/admission/generated.go", "case gone && r.isGenerator() && r", "case gone && r"}},
		unit:  generatedTests,
	},
	{
		name:  "generated: what is gone lets another trigger have its content",
		edits: []edit{{"internal/webhook/admission/generated.go", "r.isGenerator() && r.operation == decision.Delete:", "r.isGenerator():"}},
		ways:  []string{"adding a trigger of one's own for what another one made"},
	},
	{
		name:  "generated: anybody has what is somebody's say that it was made",
		edits: []edit{{"internal/webhook/admission/validate.go", "case f.forgesMarks(r) && !selfContained(verdict):", "case f.forgesMarks(r) && false:"}},
		unit:  generatedTests,
	},
	{
		name:  "generated: the label by which it is found is anybody's to change",
		edits: []edit{{"internal/lineage/generated.go", "[]change.Path{generatedFrom, generatedBy} {", "[]change.Path{generatedFrom} {"}},
		unit:  generatedTests,
	},
	{
		name:  "generating: what nobody made is seen among what was made",
		edits: []edit{{"internal/controller/generating/watches.go", `return ok && (w.label == "" || hasLabel(object, w.label))`, `return ok && object != nil`}},
		unit:  []string{"-run=TestBorrow", "./internal/controller/generating"},
	},
	{
		name:  "generating: what was written counts as wanted, whatever it is",
		edits: []edit{{"internal/controller/generating/written.go", "case f.shared, !asWanted:", "case f.shared:"}},
		unit:  []string{"-run=TestWhoWrote", "./internal/controller/generating"},
	},
	{
		name:  "generating: who wants what others want as well looks again and again",
		edits: []edit{{"internal/controller/generating/written.go", "case f.shared, !asWanted:", "case f.shared:\n\t\treturn true\n\tcase !asWanted:"}},
		unit:  []string{"-run=TestWhoWrote", "./internal/controller/generating"},
	},
	{
		name:  "generating: what is not wanted any more is made for others, unseen",
		edits: []edit{{"internal/controller/generating/carryout.go", "kind, ok = l.book.kind(id); !ok {\n\t\t\treturn nil, false, nil", "kind, ok = l.book.kind(id); !ok {\n\t\t\treturn nil, true, nil"}},
		unit:  []string{"./test/integration", "-ginkgo.focus=" + "does not try again and again"},
	},
	{
		name:  "generating: who wrote an object looks at it again",
		edits: []edit{{"internal/controller/generating/reconciler.go", "knows = r.written.shows(id, after)", "r.written.shows(id, after)"}},
		unit:  []string{"./test/integration", "-ginkgo.focus=" + "looks at a trigger once"},
	},
	{
		name:  "generating: what changes during the look that reads it is not heard",
		edits: []edit{{"internal/controller/generating/book.go", "during.add(of, namespace, name, sets...)", "_ = during"}},
		unit:  []string{"-run=TestLookHears", "./internal/controller/generating"},
	},
	{
		name:  "generating: who has listed a namespace does not hear of what is in it",
		edits: []edit{{"internal/controller/generating/readers.go", `{resource, namespace, ""}, `, ``}},
		unit:  []string{"-run=TestReaders$", "./internal/controller/generating"},
	},
	{
		name:  "generating: who changes a Namespace that is read is not noted",
		edits: []edit{{"internal/webhook/cause/hook.go", "object.GetNamespace() == \"\" && object.GroupVersionKind() != namespaceKind", "object.GetNamespace() == \"\""}},
		unit:  []string{"-run=TestHook$", "./internal/webhook/cause"},
	},
	{
		name:  "generating: what anybody notes counts",
		edits: []edit{{"internal/generate/notary.go", `if text == "" || !n.Signed(id, object) {`, `if text == "" {`}},
		ways:  []string{"saying who asked for a trigger where nobody asks who it is"},
	},
	{
		name:  "generating: who changed a trigger is what anybody says",
		edits: []edit{{"internal/generate/plan/causes.go", `!byPolicy && notary.Signed(id, object)`, `!byPolicy`}},
		unit:  []string{"-run=TestCauses", "./internal/generate/plan"},
	},
	{
		name:  "generating: what was noted of an object counts for the next of its name",
		edits: []edit{{"internal/generate/notary.go", ".Before(object.GetCreationTimestamp().Time) {", ".Before(time.Time{}) {"}},
		unit:  []string{"-run=TestNotary", "./internal/generate"},
	},
	{
		name:  "generating: what is only tried is signed",
		edits: []edit{{"internal/webhook/cause/notes.go", " && (req.DryRun == nil || !*req.DryRun) {", " {"}},
		unit:  []string{"-run=TestHookSigns", "./internal/webhook/cause"},
	},
	{
		name:  "generating: nobody looks at sub-resources of triggers",
		edits: []edit{{"internal/interception/causes.go", "\trules = append(rules, underneath(rules)...)\n", ""}},
		ways:  []string{"saying through a sub-resource who asked for a trigger", "saying in a Binding who asked for a Pod"},
	},
	{
		name:  "generating: who takes a note off is not looked at",
		edits: []edit{{"internal/interception/causes.go", `(k in new) != (k in old) || (k in new &&`, `(k in old && k in new &&`}},
		unit:  []string{"-run=TestCauseConditions", "./internal/interception"},
	},
	{
		name:  "generating: what is read in no namespace concerns nobody",
		edits: []edit{{"internal/interception/causes.go", `"/" + name, "/"].exists`, `"/" + name].exists`}},
		unit:  []string{"-run=TestCauseConditions", "./internal/interception"},
	},
	{
		name:  "record: what waits is written before its time",
		edits: []edit{{"internal/record/queue.go", "left > 0 {", "left > 0 && false {"}},
		unit:  []string{"-run=TestQueueTakesWhatIsDue", "./internal/record"},
	},
	{
		name:  "generating: what was left to another policy is left for good",
		edits: []edit{{"internal/controller/generating/book.go", "marks != nil && marks.Policy.Name != policy {", "marks == nil && policy == id.Name {"}},
		unit:  []string{"./internal/controller/generating"},
	},
	{
		name:  "generating: the operator writes as itself",
		edits: []edit{{"internal/controller/generating/writer.go", "\tconfig.Impersonate = rest.ImpersonationConfig{UserName: account}\n", "\tconfig.Impersonate = rest.ImpersonationConfig{}\n"}},
		unit:  []string{"./test/integration", "-ginkgo.focus=" + "writes as its service account"},
	},
	{
		name:  "generating: triggers are read whatever the account may",
		edits: []edit{{"internal/controller/generating/trigger.go", "\tif err := l.rights.requireRead(ctx, l.of.account, trigger.Resource.GroupResource(), id.Namespace, id.Name); err != nil {\n\t\treturn nil, err\n\t}\n", ""}},
		unit:  []string{"./test/integration", "-ginkgo.focus=" + "writes as its service account"},
	},
	{
		name:  "generating: sources are read whatever the account may",
		edits: []edit{{"internal/controller/generating/snapshot.go", "\tif err := s.rights.requireRead(s.ctx, s.of.account, of.GroupResource(), namespace, name); err != nil {\n\t\treturn r, err\n\t}\n", ""}},
		unit:  []string{"./test/integration", "-ginkgo.focus=" + "reads nothing for a service account"},
	},
	{
		name:  "generating: anybody may use any service account",
		edits: []edit{{"internal/webhook/v1alpha1/generatingpolicy_webhook.go", "\tif review.Status.Allowed {", "\tif review.Status.Allowed || true {"}},
		unit:  []string{"./test/integration", "-ginkgo.focus=" + "is refused where it cannot work"},
	},
	{
		name: "convert: a policy of a namespace is about all namespaces",
		edits: []edit{{"internal/cli/convert/namespaced.go", "labels[corev1.LabelMetadataName] = c.namespace",
			"delete(labels, corev1.LabelMetadataName)"}},
		unit: []string{"-run=TestConvert", "./internal/cli/convert"},
	},
	{
		name:  "convert: a policy of a namespace is about what is in none",
		edits: []edit{{"internal/cli/convert/namespaced.go", `limited["scope"] = scopeNamespaced`, `limited["scope"] = rule["scope"]`}},
		unit:  []string{"-run=TestConvert", "./internal/cli/convert"},
	},
	{
		name:  "convert: a policy of a namespace may name another one",
		edits: []edit{{"internal/cli/convert/expression.go", "c.unusable[path] = true", "delete(c.unusable, path)"}},
		unit:  []string{"-run=TestConvert", "./internal/cli/convert"},
	},
	{
		name:  "convert: a policy that would be refused is written",
		edits: []edit{{"internal/cli/convert/generating.go", "len(c.unusable) > 0", "false"}},
		unit:  []string{"-run=TestConvert", "./internal/cli/convert"},
	},
	{
		name:  "policy check: an evaluation that fails passes where nothing is said of it",
		edits: []edit{{"internal/cli/check/trigger.go", "if o.reason != e.Reason {", `if o.reason != e.Reason && e.Reason != "" {`}},
		unit:  []string{"-run=TestRun", "./internal/cli/check"},
	},
	{
		name:  "upgrade: a graph that says the same is another one",
		edits: []edit{{"internal/upgrade/allowance.go", "return known.Digest == by.Digest", "return known.Revision == by.Revision"}},
		unit:  []string{"-run=TestAskAboutGraphs", "./internal/upgrade"},
	},
	{
		name:  "upgrade: a graph that was there is new",
		edits: []edit{{"internal/upgrade/allowance.go", "return by.Created.Before(a.AcceptedAt)", "return false"}},
		unit:  []string{"-run=TestAskAboutGraphs", "./internal/upgrade"},
	},
	{
		name:  "upgrade: what is declared of a controller is of its graphs",
		edits: []edit{{"internal/upgrade/answer.go", "return a.Declared && trigger == v1alpha1.UpgradeOfController", "return a.Declared"}},
		unit:  []string{"-run=TestDeclaredIsOfControllers", "./internal/upgrade"},
	},
	{
		name:  "upgrade: an instance is of the graph that its label names",
		edits: []edit{{"internal/identity/graphs.go", "serving == nil || !isOf(serving, r.Parent)", "serving == nil"}},
		unit:  []string{"-run=TestGraphs", "./internal/identity"},
	},
	{
		name:  "upgrade: an instance is made from a graph that comes later",
		edits: []edit{{"internal/graphrevision/graphrevision.go", " || !at.IsZero() && revision.CreationTimestamp.After(at)", ""}},
		unit:  []string{"-run=TestServed", "./internal/graphrevision"},
	},
	{
		name: "upgrade: an older Pod takes its turn",
		edits: []edit{{
			"internal/upgrade/version.go", "known.PodCreated != nil && by.PodCreated.Before(known.PodCreated.Time)", "known.PodCreated == nil",
		}},
		unit: []string{"-run=TestAsk|TestNothingFlaps", "./internal/upgrade"},
	},
	{
		name:  "upgrade: a Pod of the same second takes its turn",
		edits: []edit{{"internal/upgrade/version.go", "known.PodCreated != nil && by.PodCreated.Equal(known.PodCreated.Time)", "false"}},
		unit:  []string{"-run=TestAsk|TestNothingFlaps", "./internal/upgrade"},
	},
	{
		name:  "upgrade: one goes through for ever",
		edits: []edit{{"internal/upgrade/answer.go", "	case !IsMoving(&known):\n", "	case false:\n"}},
		unit:  []string{"-run=TestAsk", "./internal/upgrade"},
	},
	{
		name:  "upgrade: what a stranger changed goes along",
		edits: []edit{{"internal/decision/upgrade.go", "!in.Parent.isWithheld()", "true"}},
		unit:  []string{"-run=TestUpgrade", "./internal/decision"},
	},
	{
		name:  "upgrade: nobody remembers it",
		edits: []edit{{"internal/webhook/admission/upgrade.go", "if r.dryRun || verdict.Upgrade == nil {", "if true {"}},
		unit:  []string{"-run=TestUpgradeOfAController", admissionTests},
	},
	{
		name:  "upgrade: labels of a Composition are one",
		edits: []edit{{"internal/upgrade/allowance.go", `known.Digest != "" && by.Digest != ""`, "false"}},
		unit:  []string{"-run=TestAskAboutRevisions", "./internal/upgrade"},
	},
	{
		name:  "upgrade: a parent forgets from what it was made",
		edits: []edit{{"internal/webhook/admission/validate.go", "	v.keepLeft(ctx, r, f)\n", ""}},
		unit:  []string{"-run=TestUpgradeOfARevision", admissionTests},
	},
	{
		name:  "upgrade: back to the first revision is none",
		edits: []edit{{"internal/upgrade/answer.go", `known != nil && (known.AlsoRevision != old.Revision || saysTheSame(known, old))`, "known != nil"}},
		unit:  []string{"-run=TestLeaves", "./internal/upgrade"},
	},
	{
		name:  "upgrade: back from what was in vain is one",
		edits: []edit{{"internal/upgrade/answer.go", "known.AlsoRevision != old.Revision || ", ""}},
		ways:  []string{"choosing a composition, and taking that back, while an upgrade waits"},
		cloud: true,
		unit:  []string{"-run=TestRevisionInVain|TestLeaves", admissionTests, "./internal/upgrade"},
	},
	{
		name:  "upgrade: nobody notes what else made something",
		edits: []edit{{"internal/upgrade/answer.go", "known != nil && !isAlso(known, v):", "known != nil:"}},
		unit:  []string{"-run=TestRevisionInVain|TestRememberWhatElse", admissionTests, "./internal/upgrade"},
	},
	{
		name:  "upgrade: what is withheld has made something",
		edits: []edit{{"internal/webhook/admission/upgrade.go", "	if !ok || !f.MayUpgrade() {\n", "	if !ok {\n"}},
		unit:  []string{"-run=TestMadeAlso", admissionTests},
	},
	{
		name:  "upgrade: a withheld choice is remembered where nothing is",
		edits: []edit{{"internal/upgrade/answer.go", "(!chosen || len(memory) >= maxVersions)", "len(memory) >= maxVersions"}},
		unit:  []string{"-run=TestLeaves", "./internal/upgrade"},
	},
	{
		name:  "upgrade: the number of a CompositionRevision counts",
		edits: []edit{{"internal/composition/revisions.go", `	delete(spec, "revision")` + "\n", ""}},
		unit:  []string{"-run=TestDigest", "./internal/composition"},
	},
	{
		name:  "upgrade: claims are composed",
		edits: []edit{{"internal/composition/revisions.go", "obj == nil || !r.kinds().HasCategory(obj.GroupVersionKind().GroupKind(), lineage.CategoryComposite)", `obj == nil || lineage.CategoryComposite == ""`}},
		unit:  []string{"-run=TestCompositions", "./internal/composition"},
	},
	{
		name:  "upgrade: any revision of a Function counts",
		edits: []edit{{"internal/composition/functions.go", "	return state == active\n", `	return state != ""` + "\n"}},
		unit:  []string{"-run=TestFunctions|TestRunning", "./internal/composition"},
	},
	{
		name:  "upgrade: an UpgradeAllowance is about all triggers",
		edits: []edit{{"internal/webhook/admission/upgrade.go", "if a.Has(by.About()) {", "if true {"}},
		unit:  []string{"-run=TestUpgradeOfARevision", admissionTests},
	},
	{
		name:  "upgrade: what waits is woken again and again",
		edits: []edit{{"internal/controller/holder/blocked.go", "!slices.Contains(b.Upgrades, id) && !slices.Contains(d.Upgrades, id)", "true"}},
		unit:  []string{"-run=TestAnswerToUpgrades", "./internal/controller/holder"},
	},
	{
		name:  "gates: what was lost outside is created again",
		edits: []edit{{"internal/gate/crossplane/needed.go", "s.create == createNone && !known(s.ready) && !known(s.async)", "!known(s.async)"}},
		unit:  []string{"-run=TestIsUncreated", "./internal/gate/crossplane"},
	},
	{
		name:  "gates: what is withheld of what a parent reads creates outside",
		edits: []edit{{"internal/decision/creating.go", "if !in.Uncreated || isWithheldOf(in.Referents) {", "if !in.Uncreated {"}},
		unit:  []string{"-run=TestCreating", "./internal/decision"},
	},
	{
		name:  "glass: what it deletes outside is told to nobody",
		edits: []edit{{"internal/webhook/admission/decide.go", "	verdict = f.byBrokenGlass(ctx, verdict)\n", ""}},
		unit:  []string{"-run=TestGlassIsBrokenForWhatIsOutside", admissionTests},
	},
	{
		name:  "records: each field of a write has an entry, and one write drives all else out",
		edits: []edit{{"internal/record/history.go", "	history = folded(history)\n", ""}},
		unit:  []string{"-run=TestOneWriteOfManyFields", "./internal/record"},
	},
	{
		name:  "records: the end of fields that share an entry is told of all of them at once",
		edits: []edit{{"internal/record/fold.go", "	if !IsFolded(e) || len(e.Trace) == 0 {", "	if true {"}},
		unit:  []string{"-run=TestOneWriteOfManyFields", "./internal/record"},
	},
	{
		name:  "trace: of fields that share an entry it follows one",
		edits: []edit{{"internal/cli/trace/links.go", "	if !record.IsFolded(&e) || last < 0 {", "	if true {"}},
		unit:  []string{"-run=TestLately", "./internal/cli/trace"},
	},
	{
		name:  "no room: of a child that annotations have no room for nobody is told",
		edits: []edit{{"internal/webhook/admission/noroom.go", "		m.tellNoRoom(r, ru, why)\n", ""}},
		unit:  []string{"-run=TestNoRoomForAnnotationsOfAChild", admissionTests},
	},
	{
		name:  "answers: what came before a denial was known answers nothing",
		edits: []edit{{"internal/controller/holder/blocked.go", "denial.Answered(status.History, status.LastDenial) ||", "denial.Answered(nil, status.LastDenial) ||"}},
		unit:  []string{"-run=TestAnswer$", "./internal/controller/holder"},
	},
	{
		name:  "answers: what was denied waits although it has passed",
		edits: []edit{{"internal/controller/holder/blocked.go", "if waiting && !isPassed(status) && !now", "if waiting && !now"}},
		unit:  []string{"-run=TestAnswer$", "./internal/controller/holder"},
	},
	{
		name:  "upgrade: what waits is not woken",
		edits: []edit{{"internal/controller/holder/blocked.go", "waiting && !isPassed(status) && !now.writtenHelps(b) && (!now.unwrittenHelps(status) || !conditions.ShowsBlocked(v.obj))", "waiting && !now.writtenHelps(b) && !(conditions.ShowsBlocked(v.obj) && false)"}},
		unit:  []string{"-run=TestAnswerToUpgrades", "./internal/controller/holder"},
	},
	{
		name:  "upgrade: what does not help wakes without end",
		edits: []edit{{"internal/controller/holder/blocked.go", "!slices.Contains(d.Upgrades, id) && mayWake(status, a) &&", "!slices.Contains(d.Upgrades, id) && (mayWake(status, a) || true) &&"}},
		unit:  []string{"-run=TestWakesEnd", "./internal/controller/holder"},
	},
	{
		name:  "upgrade: what is withheld wakes as if it were not",
		edits: []edit{{"internal/controller/holder/blocked.go", "if d == nil || s.helpless {", "if d == nil || s.helpless && false {"}},
		unit:  []string{"-run=TestWakesEnd|TestHelpsWhenTheWayIsFree", "./internal/controller/holder"},
	},
	{
		name:  "upgrade: a denial for another reason names nobody",
		edits: []edit{{"internal/webhook/admission/decide.go", "		g.gatherHelpless(ctx, r, f, verdict)\n", ""}},
		unit:  []string{"-run=TestDenialWhileSomethingIsWithheld", admissionTests},
	},
	{
		name:  "upgrade: what was refused for another reason counts once that has gone",
		edits: []edit{{"internal/upgrade/blocked.go", "return d != nil && !d.NoUpgrade && d.User", "return d != nil && d.User"}},
		unit:  []string{"-run=TestIsBlocked", "./internal/controller/upgrade"},
	},
	{
		name:  "upgrade: what is not wanted any more counts",
		edits: []edit{{"internal/upgrade/blocked.go", "		d.Settled && slices", "		d.Settled && false && slices"}},
		unit:  []string{"-run=TestIsBlocked", "./internal/controller/upgrade"},
	},
	{
		name:  "upgrade: what waits is woken before it is shown",
		edits: []edit{{"internal/controller/holder/blocked.go", "(!now.unwrittenHelps(status) || !conditions.ShowsBlocked(v.obj))", "!(now.unwrittenHelps(status) || conditions.ShowsBlocked(v.obj) && false)"}},
		unit:  []string{"-run=TestAnswerToUpgrades", "./internal/controller/holder"},
	},
	{
		name:  "upgrade: only who was denied something last is woken",
		edits: []edit{{"internal/controller/holder/blocked.go", " || wasDenied(status, a))", ")"}},
		unit:  []string{"-run=TestAnswerToUpgrades", "./internal/controller/holder"},
	},
	{
		name:  "upgrade: what waits is woken before that is written",
		edits: []edit{{"internal/controller/holder/controller.go", "ends := before.Blocked != nil && after.Blocked == nil", "ends := false"}},
		unit:  []string{"-run=TestWokenOnce|TestDenialsAroundTheWake", "./internal/controller/holder"},
	},
	{
		name:  "upgrade: a denial that was answered is recorded late, and wakes once more",
		edits: []edit{{"internal/record/observe.go", "status.AnsweredDenials += b.shown", "status.AnsweredDenials += 0 * b.shown"}},
		unit:  []string{"-run=TestDenialsAroundTheWake", "./internal/controller/holder"},
	},
	{
		name:  "upgrade: a denial after the wake is answered by it",
		edits: []edit{{"internal/record/queue.go", "	case shown:\n", "	case shown || true:\n"}},
		unit:  []string{"-run=TestDenialsAroundTheWake", "./internal/controller/holder"},
	},
	{
		name:  "record: one that goes with its namespace is said to be deleted",
		edits: []edit{{"internal/controller/holder/lost.go", "		if rec == nil {\n			return", "		if rec == nil && false {\n			return"}},
		unit:  []string{"-run=TestRecover", "./internal/controller/holder"},
	},
	{
		name:  "bookkeeping: the revision of a Deployment has to be approved",
		edits: []edit{{"internal/knowledge/kind.go", "return len(path) == 3 && path.IsMetadata()", "return len(path) == 3 && !path.IsMetadata()"}},
		unit:  []string{"-run=TestOwnAnnotations", admissionTests},
	},
	{
		name:  "bookkeeping: anybody numbers the revisions of a Deployment",
		edits: []edit{{"internal/webhook/admission/gather.go", "len(f.Changes)+len(f.OwnChanges) == 0 || !f.Requester.IsController()", "len(f.Changes)+len(f.OwnChanges) == 0"}, {"internal/webhook/admission/gather.go", "keepsOwn, keepsMarks := policy.MayExercise", "keepsOwn, keepsMarks := true || policy.MayExercise"}},
		unit:  []string{"-run=TestOwnAnnotations", admissionTests},
	},
	{
		name:  "bookkeeping: any controller writes what a parent tells its children apart by",
		edits: []edit{{"internal/webhook/admission/gather.go", "return keepsMarks && isOwn(c)", "return (keepsMarks || true) && isOwn(c)"}},
		unit:  []string{"-run=TestMarksOfAParent", admissionTests},
	},
	{
		name:  "bookkeeping: a controller is refused its marks of its children",
		edits: []edit{{"internal/webhook/admission/gather.go", "return keepsMarks && isOwn(c)", "return keepsMarks && false"}},
		unit:  []string{"-run=TestMarksOfAParent", admissionTests},
	},
	{
		name:  "rollback: what a controller is told to replace has no cause",
		edits: []edit{{"internal/decision/chain.go", "if c, ok := in.commanded(s); ok {", "if c, ok := in.commanded(s); ok && false {"}},
		unit:  []string{"-run=TestObeys", "./internal/decision"},
	},
	{
		name:  "rollback: the cause is that of whatever the ledger has",
		edits: []edit{{"internal/decision/command.go", "e.Trace[len(e.Trace)-1].Field == field", "(e.Trace[len(e.Trace)-1].Field == field || field != \"\")"}},
		unit:  []string{"-run=TestObeys", "./internal/decision"},
	},
	{
		name:  "rollback: a command that waits has settled",
		edits: []edit{{"internal/lifecycle/deployment.go", "[appsv1.DeprecatedRollbackTo] != \"\" {", "[appsv1.DeprecatedRollbackTo] != \"\" && false {"}},
		unit:  []string{"-run=TestDeployment", "./internal/lifecycle"},
	},
	{
		name:  "why: what is withheld is told by the record alone",
		edits: []edit{{"internal/cli/why/find.go", "	r.Withheld = append([]Withheld{}, withheld(rec, with)...)\n", ""}},
		unit:  []string{"-run=TestWhyOfTheObject", "./internal/cli/why"},
	},
	{
		name:  "why: a wrong name is said to be in order",
		edits: []edit{{"internal/cli/why/find.go", "seen.missing != nil && report.isEmpty()", "seen.missing != nil && report.isEmpty() && false"}},
		unit:  []string{"-run=TestWhyOfWhatIsNotThere", "./internal/cli/why"},
	},
	{
		name:  "a path that is empty is none",
		edits: []edit{{"internal/cli/approve/approval.go", `	if slices.Contains(out, "") {`, `	if out = slices.DeleteFunc(out, func(path string) bool { return path == "" }); false {`}},
		unit:  []string{"-run=TestNoPathInFlags", "./internal/cli/approve"},
	},
	{
		name:  "approve: what was taken out of the request counts as approved",
		edits: []edit{{"internal/cli/approve/approval.go", "		if !taken {\n", "		if !taken && false {\n"}},
		unit:  []string{"-run=TestApprove", "./internal/cli/approve"},
	},
	{
		name:  "approve: the record is not asked what is withheld afterwards",
		edits: []edit{{"internal/cli/approve/approval.go", "			now, err := a.effective(ctx, a.after)\n", "			now, err := stored(a.after)\n"}},
		unit:  []string{"-run=TestApprove", "./internal/cli/approve"},
	},
	{
		name:  "trace: what needed no allowance is of unknown cause further up",
		edits: []edit{{"internal/cli/trace/build.go", "append(links, s.withoutChain(links, all)...)", "links"}},
		unit:  []string{"-run=TestTrace", "./internal/cli/trace"},
	},
	{
		name:  "cli: a policy of a kind that is not served counts",
		edits: []edit{{"internal/cli/cluster/policies.go", "c.isUnserved(p, stored) {", "c.isUnserved(p, stored) && false {"}},
		unit:  []string{"-run=TestIdlePolicies", "./internal/cli/cluster"},
	},
	{
		name:  "cli: what the status of a policy says of an older generation counts",
		edits: []edit{{"internal/cli/cluster/idle.go", "c == nil || c.ObservedGeneration != p.Generation", "c == nil"}},
		unit:  []string{"-run=TestIdlePolicies", "./internal/cli/cluster"},
	},
	{
		name:  "why: who may by a policy that does not select the object is named",
		edits: []edit{{"internal/cli/why/live.go", "	if at.obj != nil {\n		return decision.Approvers(", "	if at.obj != nil && false {\n		return decision.Approvers("}},
		unit:  []string{"-run=TestWhoOfAnObject", "./internal/cli/why"},
	},
	{
		name:  "why: it gives advice about what is gone",
		edits: []edit{{"internal/cli/why/find.go", "	if parent.gone || e.Reason", "	if parent.gone && false || e.Reason"}},
		unit:  []string{"-run=TestWhyOfConditionsAndOfWhatIsGone", "./internal/cli/why"},
	},
	{
		name:  "why: changes are offered while nothing allows it",
		edits: []edit{{"internal/cli/why/render.go", `!r.Held || remedy.Policy == ""`, "true"}},
		unit:  []string{"-run=TestWhy$", "./internal/cli/why"},
	},
	{
		name:  "approvals: a condition that another rule makes up for is named",
		edits: []edit{{"internal/decision/meets.go", "!isAnswered(change.Change{Path: path}, t, rules)", "len(rules) > 0"}},
		unit:  []string{"-run=TestNotMet", "./internal/decision"},
	},
	{
		name:  "explain: people are shown what only controllers may while nothing tells",
		edits: []edit{{"internal/cli/explain/build.go", "	h.Blind = h.Phase() == ", "	h.Blind = false && h.Phase() == "}},
		unit:  []string{"-run=TestUnrestrictedBlindly", "./internal/cli/explain"},
	},
	{
		name:  "kubectl: a Namespace is given a namespace",
		edits: []edit{{"internal/kubectl/command.go", `o.Group == "" && o.Kind == "Namespace"`, `o.Group == "" && o.Kind == ""`}},
		unit:  []string{"-run=TestAnnotate", "./internal/kubectl"},
	},
	{
		name:  "blocked: a person who is told no makes an object wait",
		edits: []edit{{"internal/webhook/admission/parents.go", "OneOff: !policy.Retries(r.requester, f.Parent.Policies, f.OwnPolicies)", "OneOff: !policy.Retries(r.requester, f.Parent.Policies, f.OwnPolicies) && false"}},
		unit:  []string{"-run=TestDenialSaysWhoWaits", admissionTests},
	},
	{
		name:  "blocked: what a person is denied waits for an answer",
		edits: []edit{{"internal/record/observe.go", "status.AnsweredDenials += b.oneOff", "status.AnsweredDenials += 0 * b.oneOff"}},
		unit:  []string{"-run=TestOutcomeOfPeople", "./internal/record"},
	},
	{
		name:  "blocked: a person who is told no is said to be who waits",
		edits: []edit{{"internal/record/observe.go", "b.lastDenial != nil && (!waits || b.lastWaits)", "b.lastDenial != nil && (!waits || b.lastWaits || true)"}},
		unit:  []string{"-run=TestOutcomeOfPeople", "./internal/record"},
	},
	{
		name:  "blocked: a policy that comes again brings back what waited before",
		edits: []edit{{"internal/controller/holder/leave.go", "status.Blocked, status.AnsweredDenials = nil, status.Denials", "status.Blocked = nil"}},
		unit:  []string{"-run=TestLeftForGood", "./internal/controller/holder"},
	},
	{
		name:  "upgrade: one that comes between two denials was asked about both",
		edits: []edit{{"internal/record/queue.go", "if before == nil || before.User != d.User {", "if before == nil || before.User != d.User || true {"}},
		unit:  []string{"-run=TestAskedAboutAll", "./internal/record"},
	},
	{
		name:  "upgrade: nobody hears that there is another one",
		edits: []edit{{"internal/upgrade/active.go", "	if !come {\n", "	if true || !come {\n"}},
		unit:  []string{"-run=TestOnCome", "./internal/upgrade"},
	},
	{
		name:  "kro: who changes a label may change anything, where there is no room",
		edits: []edit{{"internal/derive/draft/limits.go", "	if d.unbindMetadata(resource) {", "	if resource.Resource == \"\" && d.unbindMetadata(resource) {"}},
		unit:  []string{"-run=TestLabelsAllowNothingElse", "./internal/derive/kro"},
	},
	{
		name:  "kro: a trigger that reaches labels only allows anything, where there is no room",
		edits: []edit{{"internal/derive/draft/limits.go", "		return len(c.of) == 0\n", "		return false\n"}},
		unit:  []string{"-run=TestLabelsAllowNothingElse", "./internal/derive/kro"},
	},
	{
		name:  "kro: what nothing reaches is not named",
		edits: []edit{{"internal/derive/draft/sections.go", "	entries = append(entries, d.bounded(entries)...)\n", ""}},
		unit:  []string{"-run=TestBounded|TestFormer", "./internal/derive/kro"},
	},
	{
		name:  "kro: what a graph has no more is not named",
		edits: []edit{{"internal/derive/kro/derive.go", "		b.Former(resource)\n", "		_ = resource\n"}},
		unit:  []string{"-run=TestFormer", "./internal/derive/kro"},
	},
	{
		name:  "kro: what other revisions have is forgotten",
		edits: []edit{{"internal/controller/kro/former.go", "range revised(served.Name, revisions) {", "range revised(\"\", revisions) {"}},
		unit:  []string{"-run=TestFormer", "./internal/controller/kro"},
	},
	{
		name:  "kro: what the policy named so far is forgotten",
		edits: []edit{{"internal/controller/kro/former.go", "	if there == nil {\n", "	if true || there == nil {\n"}},
		unit:  []string{"-run=TestFormer", "./internal/controller/kro"},
	},
	{
		name:  "kro: texts of a Secret are bounded where nothing is stored",
		edits: []edit{{"internal/derive/kro/stored.go", "	if n.kind.Group != corev1.GroupName ||", "	if true || n.kind.Group != corev1.GroupName ||"}},
		unit:  []string{"-run=TestDerive", "./internal/derive/kro"},
	},
	{
		name:  "derive: what variables of a GeneratingPolicy read does not count",
		edits: []edit{{"internal/derive/generating/follow.go", "variables.Fields[v.Name] = of", "variables.Fields[v.Name] = &flow.Value{Fields: of.Fields, Item: of.Item}"}},
		unit:  []string{"-run=TestSound", "./internal/derive/generating", "-rapid.nofailfile"},
	},
	{
		name:  "derive: what decides on whether a GeneratingPolicy makes something does not count",
		edits: []edit{{"internal/derive/generating/made.go", "slices.Concat(a.under, a.namespace.All(), ", "slices.Concat(a.namespace.All(), "}},
		unit:  []string{"-run=TestSound", "./internal/derive/generating", "-rapid.nofailfile"},
	},
	{
		name:  "derive: an item of a list is known by its index",
		edits: []edit{{"internal/derive/generating/place.go", "	path := fixed(ref.Path)\n", "	path := ref.Path\n"}},
		unit:  []string{"-run=TestTriggers", "./internal/derive/generating"},
	},
	{
		name:  "upgrade: each replica remembers for itself",
		edits: []edit{{"internal/record/store.go", "		read = s.stored // whatever fails below fails because the cache is behind\n", ""}},
		unit:  []string{"-run=TestReplicasRememberOneUpgrade", "./internal/record"},
	},
	{
		name:  "upgrade: one for other parents was asked",
		edits: []edit{{"internal/webhook/admission/upgrade.go", "		if a.selects {\n", "		if a.selects || true {\n"}},
		unit:  []string{"-run=TestDenialIsOfThoseThatSelect", admissionTests},
	},
	{
		name:  "upgrade: nobody in a namespace hears that it is relabelled",
		edits: []edit{{"internal/controller/holder/sources.go", "if maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()) {", "if true {"}},
		unit:  []string{"-run=TestNamespaceSource", "./internal/controller/holder"},
	},
	{
		name:  "upgrade: what is not shown for a while is forgotten",
		edits: []edit{{"internal/controller/holder/show.go", "		next.At(until)\n", "		_ = until\n"}},
		unit:  []string{"-run=TestShownWhenALoopIsForgotten", "./internal/controller/holder"},
	},
	{
		name:  "upgrade: each denial reads for itself",
		edits: []edit{{"internal/sharedread/sharedread.go", "	if goesOn {\n", "	if goesOn && false {\n"}},
		unit:  []string{"-run=TestNothingIsOlderThanTheQuestion", "./internal/sharedread"},
	},
	{
		name:  "upgrade: who shows a certificate has a token",
		edits: []edit{{"internal/identity/identity.go", "strings.HasPrefix(credential, certificateID)", "strings.HasPrefix(credential, certificateID) && false"}},
		unit:  []string{"-run=TestOf", "./internal/identity"},
	},
	{
		name:  "upgrade: one that is made again under its name was asked",
		edits: []edit{{"internal/upgrade/allowance.go", "a.Name, a.Generation, a.UID)", "a.Name, a.Generation, \"\")"}},
		unit:  []string{"-run=TestAnswerToUpgrades", "./internal/controller/holder"},
	},
	{
		name:  "upgrade: what the old version was refused is suggested",
		edits: []edit{{"internal/cli/upgrade/refused.go", "		return len(by) == 0\n", "		return false\n"}},
		unit:  []string{"-run=TestSuggestForVersions", "./internal/cli/upgrade"},
	},
	{
		name:  "upgrade: what a version was refused that runs no more is suggested",
		edits: []edit{{"internal/cli/upgrade/refused.go", "by.Version != newest && by.Standing", "by.Version != newest && false && by.Standing"}},
		unit:  []string{"-run=TestSuggestForVersions", "./internal/cli/upgrade"},
	},
	{
		name:  "upgrade: a denial does not say what it comes from",
		edits: []edit{{"internal/webhook/admission/parents.go", "f.askedUpgrades(), f.standings()", "f.askedUpgrades(), f.standings()[:0]"}},
		unit:  []string{"-run=TestDenialSaysWhatWasAsked", admissionTests},
	},
	{
		name: "upgrade: what an older version is denied blocks it",
		edits: []edit{
			{"internal/upgrade/blocked.go", "	default:\n		return false\n	}\n}\n\n// mayBeRest", "	default:\n		return true\n	}\n}\n\n// mayBeRest"},
		},
		unit: []string{"-run=TestIsBlocked", "./internal/controller/upgrade"},
	},
	{
		name:  "upgrade: what is older by now blocks it",
		edits: []edit{{"internal/upgrade/blocked.go", " && !isOlderNow(status.Versions, d.User, by) &&", " &&"}},
		unit:  []string{"-run=TestIsBlocked", "./internal/controller/upgrade"},
	},
	{
		name:  "upgrade: what has nothing to do with it blocks it",
		edits: []edit{{"internal/upgrade/blocked.go", "return upgraded && a.mayBeRest(status, d)", "return upgraded"}},
		unit:  []string{"-run=TestIsBlocked", "./internal/controller/upgrade"},
	},
	{
		name:  "upgrade: what passed since blocks it",
		edits: []edit{{"internal/upgrade/blocked.go", " || denial.Passed(status.History, d) ||", " || false && denial.Passed(status.History, d) ||"}},
		unit:  []string{"-run=TestIsBlocked", "./internal/controller/upgrade"},
	},
	{
		name:  "explain: an UpgradeAllowance is about all parents",
		edits: []edit{{"internal/cli/explain/upgrades.go", "return !u.Allowance.Selects(self.Labels, self.NamespaceLabels)", "return !u.Allowance.Selects(self.Labels, self.NamespaceLabels) && false"}},
		unit:  []string{"-run=TestUpgradesOfAnObject", "./internal/cli/explain"},
	},
	{
		name:  "upgrade: a stamp is what a request says",
		edits: []edit{{"internal/upgrade/stamp.go", "	out[v1alpha1.AnnotationChangedBy], out[v1alpha1.AnnotationChangedSpec] = user, now\n", ""}},
		unit:  []string{"-run=TestStamp", "./internal/upgrade"},
	},
	{
		name:  "anybody heals",
		edits: []edit{{judge, "	default:\n		return in.AncestorInitiator || in.MayExercise()", "	default:\n		return true"}},
		ways:  []string{"deleting a grandchild", "a service account of the same name elsewhere"},
	},
	{
		name:  "match conditions look at everything",
		edits: []edit{{"internal/interception/conditions.go", "const many = 1000", "const many = 1_000_000"}},
		ways:  []string{"hiding a change in a large object"},
		// The API server takes no object that is large enough.
		unit: []string{"-run=TestConditionsHaveABound", "./internal/interception"},
	},
	{
		name: "only named versions are judged",
		edits: []edit{{
			webhooks,
			"MatchPolicy:       ptr.To(admissionregistrationv1.Equivalent),\n			NamespaceSelector: p.scope,\n			ObjectSelector:    &metav1.LabelSelector{},\n			// It writes AllowanceRecords",
			"MatchPolicy:       ptr.To(admissionregistrationv1.Exact),\n			NamespaceSelector: p.scope,\n			ObjectSelector:    &metav1.LabelSelector{},\n			// It writes AllowanceRecords",
		}},
		ways: []string{
			"writing through another version of the kind", "writing through a version that a webhook converts",
			"hiding a field in what a webhook converts",
		},
	},
	{
		name: "policies name versions as they like",
		edits: []edit{
			{"internal/policy/versions.go", "if s, ok := stands[gvk.GroupKind()]; ok && s.Stands != gvk.Version {", "if s, ok := stands[gvk.GroupKind()]; ok && s.Stands == \"\" {"},
		},
		ways: []string{"adding a policy for another version of the kind", "adding a policy that bounds another version of the kind"},
	},
	{
		name: "who is older takes the place of who is in effect",
		edits: []edit{
			{"internal/policy/versions.go", "cmp.Or(cmp.Compare(rank(a), rank(b)), ByAge(a, b))", "cmp.Or(ByAge(a, b), cmp.Compare(rank(a), rank(b)))"},
		},
		unit: []string{"-run=TestClashes", "./internal/policy"},
	},
	{
		name:  "empty values are as good as absent",
		edits: []edit{{gather, "return !clientgoscheme.Scheme.Recognizes(kind) && f.KeepsBooks()", "return true || !clientgoscheme.Scheme.Recognizes(kind) && f.KeepsBooks()"}},
		ways:  []string{"opening a NetworkPolicy with an empty selector", "adding an empty securityContext to a template"},
	},
	{
		name:  "taking the owner away does not count",
		edits: []edit{{"internal/lineage/changes.go", "		case at < 0 && counts:", "		case at < 0 && len(after) > 0 && counts:"}},
		ways:  []string{"taking the owner of a child away"},
	},
	{
		name:  "labels name no parent",
		edits: []edit{{"internal/lineage/lineage.go", "	labeled{},\n", ""}},
		ways: []string{
			"changing a child that labels name, in another namespace", "taking the labels off a child that name its parent",
			"giving a child to an instance of one's own by its labels", "giving somebody's instance a child by its labels",
		},
	},
	{
		name:  "what the maintaining section alone names is not bounded",
		edits: []edit{{"internal/policy/policy.go", "		show(inSteady, m.Entry)\n", "		_ = m\n"}},
		ways:  []string{"changing, or deleting, a child that nothing of its instance reaches"},
	},
	{
		name:  "labels name a parent of any kind",
		edits: []edit{{"internal/lineage/labeled.go", "!kinds.HasCategory(kind.GroupKind(), naming.Category)", "naming.Category == \"\""}},
		ways:  []string{"naming a parent by labels that is none of kro's"},
	},
	{
		name:  "labels name a parent by its name",
		edits: []edit{{"internal/ancestry/ancestry.go", "	if ref.IsByName() || ref.UID == \"\" {", "	if ref.Mutual || ref.UID == \"\" || ref.Category != \"\" {"}, {"internal/lineage/labeled.go", "	if naming == nil {", "	if naming != nil {"}},
		ways:  []string{"naming the parent of a child otherwise by its labels", "having a child not found by its labels when it is deleted"},
	},
	{
		name:  "kro takes anything",
		edits: []edit{{"internal/webhook/admission/strays.go", "		p.taken = r.takes(ref)\n", "		_ = r.takes\n"}},
		ways:  []string{"having kro take somebody's object for an instance of one's own"},
	},
	{
		name:  "controllers let go of what they select",
		edits: []edit{{gather, "case uid == f.Parent.UID && lineage.Forsakes(", "case uid == \"\" && lineage.Forsakes("}},
		ways:  []string{"taking the owner of a child away as its controller"},
	},
	{
		name:  "controllers name themselves otherwise in what they select",
		edits: []edit{{gather, "case uid == f.Parent.UID && lineage.Forsakes(", "case uid == f.Parent.UID && c.Verb == change.Delete && lineage.Forsakes("}},
		ways:  []string{"naming the owner of a child otherwise as its controller"},
	},
	{
		name:  "controllers relabel what they select",
		edits: []edit{{judge, "	case !in.AncestorInitiator && !in.IsStray() && ", "	case false && "}},
		ways:  []string{"relabeling a child as its controller, to let go of it then"},
	},
	{
		name:  "only the UID of an owner counts",
		edits: []edit{{"internal/lineage/changes.go", "		if field.differs {", "		if false && field.differs {"}},
		ways: []string{
			"naming the owner of a child otherwise", "naming the owner of a child as of another kind", "making the owner of a child control it no more",
		},
	},
	{
		name:  "an owner of a kind that is not served is taken to be there",
		edits: []edit{{"internal/webhook/admission/unserved.go", "		if g.Unserved.Lacks(ctx, ref.GVK) {", "		if false {"}},
		unit:  []string{admissionTests, "-run=TestUnservedOwners"},
	},
	{
		name:  "an owner that is known is not named again",
		edits: []edit{{"internal/lineage/changes.go", "		if another || !known &&", "		if another && false || !known &&"}},
		ways:  []string{"naming the owner of a child a second time, otherwise"},
	},
	{
		name:  "all versions of an owner are served",
		edits: []edit{{"internal/webhook/admission/parents.go", "	return served\n}", "	return served || true\n}"}},
		ways:  []string{"naming the owner of a child in a version that nobody serves"},
	},
	{
		name:  "what is not stored counts",
		edits: []edit{{"internal/webhook/admission/storing.go", "if !dropped {", "if dropped || !dropped {"}},
		unit:  []string{"./internal/webhook/admission", "-run=TestUnstoredFields$"},
	},
	{
		name:  "whoever comes first adopts",
		edits: []edit{{"internal/webhook/admission/strays.go", "slices.ContainsFunc(lineage.Parents(index, r.old), ref.SameParent)", "hadBefore && before.SameParent(ref)"}},
		ways:  []string{"putting another owner of a child first"},
	},
	{
		name:  "anybody puts owners in any order",
		edits: []edit{{"internal/webhook/admission/parents.go", "f.behind == nil || f.Requester.IsComponent()", "f.behind == nil || !f.Requester.IsComponent()"}},
		ways:  []string{"putting another owner of a child first"},
	},
	{
		name:  "owners that no policy is about are nobody's business",
		edits: []edit{{"internal/webhook/admission/parents.go", "	c.Added = !f.isAdopted()\n", "	c.Added = false\n"}},
		ways:  []string{"giving a child another owner besides that no policy is about"},
	},
	{
		name:  "who names a parent a second time otherwise keeps it",
		edits: []edit{{"internal/lineage/leaving.go", "		return misnames(updated, parent)", "		return false && misnames(updated, parent)"}},
		unit:  []string{"-run=TestLeaves", "./internal/lineage"},
	},
	{
		name:  "owners are known by what they are called",
		edits: []edit{{"internal/ancestry/ancestry.go", "	if ref.IsByName() || ref.UID == \"\" {", "	if ref.Mutual || ref.UID != \"none\" {"}},
		ways:  []string{"creating a child that names its owner otherwise"},
	},
	{
		name:  "the first owner bounds alone",
		edits: []edit{{"internal/ancestry/ancestry.go", "	for _, ref := range refs {\n		located, ok", "	for _, ref := range refs[:min(1, len(refs))] {\n		located, ok"}},
		ways:  []string{"creating a child behind an owner that nobody governs"},
	},
	{
		name:  "the first parent bounds alone",
		edits: []edit{{"internal/webhook/admission/parents.go", "	if named < 2 && !adopted {", "	if named < 200 && !adopted {"}},
		ways:  []string{"creating a child behind an owner of one's own that has a policy"},
	},
	{
		name:  "anybody joins parents",
		edits: []edit{{"internal/webhook/admission/parents.go", "	if f.Adoption == nil || f.ParentState", "	if true || f.Adoption == nil || f.ParentState"}},
		ways:  []string{"giving a child another owner besides"},
	},
	{
		name:  "controllers share what they select",
		edits: []edit{{"internal/webhook/admission/parents.go", "	shares := ref.Controller || ", "	shares := true || ref.Controller || "}},
		unit:  []string{"-run=TestTwoParents|TestJoiningParent", admissionTests},
	},
	{
		name:  "a parent that bounds nothing hides an adoption",
		edits: []edit{{"internal/webhook/admission/strays.go", "adopter.boundsKind(r.gvk.GroupKind()) && ", "false && "}},
		unit:  []string{"-run=TestAdoptionBehindParent", admissionTests},
	},
	{
		name:  "who comes along with an adopter is not asked",
		edits: []edit{{"internal/webhook/admission/parents.go", "	if adopted {", "	if false && adopted {"}},
		unit:  []string{"-run=TestAdoptionAlongWithOthers", admissionTests},
	},
	{
		name:  "who joins is hidden by another",
		edits: []edit{{"internal/webhook/admission/parents.go", "slices.IndexFunc(joined, bounds)", "slices.IndexFunc(joined[:0], bounds)"}},
		unit:  []string{"-run=TestAdoptionAlongWithOthers", admissionTests},
	},
	{
		name:  "what is begun while a policy comes stays withheld",
		edits: []edit{{"internal/controller/policy/controller.go", "r.arrive(ctx, known.Entry)", "time.Duration(0), error(nil)"}},
		unit:  []string{"./test/integration", "-ginkgo.focus=" + "adopt what was begun after they had looked"},
	},
	{
		name:  "what the cache shows late stays withheld",
		edits: []edit{{"internal/controller/policy/arrival.go", "	last := !to.looked.IsZero()", "	last := true"}},
		unit:  []string{"-run=TestArrive", "./internal/controller/policy"},
	},
	{
		name:  "what is begun when everybody is asked is adopted",
		edits: []edit{{"internal/controller/policy/arrival.go", " || !changed.Within(untilHeard, asked)", ""}},
		unit:  []string{"-run=TestAdoptLate", "./internal/controller/policy"},
	},
	{
		name:  "what the API server had not heard of is denied for ever",
		edits: []edit{{"internal/controller/policy/arrival.go", "!changed.Within(untilHeard, asked)", "!changed.Before(asked)"}},
		unit:  []string{"-run=TestAdoptLate", "./internal/controller/policy"},
	},
	{
		name:  "a policy that is compiled anew has arrived",
		edits: []edit{{"internal/controller/policy/arrival.go", "return a.UID == b.UID && a.Generation == b.Generation", "return a == b"}},
		unit:  []string{"-run=TestArrive", "./internal/controller/policy"},
	},
	{
		name:  "what was judged is adopted once its ledger is used up",
		edits: []edit{{"internal/controller/policy/arrival.go", "rec != nil && rec.Spec.LedgerKnown", "rec == nil && err != nil"}},
		unit:  []string{"-run=TestAdoptLate", "./internal/controller/policy"},
	},
	{
		name:  "what another replica has judged is adopted by the one that leads next",
		edits: []edit{{"internal/controller/holder/signoflife.go", "case rec.Spec.CreationJudged:", "case rec == nil:"}},
		unit:  []string{"-run=TestIsUnjudged", "./internal/controller/holder"},
	},
	{
		name:  "what has finished for good counts as carried out",
		edits: []edit{{"internal/controller/holder/carriedout.go", "len(proven) == 0 || lifecycle.IsOver(v.obj, v.policies)", "len(proven) == 0"}},
		unit:  []string{"-run=TestTellCarriedOut", "./internal/controller/holder"},
	},
	{
		name:  "nobody is told that the value written stays withheld",
		edits: []edit{{"internal/webhook/admission/waiting.go", "if len(held) == 0 {\n\t\treturn nil\n\t}\n\treturn []string{fmt.Sprintf(\"kausality: \"+decision.StaysWithheld", "if len(held) >= 0 {\n\t\treturn nil\n\t}\n\treturn []string{fmt.Sprintf(\"kausality: \"+decision.StaysWithheld"}},
		unit:  []string{"-run=TestValidate$", admissionTests},
	},
	{
		name:  "everybody is told that the value written stays withheld",
		edits: []edit{{"internal/webhook/admission/waiting.go", "return !decision.MayApprove(f.OwnPolicies, f.Requester, a.Mutation)", "return false"}},
		unit:  []string{"-run=TestValidate$", admissionTests},
	},
	{
		name:  "nobody asks about a write that leaves something withheld",
		edits: []edit{{"internal/interception/withheld.go", `if who == "" {`, `if who != "" {`}},
		unit:  []string{"-run=TestLeavesWithheld", "./internal/interception"},
	},
	{
		name:  "controllers are asked about where something is withheld",
		edits: []edit{{"internal/interception/withheld.go", "case !s.MayInitiate:", `case s.Name == "":`}},
		unit:  []string{"-run=TestLeavesWithheld", "./internal/interception"},
	},
	{
		name:  "a change that waits for another one is said to go on",
		edits: []edit{{"internal/cli/can/ask.go", "case len(r.Granted) > 0 && len(r.Held) > 0:", "case len(r.Granted) > 0 && len(r.Held) > 9:"}},
		unit:  []string{"-run=TestCompare", "./internal/cli/can"},
	},
	{
		name:  "a child that is gone has to be deleted",
		edits: []edit{{"internal/cli/why/strays.go", "strays = slices.DeleteFunc(strays, with.isGone)", "_ = with.isGone"}},
		unit:  []string{"-run=TestGoneStrays", "./internal/cli/why"},
	},
	{
		name:  "what was taken back counts as carried out",
		edits: []edit{{"internal/controller/holder/carriedout.go", " || !standing.Differs(path) {", " || standing == nil {"}},
		unit:  []string{"-run=TestTellCarriedOut", "./internal/controller/holder"},
	},
	{
		name:  "commands go by policies while everything is switched off",
		edits: []edit{{"internal/cli/cluster/off.go", "enforced.Reason != v1alpha1.ReasonSwitchedOff", "enforced.Reason != v1alpha1.ReasonPending"}},
		unit:  []string{"-run=Off", "./internal/cli/cluster", "./internal/cli/explain", "./internal/cli/why", "./internal/cli/trace"},
	},
	{
		name: "a creation counts as judged before its grants are written",
		edits: []edit{{
			"internal/record/lost.go", "	for _, p := range pending {",
			"	if first := newRecord(ref, parent, s.operatorNamespace); len(pending) > 0 {\n		first.Spec.CreationJudged = true\n" +
				"		if err := s.keep(ctx, first, nil); err != nil {\n			return err\n		}\n	}\n	for _, p := range pending {",
		}},
		unit: []string{"-run=TestEndedMidway", "./internal/record"},
	},
	{
		name:  "a creation with pending grants is never said to be judged",
		edits: []edit{{"internal/record/lost.go", "rec.Spec.CreationJudged || creationJudged", "rec.Spec.CreationJudged"}},
		unit:  []string{"-run=TestEndedMidway", "./internal/record"},
	},
	{
		name:  "what its record alone has granted is adopted as well",
		edits: []edit{{"internal/controller/holder/signoflife.go", "record.Folded(v.stored, rec, v.obj).Initializing()", "v.stored.Initializing()"}},
		unit:  []string{"-run=TestIsUnjudged", "./internal/controller/holder"},
	},
	{
		name:  "what the cache has no record of yet is adopted",
		edits: []edit{{"internal/controller/holder/signoflife.go", "		rec = live\n", ""}, {"internal/controller/holder/signoflife.go", "live, err := s.Records.Live", "_, err := s.Records.Live"}},
		unit:  []string{"-run=TestDecideByTheAPIServer", "./internal/controller/holder"},
	},
	{
		name:  "what was created unseen is denied for ever once something was denied",
		edits: []edit{{"internal/controller/holder/signoflife.go", "return !v.holdsAllowances()", "return rec == nil && !v.holdsAllowances()"}},
		unit:  []string{"-run=TestIsUnjudged", "./internal/controller/holder"},
	},
	{
		name:  "no record tells of a creation whose ledger another webhook drops",
		edits: []edit{{"internal/webhook/admission/ledgers.go", "!holdsAllowances(has) && len(f.OwnPolicies) == 0", "!holdsAllowances(has)"}},
		unit:  []string{"-run=TestCreationIsRecorded", "./internal/webhook/admission"},
	},
	{
		name:  "an allowance after a denial counts as a look of the leader",
		edits: []edit{{"internal/record/lost.go", "if len(void) == 0 {", "if len(void) < 0 {"}},
		unit:  []string{"-run=TestKeepLedger", "./internal/record"},
	},
	{
		name:  "what was long before a policy is adopted when it has come",
		edits: []edit{{"internal/controller/policy/arrival.go", " || changed.Before(to.wantedAt)", ""}},
		unit:  []string{"-run=TestAdoptLate", "./internal/controller/policy"},
	},
	{
		name:  "what has been judged is adopted when a policy has come",
		edits: []edit{{"internal/controller/policy/arrival.go", " || now.raw != known.raw", ""}},
		unit:  []string{"-run=TestAdoptLate", "./internal/controller/policy"},
	},
	{
		name: "what was withheld is approved by what else was changed without a policy",
		edits: []edit{{
			"internal/controller/policy/adoption.go", "	if state == nil || err != nil {\n		return nil, \"\"",
			"	if state == nil || err != nil || !state.Saw(obj.Object) {\n		return nil, \"\"",
		}},
		ways: []string{"changing another field while the policy is away"},
	},
	{
		name:  "nobody is told of what was withheld before a policy came",
		edits: []edit{{"internal/controller/policy/adoption.go", "return isIn(withheld, e) }", "return len(withheld) < 0 && isIn(withheld, e) }"}},
		ways:  []string{"changing another field while the policy is away"},
	},
	{
		name:  "what was withheld before a policy came is finished by who is midway",
		edits: []edit{{"internal/controller/policy/adoption.go", "len(withheld) == 0 && lifecycle.Midway", "lifecycle.Midway"}},
		unit:  []string{"-run=TestWithheldBefore", "./internal/controller/policy"},
	},
	{
		name: "a list in which something was withheld is taken apart by its indices",
		edits: []edit{{
			"internal/approved/standing.go", "return outsideLists(c.path).Overlaps(d.Path)", "return c.path.Overlaps(d.Path)",
		}},
		unit: []string{"-run=TestResumed", "./internal/approved"},
	},
	{
		name: "what no rule withholds is approved, whatever differs there",
		edits: []edit{{
			"internal/decision/kept.go", "st == nil || !st.DiffersAt(c, g.Child.New)", "st == nil || len(rules) >= 0 || !st.DiffersAt(c, g.Child.New)",
		}},
		ways: []string{
			"changing again what is withheld while its rule is gone",
			"changing again what is withheld while its policy only warns",
		},
	},
	{
		name:  "who changes what a policy only warns of has a right to it",
		edits: []edit{{"internal/decision/kept.go", "		strict[i].strict = true", "		strict[i].strict = false"}},
		ways: []string{
			"changing again what is withheld while its policy only warns",
			"changing a paused Deployment again while its policy only warns",
		},
	},
	{
		name:  "who may initiate by a policy that warns approves what nothing is about",
		edits: []edit{{"internal/decision/kept.go", "policy.Strictest(g.OwnPolicies)", "append(policy.Strictest(nil), g.OwnPolicies...)"}},
		unit:  []string{"-run=TestChangedAgain", "./internal/decision"},
	},
	{
		name:  "an approval reaches what waits, whoever makes it",
		edits: []edit{{"internal/decision/kept.go", "(d.Counts || g.mayApproveWaiting(ctx, d.Change))", "(d.Counts || g.mayApproveWaiting(ctx, d.Change) || len(taken) > 0)"}},
		unit:  []string{"-run=TestChangedAgain", "./internal/decision"},
	},
	{
		name:  "who approves what waits for a rule earns nothing by it",
		edits: []edit{{"internal/decision/approve.go", "range st.Differences {", "range st.Withheld() {"}},
		unit:  []string{"-run=TestApprovedWhile", "./internal/decision"},
	},
	{
		name:  "another replica withholds anew what waited for a rule and was approved",
		edits: []edit{{"internal/webhook/admission/elsewhere.go", "if !d.Counts && (hasNew", "if d.Counts && (hasNew"}},
		unit:  []string{"-run=TestAnsweredElsewhere", "./internal/webhook/admission"},
	},
	{
		name:  "what waits is given another name",
		edits: []edit{{"internal/approved/waiting.go", "if !d.Counts && c.Verb == change.Insert", "if d.Counts && c.Verb == change.Insert"}},
		unit:  []string{"-run=TestDiffersAt", "./internal/approved"},
	},
	{
		name:  "what waits moves in its list",
		edits: []edit{{"internal/approved/waiting.go", "return there && at.Overlaps(c.Path)", "return there && len(at) > 0 && d.Path.Overlaps(c.Path)"}},
		unit:  []string{"-run=TestDiffersAt", "./internal/approved"},
	},
	{
		name:  "what waits moves in its list while nobody looks",
		edits: []edit{{"internal/approved/standing.go", " || !served && o.hasWaiting(claims, d.Path) && !saw()", ""}},
		unit:  []string{"-run=TestUnseenWhileWaiting", "./internal/approved"},
	},
	{
		name:  "the ledger forgets what waits for a rule",
		edits: []edit{{"internal/webhook/admission/decide.go", "		Merge(decision.Waiting(grant.Standing).Allowances()...).\n", ""}},
		ways:  []string{"changing again what is withheld while its rule is gone"},
	},
	{
		name:  "the ledger forgets what is withheld while no policy is in effect",
		edits: []edit{{"internal/webhook/admission/standing.go", "	return has.Without(isAllowance)", "	return has.Without(func(ledger.Entry) bool { return true })"}},
		unit:  []string{"-run=TestMarksWithoutPolicy", admissionTests},
	},
	{
		name:  "the API server is told anew of what it knows",
		edits: []edit{{"internal/controller/interception/controller.go", "before.generation == p.Generation", "before.generation > p.Generation"}},
		unit:  []string{"./test/integration", "-ginkgo.focus=" + "keeps everything equal to what policies need"},
	},
	{
		name:  "the first time at which an object is to be looked at again counts",
		edits: []edit{{"internal/objectcache/alarms.go", "	a.due[req] = at\n", "	if _, ok := a.due[req]; !ok {\n		a.due[req] = at\n	}\n"}},
		unit:  []string{"-run=TestAlarms", "./internal/objectcache"},
	},
	{
		name:  "what was decided before a restored backup is written into it",
		edits: []edit{{"internal/record/observe.go", "s.Behind() && s.clock", "false && s.clock"}},
		unit:  []string{"-run=TestNothingIsWrittenWhileRecordsAreNotWatched", "./internal/record"},
	},
	{
		name:  "records lose their labels on the way into the cache",
		edits: []edit{{"internal/objectcache/compressed/cache.go", "Without(text, \"metadata\", \"managedFields\")", "Without(text, \"metadata\", \"labels\")"}},
		unit:  []string{"./test/integration", "-ginkgo.focus=What is cached compressed"},
	},
	{
		name:  "only some records are cached, and nobody is told",
		edits: []edit{{"internal/objectcache/compressed/cache.go", "if restricted {", "if restricted && false {"}},
		unit:  []string{"./test/integration", "-ginkgo.focus=What is cached compressed"},
	},
	{
		name:  "what objects were like before a restored backup is written into it",
		edits: []edit{{"internal/baseline/baseline.go", "if !m.Behind() {", "if true {"}},
		unit:  []string{"-run=TestNothingIsWrittenWhileBehind", "./internal/baseline"},
	},
	{
		name:  "who names another parent no more is released",
		edits: []edit{{"internal/lineage/leaving.go", "!ok || uid != string(parent.GetUID()):", "!ok || uid == \"\":"}},
		unit:  []string{"./internal/lineage"},
	},
	{
		name:  "who may initiate by one policy may leave another",
		edits: []edit{{"internal/webhook/admission/leaving.go", "	return p.MayInitiate(f.Requester)\n", "	return slices.ContainsFunc(f.OwnPolicies, func(p *policy.Policy) bool { return p.MayInitiate(f.Requester) })\n"}},
		ways:  []string{"leaving a policy as an initiator of another"},
	},
	{
		name:  "anybody attaches",
		edits: []edit{{validate, "	case f.attaches() && ", "	case false && f.attaches() && "}},
		ways:  []string{"giving the parent an owner of one's own that has a policy"},
	},
	{
		name:  "any service account adopts",
		edits: []edit{{"internal/webhook/admission/attaching.go", "	return parent.Known().Selector != \"\" || ", "	return true || "}},
		ways:  []string{"giving the parent an owner of one's own that has a policy"},
		unit:  []string{"-run=TestAttaching", admissionTests},
	},
	{
		name:  "who was attached while nobody looked is a parent",
		edits: []edit{{"internal/objectcache/ignored.go", "	return ok && slices.Contains(parents, parent.ID())", "	return false && ok && slices.Contains(parents, parent.ID())"}},
		ways:  []string{"giving the parent an owner of one's own while nobody looks"},
	},
	{
		name:  "anybody enters",
		edits: []edit{{validate, "	case f.entering && ", "	case false && f.entering && "}},
		ways:  []string{"entering a policy of one's own by a label"},
	},
	{
		name:  "what comes under a policy is judged as it was before",
		edits: []edit{{"internal/webhook/admission/leaving.go", "	return slices.Concat(f.policiesBefore, entered), initiators", "	return f.policiesBefore, initiators"}},
		ways:  []string{"changing an object as it comes under its policy by a label"},
	},
	{
		name:  "initiators make children of what is withheld",
		edits: []edit{{"internal/decision/decide.go", "return origin(in) && !in.CopiesWithheld() }", "return origin(in) }"}},
		ways:  []string{"having an initiator make a child of what is withheld"},
		unit:  []string{"./internal/decision"},
	},
	{
		name:  "anybody makes autoscalers",
		edits: []edit{{"internal/webhook/admission/autoscaled.go", "	case !d.allowed:\n", "	case false && !d.allowed:\n"}},
		ways: []string{
			"making an autoscaler for the parent", "changing the autoscaler of the parent",
			"pointing an autoscaler at the parent", "making an autoscaler for a child", "making a ScaledObject for the parent",
		},
	},
	{
		name:  "refused autoscalers are in no record",
		edits: []edit{{"internal/webhook/admission/deputies.go", "	v.Records.Observe(d.refused(r, resp.Result.Message))\n", ""}},
		unit:  []string{admissionTests, "-run=TestDeputies"},
	},
	{
		name: "an older autoscaler says less",
		// Policies that name no autoscalers ask for the version that has all fields.
		edits: []edit{{"internal/knowledge/builtin/kubernetes.yaml", "target: {apiGroup: autoscaling, apiVersion: v2,", "target: {apiGroup: autoscaling, apiVersion: v1,"}},
		ways:  []string{"changing the autoscaler of the parent by an older version"},
	},
	{
		name:  "nothing scales but what is built in",
		edits: []edit{{"internal/policy/deputies.go", "return deputyOf(kind, i.Known(kind))", "return deputyOf(kind, knowledge.BuiltIn(kind))"}},
		ways:  []string{"making what a policy knows to scale the parent"},
	},
	{
		name:  "an autoscaler comes before what it scales",
		edits: []edit{{"internal/webhook/admission/deputies.go", "	d := &delegation{exists: exists}\n", "	d := &delegation{exists: exists}\n	if !exists {\n		return nil, nil\n	}\n"}},
		ways:  []string{"making an autoscaler for a parent that does not exist yet"},
	},
	{
		name:  "a phase lets autoscalers through",
		edits: []edit{{"internal/decision/delegate.go", "	lasting := in.lasting()\n", "	lasting := in\n"}},
		ways:  []string{"making an autoscaler for a parent that is new"},
	},
	{
		name: "the parent is that of the new object",
		edits: []edit{{
			parentage,
			"	if r.old != nil {\n		if ref, ok := ancestry.Ref(ctx, g.Objects, index, r.old); ok {",
			"	if r.new == nil {\n		if ref, ok := ancestry.Ref(ctx, g.Objects, index, r.old); ok {",
		}},
		ways: []string{"taking the owner away and changing the child at once", "naming another owner", "making another owner the controller"},
	},
	{
		name:  "labels of selectors do not count",
		edits: []edit{{"internal/lineage/selector.go", "if !ok || !selects.Matches(labels.Set(before)) ||", "if ok || !selects.Matches(labels.Set(before)) ||"}},
		ways:  []string{"relabeling a child, so that its parent lets go of it"},
	},
	{
		name:  "a Pod that has a number is replaced",
		edits: []edit{{judge, "made.Ordinals != nil || made.Completions != nil || ", ""}},
		ways:  []string{"freeing a Pod that is one of a set, to give it back changed"},
	},
	{
		name:  "anybody adopts",
		edits: []edit{{judge, "		return false\n	}\n	return in.MayExercise()", "		return false\n	}\n	return true"}},
		ways:  []string{"giving a free object to a parent"},
	},
	{
		name:  "owners are known by their names",
		edits: []edit{{parentage, "	case !ref.Names(parent):\n", "	case false:\n"}},
		ways:  []string{"forging an owner that does not exist"},
	},
	{
		name:  "what nothing covers passes",
		edits: []edit{{"internal/decision/decide.go", "v.Reason = ReasonDenied", "v.Allowed, v.Reason = true, ReasonWarned"}},
		ways: []string{
			"acting as the controller, without an allowance", "using an allowance on the child of another parent",
			"reviving an allowance by reporting an older status", "reviving an allowance by losing a Pod",
		},
	},
	{
		name: "controllers need no allowance",
		edits: []edit{{judge, "		if !inSection && !covered {",
			"		if !inSection && !covered && !in.MayExercise() {"}},
		ways: []string{
			"acting as the controller, without an allowance", "using an allowance on the child of another parent",
			"reviving an allowance by reporting an older status", "reviving an allowance by losing a Pod",
		},
	},
	{
		name:  "anybody uses allowances",
		edits: []edit{{cover, "		!isWithheldOf(in.Referents) && in.MayExercise()", "		!isWithheldOf(in.Referents)"}},
		ways:  []string{"using an allowance that is somebody else's to use"},
	},
	{
		name:  "an allowance covers any field",
		edits: []edit{{cover, "return e.pattern != nil && e.pattern.Covers(act.Change.Path)", "return e.pattern != nil || e.pattern.Covers(act.Change.Path)"}},
		ways:  []string{"changing another field than an allowance covers"},
	},
	{
		name:  "an allowance covers creation and deletion",
		edits: []edit{{cover, "return e.Mutation == act.String()", "return true"}},
		ways:  []string{"using an allowance for something else than it is for"},
	},
	{
		name:  "anybody breaks the glass",
		edits: []edit{{glass, "b.allowed = allowed && err == nil", "b.allowed = allowed || err == nil"}},
		ways:  []string{"breaking the glass without the right to", "breaking the glass for a deletion by somebody else's reason"},
	},
	{
		name:  "a warning is silent about what was withheld before the glass was broken",
		edits: []edit{{glass, "if held := o.otherWithheld(o.grant); len(held) > 0 {", "if held := o.otherWithheld(o.grant); len(held) < 0 {"}},
		unit:  []string{"-run=TestBreakGlass", admissionTests},
	},
	{
		name:  "broken glass at the top of a chain is told by neither an Event nor its record",
		edits: []edit{{validate, "	if ru.refusal == nil && ru.breaksOwnGlass() {", "	if false {"}},
		unit:  []string{"-run=TestBrokenGlassIsToldEverywhere", admissionTests},
	},
	{
		name:  "broken glass at the top of a chain is not in the audit log",
		edits: []edit{{validate, "	if reason, broken := ru.glassReason(); broken {", "	if reason, broken := ru.glassReason(); broken && len(reason) < 0 {"}},
		unit:  []string{"-run=TestBrokenGlassIsToldEverywhere", admissionTests},
	},
	{
		name:  "glass that nothing needs broken is broken",
		edits: []edit{{glassNeed, "	if !f.glass.earned && !o.needsGlass(r) {", "	if o.needsGlass(r) && len(f.glass.reason) < 0 {"}},
		unit:  []string{"-run=TestBrokenGlassIsToldEverywhere", admissionTests},
	},
	{
		name:  "what breaks the glass and allows nothing leaves no note",
		edits: []edit{{glass, "		return o.ParentState == decision.ParentFound || r.old != nil", "		return false"}},
		unit:  []string{"-run=TestBrokenGlassIsToldEverywhere", admissionTests},
	},
	{
		name:  "what only says what it is for is a reason to break the glass",
		edits: []edit{{glass, "			return strings.TrimSpace(after) == \"\"", "			return after == \"-\""}},
		ways:  []string{"breaking the glass for a deletion without a reason"},
	},
	{
		name:  "a controller that no policy names is advised an approval",
		edits: []edit{{"internal/controller/holder/blocked.go", "len(others) == 0 && strings.Contains(d.Message, decision.MayNotUse)", "len(others) == 0 && d.Message == decision.MayNotUse"}},
		unit:  []string{"-run=TestBlockedMessageOfWhoIsNotNamed", "./internal/controller/holder"},
	},
	{
		name:  "explain counts subjects of policies that leave the children out",
		edits: []edit{{"internal/cli/explain/bounds.go", "OwnPolicies: h.ownOf(kind)}", "OwnPolicies: h.compiled.For(kind)}"}},
		unit:  []string{"-run=TestNotForYouByWhatIsInEffect", "./internal/cli/explain"},
	},
	{
		name:  "a controller counts as a subject by a policy for other namespaces",
		edits: []edit{{"internal/policy/unexercised.go", "			if p.isApartFrom(other) {", "			if p.isApartFrom(other) && other.For.Kind == \"\" {"}},
		unit:  []string{"-run=TestUnexercised", "./internal/policy"},
	},
	{
		name:  "a denial advises an approval to who may use none",
		edits: []edit{{inVain, "if !f.IsForOthers(v.Uncovered) {", "if true {"}},
		unit:  []string{"-run=TestDenialAdvises", admissionTests},
	},
	{
		name:  "a denial advises an approval of what no rule is about",
		edits: []edit{{inVain, "len(impossible) > 0 {", "len(impossible) > 99 {"}},
		unit:  []string{"-run=TestDenialAdvises", admissionTests},
	},
	{
		name:  "a denial advises a change of the parent for what only a maintaining section lets through",
		edits: []edit{{inVain, "	case len(ruleless) == 0:", "	case len(ruleless) >= 0:"}},
		unit:  []string{"-run=TestDenialAdvises", admissionTests},
	},
	{
		name:  "a denial tells a controller to let go of what only initiators may by a label",
		edits: []edit{{"internal/decision/possible.go", "		return !lineage.IsReference(act.Change.Path) && act.Change.Verb", "		return false && act.Change.Verb"}},
		unit:  []string{"-run=TestDenialAdvises", admissionTests},
	},
	{
		name:  "a denial keeps silent about the condition that is not met",
		edits: []edit{{"internal/decision/maintainers.go", "		case unmet != nil:", "		case unmet != nil && false:"}},
		unit:  []string{"-run=TestDenialAdvises", admissionTests},
	},
	{
		name:  "a denial is not recorded with who may do it by the child's own policies, nor with what lets go of it",
		edits: []edit{{"internal/webhook/admission/answer.go", "		d.ChildInitiators = slices.Compact(", "		d.ChildInitiators = nil\n		_ = slices.Compact("}, {"internal/webhook/admission/answer.go", "			d.LettingGo = append(d.LettingGo, act.String())", "			_ = append(d.LettingGo, act.String())"}},
		unit:  []string{"-run=TestDenialIsRecorded", admissionTests},
	},
	{
		name:  "why: letting go is offered of a child that its controller takes back",
		edits: []edit{{"internal/cli/why/remedy.go", "		case isLetGo(d, path):", "		case isLetGo(d, path) || strings.Contains(path, \"ownerReferences\"):"}},
		unit:  []string{"-run=TestRemedies", "./internal/cli/why"},
	},
	{
		name:  "why: what has passed waits for what is withheld",
		edits: []edit{{"internal/cli/why/find.go", "	if r.Passed || r.PassedFor != \"\" || e.Reason", "	if e.Reason"}},
		unit:  []string{"-run=TestPassedDoesNotWait", "./internal/cli/why"},
	},
	{
		name:  "who scales to the number that is withheld is not told that it stays so",
		edits: []edit{{"internal/webhook/admission/waiting.go", "	isWrite := r.subresource == \"\" || r.subresource == subresourceScale", "	isWrite := r.subresource == \"\""}},
		unit:  []string{"-run=TestScaleToWhatIsWithheld", admissionTests},
	},
	{
		name:  "who makes an autoscaler is not told what stays withheld of its target",
		edits: []edit{{"internal/webhook/admission/waiting.go", "	if d == nil || !d.exists {", "	if d == nil || !d.exists || true {"}},
		unit:  []string{"-run=TestDeputies", admissionTests},
	},
	{
		name:  "nothing tells who deletes what has finished",
		edits: []edit{{"internal/webhook/admission/deletion.go", "	follows = follows || !parts", "	follows = follows || false && !parts"}},
		unit:  []string{"-run=TestDeletionByPlatform", admissionTests},
	},
	{
		name:  "trace: what was made again looks deleted",
		edits: []edit{{"internal/cli/trace/build.go", "		c.First.visit((*Node).markReplaced)\n", ""}},
		unit:  []string{"-run=TestTrace$", "./internal/cli/trace"},
	},
	{
		name:  "a denial advises a reason that no request can carry",
		edits: []edit{{glass, "	default:\n		return true\n	}\n}\n\n// forStatus", "	default:\n		return false\n	}\n}\n\n// forStatus"}},
		unit:  []string{"-run=TestDenialAdvises", admissionTests},
	},
	{
		name:  "an Event ends in the middle of what to do",
		edits: []edit{{"internal/eventrecorder/recorder.go", "n.Text = shortenedInside(kubectl.Printable(n.Text))", "n.Text = Shortened(kubectl.Printable(n.Text))"}},
		unit:  []string{"-run=TestPostCutsText", "./internal/eventrecorder"},
	},
	{
		name:  "a reason for a deletion serves a change",
		edits: []edit{{glass, "return b.allowed && (!b.stays || r.operation == decision.Delete || r.subresource == subresourceStatus)", "return b.allowed"}},
		ways:  []string{"breaking the glass for a change by a reason for a deletion"},
	},
	{
		name:  "ledgers are what requests say",
		edits: []edit{unprotected, believed},
		ways: []string{
			"writing a ledger", "writing a ledger for a generation to come", "writing a ledger through the status", "creating an object with a ledger",
			"removing a ledger, and what is withheld with it", "copying the ledger of another object", "writing the ledger of a ReplicaSet",
			"writing a ledger under the key that an object gets with an owner",
			"deleting the object at the top, and making it again as it was",
		},
	},
	{
		name: "ledgers are what requests say, and never end",
		edits: []edit{unprotected, believed, {
			decide, "bool { return spent(e) && !r.keepsCreation(f, e) }", "bool { return false && spent(e) }",
		}},
		ways: []string{"replacing an object by an old manifest of it"},
	},
	{
		name: "a copied ledger is one",
		edits: []edit{unprotected, believed, {
			"internal/ledger/key.go", "return kind + \".\" + v1alpha1.AnnotationPrefix", "return v1alpha1.AnnotationPrefix",
		}},
		ways: []string{"writing a ReplicaSet's copy of its Deployment's ledger"},
	},
	{
		name:  "keys of ReplicaSets stay on other kinds",
		edits: []edit{unprotected, {"internal/webhook/admission/own.go", "dropForeign() {\n	if o.byController {\n", "dropForeign() {\n	if true {\n"}},
		ways:  []string{"writing a Deployment's ledger under the key of a ReplicaSet"},
	},
	{
		name:  "anybody approves",
		edits: []edit{{"internal/webhook/admission/approve.go", "return f.AncestorInitiator || policy.MayInitiate(f.Requester, f.OwnPolicies)", "return true || policy.MayInitiate(f.Requester, f.OwnPolicies)"}},
		ways:  []string{"approving without the right to"},
	},
	{
		name: "an approval is judged by the rules about what it names",
		edits: []edit{{"internal/decision/approve.go", "if st := g.after(of, nil); st != nil {", "if st := g.after(of, nil); st != nil && false {"},
			{"internal/decision/approve.go", "if hasUnanswered(c, rules) && !", "if false && !"}},
		ways: []string{"approving by a policy that only warns what another one withholds"},
		unit: []string{"-run=TestGrants", "./internal/decision"},
	},
	{
		name:  "what is above fields is approved without regard to their rules",
		edits: []edit{{"internal/decision/approve.go", "if hasUnanswered(c, rules) && !", "if false && !"}},
		unit:  []string{"-run=TestGrants", "./internal/decision"},
	},
	{
		name:  "what stays withheld earns by other rules",
		edits: []edit{{"internal/decision/grant.go", "		g.giveFor(rules[i], with)\n", "		g.giveFor(rules[i], append(with, c))\n"}},
		ways:  []string{"approving by a policy that only warns what another one withholds"},
		unit:  []string{"-run=TestGrants", "./internal/decision"},
	},
	{
		name:  "who may initiate above by a policy that only warns approves what another withholds",
		edits: []edit{{"internal/policy/effect.go", "out = append(out, Strictest(naming))", "out = append(out, naming)"}},
		unit:  []string{"-run=TestInitiatesByTheStrictest", "./internal/policy"},
	},
	{
		name:  "a trial tells nothing of whose changes would be withheld",
		edits: []edit{{"internal/decision/grant.go", "		g.spare(c, rules, without)\n", ""}},
		unit:  []string{"-run=TestSpared", "./internal/decision", "./internal/webhook/admission"},
	},
	{
		name:  "the name of a field ends the quotes of a command",
		edits: []edit{{"internal/kubectl/quote.go", "strings.ReplaceAll(Printable(text), \"'\", `'\\''`)", "Printable(text)"}},
		ways:  []string{"having an initiator run the name of a field"},
		unit:  []string{"-run=TestPrintedApprovalsWork", admissionTests},
	},
	{
		name:  "names of objects hide what else is printed",
		edits: []edit{{"internal/kubectl/quote.go", "return !unicode.IsPrint(r)", "return !unicode.IsPrint(r) && false"}},
		unit:  []string{"./internal/kubectl"},
	},
	{
		name:  "the comma of a key ends an approval",
		edits: []edit{{"internal/change/syntax.go", "within = r == '['", "within = r == '\\n'"}},
		unit:  []string{"-run=TestPrintedApprovalsWork", admissionTests},
	},
	{
		name:  "dry runs are kept",
		edits: []edit{{validate, "	if r.dryRun {\n		return nil\n", "	if false {\n		return nil\n"}},
		ways:  []string{"scaling the parent as a dry run first"},
	},
	{
		name: "a pending grant lasts until its record is written",
		edits: []edit{{
			"internal/webhook/admission/ledgers.go", "return !hasID(stored, e) && spent(e) })", "return false && !hasID(stored, e) && spent(e) })",
		}},
		ways: []string{"scaling a child on, when a scale of the parent is done"},
	},
	{
		name:  "anybody initiates",
		edits: []edit{{"internal/decision/chain.go", "initiates: p.MayInitiate(g.Requester) ||", "initiates: true || p.MayInitiate(g.Requester) ||"}},
		ways: []string{
			"changing the parent", "giving the parent an owner of one's own",
			"changing what an object is made from", "changing what an object is a clone of", "changing the GeneratingPolicy",
			"finishing somebody's canary by its partition", "resuming somebody's rollout that is paused", "resuming what was created paused",
		},
	},
	{
		name:  "everything can wait",
		edits: []edit{{"internal/knowledge/builtin/kubernetes.yaml", "  cannotWait: [spec.persistentVolumeClaimRetentionPolicy, spec.revisionHistoryLimit, spec.ordinals]\n", ""}},
		ways:  []string{"changing what is carried out without a change of children"},
	},
	{
		name:  "the number of Pods with claims can wait",
		edits: []edit{{"internal/knowledge/builtin/kubernetes.yaml", "  - {set: spec.volumeClaimTemplates, fields: [spec.replicas]}\n", "  - {set: spec.volumeClaimTemplates, fields: [spec.none]}\n"}},
		ways:  []string{"having claims made, or go with a Pod that is lost, by the number of Pods"},
	},
	{
		name:  "a smaller number of Pods can wait",
		edits: []edit{{"internal/decision/grant.go", " || wantsFewerPods(known, c, difference)", " || false && wantsFewerPods(known, c, difference)"}},
		unit:  []string{"-run=TestGrants", "./internal/decision"},
		ways:  []string{"having evictions carry out a smaller number of Pods"},
	},
	{
		name:  "on which nodes a DaemonSet has Pods can wait",
		edits: []edit{{"internal/knowledge/builtin/kubernetes.yaml", "  - spec.template.spec.nodeSelector\n", ""}},
		unit:  []string{"-run=TestPlacesCannotWait", "./internal/decision"},
	},
	{
		name:  "a number that an autoscaler goes by can wait",
		edits: []edit{{"internal/webhook/admission/autoscaled.go", "	if r.operation != decision.Update ||", "	if true || r.operation != decision.Update ||"}},
		unit:  []string{"-run=TestNumberOfAnAutoscaler", admissionTests},
		ways:  []string{"having an autoscaler carry out a number that is withheld"},
	},
	{
		name:  "an autoscaler may come to a number that is withheld",
		edits: []edit{{"internal/webhook/admission/autoscaled.go", "	if withheld := d.waits(); len(withheld) > 0 {", "	if withheld := d.waits(); len(withheld) < 0 {"}},
		unit:  []string{"-run=TestAutoscalerOfWhatIsWithheld", admissionTests},
		ways:  []string{"having an autoscaler carry out a number that is withheld"},
	},
	{
		name:  "what is new adopts whatever its selector matches",
		edits: []edit{{"internal/decision/stray.go", "(!selects || !in.Adoption.Younger)", "(!selects || !false)"}},
		unit:  []string{"-run=TestStrays", "./internal/decision"},
		ways:  []string{"having a running Job adopt a Pod"},
	},
	{
		name:  "what is new makes room for strays",
		edits: []edit{{"internal/decision/judge.go", "!in.IsStray() && !in.makesRoom(act) && in.inInitializing(act)", "!in.IsStray() && in.inInitializing(act)"}},
		unit:  []string{"-run=TestStrays", "./internal/decision"},
		ways:  []string{"having a running Job adopt a Pod"},
	},
	{
		name: "the limits of a Job can wait",
		edits: []edit{{
			"internal/knowledge/builtin/kubernetes.yaml",
			"  - spec.activeDeadlineSeconds\n  - spec.backoffLimit\n  - spec.completions\n  - spec.maxFailedIndexes\n  - spec.podReplacementPolicy\n  - spec.suspend\n  - spec.ttlSecondsAfterFinished\n",
			"  - spec.ttlSecondsAfterFinished\n",
		}},
		ways: []string{"having a Job of which no Pod runs fail, or end, by its limits"},
	},
	{
		name:  "whoever keeps the books of a set takes its revisions away",
		edits: []edit{{"internal/decision/decide.go", "in.Bookkeeping && !in.Leaves && in.KeepsBooks()", "in.Bookkeeping && in.KeepsBooks()"}},
		ways:  []string{"taking a revision away from its set as the controller of that"},
	},
	{
		name: "statuses of built-in kinds are no reports",
		edits: []edit{
			{"internal/knowledge/builtin/kubernetes.yaml", "  reported: [status.replicas, status.readyReplicas, status.availableReplicas]\n", ""},
			{"internal/knowledge/builtin/kubernetes.yaml", "  reported: [status.active, status.lastScheduleTime]\n", ""},
		},
		ways: []string{"having what works scaled down, by the status of what replaces it", "having a run repeated, or replaced, by the status of a CronJob"},
	},
	{
		name:  "allowances go on while something is withheld",
		edits: []edit{{cover, "!in.Parent.isWithheld() &&", "true &&"}},
		ways:  []string{"changing the parent in the middle of somebody's rollout"},
	},
	{
		name:  "allowances go on after the deletion of who has them",
		edits: []edit{{cover, "!in.Parent.OneSided && !in.Parent.Deleting &&", "!in.Parent.OneSided &&"}},
		ways:  []string{"keeping the object at the top from its end, after its deletion"},
	},
	{
		name:  "healing carries out what is withheld",
		edits: []edit{{judge, "in.heldBack(act) || in.IsStray()", "in.IsStray()"}},
		ways: []string{
			"draining Pods while something is withheld", "having the scheduler preempt a Pod while something is withheld",
		},
	},
	{
		name: "a policy is said to be enforced by what was told of another one of its name",
		edits: []edit{
			{"internal/controller/interception/controller.go", "t, ok := rendered.told[p.UID]", "t, ok := rendered.told[types.UID(p.Name)]"},
			{"internal/controller/interception/controller.go", "told[p.UID] = telling", "told[types.UID(p.Name)] = telling"},
		},
		unit: []string{"./test/integration", "-ginkgo.focus=" + "keeps everything equal to what policies need"},
	},
	{
		name:  "what takes the place of a policy is not seen",
		edits: []edit{{"internal/controller/updates/updates.go", "before.GetUID() != after.GetUID() || ", ""}},
		unit:  []string{"./internal/controller/updates"},
	},
	{
		name:  "whatever Kausality's own writes change passes",
		edits: []edit{{"internal/decision/decide.go", "return in.Operator && (in.Operation != Update || len(in.Changes)+len(in.OwnChanges) == 0)", "return in.Operator"}},
		ways:  []string{"having another webhook change a child in a write of Kausality's own"},
	},
	{
		name:  "what was taken back tells nothing of kinds that nobody knows",
		edits: []edit{{"internal/decision/takenback.go", "case in.Operation == Update || m.Template == nil:", "case in.Operation == Update || m.Template == nil:\n\t\treturn nil"}},
		ways:  []string{"taking back what is withheld before a controller has heard of that"},
	},
	{
		name:  "short texts that were taken back tell nothing",
		edits: []edit{{"internal/decision/takenback.go", "in.repeated(known.HasTemplates())", "in.repeated(true)"}},
		unit:  []string{"-run=TestRepeated", "./internal/decision"},
		ways:  []string{"taking back what is withheld before a controller has heard of that"},
	},
	{
		name:  "numbers come up on the way of what is counted, and are refused",
		edits: []edit{{"internal/decision/takenback.go", "in.repeated(known.HasTemplates())", "in.repeated(false)"}},
		unit:  []string{"-run=TestRepeated", "./internal/decision"},
	},
	{
		name:  "what another replica has answered is not known",
		edits: []edit{{elsewhere, "r.again != nil || !r.isAnswered(first.facts)", "true"}},
		unit:  []string{"-run=TestAnsweredElsewhere", admissionTests},
	},
	{
		name:  "what a request writes itself is taken for what another replica has answered",
		edits: []edit{{elsewhere, "|| r.mayWrite(key)", ""}},
		unit:  []string{"-run=TestAnsweredElsewhere", admissionTests},
	},
	{
		name:  "gates: who may not open one is told only where there is a ceiling",
		edits: []edit{{"internal/gate/crossplane/ceiling.go", "(w.ByAuthor || limit(w.New, wanted).Equal(sets.New(setFor(before.Ceiling)...)))", "before.Ceiling == nil"}},
		unit:  []string{"-run=TestCeilingOfOwn", "./internal/gate/crossplane"},
	},
	{
		name:  "gates: who composes an object is told each time that the gate is not open",
		edits: []edit{{"internal/gate/crossplane/ceiling.go", "(w.ByAuthor || limit(", "(limit("}},
		unit:  []string{"-run=TestC", "./internal/gate/crossplane"},
	},
	{
		name:  "policies: the API server is asked what it serves of nothing",
		edits: []edit{{"internal/webhook/v1alpha1/served.go", `if gv.Version == "" {`, "if false {"}},
		unit:  []string{"-run=TestServedIsAsked", "./internal/webhook/v1alpha1"},
	},
	{
		name:  "the ceiling of a gate is taken from whatever another webhook has written",
		edits: []edit{{elsewhere, "(r.old == nil || o.byAuthor(r)) && ", ""}},
		unit:  []string{"-run=TestCeilingWrittenElsewhere", admissionTests},
	},
	{
		name:  "what is approved is found in another order than it was asked for",
		edits: []edit{{elsewhere, "if len(fields) < 2 {", "if true {"}},
		unit:  []string{"-run=TestBothWebhooksAgree", admissionTests, "-rapid.checks=500"},
	},
	{
		name:  "requests: the next one takes the place of whatever was asked",
		edits: []edit{{"internal/webhook/cause/hook.go", "		if !p.policy.TakesRequest(ctx, trigger) {", "		if !p.policy.NeedsRequest() {"}},
		unit:  []string{"-run=TestHookNotesRequests", "./internal/webhook/cause"},
	},
	{
		name:  "requests: a later one of somebody else takes them off",
		edits: []edit{{"internal/generate/causes.go", "return !x.usesOld && !x.usesRequest && object.tells(x)", "return object.tells(x)"}},
		unit:  []string{"-run=TestHookNotesRequests", "./internal/webhook/cause"},
	},
	{
		name:  "requests: conditions about the object before are asked again",
		edits: []edit{{"internal/generate/request.go", "return !x.usesOld || t.isRequest() }", "return true }"}},
		unit:  []string{"-run=TestConditionsAboutTheObjectBefore", "./internal/generate"},
	},
	{
		name:  "requests: each end of a trigger is one",
		edits: []edit{{"internal/generate/kept.go", "if len(whole) > 0 && slices.Contains(rule.Operations, admissionregistrationv1.Delete) {", "if len(whole) > 0 {"}},
		unit:  []string{"-run=TestMatch", "./internal/generate"},
	},
	{
		name:  "requests: a status is one",
		edits: []edit{{"internal/generate/kept.go", "sub != everything && sub != statusSubresource", "sub != everything"}},
		unit:  []string{"-run=TestNeedsRequest", "./internal/generate"},
	},
	{
		name:  "requests: those that are tried are kept",
		edits: []edit{{"internal/webhook/cause/keep.go", "if req.DryRun != nil && *req.DryRun || req.Name", "if req.Name"}},
		unit:  []string{"-run=TestKeep", "./internal/webhook/cause"},
	},
	{
		name:  "requests: deletions of what the policy made are kept",
		edits: []edit{{"internal/generate/kept/kept.go", "t.Above = plan.Above(r.OldObject)", "_ = plan.Above(r.OldObject)"}},
		unit:  []string{"-run=TestKeep", "./internal/webhook/cause"},
	},
	{
		name:  "requests: what is not kept takes the place of what is",
		edits: []edit{{"internal/webhook/cause/hook.go", "			warnings = append(warnings, h.notKept(ctx, req, p.policy.Name, err))\n			continue", "			warnings = append(warnings, h.notKept(ctx, req, p.policy.Name, err))"}},
		unit:  []string{"-run=TestKeepsWhatWasBefore", "./internal/webhook/cause"},
	},
	{
		name:  "requests: the newest are given up",
		edits: []edit{{"internal/controller/generating/requests.go", "return asked[a].Compare(asked[b])", "return asked[b].Compare(asked[a])"}},
		unit:  []string{"-run=TestTooManyRequests", "./internal/controller/generating"},
	},
	{
		name:  "generating: what was made once is known by a record that may be late",
		edits: []edit{{"internal/controller/generating/written.go", "w.once[trigger][made] = now", "delete(w.once, trigger)"}},
		unit:  []string{"-run=TestRemembersWhatRecordsDoNotShowYet", "./internal/controller/generating"},
	},
	{
		name:  "nobody asks for kube-system",
		edits: []edit{{"internal/interception/webhooks.go", "return err == nil && !selector.Empty()", "return err != nil && !selector.Empty()"}},
		ways:  []string{"changing a child in kube-system of a parent outside of namespaces"},
	},
	{
		name:  "a scale is let through to wait",
		edits: []edit{{validate, "(grant.Refuse || r.subresource == subresourceScale)", "grant.Refuse"}},
		ways:  []string{"scaling the parent"},
	},
	{
		name:  "anybody leaves",
		edits: []edit{{"internal/webhook/admission/leaving.go", "slices.Clone(f.left), f.letsGo)", "slices.Clone(f.left), func(*policy.Policy) bool { return true })"}},
		ways:  []string{"leaving the policy by a label"},
	},
	{
		name:  "revisions are not bounded along with Pods",
		edits: []edit{{implied, "	if history == nil || ", "	if history != nil || "}},
		ways: []string{
			"replacing the revision of a StatefulSet", "replacing the revision of a DaemonSet",
			"changing the revision of a StatefulSet", "changing the revision of a DaemonSet",
			"deleting all revisions at once", "taking a revision away from its set", "giving a free revision to a set",
		},
	},
	{
		name:  "revisions without an owner are nobody's",
		edits: []edit{{"internal/webhook/admission/adopter.go", "	if len(keepers) == 0 || ", "	if len(keepers) >= 0 || "}},
		ways:  []string{"leaving a revision for a StatefulSet to adopt", "leaving a revision for a DaemonSet to adopt"},
	},
	{
		name:  "labels of EndpointSlices of a Service do not count",
		edits: []edit{{"internal/knowledge/builtin/kubernetes.yaml", "    marks:\n    - \"metadata.labels[endpointslice.kubernetes.io/managed-by]\"\n    - \"metadata.labels[kubernetes.io/service-name]\"\n    - \"metadata.labels[service.kubernetes.io/headless]\"\n", ""}},
		ways:  []string{"relabeling an EndpointSlice, so that its Service has no endpoints"},
	},
	{
		name:  "an EndpointSlice may be hidden from proxies",
		edits: []edit{{"internal/knowledge/builtin/kubernetes.yaml", "    - \"metadata.labels[service.kubernetes.io/headless]\"\n", ""}},
		ways:  []string{"relabeling an EndpointSlice, so that its Service has no endpoints"},
	},
	{
		name:  "labels of EndpointSlices that mirror Endpoints do not count",
		edits: []edit{{"internal/knowledge/builtin/kubernetes.yaml", "    marks:\n    - \"metadata.labels[endpointslice.kubernetes.io/managed-by]\"\n    - \"metadata.labels[kubernetes.io/service-name]\"\n    upkeep: EndpointSlices", "    upkeep: EndpointSlices"}},
		ways:  []string{"relabeling an EndpointSlice that mirrors Endpoints"},
	},
	{
		name:  "claims of a Pod are not told apart",
		edits: []edit{{"internal/knowledge/builtin/kubernetes.yaml", "    # By this the controller finds what it has made already, and for which claim of the Pod.\n    marks: [\"metadata.annotations[resource.kubernetes.io/pod-claim-name]\"]\n", ""}},
		ways:  []string{"taking the claim of a Pod for another of its claims"},
	},
	{
		name:  "claims of a group of Pods are not told apart",
		edits: []edit{{"internal/knowledge/builtin/kubernetes.yaml", "    # As with Pods.\n    marks: [\"metadata.annotations[resource.kubernetes.io/pod-claim-name]\"]\n", ""}},
		unit:  []string{"-run=TestMarks", "./internal/policy"},
	},
	{
		name:  "a change of a Service waits, and its endpoints with it",
		edits: []edit{{"internal/knowledge/builtin/kubernetes.yaml", "  cannotWait: [spec]\n", ""}},
		unit:  []string{"-run=TestServiceCannotWait", "./internal/knowledge"},
	},
	{
		name:  "labels of revisions do not count",
		edits: []edit{{"internal/knowledge/builtin/kubernetes.yaml", "    labels: [controller-revision-hash]\n", ""}},
		ways:  []string{"relabeling the revision of a DaemonSet, so that its Pods are replaced"},
	},
	{
		name:  "a kind in lower case is none",
		edits: []edit{{"internal/policy/index.go", "strings.EqualFold(named.Kind, kind.Kind)", "named.Kind == kind.Kind"}},
		ways:  []string{"making an autoscaler for the parent by a kind in lower case"},
	},
	{
		name:  "marks of children do not count",
		edits: []edit{{"internal/policy/marks.go", "		out = append(out, of.AllMarks()...)\n", "		_ = of\n"}},
		ways: []string{
			"relabeling a Pod, so that its StatefulSet replaces it", "relabeling a Pod, so that its DaemonSet replaces it",
			"giving a Pod of a Job the index of another",
		},
	},
	{
		name:  "what a Deployment keeps in its ReplicaSets is anybody's",
		edits: []edit{{"internal/knowledge/builtin/kubernetes.yaml", "    marks:\n    - \"metadata.annotations[deployment.kubernetes.io/desired-replicas]\"", "    marks:\n    - \"metadata.annotations[example.org/none]\""}, {"internal/knowledge/builtin/kubernetes.yaml", "    - \"metadata.annotations[deployment.kubernetes.io/max-replicas]\"\n    - \"metadata.annotations[deployment.kubernetes.io/revision]\"\n", ""}},
		ways:  []string{"having a Deployment divide its replicas by what its ReplicaSets say", "renumbering the revisions of a Deployment"},
	},
	{
		name:  "anybody tells a Deployment to go back",
		edits: []edit{{"internal/webhook/admission/command.go", "		f.Command = &command\n", "		_ = command\n"}},
		ways:  []string{"having a Deployment go back to an older template"},
	},
	{
		name:  "a withheld selector lets go of children",
		edits: []edit{{judge, "	case in.Parent.isWithheld() && in.Parent.differsAt(selectorPath):", "	case false:"}},
		ways:  []string{"having a ReplicationController select others"},
	},
	{
		name:  "anybody says what is carried out",
		edits: []edit{{"internal/decision/witness.go", "in.Child.Standing == nil || in.reports()", "in.Child.Standing == nil || !in.reports()"}},
		ways:  []string{"reporting that what is withheld is carried out"},
	},
	{
		name:  "strays are covered",
		edits: []edit{{cover, "	if in.IsStray() {", "	if false {"}},
		ways:  []string{"having a Deployment adopt a ReplicaSet"},
	},
	{
		name:  "what an initiator puts back is adopted, whatever it has become",
		edits: []edit{{"internal/record/setaside.go", "digest != \"\" && digest == SetAsideDigest(obj, key)", "digest != \"\" || digest == SetAsideDigest(obj, key)"}},
		unit:  []string{"-run=TestReturnedChildIsNoStray", admissionTests},
	},
	{
		name:  "anybody puts back what was set aside",
		edits: []edit{{"internal/webhook/admission/setaside.go", "bounds) && mayInitiateOn(", "bounds) || mayInitiateOn("}, {"internal/webhook/admission/setaside.go", "if !slices.ContainsFunc(f.index.Policies(), func(p *policy.Policy) bool { return p.MayInitiate(r.requester) }) {", "if false {"}},
		unit:  []string{"-run=TestReturnedChildIsNoStray", admissionTests},
	},
	{
		name:  "healing makes room for strays",
		edits: []edit{{judge, " || in.makesRoom(act) {", " {"}},
		ways:  []string{"having a ReplicaSet adopt Pods"},
	},
	{
		name:  "whatever is there is approved",
		edits: []edit{{"internal/approved/standing.go", "slices.Concat(r.Uncaused, r.Following, st.besideItems(&r, next.patterns)), r.Apart...)", "slices.Concat(r.Following[:0]))"}},
		ways:  []string{"changing the parent"},
		unit:  []string{"./internal/approved"},
	},
	{
		name:  "what is withheld is approved by another version of its kind",
		edits: []edit{{"internal/approved/standing.go", "s.Unknown || !s.isOf(o)", "s.Unknown"}},
		ways:  []string{"having a policy moved to a version in which what is withheld has another name"},
		unit:  []string{"-run=TestVersions", "./internal/approved"},
	},
	{
		name:  "what is withheld goes on while its object is adopting",
		edits: []edit{{"internal/decision/withheld.go", "return p.Adopting && !p.OneSided && !p.isWithheld()", "return p.Adopting && !p.OneSided"}},
		ways:  []string{"changing the parent in the middle of somebody's rollout"},
		unit:  []string{"./internal/decision"},
	},
	{
		name:  "anybody finishes what was under way",
		edits: []edit{{"internal/decision/decide.go", "return in.Parent.isAdopting() && in.mayFinish() && ", "return in.Parent.isAdopting() && "}},
		ways:  []string{"interfering with what was under way when the policy came"},
		unit:  []string{"./internal/decision"},
	},
	{
		name:  "what has settled is adopting, as its condition is asked of no generation",
		edits: []edit{{"internal/lifecycle/consumed.go", "v1alpha1.Allowance{Generation: obj.GetGeneration()}", "v1alpha1.Allowance{Initiator: obj.GetName()}"}},
		ways:  []string{"changing what had settled when its policy came"},
		unit:  []string{"-run=TestMidway", "./internal/lifecycle"},
	},
	{
		name:  "nobody is asked about scales that only another version has",
		edits: []edit{{"internal/interception/rules.go", "range r.elsewhere[s.name] {", "range r.elsewhere[s.name][:0] {"}},
		ways:  []string{"scaling by a version that alone has a scale"},
		unit:  []string{"-run=TestRules", "./internal/interception"},
	},
	{
		name:  "nobody looks at a status that only another version has",
		edits: []edit{{"internal/interception/actions.go", `return s.has("status")`, `return slices.Contains(s.Subresources, "status")`}},
		ways:  []string{"reporting by a version that alone has a status"},
		unit:  []string{"-run=TestActionsAreAskedAbout", "./internal/interception"},
	},
	{
		name:  "the old object of a request is what the object was",
		edits: []edit{{"internal/webhook/admission/losing.go", "r.old = withContent(r.old, before)", "_ = was"}},
		ways: []string{
			"dropping a field by writing in a version that does not have it", "dropping a field by writing nothing in such a version",
			"dropping a field by a status in such a version", "dropping a field of a child in such a version",
			"dropping a field that a conversion webhook loses",
		},
		unit: []string{"-run=TestLostFields", admissionTests},
	},
	{
		name:  "nobody is asked who changes nothing in a version that lacks fields",
		edits: []edit{{"internal/interception/losing.go", "if lossy.Len() == 0 {", "if lossy.Len() >= 0 {"}},
		ways:  []string{"dropping a field by writing nothing in such a version", "dropping a field by a status in such a version"},
		unit:  []string{"-run=TestLossesAreAskedAbout", "./internal/interception"},
	},
	{
		name:  "a scale loses nothing",
		edits: []edit{{"internal/webhook/admission/losing.go", "withContent(was, after).DeepCopy()", "withContent(was, before).DeepCopy()"}},
		ways:  []string{"dropping a field by a scale in such a version"},
		unit:  []string{"-run=TestScaleLosesFields", admissionTests},
	},
	{
		name:  "what has a default is lost",
		edits: []edit{{"internal/discovery/losing.go", "	l.Defaults.fill(out)\n", ""}},
		unit:  []string{"-run=TestLostFields", admissionTests},
	},
	{
		name:  "what is lost counts up a generation",
		edits: []edit{{"internal/webhook/admission/generation.go", "nextGeneration(r.old, policies, nil)", "nextGeneration(r.old, policies, changes)"}},
		unit:  []string{"-run=TestLossCountsUpNoGeneration", admissionTests},
	},
	{
		name:  "what cannot be read was not lost",
		edits: []edit{{"internal/webhook/admission/pipeline.go", "err = r.unread // ", "err = nil // "}},
		unit:  []string{"-run=TestLostFields", admissionTests},
	},
	{
		name:  "a scale sets what the version sets that policies name",
		edits: []edit{{"internal/discovery/resolver.go", "resource.Scales[requested]; ok {", "resource.Scales[requested]; ok && requested == gvr.Version {"}},
		ways:  []string{"scaling by a version in which another field is the scale"},
		unit:  []string{"-run=TestResolverKnowsScales", "./internal/discovery"},
	},
	{
		name:  "an owner that is named twice is remembered twice",
		edits: []edit{{"internal/record/parents.go", "!slices.Contains(out.Parents, id)", "len(id) > 0"}},
		ways:  []string{"keeping a record from being written, by naming one owner twice"},
		unit:  []string{"-run=TestKnownNamesAnOwnerOnce", "./internal/record"},
	},
	{
		name:  "what was approved counts as taken back when it goes",
		edits: []edit{{"internal/webhook/admission/history.go", "v.withdrawn.forget(r.old.GetUID(), o.Child.Standing)", "_ = o.Child.Standing"}},
		// It is a matter of milliseconds.
		unit: []string{"-run=TestApprovedBeforeItGoes", "./internal/webhook/admission"},
	},
	{
		name:  "what is still withheld is forgotten",
		edits: []edit{{"internal/webhook/admission/takenback.go", "return !now.Differs(d.Path) && equality", "return equality"}},
		unit:  []string{"-run=TestForget", "./internal/webhook/admission"},
	},
	{
		name:  "what was taken back is carried out by who has not heard of it",
		edits: []edit{{judge, "stale := len(in.takenBack()) > 0", "stale := len(in.takenBack()) > 1000"}},
		ways:  []string{"changing the parent"},
		// It is a matter of milliseconds.
		unit: []string{"./internal/decision"},
	},
	{
		name:  "who takes back leads back what was in the middle of something",
		edits: []edit{{"internal/approved/rested.go", "st.Object.Settled != nil && st.Object.Settled() {", "st.Object.Settled != nil {"}},
		unit:  []string{"-run=TestReturns", "./internal/approved"},
	},
	{
		name:  "who takes back has what no rule is about carried out",
		edits: []edit{{"internal/approved/rested.go", "rested == 0 || digestOf(st.approvedFor(next)) != digestOf(next.approvedFor(next))", "rested == 0"}},
		unit:  []string{"-run=TestReturns", "./internal/approved"},
	},
	{
		name:  "what is led back may become anything",
		edits: []edit{{"internal/decision/returning.go", "return from < to && to <= want || want <= to && to < from", "return want >= 0"}},
		unit:  []string{"-run=TestReturning", "./internal/decision"},
	},
	{
		name:  "who changes something first approves what nobody saw",
		edits: []edit{{gather, "len(marks) > 0 {", "len(marks) > 1000 {"}},
		ways:  []string{"changing the parent"},
		// The controller looks as well, and is hardly ever later than a test.
		unit: []string{"-run=TestMissed", admissionTests},
	},
	{
		name:  "a label makes seen what nobody saw",
		edits: []edit{{unseen, "case !first && a.isOver(now):", "case a.isOver(now):"}},
		unit:  []string{"-run=TestTold", "./internal/controller/holder"},
	},
	{
		name:  "no generation is the one that was seen",
		edits: []edit{{"internal/record/unexplained.go", "return generation > 0 && was.Generation == generation", "return was.Generation == generation"}},
		ways:  []string{"changing a parent that counts no generations while nobody looks"},
	},
	{
		name:  "a field that came while nobody looked was never looked at",
		edits: []edit{{"internal/record/content.go", "append(otherwise(earlier, content, policies), added(earlier, content, policies)...)", "otherwise(earlier, content, policies)"}},
		ways:  []string{"changing a parent that counts no generations while nobody looks"},
	},
	{
		name:  "what becomes of an object while nobody is asked is approved",
		edits: []edit{{unseen, "if v.lapsed = r.SignOfLife.sinceLapse(); v.isLapsed() {", "if r.SignOfLife == nil {"}},
		ways:  []string{"changing the parent while everything is switched off, and the operator runs on"},
	},
	{
		name:  "approved content moves while nobody is asked",
		edits: []edit{{unseen, "	case v.isLapsed():\n", "	case v.isLapsed() && v.obj == nil:\n"}},
		unit:  []string{"-run=TestApprovedInALapse", "./internal/controller/holder"},
	},
	{
		name:  "what was looked at before is not looked at again once somebody is asked",
		edits: []edit{{"internal/controller/holder/lapse.go", "	if s.forget != nil {", "	if s.forget == nil {"}},
		unit:  []string{"-run=TestLapse", "./internal/controller/holder"},
	},
	{
		name:  "the API server counts as asking until what is rendered is seen to be gone",
		edits: []edit{{"internal/controller/interception/asking.go", "return !a.off && a.mutating", "return a.mutating"}},
		unit:  []string{"-run=TestAsking", "./internal/controller/interception"},
	},
	{
		name:  "somebody's edit of what is rendered counts as the operator's",
		edits: []edit{{"internal/controller/interception/asking.go", "return slices.Contains(s.wanted, s.digest)", "return s.digest != \"\""}},
		unit:  []string{"-run=TestAsking", "./internal/controller/interception"},
	},
	{
		name:  "what was explained before nobody was asked explains what came then",
		edits: []edit{{"internal/baseline/recall.go", "lapsed, time.Time{}, false, nil, nil", "lapsed, time.Time{}, false, nil, r.explained"}},
		unit:  []string{"-run=TestLapse", "./internal/baseline"},
	},
	{
		name:  "a policy is enforced though what the API server asks by is gone",
		edits: []edit{{"internal/controller/policy/conditions.go", "	case e.gone:", "	case e.gone && e.off:"}},
		unit:  []string{"-run=TestEnforced", "./internal/controller/policy"},
	},
	{
		name:  "no time of a change proves that there was none",
		edits: []edit{{unseen, "return !moved && watchstate.IsBefore(obj.GetResourceVersion(), a.signedBefore)", "return !moved && a.signedBefore != watchstate.ErrRewound.Error()"}},
		unit:  []string{"-run=TestOutOf", "./internal/controller/holder"},
	},
	{
		name:  "a grant that was known explains what came after it",
		edits: []edit{{"internal/record/unexplained.go", "return !slices.ContainsFunc(knows.Active, is) ||", "return !slices.ContainsFunc(knows.Active, is) || true ||"}},
		unit:  []string{"-run=TestUnexplained", "./internal/record"},
	},
	{
		name:  "what was let through before the first look is nobody's",
		edits: []edit{{unseen, "if r.Baseline.IsExplained(v.obj.GetUID()) {", "if false {"}},
		unit:  []string{"-run=TestExplainedBefore", "./internal/controller/holder"},
	},
	{
		name:  "nobody says before the first look that all is explained",
		edits: []edit{{"internal/webhook/admission/missed.go", "		g.Baseline.NoteExplained(r.old.GetUID())\n", ""}},
		unit:  []string{"-run=TestMissed", admissionTests},
	},
	{
		name:  "commands leave the version to kubectl",
		edits: []edit{{"internal/discovery/versions.go", "r.Preferred == \"\" || r.Preferred == right", "r.Preferred != right || r.Preferred == right"}},
		unit:  []string{"-run=TestVersionToName", "./internal/discovery"},
	},
	{
		name:  "commands of the webhooks leave the version to kubectl",
		edits: []edit{{"internal/webhook/admission/gather.go", ", versionToName: g.Kinds.VersionToName}", "}"}},
		unit:  []string{"-run=TestCommandsNameAVersion", admissionTests},
	},
	{
		name:  "why leaves the version of strays to kubectl",
		edits: []edit{{"internal/cli/why/strays.go", "if with.versionToName != nil {", "if with.versionToName == nil {"}},
		unit:  []string{"-run=TestStraysNameAVersion", "./internal/cli/why"},
	},
	{
		name:  "explain leaves the version to kubectl",
		edits: []edit{{"internal/cli/explain/read.go", "	of.Version = s.versionToName\n", ""}},
		unit:  []string{"-run=TestCommandsNameAVersion", "./internal/cli/explain"},
	},
	{
		name:  "the plugin patches in the version that kubectl prefers",
		edits: []edit{{"internal/cli/cluster/cluster.go", "Client: &storedversion.Client{Client: c, Kinds: kinds}", "Client: (&storedversion.Client{Client: c, Kinds: kinds}).Client"}},
		unit:  []string{"-run=TestStoredVersion", "./internal/cli/cluster"},
	},
	{
		name:  "the version is not known by its hash",
		edits: []edit{{"internal/discovery/told.go", "r.Stored, r.Preferred = version, r.first(group)", "_ = version"}},
		unit:  []string{"-run=TestVersionToName", "./internal/discovery"},
	},
	{
		name:  "nobody is asked about an approval of a kind that no policy is for",
		edits: []edit{{"internal/interception/conditions.go", "name == ledger.NameApprove || name == ledger.NameBreakGlass", "name == ledger.NameBreakGlass"}},
		unit:  []string{"-run=TestGlassConditions", "./internal/interception"},
	},
	{
		name:  "an approval that was left stays",
		edits: []edit{{"internal/interception/conditions.go", "size(new) > 0 && (%s + %q) in new", "size(new) < 0 && (%s + %q) in new"}},
		unit:  []string{"-run=TestGlassConditions", "./internal/interception"},
	},
	{
		name:  "a second approval is said to be of what was changed",
		edits: []edit{{"internal/webhook/admission/approve.go", "if !isHeldAround(st, path) {", "if !isHeldAround(st, path) && path == nil && digest == \"\" {"}},
		unit:  []string{"-run=TestMutate", admissionTests},
	},
	{
		name:  "approve: what only gets another mark counts as approved",
		edits: []edit{{"internal/cli/approve/approval.go", "len(r.Warnings) > 0 && !r.permits(now)", "len(r.Warnings) < 0 && !r.permits(now)"}},
		unit:  []string{"-run=TestApprove", "./internal/cli/approve"},
	},
	{
		name:  "approve: a stray counts as approved whatever its parent's record says",
		edits: []edit{{"internal/cli/approve/stray.go", "return slices.Contains(still, parent) })", "return slices.Contains(still, parent) && false })"}},
		unit:  []string{"-run=TestApprove", "./internal/cli/approve"},
	},
	{
		name:  "custom resources are written in another version than they are stored",
		edits: []edit{{"internal/storedversion/client.go", "return resource.StoredElsewhere()", "return discovery.StoredVersion{}, false && resource.GVK.Empty()"}},
		unit:  []string{"./internal/storedversion"},
	},
	{
		name:  "what is noted is approved meanwhile",
		edits: []edit{{unseen, "slices.ContainsFunc(status.PendingGrants, marks)", "slices.ContainsFunc(status.PendingGrants, marks) && false"}},
		unit:  []string{"-run=TestUnseenUntilTheObjectSaysSo", "./internal/controller/holder"},
	},
	{
		name:  "a lost sign of life makes a policy new",
		edits: []edit{{unseen, "rec.CreationTimestamp.After(until)", "rec.CreationTimestamp.Before(nil)"}},
		unit:  []string{"-run=TestExplained", "./internal/controller/holder"},
	},
	{
		name:  "items that trade places are what is at their index",
		edits: []edit{{"internal/change/difference.go", "ok || !aligned {", "true {"}},
		ways:  []string{"having the items of a list trade places and values at once"},
	},
	{
		name:  "a wildcard for annotations is one of them",
		edits: []edit{{"internal/interception/conditions.go", " && pattern[2] != change.Wildcard:", ":"}},
		ways:  []string{"changing an annotation where a policy names all of them"},
	},
	{
		name:  "a field that is written in quotes is the whole object",
		edits: []edit{{"internal/policy/compile_entry.go", "if text := pattern.String(); text ==", "if text := m.JSONPath; text =="}},
		unit:  []string{"-run=TestCompileErrors", "./internal/policy"},
	},
	{
		name:  "a kind that ends in k8s.io is one of Kubernetes",
		edits: []edit{{cover, "return kubernetesGroups.Has(group) }", "return kubernetesGroups.Has(group) || len(group) > 7 && group[len(group)-7:] == \".k8s.io\" }"}},
		unit:  []string{"-run=TestMatchesKind", "./internal/decision"},
	},
	{
		name:  "a subtree is whoever's part of it is",
		edits: []edit{{"internal/decision/grant.go", "!t.caused && !isAnswered(c, t, rules) })", "!t.caused && !slices.ContainsFunc(rules, func(u triggered) bool { return u.caused }) })"}},
		ways: []string{
			"approving all of an object as an initiator of a part of it",
			"changing what is for others in a field that one adds or removes whole",
		},
	},
	{
		name:  "what was removed before goes with the rest",
		edits: []edit{{"internal/decision/withheld.go", "Apart: left.apart,", "Apart: nil,"}},
		unit:  []string{"-run=TestGrants", "./internal/decision"},
	},
	{
		name:  "an adoption lasts until somebody looks",
		edits: []edit{{"internal/webhook/admission/parentage.go", "	return goes\n", "	return goes || true\n"}},
		unit:  []string{"-run=TestAdoptingUntilSettled", admissionTests},
	},
	{
		name:  "a status counts up a generation",
		edits: []edit{{"internal/webhook/admission/generation.go", "case r.subresource == subresourceStatus:", "case r.subresource == subresourceEviction:"}},
		unit:  []string{"-run=TestGenerationOfAStatus", admissionTests},
	},
	{
		name:  "a scale approves whatever else is there",
		edits: []edit{{"internal/webhook/admission/deviation.go", "len(others) > 0 {", "len(others) > len(ended) {"}},
		unit:  []string{"-run=TestPendingOfAScale", admissionTests},
	},
	{
		name:  "what is pending outlives its approval",
		edits: []edit{{"internal/webhook/admission/deviation.go", "slices.Concat(has.Withheld(), all.Withheld())", "slices.Concat(has.Withheld(), all.Withheld()[:0])"}},
		unit:  []string{"-run=TestApprovingWhatIsPending", admissionTests},
	},
	{
		name:  "what is pending is folded in after its approval",
		edits: []edit{{"internal/controller/holder/consume.go", "p.Allowances = c.without(p.Allowances, grants[i+1:])", "p.Allowances = c.without(p.Allowances, grants[i:i])"}},
		unit:  []string{"-run=TestAdvance", "./internal/controller/holder"},
	},
	{
		name:  "a label does not count for what is pending",
		edits: []edit{{"internal/record/pending.go", "if len(values) == 0 {", "if len(values) >= 0 {"}},
		unit:  []string{"-run=TestCountsByMetadata", "./internal/record"},
	},
	{
		name:  "nothing is withheld beside what is",
		edits: []edit{{"internal/record/approved.go", "to.Withheld = append(to.Withheld, markOf(a))", "_ = markOf(a)"}},
		unit:  []string{"-run=TestPendingBesideAState", "./internal/record"},
	},
	{
		name: "an approval that comes with a change is lost",
		edits: []edit{{
			"internal/webhook/admission/deviation.go", "	if len(out) == 0 || !f.leaves(ctx, r, v, out, has) {", "	if len(out) == 0 || len(f.OwnChanges) > 0 || !f.leaves(ctx, r, v, out, has) {",
		}},
		unit: []string{"-run=TestApprovingFieldsThatAllowTheSame", admissionTests},
	},
	{
		name:  "an approval is of whatever is there",
		edits: []edit{{"internal/webhook/admission/approve.go", "if digest != \"\" && (", "if digest == \"none\" && ("}},
		ways:  []string{"changing the parent"},
		unit:  []string{admissionTests},
	},
	{
		name:  "anybody acts through the status",
		edits: []edit{{"internal/decision/actions.go", "		g.grant.Refuse = true\n", ""}},
		ways:  []string{"acting through the status of somebody's object"},
		unit:  []string{"-run=TestActions", "./internal/decision"},
	},
	{
		name:  "who acts needs nothing that rules ask for",
		edits: []edit{{"internal/decision/actions.go", "			g.earn(ctx, &t, c, false)", "			t.Conditions = nil\n			g.earn(ctx, &t, c, false)"}},
		ways:  []string{"acting through the status without what the rules ask for"},
		unit:  []string{"-run=TestActions", "./internal/decision"},
	},
	{
		name:  "what was withheld before an approval is withheld as it was",
		edits: []edit{{"internal/record/effective.go", "a.Mutation == e.Mutation && a.Replaced != e.Replaced", "a.Mutation == e.Mutation && false"}},
		unit:  []string{"-run=TestFoldKnows", "./internal/record"},
	},
	{
		name:  "a grant whose content is gone stays beside one that withholds it",
		edits: []edit{{"internal/record/synchronous.go", "return isLost(old, found)", "return isLost(old, nil)"}},
		unit:  []string{"-run=TestReturning", "./internal/record"},
	},
	{
		name:  "what was found withheld is folded in again and again",
		edits: []edit{{"internal/record/effective.go", "ledger.Annotation(holder, ledger.NameApproved) != \"\"", "false"}},
		unit:  []string{"-run=TestFoldBeside|TestUnseenIsFoldedInOnce", "./internal/record", "./internal/controller/holder"},
	},
	{
		name:  "what other actions are about lets anybody act",
		edits: []edit{{"internal/decision/actions.go", "len(acted) == 0 && !caused && p.Action", "len(acted) < 0 && !caused && p.Action"}},
		unit:  []string{"-run=TestActions", "./internal/decision"},
	},
	{
		name:  "a field may be called like a creation",
		edits: []edit{{"internal/policy/compile_entry.go", "text == v1alpha1.MutationCreateObject || ", ""}},
		unit:  []string{"-run=TestCompile", "./internal/policy"},
	},
	{
		name:  "the last policy decides how strict it is",
		edits: []edit{{"internal/decision/decide.go", "p.Action == v1alpha1.ActionDeny || p.Action == v1alpha1.ActionWarn && action == v1alpha1.ActionAudit", "p.Action != action"}},
		unit:  []string{"-run=TestStrictest", "./internal/decision"},
	},
	{
		name:  "what is withheld, and what is outside, are allowances",
		edits: []edit{{"internal/decision/cover.go", "e.IsWithheld() || e.IsExternal() || ", ""}},
		unit:  []string{"-run=TestUsable", "./internal/decision"},
	},
	{
		name:  "who heals is the cause of what somebody allowed",
		edits: []edit{{"internal/decision/chain.go", "if s.initiates && !in.Requester.IsController() {", "if s.initiates {"}},
		unit:  []string{"-run=TestCauses", "./internal/decision"},
	},
	{
		name:  "anybody reports what others act upon",
		edits: []edit{{"internal/decision/reports.go", "	g.grant.Refuse = true\n", ""}},
		ways: []string{
			"having something else applied, by the status of its source",
			"choosing what lost Pods of a StatefulSet are made of, by its status",
			"reporting that what is withheld is carried out, in the object itself",
		},
		unit: []string{"-run=TestReports", "./internal/decision"},
	},
	{
		name:  "who is named for one kind reports of another",
		edits: []edit{{"internal/interception/actions.go", `		name := holder.Resource.Group + "/" + holder.Resource.Resource`, `		name := holder.Resource.Group[:0]`}, {"internal/interception/actions.go", `request.resource.resource == %q && `, `request.resource.resource != %q && `}},
		ways:  []string{"acting through the status of somebody's object"},
		unit:  []string{"-run=TestActionsAreAskedAbout", "./internal/interception"},
	},
	{
		name:  "the API server asks about no status that people write",
		edits: []edit{{"internal/interception/actions.go", "		if !p.HasActions() && ", "		if true || !p.HasActions() && "}},
		ways: []string{
			"acting through the status of somebody's object", "having something else applied, by the status of its source",
			"choosing what lost Pods of a StatefulSet are made of, by its status",
			"reporting that what is withheld is carried out, in the object itself",
		},
	},
	{
		name:  "an age that nothing tells frees people",
		edits: []edit{{"internal/lifecycle/blind.go", "	if !progress.Timed {", "	if progress.Timed {"}},
		ways:  []string{"changing what is new for as long as nobody can tell"},
		unit:  []string{"-run=TestBlind", "./internal/lifecycle"},
	},
	{
		name:  "what is withheld shows in annotations",
		edits: []edit{{gather, "	if !f.CarriesMetadata() {", "	if f.CarriesMetadata() {"}},
		ways:  []string{"showing what is withheld in the annotations of a child"},
	},
	{
		name:  "the status of a kind that nobody has looked at is believed at once",
		edits: []edit{{"internal/knowledge/kind.go", "return s.Late || s.Convention == \"\" && len(s.Conditions)+len(s.Fields) == 0", "return s.Late"}},
		unit:  []string{"-run=TestLag", "./internal/lifecycle"},
	},
	{
		name:  "a status that is said to be late is believed at once",
		edits: []edit{{"internal/knowledge/compile.go", "Late:       s.Quiet", "Late:       false"}},
		unit:  []string{"-run=TestLag", "./internal/lifecycle"},
	},
	{
		name:  "an object that is changed all the time is new all the time",
		edits: []edit{{"internal/lifecycle/consumed.go", "progress.Settled && lag == StatusLag", "progress.Settled && lag == NoLag"}},
		unit:  []string{"-run=TestLag", "./internal/lifecycle"},
	},
	{
		name:  "what a policy reads of a status that is late is believed at once",
		edits: []edit{{"internal/lifecycle/consumed.go", "known.Settled.Late && !e", "false && !e"}},
		unit:  []string{"-run=TestLag", "./internal/lifecycle"},
	},
	{
		name:  "any status proves that a change is carried out",
		edits: []edit{{"internal/knowledge/builtin.go", "var unknown = Kind{", "var unknown = Kind{Proves: []change.Pattern{change.MustParsePattern(\"spec\")}, "}},
		unit:  []string{"./internal/lifecycle"},
	},
	{
		name:  "what strangers write fills ledgers",
		edits: []edit{{"internal/ledger/ledger.go", "	l = l.Without(Entry.IsWithheld)\n", ""}},
		ways:  []string{"changing the parent"},
		unit:  []string{"./internal/ledger"},
	},
	{
		name:  "anybody deletes records",
		edits: []edit{{records, `operations: ["CREATE", "UPDATE", "DELETE"]`, `operations: ["CREATE", "UPDATE"]`}},
		ways:  []string{"deleting a record", "deleting all records at once"},
	},
	{
		name:  "anybody gives records owners",
		edits: []edit{{records, "object.metadata.?ownerReferences.orValue([]).all(o, o in", "object.metadata.?ownerReferences.orValue([]).all(o, true || o in"}},
		ways:  []string{"giving a record an owner, for the collector to delete it"},
	},
	{
		name:  "anybody labels records",
		edits: []edit{{records, "variables.labels.all(k, !k.startsWith('kausality.io/') ||", "variables.labels.all(k, true ||"}},
		ways:  []string{"relabeling a record"},
	},
	{
		name: "a ledger counts without a record",
		edits: []edit{
			{"internal/record/effective.go", "	if !KnowsLedger(rec) {\n", "	if false {\n"},
			{"internal/record/lost.go", "rec.Status.EndedAt == nil && KnowsLedger(rec)", "false"},
		},
		ways: []string{"deleting a record, with its protection out of the way"},
		unit: []string{"./internal/record"},
	},
	{
		name:  "a change of a record fails with another one that shares its write",
		edits: []edit{{"internal/record/turns.go", "if j.err == nil || ", "if true || "}},
		unit:  []string{"-run=TestTogether", "./internal/record"},
	},
	{
		name:  "what the cache has forgotten, and not told of yet, was never there",
		edits: []edit{{"internal/record/told.go", "if last == nil {", "if last == nil || true {"}},
		unit:  []string{"-run=TestLostRecord", "./internal/record"},
	},
	{
		name:  "what the cache still has was never lost",
		edits: []edit{{"internal/record/lost.go", "err == nil && cached != nil", "err != nil && cached != nil"}},
		unit:  []string{"-run=TestLostRecord", "./internal/record"},
	},
	{
		name: "a label of a record stays as anybody writes it",
		edits: []edit{
			{"internal/record/name.go", "if told := rec.Status.ParentUID; told != nil {", "if told := rec.Status.ParentUID; told != nil && rec.Labels[LabelParentUID] == \"\" {"},
			{"internal/record/store.go", "if rec.Labels[LabelParentUID] == value ||", "if rec.Labels[LabelParentUID] != \"\" ||"},
		},
		ways: []string{"having a deletion traced to somebody else, by the label of a record"},
		unit: []string{"./internal/record"},
	},
	{
		name: "whoever reaches the port is the API server",
		edits: []edit{
			{"internal/webhook/entry/caller.go", "if keys.Accepts(r.Context(), r.PathValue(keyValue)) {", "if keys != nil {"},
			{"cmd/operator.go", "server.Register(path+entry.KeyPattern, ", "server.Register(path+\"/\", "},
		},
		ways: []string{
			"posting a review in an initiator's name to the webhook", "posting a scale in an initiator's name to the webhook",
			"posting the deletion of a parent to the webhook",
		},
	},
	{
		name:  "any number of large reviews is judged at a time",
		edits: []edit{{"internal/webhook/entry/room.go", "largeRoom = 8 << 20", "largeRoom = 2 << 30"}},
		ways:  []string{"crowding the webhook with large requests"},
		unit:  []string{"-run=TestMemoryOfManyLargeReviews/containers", admissionTests},
	},
	{
		name:  "anybody opens any number of connections",
		edits: []edit{{"internal/webhook/entry/doors.go", "const mostStrangers = 2048", "const mostStrangers = 1 << 20"}},
		ways:  []string{"keeping the API server out by connections without end"},
	},
	{
		name:  "an upgrade names what things stand for by what that is a part of",
		edits: []edit{{"internal/policy/entry.go", "len(f.Pattern) >= len(name) && slices.Equal(f.Pattern[:len(name)], name)", "true"}},
		unit:  []string{"-run=TestUpgradeNames", "./internal/decision"},
	},
	{
		name:  "an upgrade of what things stand for leaves the rest alone",
		edits: []edit{{"internal/decision/renamed.go", "	uncovered = in.withRest(ctx, uncovered)\n", ""}},
		unit:  []string{"-run=TestUpgradeNames", "./internal/decision"},
	},
	{
		name:  "what a gate has written is what somebody wants, in a creation",
		edits: []edit{{"internal/gate/crossplane/ceiling.go", "	case w.Old == nil && !isApplied(w) && isExported(", "	case false && isExported("}},
		unit:  []string{"-run=TestCeilingOfACreation", "./internal/gate/crossplane"},
	},
	{
		name:  "what a gate has written is what somebody wants, in an update",
		edits: []edit{{"internal/gate/crossplane/ceiling.go", "	if bringsExport(w, before, closedFor) {", "	if false {"}},
		unit:  []string{"-run=TestCeilingOfOwn", "./internal/gate/crossplane"},
	},
	{
		name:  "nobody is told of a ceiling",
		edits: []edit{{"internal/webhook/admission/gates.go", "	if len(keptBack) == 0 || o.gate.bySystem", "	if len(keptBack) >= 0 || o.gate.bySystem"}},
		unit:  []string{"-run=TestCeilingIsTold", admissionTests},
	},
	{
		name:  "nobody is told of what stays outside",
		edits: []edit{{"internal/webhook/admission/validate.go", "	if ru.staysOutside {", "	if false && ru.staysOutside {"}},
		unit:  []string{"-run=TestCeilingIsTold", admissionTests},
	},
	{
		name:  "whatever an export says counts for nothing",
		edits: []edit{{"internal/gate/crossplane/ceiling.go", "	if len(policies) == 0 || !sets.New(policies...).Equal(sets.New(closedFor(ceiling)...)) {", "	if len(policies) == 0 || ceiling == nil && false {"}},
		unit:  []string{"-run=TestCeilingOfACreation", "./internal/gate/crossplane"},
	},
	{
		name:  "what an object stands for outside is metadata like any",
		edits: []edit{{"internal/decision/renamed.go", "	if len(in.Renames) == 0 || ", "	if len(in.Renames) >= 0 || "}},
		ways: []string{
			"naming it where only the cloud is bounded", "naming it in a resource that nobody composes",
			"having other credentials used, or written elsewhere",
		},
		cloud: true,
	},
	{
		name: "what is being deleted gets other names",
		edits: []edit{
			{"internal/decision/renamed.go", "	if len(in.Renames) == 0 || ", "	if len(in.Renames) >= 0 || "},
			{"internal/interception/gatepolicy.go", "&& {deleted} && {renamed})`)", "&& false && {deleted} && {renamed})`)"},
		},
		ways:  []string{"naming it while a resource is being deleted"},
		cloud: true,
	},
	{
		name:  "anybody claims",
		edits: []edit{{"internal/webhook/admission/attaching.go", "	if f.claim != nil {\n		return record", "	if f.claim != nil && f.Operator {\n		return record"}},
		ways:  []string{"claiming somebody else's composite resource"},
		cloud: true,
	},
	{
		name:  "Crossplane takes what anybody names",
		edits: []edit{{"internal/webhook/admission/attaching.go", "		return f.mayCompose()\n", "		return f.mayCompose() || true\n"}},
		ways:  []string{"composing somebody else's managed resource"},
		cloud: true,
	},
	{
		name:  "an adoption that was refused is told like any change",
		edits: []edit{{"internal/cli/why/find.go", "!out.Stray && adopts(e)", "adopts(e) && false"}},
		unit:  []string{"-run=TestWhy$", "./internal/cli/why"},
	},
	{
		name:  "a namespace that goes leaves what composes things",
		edits: []edit{{"internal/controller/gate/place.go", "above.GetNamespace() != \"\" && r.Namespaces", "false && r.Namespaces"}},
		unit:  []string{"-run=TestGoes", "./internal/controller/gate"},
	},
	{
		name:  "anybody says what Crossplane has made",
		edits: []edit{{"internal/webhook/admission/books.go", "	return lineage.FoundOtherwise(", "	if true {\n		return nil\n	}\n	return lineage.FoundOtherwise("}},
		ways:  []string{"naming another resource as what a new composite resource is composed of"},
		cloud: true,
	},
	{
		name:  "the author of what Crossplane finds is anybody in a phase that restricts nothing",
		edits: []edit{{"internal/webhook/admission/books.go", " && !slices.ContainsFunc(f.Bounding(), denies)", ""}},
		unit:  []string{"-run=TestFinding", admissionTests},
	},
	{
		name:  "what is withheld of a claim is bookkeeping",
		edits: []edit{{gather, " && (!f.claimed || !f.Parent.Withholds(c.Path))", ""}},
		ways:  []string{"choosing a composition for somebody else's claim"},
		cloud: true,
	},
	{
		name:  "what Crossplane fills in is approved",
		edits: []edit{{"internal/decision/withheld.go", "Following: in.following(), ", ""}},
		ways:  []string{"choosing a composition by a selector, and taking that back"},
		cloud: true,
		unit:  []string{"-run=TestFollowing", "./internal/decision"},
	},
	{
		name:  "what is said in Crossplane's books is not remembered",
		edits: []edit{{"internal/record/content.go", "		if touched(triggers, c.Path) {", "		if false && touched(triggers, c.Path) {"}},
		ways:  []string{"choosing a composition while nobody looks"},
		cloud: true,
		unit:  []string{"-run=TestChangedSince", "./internal/record"},
	},
	{
		name:  "what the cache has of an object is new enough",
		edits: []edit{{parentage, "case known && (why == doubtBlind || !g.overtaken.has(parent)):", "case known:"}, {parentage, "		case known:\n			why = doubtOvertaken\n", ""}},
		unit:  []string{"-run=TestOvertaken", admissionTests},
	},
	{
		name:  "what only the record of an overtaken parent tells is read from the cache",
		edits: []edit{{parentage, "	if overtaken {\n", "	if overtaken && why == doubtBehind {\n"}},
		unit:  []string{"-run=TestOvertaken", admissionTests},
	},
	{
		name:  "a pending grant goes before the cache has the ledger with it",
		edits: []edit{{"internal/controller/holder/consume.go", "if c.uncached {", "if c.uncached && false {"}},
		unit:  []string{"-run=TestAdvance", "./internal/controller/holder"},
	},
	{
		name:  "policies are known before their rights are",
		edits: []edit{{"internal/controller/catalog/catalog.go", "if e.Served && e.unreviewed {", "if e.Served && false {"}},
		unit:  []string{"-run=TestPolicyIndexReviewsRights", "./internal/controller/catalog"},
	},
	{
		name: "what is known of a policy is from two moments",
		edits: []edit{{"internal/controller/catalog/catalog.go", "	if !ok {\n		return View{}, false\n	}\n	return View{Entry: entry, Usable: c.usableIndexLocked()",
			"	if !ok {\n		return View{}, false\n	}\n	c.mu.Unlock()\n	defer c.mu.Lock()\n	return View{Entry: entry, Usable: policy.NewIndex(c.Usable())"}},
		unit: []string{"-run=TestViewIsOfOneMoment", "./internal/controller/catalog"},
	},
	{
		name:  "a change that nobody has seen is forgotten for the mark of another one",
		edits: []edit{{"internal/controller/holder/unseen.go", "case v.withheld() && v.says(v.unseen.fields), status.Adopting:", "case v.withheld(), status.Adopting:"}},
		unit:  []string{"-run=TestUnseenBesideAnotherMark", "./internal/controller/holder"},
	},
	{
		name:  "a policy stands as it did before others came",
		edits: []edit{{"internal/controller/catalog/catalog.go", "if !maps.EqualFunc(before, c.entries, sameWeight) {", "if len(before) == 0 {"}},
		unit:  []string{"-run=TestCatalogOfTwoVersions", "./internal/controller/catalog"},
	},
	{
		name:  "a policy is viewed beside those that were there before",
		edits: []edit{{"internal/controller/catalog/catalog.go", "	if ofUsable {\n", "	if ofUsable && c.usableIndex == nil {\n"}},
		unit:  []string{"-run=TestViewFollows", "./internal/controller/catalog"},
	},
	{
		name:  "policies are not indexed when another one is said to be in conflict",
		edits: []edit{{"internal/controller/catalog/controller.go", "policy.RankOf(before, before.Status.AdoptedGeneration) != policy.RankOf(after, after.Status.AdoptedGeneration)", "false"}},
		unit:  []string{"-run=TestConcerning", "./internal/controller/catalog"},
	},
	{
		name:  "causes: a request says who changed an object",
		edits: []edit{{"internal/webhook/cause/hook.go", "want = notesOn(before)", "want = notesOn(object)"}},
		unit:  []string{"-run=TestHook", "./internal/webhook/cause"},
	},
	{
		name:  "causes: who changed an object stays, whoever changes it next",
		edits: []edit{{"internal/generate/causes.go", "return equality.Semantic.DeepEqual(said(before), said(after))", "return true"}},
		unit:  []string{"-run=TestSameContent", "./internal/generate"},
	},
	{
		name:  "causes: what is read by name is nobody's",
		edits: []edit{{"internal/generate/expression.go", "	c.noteSources(parsed)\n", ""}},
		unit:  []string{"-run=TestCausedBy|TestConcerns", "./internal/generate"},
	},
	{
		name:  "causes: what a policy made goes back to its account",
		edits: []edit{{"internal/generate/plan/causes.go", "byPolicy := made.Policy.Name", "byPolicy := false && made.Policy.Name"}},
		unit:  []string{"-run=TestCauses", "./internal/generate/plan"},
	},
	{
		name:  "what was approved once is approved whenever it comes back",
		edits: []edit{{"internal/webhook/admission/deviation.go", "if at(has, path) && at(returning, path) || ", "if at(has, path) && (true || at(returning, path)) || "}},
		ways:  []string{"bringing back a number that was approved by a scale"},
	},
	{
		name:  "what may come to be stored yet has gone",
		edits: []edit{{"internal/record/pending.go", "p.After != \"\" && IsAfter(p, holder) && !Counts", "p.After != \"\" && !Counts"}},
		unit:  []string{"-run=TestWithholdingWhatWasApprovedOnce", admissionTests},
	},
	{
		name:  "a stray that was just adopted is in nobody's way once it is gone",
		edits: []edit{{"internal/webhook/admission/strays.go", "		return c.UID == child && time.Since(c.Time.Time) <= outlived", "		return false"}},
		unit:  []string{"-run=TestStrayThatIsDeletedAsItIsAdopted", admissionTests},
	},
	{
		name:  "what is withheld may be an older revision",
		edits: []edit{{"internal/decision/healing.go", "return !slices.ContainsFunc(differences, t.has)", "return true"}},
		unit:  []string{"-run=TestHealingOfStatefulSets", "./internal/decision"},
	},
	{
		name:  "approving a field approves what is above it",
		edits: []edit{{"internal/decision/approve.go", "return change.Pattern(c.Path).Covers(d.Path) })", "return c.Path.Overlaps(d.Path) })"}},
		unit:  []string{"-run=TestApprovalCoversWhatIsBelow", "./internal/decision"},
	},
	{
		name:  "approving all of a stray leaves it one",
		edits: []edit{{"internal/webhook/admission/approve.go", "		a.adoption = true\n\t\ta.all =", "		a.all ="}},
		unit:  []string{"-run=TestApprovingAllOfStray", admissionTests},
	},
	{
		name: "one of several conditions is enough",
		edits: []edit{{
			"internal/decision/conditions.go", "		if problem := c.holds(ctx, condition); problem != nil {\n\t\t\treturn problem\n\t\t}\n\t}\n\treturn nil",
			"		if c.holds(ctx, condition) == nil {\n\t\t\treturn nil\n\t\t}\n\t}\n\tif len(all) > 0 {\n\t\treturn c.holds(ctx, all[0])\n\t}\n\treturn nil",
		}},
		unit: []string{"-run=TestAllConditionsHold", "./internal/decision"},
	},
	{
		name:  "who deletes something has caused that",
		edits: []edit{{"internal/webhook/admission/deletion.go", "User: r.requester.Username, Initiator: initiator, Trace: trace,", "User: r.requester.Username, Initiator: initiator[:0] + r.requester.Username, Trace: trace,"}},
		unit:  []string{"-run=TestDeletionSaysWhoCausedIt", admissionTests},
	},
	{
		name:  "a dry run takes the place of a Pod",
		edits: []edit{{validate, "if passes && !r.dryRun &&", "if passes &&"}},
		unit:  []string{"-run=TestReserve", admissionTests},
	},
	{
		name:  "a file of authorities that becomes bad has none",
		edits: []edit{{authorities, "	if err == nil {\n\t\ta.pool = pool", "	if true {\n\t\ta.pool = pool"}},
		unit:  []string{"-run=TestAuthoritiesOfAFileThatIsBad", entryPackage},
	},
	{
		name:  "a bad file of authorities is told of at each connection",
		edits: []edit{{authorities, "case err != nil && !a.bad:", "case err != nil:"}},
		unit:  []string{"-run=TestAuthoritiesOfAFileThatIsBad", entryPackage},
	},
	{
		name:  "a file of authorities may be garbage at the start",
		edits: []edit{{authorities, "if !pool.AppendCertsFromPEM(bundle) {", "if pool.AppendCertsFromPEM(bundle); false {"}},
		unit:  []string{"-run=TestReadAuthorities", entryPackage},
	},
	{
		name:  "looks whether the port answers take the lines of others in the log",
		edits: []edit{{"internal/webhook/entry/server.go", "if _, ours := l.own.LoadAndDelete(from); ours {", "if _, ours := l.own.LoadAndDelete(from); ours && false {"}},
		unit:  []string{"-run=TestProbesOfAServerThatAsksForCertificates", entryPackage},
	},
	{
		name:  "policies for kinds that nobody can list are taken for ones that work",
		edits: []edit{{"internal/controller/catalog/catalog.go", "served && !resource.Unwatchable, served && resource.Unwatchable", "served || resource.Unwatchable, false"}},
		unit:  []string{"-run=TestCatalogLeavesOutWhatCannotBeWatched", "./internal/controller/catalog"},
	},
	{
		name:  "a kind that cannot be read keeps the policies for others waiting",
		edits: []edit{{"internal/controller/policy/controller.go", "kind == own || !fails && known.Adopted != known.Policy", "true"}},
		unit:  []string{"-run=TestUnread", "./internal/controller/policy"},
	},
	{
		name:  "versions that no API server has any more are known without a cluster",
		edits: []edit{{"internal/cli/offline/isserved.go", "major == 1 && minor <= oldestMinor", "major == 1 && minor < 0"}},
		unit:  []string{"-run=TestServes", "./internal/cli/offline"},
	},
	{
		name:  "operations that there are not are compared with in silence",
		edits: []edit{{"internal/policy/operations.go", "if !isOperation(compared) {", "if true {"}},
		unit:  []string{"-run=TestMisjudgedOperations", "./internal/policy"},
	},
	{
		name:  "nobody is told of a controller that is no subject",
		edits: []edit{{"internal/policy/unexercised.go", "if exercisers && !slices", "if false && !slices"}},
		unit:  []string{"-run=TestUnexercised", "./internal/policy"},
	},
	{
		name:  "a kind in another case is taken for one that is served",
		edits: []edit{{"internal/webhook/v1alpha1/served.go", "return r.GVK == kind })", "return strings.EqualFold(r.GVK.Kind, kind.Kind) })"}, {"internal/webhook/v1alpha1/served.go", "	\"slices\"\n", "	\"slices\"\n	\"strings\"\n"}},
		unit:  []string{"-run=TestWarnings", "./internal/webhook/v1alpha1"},
	},
	{
		name:  "names of clients may be none",
		edits: []edit{{"cmd/options.go", `if o.webhookClientNames != "" && len(o.webhookClients.Names) == 0 {`, `if false {`}},
		unit:  []string{"-run=TestWebhookClients", "./cmd"},
	},
	{
		name:  "a mounted authority may be garbage",
		edits: []edit{{"internal/certs/mounted.go", "if len(p.ca) > 0 && !x509", "if false && !x509"}},
		unit:  []string{"-run=TestMountedAuthorityThatIsNone", "./internal/certs"},
	},
	{
		name:  "arguments that no flag takes are passed over",
		edits: []edit{{"internal/leftover/leftover.go", "	if len(left) == 0 {", "	if len(left) >= 0 {"}},
		unit:  []string{"-run=TestCheck", "./internal/leftover"},
	},
	{
		name:  "policies and tests whose kind does not exist are passed over",
		edits: []edit{{"internal/cli/check/run.go", "	c.say(offline.Misnamed(docs))\n", ""}},
		unit:  []string{"-run=TestRun", "./internal/cli/check"},
	},
	{
		name:  "policies of a version that does not exist are passed over",
		edits: []edit{{"internal/cli/offline/ours.go", "case apiVersion != ours:", "case false:"}},
		unit:  []string{"-run=TestMisnamed", "./internal/cli/offline"},
	},
	{
		name:  "why of all namespaces does not say which",
		edits: []edit{{"internal/cli/why/render.go", "	return phrase.In(ref.Namespace)", `	return ""`}},
		unit:  []string{"-run=TestWhyEverywhere", "./internal/cli/why"},
	},
	{
		name:  "who does not wait is told that the time has passed",
		edits: []edit{{"internal/cli/remove/ready.go", "if ctx.Err() != nil {", "if false {"}},
		unit:  []string{"-run=TestWithoutInterceptionThatIsInterrupted", "./internal/cli/remove"},
	},
	{
		name:  "a rotation that cannot begin ends the operator",
		edits: []edit{{"internal/certs/rotation.go", "		if !couldNotBegin(err) {", "		if true {"}},
		unit:  []string{"-run=TestRotationThatCannotBegin", "./internal/certs"},
	},
	{
		name:  "annotations that stand for fields do not count",
		edits: []edit{{"internal/policy/metadata.go", "			add(e.Kind, pattern)\n		}\n	}\n	for _, e := range slices.Concat", "			_ = pattern\n		}\n	}\n	for _, e := range slices.Concat"}},
		ways:  []string{"writing what only another version of the kind has"},
	},
	{
		name:  "what a composition calls a resource does not count",
		edits: []edit{{"internal/policy/marks.go", "	if p.HasCategory(p.For.GroupKind(), categoryComposite) {", "	if false {"}},
		ways:  []string{"calling what is composed otherwise"},
		cloud: true,
	},
	{
		name: "annotations do not count",
		edits: []edit{
			{gather, "bounds := f.identity(r)\n", "var bounds []change.Pattern\n"},
			{"internal/decision/renamed.go", "	if len(in.Renames) == 0 || ", "	if len(in.Renames) >= 0 || "},
		},
		ways:  []string{"naming somebody else's resource in the cloud", "naming it in a composite resource that is new"},
		cloud: true,
	},
	{
		name: "a name that came while nobody looked is believed",
		edits: []edit{{
			"internal/gate/crossplane/switch.go", "	case !d.IsNamed(w.New, after.Name):", "	case false:",
		}},
		ways:  []string{"naming it while nobody looks"},
		cloud: true,
	},
	{
		name:  "only the provider that a kind has now counts",
		edits: []edit{{"internal/gate/target.go", "		if provider == \"\" || slices", "		if true || slices"}},
		ways:  []string{"calling the provider of a kind otherwise", "taking a kind from its provider"},
		cloud: true,
	},
	{
		name:  "a kind without the category has no gates",
		edits: []edit{{"internal/gate/registry/registry.go", "		driver = past.driver\n", ""}},
		ways:  []string{"taking a kind out of its category"},
		cloud: true,
	},
	{
		name:  "a gate goes with the parent because of which it is one",
		edits: []edit{{"internal/controller/gate/place.go", "!r.Catalog.Known() || len(v.keeping) > 0", "!r.Catalog.Known()"}},
		ways:  []string{"deleting what composes a resource, and leaving that behind", "taking a resource away from what composes it"},
		cloud: true,
	},
	{
		name:  "anybody ends a hold by taking the finalizers off",
		edits: []edit{{"internal/webhook/admission/gatekeeper.go", "	if o.gate.state.Held == nil || ", "	if o.gate.state.Held != nil || "}},
		ways:  []string{"taking the finalizers off what is held back"},
		cloud: true,
	},
	{
		name:  "nobody asks about the finalizers of what is held back",
		edits: []edit{{"internal/interception/conditions.go", ", endsHeldDeletion(in))...)", ")...)"}},
		ways:  []string{"taking the finalizers off what is held back"},
		cloud: true,
	},
	{
		name:  "what has no finalizer may be deleted",
		edits: []edit{{"internal/webhook/admission/gatekeeper.go", "	if o.Gate == nil || !o.gate.IsOutside", "	if o.Gate != nil || !o.gate.IsOutside"}},
		ways:  []string{"taking the finalizers off before the deletion"},
		cloud: true,
	},
	{
		name:  "a finalizer that comes in the middle of a deletion counts",
		edits: []edit{{"internal/webhook/admission/gatekeeper.go", "	case !v.bare.has(r.old.GetUID()):", "	default:"}},
		unit:  []string{"-run=TestFinalizerComesInTheMiddle", "./internal/webhook/admission"},
	},
	{
		name:  "the finalizer of a provider may go while there is another one",
		edits: []edit{{"internal/gate/finalizers.go", "slices.Contains(gone, system) || ", ""}},
		unit:  []string{"-run=TestLetsGo", "./internal/gate"},
	},
	{
		name:  "the garbage collector cannot end the wait for dependents",
		edits: []edit{{"internal/gate/finalizers.go", " && IsKept(before)", ""}},
		unit:  []string{"-run=TestLetsGo", "./internal/gate"},
	},
	{
		name:  "policies for claims are not asked for a rule about the composite resource",
		edits: []edit{{"internal/knowledge/builtin/crossplane.yaml", "  - spec.resourceRef\n", ""}},
		unit:  []string{"-run=TestSteeringIsDocumented", "./internal/policy"},
	},
	{
		name:  "a claim that has lost its composite resource is not told of that",
		edits: []edit{{"internal/webhook/admission/invain.go", "if f.claimed && f.Operation == decision.Create {", "if false {"}},
		unit:  []string{"-run=TestComposite", "./internal/webhook/admission"},
	},
	{
		name:  "a denial of what is made of something withheld names who is denied it as well",
		edits: []edit{{inVain, "if f.CopiesWithheld() {", "if false {"}},
		unit:  []string{"-run=TestDenialAdvises", admissionTests},
	},
	{
		name:  "nobody is told of a key that means nothing",
		edits: []edit{{"internal/webhook/admission/mistyped.go", "for _, key := range r.meaningless() {", "for _, key := range []string(nil) {"}},
		unit:  []string{"-run=TestMistyped", admissionTests},
	},
	{
		name:  "the webhook does not hear of keys that are taken away inside the API server",
		edits: []edit{{"internal/interception/admissionpolicy.go", `!%s.exists(n, k.endsWith("/" + n)) || k.ends`, `!%s.exists(n, true) || k.ends`}},
		unit:  []string{"-run=TestToldOfWhatIsDropped", "./internal/interception"},
	},
	{
		name:  "an approval of what no rule is about is taken for one of something else",
		edits: []edit{{"internal/webhook/admission/approve.go", "len(withheldAt(st, text)) == 0 && st.WaitsAt(path) {", "false {"}},
		unit:  []string{"-run=TestApprovalThatDoesNothing", admissionTests},
	},
	{
		name:  "nobody is told that * does not approve what no rule is about",
		edits: []edit{{"internal/webhook/admission/answer.go", "if a.allowed && len(unruled) > 0 {", "if false {"}},
		unit:  []string{"-run=TestApprovalThatDoesNothing", admissionTests},
	},
	{
		name:  "why offers to approve what no rule is about",
		edits: []edit{{"internal/cli/why/find.go", "if out[i].WaitsForRule {", "if false {"}, {"internal/cli/why/render.go", "	if w.WaitsForRule {\n		renderWaits", "	if false {\n		renderWaits"}},
		unit:  []string{"-run=TestWithheldWithoutARule", "./internal/cli/why"},
	},
	{
		name:  "a denial without versions is one of every upgrade",
		edits: []edit{{"internal/upgrade/blocked.go", "len(d.Versions) == 0 && a.mayBeRest(status, d) ||", "len(d.Versions) == 0 ||"}},
		unit:  []string{"-run=TestIsBlocked", "./internal/controller/upgrade"},
	},
	{
		name:  "who writes next has made what nobody saw",
		edits: []edit{{"internal/webhook/admission/history.go", "if entries[i].Event == v1alpha1.EventWithheld && entries[i].User != r.requester.Username {", "if false {"}},
		unit:  []string{"-run=TestHistoryOfAnObject", admissionTests},
	},
	{
		name:  "what is over counts in a trace as long as the annotation has it",
		edits: []edit{{"internal/cli/trace/read.go", "record.KnowsLedger(rec) {", "false && record.KnowsLedger(rec) {"}},
		unit:  []string{"-run=TestHeld", "./internal/cli/trace"},
	},
	{
		name:  "anybody frees what has kept its gate",
		edits: []edit{{"internal/webhook/admission/gaterelease.go", "	return o.mayRelease(r) && (r.asksToRelease()", "	return o.gate.lost && (r.asksToRelease()"}},
		unit:  []string{"-run=TestGateOfWhatHasLostItsParent", admissionTests},
	},
	{
		name: "an author is who calls himself so",
		edits: []edit{
			{"internal/gate/crossplane/ceiling.go", "	isSaid := says && w.ByAuthor &&", "	isSaid := says &&"},
			{"internal/gate/crossplane/ceiling.go", "	return w.ByAuthor && metav1", "	return metav1"},
		},
		ways:  []string{"applying under the field manager of Crossplane", "applying what nobody composes"},
		cloud: true,
	},
	{
		name:  "what is withheld goes along with what is granted",
		edits: []edit{{"internal/gate/crossplane/switch.go", "		if w.Approved != nil {", "		if false {"}},
		ways:  []string{"riding along with an initiator's change of the same resource"},
		cloud: true,
	},
	{
		name:  "what is withheld of what a parent reads holds nothing back",
		edits: []edit{{"internal/decision/reference.go", "	return slices.ContainsFunc(referents, func(r Referent) bool { return r.IsWithheld() })", "	return false"}},
		ways:  []string{"changing what the parent reads", "hiding what the parent reads by a label"},
	},
	{
		name:  "anybody makes and deletes what others read",
		edits: []edit{{"internal/webhook/admission/validate.go", "	case f.Disturbs(verdict) && !selfContained(verdict):", "	case false:"}},
		ways:  []string{"making something for the parent to read", "deleting what the parent reads"},
	},
	{
		name:  "labels hide what is read",
		edits: []edit{{"internal/webhook/admission/reference.go", "	if !read && out.IsWithheld() {", "	if false {"}},
		ways:  []string{"hiding what the parent reads by a label"},
	},
	{
		name:  "that what is read is new is a cause",
		edits: []edit{{"internal/decision/chain.go", "in.initializingUnbounded() && !s.readBy {", "in.initializingUnbounded() {"}},
		ways:  []string{"making something for the parent to read"},
	},
	{
		name:  "rights: policies are enforced without those of the operator's own",
		edits: []edit{{"internal/controller/policy/conditions.go", "case slices.ContainsFunc(e.lacks, isVital):", "case false:"}},
		unit:  []string{"-run=TestEnforced", "./internal/controller/policy"},
	},
	{
		name:  "rights: no Event tells that one of the operator's own is missing",
		edits: []edit{{"internal/controller/policy/controller.go", "case strings.Contains(enforced.Message, strings.TrimSpace(lackIntro)):", "case false:"}},
		unit:  []string{"-run=TestTrouble", "./internal/controller/policy"},
	},
	{
		name:  "rights: one of the operator's own that is back stays away",
		edits: []edit{{"internal/controller/ownrights/ownrights.go", "isNew := !r.known || !access.SameLacks(r.lacks, lacks)", "isNew := !r.known || len(lacks) > len(r.lacks)"}},
		unit:  []string{"-run=TestReview", "./internal/controller/ownrights"},
	},
	{
		name:  "rights: nobody asks about the Lease",
		edits: []edit{{"internal/access/own.go", "if in.Elected {", "if false {"}},
		unit:  []string{"-run=TestOwnIsWhatIsInstalled", "./internal/access"},
	},
	{
		name:  "commands: that a policy is not enforced is not told",
		edits: []edit{{"internal/cli/cluster/unenforced.go", "if obj == nil || !policies.anyUnenforced() {", "if obj != nil || !policies.anyUnenforced() {"}},
		unit:  []string{"-run=TestUnenforced", "./internal/cli/cluster"},
	},
	{
		name:  "commands: what an idle policy says is told again for each",
		edits: []edit{{"internal/cli/explain/obstacles.go", "return slices.Contains(u.Policies, idle.Policy.Name)", "return false"}},
		unit:  []string{"-run=TestExplainWhileNotEnforced", "./internal/cli/explain"},
	},
	{
		name:  "can: another name is a change",
		edits: []edit{{"internal/cli/can/change.go", "if err := changeable(path, obj); err != nil {", "if err := changeable(path, obj); err != nil && false {"}},
		unit:  []string{"-run=TestSet", "./internal/cli/can"},
	},
	{
		name:  "generating: what a field holds is told",
		edits: []edit{{"internal/valuefree/fields.go", "fmt.Sprintf(\"%s %s\", cause.Field, problem)", "fmt.Sprintf(\"%s %s %s\", cause.Field, problem, cause.Message)"}},
		unit:  []string{"-run=TestWhy", "./internal/valuefree"},
	},
	{
		name:  "generating: what is not of the type of its schema is told",
		edits: []edit{{"internal/controller/generating/carryout.go", "apierrors.IsBadRequest(err), valuefree.NamesFields(err):", "apierrors.IsBadRequest(err):"}},
		unit:  []string{"-run=TestVerdictOn", "./internal/controller/generating"},
	},
	{
		name:  "generating: an answer of an API server is told as it is",
		edits: []edit{{"internal/controller/generating/carryout.go", "reason: reasonFailed, message: valuefree.Text(err)}", "reason: reasonFailed, message: err.Error()}"}},
		unit:  []string{"-run=TestVerdictOn", "./internal/controller/generating"},
	},
	{
		name:  "keys of items are told",
		edits: []edit{{"internal/valuefree/fields.go", "	if number.MatchString(item) {", "	if item != \"\" {"}},
		unit:  []string{"-run=TestWhy", "./internal/valuefree"},
	},
	{
		name:  "what was joined to an error is told as it is",
		edits: []edit{{"internal/valuefree/text.go", "for _, one := range err.Unwrap() {", "for _, one := range err.Unwrap()[:0] {"}},
		unit:  []string{"-run=TestText", "./internal/valuefree"},
	},
	{
		name:  "what another webhook says is told",
		edits: []edit{{"internal/valuefree/text.go", `"verdict[^"`, `"[^"`}},
		unit:  []string{"-run=TestText", "./internal/valuefree"},
	},
	{
		name:  "errors are logged as they are",
		edits: []edit{{"internal/valuefree/log.go", "	return toldError{err, Text(err)}", "	return toldError{err, err.Error()}"}},
		unit:  []string{"-run=TestLogger", "./internal/valuefree"},
	},
	{
		name:  "an answer to a request that cannot be judged tells what fields hold",
		edits: []edit{{"internal/webhook/admission/failure.go", "let through: \" + valuefree.Text(err)", "let through: \" + err.Error()"}},
		unit:  []string{"-run=TestAnswersTellNoValues", admissionTests},
	},
	{
		name:  "remove: GeneratingPolicies wait for an operator",
		edits: []edit{{"internal/cli/remove/generating.go", "return f == v1alpha1.FinalizerGenerating })", "return f == \"\" })"}},
		unit:  []string{"-run=TestWithoutGenerating", "./internal/cli/remove"},
	},
	{
		name:  "remove: what an operator wrote meanwhile does not matter",
		edits: []edit{{"internal/cli/remove/generating.go", "c.Delete(ctx, after, client.Preconditions{UID: &after.UID, ResourceVersion: &after.ResourceVersion})", "c.Delete(ctx, after)"}},
		unit:  []string{"-run=TestWithoutGenerating", "./internal/cli/remove"},
	},
	{
		name:  "remove: GeneratingPolicies may stay",
		edits: []edit{{"internal/cli/remove/ready.go", "len(generating) > 0 && !remove {", "len(generating) > 0 && false {"}},
		unit:  []string{"-run=TestRunWithGenerating", "./internal/cli/remove"},
	},
	{
		name:  "remove: the label of what a policy made stays",
		edits: []edit{{"internal/cli/remove/strip.go", "	left.Labels = stripLabels(after)\n", ""}},
		unit:  []string{"-run=TestStrip", "./internal/cli/remove"},
	},
	{
		name:  "remove: what has a label alone is not looked at",
		edits: []edit{{"internal/cli/remove/remove.go", "	_, ours := metadata.Labels[v1alpha1.LabelGeneratedBy]\n", "	_ = v1alpha1.LabelGeneratedBy\n	ours := false\n"}},
		unit:  []string{"-run=TestAllFindsLabels", "./internal/cli/remove"},
	},
	{
		name:  "generating: what nobody can ask about is not served",
		edits: []edit{{"internal/generate/unserved.go", "served || !known {", "served || known && served {"}},
		unit:  []string{"-run=TestUnserved", "./internal/generate"},
	},
	{
		name:  "generating: what is applied to another namespace is not told",
		edits: []edit{{"internal/controller/generating/status.go", "range e.triggers[trigger].elsewhere {", "range e.triggers[trigger].elsewhere[:0] {"}},
		unit:  []string{"-run=TestToldBeside", "./internal/controller/generating"},
	},
	{
		name:  "explain: all parents of what a policy made have to allow a change",
		edits: []edit{{"internal/cli/explain/others.go", "; generated {", "; generated && false {"}},
		unit:  []string{"-run=TestTogether", "./internal/cli/explain"},
	},
	{
		name:  "generating: which kind is not served is not told",
		edits: []edit{{"internal/controller/generating/status.go", "range waitingFor {", "range waitingFor[:0] {"}},
		unit:  []string{"-run=TestStanding", "./internal/controller/generating"},
	},
	{
		name:  "upgrade: one for nobody is enforced",
		edits: []edit{{"internal/controller/upgrade/status.go", "case v.absent:", "case false:"}},
		unit:  []string{"-run=TestSay", "./internal/controller/upgrade"},
	},
	{
		name:  "a claim is let go without its composite resource",
		edits: []edit{{"internal/webhook/admission/abandoning.go", "	if composite == \"\" || err != nil {", "	if true {"}},
		ways:  []string{"letting a claim go without its composite resource"},
		cloud: true,
	},
	{
		name:  "nobody is asked about the finalizer of a claim",
		edits: []edit{{"internal/interception/conditions.go", " abandonsComposite(in),", ""}},
		unit:  []string{"-run=TestFinalizerOfClaims", "./internal/interception"},
	},
	{
		name:  "anybody lets a claim go",
		edits: []edit{{"internal/webhook/admission/abandoning.go", " || o.mayInitiateHere() {", " || true {"}},
		unit:  []string{"-run=TestClaimIsNotGoneAlone", "./internal/webhook/admission"},
	},
	{
		name:  "a gate that stays is by no policy",
		edits: []edit{{"internal/webhook/admission/gatekept.go", "	return g.keeping\n", "	return nil\n"}},
		unit:  []string{"-run=TestGateOfWhatHasNoClaim", "./internal/webhook/admission"},
	},
	{
		name:  "approving a field that is not there grants",
		edits: []edit{{"internal/webhook/admission/approve.go", "		a.missing = append(a.missing, text)\n		return\n", "		a.missing = append(a.missing, text)\n"}},
		unit:  []string{"-run=TestApprovalThatDoesNothing", "./internal/webhook/admission"},
	},
	{
		name:  "of several approvals what comes of none is not told",
		edits: []edit{{"internal/webhook/admission/answer.go", "	if len(a.missing) > 0 {", "	if len(a.missing) > 0 && len(a.changes) == 0 {"}},
		unit:  []string{"-run=TestApprovalThatDoesNothing", "./internal/webhook/admission"},
	},
	{
		name:  "approve: a field that is not there is left out in silence",
		edits: []edit{{"internal/cli/approve/approval.go", "strings.HasSuffix(text, decision.NothingThere)", "text == decision.NothingThere"}},
		unit:  []string{"-run=TestApprove", "./internal/cli/approve"},
	},
	{
		name:  "while something is withheld, what no rule allows is promised",
		edits: []edit{{"internal/webhook/admission/invain.go", "		if slices.ContainsFunc(impossible, func", "		if false && slices.ContainsFunc(impossible, func"}},
		unit:  []string{"-run=TestDenialAdvises", "./internal/webhook/admission"},
	},
	{
		name:  "while something is withheld, who approves it is promised anything",
		edits: []edit{{"internal/webhook/admission/messages.go", "return !slices.Contains(helps, name)", "return false"}},
		unit:  []string{"-run=TestDenialAdvises", "./internal/webhook/admission"},
	},
	{
		name:  "a denial does not name what the parent reads",
		edits: []edit{{"internal/webhook/admission/messages.go", "	if text := f.changeWhatIsRead(v); text != \"\" && len", "	if text := f.changeWhatIsRead(v); false && len"}},
		unit:  []string{"-run=TestDenialAdvises", "./internal/webhook/admission"},
	},
	{
		name:  "why: what is made of a field later has not been taken back",
		edits: []edit{{"internal/cli/why/ended.go", " && !record.Since(&c).After(e.Time.Time)", ""}},
		unit:  []string{"-run=TestEndedSince", "./internal/cli/why"},
	},
	{
		name:  "why: what is withheld again was not taken back before",
		edits: []edit{{"internal/cli/why/ended.go", "earlier := history[i+1:]", "earlier := history[i*0:]"}},
		unit:  []string{"-run=TestEndedSince", "./internal/cli/why"},
	},
	{
		name:  "why: what the parent reads allows nothing",
		edits: []edit{{"internal/cli/why/remedy.go", "slices.Concat(maintained(policies, d.Kind, path), beyond.throughRead(d.Kind, path))", "maintained(policies, d.Kind, path)"}},
		unit:  []string{"-run=TestBeyond", "./internal/cli/why"},
	},
	{
		name:  "why: an UpgradeAllowance that was not asked is forgotten",
		edits: []edit{{"internal/cli/why/remedy.go", "upgrades := beyond.upgraded(d, path)", "upgrades := beyond.upgraded(d, path)[:0]"}},
		unit:  []string{"-run=TestBeyond", "./internal/cli/why"},
	},
	{
		name:  "why: what an object was refused to be a child of is not told",
		edits: []edit{{"internal/cli/why/find.go", "e) || wouldAdopt(*subject, e)):", "e)):"}},
		unit:  []string{"-run=TestParentThatIsNotGiven", "./internal/cli/why"},
	},
	{
		name:  "why: what is refused below by itself is not told",
		edits: []edit{{"internal/cli/why/below.go", "e != nil && b.Refused == \"\" {", "e != nil && b.Refused != \"\" {"}},
		unit:  []string{"-run=TestBelowRefusesItself", "./internal/cli/why"},
	},
	{
		name:  "can: what reads an object is forgotten",
		edits: []edit{{"internal/cli/can/follow.go", "		if p.through != \"\" {\n			out = add(", "		if p.through == \"\" {\n			out = add("}},
		unit:  []string{"-run=TestThrough", "./internal/cli/can"},
	},
	{
		name:  "can: what is allowed already is not allowed again",
		edits: []edit{{"internal/cli/can/ask.go", "		r.Granted = again\n", "		r.Granted = again[:0]\n"}},
		unit:  []string{"-run=TestCompare", "./internal/cli/can"},
	},
	{
		name:  "a warning offers an approval that a condition forbids",
		edits: []edit{{"internal/webhook/admission/messages.go", "len(notMet) > 0 {", "len(notMet) > 99 {"}},
		unit:  []string{"-run=TestWarningOfConditions", "./internal/webhook/admission"},
	},
	{
		name:  "expressions: an allowance has any field",
		edits: []edit{{"internal/policy/misjudged.go", "!slices.Contains(allowanceHas, name)", "len(allowanceHas) == 0"}},
		unit:  []string{"-run=TestMisjudged", "./internal/policy"},
	},
	{
		name:  "expressions: what is created was there before",
		edits: []edit{{"internal/policy/misknown.go", " && !guarded {", " && guarded {"}},
		unit:  []string{"-run=TestBeforeCreation", "./internal/policy"},
	},
	{
		name:  "knowledge: anything is a template",
		edits: []edit{{"internal/policy/misknown.go", "is != \"\" && is != change.ValueMap", "is == \"\" && is != change.ValueMap"}},
		unit:  []string{"-run=TestMisknown", "./internal/policy"},
	},
	{
		name:  "knowledge: children of kinds that nobody serves",
		edits: []edit{{"internal/webhook/v1alpha1/allowancepolicy_warnings.go", "return r.GVK.GroupKind() == kind })", "return r.GVK.Kind == kind.Kind })"}},
		unit:  []string{"-run=TestWarningOfUnservedChildren", "./internal/webhook/v1alpha1"},
	},
	{
		name:  "what Kausality pauses itself is somebody's pause",
		edits: []edit{{"internal/cli/stops/stops.go", "(held == nil || held.Paused)", "(held == nil || held != nil)"}},
		unit:  []string{"-run=TestOn", "./internal/cli/stops"},
	},
	{
		name:  "what has settled is new for anybody until the operator has looked",
		edits: []edit{{"internal/webhook/admission/ceased.go", "return e.IsCreation() && spent(e) })", "return false && spent(e) })"}},
		unit:  []string{"-run=TestCeased", admissionTests},
	},
	{
		name:  "what an initiator changes keeps new what has settled",
		edits: []edit{{"internal/webhook/admission/ceased.go", " && !policy.MayInitiate(r.requester, policies)", ""}},
		unit:  []string{"-run=TestCeased", admissionTests},
	},
	{
		name:  "what a controller writes late ends its time to write",
		edits: []edit{{"internal/webhook/admission/ceased.go", "	return e.IsCreation() && r.old != nil &&", "	return false && r.old != nil &&"}},
		unit:  []string{"-run=TestCeased", admissionTests},
	},
	{
		name:  "below what has settled anybody may change what it made, until the operator has looked",
		edits: []edit{{"internal/webhook/admission/gather.go", "f.parentObject != nil && !f.MayExercise()", "f.parentObject == nil && !f.MayExercise()"}},
		unit:  []string{"-run=TestChildOfCeased", admissionTests},
	},
	{
		name:  "what the operator notes between both webhooks another one has written",
		edits: []edit{{"internal/webhook/admission/validate.go", "	case o.justCeased:", "	case false:"}},
		unit:  []string{"-run=TestCeasedOnTheWay", admissionTests},
	},
	{
		name:  "what another webhook writes into what has settled is to be tried again",
		edits: []edit{{"internal/webhook/admission/ceased.go", "return len(foreign.Without(func(e ledger.Entry) bool { return hasKey(next, e) })) == 0", "return len(next) > 0"}},
		unit:  []string{"-run=TestCeasedOnTheWay", admissionTests},
	},
	{
		name:  "what a stray stands for goes with its parent",
		edits: []edit{{"internal/decision/external.go", "going && !in.wasStray() && ", "going && "}},
		ways:  []string{"making anew what was lost, as what somebody else has in the cloud"},
		cloud: true,
	},
	{
		name:  "a stray opens its gate while its parent goes",
		edits: []edit{{"internal/decision/external.go", "len(verbs) == 0 || in.IsStray() {", "len(verbs) == 0 {"}},
		unit:  []string{"-run=TestStrayOfWhatGoes", "./internal/decision"},
	},
	{
		name:  "strays are forgotten with their parent",
		edits: []edit{{"internal/record/ended.go", "	status.Adopting, status.AdoptingSince, status.SetAside", "	status.Strays = nil\n	status.Adopting, status.AdoptingSince, status.SetAside"}},
		unit:  []string{"-run=TestStraysOutliveTheirParent", "./internal/record"},
	},
	{
		name:  "nobody reads the strays of a parent that is gone",
		edits: []edit{{"internal/webhook/admission/parentage.go", "			if r.driver != nil {\n				p.bounds.Strays,", "			if r.driver == nil {\n				p.bounds.Strays,"}},
		unit:  []string{"-run=TestDeletionIsHeld", "./internal/webhook/admission"},
	},
	{
		name:  "a stray that is held goes on by what lets its parent's things go",
		edits: []edit{{"internal/controller/gate/place.go", "v.stray = slices.ContainsFunc(strays, ", "v.stray = false && slices.ContainsFunc(strays, "}},
		unit:  []string{"-run=TestStrayIsHeld", "./internal/controller/gate"},
	},
	{
		name:  "whose thing a stray stands for is not told",
		edits: []edit{{"internal/gate/stray.go", "driver.SharesName(obj, other) {", "false {"}},
		unit:  []string{"-run=TestDescribeStray", "./internal/gate"},
	},
	{
		name:  "who approves a stray is not told what it stands for",
		edits: []edit{{"internal/webhook/admission/answer.go", "a.adoption && o.outsideNote != \"\" &&", "a.adoption && o.outsideNote == \"-\" &&"}},
		unit:  []string{"-run=TestStrayOutside", "./internal/webhook/admission"},
	},
	{
		name:  "the quiet time begins with the change, whenever the status tells of it",
		edits: []edit{{"internal/controller/holder/quiet.go", " || told && !known.told {", " || told && false {"}},
		unit:  []string{"-run=TestSpecs", "./internal/controller/holder"},
	},
	{
		name:  "the quiet time begins anew with each report",
		edits: []edit{{"internal/controller/holder/quiet.go", " || told && !known.told {", " || told != known.told {"}},
		unit:  []string{"-run=TestSpecs", "./internal/controller/holder"},
	},
	{
		name:  "what anybody writes into a status tells of a generation",
		edits: []edit{{"internal/lifecycle/quiet.go", "slices.ContainsFunc(requirements(obj, list), func(r requirement) bool { return about(r.conditionType) })", "slices.ContainsFunc([]string{\"Synced\", \"Ready\", \"kausality.io/Blocked\"}, about)"}},
		unit:  []string{"-run=TestTells", "./internal/lifecycle"},
	},
	{
		name:  "one write has one cause",
		edits: []edit{{"internal/decision/judge.go", "		at = len(j.causes)\n		j.causes = append(", "		if at = 0; len(j.causes) > 0 {\n			return\n		}\n		j.causes = append("}},
		unit:  []string{"-run=TestCausesOfOneWrite", "./internal/decision"},
	},
	{
		name:  "history: one write has one cause",
		edits: []edit{{"internal/record/history.go", "	if len(causes) < 2 {", "	if len(causes) < 99 {"}},
		unit:  []string{"-run=TestByCause", "./internal/record"},
	},
	{
		name:  "a value that says nothing of what stays outside is taken for no",
		edits: []edit{{"internal/controller/gate/deletion.go", "	case unclear != \"\":", "	case false && unclear != \"\":"}},
		unit:  []string{"-run=TestGatePlan", "./internal/controller/gate"},
	},
	{
		name:  "nobody is told of a value that says nothing of what stays outside",
		edits: []edit{{"internal/webhook/admission/gates.go", "		case unclear != \"\":\n", "		case false && unclear != \"\":\n"}},
		unit:  []string{"-run=TestGateIsSetInEachWrite", "./internal/webhook/admission"},
	},
	{
		name:  "a value that says nothing of a gate's release is not told",
		edits: []edit{{"internal/webhook/admission/gaterelease.go", "	case said != isTrue:", "	case false:"}},
		unit:  []string{"-run=TestGateIsSetInEachWrite", "./internal/webhook/admission"},
	},
	{
		name:  "nobody is told that a value does not say whose a policy is",
		edits: []edit{{"internal/webhook/v1alpha1/allowancepolicy_webhook.go", "	if !said || value", "	if said || value"}},
		unit:  []string{"-run=TestManagedSaysOneOfTwo", "./internal/webhook/v1alpha1"},
	},
	{
		name:  "a claim is to be made anew before what it had is gone",
		edits: []edit{{"internal/cli/stops/stops.go", "	if obj.GetDeletionTimestamp() != nil {", "	if false {"}},
		unit:  []string{"-run=TestOn", "./internal/cli/stops"},
	},
	{
		name:  "what keeps an object whose deletion was let go on is not told",
		edits: []edit{{"internal/cli/explain/gate.go", "state.Held == nil && obj.GetDeletionTimestamp() != nil {", "state.Held == nil && false {"}},
		unit:  []string{"-run=TestGateOfWhatIsKept", "./internal/cli/explain"},
	},
	{
		name:  "upgrade: what another one says of the outside counts for nothing",
		edits: []edit{{"internal/decision/upgrade.go", "in.Gate == nil || len(in.upgradeSources(u)) > 0 {", "in.Gate == nil || u != nil {"}},
		unit:  []string{"-run=TestUpgradeOpensGates", "./internal/decision"},
	},
	{
		name:  "a controller takes what a stranger's parent selects",
		edits: []edit{{"internal/webhook/admission/attaching.go", "	return f.maySelect()\n", "	return true\n"}},
		unit:  []string{"-run=TestSelecting", admissionTests},
	},
	{
		name:  "what is selected by a parent that was made again is not taken",
		edits: []edit{{"internal/webhook/admission/attaching.go", "slices.ContainsFunc(known, f.isThroughItsName)", "slices.ContainsFunc(known, f.isThroughAdopter)"}},
		unit:  []string{"-run=TestSelecting", admissionTests},
	},
	{
		name:  "for which groups something was made that selects is not told",
		edits: []edit{{"internal/webhook/admission/attaching.go", " || index.Known(kind).Selector != \"\"", ""}},
		unit:  []string{"-run=TestAttestsForSelectors", admissionTests},
	},
}
