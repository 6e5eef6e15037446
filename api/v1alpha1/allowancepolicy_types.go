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

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AllowancePolicySpec says which change of one kind of parent allows which
// changes of its children, and who may start such a chain.
type AllowancePolicySpec struct {
	// for is the kind of the parent.
	For ParentKind `json:"for"`

	// namespaceSelector selects the namespaces whose parents the policy is
	// about; empty is all. Children follow their parent.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`

	// objectSelector selects the parents by label; empty is all.
	// +optional
	ObjectSelector *metav1.LabelSelector `json:"objectSelector,omitempty"`

	// subjects are who the policy is about: those with mayInitiate may start a
	// chain by changing the parent, all of them may use what was allowed. Where
	// nobody is named without mayInitiate, any service account may use it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Subjects []PolicySubject `json:"subjects,omitempty"`

	// initializing bounds what may happen to the children of a parent that has
	// not settled yet since it was created. Omitted or empty: unrestricted.
	// +optional
	Initializing *InitializingSection `json:"initializing,omitempty"`

	// maintaining lists what needs no allowance while the parent is steady, such
	// as replacing a Pod that was evicted.
	// +optional
	Maintaining *MaintainingSection `json:"maintaining,omitempty"`

	// deleting bounds what may happen to the children of a parent that is being
	// deleted. Omitted or empty: unrestricted for objects in the cluster, while
	// external systems are preserved.
	// +optional
	Deleting *DeletingSection `json:"deleting,omitempty"`

	// rules map changes of a steady parent to the changes of its children that
	// they allow. A resource that no section names is unrestricted.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Rules []Rule `json:"rules,omitempty"`

	// consumption says when an allowance ends, for parents whose status does not
	// tell or tells too early.
	// +optional
	Consumption *Consumption `json:"consumption,omitempty"`

	// knowledge is what Kausality should know of the kind of the parent that it does not
	// know by itself, or knows otherwise: how its status shows that it has settled, what
	// it makes children of, what people do through its status. Where several policies say
	// the same field of it, the oldest counts.
	// +optional
	Knowledge *Knowledge `json:"knowledge,omitempty"`

	// validationActions says what happens to a change of a child that nothing
	// covers. Deny refuses it; Warn lets it through with a warning; Audit only
	// records it. Where several policies bound a child, the strictest counts.
	// Default [Deny].
	// +optional
	// +listType=atomic
	// +kubebuilder:default={Deny}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:XValidation:rule="!('Deny' in self && 'Warn' in self)",message="Deny and Warn exclude each other: a denial already tells the client"
	// +kubebuilder:validation:XValidation:rule="self.size() < 2 || self[0] != self[1]",message="an action is named once"
	ValidationActions []ValidationAction `json:"validationActions,omitempty"`

	// failurePolicy says what happens while the webhook cannot be reached: Ignore
	// lets the requests through, Fail refuses them. Default Ignore.
	// +optional
	// +kubebuilder:default=Ignore
	FailurePolicy FailurePolicy `json:"failurePolicy,omitempty"`

	// uncausedChanges says what happens to a change of a parent that would
	// trigger a rule, made by somebody who may not initiate: Hold lets it stand
	// and withholds it from the children; Refuse refuses the write. Default Hold.
	// +optional
	// +kubebuilder:default=Hold
	UncausedChanges UncausedChanges `json:"uncausedChanges,omitempty"`

	// targetStatus says whether parents show that this policy is in effect for
	// them: Show, by the condition kausality.io/AllowancePolicyAffected where their
	// kind keeps it, else by an annotation of that name; or None. Default Show.
	// +optional
	// +kubebuilder:default=Show
	TargetStatus TargetStatus `json:"targetStatus,omitempty"`
}

// ParentKind is a fully qualified kind.
type ParentKind struct {
	// apiGroup of the kind, "" or left out for the core group.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	APIGroup string `json:"apiGroup"`
	// apiVersion is the version within the group, such as v1.
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	APIVersion string `json:"apiVersion"`
	// kind in the singular, such as Deployment.
	// +kubebuilder:validation:Pattern=`^[A-Za-z][A-Za-z0-9]*$`
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
}

// SubjectKind is the kind of a subject, as in RBAC.
//
// +kubebuilder:validation:Enum=User;Group;ServiceAccount
type SubjectKind string

const (
	// SubjectUser names a user.
	SubjectUser SubjectKind = "User"
	// SubjectGroup names a group.
	SubjectGroup SubjectKind = "Group"
	// SubjectServiceAccount names a service account and its namespace.
	SubjectServiceAccount SubjectKind = "ServiceAccount"
)

// Subject is a user, a group or a service account.
//
// +kubebuilder:validation:XValidation:rule="(self.kind == 'ServiceAccount') == has(self.namespace)",message="a ServiceAccount needs its namespace, a User or Group has none"
type Subject struct {
	// kind of the subject.
	Kind SubjectKind `json:"kind"`
	// name of the subject.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// namespace of the service account.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}

// PolicySubject is a subject of a policy.
type PolicySubject struct {
	Subject `json:",inline"`
	// mayInitiate lets the subject start a chain, not only continue one.
	// +optional
	MayInitiate bool `json:"mayInitiate,omitempty"`
}

// InitializingSection bounds the time from the creation of a parent until it has
// first settled.
type InitializingSection struct {
	// when is a CEL expression over object; while it is true, the parent is
	// initializing. Left out, or equal to
	// "!has(object.status.observedGeneration)", initialization ends when the
	// parent first settles.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	When string `json:"when,omitempty"`
	// policies bound what may happen. Omitted or empty: unrestricted.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Policies []PolicyEntry `json:"policies,omitempty"`
}

// DeletingSection bounds the deletion of a parent.
type DeletingSection struct {
	// policies bound what may happen. Omitted or empty: unrestricted for objects
	// in the cluster.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Policies []PolicyEntry `json:"policies,omitempty"`
}

// MaintainingSection lists what needs no allowance while a parent is steady.
type MaintainingSection struct {
	// policies are what may happen.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Policies []MaintainingEntry `json:"policies,omitempty"`
}

// MaintainingEntry is a policy entry with its own subjects and conditions.
//
// +kubebuilder:validation:XValidation:rule="self.relation == 'ControllerChild'",message="maintaining is for ControllerChild: what changes an external system always needs an allowance"
type MaintainingEntry struct {
	PolicyEntry `json:",inline"`
	// subjects are who may do this. Left out: who may use the allowances of the
	// parent, and who may initiate above it. The eviction of Pods is open to everybody.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Subjects []Subject `json:"subjects,omitempty"`
	// conditions are CEL expressions over the child, as object and oldObject;
	// all must hold.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=4096
	Conditions []string `json:"conditions,omitempty"`
}

// Rule says what a change of the parent allows.
type Rule struct {
	// trigger is the path of the parent's field whose change triggers the rule;
	// [*] is any index or key, and what is below the path counts too.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Trigger string `json:"trigger"`
	// conditions are CEL expressions over object, oldObject and request; all must
	// hold for the change to allow anything.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=4096
	Conditions []string `json:"conditions,omitempty"`
	// capture lists paths of the parent whose values enter the trace.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=512
	Capture []string `json:"capture,omitempty"`
	// policies are what the change allows. Omitted or empty: anything, to any
	// child.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Policies []PolicyEntry `json:"policies,omitempty"`
}

// PolicyEntry is what may happen to one resource.
//
// +kubebuilder:validation:XValidation:rule="(self.relation == 'External') == has(self.target.external)",message="relation External needs target.external, relation ControllerChild needs target.resource"
// +kubebuilder:validation:XValidation:rule="self.relation != 'External' || !has(self.mutations)",message="mutations are for relation ControllerChild; an External entry has verbs only"
// +kubebuilder:validation:XValidation:rule="self.relation == 'External' || !has(self.verbs) || self.verbs.all(v, v in ['Create', 'Update', 'Delete', '*'])",message="verbs for ControllerChild are Create, Update, Delete or *"
// +kubebuilder:validation:XValidation:rule="self.relation != 'External' || has(self.verbs) && size(self.verbs) > 0",message="an External entry needs verbs"
// +kubebuilder:validation:XValidation:rule="self.relation != 'External' || !has(self.through)",message="through is for relation ControllerChild"
type PolicyEntry struct {
	// target is what the entry is about.
	Target Target `json:"target"`
	// relation is ControllerChild for objects in the cluster and External for a
	// system outside it.
	// +kubebuilder:validation:Enum=ControllerChild;External
	Relation Relation `json:"relation"`
	// verbs are what may be done: for ControllerChild Create, Update, Delete or
	// "*", and Update where left out; for External those of that system, and
	// "*".
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Verbs []string `json:"verbs,omitempty"`
	// mutations narrow which fields may be changed. Left out, Update allows any.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Mutations []FieldMutation `json:"mutations,omitempty"`
	// through names, in a rule, objects of another kind that read the policy's own,
	// as a Prometheus reads the ServiceMonitors that it selects: the entry is about
	// the children of those, or about those themselves where target names them. Left
	// out, it is about the children of the policy's objects.
	// +optional
	Through *Through `json:"through,omitempty"`
}

// Through says which objects read those of a policy.
//
// +kubebuilder:validation:XValidation:rule="(has(self.selectedBy) ? 1 : 0) + (has(self.namedBy) ? 1 : 0) + (has(self.names) ? 1 : 0) == 1",message="exactly one of selectedBy, namedBy and names says who reads what"
// +kubebuilder:validation:XValidation:rule="has(self.selectedBy) || !has(self.namespacesSelectedBy)",message="namespacesSelectedBy goes with selectedBy"
type Through struct {
	// apiGroup of the readers, "" or left out for the core group.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	APIGroup string `json:"apiGroup,omitempty"`
	// apiVersion is the version within the group, such as v1.
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	APIVersion string `json:"apiVersion"`
	// resource of the readers in the plural, such as prometheuses.
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=253
	Resource string `json:"resource"`
	// selectedBy is the path of the label selector in the reader, such as
	// spec.serviceMonitorSelector. One that is not there selects nothing.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	SelectedBy string `json:"selectedBy,omitempty"`
	// namespacesSelectedBy is the path of the selector of namespaces in the reader.
	// Left out, and where the reader has none, it reads in its own namespace.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	NamespacesSelectedBy string `json:"namespacesSelectedBy,omitempty"`
	// namedBy are paths in the reader that hold the name of what it reads, such as
	// spec.template.spec.volumes[*].configMap.name; both are in one namespace, or one
	// of them is in none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:items:MaxLength=512
	NamedBy []string `json:"namedBy,omitempty"`
	// names are paths in the policy's object that hold the name of its reader, such
	// as spec.parentRefs[*].name; both are in one namespace, or one of them is in none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:items:MaxLength=512
	Names []string `json:"names,omitempty"`
}

// Target names a resource in the cluster, or, by external, something outside.
//
// +kubebuilder:validation:XValidation:rule="has(self.external) != has(self.resource)",message="a target has either a resource or external"
// +kubebuilder:validation:XValidation:rule="!has(self.external) || (!has(self.apiGroup) && !has(self.apiVersion))",message="an external target has no apiGroup and no apiVersion of its own; they are keys of external"
// +kubebuilder:validation:XValidation:rule="!has(self.resource) || has(self.apiVersion)",message="a resource needs its apiVersion"
type Target struct {
	// apiGroup of the resource, "" or left out for the core group.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	APIGroup *string `json:"apiGroup,omitempty"`
	// apiVersion is the version within the group, such as v1.
	// +optional
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	APIVersion string `json:"apiVersion,omitempty"`
	// resource in the plural, such as replicasets.
	// +optional
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=253
	Resource string `json:"resource,omitempty"`
	// external identifies a system outside the cluster; its keys belong to that
	// system.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=16
	External map[string]string `json:"external,omitempty"`
}

// FieldMutation is a change of a field.
type FieldMutation struct {
	// jsonPath of the field, "*" for any; what is below it is covered too.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	JSONPath string `json:"jsonPath"`
	// verbs are Insert, Delete and Mutate; all of them where left out.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=3
	Verbs []MutationVerb `json:"verbs,omitempty"`
}

// Consumption says when an allowance ends.
type Consumption struct {
	// when is a CEL expression over object and allowance; while it is true the
	// object has settled. It replaces what Kausality knows about the kind.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	When string `json:"when,omitempty"`
	// ttl ends the allowances of kinds whose status tells nothing. Default 10m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[+-]?(0|(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$')",message="must be a duration, such as 90s, 10m or 1h30m"
	TTL *metav1.Duration `json:"ttl,omitempty"`
	// maxOpen is how long an allowance may stay unused or unfinished before the
	// policy's status says so. It stays usable. Default 24h.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[+-]?(0|(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$')",message="must be a duration, such as 90s, 10m or 1h30m"
	MaxOpen *metav1.Duration `json:"maxOpen,omitempty"`
}

// ValidationAction says what happens to a change that nothing covers.
//
// +kubebuilder:validation:Enum=Deny;Warn;Audit
type ValidationAction string

const (
	// ActionDeny refuses the change.
	ActionDeny ValidationAction = "Deny"
	// ActionWarn lets it through and warns the client.
	ActionWarn ValidationAction = "Warn"
	// ActionAudit lets it through and records it.
	ActionAudit ValidationAction = "Audit"
)

// FailurePolicy says what happens while the webhook cannot be reached.
//
// +kubebuilder:validation:Enum=Ignore;Fail
type FailurePolicy string

const (
	// FailurePolicyIgnore lets requests through.
	FailurePolicyIgnore FailurePolicy = "Ignore"
	// FailurePolicyFail refuses requests.
	FailurePolicyFail FailurePolicy = "Fail"
)

// UncausedChanges says what happens to a triggering change by somebody who may
// not initiate.
//
// +kubebuilder:validation:Enum=Hold;Refuse
type UncausedChanges string

const (
	// UncausedHold lets the change stand and withholds it from the children.
	UncausedHold UncausedChanges = "Hold"
	// UncausedRefuse refuses the write.
	UncausedRefuse UncausedChanges = "Refuse"
)

// TargetStatus says whether parents show that a policy is in effect for them.
//
// +kubebuilder:validation:Enum=Show;None
type TargetStatus string

const (
	// TargetStatusShow has parents show it.
	TargetStatusShow TargetStatus = "Show"
	// TargetStatusNone leaves parents as they are.
	TargetStatusNone TargetStatus = "None"
)

// AllowancePolicyStatus is what Kausality has made of a policy.
type AllowancePolicyStatus struct {
	// conditions are Accepted, and how far the policy is enforced: Enforced,
	// PartiallyEnforced and Overridden, of which at most one is True. Two policies
	// for the same objects add up; where they cannot, the older one decides, and of
	// two of the same age the one whose name comes first.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// affected counts the objects for which the policy is in effect.
	// +optional
	Affected *int64 `json:"affected,omitempty"`

	// adoptedGeneration is the generation at which the parents that were in the
	// middle of something were last recorded as adopting; they finish what they
	// are doing unrestricted.
	// +optional
	AdoptedGeneration int64 `json:"adoptedGeneration,omitempty"`

	// adopting counts the parents that are still finishing what they were doing
	// when the policy first took effect.
	// +optional
	Adopting int64 `json:"adopting,omitempty"`
}

// AllowancePolicy says which change of a parent allows its controllers which
// changes of its children, and who may start such a chain.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=alp,categories=kausality
// +kubebuilder:metadata:labels="gateway.networking.k8s.io/policy=inherited"
// +kubebuilder:printcolumn:name="For",type=string,JSONPath=`.spec.for.kind`
// +kubebuilder:printcolumn:name="Group",type=string,JSONPath=`.spec.for.apiGroup`,priority=1
// +kubebuilder:printcolumn:name="Actions",type=string,JSONPath=`.spec.validationActions`
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`
// +kubebuilder:printcolumn:name="Enforced",type=string,JSONPath=`.status.conditions[?(@.type=="Enforced")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Enforced")].reason`,priority=1
// +kubebuilder:printcolumn:name="Affected",type=integer,JSONPath=`.status.affected`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type AllowancePolicy struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the policy allows, and to whom.
	Spec AllowancePolicySpec `json:"spec"`
	// status is what Kausality has made of it.
	// +optional
	Status AllowancePolicyStatus `json:"status,omitempty"`
}

// AllowancePolicyList is a list of AllowancePolicies.
//
// +kubebuilder:object:root=true
type AllowancePolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AllowancePolicy `json:"items"`
}
