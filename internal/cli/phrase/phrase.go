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

// Package phrase says in words what ledgers and records hold, so that all commands
// say it alike. It names paths, and never the values of fields; only what a policy
// captures is shown, as that was meant to be.
package phrase

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/kubectl"
)

// Object names an object; one whose name is not known yet is any of its kind.
func Object(kind, name string) string {
	if name == "" {
		return "a " + kind
	}
	return kubectl.Printable(kind + "/" + name)
}

// Some names the first of some things, at most so many, and counts the rest.
func Some(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// Target names the object of a reference.
func Target(ref v1alpha1.TargetReference) string { return Object(ref.Kind, ref.Name) }

// In returns the words " in namespace NAMESPACE", and nothing for a cluster-scoped object.
func In(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " in namespace " + namespace
}

// Reference names an object that may be in any namespace, or a request about it.
func Reference(ref v1alpha1.GeneratingReference) string {
	out := Object(ref.Kind, ref.Name) + In(ref.Namespace)
	if ref.Request != "" {
		return ref.Request + " of " + out
	}
	return out
}

// Author returns who changed something: of what was changed while no operator looked nobody
// knows, nor of what an operator that was killed had admitted and not written down yet.
func Author(user string) string {
	if user == "" {
		return "somebody, while Kausality was away or not asked, or right before it ended"
	}
	return user
}

// Through says what may be done to children of those that read an object, or to these: text
// says what.
func Through(text string, readers, target schema.GroupKind) string {
	if readers == target {
		return text + " that reads it"
	}
	return text + " of each " + readers.Kind + " that reads it"
}

// Allowance says what an allowance permits.
func Allowance(a v1alpha1.Allowance) string {
	if a.Through != "" {
		readers, target := schema.ParseGroupKind(a.Through), schema.GroupKind{Group: a.APIGroup, Kind: a.Kind}
		if target.Kind == readers.Kind && target.Group == "" {
			target.Group = readers.Group // left out for those of Kubernetes
		}
		a.Through = ""
		return Through(Allowance(a), readers, target)
	}
	switch {
	case a.Relation == v1alpha1.RelationWithheld:
		return "withheld: " + a.Mutation
	case a.Relation == v1alpha1.RelationExternal:
		return strings.Join(a.Mutations, ", ") + " of " + external(a.External)
	case a.Mutation == v1alpha1.Any && len(a.Verbs) == 0:
		return "anything to " + kind(a.Kind)
	case a.Mutation == v1alpha1.MutationCreateObject, a.Mutation == v1alpha1.MutationDeleteObject:
		return a.Mutation + " " + kind(a.Kind)
	case a.Mutation == v1alpha1.Any:
		return "change any field of " + kind(a.Kind) + verbs(a.Verbs)
	default:
		return "change " + a.Mutation + " of " + kind(a.Kind) + verbs(a.Verbs)
	}
}

func kind(kind string) string {
	if kind == v1alpha1.Any {
		return "any child"
	}
	return kind
}

// verbs are named where they are not all.
func verbs(verbs []v1alpha1.MutationVerb) string {
	const all = 3
	if len(verbs) == 0 || len(verbs) == all {
		return ""
	}
	names := make([]string, 0, len(verbs))
	for _, v := range verbs {
		names = append(names, string(v))
	}
	return " (" + strings.Join(names, ", ") + ")"
}

func external(target map[string]string) string {
	if len(target) == 0 {
		return "what it stands for outside the cluster"
	}
	parts := make([]string, 0, len(target))
	for _, key := range slices.Sorted(maps.Keys(target)) {
		parts = append(parts, key+" "+target[key])
	}
	return strings.Join(parts, ", ")
}

// Trace says the way from an initiator in one line.
func Trace(initiator string, hops []v1alpha1.TraceHop) string {
	parts := make([]string, 0, len(hops)+1)
	if initiator != "" {
		parts = append(parts, initiator)
	}
	for _, h := range hops {
		parts = append(parts, strings.TrimSpace(Object(h.Kind, h.Name)+In(h.Namespace)+" "+Change(h.Kind, h.Field)))
	}
	return strings.Join(parts, " → ")
}

// Named fills in the name and the namespace of the object that carries a trace: its creation did
// not know its name yet, where the API server made that up.
func Named(trace []v1alpha1.TraceHop, ref v1alpha1.TargetReference) []v1alpha1.TraceHop {
	trace = slices.Clone(trace)
	last := len(trace) - 1
	if last < 0 || trace[last].Kind != ref.Kind {
		return trace
	}
	if trace[last].Name == "" {
		trace[last].Name = ref.Name
	}
	if trace[last].Name == ref.Name && trace[last].Namespace == "" {
		trace[last].Namespace = ref.Namespace
	}
	return trace
}

// Change says what the hop of a trace does with an object of a kind: the field that changes, but
// of an upgrade in words.
func Change(kind, field string) string {
	switch {
	case field != v1alpha1.FieldUpgrade:
		return field
	case kind == v1alpha1.KindUpgradeAllowance:
		return "agrees to an upgrade"
	default:
		return "is upgraded"
	}
}

// Account returns a service account as NAMESPACE/NAME, by the name of its user, and any other user
// as it is.
func Account(user string) string {
	if namespace, name, err := serviceaccount.SplitUsername(user); err == nil {
		return namespace + "/" + name
	}
	return user
}

// Who names those who may do something. Where a policy names nobody, it is who may
// further up.
func Who(initiators []string) string {
	if len(initiators) == 0 {
		return "whoever may initiate on what owns it"
	}
	return strings.Join(initiators, " or ")
}

// Ago says how long before now something was.
func Ago(then, now time.Time) string {
	return duration.HumanDuration(now.Sub(then)) + " ago"
}

// Command returns a command of this program about an object, as the user can run it.
func Command(name string, ref v1alpha1.TargetReference, paths ...string) string {
	command := kubectl.Kausality(name, Objects(ref))
	if len(paths) > 0 {
		command += " --path " + kubectl.Quote(change.JoinPaths(paths))
	}
	return command
}

// Suggest returns the command that writes the UpgradeAllowance of a user.
func Suggest(user string) string {
	account := Account(user)
	if strings.HasPrefix(account, "-") {
		return "kubectl kausality upgrade suggest -- " + kubectl.Word(account)
	}
	return "kubectl kausality upgrade suggest " + kubectl.Word(account)
}

// Objects returns what a command about an object is told.
func Objects(ref v1alpha1.TargetReference) kubectl.Objects {
	return kubectl.Objects{Group: ref.Group, Kind: ref.Kind, Namespace: ref.Namespace, Names: []string{ref.Name}}
}

// Attestations returns what a policy captured at a hop, one a line.
func Attestations(attestations map[string]string) []string {
	lines := make([]string, 0, len(attestations))
	for _, path := range slices.Sorted(maps.Keys(attestations)) {
		lines = append(lines, kubectl.Printable(path+" = "+attestations[path]))
	}
	return lines
}
