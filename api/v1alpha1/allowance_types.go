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

package v1alpha1

// Relation says what an allowance or a policy entry is about.
type Relation string

const (
	// RelationControllerChild is about objects that a controller creates and
	// changes for their parent. In a ledger entry it is left out.
	RelationControllerChild Relation = "ControllerChild"
	// RelationExternal is about a system outside the cluster, such as the cloud
	// behind a Crossplane managed resource.
	RelationExternal Relation = "External"
	// RelationWithheld marks, in a ledger only, a change that nobody with the
	// right to it made. While an object carries one, its ledger covers nothing
	// (D2).
	RelationWithheld Relation = "Withheld"
)

// MutationVerb says what happens to a field.
//
// +kubebuilder:validation:Enum=Insert;Delete;Mutate
type MutationVerb string

const (
	// MutationInsert adds a field, a list item or a map key.
	MutationInsert MutationVerb = "Insert"
	// MutationDelete removes a field, a list item or a map key.
	MutationDelete MutationVerb = "Delete"
	// MutationMutate changes the value of a field that stays.
	MutationMutate MutationVerb = "Mutate"
)

// Allowance is one entry of a ledger: the permission to make one kind of change
// to one kind of child, with the trace that leads back to the person who
// started it.
type Allowance struct {
	// relation is left out where the entry is about a child object.
	// +optional
	// +kubebuilder:validation:Enum=ControllerChild;External;Withheld
	Relation Relation `json:"relation,omitempty"`

	// apiGroup of the child kind. It is left out for the kinds that Kubernetes
	// itself serves.
	// +optional
	APIGroup string `json:"apiGroup,omitempty"`

	// kind of the children that may be changed; "*" is any kind.
	// +optional
	Kind string `json:"kind,omitempty"`

	// through is left out where the entry is about children of this object. Else it is
	// the kind, with its group after a dot, of the objects that read this one: the
	// entry is about children of these, or about these.
	// +optional
	Through string `json:"through,omitempty"`

	// mutation is what may be done to them: "create", "delete", a path such as
	// spec.replicas, which covers what is below it too, or "*". In a Withheld
	// entry it is the path whose change is withheld.
	// +optional
	Mutation string `json:"mutation,omitempty"`

	// verbs narrows a path, or "*", to these changes of fields. "*" without
	// verbs includes creation and deletion.
	// +optional
	// +listType=atomic
	Verbs []MutationVerb `json:"verbs,omitempty"`

	// external names, in an External entry, the system that may be changed. It is
	// left out where that is what this object itself stands for.
	// +optional
	External map[string]string `json:"external,omitempty"`

	// mutations are, in an External entry, the verbs of that system.
	// +optional
	// +listType=atomic
	Mutations []string `json:"mutations,omitempty"`

	// generation of this object that the allowance was granted for. Once the
	// object has settled at it, the allowance is consumed.
	// +optional
	Generation int64 `json:"generation,omitempty"`

	// initiator is the user who started the chain; in a Withheld entry, the
	// user whose change is withheld.
	// +optional
	Initiator string `json:"initiator,omitempty"`

	// content is, in a Withheld entry, a digest of what the field holds now. An
	// approval that names it, as in spec.replicas@content, approves nothing that was
	// changed since.
	// +optional
	Content string `json:"content,omitempty"`

	// replaced is, in a Withheld entry that is pending, a digest of what the field held
	// before, empty where it held nothing.
	// +optional
	Replaced string `json:"replaced,omitempty"`

	// trace is the way from the initiator to this object, this object last.
	// +optional
	// +listType=atomic
	Trace []TraceHop `json:"trace,omitempty"`
}

// TraceHop is one object on the way from the initiator to a change.
type TraceHop struct {
	// kind of the object.
	Kind string `json:"kind"`

	// name of the object. In the ledger that an object gets at its creation
	// under generateName its own name is not known yet and left out.
	// +optional
	Name string `json:"name,omitempty"`

	// namespace of the object, where it is another one than that of what comes next on
	// the way: the object of the next hop, or, after the last one, the object that carries
	// the trace, or whose change it explains. An object without one is in the namespace of
	// what comes next, or in none.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// generation of the object that carries the change.
	// +optional
	Generation int64 `json:"generation,omitempty"`

	// field is the path of the change with concrete indices and keys, or, in
	// parentheses, what took its place, such as (created).
	// +optional
	Field string `json:"field,omitempty"`

	// attestations are values that a rule captured from the object, by path.
	// +optional
	Attestations map[string]string `json:"attestations,omitempty"`
}

const (
	// FieldCreated is the field of a hop whose object was created.
	FieldCreated = "(created)"
	// FieldReads is the field of a hop whose object reads the one of the hop before, which
	// has changed.
	FieldReads = "(reads)"
	// FieldDeleted is the field of a hop whose object was deleted.
	FieldDeleted = "(deleted)"
	// FieldUpgrade is the field of the hops by which an upgrade goes: the UpgradeAllowance, and the
	// parent that is upgraded.
	FieldUpgrade = "(upgrade)"

	// MutationCreateObject is the mutation of an allowance to create children.
	MutationCreateObject = "create"
	// MutationDeleteObject is the mutation of an allowance to delete children.
	MutationDeleteObject = "delete"
	// Any stands for any kind, or for any mutation.
	Any = "*"
)
