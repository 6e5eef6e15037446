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

package model

import (
	"encoding/json"
	"slices"
	"strings"
)

// Data is the content of an object.
type Data map[string]string

// String returns it in the one way in which equal data look equal.
func (d Data) String() string {
	raw, err := json.Marshal(d)
	if err != nil {
		return err.Error() // Strings can be written.
	}
	return string(raw)
}

// with returns data with another value of a key.
func with(data, key, value string) string {
	d := Data{}
	if json.Unmarshal([]byte(data), &d) != nil {
		d = Data{}
	}
	d[key] = value
	return d.String()
}

// Seen is what can be seen of an object.
type Seen struct {
	There bool
	// Data is its content.
	Data string
	// Owner is the policy that made it, as its annotation says; empty where none did.
	Owner string
}

// State is a state that an object may be in.
type State struct {
	Seen
	// born is that of the policy that made it.
	born int
	// synchronized is true where it was last applied to be kept so, and clone where it is one.
	synchronized, clone bool
	// triggers lists the triggers that it was made for.
	triggers list
	// memory lists the policies and triggers for which it was made once, there or not.
	memory list
}

// list is a set of names, sorted, which can be compared.
type list string

func listOf(names []string) list {
	slices.Sort(names)
	return list(strings.Join(slices.Compact(names), ","))
}

func (l list) has(name string) bool { return slices.Contains(strings.Split(string(l), ","), name) }

func (l list) plus(names ...string) list {
	if l != "" {
		names = append(names, strings.Split(string(l), ",")...)
	}
	return listOf(names)
}

// gone returns the state once the object is gone.
func (s State) gone() State { return State{memory: s.memory} }
