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

package compressed

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
)

// Without returns the JSON text of an object without the member that is found by following
// path, such as metadata and managedFields. Members that would be left empty go with it.
// The text is returned as it is where there is no such member.
func Without(text []byte, path ...string) []byte {
	object := gjson.ParseBytes(text)
	var found member
	for i, name := range path {
		m := memberOf(object, name)
		if !m.value.Exists() {
			return text
		}
		if i == 0 || !m.alone {
			found = m
		}
		object = m.value
	}
	from, to := found.span(text)
	return append(text[:from:from], text[to:]...)
}

// member of an object in JSON.
type member struct {
	key, value gjson.Result
	// alone is true where the object has no other one.
	alone bool
}

func memberOf(object gjson.Result, name string) member {
	var m member
	others := false
	object.ForEach(func(key, value gjson.Result) bool {
		if !m.value.Exists() && key.Str == name {
			m.key, m.value = key, value
		} else {
			others = true
		}
		return !m.value.Exists() || !others
	})
	m.alone = !others
	return m
}

// span returns the place of a member in the text, with the comma that nobody needs without it.
func (m member) span(text []byte) (from, to int) {
	const space = " \t\r\n"
	from, to = m.key.Index, m.value.Index+len(m.value.Raw)
	after := bytes.TrimLeft(text[to:], space)
	if bytes.HasPrefix(after, []byte(",")) {
		return from, len(text) - len(after) + 1
	}
	before := bytes.TrimRight(text[:from], space)
	return len(bytes.TrimSuffix(before, []byte(","))), to
}

// stringOf returns a copy of a string, and nothing for any other value. Parts of a text keep all
// of it.
func stringOf(value gjson.Result) string {
	if !strings.Contains(value.Raw, `\`) {
		return strings.Clone(value.Str)
	}
	var out string
	if err := json.Unmarshal([]byte(value.Raw), &out); err != nil {
		return ""
	}
	return out
}
