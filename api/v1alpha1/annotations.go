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

const (
	// AnnotationPrefix is the prefix of all annotations that Kausality reads or
	// writes on objects without an owner. What has one has that of its kind, which is
	// this behind the lower-case name of the kind and a dot: controllers copy the
	// annotations of the owner (D10).
	AnnotationPrefix = "kausality.io/"

	// AnnotationAllowances holds the ledger of an object: a list of Allowance,
	// written by the admission webhook only. What a request says about it is
	// ignored (D10).
	AnnotationAllowances = "kausality.io/allowances"

	// AnnotationApproved holds, while something of an object is withheld, what was
	// approved of it, packed: what is withheld is the difference.
	AnnotationApproved = "kausality.io/approved"

	// AnnotationApprove is set by an initiator to approve changes that are
	// already in place: a comma-separated list of field paths, or "*". The
	// webhook removes it in the same request (D20).
	AnnotationApprove = "kausality.io/approve"

	// AnnotationDerivedFrom names, on a policy, the ResourceGraphDefinition of kro that it
	// was derived from.
	AnnotationDerivedFrom = "kausality.io/derived-from"

	// AnnotationGeneratedFrom says, on an object that a GeneratingPolicy made, which policy that
	// was, for which triggers, from which source, and which object it is about: on another one it
	// says nothing (D21).
	AnnotationGeneratedFrom = "kausality.io/generated-from"

	// AnnotationManaged says, on a policy with the name of one that is derived, whose it is:
	// "false" takes it over from the operator, and "true" gives it to it. Of a policy without it,
	// the operator keeps what it has made itself (D17).
	AnnotationManaged = "kausality.io/managed"

	// AnnotationInitiators names, on a ResourceGraphDefinition, who may change instances: a
	// comma-separated list of user:NAME, group:NAME and serviceaccount:NAMESPACE/NAME, instead
	// of those whom the operator's flags name. Empty, nobody may, and the derived policy is in
	// effect for nobody (D17).
	AnnotationInitiators = "kausality.io/initiators"

	// AnnotationValidationActions are, on a ResourceGraphDefinition, the validationActions of
	// the derived policy, comma-separated, instead of those of the operator's flags (D17).
	AnnotationValidationActions = "kausality.io/validation-actions"

	// AnnotationRecreate says, on a ResourceGraphDefinition, whether kro may make children
	// again that were lost, "true" or "false", instead of the operator's flag (D17).
	AnnotationRecreate = "kausality.io/recreate"

	// AnnotationChangedBy is, on an UpgradeAllowance, the user who last changed its spec:
	// all that passes by it goes back to them (D12). On a GeneratingPolicy, and on what it makes
	// objects from, it is the user who last changed more than a status (D21). Webhooks write it,
	// and nobody else does.
	AnnotationChangedBy = "kausality.io/changed-by"

	// AnnotationRequests is, on a trigger of GeneratingPolicies that ask about requests, the request
	// that each of them last took, by the policy's name: who made it, and for what, without its
	// objects. A webhook writes it, and nobody else does (D21).
	AnnotationRequests = "kausality.io/requests"

	// AnnotationNoted is the signature of AnnotationChangedBy and AnnotationRequests on what
	// GeneratingPolicies make objects from: without it they count for nothing (D21).
	AnnotationNoted = "kausality.io/noted"

	// AnnotationChangedSpec is a digest of the spec that AnnotationChangedBy is about. A spec
	// with another one was changed while nobody asked the webhook.
	AnnotationChangedSpec = "kausality.io/changed-spec"

	// AnnotationBreakGlass lets one request through that nothing covers, for the
	// reason that it gives. It counts in the request that sets it, for who has
	// VerbBreakGlass, and the webhook removes it in the same request. As a DELETE
	// carries no annotations, a reason that begins with BreakGlassDelete stays, and
	// serves the deletion of the object only (D13).
	AnnotationBreakGlass = "kausality.io/break-glass"

	// BreakGlassDelete begins a reason to break the glass by a deletion.
	BreakGlassDelete = "delete:"

	// BreakGlassStatus begins a reason to break the glass by an action through the status,
	// which carries no annotations either. It stays, and serves such actions only.
	BreakGlassStatus = "status:"

	// VerbBreakGlass is the verb on AllowancePolicies, for RBAC, of who may break
	// the glass of a policy.
	VerbBreakGlass = "breakglass"

	// ConditionBlocked is the condition type, and where a kind keeps no foreign
	// conditions the annotation, that says that a change of a child of this
	// object was denied and is waiting for an allowance (D13).
	ConditionBlocked = "kausality.io/Blocked"

	// AnnotationGateContent is, on an object with a gate, the hash of the content
	// that its External allowances were granted for, and behind a dot that of the name
	// that it should have outside: the gate is open for these while the object says the
	// same, and closed otherwise. An object without it is
	// not under its gate yet (D16).
	AnnotationGateContent = "kausality.io/gate-content"

	// AnnotationGateProvider is, on an object with a gate, the provider of its kind under
	// which a policy gates it. Who provides a kind is told by other objects, which may
	// change; what policies gated under the earlier name stays gated (D16).
	AnnotationGateProvider = "kausality.io/gate-provider"

	// AnnotationGateParent is, on an object with a gate, the parent because of which policies
	// gate it, and the kinds that the chain of that parent is of: a JSON object. An object
	// that has lost this parent stays under its gate (D16).
	AnnotationGateParent = "kausality.io/gate-parent"

	// AnnotationGateCeiling is, on an object with a gate, what its own author wants
	// the switch to let through at most: a JSON list, for Crossplane of management
	// policies. Without it there is no such limit (D16).
	AnnotationGateCeiling = "kausality.io/gate-ceiling"

	// AnnotationGateUnseen is, on an object whose gate is open, which of the changed
	// fields its status did not show as they should be when they were changed: a JSON
	// list. That the status shows them is news then, and not what it showed before
	// (D16).
	AnnotationGateUnseen = "kausality.io/gate-unseen"

	// AnnotationGateRequested is the value of the switch that a request had, and that
	// the admission policy did not let through: a JSON list where Crossplane composes the
	// object, for anybody else an object with the user and the list. The webhook
	// turns it into the ceiling, where it is from who has a say in that; where it could
	// not be asked, with the next write, by that user (D16).
	AnnotationGateRequested = "kausality.io/gate-requested"

	// AnnotationGateHeld says that the object is paused because its deletion is
	// held back, and why: a JSON object. It is written when the deletion is
	// admitted (D16).
	AnnotationGateHeld = "kausality.io/gate-held"

	// AnnotationOrphan lets a deletion that is held back go on without what is
	// outside the cluster, where somebody sets it to "true" who may initiate on the
	// object or above it (D16).
	AnnotationOrphan = "kausality.io/orphan"

	// AnnotationReleaseGate frees an object from the gate that it has kept since it lost the
	// parent because of which it was gated, where somebody sets it to "true" who may initiate
	// on the object, or might on that parent or above it. It is taken away by the request that sets it (D16).
	AnnotationReleaseGate = "kausality.io/release-gate"

	// ConditionGate is the condition type on an object with a gate that says
	// whether it is open, for whom, and what waits (D16).
	ConditionGate = "kausality.io/Gate"

	// ConditionAffected is the condition type, and where a kind keeps no foreign
	// conditions the annotation, that names the policies in effect for this object
	// (D19).
	ConditionAffected = "kausality.io/AllowancePolicyAffected"

	// ReplicaSetAnnotationPrefix is what replaces AnnotationPrefix on ReplicaSets that
	// have an owner.
	ReplicaSetAnnotationPrefix = "replicaset.kausality.io/"
)
