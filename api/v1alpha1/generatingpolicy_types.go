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
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// KindGeneratingPolicy is the kind of GeneratingPolicies.
const KindGeneratingPolicy = "GeneratingPolicy"

const (
	// LabelGeneratedBy is the label of an object that a GeneratingPolicy made: the name of the
	// policy, or where that is no value of a label a hash of it. It is for selecting; what counts
	// is AnnotationGeneratedFrom.
	LabelGeneratedBy = "kausality.io/generated-by"

	// LabelRequestFor is the label of a Secret in the operator's namespace that keeps a request for
	// a GeneratingPolicy of which the request is a trigger: the name of the policy, as in
	// LabelGeneratedBy.
	LabelRequestFor = "kausality.io/request-for"

	// FinalizerGenerating holds a GeneratingPolicy until what goes with it is deleted.
	FinalizerGenerating = "kausality.io/generating"
)

// GeneratingPolicySpec says which objects there are to be for others, the triggers.
type GeneratingPolicySpec struct {
	// evaluation is when the policy is evaluated, and for how long.
	// +optional
	Evaluation GeneratingEvaluation `json:"evaluation,omitempty"`

	// matchConstraints are the triggers, as in a ValidatingAdmissionPolicy.
	MatchConstraints *admissionregistrationv1.MatchResources `json:"matchConstraints"`

	// matchConditions are further conditions on a trigger. All must hold. They may use
	// object, oldObject, namespaceObject, request, variables and resource.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	MatchConditions []admissionregistrationv1.MatchCondition `json:"matchConditions,omitempty"`

	// variables are expressions by name, which the others use as variables.NAME. Each may use
	// those before it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Variables []admissionregistrationv1.Variable `json:"variables,omitempty"`

	// generate are the expressions that say what is wanted, by generator.ApplyAll(namespace, objects).
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Generate []Generation `json:"generate"`

	// serviceAccount is the user name of the service account that reads and writes, such as
	// system:serviceaccount:shop:generator. Who sets it must be allowed to impersonate it. Left
	// out, it is kausality-generator in the operator's namespace, which may do only what a role
	// with the label rbac.kausality.io/aggregate-to-generator gives it.
	// +optional
	// +kubebuilder:validation:MaxLength=340
	ServiceAccount string `json:"serviceAccount,omitempty"`
}

// GeneratingEvaluation is when a policy is evaluated, and for how long.
type GeneratingEvaluation struct {
	// synchronize keeps what was made as the policy wants it. Without it, an object is made
	// once for a trigger, and left alone for good.
	// +optional
	Synchronize bool `json:"synchronize,omitempty"`

	// generateExisting is about triggers too that were there before the policy.
	// +optional
	GenerateExisting bool `json:"generateExisting,omitempty"`

	// orphanDownstreamOnPolicyDelete retains what was made when the policy is deleted.
	// +optional
	OrphanDownstreamOnPolicyDelete bool `json:"orphanDownstreamOnPolicyDelete,omitempty"`
}

// Generation is one expression that applies objects.
type Generation struct {
	// name of the expression, for messages.
	// +optional
	Name string `json:"name,omitempty"`

	// expression calls generator.ApplyAll, once or in lists.
	// +kubebuilder:validation:MinLength=1
	Expression string `json:"expression"`
}

// GeneratingPolicyStatus reports how far a GeneratingPolicy is carried out.
type GeneratingPolicyStatus struct {
	// conditions are Accepted, whether the policy can work: from then on no change of a trigger
	// or a source is missed; and Enforced, whether there is all that it wants.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// since are the resources of the triggers, and from when on a trigger counts without
	// generateExisting.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Since []GeneratingSince `json:"since,omitempty"`

	// kinds are the kinds of the objects that the policy made. They stay watched after the last
	// trigger is gone.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Kinds []GeneratedKind `json:"kinds,omitempty"`

	// triggers counts the objects that match.
	// +optional
	Triggers GeneratingTriggers `json:"triggers,omitempty"`

	// objects counts what is wanted for them, and what was made, by state.
	// +optional
	Objects GeneratingObjects `json:"objects,omitempty"`

	// failures are the first of what does not go as the policy says.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Failures []GeneratingFailure `json:"failures,omitempty"`
}

// GeneratingSince is from when on the objects of one resource count as triggers.
type GeneratingSince struct {
	// policyUID is the uid of the policy that this was noted for. Of another one, as after a
	// restore from a backup, it does not count.
	PolicyUID types.UID `json:"policyUID"`

	// resource is the plural name of the resource and its group, such as deployments.apps.
	Resource string `json:"resource"`

	// resourceVersion of the list of these objects then: what was written since then counts.
	// Left out, all of them do: the resource was not served yet.
	// +optional
	ResourceVersion string `json:"resourceVersion,omitempty"`

	// time is when that was: an object counts once something other than its status was
	// written since.
	Time metav1.Time `json:"time"`
}

// GeneratedKind is a kind, in the version in which its objects are applied.
type GeneratedKind struct {
	// group of the kind; left out for the core group.
	// +optional
	Group string `json:"group,omitempty"`
	// version of the kind.
	Version string `json:"version"`
	// kind of the objects.
	Kind string `json:"kind"`
}

// GeneratingTriggers counts triggers.
type GeneratingTriggers struct {
	// matching counts those that the policy is for.
	// +optional
	Matching int32 `json:"matching"`

	// failed counts those that could not be evaluated. What there is for them stays.
	// +optional
	Failed int32 `json:"failed"`

	// pending counts those that are still to be evaluated.
	// +optional
	Pending int32 `json:"pending"`
}

// GeneratingObjects counts objects.
type GeneratingObjects struct {
	// made counts those that are there and that the policy made, also those of the following
	// that are not as it wants them yet, and those that were made once.
	// +optional
	Made int32 `json:"made"`

	// waiting counts those that wait for something: for their namespace or their kind, for
	// the end of an object that is being deleted, or for their turn.
	// +optional
	Waiting int32 `json:"waiting"`

	// refused counts those that the service account may not write, or that an admission
	// policy or a webhook refuses.
	// +optional
	Refused int32 `json:"refused"`

	// conflicting counts those that are there and that this policy did not make.
	// +optional
	Conflicting int32 `json:"conflicting"`

	// failed counts those that could not be written for another reason.
	// +optional
	Failed int32 `json:"failed"`
}

// GeneratingFailure is something that does not go as a policy says.
type GeneratingFailure struct {
	// trigger is the object that it is about.
	// +optional
	Trigger *GeneratingReference `json:"trigger,omitempty"`

	// object is the wanted object, if the failure is about one.
	// +optional
	Object *GeneratingReference `json:"object,omitempty"`

	// reason says what failed, such as Conflicting, Refused or EvaluationFailed.
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason"`

	// message says what happened, and what to do.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// GeneratingReference names an object.
type GeneratingReference struct {
	// group of the object; left out for the core group.
	// +optional
	Group string `json:"group,omitempty"`

	// kind of the object.
	Kind string `json:"kind"`

	// namespace of the object; left out where it has none.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// name of the object.
	Name string `json:"name"`

	// request is what was asked of the object, where that request is the trigger and not the object
	// itself, such as DELETE or CREATE eviction.
	// +optional
	Request string `json:"request,omitempty"`
}

// GeneratingPolicy says which objects there are to be for others, and keeps them so.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,path=generatingpolicies,shortName=kgp,categories=kausality
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`
// +kubebuilder:printcolumn:name="Enforced",type=string,JSONPath=`.status.conditions[?(@.type=="Enforced")].status`
// +kubebuilder:printcolumn:name="Triggers",type=integer,JSONPath=`.status.triggers.matching`
// +kubebuilder:printcolumn:name="Made",type=integer,JSONPath=`.status.objects.made`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Waiting",type=integer,priority=1,JSONPath=`.status.objects.waiting`
// +kubebuilder:printcolumn:name="Refused",type=integer,priority=1,JSONPath=`.status.objects.refused`
// +kubebuilder:printcolumn:name="Conflicting",type=integer,priority=1,JSONPath=`.status.objects.conflicting`
// +kubebuilder:printcolumn:name="Failed",type=integer,priority=1,JSONPath=`.status.objects.failed`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Enforced")].reason`
type GeneratingPolicy struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says which objects to make, and for which triggers.
	Spec GeneratingPolicySpec `json:"spec"`
	// status reports how far the policy is carried out.
	// +optional
	Status GeneratingPolicyStatus `json:"status,omitempty"`
}

// GeneratingPolicyList is a list of GeneratingPolicies.
//
// +kubebuilder:object:root=true
type GeneratingPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []GeneratingPolicy `json:"items"`
}
