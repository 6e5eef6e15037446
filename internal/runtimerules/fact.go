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

package runtimerules

// Facts are what has been found out for the judgement of a call. The zero value has none.
type Facts struct {
	// Caller is who opened the connection; nil where that has not been asked.
	Caller *Caller
	// Containers are those that have been asked about, by the id that the request has.
	Containers map[string]Container
	// Pods are the containers of Pod sandboxes that have been asked about.
	Pods map[string]Members
}

// Caller is who opened a connection.
type Caller struct {
	// PodSandboxID is that of the caller's Pod; empty for a process that is in none.
	PodSandboxID string
	// ContainerID is that of the caller's container. No judgement depends on it.
	ContainerID string
	// Err says why it cannot be told.
	Err error
}

// Container is what the runtime says of an id.
type Container struct {
	// ID is the container's id in full; empty where the id is not that of exactly one.
	ID string
	// PodSandboxID is the sandbox that the container is in.
	PodSandboxID string
	// Err says why it cannot be told.
	Err error
}

// Members are the containers of a Pod.
type Members struct {
	// IDs are their ids in full.
	IDs map[string]bool
	// Err says why they cannot be told.
	Err error
}

// Question is one for a fact.
type Question struct {
	// About is what is asked for.
	About Subject
	// ID is that of the container or the Pod sandbox; empty for the caller.
	ID string
}

// Subject is what a Question is about.
type Subject int

// The subjects.
const (
	// TheCaller asks for Facts.Caller.
	TheCaller Subject = iota
	// AContainer asks for an entry of Facts.Containers.
	AContainer
	// APodsContainers asks for an entry of Facts.Pods.
	APodsContainers
)

// truth is the answer of a comparison.
type truth int

// The answers, in the order in which they win among conditions that all have to hold:
// where one is false, it does not matter that another is not known.
const (
	holds truth = iota
	unasked
	unknown
	fails
)

// answer is a truth with what is missing for another.
type answer struct {
	truth    truth
	question Question
	err      error
}

func said(yes bool) answer {
	if yes {
		return answer{truth: holds}
	}
	return answer{truth: fails}
}

// pod returns the sandbox of the caller, and holds if there is one.
func (f Facts) pod() (string, answer) {
	switch {
	case f.Caller == nil:
		return "", answer{truth: unasked, question: Question{About: TheCaller}}
	case f.Caller.Err != nil:
		return "", answer{truth: unknown, err: f.Caller.Err}
	}
	return f.Caller.PodSandboxID, said(f.Caller.PodSandboxID != "")
}

// owns reports whether an id is that of a container of the caller's Pod, and its id in full.
func (f Facts) owns(id string) (string, answer) {
	pod, own := f.pod()
	if id == "" {
		// The runtime takes an empty filter for none.
		return "", said(false)
	}
	if own.truth != holds {
		return "", own
	}
	container, asked := f.Containers[id]
	switch {
	case !asked:
		return "", answer{truth: unasked, question: Question{About: AContainer, ID: id}}
	case container.Err != nil:
		return "", answer{truth: unknown, err: container.Err}
	}
	return container.ID, said(container.ID != "" && container.PodSandboxID == pod)
}

// lists reports whether an id that the runtime listed is that of a container of the
// caller's Pod. However many there are, one question is asked.
func (f Facts) lists(id string) answer {
	pod, own := f.pod()
	if own.truth != holds {
		return own
	}
	if container, asked := f.Containers[id]; asked && container.Err == nil && container.ID == id {
		return said(container.PodSandboxID == pod)
	}
	members, asked := f.Pods[pod]
	switch {
	case !asked:
		return answer{truth: unasked, question: Question{About: APodsContainers, ID: pod}}
	case members.Err != nil:
		return answer{truth: unknown, err: members.Err}
	}
	return said(members.IDs[id])
}
