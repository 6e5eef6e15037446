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

package admission

import (
	"context"
	"fmt"
	"slices"

	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/kubectl"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
)

// gatherKept finds out by which policies an object keeps its gate that none in effect asks for, and whether that
// is so because somebody above its parent is gone: the policies for the parent only continue chains then, and are
// not in effect. What is said of the gate would name no policy, and nobody who could help.
func (g *Gatherer) gatherKept(ctx context.Context, r *request, f *facts, above int) {
	kept := f.gate
	if !kept.state.Adopted() || kept.standing.Gated() {
		return
	}
	for _, p := range f.index.Policies() {
		byParent := kept.state.Parent == nil || kept.state.Parent.Gates(p, r.gvk.GroupKind())
		if byParent && gate.PlaceOf(r.driver, r.current(), r.gateKind, kept.state.Provider, p).Gated() {
			kept.keeping = append(kept.keeping, p)
		}
	}
	if f.parentObject == nil || above != 1 {
		return
	}
	if ref, ok := ancestry.Ref(ctx, g.Objects, f.index, f.parentObject); ok && len(f.index.For(ref.GVK.GroupKind())) > 0 {
		kept.gone = &ref
	}
}

// by returns the policies by which the object has its gate.
func (g *gated) by() []*policy.Policy {
	if len(g.standing.Denying) > 0 {
		return g.standing.Denying
	}
	return g.keeping
}

// goneAbove returns what is above the parent and does not exist, because of which no policy is in effect for the
// parent; nil where that is not so.
func (f *facts) goneAbove() *lineage.Ref {
	if f.gate == nil {
		return nil
	}
	return f.gate.gone
}

// goneAboveRemedy says what helps where something above the parent is gone.
func (f *facts) goneAboveRemedy(gone *lineage.Ref) string {
	text := objectText(gone.GVK.Kind, gone.Name)
	who := policy.InitiatorsIn(f.index.For(gone.GVK.GroupKind()))
	slices.Sort(who)
	switch {
	case gone.Mutual && f.Parent.Deleting:
		return fmt.Sprintf("%s is being deleted as well: see what keeps it, and make %s anew only once it is gone. Or it takes breaking the glass.",
			f.parentText(), text)
	case !gone.Mutual:
		return fmt.Sprintf("It takes another owner of %s, or its deletion, by who may do that, or breaking the glass.", f.parentText())
	case len(who) == 0:
		return fmt.Sprintf("It takes %s again, with %s naming %s, or breaking the glass.", text, lineage.ResourceRefPath, f.parentText())
	}
	return fmt.Sprintf("%s may create %s again in namespace %s, with %s naming %s; or delete what is not needed any more: %s. Or it takes breaking the glass.",
		anyOf(who), text, gone.Namespace, lineage.ResourceRefPath, f.parentText(),
		kubectl.Delete(kubectl.Objects{Group: f.parent.Group, Kind: f.parent.Kind, Namespace: f.parent.Namespace, Names: []string{f.Parent.Name}}))
}

// throughPolicies says by which policies something is refused, in parentheses after the phase of a parent; nothing where
// none is known.
func throughPolicies(policies []*policy.Policy) string {
	if len(policies) == 0 {
		return ""
	}
	return ", AllowancePolicy " + listedNames(policies)
}
