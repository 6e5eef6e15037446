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

package decision

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
)

// permit is an entry of a ledger with what it takes to hold changes against it: one
// request may have thousands of them.
type permit struct {
	ledger.Entry
	// pattern is of the fields that the entry is about; nil where it is about none.
	pattern *change.Pattern
	// rank is that of the object whose ledger has the entry: 0 for the parent, and from 1 on
	// for what is read, that which was written last first.
	rank int
	// creation is true where the entry is from the creation of that object.
	creation bool
}

func permits(entries ledger.Ledger) []permit {
	out := make([]permit, 0, len(entries))
	for _, e := range entries {
		p := permit{Entry: e, creation: e.IsCreation()}
		if e.Mutation != v1alpha1.MutationCreateObject && e.Mutation != v1alpha1.MutationDeleteObject {
			if pattern, err := change.ParsePattern(e.Mutation); err == nil {
				p.pattern = &pattern
			}
		}
		out = append(out, p)
	}
	return out
}

// usable returns the entries of the parent's ledger that the requester may exercise
// on the child. While a change of the parent is withheld there are none (D2), and
// none once the parent is being deleted: then its deletion is the cause (D9). Nor are
// there any of a parent that does not know the child, or on one that it adopted without
// a cause (D5).
func (in *Input) usable() []permit {
	if in.IsStray() {
		return nil
	}
	return append(in.allowances(), in.referred()...)
}

// allowances returns what is usable, whether or not the child is a stray.
func (in *Input) allowances() []permit {
	if !in.parentAllows() {
		return nil
	}
	out := permits(in.Parent.Ledger.Without(func(e ledger.Entry) bool {
		return e.IsWithheld() || e.IsExternal() || !MatchesKind(e, in.Child.GVK.GroupKind())
	}))
	for i := range out {
		out[i].Trace = in.acrossToChild(out[i].Trace)
	}
	return out
}

// parentAllows reports whether the requester may use what the parent, or what it reads,
// allows.
func (in *Input) parentAllows() bool {
	return in.ParentState == ParentFound && !in.Parent.OneSided && !in.Parent.Deleting && !in.Parent.isWithheld() &&
		!isWithheldOf(in.Referents) && in.MayExercise()
}

// justification returns the one entry that is said to have caused the act, of those
// that cover it: one of the parent, or else of what was written last of all that is read;
// of these the newest, then the first by kind, name and field of the hop that granted it
// (D2, "Linearity" in the specification).
func justification(entries []permit, act Act) (ledger.Entry, bool) {
	var best *permit
	for i := range entries {
		e := &entries[i]
		if e.covers(act) && (best == nil || before(e, best)) {
			best = e
		}
	}
	if best == nil {
		return ledger.Entry{}, false
	}
	return best.Entry, true
}

// covering returns the entries that cover the act.
func covering(entries []permit, act Act) ledger.Ledger {
	var out ledger.Ledger
	for i := range entries {
		if entries[i].covers(act) {
			out = append(out, entries[i].Entry)
		}
	}
	return out
}

func before(a, b *permit) bool {
	if a.rank != b.rank {
		return a.rank < b.rank // Generations of two objects do not compare.
	}
	if a.creation != b.creation {
		return b.creation // Nothing is older, and Secrets and the like count no generations.
	}
	if a.Generation != b.Generation {
		return a.Generation > b.Generation
	}
	return hopOrder(a.Entry) < hopOrder(b.Entry)
}

func hopOrder(e ledger.Entry) string {
	hop, _ := e.LastHop()
	return hop.Kind + "/" + hop.Name + "/" + hop.Field
}

// covers reports whether the entry permits the act on a child of its kind.
func (e *permit) covers(act Act) bool {
	if e.Mutation == v1alpha1.Any && len(e.Verbs) == 0 {
		return true
	}
	if act.Operation != Update {
		return e.Mutation == act.String()
	}
	if len(e.Verbs) > 0 && !slices.Contains(e.Verbs, v1alpha1.MutationVerb(act.Change.Verb)) {
		return false
	}
	return e.pattern != nil && e.pattern.Covers(act.Change.Path)
}

// MatchesKind reports whether an entry is about children of the given kind.
func MatchesKind(e ledger.Entry, kind schema.GroupKind) bool {
	if e.Through != "" {
		return false
	}
	if e.Kind == v1alpha1.Any {
		return true
	}
	return namesKind(e, kind)
}

// namesKind reports whether an entry names the kind itself.
func namesKind(e ledger.Entry, kind schema.GroupKind) bool {
	if e.Kind != kind.Kind {
		return false
	}
	return e.APIGroup == kind.Group || e.APIGroup == "" && kubernetesGroup(kind.Group)
}

// entryGroup returns the group to write in an entry for the kind: none for the groups
// of Kubernetes itself, in which a kind is known by its name alone (D4).
func entryGroup(group string) string {
	if kubernetesGroup(group) {
		return ""
	}
	return group
}

func kubernetesGroup(group string) bool { return kubernetesGroups.Has(group) }

// kubernetesGroups are the groups that the API server of Kubernetes serves itself. Kinds of
// one name in two of them, such as Event and Ingress, are the same objects. Others may end
// in k8s.io as well: who defines a kind may take any name in these.
var kubernetesGroups = sets.New(
	"", "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "apps",
	"authentication.k8s.io", "authorization.k8s.io", "autoscaling", "batch", "certificates.k8s.io",
	"coordination.k8s.io", "discovery.k8s.io", "events.k8s.io", "extensions",
	"flowcontrol.apiserver.k8s.io", "internal.apiserver.k8s.io", "lifecycle.k8s.io", "networking.k8s.io",
	"node.k8s.io", "policy", "rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io",
	"storage.k8s.io", "storagemigration.k8s.io",
)

// allows reports whether the policy entry permits the act on the child's kind.
func allows(e policy.Entry, kind schema.GroupKind, act Act) bool {
	if e.IsExternal() || e.Kind != kind {
		return false
	}
	switch act.Operation {
	case Create:
		return e.Create
	case Delete:
		return e.Delete
	default:
		return e.AllowsField(act.Change)
	}
}
