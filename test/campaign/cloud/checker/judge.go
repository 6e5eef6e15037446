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
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Flight is how long before a call the managed resource may have been as the call
// needs it: a provider looks at the resource, asks the cloud how things are, and then
// asks it for the change.
const Flight = 2 * time.Second

// Evidence is what there is to judge by.
type Evidence struct {
	Requests []Request
	Calls    []Call
	Policies Policies
	Users    Users
	// Patience is how long an approved change may take that nobody interferes with, and
	// that nobody is away for.
	Patience time.Duration
	// Outages are when somebody was away who is needed.
	Outages []Span
}

// Span is a while.
type Span struct{ From, To time.Time }

// without returns how long the span is without others, which do not overlap.
func (s Span) without(others []Span) time.Duration {
	left := s.To.Sub(s.From)
	for _, o := range others {
		from, to := o.From, o.To
		if from.Before(s.From) {
			from = s.From
		}
		if to.After(s.To) {
			to = s.To
		}
		left -= max(0, to.Sub(from))
	}
	return left
}

// Finding is something that must not be.
type Finding struct {
	// What is a word for its kind; see the documentation of the package.
	What string
	// When it was.
	When time.Time
	Text string
}

func (f Finding) String() string {
	return fmt.Sprintf("%s %s: %s", f.When.Format("15:04:05.000"), f.What, f.Text)
}

// Verdict is what the evidence shows.
type Verdict struct {
	Findings []Finding
	Counts   Counts
	// Openings are when gates were open, and what for.
	Openings []Opening
}

// Counts say how much there was to be judged.
type Counts struct {
	// Mutations are the calls that were to change something in the cloud, and InFlight
	// those of them whose gate was closed again before they came.
	Mutations, InFlight int
	// Writes are the requests that changed, made or ended what a database consists of.
	Writes int
	// Versions are those of managed resources.
	Versions int
	// TakenBack are those of them that wrote what a stranger had taken back, or an initiator
	// overruled, in the moment before, which docs/bypasses.md says is not stopped, and
	// CarriedOut the calls that followed from these.
	TakenBack, CarriedOut int
	// Changes were made or approved by initiators; Arrived are those that reached the
	// cloud, and Superseded those that others followed before they could.
	Changes, Arrived, Superseded int
	// Strange are the changes that somebody else made, or tried to.
	Strange int
	// Deleted are the databases that initiators deleted with what they were in the
	// cloud, and Preserved those whose instances stayed there.
	Deleted, Preserved int
	// Unresponsive are the composite resources that Crossplane has stopped following
	// for a while, as they changed too often.
	Unresponsive int
}

// checker judges what was written down.
type checker struct {
	Evidence
	history

	verdict Verdict
	// back are the versions of managed resources that have what was taken back in the moment
	// before.
	back map[*version]bool
	// led are the allowances that lead to somebody.
	led map[string]error
}

// Check judges.
func Check(e Evidence) Verdict {
	c := &checker{Evidence: e, history: remember(e.Requests), back: map[*version]bool{}, led: map[string]error{}}
	c.writes()
	for _, call := range e.Calls {
		c.verdict.Counts.Mutations++
		c.mutation(call)
	}
	for _, managed := range c.byResource[instances] {
		for _, v := range managed.versions {
			c.verdict.Counts.Versions++
			c.gate(managed, v)
		}
		c.openings(managed)
	}
	for _, root := range c.roots() {
		c.arrivals(root)
		c.deletion(root)
	}
	c.strange()
	c.leftovers()
	slices.SortStableFunc(c.verdict.Findings, func(a, b Finding) int { return a.When.Compare(b.When) })
	return c.verdict
}

func (c *checker) findf(what string, when time.Time, format string, args ...any) {
	c.verdict.Findings = append(c.verdict.Findings, Finding{What: what, When: when, Text: fmt.Sprintf(format, args...)})
}

// mutation looks for what covers a call.
func (c *checker) mutation(call Call) {
	var reasons []string
	for _, managed := range c.at(call.resource()) {
		for _, v := range slices.Backward(managed.versions) {
			if !v.during(call.Received.Add(-Flight), call.Received) {
				continue
			}
			err := c.covers(managed, v, call)
			if err == nil {
				if !v.until.IsZero() && v.until.Before(call.Received) {
					c.verdict.Counts.InFlight++
				}
				return
			}
			reasons = append(reasons, err.Error())
		}
	}
	if c.followsTakenBack(call) {
		c.verdict.Counts.CarriedOut++
		return
	}
	why := "there was no such resource"
	if len(reasons) > 0 {
		why = strings.Join(slices.Compact(reasons), "; before, ")
	}
	c.findf("Uncovered", call.Received, "%s of %s (call %d): %s", call.Verb, call.resource(), call.Number, why)
}

// covers tells why a version of a managed resource does not let a call be made; nil if
// it does.
func (c *checker) covers(managed *object, v *version, call Call) error {
	if !v.lets(call.Verb) {
		return fmt.Errorf("its gate was %v", v.Spec.ManagementPolicies)
	}
	if call.Verb == remove {
		return c.mayDelete(managed, v, call.Received)
	}
	if asked, wanted := encoded(call.Parameters), encoded(v.Spec.ForProvider); asked != wanted {
		return errors.New("its content was another one")
	}
	if err := c.allows(managed, v, call.Verb); err != nil {
		return err
	}
	root := c.root(managed)
	for _, change := range c.Policies.changes(root) {
		if change.made.Spec.Size == call.size() && !change.made.from().After(call.Received) {
			return nil
		}
	}
	return fmt.Errorf("nobody who may has asked for size %s, or approved it", call.size())
}

func encoded(v map[string]any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// allows tells why no allowance in the ledger of a version is for a verb; nil if one
// is.
func (c *checker) allows(managed *object, v *version, verb string) error {
	why := fmt.Errorf("no allowance in its ledger is for %s", verb)
	for _, entry := range v.ledger() {
		if !entry.lets(verb) {
			continue
		}
		if why = c.leads(managed, v, entry, verb); why == nil {
			return nil
		}
	}
	return why
}

// leads tells why the trace of an allowance does not lead to an initiator's own
// request; nil if it does.
func (c *checker) leads(managed *object, v *version, entry allowance, verb string) error {
	key := managed.place.String() + encoded(map[string]any{"entry": entry, "verb": verb})
	if err, known := c.led[key]; known {
		return err
	}
	err := c.follow(managed, v, entry, verb)
	c.led[key] = err
	return err
}

func (c *checker) follow(managed *object, v *version, entry allowance, verb string) error {
	trace := entry.Trace
	if len(trace) < 2 {
		return errors.New("the trace of its allowance leads nowhere")
	}
	own, parent, origin := trace[len(trace)-1], trace[len(trace)-2], trace[0]
	if own.Kind != v.Kind || own.Name != "" && own.Name != managed.place.name {
		return fmt.Errorf("the trace of its allowance ends at %s %s", own.Kind, own.Name)
	}
	root, composite := c.root(managed), c.composite(managed)
	switch {
	case root == nil:
		return errors.New("nobody can tell whose it is")
	case parent.Kind != composite.versions[0].Kind || parent.Name != composite.place.name && parent.Name != "":
		return fmt.Errorf("the trace of its allowance leads to %s %s, which it is not composed by", parent.Kind, parent.Name)
	case origin.Kind != root.versions[0].Kind || origin.Name != root.place.name:
		return fmt.Errorf("the trace of its allowance begins at %s %s, and it is of %s", origin.Kind, origin.Name, root.place)
	case !c.Policies.opens(parent.Kind, parent.Field, verb):
		return fmt.Errorf("no policy lets %s follow from %s of %s", verb, parent.Field, parent.Kind)
	}
	return c.began(root, origin, entry.Initiator)
}

// began tells why nobody has begun on a root what a trace begins with; nil if somebody
// who may did.
func (c *checker) began(root *object, origin hop, initiator string) error {
	for i, v := range root.versions {
		// An approval counts up no generation; of what has settled already it is for the
		// one to come.
		told := v.Metadata.Generation == origin.Generation || approves(v.write) && v.Metadata.Generation+1 == origin.Generation
		if !told || v.write.User != initiator || !c.Policies.initiates(v.Kind, initiator, v.write.Groups) {
			continue
		}
		switch origin.Field {
		case created:
			if i == 0 {
				return nil
			}
		case sizeField:
			if i > 0 && (root.versions[i-1].Spec.Size != v.Spec.Size || approves(v.write)) && c.attests(v.Object, origin) {
				return nil
			}
		}
	}
	return fmt.Errorf("%s did not change %s of %s at generation %d", initiator, origin.Field, root.place, origin.Generation)
}

// attests reports whether a hop says what an object says that it has to.
func (c *checker) attests(o *Object, h hop) bool {
	for _, key := range c.Policies.attested(h.Kind, h.Field) {
		said := o.Metadata.Annotations[key]
		if said == "" || h.Attestations["metadata.annotations["+key+"]"] != said {
			return false
		}
	}
	return true
}

// mayDelete tells why what a managed resource is in the cloud may not be deleted; nil
// if it may.
func (c *checker) mayDelete(managed *object, v *version, when time.Time) error {
	root, composite := c.root(managed), c.composite(managed)
	if !v.deleting() || root == nil {
		return errors.New("it was not being deleted")
	}
	for _, o := range []*object{root, composite} {
		if !c.Policies.deletes(o.versions[0].Kind, o.last().Metadata.Labels) {
			return fmt.Errorf("no policy lets it go with %s", o.place)
		}
	}
	for _, r := range root.deletions {
		if c.Policies.initiates(root.versions[0].Kind, r.User, r.Groups) && r.Received.Before(when) {
			return nil
		}
	}
	return fmt.Errorf("nobody who may has deleted %s", root.place)
}

// gate looks at whether a gate was as it has to be.
func (c *checker) gate(managed *object, v *version) {
	for _, verb := range v.open() {
		var err error
		switch {
		case verb == remove && v.deleting():
			err = c.mayDelete(managed, v, v.write.Answered)
		case verb == everything:
			err = errors.New("it was wide open")
		default:
			err = c.allows(managed, v, verb)
		}
		if err != nil {
			c.findf("Open", v.from(), "%s was open for %s in version %s, written by %s: %v",
				managed.place, verb, v.Metadata.ResourceVersion, v.write.User, err)
		}
	}
	for _, entry := range v.ledger() {
		if entry.Relation != external {
			continue
		}
		for _, verb := range entry.Mutations {
			if err := c.leads(managed, v, entry, verb); err != nil {
				c.findf("Forged", v.from(), "%s in version %s: %v", managed.place, v.Metadata.ResourceVersion, err)
			}
		}
	}
}
