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

// Knowledge is what is known of a kind that its definition does not say. What is left
// out is as Kausality knows the kind; of a kind that it does not know, nothing is assumed
// by which something could pass.
type Knowledge struct {
	// settled says how the status shows that the controllers of an object have finished
	// acting on its current generation. consumption.when of a policy takes its place.
	// +optional
	Settled *SettledKnowledge `json:"settled,omitempty"`

	// proves are the fields that all children have as the object says, once it has
	// settled and has children: a withheld change of one is over then. Left out, a
	// status proves nothing.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=512
	Proves []string `json:"proves,omitempty"`

	// children are the kinds of children that the object is known to make, and what it
	// makes them of. While something is withheld, one that is lost comes back only where
	// it is known to be of the approved template.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Children []ChildKnowledge `json:"children,omitempty"`

	// childMetadata says what may show in the labels and annotations of children:
	// Object, anything that the object says; or Template, only what their template has.
	// While something is withheld of an object of the former, its controller leaves the
	// labels and annotations of its children as they are. Default Object.
	// +optional
	ChildMetadata ChildMetadata `json:"childMetadata,omitempty"`

	// bookkeeping is what controllers do to objects of this kind only to keep their
	// books: it needs no cause, and is no cause.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Bookkeeping []BookkeepingKnowledge `json:"bookkeeping,omitempty"`

	// ownAnnotations are annotations that the controllers of objects of this kind write into
	// these very objects to keep their books, such as the number of a revision. Who may use
	// the allowances of an object writes them without a cause, and they are no cause.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=317
	OwnAnnotations []string `json:"ownAnnotations,omitempty"`

	// actions are what people change in the status to have a controller act, such as the
	// promotion of a canary. Who may not initiate is refused. What an action allows is what
	// the rules allow whose trigger it matches, or else all rules together. What
	// controllers write into the status is none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Actions []StatusAction `json:"actions,omitempty"`

	// reported are the fields of the status that others act upon, or that the controller
	// itself goes on from, such as the artifact of a source that is applied from there:
	// whoever writes them has something done. Only who may initiate writes them, and who is
	// named in the policies besides; where these name no service account, any may. Anybody
	// else is refused. status is all of it. Nothing is caused by such a change.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Pattern=`^status([.\[]|$)`
	// +kubebuilder:validation:items:MaxLength=512
	Reported []string `json:"reported,omitempty"`

	// steering are the fields that say what controllers do with the children: where a
	// policy has rules about some, its status names the others.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=512
	Steering []string `json:"steering,omitempty"`

	// cannotWait are the fields that are carried out otherwise than by a change of children,
	// such as how long history is kept: nothing keeps the controller from acting on them, so
	// that who may not initiate on them is refused.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=512
	CannotWait []string `json:"cannotWait,omitempty"`

	// cannotWaitWith are fields that cannot wait, like those of cannotWait, in objects in which
	// another field is set.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	CannotWaitWith []CannotWaitKnowledge `json:"cannotWaitWith,omitempty"`

	// selector says what spec.selector is for: Keeps lets go of a child that it does
	// not match any more, and adopts what it matches; Adopts does only the latter. Left
	// out, the kind has no such selector.
	// +optional
	Selector SelectorUse `json:"selector,omitempty"`

	// history is where a controller keeps the templates that an object had.
	// +optional
	History *HistoryKnowledge `json:"history,omitempty"`

	// writers are the service accounts that write objects of this kind for what owns
	// them. A policy is warned that lets one initiate.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Writers []Subject `json:"writers,omitempty"`

	// scales says that the controller of an object of this kind scales another object, which
	// it names, as one of a HorizontalPodAutoscaler does. It does so in its own name: who
	// makes or changes such an object is judged as if scaling the other one.
	// +optional
	Scales *ScaleKnowledge `json:"scales,omitempty"`

	// annotationsCount is true where a change of an annotation alone makes another
	// generation.
	// +optional
	AnnotationsCount bool `json:"annotationsCount,omitempty"`

	// fullMinutes is true where the controllers of such an object start something at full
	// minutes, by a schedule, and may lose what they start to a write of the object by somebody
	// else in that moment. The operator writes such an object in the second half of a minute
	// only. What is written with a request of somebody else is written at any time.
	// +optional
	FullMinutes bool `json:"fullMinutes,omitempty"`
}

// CannotWaitKnowledge says which fields are carried out otherwise than by a change of children
// where an object has something else: the number of Pods of a StatefulSet that has templates of
// claims says how many claims there are.
type CannotWaitKnowledge struct {
	// set is the field that has to hold something. An empty list, an empty object and null are
	// nothing.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Set string `json:"set"`

	// fields cannot wait while set holds something.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=512
	Fields []string `json:"fields"`
}

// SettledKnowledge says how a status shows that an object has settled.
//
// +kubebuilder:validation:XValidation:rule="!has(self.convention) || !has(self.conditions) && !has(self.fields)",message="a convention says which conditions and fields have to be how; leave them out, or it"
type SettledKnowledge struct {
	// convention is how the status is to be read, as that of a well-known kind: its
	// fields have the same names and mean the same. Left out, conditions and fields
	// say, and where these are left out as well, the conditions that kinds have by
	// convention: Ready, with Synced where there is one, or Reconciling.
	// +optional
	Convention SettledConvention `json:"convention,omitempty"`

	// generation is the path of the field that has the generation that the status is
	// about, as a number or as a string of digits. Default status.observedGeneration.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Generation string `json:"generation,omitempty"`

	// conditions all have to have their status, and be of the current generation.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []SettledCondition `json:"conditions,omitempty"`

	// fields all have to have their value.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Fields []FieldValue `json:"fields,omitempty"`

	// quiet is true where the status may be about an older spec than the generation in it
	// says, because the controller writes it in another loop than the one that acts. Such a
	// status, and a consumption.when that reads it, is believed once neither the spec has
	// changed nor an allowance has been used for the time in the operator's
	// --status-quiet-time. Where convention, conditions and fields are all left out, the
	// status is believed no sooner either, but consumption.when is.
	// +optional
	Quiet bool `json:"quiet,omitempty"`

	// created is the path of a time in the status. One that is not before the creation
	// of an object says that what the creation had to do is done, where nothing tells of
	// later changes.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Created string `json:"created,omitempty"`
}

// SettledConvention is a way to read a status.
//
// +kubebuilder:validation:Enum=DaemonSet;Deployment;Job;ReplicaSet;StatefulSet
type SettledConvention string

const (
	// ConventionDaemonSet reads the status as that of a DaemonSet.
	ConventionDaemonSet SettledConvention = "DaemonSet"
	// ConventionDeployment reads it as that of a Deployment.
	ConventionDeployment SettledConvention = "Deployment"
	// ConventionJob reads it as that of a Job.
	ConventionJob SettledConvention = "Job"
	// ConventionReplicaSet reads it as that of a ReplicaSet.
	ConventionReplicaSet SettledConvention = "ReplicaSet"
	// ConventionStatefulSet reads it as that of a StatefulSet.
	ConventionStatefulSet SettledConvention = "StatefulSet"
)

// SettledCondition is a condition that has to have a status.
type SettledCondition struct {
	// type of the condition.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	Type string `json:"type"`
	// status that it has to have. Default True.
	// +optional
	// +kubebuilder:default="True"
	// +kubebuilder:validation:Enum="True";"False";"Unknown"
	Status string `json:"status,omitempty"`
}

// FieldValue is a field that has to have a value.
type FieldValue struct {
	// path of the field.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path"`
	// value that it has to have, as text: Healthy, 0, true.
	// +kubebuilder:validation:MaxLength=253
	Value string `json:"value"`
	// orAbsent is true where the field may also be absent.
	// +optional
	OrAbsent bool `json:"orAbsent,omitempty"`
}

// ChildKnowledge is what is known of one kind of children.
type ChildKnowledge struct {
	// apiGroup of the children, "" or left out for the core group.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	APIGroup string `json:"apiGroup,omitempty"`
	// kind of the children.
	// +kubebuilder:validation:Pattern=`^[A-Za-z][A-Za-z0-9]*$`
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// template is the path of what they are made of: a metadata and a spec. Left out,
	// they are not made of a template. It may not be left out where at, counts, suspend, unshown,
	// surge, ordinals or completions is given.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Template string `json:"template,omitempty"`
	// at is the path at which a child has the template, where it makes children of that
	// itself. Left out, its own metadata and spec are made of it.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	At string `json:"at,omitempty"`
	// counts are the fields that say how many children there are; one that is absent
	// is 1.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=512
	Counts []string `json:"counts,omitempty"`
	// suspend is the field that stops the object from making children while it is true.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Suspend string `json:"suspend,omitempty"`
	// unshown are further fields of the object that never show in a child.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=512
	Unshown []string `json:"unshown,omitempty"`
	// marks are the labels and annotations of a child by which the controller tells what it
	// is, beside those that ordinals and completions name. A change of one counts like a
	// change of the content, as the controller would replace the child, or take it for
	// another one.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=512
	Marks []string `json:"marks,omitempty"`
	// surge says which fields make children beside those that they replace.
	// +optional
	Surge *SurgeKnowledge `json:"surge,omitempty"`
	// ordinals says that children are numbered, at the end of their names.
	// +optional
	Ordinals *OrdinalKnowledge `json:"ordinals,omitempty"`
	// completions says that each child completes one of a number of indices.
	// +optional
	Completions *CompletionKnowledge `json:"completions,omitempty"`
	// upkeep is what happens to such children by time, or by other objects, and so
	// without a change of this one: what stops where spec.maintaining lets nothing.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Upkeep string `json:"upkeep,omitempty"`
	// atRest is true where nothing happens to such children without a change.
	// +optional
	AtRest bool `json:"atRest,omitempty"`
}

// SurgeKnowledge says which fields make children beside those that they replace.
type SurgeKnowledge struct {
	// max is the field with how many there may be.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Max string `json:"max"`
	// strategy is the field that says whether that counts.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Strategy string `json:"strategy"`
}

// OrdinalKnowledge says how children are numbered, and of which revision each is.
type OrdinalKnowledge struct {
	// start is the field with the first number; where it is absent, that is 0.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Start string `json:"start"`
	// strategy is the field with how children of an older revision are replaced.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Strategy string `json:"strategy"`
	// partition is the field with how many children keep the older revision.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Partition string `json:"partition"`
	// label of a child that names its revision.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Label string `json:"label"`
	// currentRevision is the field of the status with the older revision.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	CurrentRevision string `json:"currentRevision"`
	// updateRevision is the field of the status with that of the present template.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	UpdateRevision string `json:"updateRevision"`
}

// CompletionKnowledge says which index a child completes.
type CompletionKnowledge struct {
	// annotation of a child that says its index.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Annotation string `json:"annotation"`
	// count is the field with how many indices there are.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Count string `json:"count"`
}

// ChildMetadata says what may show in the labels and annotations of children.
//
// +kubebuilder:validation:Enum=Object;Template
type ChildMetadata string

const (
	// ChildMetadataObject is anything that the object says.
	ChildMetadataObject ChildMetadata = "Object"
	// ChildMetadataTemplate is only what their template has.
	ChildMetadataTemplate ChildMetadata = "Template"
)

// BookkeepingKnowledge is something that needs no cause.
type BookkeepingKnowledge struct {
	// operations are Create, Update and Delete.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:items:Enum=Create;Update;Delete
	Operations []string `json:"operations"`
	// fields all have to have their value, before the operation, or, where that creates
	// the object, after it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Fields []FieldValue `json:"fields,omitempty"`
}

// StatusAction is what people change in the status to have a controller act.
type StatusAction struct {
	// path of the field, or of a list of items of which one is meant.
	// +kubebuilder:validation:Pattern=`^status[.\[]`
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path"`
	// item are the fields, with their values, by which the item of the list is known,
	// such as type: Issuing.
	// +optional
	// +kubebuilder:validation:MaxProperties=4
	Item map[string]string `json:"item,omitempty"`
}

// SelectorUse says what spec.selector of a kind is for.
//
// +kubebuilder:validation:Enum=Keeps;Adopts
type SelectorUse string

const (
	// SelectorKeeps adopts what it matches, and lets go of what it does not.
	SelectorKeeps SelectorUse = "Keeps"
	// SelectorAdopts adopts what it matches.
	SelectorAdopts SelectorUse = "Adopts"
)

// ScaleKnowledge says what an object has its controller scale: one of its own namespace.
type ScaleKnowledge struct {
	// target is the resource of the objects that have others scaled, in a version that has
	// all of their fields.
	Target Target `json:"target"`
	// reference is the path of the field with the apiVersion, the kind and the name of what
	// is scaled, such as spec.scaleTargetRef.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Reference string `json:"reference"`
	// apiGroup and kind are what a reference means that says none.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	APIGroup string `json:"apiGroup,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`
	// annotations are those that say more of an object than its spec does.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=317
	Annotations []string `json:"annotations,omitempty"`
}

// HistoryKnowledge is where a controller keeps the templates that an object had. A policy
// that bounds children made of these bounds them as well.
type HistoryKnowledge struct {
	// target is the resource.
	Target Target `json:"target"`
	// labels relate children to one of the templates: a change of one counts like a
	// change of the content.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=317
	Labels []string `json:"labels,omitempty"`
	// of is the resource of the children that are made of the templates.
	Of Target `json:"of"`
}
