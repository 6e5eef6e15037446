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

package policylog

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kausality.io/operator/test/campaign/audit"
)

// Labels are those that an object has for a while. They came between two times, zero where it was made
// with them, and the next ones were asked for at the third.
type Labels struct {
	Asked, Stored, Until time.Time
	ByKey                map[string]string
}

// LabelsOf returns the labels that an object had, in order.
func LabelsOf(l *audit.Life) []Labels {
	var out []Labels
	for i, v := range l.Versions {
		switch n := len(out); {
		case i == 0:
			out = append(out, Labels{Until: audit.Forever, ByKey: v.Labels})
		case !labels.Equals(v.Labels, out[n-1].ByKey):
			out[n-1].Until = v.By.Received
			out = append(out, Labels{Asked: v.By.Received, Stored: v.By.Answered, Until: audit.Forever, ByKey: v.Labels})
		}
	}
	return out
}

// Of returns the policies as they are in effect for an object with some labels, in a namespace with some. One that
// selects neither by these nor by those is as it was. Others come and go with the labels.
func (l Log) Of(namespace, object []Labels) Log {
	out := make(Log, 0, len(l))
	for _, p := range l {
		if p.NamespaceSelector == nil && p.ObjectSelector == nil {
			out = append(out, p)
			continue
		}
		for _, in := range matching(p.NamespaceSelector, namespace) {
			for _, of := range matching(p.ObjectSelector, object) {
				if part := p.during(in, of); part != nil {
					out = append(out, part)
				}
			}
		}
	}
	return out
}

// matching returns for how long a selector matches; it does from the beginning on where it is nil.
func matching(selector *metav1.LabelSelector, all []Labels) []Labels {
	if selector == nil {
		return []Labels{{Until: audit.Forever}}
	}
	matches, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil // The API server does not take it.
	}
	var out []Labels
	for _, has := range all {
		if !matches.Matches(labels.Set(has.ByKey)) {
			continue
		}
		if n := len(out); n > 0 && out[n-1].Until.Equal(has.Asked) {
			out[n-1].Until = has.Until
			continue
		}
		out = append(out, has)
	}
	return out
}

// Selects reports whether the policy selects an object by its labels.
func (p *Policy) Selects(object map[string]string) bool {
	return len(matching(p.ObjectSelector, []Labels{{ByKey: object, Until: audit.Forever}})) > 0
}

// during returns the policy as it is in effect for what has labels at some time, nil where it never is.
func (p *Policy) during(all ...Labels) *Policy {
	out := *p
	for _, l := range all {
		out.Until = earlier(out.Until, l.Until)
		if l.Asked.IsZero() {
			continue
		}
		effect := l.Stored.Add(Moment)
		out.Since, out.From, out.Unbroken = later(out.Since, l.Asked), later(out.From, effect), later(out.Unbroken, effect)
	}
	if !out.Since.Before(out.Until) {
		return nil
	}
	return &out
}

func earlier(a, b time.Time) time.Time { return slices.MinFunc([]time.Time{a, b}, time.Time.Compare) }

func later(a, b time.Time) time.Time { return slices.MaxFunc([]time.Time{a, b}, time.Time.Compare) }
