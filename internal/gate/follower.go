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

package gate

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Follower is the part of a Driver that only the controller asks: it follows what was
// allowed to its end.
type Follower interface {
	// Progress says how far the system is with a change, as far as the object shows.
	// It is never Applied while anything is pending or failing, and what is not known
	// counts as pending. Of what a system says to be pending only its own later look
	// shows that it has ended.
	Progress(obj *unstructured.Unstructured, c Change) Progress
	// PassAnnotation is the annotation that asks the system to look at an object once
	// more, by a token that it has not had before.
	PassAnnotation() string
	// PauseAnnotation is the annotation that keeps the system from looking at an
	// object; a deletion is held back by it.
	PauseAnnotation() string
	// InUse says, in a sentence that begins with a blank, that the system itself keeps an object from being deleted, as far
	// as the object shows; empty where it does not.
	InUse(obj *unstructured.Unstructured) string
	// ComputeOrphan returns the setting by which the system lets an object go that is
	// being deleted, and leaves what it stands for; the hold is over then.
	ComputeOrphan(obj *unstructured.Unstructured, kind Kind) Setting
	// ComputeRelease returns the setting of an object that is not under its gate any
	// more: what its author wants, else the system's default.
	ComputeRelease(obj *unstructured.Unstructured) Setting
}
