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

package trace

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
)

// Report is what is known of an object.
type Report struct {
	// SwitchedOff is there while everything is switched off: nothing counts then.
	SwitchedOff *cluster.Off `json:"switchedOff,omitempty"`
	// Unenforced are the policies about it that are not enforced.
	Unenforced []cluster.Unenforced `json:"unenforced,omitempty"`
	// Object that was asked about. Its uid is left out where nothing tells it.
	Object v1alpha1.TargetReference `json:"object"`
	// Gone is true where the object does not exist any more.
	Gone bool `json:"gone"`
	// Phase of the object, as its record says.
	Phase v1alpha1.Phase `json:"phase,omitempty"`
	// Deletion says who deleted the object, or what is above it.
	Deletion *v1alpha1.Deletion `json:"deletion,omitempty"`
	// Causes are the chains that lead to the object and on, the latest first.
	Causes []*Cause `json:"causes"`
	// Origin says by what a GeneratingPolicy made the object.
	Origin *Origin `json:"origin,omitempty"`
	// Made are the objects that GeneratingPolicies made because of it.
	Made []Made `json:"made,omitempty"`
	// Unexplained are objects below this one that no chain is known of.
	Unexplained []Child `json:"unexplained,omitempty"`
	// Unread is true where the records could not be read.
	Unread bool `json:"recordsUnread,omitempty"`
	// Notes say what could not be read, or is left out.
	Notes []string `json:"notes,omitempty"`
}

// Cause is somebody who started something, and what came of it.
type Cause struct {
	// Initiator who started it.
	Initiator string `json:"initiator"`
	// Why it needed no allowance, where it is no chain: the name of the check that
	// let it through, or Withheld.
	Why string `json:"why,omitempty"`
	// Since is when it was made, or the first that is known of it; left out where only
	// a ledger tells of it.
	Since *metav1.Time `json:"since,omitempty"`
	// Time of the latest that is known of it.
	Time *metav1.Time `json:"time,omitempty"`
	// First is where it started.
	First *Node `json:"first"`
}

// Node is an object on the way.
type Node struct {
	// Kind and Name of the object.
	Kind string `json:"kind"`
	Name string `json:"name,omitempty"`
	// Namespace of the object, where it is known.
	Namespace string `json:"namespace,omitempty"`
	// What happened to it: a path, (created), or, at an end of the way, the words
	// created, deleted, evicted, or changed with the paths.
	What string `json:"what,omitempty"`
	// Generations of the object that carry the change.
	Generations []int64 `json:"generations,omitempty"`
	// Attestations that policies captured.
	Attestations map[string]string `json:"attestations,omitempty"`
	// Active is true while the object holds allowances from it.
	Active bool `json:"active,omitempty"`
	// Withheld is true while the change is withheld.
	Withheld bool `json:"withheld,omitempty"`
	// CarriedOut is true where it was withheld, and is carried out although nobody approved it.
	CarriedOut bool `json:"carriedOut,omitempty"`
	// Asked is true for the object that was asked about.
	Asked bool `json:"asked,omitempty"`
	// Gone is true where the object is known not to exist any more.
	Gone bool `json:"gone,omitempty"`
	// Unproven is true where it is gone, and nothing tells that it has ever been there: its creation was let through,
	// and something else, such as a quota, may have refused it then.
	Unproven bool `json:"unproven,omitempty"`
	// Again is true of an object that was deleted, or evicted, and was made again under its name since.
	Again bool `json:"again,omitempty"`
	// Next are the objects below.
	Next []*Node `json:"next,omitempty"`

	end bool
	// last is when it happened, of an end, as far as that is known.
	last *metav1.Time
}

// Child is an object below another.
type Child struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Namespace is that of the child, empty where it is cluster-scoped, or not known.
	Namespace string `json:"namespace,omitempty"`
}

// mayBe reports whether two children may be the same.
func (c Child) mayBe(other Child) bool {
	return c.Kind == other.Kind && c.Name == other.Name && mayBeOne(c.Namespace, other.Namespace)
}

// isAmong reports whether a child may be one of some.
func (c Child) isAmong(children []Child) bool { return slices.ContainsFunc(children, c.mayBe) }

func (n *Node) child() Child { return Child{Kind: n.Kind, Name: n.Name, Namespace: n.Namespace} }
