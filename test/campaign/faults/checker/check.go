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
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/policylog"
)

// Interval is a time in which something was so.
type Interval struct{ From, To time.Time }

// contains reports whether a time is in the interval.
func (i Interval) contains(t time.Time) bool { return !t.Before(i.From) && !t.After(i.To) }

// Evidence is all that there is to judge by.
type Evidence struct {
	// Log is the audit log.
	Log *audit.Log
	// Final are the objects that are there at the end, as JSON: Deployments,
	// ReplicaSets, Pods and AllowanceRecords.
	Final []json.RawMessage
	// Operator is the user that the operator acts as.
	Operator string
	// Killed are the times in which an operator was down, or about to be: what it had
	// not written down by then of what only says what happened is lost.
	Killed []Interval
}

// Promise is one of the things that have to be so.
type Promise string

// The promises.
const (
	// Corrupted ledgers there are none.
	Corrupted Promise = "corrupted ledger"
	// Invented allowances there are none.
	Invented Promise = "invented allowance"
	// Lost allowances there are none.
	Lost Promise = "lost allowance"
	// Unended allowances there are none, where there is nothing left to do.
	Unended Promise = "allowance that has not ended"
	// Undone work there is none.
	Undone Promise = "legitimate work not done"
	// Misrecorded is nothing.
	Misrecorded Promise = "record that says something else"
)

// Finding is a promise that was not kept.
type Finding struct {
	Promise Promise
	// At is when it was broken.
	At time.Time
	// Object it is about.
	Object string
	// What happened.
	What string
	// Excused is true where nobody could be asked, and policies had it that work goes on
	// then.
	Excused bool
}

func (f Finding) String() string {
	return fmt.Sprintf("%s %s: %s: %s", f.At.Format("15:04:05.000"), f.Promise, f.Object, f.What)
}

// Report is what the checker found, and how much it has looked at.
type Report struct {
	Findings []Finding
	// Versions are those of ledgers, Grants the changes that had to earn something, and
	// Records those that were compared.
	Versions, Grants, Records int
}

// Unexcused returns the findings that nothing excuses.
func (r *Report) Unexcused() []Finding {
	return slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return f.Excused })
}

// checker is a check that goes on.
type checker struct {
	Evidence
	lives map[types.UID]*audit.Life
	rules policylog.Log
	final map[types.UID]*audit.Object
	// byName are the objects of a name, byTarget the records of an object, and tried the
	// requests that there were.
	byName   map[string][]*audit.Life
	byTarget map[types.UID][]*audit.Life
	tried    map[attempt]bool
	// ledgers are what annotations say, by their text.
	ledgers map[string]ledgerText

	report Report
}

// Check looks at all the evidence.
func Check(e Evidence) (*Report, error) {
	c := &checker{Evidence: e, lives: audit.Lives(e.Log.Writes), final: map[types.UID]*audit.Object{}}
	c.ledgers, c.byName = map[string]ledgerText{}, map[string][]*audit.Life{}
	c.tried = attempts(e.Log)
	for _, resource := range []string{deployments, replicaSets, pods} {
		for _, l := range c.of(resource) {
			v := l.Versions[0]
			key := v.Kind + "/" + v.Namespace + "/" + v.Name
			c.byName[key] = append(c.byName[key], l)
		}
	}
	var err error
	if c.rules, err = policylog.Read(c.of(policies), kinds); err != nil {
		return nil, err
	}
	for _, raw := range e.Final {
		obj, err := e.Log.Decode(raw)
		if err != nil {
			return nil, err
		}
		c.final[obj.UID] = obj
	}
	c.checkLedgers()
	c.checkGrants()
	c.checkWork()
	if err := c.checkRecords(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(c.report.Findings, func(a, b Finding) int { return a.At.Compare(b.At) })
	return &c.report, nil
}

func (c *checker) findf(promise Promise, at time.Time, object, format string, args ...any) {
	c.report.Findings = append(c.report.Findings, Finding{Promise: promise, At: at, Object: object, What: fmt.Sprintf(format, args...)})
}

// of returns the lives of a resource's objects, the first one first.
func (c *checker) of(resource string) []*audit.Life {
	var out []*audit.Life
	for _, l := range c.lives {
		if l.First().Kind == kinds[resource] {
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(a, b *audit.Life) int {
		return cmp.Or(cmp.Compare(a.First().Revision, b.First().Revision), strings.Compare(string(a.UID), string(b.UID)))
	})
	return out
}
