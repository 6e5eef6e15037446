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

package main

// person is somebody, or something, that makes requests.
type person struct {
	name string
	// group, where given, is the one group besides those that everybody is in.
	group string
}

// flags make kubectl act as the person; none for the administrator.
func (p person) flags() []string {
	var flags []string
	if p.name != "" {
		flags = append(flags, "--as", p.name)
	}
	if p.group != "" {
		flags = append(flags, "--as-group", p.group)
	}
	return flags
}

// cast are the persons of the story.
type cast struct {
	// admin has all rights. Kausality asks the administrator for a cause as
	// everybody else.
	admin person
	// alice is in the group whose changes the policy lets controllers carry out.
	alice person
	// carol may create, as anybody who has the right may.
	carol person
	// mallory has the same rights as carol, and does more with them.
	mallory person
	// controller is who the Deployment controller acts as.
	controller person
}

func newCast() cast {
	return cast{
		alice:      person{name: "alice", group: "platform-team"},
		carol:      person{name: "carol"},
		mallory:    person{name: "mallory"},
		controller: person{name: "system:serviceaccount:kube-system:deployment-controller"},
	}
}
