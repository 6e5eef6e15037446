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
	"encoding/json"
	"time"
)

// Fault is how the cloud misbehaves.
type Fault struct {
	// Name is the instance that it is about; "" for any.
	Name string `json:"name,omitempty"`
	// Verb is what it is about; "" for all that change something.
	Verb Verb `json:"verb,omitempty"`
	// Times is how many calls it is for; 0 for all, until it is cleared.
	Times int `json:"times,omitempty"`
	// Delay is how long a call takes, unless the faults are cleared before. A call goes on
	// when the one who called has given up.
	Delay Duration `json:"delay,omitzero"`
	// Outcome is what comes of a call: Done if empty, Refused, or Partial, by which
	// only the first of the parameters that change, by name, is changed.
	Outcome Outcome `json:"outcome,omitempty"`
}

// hits reports whether the fault is about a call.
func (f *Fault) hits(verb Verb, name string) bool {
	if f.Name != "" && f.Name != name {
		return false
	}
	if f.Verb == "" {
		return verb != Observe
	}
	return f.Verb == verb
}

// Duration is written as "2s".
type Duration time.Duration

// MarshalJSON implements json.Marshaler.
func (d Duration) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Duration(d).String())
}

// UnmarshalJSON implements json.Unmarshaler.
func (d *Duration) UnmarshalJSON(content []byte) error {
	var text string
	if err := json.Unmarshal(content, &text); err != nil {
		return err
	}
	parsed, err := time.ParseDuration(text)
	*d = Duration(parsed)
	return err
}
