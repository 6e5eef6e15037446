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

package draft

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/policy"
)

// Differences say what a policy allows that is not derived, by lines that begin with -, and
// what is derived that it does not allow, by lines that begin with +; none where it allows just
// that. Who may do it, and what happens to what is not allowed, is not derived, and not compared.
func Differences(derived, there *v1alpha1.AllowancePolicy) []string {
	wanted, has := facts(&derived.Spec, nil), facts(&there.Spec, formerOf(derived, there))
	lines := append(marked("- ", has.Difference(wanted)), marked("+ ", wanted.Difference(has))...)
	lines = append(lines, unbounded(derived, there)...)
	slices.SortFunc(lines, func(a, b string) int {
		if c := strings.Compare(a[2:], b[2:]); c != 0 {
			return c
		}
		return strings.Compare(b, a)
	})
	return lines
}

// unbounded says which resources a policy does not bound while a parent is steady, and should. To bound
// more is no difference: it allows nothing, and parents may have children of an earlier derivation.
func unbounded(derived, there *v1alpha1.AllowancePolicy) []string {
	if derived.Spec.Maintaining == nil {
		return nil
	}
	var out []string
	bounded := targets(policy.SteadyEntriesOf(&there.Spec))
	for _, m := range derived.Spec.Maintaining.Policies {
		if allowsNothing(m.PolicyEntry) && !named(bounded, policy.ResourceOf(m.Target)) {
			out = append(out, fmt.Sprintf("+ maintaining: %s are bounded, and nothing of them is allowed", shownTarget(m.Target)))
		}
	}
	return out
}

func marked(mark string, of sets.Set[string]) []string {
	out := make([]string, 0, len(of))
	for fact := range of {
		out = append(out, mark+fact)
	}
	return out
}

// formerOf returns the resources of which a policy allows nothing while a parent is steady and that are not
// derived: parents had such children. That these may go while a parent is new or deleted is no difference either.
func formerOf(derived, there *v1alpha1.AllowancePolicy) []schema.GroupVersionResource {
	if there.Spec.Maintaining == nil {
		return nil
	}
	var out []schema.GroupVersionResource
	known := policy.NamedResources(&derived.Spec)
	for _, m := range there.Spec.Maintaining.Policies {
		if resource := policy.ResourceOf(m.Target); allowsNothing(m.PolicyEntry) && !named(known, resource) {
			out = append(out, resource)
		}
	}
	return out
}

// facts returns what a policy allows, one thing each. That former children go is left out.
func facts(spec *v1alpha1.AllowancePolicySpec, former []schema.GroupVersionResource) sets.Set[string] {
	out := sets.New[string]()
	isFormer := func(e v1alpha1.PolicyEntry) bool {
		return slices.Equal(e.Verbs, []string{verbDelete}) && named(former, policy.ResourceOf(e.Target))
	}
	section := func(what string, given bool, entries []v1alpha1.PolicyEntry) {
		if given && len(entries) == 0 {
			out.Insert(what + ": anything")
		}
		for _, e := range entries {
			out.Insert(entryFacts(what, e)...)
		}
	}
	if s := spec.Initializing; s != nil {
		section("initializing", true, slices.DeleteFunc(slices.Clone(s.Policies), isFormer))
	}
	if s := spec.Maintaining; s != nil {
		for _, m := range s.Policies {
			section("maintaining", false, []v1alpha1.PolicyEntry{m.PolicyEntry})
		}
	}
	if s := spec.Deleting; s != nil {
		section("deleting", true, slices.DeleteFunc(slices.Clone(s.Policies), isFormer))
	}
	for _, r := range spec.Rules {
		what := append([]string{r.Trigger}, r.Conditions...)
		section(strings.Join(what, " if "), true, r.Policies)
	}
	if spec.Consumption != nil && spec.Consumption.When != "" {
		out.Insert("consumption when " + spec.Consumption.When)
	}
	return out
}

func entryFacts(what string, e v1alpha1.PolicyEntry) []string {
	if allowsNothing(e) {
		return nil
	}
	target := shownTarget(e.Target)
	var out []string
	verbs := e.Verbs
	if len(verbs) == 0 {
		verbs = []string{"Update"}
	}
	for _, verb := range verbs {
		if verb == "Update" && len(e.Mutations) > 0 {
			continue // The fields say it.
		}
		out = append(out, fmt.Sprintf("%s: %s %s", what, verb, target))
	}
	for _, m := range e.Mutations {
		fact := fmt.Sprintf("%s: Update %s %s", what, target, m.JSONPath)
		if len(m.Verbs) > 0 {
			fact += fmt.Sprintf(" %v", m.Verbs)
		}
		out = append(out, fact)
	}
	return out
}

func shownTarget(t v1alpha1.Target) string {
	if t.Resource == "" {
		return fmt.Sprint(t.External)
	}
	return policy.ResourceOf(t).GroupResource().String()
}
