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
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"kausality.io/operator/internal/cli/offline"
	"kausality.io/operator/internal/cli/source"
	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/policy"
)

// Options say what to check.
type Options struct {
	// Files are files and directories of policies and tests, and source.Stdin.
	Files []string
	// CRDs are files and directories of CustomResourceDefinitions.
	CRDs []string
	// Stdin is the standard input.
	Stdin io.Reader
}

// checker is one check.
type checker struct {
	kinds  *offline.Kinds
	report *Report
	// linted are the policies by file and line: those that tests name were perhaps
	// linted before.
	linted map[source.Place]*compiled
	// clashing are where policies are of which it is said that they clash.
	clashing sets.Set[source.Place]
	// idle are where policies are of which it is said that a controller may not carry out what they allow.
	idle sets.Set[source.Place]
	// places are where the policies are, by kind and name.
	places map[string]source.Place
}

// compiled holds what a document was compiled to: one of the two, or neither.
type compiled struct {
	policy     *policy.Policy
	generating *generate.Policy
}

// compiledSet are the policies that requests and triggers of a test meet.
type compiledSet struct {
	policies   []*policy.Policy
	generating []*generate.Policy
}

// Run checks the files. The error says what cannot be read.
func Run(ctx context.Context, opts Options) (*Report, error) {
	docs, malformed, err := source.Read(opts.Files, opts.Stdin)
	if err != nil {
		return nil, err
	}
	definitions, wrong, err := source.Read(opts.CRDs, opts.Stdin)
	if err != nil {
		return nil, err
	}
	c := &checker{
		kinds:  offline.NewKinds(),
		report: &Report{},
		linted: map[source.Place]*compiled{}, clashing: sets.New[source.Place](), idle: sets.New[source.Place](),
		places: map[string]source.Place{},
	}
	c.say(append(malformed, wrong...))
	c.say(offline.Misnamed(docs))
	var tests []*loaded
	for _, doc := range docs {
		if doc.GVK() == testKind {
			tests = append(tests, c.load(doc))
		}
	}
	for _, test := range tests {
		definitions = append(definitions, c.beside(test, "crds", test.CRDs)...)
	}
	c.define(append(definitions, docs...))
	all, err := c.lint(ctx, docs)
	if err != nil {
		return nil, err
	}
	for _, test := range tests {
		policies := all
		if len(test.Policies) > 0 {
			if policies, err = c.lint(ctx, c.beside(test, "policies", test.Policies)); err != nil {
				return nil, err
			}
		}
		c.run(ctx, test, policies)
	}
	c.report.Unknown = slices.Compact(slices.Sorted(slices.Values(c.report.Unknown)))
	if c.report.Policies+len(tests)+len(c.report.Findings) == 0 {
		return nil, fmt.Errorf("there is no AllowancePolicy, GeneratingPolicy or %s in %s", testKind.Kind, strings.Join(opts.Files, ", "))
	}
	return c.report, nil
}

// loaded is a test and its document.
type loaded struct {
	PolicyTest
	doc *source.Document
}

// load reads a test. One with something wrong in it has no cases that could be run.
func (c *checker) load(doc *source.Document) *loaded {
	test := &loaded{doc: doc}
	if wrong := doc.Decode(&test.PolicyTest); len(wrong) > 0 {
		c.say(wrong)
		test.Cases = nil
	} else if len(test.Cases) == 0 {
		c.say([]source.Problem{doc.Problem("cases", "the test has no cases")})
	}
	return test
}

// beside reads the files that a test names, from its own directory.
func (c *checker) beside(test *loaded, field string, names []string) []*source.Document {
	var out []*source.Document
	for i, name := range names {
		if !filepath.IsAbs(name) && test.doc.File() != source.StdinName {
			name = filepath.Join(filepath.Dir(test.doc.File()), name)
		}
		docs, wrong, err := source.Read([]string{name}, nil)
		if err != nil {
			wrong = append(wrong, test.doc.Problem(fmt.Sprintf("%s[%d]", field, i), "%v", err))
		}
		c.say(append(wrong, offline.Misnamed(docs)...))
		out = append(out, docs...)
	}
	return out
}

func (c *checker) say(problems []source.Problem) {
	for _, p := range problems {
		c.report.add(problem(p))
	}
}

// define adds the kinds of the CustomResourceDefinitions among the documents.
func (c *checker) define(docs []*source.Document) {
	for _, doc := range docs {
		if offline.IsDefinition(doc.GVK()) {
			c.report.add(define(c.kinds, doc)...)
		}
	}
}

// lint lints the policies among the documents, each once, and returns those that can be
// compiled.
func (c *checker) lint(ctx context.Context, docs []*source.Document) (*compiledSet, error) {
	l, err := newLinter(c.kinds)
	if err != nil {
		return nil, err
	}
	out := &compiledSet{}
	places := map[*policy.Policy]*source.Document{}
	for _, doc := range docs {
		if gvk := doc.GVK(); gvk != policyKind && gvk != generatingKind {
			continue
		}
		place := doc.At("")
		one, known := c.linted[place]
		if !known {
			var findings []Finding
			one, findings = l.compile(ctx, doc)
			c.linted[place] = one
			c.report.Policies++
			c.report.add(findings...)
			c.report.add(c.twice(doc)...)
		}
		if one.policy != nil {
			out.policies = append(out.policies, one.policy)
			places[one.policy] = doc
			c.report.Unknown = append(c.report.Unknown, l.unknown(one.policy)...)
		}
		if one.generating != nil {
			out.generating = append(out.generating, one.generating)
			c.report.Unknown = append(c.report.Unknown, l.unknownTriggers(doc)...)
		}
	}
	out.policies = c.standing(out.policies, places)
	c.unexercised(out.policies, places)
	return out, nil
}

// standing returns the policies without those that name a kind in another version than the others:
// the cluster would not accept these.
func (c *checker) standing(policies []*policy.Policy, docs map[*policy.Policy]*source.Document) []*policy.Policy {
	clashes := policy.Clashes(policies, func(*policy.Policy) policy.Rank { return policy.RankNew })
	for _, p := range policies {
		if len(clashes[p]) > 0 && !c.clashing.Has(docs[p].At("")) {
			c.clashing.Insert(docs[p].At(""))
			c.report.add(problem(docs[p].Problem("", "%s", policy.ClashMessage(clashes[p]))))
		}
	}
	return policy.WithoutClashing(policies, clashes)
}

// unexercised warns, once, of controllers that may not carry out what a policy allows, by none of the policies.
func (c *checker) unexercised(policies []*policy.Policy, docs map[*policy.Policy]*source.Document) {
	for i, p := range policies {
		place := docs[p].At("")
		if c.idle.Has(place) {
			continue
		}
		for _, w := range p.Unexercised(slices.Concat(policies[:i], policies[i+1:])) {
			c.idle.Insert(place)
			c.report.add(warning(docs[p], w))
		}
	}
}

// compile lints a policy of either kind.
func (l *linter) compile(ctx context.Context, doc *source.Document) (*compiled, []Finding) {
	if doc.GVK() == generatingKind {
		p, findings := l.lintGenerating(ctx, doc)
		return &compiled{generating: p}, findings
	}
	p, findings := l.lint(ctx, doc)
	return &compiled{policy: p}, findings
}

// twice finds a policy of the same name in another place.
func (c *checker) twice(doc *source.Document) []Finding {
	name := nameOf(doc)
	key := doc.GVK().Kind + "/" + name
	other, known := c.places[key]
	if !known {
		c.places[key] = doc.At("")
		return nil
	}
	return []Finding{problem(doc.Problem("metadata.name", "%s is also the name of the policy in %s: the cluster would keep one of them", name, other))}
}

// run runs the cases of a test.
func (c *checker) run(ctx context.Context, test *loaded, policies *compiledSet) {
	index := policy.NewIndex(policies.policies)
	for i := range test.Cases {
		path, one := fmt.Sprintf("cases[%d]", i), &test.Cases[i]
		result := CaseResult{Place: test.doc.At(path), Test: test.Metadata.Name, Name: one.Name}
		if one.Name == "" {
			c.report.add(problem(test.doc.Problem(path, "the case has no name")))
			continue
		}
		var wrong *fault
		if one.Trigger == nil {
			result.Differences, wrong = c.ask(ctx, index, test, one)
		} else {
			result.Differences, wrong = c.generate(ctx, policies.generating, test, one)
		}
		if wrong != nil {
			c.report.add(problem(test.doc.Problem(wrong.in(path), "%v", wrong.err)))
			continue
		}
		c.report.Cases = append(c.report.Cases, result)
	}
}

// ask judges the request of a case.
func (c *checker) ask(ctx context.Context, index *policy.Index, test *loaded, one *Case) ([]Difference, *fault) {
	if field := one.Expect.ofTriggers(); field != "" {
		return nil, faulty("expect."+field, "it is of cases with a trigger")
	}
	world, request, wrong := scene(c.kinds, index, &test.PolicyTest, one)
	if wrong != nil {
		return nil, wrong
	}
	answer, err := world.Ask(ctx, request)
	if err != nil {
		return nil, &fault{err: err}
	}
	return differences(&one.Expect, &answer), nil
}
