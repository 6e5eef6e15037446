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

package can

import (
	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/generate/plan"
)

// Outcome is what becomes of a change.
type Outcome string

// The outcomes.
const (
	// Initiates is that of a change which allows something.
	Initiates Outcome = "Initiates"
	// Waits is that of a change which allows something, of which nothing follows while something else of the
	// object is withheld.
	Waits Outcome = "Waits"
	// Withheld is that of a change which stands, and from which nothing follows.
	Withheld Outcome = "Withheld"
	// Refused is that of a write that does not go through.
	Refused Outcome = "Refused"
	// Invalid is that of a write that the API server does not take, whoever makes it.
	Invalid Outcome = "Invalid"
	// Passes is that of a change which goes through, and triggers nothing.
	Passes Outcome = "Passes"
	// Unchanged is that of a write which changes nothing.
	Unchanged Outcome = "Unchanged"
)

// Report is what would happen if a change was made.
type Report struct {
	// SwitchedOff is there while everything is switched off: nothing counts then.
	SwitchedOff *cluster.Off `json:"switchedOff,omitempty"`
	// Unenforced are the policies about it that are not enforced.
	Unenforced []cluster.Unenforced `json:"unenforced,omitempty"`
	// Object that would be changed.
	Object v1alpha1.TargetReference `json:"object"`
	// User who would change it.
	User string `json:"user"`
	// Paths that would change.
	Paths []string `json:"paths"`
	// Dropped are the paths that were to change where nothing does, as the API server does not take them.
	Dropped []string `json:"dropped,omitempty"`
	// Gated is true where these are the switch of the object's gate, which Kausality sets by what is allowed.
	Gated bool `json:"gated,omitempty"`
	// Status are the paths that were to change and are not written along with an object, as they are of its status.
	Status []string `json:"status,omitempty"`
	// Outcome of the change.
	Outcome Outcome `json:"outcome"`
	// Named are the policies in effect that name what passes, although it allows nothing.
	Named []string `json:"named,omitempty"`
	// Message of the API server, where it refuses the change.
	Message string `json:"message,omitempty"`
	// Withheld are the paths from whose change nothing would follow.
	Withheld []string `json:"withheld,omitempty"`
	// Held is what else of the object is withheld, so that nothing follows before that is approved or taken back.
	Held []v1alpha1.Allowance `json:"held,omitempty"`
	// Granted are the allowances that the object would get.
	Granted []v1alpha1.Allowance `json:"granted,omitempty"`
	// Follows is what these allow, and what may follow from that further down.
	Follows []*Node `json:"follows,omitempty"`
	// Generated is what GeneratingPolicies would do because of it, as far as rights let them.
	Generated []Generated `json:"generated,omitempty"`
	// Initiators are who may initiate the change, or what is withheld of it, on the object or
	// above it; where that is nobody, who may initiate on it at all.
	Initiators []string `json:"initiators,omitempty"`
	// Warnings of the API server.
	Warnings []string `json:"warnings,omitempty"`
	// Notes are what could not be found out.
	Notes []string `json:"notes,omitempty"`
}

// Node is an object that could be created, changed or deleted, or something outside the
// cluster.
type Node struct {
	// Kind and Name of the object; one that does not exist yet has no name.
	Kind string `json:"kind"`
	Name string `json:"name,omitempty"`
	// External is true for what is outside the cluster: its gate would open.
	External bool `json:"external,omitempty"`
	// Readers is true for children of what reads the object above, or for these: they are not looked for.
	Readers bool `json:"readers,omitempty"`
	// What could happen to it.
	What []string `json:"what"`
	// Possible is true where policies say so, and not the API server: whether it comes
	// to that is up to what controllers do.
	Possible bool `json:"possible,omitempty"`
	// Conditions are what else would have to hold.
	Conditions []string `json:"conditions,omitempty"`
	// Next is what may follow from it.
	Next []*Node `json:"next,omitempty"`
}

// Generated is what a GeneratingPolicy would do because of the change.
type Generated struct {
	// Policy that would do it.
	Policy string `json:"policy"`
	// Object to which it would.
	Object v1alpha1.GeneratingReference `json:"object"`
	// Do is what: Create, Apply, Delete; or Leave, where the object is somebody else's.
	Do plan.Verb `json:"do"`
	// Reason for it.
	Reason plan.Reason `json:"reason"`
}
