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

package checker

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/marks"
	"kausality.io/operator/test/campaign/policylog"
)

// lag is how much older than a request the version may be that a controller, or the operator,
// goes by.
const lag = 2 * time.Second

// state is what the model says of one version of an object.
type state struct {
	// initializing is true until the object has settled for the first time.
	initializing bool
	// held are the changes that nobody approved of.
	held []held
	// causes are what its changes let happen, until it has settled.
	causes []cause
	// approved are the acts of strangers whose values are none any more.
	approved map[int]bool
	// doubtful is what may be withheld: it was changed around the coming and going of a policy, or withheld
	// before that. It is approved as far as it counts against anybody, and so is that it is put back.
	doubtful []held
}

// held is a change that nobody with the right to it has made.
type held struct {
	path   []string
	before any
	// marks are the acts of the values that it brought, none where it only took away.
	marks []int
	// loose is true where policies came or went since: it may have been carried out while nobody was asked.
	loose bool
}

// cause is a change that lets something happen.
type cause struct {
	generation int64
	// at is when it was asked for.
	at time.Time
	// entries is what it lets happen, and any is true where a section let it through that
	// says no more.
	entries []policylog.Permission
	// creation is true where the change is the creation of the object.
	creation bool
	// over is when the object reported that it had settled, where a quiet time follows; zero before.
	over time.Time
}

// untimed is for how long a cause certainly lasts that only time ends: less than the default ttl.
const untimed = 9 * time.Minute

// quiet is the default of --status-quiet-time.
const quiet = 5 * time.Second

// beginning is how long an operator that was started may take until it has looked at all objects.
const beginning = 5 * time.Second

// span is when something began and ended from which the quiet time of an object counts anew.
type span struct{ from, to time.Time }

// lasts reports whether a cause still counts below an object that has settled: the quiet time may not have
// passed since. Each request for the object or its children starts that anew, and so does
// each start of an operator, which does not know for how long it has been quiet.
func (c *checker) lasts(x cause, above *audit.Life, at time.Time) bool {
	last := x.over
	for _, s := range c.activityOf(above) {
		if !s.from.Before(at) || s.from.Sub(last) > quiet+lag {
			break
		}
		if s.to.After(last) {
			last = s.to
		}
	}
	return at.Sub(last) <= quiet+lag
}

// activityOf returns from when the quiet time of an object counts anew, in order.
func (c *checker) activityOf(above *audit.Life) []span {
	if spans, known := c.activity[above.UID]; known {
		return spans
	}
	var spans []span
	for _, t := range c.requestsBelow(above) {
		spans = append(spans, span{t, t})
	}
	for _, t := range c.started {
		// It says the second.
		spans = append(spans, span{t, t.Add(time.Second + beginning)})
	}
	slices.SortFunc(spans, func(a, b span) int { return a.from.Compare(b.from) })
	c.activity[above.UID] = spans
	return spans
}

// requestsBelow returns when requests for an object or its children were received.
func (c *checker) requestsBelow(above *audit.Life) []time.Time {
	var times []time.Time
	for _, w := range c.Log.Writes {
		for _, l := range c.byName[kinds[w.Resource]+"/"+w.Namespace+"/"+w.Name] {
			if owner := l.FoundAt(w.Answered).Controller(); l.UID == above.UID || owner != nil && owner.UID == above.UID {
				times = append(times, w.Received)
			}
		}
	}
	return times
}

// statesOf returns what the model says of each version of an object.
func (c *checker) statesOf(l *audit.Life) []*state {
	if states, asked := c.states[l]; asked {
		return states
	}
	c.states[l] = nil // Who asks meanwhile goes in a ring of owners.
	states := make([]*state, 0, len(l.Versions))
	for i, v := range l.Versions {
		if i == 0 {
			states = append(states, c.born(l, v))
			continue
		}
		states = append(states, c.follow(l, v, states[i-1]))
	}
	c.states[l] = states
	return c.states[l]
}

// born returns the state of what was just created: all of it is its author's, but what a controller carried on.
func (c *checker) born(l *audit.Life, v *audit.Version) *state {
	s := &state{initializing: v.By.Creates(), approved: map[int]bool{}}
	s.approve(v.Object, c.launders(l, v)...)
	// What is made of it is named after it.
	s.approveMarks(marks.In(v.Name))
	if !s.initializing {
		// It was there before the log.
		return s
	}
	for _, p := range c.rulesOf(l).Ever(v.Kind, v.By.Received, v.By.Answered) {
		if p.Initializing == nil {
			s.causes = append(s.causes, cause{generation: v.Generation, at: v.By.Received, entries: everything(p), creation: true})
		} else {
			s.causes = append(s.causes, cause{generation: v.Generation, at: v.By.Received, entries: p.Initializing.Policies, creation: true})
		}
	}
	return s
}

// everything returns an entry for each resource that the policy names.
func everything(p *policylog.Policy) []policylog.Permission {
	var out []policylog.Permission
	for _, s := range p.Sections() {
		if s == nil {
			continue
		}
		for _, e := range s.Policies {
			e.Verbs, e.Mutations = []string{"*"}, nil
			out = append(out, e)
		}
	}
	return out
}

// follow returns the state of a version, by that of the one before.
func (c *checker) follow(l *audit.Life, v *audit.Version, before *state) *state {
	s := &state{
		initializing: before.initializing, held: slices.Clone(before.held), causes: slices.Clone(before.causes),
		approved: before.approved, doubtful: before.doubtful,
	}
	ever := c.rulesOf(l).Ever(v.Kind, v.By.Received.Add(-lag), v.By.Answered)
	changes := slices.Concat(audit.ContentChanges(v.Before.Object, v.Object), audit.LabelChanges(v.Before.Object, v.Object))
	part := c.rightsTo(l, v)
	// Without an owner nothing governs an object whose policies name no initiator.
	governing := c.rulesOf(l).During(v.Kind, v.Before.Controller() != nil || v.Controller() != nil, v.By.Received, v.By.Answered)
	entered := c.entered(l, v)
	near := len(governing)+len(entered) == 0 || c.disturbedBut(l, v.By.Received.Add(-lag), v.By.Answered.Add(lag), entered)
	governing = append(governing, entered...)
	if near || len(entered) > 0 || c.disturbed(l, v.Before.By.Received.Add(-lag), v.By.Answered.Add(lag)) {
		// What is there when a policy comes or goes is taken as it is, but for what was withheld before, which stays so.
		s.loosen()
		s.approve(v.Before.Object, s.heldMarks()...)
	}
	switch {
	case near:
		c.followLoosely(s, l, v, ever, changes)
	case part.less && c.isApproved(l, v):
		if c.isCovered(l, v) {
			s.accept(changes, c.launders(l, v)...)
			s.cause(ever, v, changes)
			changes = nil
		}
		s.begin(ever, governing, v, part, pieces(ever, changes), true)
	case c.isApproved(l, v) && !v.ApprovesAll():
		if c.caused(l, v) {
			s.accept(changes, c.launders(l, v)...)
			s.cause(ever, v, changes)
		} else {
			s.withhold(governing, pieces(ever, changes))
		}
		s.approvePaths(ever, v)
	case c.isApproved(l, v):
		s.held = nil
		s.approve(v.Object)
		s.cause(ever, v, nil)
	case len(changes) == 0:
	case part.less && !c.isCovered(l, v):
		s.begin(ever, governing, v, part, pieces(ever, changes), false)
	case c.caused(l, v):
		s.accept(changes, c.launders(l, v)...)
		s.cause(ever, v, changes)
	default:
		filled, others := before.filledIn(ever, v, pieces(ever, changes))
		if len(filled) > 0 {
			s.accept(filled, c.launders(l, v)...)
			s.cause(ever, v, filled)
		}
		s.withhold(governing, others)
	}
	s.refresh(v.Object)
	if settled(v) && c.isReport(v) {
		s.initializing = false
		s.settle(v)
		s.prove(v)
	}
	if v.Kind == kinds[jobs] && !s.initializing {
		s.finish()
	}
	return s
}

// followLoosely notes what is changed just as a policy comes or goes: it is taken as it is, too.
func (c *checker) followLoosely(s *state, l *audit.Life, v *audit.Version, ever []*policylog.Policy, changes []audit.Change) {
	s.keep(v, pieces(ever, changes))
	switch {
	case c.isApproved(l, v):
		s.held = nil
		s.approve(v.Object)
		s.cause(ever, v, nil)
	case len(changes) > 0 && c.caused(l, v):
		s.cause(ever, v, changes)
	}
}

// loosen notes that policies came or went: what is withheld may have been carried out meanwhile, and whether putting it
// back is anybody's fault is not known.
func (s *state) loosen() {
	s.doubt(s.held)
	for i := range s.held {
		s.held[i].loose = true
	}
}

// keep notes changes from around the coming and going of a policy, which may be withheld or not, as what is changed again
// of what was withheld.
func (s *state) keep(v *audit.Version, changes []audit.Change) {
	for _, ch := range changes {
		s.held = slices.DeleteFunc(s.held, func(h held) bool { return audit.Related(h.path, ch.Path) })
		s.doubt([]held{{path: ch.Path, before: ch.Before}})
	}
	s.approve(v.Object, s.heldMarks()...)
}

// heldMarks returns the acts whose values are withheld.
func (s *state) heldMarks() []int {
	var out []int
	for _, h := range s.held {
		out = append(out, h.marks...)
	}
	return out
}

// filledIn divides changes into those by which a controller that a policy names fills in what a new object does not
// have, as many do before they do anything else, and others. What is withheld is not filled in.
func (s *state) filledIn(ever []*policylog.Policy, v *audit.Version, changes []audit.Change) (filled, others []audit.Change) {
	may := s.initializing && !slices.ContainsFunc(v.Writers(), func(w *audit.Write) bool {
		return !carriesOut(w) || !policylog.Knows(ever, w, false)
	})
	for _, ch := range changes {
		if may && ch.Verb == audit.Inserts && !slices.ContainsFunc(s.held, func(h held) bool { return audit.Related(h.path, ch.Path) }) {
			filled = append(filled, ch)
		} else {
			others = append(others, ch)
		}
	}
	return filled, others
}

// serviceAccounts begin the names of the users that controllers act as.
const serviceAccounts = "system:serviceaccount:"

// finish ends what is withheld of a Job that has ended, which makes nothing any more: no report comes after that. It
// can still be deleted.
func (s *state) finish() {
	s.held = slices.DeleteFunc(s.held, func(h held) bool {
		return audit.Within(h.path, []string{"spec"}) && !audit.Within(h.path, []string{"spec", "template"}) && !audit.Within(h.path, lifetime)
	})
}

// settle ends the causes for which a version reports that it has settled, or starts their quiet time.
func (s *state) settle(v *audit.Version) {
	s.causes = slices.DeleteFunc(s.causes, func(x cause) bool {
		return settledAt(v, x.generation) && (x.creation || v.Kind != kinds[things] && v.Kind != kinds[others])
	})
	for i := range s.causes {
		if x := &s.causes[i]; x.over.IsZero() && settledAt(v, x.generation) {
			x.over = v.By.Answered
		}
	}
}

// prove ends what is withheld of fields of which a report of the present generation proves that all
// children are as they say: there is nothing left to hold back. Where there are no children it proves
// nothing, and what brought values of strangers stays withheld, but for what no child gets, and what children may have got while
// nobody was asked.
func (s *state) prove(v *audit.Version) {
	if !settledAt(v, v.Generation) {
		return
	}
	proven := proves(v)
	s.held = slices.DeleteFunc(s.held, func(h held) bool {
		return (len(h.marks) == 0 || h.loose || !isCopied(h.path)) && slices.ContainsFunc(proven, func(field []string) bool { return audit.Within(h.path, field) })
	})
}

// isCopied reports whether children get what an object has at a path: of the metadata of templates only
// labels, annotations and finalizers.
func isCopied(path []string) bool {
	metadata := []string{"spec", "template", "metadata"}
	return !audit.Within(path, metadata) || len(path) == len(metadata) ||
		slices.Contains([]string{"labels", "annotations", "finalizers"}, path[len(metadata)])
}

// proves returns the fields of which the status of a version that has settled proves that they are
// carried out.
func proves(v *audit.Version) [][]string {
	template, replicas := []string{"spec", "template"}, []string{"spec", "replicas"}
	switch v.Kind {
	case kinds[deployments], kinds[statefulSets]:
		if want := v.Replicas(); want > 0 && v.Status.Replicas == want {
			return [][]string{template, replicas}
		}
	case kinds[daemonSets]:
		if v.Status.DesiredNumberScheduled > 0 {
			return [][]string{template}
		}
	case kinds[jobs]:
		return [][]string{{"spec"}}
	}
	return nil
}

// isApproved reports whether somebody who may approves of what is there.
func (c *checker) isApproved(l *audit.Life, v *audit.Version) bool {
	return slices.ContainsFunc(v.Writers(), func(w *audit.Write) bool { return v.Approves(w) && c.initiates(l, v, w) })
}

// disturbed reports whether a policy came or went in an interval by which an object is
// governed: its own, and where that only goes on with what others begin, one above it.
func (c *checker) disturbed(l *audit.Life, from, to time.Time) bool {
	return c.disturbedBut(l, from, to, nil)
}

// disturbedBut reports whether another policy than some came or went in an interval by which an object is governed.
func (c *checker) disturbedBut(l *audit.Life, from, to time.Time, but []*policylog.Policy) bool {
	for range deepest {
		kind := l.First().Kind
		rules := slices.DeleteFunc(slices.Clone(c.rulesOf(l)), func(p *policylog.Policy) bool {
			return slices.ContainsFunc(but, func(b *policylog.Policy) bool { return b.Name == p.Name })
		})
		if rules.Came(kind, from, to) || c.lapsed(from, to) {
			return true
		}
		above := l.FoundAt(to).Controller()
		if above == nil || c.lives[above.UID] == nil || slices.ContainsFunc(c.rulesOf(l).Ever(kind, from, to), (*policylog.Policy).Initiates) {
			return false
		}
		l = c.lives[above.UID]
	}
	return false
}

// deepest is how many objects are above each other at most: owners may be in a ring.
const deepest = 4

// caused reports whether somebody made the version who may begin with it, or whom something
// above lets make it.
func (c *checker) caused(l *audit.Life, v *audit.Version) bool {
	return c.isCovered(l, v) || slices.ContainsFunc(v.Writers(), func(w *audit.Write) bool { return c.initiates(l, v, w) })
}

// isCovered reports whether something above lets somebody make the version.
func (c *checker) isCovered(l *audit.Life, v *audit.Version) bool {
	return slices.ContainsFunc(v.Writers(), func(w *audit.Write) bool {
		child := c.childVersion(l, v, w)
		return child != nil && len(child.changes) > 0 && !slices.Contains([]string{"", unbounded}, c.grants(child))
	})
}

// initiates reports whether somebody may begin something with an object, or above it.
func (c *checker) initiates(l *audit.Life, v *audit.Version, w *audit.Write) bool {
	approving := v.Approves(w)
	for depth := 0; l != nil && depth < deepest; depth++ {
		if policylog.Knows(c.rulesOf(l).Ever(v.Kind, w.Received.Add(-lag), w.Answered), w, true) {
			// Above it, only approving counts.
			return depth == 0 || approving
		}
		above := v.Controller()
		if above == nil || c.lives[above.UID] == nil {
			return false
		}
		l = c.lives[above.UID]
		v = l.FoundAt(w.Received)
	}
	return false
}

// approvePaths approves of what is withheld at the paths that a version approves of. Whether a path was meant
// as it is there is not known where it is said what was looked at, nor whether an item of a list is still
// where it was.
func (s *state) approvePaths(ever []*policylog.Policy, v *audit.Version) {
	for _, path := range v.ApprovedPaths() {
		s.cause(ever, v, []audit.Change{{Path: path}})
		s.held = slices.DeleteFunc(s.held, func(h held) bool {
			if !audit.Within(h.path, path) && !audit.Within(path, h.path) {
				return false
			}
			s.approveMarks(h.marks)
			s.doubt([]held{h})
			return true
		})
	}
}

// approve takes all strangers' values that are there for approved, but those of some acts.
func (s *state) approve(o *audit.Object, but ...int) {
	s.approveMarks(without(slices.Concat(o.Marks, marks.Of(o.Labels)), but))
}

// without returns acts but some.
func without(acts, but []int) []int {
	return slices.DeleteFunc(slices.Clone(acts), func(n int) bool { return slices.Contains(but, n) })
}

// approveMarks takes the values of some acts for approved.
func (s *state) approveMarks(marks []int) {
	if len(marks) == 0 {
		return
	}
	approved := make(map[int]bool, len(s.approved)+len(marks))
	for n := range s.approved {
		approved[n] = true
	}
	for _, n := range marks {
		approved[n] = true
	}
	s.approved = approved
}

// accept notes changes that have a cause: what was withheld of the same fields is not any
// more. Their values are approved, but those of some acts.
func (s *state) accept(changes []audit.Change, but ...int) {
	for _, ch := range changes {
		s.doubtful = slices.DeleteFunc(slices.Clone(s.doubtful), func(h held) bool { return audit.Within(h.path, ch.Path) })
		s.held = slices.DeleteFunc(s.held, func(h held) bool { return audit.Related(h.path, ch.Path) })
		s.approveMarks(without(marks.Of(ch.After), but))
	}
}

// withhold notes changes that have none. What no rule is about stays.
func (s *state) withhold(all []*policylog.Policy, changes []audit.Change) {
	for _, ch := range changes {
		if !triggers(all, ch) || s.putsBack(ch) {
			s.approveMarks(marks.Of(ch.After))
			continue
		}
		fresh := slices.DeleteFunc(marks.Of(ch.After), func(n int) bool { return s.approved[n] })
		i := slices.IndexFunc(s.held, func(h held) bool { return equality.Semantic.DeepEqual(h.path, ch.Path) })
		if i >= 0 {
			s.held[i].marks = fresh // What was there before the first one is what it was.
			continue
		}
		// What changes in something that was changed as a whole goes along with that, when it goes.
		if i := slices.IndexFunc(s.held, func(h held) bool { return len(h.path) < len(ch.Path) && audit.Within(ch.Path, h.path) }); i >= 0 && len(s.held[i].marks) > 0 {
			s.held[i].marks = slices.Concat(s.held[i].marks, fresh)
			continue
		}
		s.held = append(s.held, held{path: ch.Path, before: ch.Before, marks: fresh})
	}
}

// doubt notes what may be withheld. What was there before the first change of a field is what it was.
func (s *state) doubt(all []held) {
	for _, h := range all {
		if !slices.ContainsFunc(s.doubtful, func(old held) bool { return equality.Semantic.DeepEqual(old.path, h.path) }) {
			s.doubtful = append(slices.Clip(s.doubtful), h)
		}
	}
}

// putsBack reports whether a change takes back what may be withheld.
func (s *state) putsBack(ch audit.Change) bool {
	return slices.ContainsFunc(s.doubtful, func(h held) bool {
		return equality.Semantic.DeepEqual(h.path, ch.Path) && equality.Semantic.DeepEqual(audit.Absent(h.before), audit.Absent(ch.After))
	})
}

// triggers reports whether a rule is about a change.
func triggers(all []*policylog.Policy, ch audit.Change) bool {
	return slices.ContainsFunc(all, func(p *policylog.Policy) bool {
		return slices.ContainsFunc(p.Rules, func(r policylog.Rule) bool { return audit.Related(ch.Path, policylog.PathOf(r.Trigger)) })
	})
}

// refresh forgets what is withheld no more, as its values have gone or the old one is back.
func (s *state) refresh(o *audit.Object) {
	var there []int
	if len(s.held) > 0 {
		there = slices.Concat(o.Marks, marks.Of(o.Labels))
	}
	s.held = slices.DeleteFunc(s.held, func(h held) bool {
		if equality.Semantic.DeepEqual(audit.Absent(h.before), audit.Absent(whole(o, h.path))) {
			return true
		}
		return len(h.marks) > 0 && !slices.ContainsFunc(h.marks, func(n int) bool { return slices.Contains(there, n) })
	})
}

// whole returns the value of an object at a path, labels included.
func whole(o *audit.Object, path []string) any {
	if !audit.Within(path, audit.LabelsPath) {
		return o.At(path...)
	}
	if len(path) < 3 {
		return nil
	}
	value, ok := o.Labels[path[2]]
	if !ok {
		return nil
	}
	return value
}

// cause notes what changes let happen; where there are none, all of the object counts as
// changed.
func (s *state) cause(all []*policylog.Policy, v *audit.Version, changes []audit.Change) {
	for _, p := range all {
		for _, r := range p.Rules {
			if !r.Holds(v.Object) {
				continue
			}
			if changes == nil || slices.ContainsFunc(changes, func(ch audit.Change) bool { return audit.Related(ch.Path, policylog.PathOf(r.Trigger)) }) {
				s.causes = append(s.causes, cause{generation: v.Generation, at: v.By.Received, entries: r.Policies})
			}
		}
	}
}

// isReport reports whether the controller of the kind wrote the version: what a stranger says
// in a status is no news.
func (*checker) isReport(v *audit.Version) bool {
	return slices.ContainsFunc(v.Writers(), func(w *audit.Write) bool { return w.User == controllers[v.Kind] })
}

// controllers are who reports on the objects of a kind.
var controllers = map[string]string{
	kinds[deployments]:  controllerUser("deployment-controller"),
	kinds[replicaSets]:  controllerUser("replicaset-controller"),
	kinds[statefulSets]: controllerUser("statefulset-controller"),
	kinds[daemonSets]:   controllerUser("daemon-set-controller"),
	kinds[jobs]:         controllerUser("job-controller"),
	kinds[cronJobs]:     controllerUser("cronjob-controller"),
	kinds[things]:       controllerUser("thing-controller"),
	kinds[others]:       controllerUser("other-thing-controller"),
}

func controllerUser(name string) string { return "system:serviceaccount:kube-system:" + name }

// settled reports whether there is nothing left to do of what the status has seen.
func settled(v *audit.Version) bool {
	s, want := &v.Status, v.Replicas()
	switch v.Kind {
	case kinds[deployments]:
		// By Recreate the new ReplicaSet is made once the old Pods have ended, and while it is paused none is. Without replicas no
		// count tells either.
		ending := want == 0 && v.At("spec", "strategy", "type") == "Recreate" && s.TerminatingReplicas > 0
		paused, _ := v.At("spec", "paused").(bool)
		return s.Replicas == want && s.UpdatedReplicas == want && s.AvailableReplicas == want && !ending && (want > 0 || !paused)
	case kinds[replicaSets]:
		return s.Replicas == want && s.AvailableReplicas == want
	case kinds[statefulSets]:
		return s.UpdatedReplicas == want && s.AvailableReplicas == want
	case kinds[daemonSets]:
		return s.UpdatedNumberScheduled == s.DesiredNumberScheduled && s.NumberAvailable == s.DesiredNumberScheduled
	case kinds[jobs]:
		return s.Is("Complete") || s.Is("Failed") // One that is suspended may not have begun.
	case kinds[cronJobs]:
		return s.LastScheduleTime != nil
	case kinds[things], kinds[others]:
		return s.Is("Ready")
	default:
		return false
	}
}

// settledAt reports whether a version that has settled says so of a generation. A CronJob
// says none: what a change of it lets happen stays.
func settledAt(v *audit.Version, generation int64) bool {
	switch v.Kind {
	case kinds[jobs]:
		return true
	case kinds[cronJobs]:
		return generation == 1
	}
	return v.Status.ObservedGeneration >= generation
}
