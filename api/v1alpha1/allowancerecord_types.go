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

// Phase is where an object is in its life (D9).
//
// +kubebuilder:validation:Enum=Initializing;Steady;Deleting
type Phase string

const (
	// PhaseInitializing lasts from creation until the object first settles.
	PhaseInitializing Phase = "Initializing"
	// PhaseSteady is every time after that.
	PhaseSteady Phase = "Steady"
	// PhaseDeleting begins with the deletion of the object.
	PhaseDeleting Phase = "Deleting"
)

// AllowanceRecordSpec names the object that the record is about.
type AllowanceRecordSpec struct {
	// targetRef is the object. A recreated object of the same name has another
	// uid, and a record of its own.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="targetRef is immutable"
	TargetRef TargetReference `json:"targetRef"`

	// ledgerKnown is true where the record was made together with the first allowances of
	// the target, so that it tells of all of them. Of a record that was made otherwise that
	// is so once its status has a phase; until then no allowance in the target's ledger
	// counts, as nobody knows which of them are used up.
	// +optional
	LedgerKnown bool `json:"ledgerKnown,omitempty"`

	// creationJudged is true where the record was made by the request that created the target:
	// Kausality was asked about it. Where it is not, the leader looks whether the target was
	// created while nobody was asked.
	// +optional
	CreationJudged bool `json:"creationJudged,omitempty"`
}

// TargetReference names one object for good.
type TargetReference struct {
	// group of the object's kind, "" for the core group.
	// +optional
	Group string `json:"group,omitempty"`
	// version within the group.
	Version string `json:"version"`
	// kind of the object.
	Kind string `json:"kind"`
	// namespace of the object; left out where it is cluster-scoped.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// name of the object.
	Name string `json:"name"`
	// uid of the object.
	UID types.UID `json:"uid"`
}

// AllowanceRecordStatus mirrors the ledger of the target and what admission
// decided about its children. Pending grants, consumed allowances, the deletion
// and adopting are kept here and nowhere else.
type AllowanceRecordStatus struct {
	// phase of the target; left out until the operator has looked at the target.
	// +optional
	Phase Phase `json:"phase,omitempty"`

	// parentUID is the uid of the target's parent, empty where it has none. Through it the
	// deletion of the parent explains that of the target when both are gone. The label
	// kausality.io/parent-uid says the same, for selecting, and counts only where this is
	// left out.
	// +optional
	ParentUID *types.UID `json:"parentUID,omitempty"`

	// active are the allowances that the target holds, pending ones included.
	// +optional
	// +listType=atomic
	Active []Allowance `json:"active,omitempty"`

	// ledgerKey is the annotation that active was read from, where that is not
	// kausality.io/allowances. A record without it that has active allowances of an object
	// with an owner is from a version that knew no other key.
	// +optional
	LedgerKey string `json:"ledgerKey,omitempty"`

	// activeCount is the number of active allowances, withheld changes apart.
	// +optional
	ActiveCount int32 `json:"activeCount"`

	// withheldCount is the number of withheld changes.
	// +optional
	WithheldCount int32 `json:"withheldCount"`

	// initiator of the latest allowance that the target held.
	// +optional
	Initiator string `json:"initiator,omitempty"`

	// lastDecision is the latest decision about a child of the target.
	// +optional
	LastDecision *Decision `json:"lastDecision,omitempty"`

	// lastDenial is the latest denial of a change of a child of the target, or, while a
	// controller waits, the latest one of a controller.
	// +optional
	LastDenial *Decision `json:"lastDenial,omitempty"`

	// history is what happened, the newest first. It is bounded: the oldest
	// entries go.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	History []HistoryEntry `json:"history,omitempty"`

	// denials counts the changes of children that were denied.
	// +optional
	Denials int64 `json:"denials"`

	// answeredDenials is how many of the denials need no answer any more: since
	// then something came that could help, or the target settled. Those of people, who
	// do not try again, never need one.
	// +optional
	AnsweredDenials int64 `json:"answeredDenials,omitempty"`

	// blocked is set while a controller waits that was denied a change of a child.
	// +optional
	Blocked *Blocked `json:"blocked,omitempty"`

	// wokenBy are the UpgradeAllowances, with their generations, for which controllers that had been
	// denied something were woken since the target last settled, one entry for each time. One is
	// forgotten once it does not select the target any more.
	// +optional
	// +listType=atomic
	WokenBy []string `json:"wokenBy,omitempty"`

	// firstSeen says since when the target holds its active allowances. Where
	// its status can never tell that it has settled, their time runs from here.
	// +optional
	// +listType=map
	// +listMapKey=id
	FirstSeen []SeenAllowance `json:"firstSeen,omitempty"`

	// gated is true while the target is under a gate: it stands for something outside
	// the cluster, which changes only while an allowance says so.
	// +optional
	Gated bool `json:"gated,omitempty"`

	// pendingGrants are grants that have yet to enter the target's ledger, from
	// requests whose answer could not carry them.
	// +optional
	// +listType=map
	// +listMapKey=id
	PendingGrants []PendingGrant `json:"pendingGrants,omitempty"`

	// brokenGlass are requests for children of the target that break the glass.
	// They are noted before they are judged, and kept for some seconds.
	// +optional
	// +listType=atomic
	BrokenGlass []BrokenGlass `json:"brokenGlass,omitempty"`

	// consumed names allowances of the ledger that are used up, where the entry
	// itself can only leave with the target's next write.
	// +optional
	// +listType=map
	// +listMapKey=id
	Consumed []ConsumedAllowance `json:"consumed,omitempty"`

	// rawLedger is what the ledger annotation held when it could not be read, or
	// when it was dropped because it was there before any policy.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	RawLedger string `json:"rawLedger,omitempty"`

	// approved tells what content of the target is approved, where nothing of it is
	// withheld: what is changed while nobody looks is found by it.
	// +optional
	Approved *ApprovedContent `json:"approved,omitempty"`

	// adopting is true while the target finishes what it was doing when a policy
	// first took effect for it; its children are unrestricted until then, for who may use its
	// allowances or initiate above them.
	// +optional
	Adopting bool `json:"adopting,omitempty"`

	// adoptingSince is when adopting began.
	// +optional
	AdoptingSince *metav1.Time `json:"adoptingSince,omitempty"`

	// strays are the children that the target adopted without a cause: somebody made
	// them, and the target's controller took them for its own. No allowance covers a
	// change of them, and no healing makes room for them. An entry goes when its child
	// is gone or released, and when an initiator approves it.
	// +optional
	// +listType=map
	// +listMapKey=uid
	// +kubebuilder:validation:MaxItems=256
	Strays []StrayChild `json:"strays,omitempty"`

	// setAside are objects that nobody owns and that the target may adopt with a cause, as long as
	// they are as they were left: children that it has released, and what an initiator has made
	// for it or given back to it. An entry goes a day after it was written, and the oldest where
	// there is no room.
	// +optional
	// +listType=map
	// +listMapKey=uid
	// +kubebuilder:validation:MaxItems=64
	SetAside []SetAsideChild `json:"setAside,omitempty"`

	// ignoredParents are parents that somebody gave the target while no operator looked,
	// whom nobody knows to be one that may. They bound and cover nothing: no phase, ledger,
	// chain or approval of theirs counts for the target. An entry goes when an initiator
	// approves it, and when the target does not name the parent any more.
	// +optional
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MaxItems=1024
	IgnoredParents []IgnoredParent `json:"ignoredParents,omitempty"`

	// versions are the versions of controllers by which the children of the target were
	// made, or last upgraded. Requests by others are upgrades, as far as an UpgradeAllowance
	// lets them through.
	// +optional
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MaxItems=32
	Versions []ControllerVersion `json:"versions,omitempty"`

	// generated are the objects that GeneratingPolicies which do not synchronize have made for
	// the target. They are not made again, also where they were deleted.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1024
	Generated []GeneratedObject `json:"generated,omitempty"`

	// deletion says who asked for the deletion of the target.
	// +optional
	Deletion *Deletion `json:"deletion,omitempty"`

	// endedAt is when the target was first found gone. The time that the record is
	// kept runs from here.
	// +optional
	EndedAt *metav1.Time `json:"endedAt,omitempty"`

	// conditions are Overdue, where allowances stay open for longer than they should,
	// and LedgerFull, where the last change of the target allows nothing for lack of
	// room. They are left out where that is not so.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// GeneratedObject is an object that a GeneratingPolicy made for a target.
type GeneratedObject struct {
	// policy is the name of the GeneratingPolicy.
	Policy string `json:"policy"`
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
}

// Decision is what admission decided about one request for a child.
type Decision struct {
	// time of the decision.
	Time metav1.Time `json:"time"`
	// result is Allowed, Warned, Audited or Denied.
	Result string `json:"result"`
	// reason is the name of the check that decided.
	Reason string `json:"reason"`
	// operation that was requested, such as Update.
	Operation string `json:"operation"`
	// user who made the request.
	User string `json:"user"`
	// kind of the child.
	Kind string `json:"kind"`
	// name of the child; left out where it had none yet.
	// +optional
	Name string `json:"name,omitempty"`
	// namespace of the child, where it is in another one than the target.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// paths that changed, or, of a denial, those that nothing covers.
	// +optional
	// +listType=atomic
	Paths []string `json:"paths,omitempty"`
	// policies that bound the child.
	// +optional
	// +listType=atomic
	Policies []string `json:"policies,omitempty"`
	// initiator of the allowance that covered the change.
	// +optional
	Initiator string `json:"initiator,omitempty"`
	// trace of the allowance that covered the change.
	// +optional
	// +listType=atomic
	Trace []TraceHop `json:"trace,omitempty"`
	// message that the requester got.
	// +optional
	Message string `json:"message,omitempty"`
	// upgrades are the UpgradeAllowances that select the target and did not, or could not, let a denied
	// request through, with their generations.
	// +optional
	// +listType=atomic
	Upgrades []string `json:"upgrades,omitempty"`
	// versions are what a denied request came from, where it could be part of an upgrade.
	// +optional
	// +listType=atomic
	Versions []RequestVersion `json:"versions,omitempty"`
	// childInitiators are who may make a denied change by the policies for the child itself, whatever
	// the target allows.
	// +optional
	// +listType=atomic
	ChildInitiators []string `json:"childInitiators,omitempty"`
	// lettingGo are the paths of a denied change by which the child is let go of, or adopted by the
	// target, as its controller does: that takes no rule, and is for who may use its allowances.
	// +optional
	// +listType=atomic
	LettingGo []string `json:"lettingGo,omitempty"`
	// noUpgrade is true where no UpgradeAllowance could let a denied request through, whatever it
	// says: something else is in the way, such as a change of the target that is withheld.
	// +optional
	NoUpgrade bool `json:"noUpgrade,omitempty"`
	// settled is true where the target was blocked by this denial, and has settled since.
	// +optional
	Settled bool `json:"settled,omitempty"`
}

// ApprovedContent identifies content without telling it.
type ApprovedContent struct {
	// generation of the target that has the content.
	// +optional
	Generation int64 `json:"generation,omitempty"`
	// digests of the fields that rules are about. They are keyed, so that values cannot be
	// guessed from them.
	// +optional
	// +listType=map
	// +listMapKey=path
	Digests []ContentDigest `json:"digests,omitempty"`
	// parents that the target names, by the ids of IgnoredParent, where a policy in effect
	// for it says who may give it one.
	// +optional
	// +listType=set
	Parents []string `json:"parents,omitempty"`
}

// IgnoredParent is a parent of the target that bounds and covers nothing.
type IgnoredParent struct {
	// id is the UID of an owner, and, of a claim, its kind, namespace and name.
	ID string `json:"id"`
	// apiVersion of the parent, as the target names it.
	APIVersion string `json:"apiVersion"`
	// kind of the parent.
	Kind string `json:"kind"`
	// name of the parent.
	Name string `json:"name"`
	// time it was found.
	Time metav1.Time `json:"time"`
}

// ContentDigest identifies the value of a field.
type ContentDigest struct {
	// path of the field.
	Path string `json:"path"`
	// digest of its value, empty where it has none.
	// +optional
	Digest string `json:"digest,omitempty"`
}

// PendingGrant is a grant that the answer to its request could not carry into
// the ledger: a Scale has no annotations of the target, and a call of the
// mutating webhook can be lost (D2, D11). It counts only while the target holds
// the content that it was granted for.
type PendingGrant struct {
	// id is the same for the same grant, however often it is made.
	ID string `json:"id"`
	// time it was last granted.
	Time metav1.Time `json:"time"`
	// path that was scaled, to value.
	// +optional
	Path string `json:"path,omitempty"`
	// value that it was scaled to.
	// +optional
	Value *int64 `json:"value,omitempty"`
	// contentHash is a hash of everything that counts in the target, where the
	// grant is for its whole content.
	// +optional
	ContentHash string `json:"contentHash,omitempty"`
	// allowances that were granted.
	// +optional
	// +listType=atomic
	Allowances []Allowance `json:"allowances,omitempty"`
	// cleared are the paths whose withheld change this grant ends.
	// +optional
	// +listType=atomic
	Cleared []string `json:"cleared,omitempty"`
	// after is the resourceVersion of the target that the request found. What the
	// target was like up to then tells nothing of what became of the request.
	// +optional
	After string `json:"after,omitempty"`
	// seen is true once the target was seen with the content.
	// +optional
	Seen bool `json:"seen,omitempty"`
}

// BrokenGlass is a request that breaks the glass, by somebody who may. The webhook
// that removes the annotation leaves it for the one that gives the verdict (D13).
type BrokenGlass struct {
	// time it was noted.
	Time metav1.Time `json:"time"`
	// user who makes the request.
	User string `json:"user"`
	// operation that is requested, CREATE or UPDATE.
	Operation string `json:"operation"`
	// kind of the child.
	Kind string `json:"kind"`
	// name of the child; left out where the API server has yet to make it up.
	// +optional
	Name string `json:"name,omitempty"`
	// reason that the user gave.
	Reason string `json:"reason"`
}

// ConsumedAllowance names a consumed entry of the target's ledger.
type ConsumedAllowance struct {
	// id of the entry.
	ID string `json:"id"`
	// generation the entry was granted for.
	// +optional
	Generation int64 `json:"generation,omitempty"`
}

// SeenAllowance says when an active allowance was first seen.
type SeenAllowance struct {
	// id of the entry.
	ID string `json:"id"`
	// time it was first seen.
	Time metav1.Time `json:"time"`
}

// Blocked is the time in which a denied change of a child waits for an answer.
// It keeps what there was at its beginning, so that what has come since can be
// told.
type Blocked struct {
	// since is when the change was denied.
	Since metav1.Time `json:"since"`
	// message says what waits, and who could start it.
	Message string `json:"message"`
	// allowances are the ids of the entries that were active.
	// +optional
	// +listType=atomic
	Allowances []string `json:"allowances,omitempty"`
	// withheld are the paths of the changes that were withheld.
	// +optional
	// +listType=atomic
	Withheld []string `json:"withheld,omitempty"`
	// policies that were in effect, with their generations.
	// +optional
	// +listType=atomic
	Policies []string `json:"policies,omitempty"`
	// user whose request was denied.
	// +optional
	User string `json:"user,omitempty"`
	// upgrades are the UpgradeAllowances that select the target and did not let it through, with
	// their generations.
	// +optional
	// +listType=atomic
	Upgrades []string `json:"upgrades,omitempty"`
}

// MaxStrays is how many strays a record names. The adoption of more is refused: a
// stray that nobody remembers would be covered like any other child.
const MaxStrays = 256

// StrayChild is a child that the target adopted without a cause.
type StrayChild struct {
	// uid of the child.
	UID types.UID `json:"uid"`
	// apiVersion of the child.
	APIVersion string `json:"apiVersion"`
	// kind of the child.
	Kind string `json:"kind"`
	// namespace of the child; left out where it is cluster-scoped.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// name of the child.
	Name string `json:"name"`
	// time of the latest request that adopted it.
	Time metav1.Time `json:"time"`
}

// MaxSetAside is how many objects that are set aside a record names. What it does not name any more
// is a stray when it is adopted.
const MaxSetAside = 64

// SetAsideChild is an object that nobody owns, and that the target has released, or that an
// initiator made for the target to adopt.
type SetAsideChild struct {
	// uid of the object.
	UID types.UID `json:"uid"`
	// kind of the object.
	Kind string `json:"kind"`
	// name of the object.
	Name string `json:"name"`
	// digest of what the object was like when the target released it, with a key; left out where
	// that is not known.
	// +optional
	Digest string `json:"digest,omitempty"`
	// time of the request that released it, or that made it.
	Time metav1.Time `json:"time"`
	// returned is how an initiator had the target adopt the object; left out where none did.
	// +optional
	Returned *ReturnedChild `json:"returned,omitempty"`
}

// ReturnedChild says that an initiator had the target adopt an object.
type ReturnedChild struct {
	// initiator who did.
	Initiator string `json:"initiator"`
	// field by which the target adopts the object since then, such as metadata.labels, or (created).
	Field string `json:"field"`
	// generation of the object after the request.
	// +optional
	Generation int64 `json:"generation,omitempty"`
	// digest of what the initiator left the object like, with a key. It is adopted with a cause as
	// long as it is like that.
	Digest string `json:"digest"`
	// time of the request. It is a cause for two minutes.
	Time metav1.Time `json:"time"`
}

// Deletion says who asked for the deletion of the target, and why they could.
type Deletion struct {
	// time of the request.
	Time metav1.Time `json:"time"`
	// user who asked.
	User string `json:"user"`
	// initiator of the chain.
	// +optional
	Initiator string `json:"initiator,omitempty"`
	// trace from the initiator to the target.
	// +optional
	// +listType=atomic
	Trace []TraceHop `json:"trace,omitempty"`
	// policies in effect for the target at that time.
	// +optional
	// +listType=atomic
	Policies []string `json:"policies,omitempty"`
}

// AllowanceRecord mirrors, for audit, the allowances of one object, and what was
// decided about its children. It outlives the object.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=alr,categories=kausality
// +kubebuilder:selectablefield:JSONPath=`.spec.targetRef.kind`
// +kubebuilder:selectablefield:JSONPath=`.spec.targetRef.name`
// +kubebuilder:selectablefield:JSONPath=`.status.initiator`
// +kubebuilder:printcolumn:name="Kind",type=string,JSONPath=`.spec.targetRef.kind`
// +kubebuilder:printcolumn:name="Target",type=string,JSONPath=`.spec.targetRef.name`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Active",type=integer,JSONPath=`.status.activeCount`
// +kubebuilder:printcolumn:name="Initiator",type=string,JSONPath=`.status.initiator`
// +kubebuilder:printcolumn:name="Decision",type=string,JSONPath=`.status.lastDecision.reason`
// +kubebuilder:printcolumn:name="Denials",type=integer,JSONPath=`.status.denials`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Withheld",type=integer,priority=1,JSONPath=`.status.withheldCount`
// +kubebuilder:printcolumn:name="User",type=string,priority=1,JSONPath=`.status.lastDecision.user`
// +kubebuilder:printcolumn:name="Last",type=string,priority=1,JSONPath=`.status.history[0].event`
// +kubebuilder:printcolumn:name="Seen",type=date,priority=1,JSONPath=`.status.history[0].time`
// +kubebuilder:printcolumn:name="Ended",type=date,priority=1,JSONPath=`.status.endedAt`
type AllowanceRecord struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec names the object.
	Spec AllowanceRecordSpec `json:"spec"`
	// status is what is known about it.
	// +optional
	Status AllowanceRecordStatus `json:"status,omitempty"`
}

// AllowanceRecordList is a list of AllowanceRecords.
//
// +kubebuilder:object:root=true
type AllowanceRecordList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AllowanceRecord `json:"items"`
}
