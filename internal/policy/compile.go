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

package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/knowledge"
)

// defaultInitializingWhen counts as omitted: spelled out it would end, or never
// end, at a time at which no kind has settled (D9).
const defaultInitializingWhen = "!has(object.status.observedGeneration)"

// Compile compiles a policy, once per generation of it. kinds resolves the
// resources of its targets.
//
// What is wrong is left out: a rule, a maintaining entry, or an entry of a section
// with anything wrong in it, and any other field by itself. It is reported as far as
// there is room. The rest works (D14). A section of which nothing is left is as if
// omitted; a selector that is wrong selects nothing.
func Compile(p *v1alpha1.AllowancePolicy, kinds KindResolver) (*Policy, field.ErrorList) {
	spec, path := &p.Spec, field.NewPath("spec")
	c := compiler{kinds: kinds, versions: map[schema.GroupKind]string{
		{Group: spec.For.APIGroup, Kind: spec.For.Kind}: spec.For.APIVersion,
	}}
	out := &Policy{
		Name:              p.Name,
		UID:               p.UID,
		Generation:        p.Generation,
		Created:           p.CreationTimestamp,
		For:               c.parentKind(spec.For, path.Child("for")),
		namespaceSelector: c.selector(spec.NamespaceSelector, path.Child("namespaceSelector")),
		objectSelector:    c.selector(spec.ObjectSelector, path.Child("objectSelector")),
		subjects:          c.policySubjects(spec.Subjects, path.Child("subjects")),
		Audit:             slices.Contains(spec.ValidationActions, v1alpha1.ActionAudit),
		Action:            c.action(spec.ValidationActions, path.Child("validationActions")),
		FailurePolicy: oneOf(&c, spec.FailurePolicy, path.Child("failurePolicy"),
			v1alpha1.FailurePolicyIgnore, v1alpha1.FailurePolicyFail),
		Uncaused: oneOf(&c, spec.UncausedChanges, path.Child("uncausedChanges"),
			v1alpha1.UncausedHold, v1alpha1.UncausedRefuse),
		TargetStatus: oneOf(&c, spec.TargetStatus, path.Child("targetStatus"),
			v1alpha1.TargetStatusShow, v1alpha1.TargetStatusNone),
		Consumption: c.consumption(spec.Consumption, path.Child("consumption")),
	}
	out.knowledge = c.knowledge(spec.Knowledge, path.Child("knowledge"))
	for _, a := range out.Known().Actions {
		c.actions = append(c.actions, a.Pattern)
	}
	if s := spec.Initializing; s != nil {
		out.InitializingWhen = c.initializingWhen(s.When, path.Child("initializing", "when"))
		out.Initializing = c.section(s.Policies, path.Child("initializing", "policies"))
	}
	if s := spec.Deleting; s != nil {
		out.Deleting = c.section(s.Policies, path.Child("deleting", "policies"))
	}
	if s := spec.Maintaining; s != nil {
		out.Maintaining = c.maintaining(s.Policies, path.Child("maintaining", "policies"))
		out.maintainsNothing = len(s.Policies) == 0
	}
	var triggers []change.Pattern
	for i, r := range spec.Rules {
		if rule, ok := c.rule(i, r, path.Child("rules").Index(i)); ok {
			out.Rules = append(out.Rules, rule)
			triggers = append(triggers, rule.Trigger)
		}
	}
	out.triggers = change.PatternsOf(triggers)
	c.selectedLabels(out, path.Child("rules"))
	c.imply(out)
	out.named = namedBy(out)
	out.bounds = boundsOf(out)
	out.deciding, out.adding = decidingOf(out, spec, c.errs), addingOf(spec)
	collectMetadata(out)
	return out, told(c.errs)
}

// compiler collects what is wrong while it compiles.
type compiler struct {
	kinds KindResolver
	errs  field.ErrorList
	// versions has the version of each kind that the policy has named so far.
	versions map[schema.GroupKind]string
	// actions are what people do through the status of the policy's kind.
	actions []change.Pattern
}

func (c *compiler) report(errs ...*field.Error) { c.errs = append(c.errs, errs...) }

// soundly runs a step and tells whether it found nothing wrong.
func (c *compiler) soundly(step func()) bool {
	before := len(c.errs)
	step()
	return len(c.errs) == before
}

func (c *compiler) parentKind(k v1alpha1.ParentKind, path *field.Path) schema.GroupVersionKind {
	if k.APIVersion == "" {
		c.report(field.Required(path.Child("apiVersion"), "the version within the group, such as v1"))
	}
	if k.Kind == "" {
		c.report(field.Required(path.Child(kindField), "the kind in the singular, such as Deployment"))
	}
	out := schema.GroupVersionKind{Group: k.APIGroup, Version: k.APIVersion, Kind: k.Kind}
	if ExemptKind(out.GroupKind()) {
		c.report(field.Invalid(path, k.Kind, fmt.Sprintf("no policy can be for kind %s: "+
			"Kausality is never asked about these, so that a cluster comes up without it", out.GroupKind())))
	}
	return out
}

// selector compiles a label selector; an omitted one selects everything.
func (c *compiler) selector(s *metav1.LabelSelector, path *field.Path) labels.Selector {
	if s == nil {
		return labels.Everything()
	}
	var compiled labels.Selector
	if !c.soundly(func() {
		c.report(validation.ValidateLabelSelector(s, validation.LabelSelectorValidationOptions{}, path)...)
		var err error
		if compiled, err = metav1.LabelSelectorAsSelector(s); err != nil && len(c.errs) == 0 {
			c.report(field.Invalid(path, s, err.Error()))
		}
	}) {
		return labels.Nothing()
	}
	return compiled
}

// action returns the strictest of the validation actions (D13).
func (c *compiler) action(actions []v1alpha1.ValidationAction, path *field.Path) v1alpha1.ValidationAction {
	strictest := v1alpha1.ActionDeny
	if len(actions) > 0 {
		strictest = v1alpha1.ActionAudit
	}
	for i, a := range actions {
		if slices.Contains(actions[:i], a) {
			c.report(field.Duplicate(path.Index(i), a))
		}
		switch a {
		case v1alpha1.ActionDeny:
			strictest = a
		case v1alpha1.ActionWarn:
			if strictest != v1alpha1.ActionDeny {
				strictest = a
			}
		case v1alpha1.ActionAudit:
		default:
			c.report(field.NotSupported(path.Index(i), a, []v1alpha1.ValidationAction{
				v1alpha1.ActionDeny, v1alpha1.ActionWarn, v1alpha1.ActionAudit,
			}))
		}
	}
	if slices.Contains(actions, v1alpha1.ActionDeny) && slices.Contains(actions, v1alpha1.ActionWarn) {
		c.report(field.Invalid(path, actions, "Deny and Warn exclude each other: a denial already tells the client"))
	}
	return strictest
}

// knowledge compiles what is said of the kind; with anything wrong in it nothing of it counts.
func (c *compiler) knowledge(declared *v1alpha1.Knowledge, path *field.Path) *knowledge.Kind {
	known, errs := knowledge.Compile(declared, path)
	c.report(errs...)
	if len(errs) > 0 {
		return nil
	}
	return known
}

// oneOf returns the value where it is one of those that are allowed, the first of
// which is the default.
func oneOf[T ~string](c *compiler, value T, path *field.Path, allowed ...T) T {
	switch {
	case slices.Contains(allowed, value):
		return value
	case value != "":
		c.report(field.NotSupported(path, value, allowed))
	}
	return allowed[0]
}

func (c *compiler) consumption(s *v1alpha1.Consumption, path *field.Path) Consumption {
	out := Consumption{TTL: DefaultTTL, MaxOpen: DefaultMaxOpen}
	if s == nil {
		return out
	}
	if s.When != "" {
		out.When = c.condition(consumptionScope, s.When, path.Child("when"))
	}
	out.TTL = c.duration(s.TTL, path.Child("ttl"), DefaultTTL)
	out.MaxOpen = c.duration(s.MaxOpen, path.Child("maxOpen"), DefaultMaxOpen)
	return out
}

func (c *compiler) duration(d *metav1.Duration, path *field.Path, otherwise time.Duration) time.Duration {
	if d == nil {
		return otherwise
	}
	if d.Duration <= 0 {
		c.report(field.Invalid(path, d.Duration.String(), "must be longer than zero"))
		return otherwise
	}
	return d.Duration
}

func (c *compiler) initializingWhen(when string, path *field.Path) *Condition {
	if bare := withoutSpace(when); bare == "" || bare == defaultInitializingWhen {
		return nil
	}
	return c.condition(initializingScope, when, path)
}

func withoutSpace(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// condition compiles an expression; it returns nil for one that is wrong.
func (c *compiler) condition(in scope, source string, path *field.Path) *Condition {
	condition, err := compileCondition(in, source)
	if err != nil {
		c.report(field.Invalid(path, source, err.Error()))
		return nil
	}
	return condition
}

func (c *compiler) conditions(sources []string, path *field.Path) []*Condition {
	var out []*Condition
	for i, source := range sources {
		if condition := c.condition(changeScope, source, path.Index(i)); condition != nil {
			out = append(out, condition)
		}
	}
	return out
}
