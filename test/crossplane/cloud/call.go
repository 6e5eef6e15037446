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

package cloud

import (
	"slices"
	"time"
)

// Verb is what somebody asks the cloud to do.
type Verb string

// The verbs, of which all but Observe change something.
const (
	Observe Verb = "Observe"
	Create  Verb = "Create"
	Update  Verb = "Update"
	Delete  Verb = "Delete"
)

// Outcome is what came of a call.
type Outcome string

// The outcomes.
const (
	// Pending calls have been received, and nothing was done yet.
	Pending Outcome = "Pending"
	// Done calls were carried out, whether or not somebody still waited for it.
	Done Outcome = "Done"
	// Refused calls had no effect.
	Refused Outcome = "Refused"
	// Partial calls failed after a part of what was asked for.
	Partial Outcome = "Partial"
)

// Parameters are what an instance is like.
type Parameters map[string]any

// Instance is something that the cloud has.
type Instance struct {
	Name       string     `json:"name"`
	Parameters Parameters `json:"parameters"`
}

// Call is a request to the cloud.
type Call struct {
	// Number is the position of the call in the log.
	Number int `json:"number"`
	// By is on behalf of whom the provider says it calls, such as
	// "RDSInstance.rds.aws.crossplane.io /main".
	By   string `json:"by"`
	Verb Verb   `json:"verb"`
	// Name is the instance's.
	Name string `json:"name"`
	// Parameters are those asked for.
	Parameters Parameters `json:"parameters,omitempty"`
	Outcome    Outcome    `json:"outcome"`
	// Received and Ended are when the cloud was asked, and when it was done.
	Received time.Time `json:"received"`
	Ended    time.Time `json:"ended,omitzero"`
}

// Calls are in the order in which they were received.
type Calls []Call

// Mutations returns the calls that asked for a change.
func (c Calls) Mutations() Calls {
	return c.where(func(call Call) bool { return call.Verb != Observe })
}

// Observations returns the calls that changed nothing.
func (c Calls) Observations() Calls {
	return c.where(func(call Call) bool { return call.Verb == Observe })
}

// Of returns the calls with a verb.
func (c Calls) Of(verb Verb) Calls {
	return c.where(func(call Call) bool { return call.Verb == verb })
}

// On returns the calls about an instance.
func (c Calls) On(name string) Calls {
	return c.where(func(call Call) bool { return call.Name == name })
}

// With returns the calls with an outcome.
func (c Calls) With(outcome Outcome) Calls {
	return c.where(func(call Call) bool { return call.Outcome == outcome })
}

// Verbs returns what was asked for, in order.
func (c Calls) Verbs() []Verb {
	verbs := make([]Verb, 0, len(c))
	for _, call := range c {
		verbs = append(verbs, call.Verb)
	}
	return verbs
}

func (c Calls) where(wanted func(Call) bool) Calls {
	return slices.DeleteFunc(slices.Clone(c), func(call Call) bool { return !wanted(call) })
}
