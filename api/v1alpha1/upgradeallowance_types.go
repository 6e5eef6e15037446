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
	"k8s.io/apimachinery/pkg/types"
)

// KindUpgradeAllowance is the kind of UpgradeAllowances. The trace of what one lets through begins
// with it.
const KindUpgradeAllowance = "UpgradeAllowance"

// UpgradeAllowanceSpec says what a new version of a controller may do, once, to the
// children of each parent, although no change of the parent allows it.
//
// +kubebuilder:validation:XValidation:rule="self.detection != 'Declared' || !has(self.versions) || size(self.versions) == 0",message="versions are of images, which detection Declared does not look at"
type UpgradeAllowanceSpec struct {
	// serviceAccount is the user name of the controller, such as
	// system:serviceaccount:crossplane-system:crossplane. With detection Declared it may
	// be system:kube-controller-manager as well. It cannot be changed.
	// +kubebuilder:validation:Pattern=`^(system:serviceaccount:[a-z0-9]([-a-z0-9]*[a-z0-9])?:[a-z0-9]([-a-z0-9.]*[a-z0-9])?|system:kube-controller-manager)$`
	// +kubebuilder:validation:MaxLength=340
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="serviceAccount is immutable: make another UpgradeAllowance"
	ServiceAccount string `json:"serviceAccount"`

	// triggers are what an upgrade is of: Controller, the program that writes the children;
	// Composition, the CompositionRevision by which Crossplane composes a composite resource;
	// Function, the package of a Function that it composes with; ResourceGraph, the graph of kro
	// that they are made from. None can be added: what there was of it before is not known.
	// Default [Controller].
	// +optional
	// +listType=set
	// +kubebuilder:default={Controller}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.all(trigger, trigger in oldSelf)",message="triggers cannot be added: make another UpgradeAllowance"
	Triggers []UpgradeTrigger `json:"triggers,omitempty"`

	// versions are patterns of the images that may do this, in which * stands for any
	// characters, such as "registry.example.org/crossplane:v2.*". Two images that match the
	// same pattern are the same version. Left out, each image is a version of its own, and
	// any may do this but those that ran when the UpgradeAllowance was accepted. The packages of
	// Functions are images too. Of Compositions and graphs they are patterns of the names of
	// CompositionRevisions and GraphRevisions, which are the same version where they say the same.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	Versions []string `json:"versions,omitempty"`

	// detection says by what a new version is known: Image, the image of the Pod that the
	// controller's token is bound to; or Declared, where its tokens are bound to none, as
	// those of the controller manager: then each parent is upgraded once by this
	// UpgradeAllowance, whatever version makes the request. It cannot be changed. Default Image.
	// +optional
	// +kubebuilder:default=Image
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="detection is immutable: make another UpgradeAllowance"
	Detection UpgradeDetection `json:"detection,omitempty"`

	// namespaceSelector selects the namespaces whose parents may be upgraded; empty is all.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`

	// objectSelector selects the parents by label; empty is all.
	// +optional
	ObjectSelector *metav1.LabelSelector `json:"objectSelector,omitempty"`

	// policies are what may be done to the children.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Policies []PolicyEntry `json:"policies"`
}

// UpgradeTrigger is what an upgrade is of.
//
// +kubebuilder:validation:Enum=Controller;Composition;Function;ResourceGraph
type UpgradeTrigger string

const (
	// UpgradeOfController is the upgrade of the program that writes the children.
	UpgradeOfController UpgradeTrigger = "Controller"
	// UpgradeOfComposition is the upgrade of the Composition by which Crossplane composes them.
	UpgradeOfComposition UpgradeTrigger = "Composition"
	// UpgradeOfFunction is the upgrade of a Function with which Crossplane composes them.
	UpgradeOfFunction UpgradeTrigger = "Function"
	// UpgradeOfResourceGraph is the upgrade of the graph from which kro makes them.
	UpgradeOfResourceGraph UpgradeTrigger = "ResourceGraph"
)

// UpgradeDetection says by what a new version is known.
//
// +kubebuilder:validation:Enum=Image;Declared
type UpgradeDetection string

const (
	// DetectionImage goes by the image of the Pod that a token is bound to.
	DetectionImage UpgradeDetection = "Image"
	// DetectionDeclared takes each request for one of a new version.
	DetectionDeclared UpgradeDetection = "Declared"
)

// UpgradeAllowanceStatus is what has become of an UpgradeAllowance.
type UpgradeAllowanceStatus struct {
	// conditions are Accepted, whether it can work, Enforced, whether new versions are
	// let through by it, and Upgraded, whether each parent that has begun to be upgraded
	// has settled and nothing of the service account waits.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// acceptedAt is when it was first accepted.
	// +optional
	AcceptedAt *metav1.Time `json:"acceptedAt,omitempty"`

	// ranBefore are the images that ran as the service account then, and, with trigger
	// Function, the packages of the active Functions. Where a parent does not remember any
	// version, these are no upgrade for it unless versions names them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	RanBefore []string `json:"ranBefore,omitempty"`

	// runs are the images that run as the service account now, and, with trigger Function,
	// the packages of the active Functions.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	Runs []string `json:"runs,omitempty"`

	// moving counts the parents that are being upgraded.
	// +optional
	Moving int32 `json:"moving"`

	// moved counts the parents that were upgraded.
	// +optional
	Moved int32 `json:"moved"`

	// blocked counts the parents for which the service account was denied what this
	// could be about, and was not let through with since. Where nobody tried again for 20
	// minutes, only parents that still wait for it count.
	// +optional
	Blocked int32 `json:"blocked"`

	// blockedParents are the first of these.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	BlockedParents []BlockedParent `json:"blockedParents,omitempty"`
}

// BlockedParent is a parent for which a request was denied.
type BlockedParent struct {
	// kind of the parent.
	Kind string `json:"kind"`
	// namespace of the parent; left out where it has none.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// name of the parent.
	Name string `json:"name"`
	// child is the kind and the name of the child.
	// +optional
	Child string `json:"child,omitempty"`
	// paths that nothing covers.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Paths []string `json:"paths,omitempty"`
}

// ControllerVersion is a version of what makes the children of an object: of a controller that
// acted on them, or of what they are made from.
type ControllerVersion struct {
	// id is the same for the same trigger, and for the same user of a Controller, or the
	// same Function; of what was declared, for the same UpgradeAllowance.
	ID string `json:"id"`
	// user name of the controller, or of who had the object made from another revision.
	User string `json:"user"`
	// trigger is what was upgraded.
	Trigger UpgradeTrigger `json:"trigger"`
	// image of the controller's Pod, or the package of a Function; left out where it was
	// declared.
	// +optional
	Image string `json:"image,omitempty"`
	// revision is the name of the revision that the children are made from; left out of a
	// controller.
	// +optional
	Revision string `json:"revision,omitempty"`
	// digest identifies what that revision says: two that say the same are one version.
	// +optional
	Digest string `json:"digest,omitempty"`
	// alsoRevision is another revision by which something was made of the children since, without
	// an upgrade. The object remembers that one once it leaves it; one by which nothing was made
	// leaves no trace.
	// +optional
	AlsoRevision string `json:"alsoRevision,omitempty"`
	// podCreated is when that Pod was created.
	// +optional
	PodCreated *metav1.Time `json:"podCreated,omitempty"`
	// upgradeAllowance that let the version through; left out where the object was made
	// under it.
	// +optional
	UpgradeAllowance string `json:"upgradeAllowance,omitempty"`
	// upgradeAllowanceUID is its uid.
	// +optional
	UpgradeAllowanceUID types.UID `json:"upgradeAllowanceUID,omitempty"`
	// since is when the version was first let through, or seen.
	Since metav1.Time `json:"since"`
	// lastUsed is when it was last let through, to some seconds.
	// +optional
	LastUsed *metav1.Time `json:"lastUsed,omitempty"`
	// movedAt is when the upgrade of the object was over; left out while it goes on.
	// +optional
	MovedAt *metav1.Time `json:"movedAt,omitempty"`
}

// RequestVersion is a version that a request came from, and what it was to the parent then.
type RequestVersion struct {
	// trigger that it is a version of.
	Trigger UpgradeTrigger `json:"trigger"`
	// version is the image of the controller's Pod, the package of a Function, or the name of a
	// revision; left out where it is not known.
	// +optional
	Version string `json:"version,omitempty"`
	// podCreated is when that Pod was created.
	// +optional
	PodCreated *metav1.Time `json:"podCreated,omitempty"`
	// standing is what it was to the parent.
	Standing VersionStanding `json:"standing"`
}

// VersionStanding is what a version is to a parent, by what the parent remembers.
type VersionStanding string

const (
	// StandingFirst is that of a version of what the parent remembers none.
	StandingFirst VersionStanding = "First"
	// StandingNew is that of another version than the parent remembers, which could be an upgrade.
	StandingNew VersionStanding = "New"
	// StandingMoving is that of the version that the parent is being upgraded to.
	StandingMoving VersionStanding = "Moving"
	// StandingSame is that of the version that the parent was made by, or upgraded to.
	StandingSame VersionStanding = "Same"
	// StandingOlder is that of another version than the parent remembers, in an older Pod.
	StandingOlder VersionStanding = "Older"
	// StandingUnknown is that of a version that is not known.
	StandingUnknown VersionStanding = "Unknown"
)

// UpgradeAllowance says what a new version of a controller may do, once, to the children
// of each parent, although no change of the parent allows it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=upa,categories=kausality
// +kubebuilder:printcolumn:name="ServiceAccount",type=string,JSONPath=`.spec.serviceAccount`
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`
// +kubebuilder:printcolumn:name="Enforced",type=string,JSONPath=`.status.conditions[?(@.type=="Enforced")].status`
// +kubebuilder:printcolumn:name="Moving",type=integer,JSONPath=`.status.moving`
// +kubebuilder:printcolumn:name="Moved",type=integer,JSONPath=`.status.moved`
// +kubebuilder:printcolumn:name="Blocked",type=integer,JSONPath=`.status.blocked`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="ChangedBy",type=string,priority=1,JSONPath=`.metadata.annotations.kausality\.io/changed-by`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Enforced")].reason`
type UpgradeAllowance struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what may be done, and by whom.
	Spec UpgradeAllowanceSpec `json:"spec"`
	// status is what has become of it.
	// +optional
	Status UpgradeAllowanceStatus `json:"status,omitempty"`
}

// UpgradeAllowanceList is a list of UpgradeAllowances.
//
// +kubebuilder:object:root=true
type UpgradeAllowanceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []UpgradeAllowance `json:"items"`
}
