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
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/policy"
)

// own returns the policies by which a request for an object is judged, and who may initiate by them, for
// messages. own is the chain of the object as it was. What changes as the object comes under a policy is
// judged by that one as well: *observed* where it was not, a stranger put a label and an image into one
// patch, nothing was withheld, and the next scale by somebody else made Pods of it; and what an initiator
// changed so had no cause.
func (g *Gatherer) own(ctx context.Context, r *request, f *facts, own []policy.Holder) (policies []*policy.Policy, initiators []string) {
	initiators = f.index.InitiatorsOf(own)
	if r.operation != decision.Update || r.subresource != "" || maps.Equal(r.old.GetLabels(), r.new.GetLabels()) {
		return f.policiesBefore, initiators
	}
	next := append([]policy.Holder{ancestry.Holder(ctx, g.Namespaces, r.new)}, own[1:]...)
	entered := slices.DeleteFunc(f.index.InEffect(next), func(p *policy.Policy) bool { return slices.Contains(f.policiesBefore, p) })
	if len(entered) == 0 {
		return f.policiesBefore, initiators
	}
	for _, who := range f.index.InitiatorsOf(next) {
		if !slices.Contains(initiators, who) {
			initiators = append(initiators, who)
		}
	}
	return slices.Concat(f.policiesBefore, entered), initiators
}

// leaving returns the policies in effect for the object that would not select it any
// more after a change of its labels, and that the requester may not initiate for:
// else a label would be the way around every bound (D5). Each of them has a say. One that
// names nobody only continues chains, and is left by who may initiate above the object. It notes all that
// the object would leave, for messages.
func (g *Gatherer) leaving(ctx context.Context, r *request, f *facts) []*policy.Policy {
	if r.operation != decision.Update || f.Operator ||
		maps.Equal(r.old.GetLabels(), r.new.GetLabels()) {
		return nil
	}
	next := ancestry.Holder(ctx, g.Namespaces, r.new)
	f.left = slices.DeleteFunc(slices.Clone(f.policiesBefore), func(p *policy.Policy) bool { return p.Selects(next.Labels, next.NamespaceLabels) })
	return slices.DeleteFunc(slices.Clone(f.left), f.letsGo)
}

// letsGo reports whether the requester may have the object leave a policy.
func (f *facts) letsGo(p *policy.Policy) bool {
	if !p.HasInitiator() {
		return f.AncestorInitiator
	}
	return p.MayInitiate(f.Requester)
}

// entering reports whether a change of labels would bring the object under a policy that
// says who may initiate, although those for which somebody may now do not let the requester:
// a label would be the way to a right of one's own on it (D5).
func (g *Gatherer) entering(ctx context.Context, r *request, f *facts) bool {
	if r.operation != decision.Update || f.Operator || maps.Equal(r.old.GetLabels(), r.new.GetLabels()) {
		return false
	}
	denies := func(p *policy.Policy) bool { return p.Action == v1alpha1.ActionDeny }
	bounded := slices.ContainsFunc(f.Bounding(), denies)
	if !slices.ContainsFunc(f.policiesBefore, denies) && !bounded {
		return false // Nobody has a say about it yet.
	}
	before := ancestry.Holder(ctx, g.Namespaces, r.old)
	next := ancestry.Holder(ctx, g.Namespaces, r.new)
	enters := func(p *policy.Policy) bool {
		return p.HasInitiator() && p.Selects(next.Labels, next.NamespaceLabels) && !p.Selects(before.Labels, before.NamespaceLabels)
	}
	if !slices.ContainsFunc(f.index.For(r.gvk.GroupKind()), enters) {
		return false
	}
	initiating := false
	for _, p := range f.policiesBefore {
		if !p.HasInitiator() || !denies(p) {
			continue
		}
		if !p.MayInitiate(r.requester) {
			return true
		}
		initiating = true
	}
	return !initiating && !f.AncestorInitiator
}

// refusedEntering answers a request by which an object would come under another policy.
func refusedEntering(f *facts) admission.Response {
	message := fmt.Sprintf("by this change of its labels %s would come under another AllowancePolicy, and who may initiate there on it; that is for who may now",
		objectText(f.Child.GVK.Kind, f.Child.Name))
	if who := f.whoMayEnter(); len(who) > 0 {
		message += ": " + anyOf(who)
	}
	resp := admission.Denied(message)
	resp.AuditAnnotations = map[string]string{auditReason: "Entering", auditPolicies: strings.Join(names(f.OwnPolicies), ",")}
	return resp
}

// whoMayLeave returns who may initiate by each of the policies that the object would leave, the requester's own
// included: by one that names nobody, who may above the object.
func (f *facts) whoMayLeave() []string {
	each := make([][]string, 0, len(f.left))
	for _, p := range f.left {
		who := p.Initiators()
		if !p.HasInitiator() {
			who = f.initiatorsAbove
		}
		each = append(each, who)
	}
	return decision.Together(each...)
}

// whoMayEnter returns who may initiate by each of the policies that say who may change the object now.
func (f *facts) whoMayEnter() []string {
	var each [][]string
	for _, p := range f.policiesBefore {
		if p.HasInitiator() && p.Action == v1alpha1.ActionDeny {
			each = append(each, p.Initiators())
		}
	}
	if len(each) == 0 {
		return f.initiatorsAbove
	}
	return decision.Together(each...)
}

// refusedLeaving answers a request by which an object would leave its policies.
func refusedLeaving(f *facts) admission.Response {
	message := fmt.Sprintf("by this change of its labels %s would leave AllowancePolicy %s, which is for who may initiate",
		objectText(f.Child.GVK.Kind, f.Child.Name), strings.Join(names(f.leaving), ", "))
	if who := f.whoMayLeave(); len(who) > 0 {
		message += ": " + anyOf(who)
	}
	resp := admission.Denied(message)
	resp.AuditAnnotations = map[string]string{auditReason: "Leaving", auditPolicies: strings.Join(names(f.leaving), ",")}
	return resp
}
