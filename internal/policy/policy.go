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
	"iter"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/knowledge"
)

// The limits of allowances where a policy does not say otherwise (D8).
const (
	// DefaultTTL is how long an allowance lasts on kinds whose status tells
	// nothing.
	DefaultTTL = 10 * time.Minute
	// DefaultMaxOpen is how long an allowance may stay open before the policy's
	// status says so.
	DefaultMaxOpen = 24 * time.Hour
)

// Policy is a compiled AllowancePolicy. Compile makes it; it must not be changed.
type Policy struct {
	// Name, UID and Generation are those of the AllowancePolicy.
	Name       string
	UID        types.UID
	Generation int64
	// Created decides, with the name, which of two policies comes first (D19).
	Created metav1.Time

	// For is the kind of the parents.
	For schema.GroupVersionKind

	// Action is the strictest of validationActions other than Audit, or Audit
	// (D13).
	Action v1alpha1.ValidationAction
	// Audit is true where validationActions lists Audit, alone or not.
	Audit bool
	// FailurePolicy says what happens while the webhook cannot be reached.
	FailurePolicy v1alpha1.FailurePolicy
	// Uncaused says what happens to a triggering change that nobody with the
	// right to it made.
	Uncaused v1alpha1.UncausedChanges
	// TargetStatus says whether objects show that the policy is in effect for them.
	TargetStatus v1alpha1.TargetStatus

	// Initializing bounds the time until a parent first settles; nil is
	// unrestricted.
	Initializing *Section
	// InitializingWhen tells, while true, that a parent is initializing; nil
	// where the policy has none, or the default, which both mean until the parent
	// first settles (D9).
	InitializingWhen *Condition
	// Deleting bounds the deletion of a parent; nil is unrestricted, external
	// systems apart.
	Deleting *Section
	// Maintaining is what needs no allowance while a parent is steady.
	Maintaining []MaintainingEntry
	// Rules are what changes of a steady parent allow.
	Rules []Rule

	// Consumption says when an allowance ends.
	Consumption Consumption

	// Categories are those of the kinds that the policy names, as far as Categorize
	// was told.
	Categories map[schema.GroupKind][]string

	knowledge         *knowledge.Kind
	subjects          []v1alpha1.PolicySubject
	objectSelector    labels.Selector
	namespaceSelector labels.Selector
	implied           []Entry
	named             []schema.GroupVersionKind
	maintainsNothing  bool
	bounds            map[schema.GroupKind]phases
	triggers          change.Patterns
	triggerMetadata   []change.Pattern
	childMetadata     map[schema.GroupKind][]change.Pattern
	deciding          map[DecidingField]string
	adding            string
}

// Consumption says when an allowance ends (D8).
type Consumption struct {
	// When, where not nil, tells that the holder has settled, in place of what
	// its kind tells.
	When *Condition
	// TTL ends the allowances of kinds whose status tells nothing.
	TTL time.Duration
	// MaxOpen is when an allowance that is still open shows in the policy's
	// status.
	MaxOpen time.Duration
}

// Selects reports whether the policy is about an object of its kind with these
// labels, in a namespace with those.
//
// namespaceLabels is nil for cluster-scoped objects. As in admission webhooks, a
// namespaceSelector does not concern them: they are selected by their own labels
// alone, but for Namespaces, for which the caller passes their own labels twice.
//
// An empty selector means every namespace but kube-system, whose requests only
// reach the operator where a policy asks for it (D15).
func (p *Policy) Selects(objectLabels, namespaceLabels map[string]string) bool {
	if !p.objectSelector.Matches(labels.Set(objectLabels)) {
		return false
	}
	if p.namespaceSelector.Empty() && namespaceLabels[corev1.LabelMetadataName] == metav1.NamespaceSystem {
		return false
	}
	return namespaceLabels == nil || p.namespaceSelector.Matches(labels.Set(namespaceLabels))
}

// SelectsNamespace reports whether the policy may be about objects in a namespace with these labels, nil for any.
func (p *Policy) SelectsNamespace(namespaceLabels map[string]string) bool {
	return namespaceLabels == nil || p.namespaceSelector.Matches(labels.Set(namespaceLabels)) &&
		(!p.namespaceSelector.Empty() || namespaceLabels[corev1.LabelMetadataName] != metav1.NamespaceSystem)
}

// NamespaceSelector selects the namespaces of the parents: nothing where it is not valid.
func (p *Policy) NamespaceSelector() labels.Selector { return p.namespaceSelector }

// ObjectSelector selects the parents by label: nothing where it is not valid.
func (p *Policy) ObjectSelector() labels.Selector { return p.objectSelector }

// Triggered returns the rules, in order, whose trigger touches a path: its change may be
// what they are about.
func (p *Policy) Triggered(path change.Path) iter.Seq[*Rule] {
	return func(yield func(*Rule) bool) {
		for _, i := range p.triggers.Touching(path) {
			if !yield(&p.Rules[i]) {
				return
			}
		}
	}
}

// HasRuleFor reports whether there is one.
func (p *Policy) HasRuleFor(path change.Path) bool {
	for range p.Triggered(path) {
		return true
	}
	return false
}

// AboutChildren reports whether the policy says anything of children. One that does not
// only says who may change the parent itself.
func (p *Policy) AboutChildren() bool {
	return len(p.Rules)+len(p.Maintaining) > 0 || p.Initializing != nil || p.Deleting != nil
}

// IsAboutReaders reports whether all that the policy says is of those that read its objects:
// of the children of these, and of when they are new or go, there is nothing to say.
func (p *Policy) IsAboutReaders() bool {
	for i := range p.Rules {
		if p.Rules[i].AllowsAnything() {
			return false
		}
	}
	return len(p.Throughs()) > 0 && len(p.Entries()) == 0
}

// Entries returns the entries of all sections: initializing, deleting, maintaining and
// the rules. What the policy bounds by implication comes last, as entries that allow
// nothing.
func (p *Policy) Entries() []Entry {
	var all []Entry
	p.visit(func(_ phases, e Entry) { all = append(all, e) })
	return all
}

// visit shows each entry, and the phases of the parent that it is for.
func (p *Policy) visit(show func(in phases, e Entry)) {
	if p.Initializing != nil {
		for _, e := range p.Initializing.Entries {
			show(inInitializing, e)
		}
	}
	if p.Deleting != nil {
		for _, e := range p.Deleting.Entries {
			show(inDeleting, e)
		}
	}
	for _, m := range p.Maintaining {
		show(inSteady, m.Entry)
	}
	for _, r := range p.Rules {
		for _, e := range r.Entries {
			show(inSteady, e)
		}
	}
	// Nothing is left to restrict of the deletion of a parent, whose controller makes
	// no more Pods.
	for _, e := range p.implied {
		show(inInitializing|inSteady, e)
	}
}
