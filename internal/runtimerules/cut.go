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

import (
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Cut is what filters leave of a response.
type Cut struct {
	// Message is what remains; nil where all of it is held back.
	Message proto.Message
	// Held is how many elements, or messages, were held back.
	Held int
	// Questions are what has to be found out first.
	Questions []Question
	// Err says why the response cannot be filtered.
	Err error
}

// Filters reports whether anything of the response is held back by the rule.
func (s *Step) Filters() bool { return len(s.filters) > 0 }

// Cut applies the filters to a response, which it changes.
func (s *Step) Cut(response proto.Message, facts Facts) Cut {
	message := response.ProtoReflect()
	keeps := make([][]bool, len(s.filters))
	questions := map[Question]bool{}
	for i, f := range s.filters {
		var err error
		if keeps[i], err = f.judge(message, facts, questions); err != nil {
			return Cut{Err: err}
		}
	}
	if len(questions) > 0 {
		out := Cut{}
		for question := range questions {
			out.Questions = append(out.Questions, question)
		}
		return out
	}
	return s.remove(message, keeps)
}

// judge says of each element whether it is kept.
func (f filter) judge(message protoreflect.Message, facts Facts, questions map[Question]bool) ([]bool, error) {
	elements := []protoreflect.Message{message}
	if len(f.list) > 0 {
		list := f.list.value(message).List()
		elements = make([]protoreflect.Message, 0, list.Len())
		for i := range list.Len() {
			elements = append(elements, list.Get(i).Message())
		}
	}
	keep := make([]bool, len(elements))
	for i, element := range elements {
		one := f.test(element, facts)
		switch one.truth {
		case unasked:
			questions[one.question] = true
		case unknown:
			return nil, one.err
		case holds, fails:
			keep[i] = one.truth == holds
		}
	}
	return keep, nil
}

func (f filter) test(element protoreflect.Message, facts Facts) answer {
	value := f.element.value(element).String()
	if f.owner {
		return facts.lists(value)
	}
	pod, out := facts.pod()
	if out.truth != holds {
		return out
	}
	return said(value == pod)
}

// remove takes out what is not kept. An element of a list that several filters are about
// stays if all of them keep it.
func (s *Step) remove(message protoreflect.Message, keeps [][]bool) Cut {
	out := Cut{Message: message.Interface()}
	done := make([]bool, len(s.filters))
	for i, f := range s.filters {
		switch {
		case len(f.list) == 0 && !keeps[i][0]:
			return Cut{Held: 1}
		case len(f.list) == 0 || done[i]:
			continue
		}
		keep := slices.Clone(keeps[i])
		for j := i + 1; j < len(s.filters); j++ {
			if slices.Equal(s.filters[j].list, f.list) {
				done[j] = true
				for n := range keep {
					keep[n] = keep[n] && keeps[j][n]
				}
			}
		}
		out.Held += f.remove(message, keep)
	}
	return out
}

// remove takes elements out of a list, and fields that are not known from beside it: they
// may say the same in another way.
func (f filter) remove(message protoreflect.Message, keep []bool) int {
	for _, field := range f.list[:len(f.list)-1] {
		message.SetUnknown(nil)
		if !message.Has(field) {
			return 0
		}
		message = message.Mutable(field).Message()
	}
	message.SetUnknown(nil)
	if len(keep) == 0 {
		return 0
	}
	list, kept := message.Mutable(f.list.leaf()).List(), 0
	for i := range keep {
		if keep[i] {
			list.Set(kept, list.Get(i))
			kept++
		}
	}
	list.Truncate(kept)
	return len(keep) - kept
}
