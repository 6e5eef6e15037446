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
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// Cut is what filters leave of a response.
type Cut struct {
	// Response is what remains, as it is on the wire: the bytes that were given, where all of
	// a message stays, and others that it shares with nobody.
	Response []byte
	// Nothing is set where all of a message is held back.
	Nothing bool
	// Held is how many elements, or messages, were held back.
	Held int
	// Questions are what has to be found out first.
	Questions []Question
	// Err says why the response cannot be filtered.
	Err error
}

// Filters reports whether anything of the response is held back by the rule.
func (s *Step) Filters() bool { return len(s.filters) > 0 }

// errResponse is for what no runtime would answer.
var errResponse = errors.New("the runtime's answer is no message")

// Cut applies the filters to a response. Lists are long and few elements stay; so it goes
// over the bytes as they came, and makes no messages of them. An element that several
// filters are about stays if all of them keep it.
func (s *Step) Cut(response []byte, facts Facts) Cut {
	out := Cut{Response: response}
	for _, f := range s.filters {
		c := cutter{filter: f, facts: facts}
		if len(f.list) == 0 {
			if !c.keeps(out.Response) {
				out.Response, out.Nothing, c.held = nil, true, 1
			}
		} else {
			out.Response = c.message(out.Response, f.list)
		}
		switch {
		case c.err != nil:
			return Cut{Err: c.err}
		case len(c.questions) > 0:
			return Cut{Questions: c.questions}
		}
		out.Held += c.held
		if out.Nothing {
			return out
		}
	}
	return out
}

// cutter applies one filter to a response.
type cutter struct {
	filter
	facts     Facts
	held      int
	questions []Question
	err       error
}

// message returns what remains of a message whose list is at the end of a path. Fields that are
// not known go from beside the list: they may say the same in another way.
func (c *cutter) message(data []byte, list path) []byte {
	out := []byte{}
	field := list[0]
	c.each(data, func(number protowire.Number, kind protowire.Type, whole, value []byte) {
		switch {
		case number != field.Number():
			if field.ContainingMessage().Fields().ByNumber(number) != nil {
				out = append(out, whole...)
			}
		case kind != protowire.BytesType:
		case len(list) > 1:
			out = protowire.AppendBytes(protowire.AppendTag(out, number, kind), c.message(value, list[1:]))
		case c.keeps(value):
			out = append(out, whole...)
		default:
			c.held++
		}
	})
	return out
}

// keeps reports whether an element stays, as far as is known.
func (c *cutter) keeps(element []byte) bool {
	one := c.test(string(c.find(element, c.element)), c.facts)
	switch one.truth {
	case unasked:
		// However many elements there are, it is the same question.
		c.questions = []Question{one.question}
	case unknown:
		c.fail(one.err)
	case holds, fails:
	}
	return one.truth == holds
}

// find returns the text at the end of a path; of several, the last counts, as for who reads the
// message. It is empty where there is none.
func (c *cutter) find(data []byte, to path) []byte {
	var out []byte
	c.each(data, func(number protowire.Number, kind protowire.Type, _, value []byte) {
		switch {
		case number != to[0].Number() || kind != protowire.BytesType:
		case len(to) == 1:
			out = value
		default:
			if found := c.find(value, to[1:]); found != nil {
				out = found
			}
		}
	})
	return out
}

// each goes over the fields of a message. The value is without its length.
func (c *cutter) each(data []byte, use func(number protowire.Number, kind protowire.Type, whole, value []byte)) {
	for len(data) > 0 && c.err == nil {
		number, kind, tag := protowire.ConsumeTag(data)
		if tag < 0 {
			c.fail(errResponse)
			return
		}
		size := protowire.ConsumeFieldValue(number, kind, data[tag:])
		if size < 0 {
			c.fail(errResponse)
			return
		}
		whole, value := data[:tag+size], data[tag:tag+size]
		if kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(value)
		}
		use(number, kind, whole, value)
		data = data[tag+size:]
	}
}

func (c *cutter) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

func (f filter) test(value string, facts Facts) answer {
	if f.owner {
		return facts.lists(value)
	}
	pod, out := facts.pod()
	if out.truth != holds {
		return out
	}
	return said(value == pod)
}
