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

import (
	"encoding/json"
	"fmt"
	"strings"

	"kausality.io/operator/api/v1alpha1"
)

// nameSeparator stands between the hashes of the content and the name.
const nameSeparator = "."

// State is what an object says about its gate besides the switch and its ledger.
type State struct {
	// Ceiling is the setting that the object's own author wants: the switch never
	// lets more through. Nil is none.
	Ceiling []string
	// Content is the hash of the content that the External entries were granted for.
	// An object without one is not under its gate yet.
	Content string
	// Name is the hash of the name that what the object stands for should have. It is empty
	// in objects of before it was kept, and is of any name then. The rest of the identity
	// is in the spec, whose defaults may change under an object.
	Name string
	// Provider is the provider of the kind under which a policy gates the object. It is empty
	// where that is not known, as in objects of before it was kept.
	Provider string
	// Parent is the parent because of which policies gate the object; nil where it is gated on its
	// own, as are objects of before it was kept.
	Parent *Parent
	// Unseen are the changed fields that the object's status did not show as they
	// should be when they were changed, sorted.
	Unseen []string
	// Requested is what somebody wanted the switch to be while the webhook could not be asked, who
	// has not come back since.
	Requested string
	// Held says that the object's deletion is held back; nil where it is not.
	Held *Hold
}

// Hold is what is known of a deletion that is held back.
type Hold struct {
	// User asked for the deletion.
	User string `json:"user"`
	// Initiator and Trace are who caused it and the way to the object, where that is
	// known.
	Initiator string              `json:"initiator,omitempty"`
	Trace     []v1alpha1.TraceHop `json:"trace,omitempty"`
	// Allowed says that what is outside may be deleted as well: the cause has an
	// External entry with the verb.
	Allowed bool `json:"allowed,omitempty"`
	// Paused is true where the object was paused before: that pause is somebody
	// else's, and stays.
	Paused bool `json:"paused,omitempty"`
}

// Adopted reports whether the object is under its gate.
func (s State) Adopted() bool { return s.Content != "" }

// ReadState reads the annotations of an object. What cannot be read counts as the
// narrowest that it could be: a ceiling as one that lets nothing through, a hold as
// one that is not allowed.
func ReadState(annotations map[string]string) State {
	s := State{}
	s.Content, s.Name, _ = strings.Cut(annotations[v1alpha1.AnnotationGateContent], nameSeparator)
	s.Provider = annotations[v1alpha1.AnnotationGateProvider]
	s.Requested = annotations[v1alpha1.AnnotationGateRequested]
	if text, ok := annotations[v1alpha1.AnnotationGateCeiling]; ok {
		s.Ceiling = []string{}
		if err := json.Unmarshal([]byte(text), &s.Ceiling); err != nil || s.Ceiling == nil {
			s.Ceiling = []string{}
		}
	}
	s.Parent = readParent(annotations[v1alpha1.AnnotationGateParent])
	if err := json.Unmarshal([]byte(annotations[v1alpha1.AnnotationGateUnseen]), &s.Unseen); err != nil {
		s.Unseen = nil // nothing is news then
	}
	if text, ok := annotations[v1alpha1.AnnotationGateHeld]; ok {
		s.Held = &Hold{}
		if err := json.Unmarshal([]byte(text), s.Held); err != nil {
			s.Held = &Hold{}
		}
	}
	return s
}

// Annotations returns what State is written as; those that are not there should be
// absent.
func (s State) Annotations() map[string]string {
	out := map[string]string{}
	if s.Ceiling != nil {
		out[v1alpha1.AnnotationGateCeiling] = encode(s.Ceiling)
	}
	if s.Content != "" {
		out[v1alpha1.AnnotationGateContent] = s.Content
		if s.Name != "" {
			out[v1alpha1.AnnotationGateContent] += nameSeparator + s.Name
		}
	}
	if s.Provider != "" {
		out[v1alpha1.AnnotationGateProvider] = s.Provider
	}
	if s.Parent != nil {
		out[v1alpha1.AnnotationGateParent] = encode(s.Parent)
	}
	if len(s.Unseen) > 0 {
		out[v1alpha1.AnnotationGateUnseen] = encode(s.Unseen)
	}
	if s.Requested != "" {
		out[v1alpha1.AnnotationGateRequested] = s.Requested
	}
	if s.Held != nil {
		out[v1alpha1.AnnotationGateHeld] = encode(s.Held)
	}
	return out
}

func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		// They are made of strings, numbers, and lists and maps of them.
		panic(fmt.Sprintf("gate: a state that cannot be encoded: %v", err))
	}
	return string(text)
}

// StateKeys returns the annotations that hold a State.
func StateKeys() []string {
	return []string{
		v1alpha1.AnnotationGateCeiling, v1alpha1.AnnotationGateContent, v1alpha1.AnnotationGateProvider,
		v1alpha1.AnnotationGateParent, v1alpha1.AnnotationGateUnseen, v1alpha1.AnnotationGateRequested, v1alpha1.AnnotationGateHeld,
	}
}
