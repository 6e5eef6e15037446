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

package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/cli/text"
	"kausality.io/operator/internal/policy"
)

// mostNamed is how many policies are named of which the same is so.
const mostNamed = 3

// unenforcedReasons are the reasons of Enforced=False that people are told before anything else, with what each means for
// the answer of a command.
var unenforcedReasons = map[string]string{
	v1alpha1.ReasonNotIntercepted: "what it would deny or withhold may pass, and is told nowhere",
	v1alpha1.ReasonForbidden:      "nothing is granted, withheld or denied by it, and what passes is told nowhere",
	v1alpha1.ReasonImpaired:       "what is told here may not be all",
}

// Unenforced is that policies are not enforced, for one reason.
type Unenforced struct {
	// Policies are their names.
	Policies []string `json:"policies"`
	// Reason and Message are what the condition Enforced=False says, and Since is when the first policy came to say so.
	Reason  string      `json:"reason"`
	Message string      `json:"message"`
	Since   metav1.Time `json:"since"`
}

// Text says so.
func (u Unenforced) Text(now time.Time) string {
	names := "AllowancePolicy " + strings.Join(u.Policies[:min(len(u.Policies), mostNamed)], ", ")
	if more := len(u.Policies) - mostNamed; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("Not enforced (%s): %s, as the operator has found since %s (%s); %s. %s",
		u.Reason, names, u.Since.UTC().Format(time.RFC3339), phrase.Ago(u.Since.Time, now), unenforcedReasons[u.Reason], u.Message)
}

// Banner returns what a command says first: that everything is switched off, or which policies that have to do with what was
// asked about are not enforced.
func Banner(t text.Terminal, now time.Time, off *Off, unenforced []Unenforced) string {
	var out strings.Builder
	out.WriteString(off.Banner(t, now))
	for _, u := range unenforced {
		out.WriteString(t.Wrap("", t.Paint(text.Bad, u.Text(now))) + "\n")
	}
	return out.String()
}

// UnenforcedFor returns which of the policies that are about an object, as a parent or as a child, are not enforced.
func (c *Cluster) UnenforcedFor(ctx context.Context, policies Policies, obj *unstructured.Unstructured) []Unenforced {
	if obj == nil || !policies.anyUnenforced() {
		return nil
	}
	// Policies by which nothing is judged say who is whose parent, too.
	chain, _ := c.Ancestry(ctx, policies.withIdle(), obj, nil)
	return policies.unenforced(func(p *policy.Policy) bool {
		return slices.ContainsFunc(chain, func(h policy.Holder) bool {
			return h.Kind == p.For.GroupKind() && p.Selects(h.Labels, h.NamespaceLabels)
		})
	})
}

// UnenforcedIn returns which of the policies that are about objects of a namespace, or of any where it is empty, are not
// enforced.
func (c *Cluster) UnenforcedIn(ctx context.Context, policies Policies, namespace string) []Unenforced {
	if !policies.anyUnenforced() {
		return nil
	}
	var labels map[string]string
	if namespace != metav1.NamespaceAll {
		labels = (&namespaces{cluster: c}).Labels(ctx, namespace)
	}
	return policies.unenforced(func(p *policy.Policy) bool { return p.SelectsNamespace(labels) })
}

// withIdle returns the policies with those by which nothing is judged among the others.
func (p Policies) withIdle() Policies {
	all := slices.Clone(p.Policies())
	for _, idle := range p.Idle {
		all = append(all, idle.Policy)
	}
	p.Index = policy.NewIndex(all)
	return p
}

func (p Policies) anyUnenforced() bool {
	return p.Index != nil && len(p.unenforced(func(*policy.Policy) bool { return true })) > 0
}

// unenforced returns those of which something is true, and what they say, each text once.
func (p Policies) unenforced(is func(*policy.Policy) bool) []Unenforced {
	var out []Unenforced
	for _, each := range p.withIdle().Policies() {
		stored := p.Objects[each.Name]
		if stored == nil {
			continue
		}
		enforced := current(stored, v1alpha1.ConditionEnforced)
		if enforced == nil || enforced.Status != metav1.ConditionFalse || unenforcedReasons[enforced.Reason] == "" || !is(each) {
			continue
		}
		// Which policy has its rights printed is all that the message of one without rights has of its own.
		i := slices.IndexFunc(out, func(u Unenforced) bool {
			return u.Reason == enforced.Reason && strings.ReplaceAll(u.Message, " "+u.Policies[0]+" ", " ") == strings.ReplaceAll(enforced.Message, " "+each.Name+" ", " ")
		})
		if i < 0 {
			out = append(out, Unenforced{Policies: []string{each.Name}, Reason: enforced.Reason, Message: enforced.Message, Since: enforced.LastTransitionTime})
			continue
		}
		out[i].Policies = append(out[i].Policies, each.Name)
		if enforced.LastTransitionTime.Before(&out[i].Since) {
			out[i].Since = enforced.LastTransitionTime
		}
	}
	return out
}
