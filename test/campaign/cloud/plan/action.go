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

package plan

import "slices"

// Action is what happens in a step.
type Action string

// What initiators do. All of it has to arrive in the cloud.
const (
	// Resize asks for another size.
	Resize Action = "Resize"
	// Hurry asks for one size, and at once for another.
	Hurry Action = "Hurry"
	// Overtake asks for another size while the cloud works on the one before.
	Overtake Action = "Overtake"
	// Return asks for a size, and at once for the one that was there before.
	Return Action = "Return"
	// Fail asks for a size that the cloud refuses at first.
	Fail Action = "Fail"
	// Outlast asks for a size that takes the cloud longer than the provider waits.
	Outlast Action = "Outlast"
	// Resync has everybody look at the database again, by a change of nothing that
	// counts.
	Resync Action = "Resync"
	// Replace deletes the database and creates another one. Where what it is in the
	// cloud may not be deleted, somebody who may lets it go.
	Replace Action = "Replace"
)

// What strangers do. Nothing of it may arrive in the cloud, unless an initiator says
// so.
const (
	// Withhold asks for a size, and takes it back.
	Withhold Action = "Withhold"
	// Override asks for a size, upon which an initiator asks for another.
	Override Action = "Override"
	// Approve asks for a size, which an initiator approves.
	Approve Action = "Approve"
	// Intrude asks for a size while the gate is open for that of an initiator, and
	// takes it back.
	Intrude Action = "Intrude"
	// TamperComposite changes the composite resource of a claim.
	TamperComposite Action = "TamperComposite"
	// TamperInstance changes what the managed resource is to be like.
	TamperInstance Action = "TamperInstance"
	// TamperGate opens the gate by hand, and writes allowances.
	TamperGate Action = "TamperGate"
	// DeleteInstance deletes the managed resource.
	DeleteInstance Action = "DeleteInstance"
)

// What happens to the cloud and to the machinery.
const (
	// Drift changes the instance in the cloud.
	Drift Action = "Drift"
	// KillProvider ends the provider as a crash would, for a while.
	KillProvider Action = "KillProvider"
	// KillOperator ends the operator as a crash would, for a while.
	KillOperator Action = "KillOperator"
	// RestartCore ends Crossplane the orderly way, and starts it again.
	RestartCore Action = "RestartCore"
	// FreezeOperator stops an operator for a while, FreezeEtcd etcd; they know nothing of it.
	FreezeOperator Action = "FreezeOperator"
	FreezeEtcd     Action = "FreezeEtcd"
	// Depose takes the lease of the elected operator away, and RestartAPIServer restarts the
	// API server.
	Depose           Action = "Depose"
	RestartAPIServer Action = "RestartAPIServer"
	// CutWatches cuts the operators' connections to the API server, and compacts what they would
	// go on from.
	CutWatches Action = "CutWatches"
	// EditPolicies adds a rule to each policy and takes it away again.
	EditPolicies Action = "EditPolicies"
	// StepClock sets the clocks of the operators ahead by an hour, or back, and right again.
	StepClock Action = "StepClock"
)

// OfMachinery reports whether an action is none upon a database.
func (a Action) OfMachinery() bool {
	return slices.Contains([]Action{
		KillProvider, KillOperator, RestartCore, FreezeOperator, FreezeEtcd, Depose, RestartAPIServer, CutWatches, EditPolicies, StepClock,
	}, a)
}

// Approved returns how many changes of a size an action has that have to arrive, unless
// another one comes before they have.
func (a Action) Approved() int {
	switch a {
	case Hurry, Overtake, Return:
		return 2
	case Resize, Fail, Outlast, Replace, Override, Approve, Intrude:
		return 1
	default:
		return 0
	}
}

// weights are how often an action happens, in relation to the others.
var weights = map[Action]int{
	Resize:          18,
	Hurry:           6,
	Overtake:        6,
	Return:          3,
	Fail:            6,
	Outlast:         4,
	Resync:          4,
	Replace:         4,
	Withhold:        6,
	Override:        6,
	Approve:         6,
	Intrude:         6,
	TamperComposite: 4,
	TamperInstance:  6,
	TamperGate:      6,
	DeleteInstance:  3,
	Drift:           10,
	KillProvider:    1,
	KillOperator:    1,
	RestartCore:     1,

	FreezeOperator:   1,
	FreezeEtcd:       1,
	Depose:           1,
	RestartAPIServer: 1,
	CutWatches:       1,
	EditPolicies:     1,
	StepClock:        1,
}
