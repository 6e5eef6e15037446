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

// Package gate carries allowances to systems outside the cluster. A gate is a
// switch on an object that a system reads before it changes anything outside: for
// Crossplane spec.managementPolicies of a managed resource. An allowance with
// relation External opens it, for its verbs, and nothing else does.
//
// # The contract of a driver
//
// A system is one folder below this one with a Driver, and one line where drivers
// are listed. All of it is pure: the admission webhook and the gate's controller
// ask it, and talk to the API server. A driver promises that
//
//   - the switch is part of the object, and the system obeys it: while it is closed
//     the system reads the outside, and never changes it;
//   - every setting that it computes is one that the system accepts, and lets
//     through no more than it was asked to. Where the system knows no such setting
//     the gate stays closed, and Setting.Unsupported says for what;
//   - Content tells apart what the system would do: while two contents are equal, so
//     is what the system makes of them. The switch itself is no part of it;
//   - the same Write gives the same Setting;
//   - Progress is Applied only where the outside has the change, as far as anything
//     can show it. Success that may be about something older, or that a system says
//     before it has begun, shows nothing.
//
// All that is known of a gate is on its object: the ledger, and State. Whoever
// restarts loses nothing.
//
// # The rule
//
// An object is gated where a policy that says Deny, in effect for its parent or for
// the object itself, names a matching External target in any section. Its gate is
// then open for the verbs of the External entries in its ledger if and only if its
// content is the one that they were granted for. A write that brings such entries
// sets that content; one by which the system fills in what it has found out keeps
// it; any other write of the spec closes the gate, which opens again when the
// content is put back. Once the object is being deleted only the controller touches
// its switch.
//
// An object of before its policy has no State: its switch is as somebody left it
// until the controller adopts it, at a moment when its system is at rest.
//
// # When something fails
//
//   - The webhook is down: the admission policy inside the API server keeps switch
//     and annotations as they are, and closes a gate whose object changes. What is
//     created meanwhile is open, unless its policy has failurePolicy Fail.
//   - The controller is down: nothing closes, nothing held is deleted; gates open
//     as before, since that happens in the same write as the change.
//   - The system is down: the gate stays open until it had its chance. One that
//     is open for long shows; it is never closed in silence.
//   - The object, its ledger or its parent cannot be read: what cannot be read
//     opens nothing, and no entry is dropped for it.
//
// Who may block whom: a gate never makes a request fail, but for one that would be
// stored with a switch that is wider than the rule because another webhook has
// written after ours. What the system writes for itself, finalizers, annotations and
// what it found out, is never refused. What is never done: open without an entry,
// drop an entry because a look-up failed, close before the system had its chance,
// delete outside because an object is deleted inside.
package gate
