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

package check

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/offline"
	"kausality.io/operator/internal/cli/source"
)

// Difference is how an answer differs from what a case expects.
type Difference struct {
	// Of is the field of the expectation.
	Of string `json:"of"`
	// Want is what the case expects and the answer lacks, line by line.
	Want []string `json:"want,omitempty"`
	// Got is what the answer has and the case does not expect.
	Got []string `json:"got,omitempty"`
}

// differences compares an answer with what is expected of it.
func differences(e *Expectation, a *offline.Answer) []Difference {
	var out []Difference
	if e.Allowed != nil && *e.Allowed != a.Allowed {
		out = append(out, Difference{Of: "allowed", Want: []string{verdict(*e.Allowed)}, Got: []string{verdict(a.Allowed) + why(a)}})
	}
	if e.Reason != "" && e.Reason != a.Reason {
		out = append(out, Difference{Of: "reason", Want: []string{e.Reason}, Got: []string{a.Reason}})
	}
	if e.Grants != nil {
		out = append(out, compareGrants(*e.Grants, a.Granted)...)
	}
	if e.Withheld != nil {
		out = append(out, comparePaths("withheld", *e.Withheld, paths(a.Withheld))...)
	}
	if e.Cleared != nil {
		out = append(out, comparePaths("cleared", *e.Cleared, a.Cleared)...)
	}
	if told := append([]string{a.Message}, a.Warnings...); !slices.ContainsFunc(told, func(s string) bool { return strings.Contains(s, e.Message) }) {
		told = slices.DeleteFunc(told, func(s string) bool { return s == "" })
		if len(told) == 0 {
			told = []string{"nothing"}
		}
		out = append(out, Difference{Of: "message", Want: []string{e.Message}, Got: told})
	}
	return out
}

func verdict(allowed bool) string {
	if allowed {
		return "allowed"
	}
	return "denied"
}

func why(a *offline.Answer) string {
	switch {
	case a.Message != "":
		return " (" + a.Reason + "): " + a.Message
	case a.Reason != "":
		return " (" + a.Reason + ")"
	default:
		return ""
	}
}

func paths(withheld []v1alpha1.Allowance) []string {
	out := make([]string, 0, len(withheld))
	for _, w := range withheld {
		out = append(out, w.Mutation)
	}
	return out
}

func comparePaths(of string, want, got []string) []Difference {
	missing := slices.DeleteFunc(slices.Clone(want), func(s string) bool { return slices.Contains(got, s) })
	extra := slices.DeleteFunc(slices.Clone(got), func(s string) bool { return slices.Contains(want, s) })
	if len(missing)+len(extra) == 0 {
		return nil
	}
	return []Difference{{Of: of, Want: missing, Got: extra}}
}

// compareGrants pairs each allowance that is expected with one that was granted.
func compareGrants(want, got []v1alpha1.Allowance) []Difference {
	extra := slices.Clone(got)
	var d Difference
	for _, w := range want {
		i := slices.IndexFunc(extra, func(g v1alpha1.Allowance) bool { return agrees(w, g) })
		if i < 0 {
			d.Want = append(d.Want, oneLine(w))
			continue
		}
		extra = slices.Delete(extra, i, i+1)
	}
	for _, g := range extra {
		d.Got = append(d.Got, oneLine(g))
	}
	if len(d.Want)+len(d.Got) == 0 {
		return nil
	}
	d.Of = "grants"
	return []Difference{d}
}

// agrees reports whether an allowance has all that another one gives.
func agrees(want, got v1alpha1.Allowance) bool {
	wanted, err := fieldsOf(want)
	if err != nil {
		return false
	}
	has, err := fieldsOf(got)
	return err == nil && within(wanted, has)
}

func fieldsOf(a v1alpha1.Allowance) (map[string]any, error) {
	return runtime.DefaultUnstructuredConverter.ToUnstructured(&a)
}

// within reports whether a value has all that another one gives. Lists are complete.
func within(want, got any) bool {
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		for name, value := range want {
			ok = ok && within(value, got[name])
		}
		return ok
	case []any:
		got, ok := got.([]any)
		ok = ok && len(want) == len(got)
		for i := range want {
			ok = ok && within(want[i], got[i])
		}
		return ok
	default:
		return equality.Semantic.DeepEqual(want, got)
	}
}

// oneLine returns an allowance as a test would have it.
func oneLine(a v1alpha1.Allowance) string {
	line, err := source.Line(a)
	if err != nil {
		return fmt.Sprintf("{kind: %s, mutation: %s}", a.Kind, a.Mutation)
	}
	return line
}
