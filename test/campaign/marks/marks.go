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

// Package marks knows the marks by which whatever strangers write is known wherever it turns
// up: each text has the number of its act, and so has each large number.
package marks

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// mark is what every text and every large number of a stranger has in it.
var mark = regexp.MustCompile(`zq(\d+)z|\b7(\d{6})(?:m|Mi|s)?\b`)

// In returns the acts whose marks are in a text, each once.
func In(text string) []int {
	return acts(text, func(found []string) string { return found[1] + found[2] })
}

// Texts returns the acts whose marks are in a text as such, and not as numbers.
func Texts(text string) []int {
	return acts(text, func(found []string) string { return found[1] })
}

// acts returns the acts that which reads from the marks in a text, each once.
func acts(text string, which func(found []string) string) []int {
	var out []int
	for _, found := range mark.FindAllStringSubmatch(text, -1) {
		if n, err := strconv.Atoi(which(found)); err == nil {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Of returns the marks in a value.
func Of(value any) []int {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	return In(string(raw))
}

// Used tells the acts whose marks are in a request by what they are there: names of something, by which
// it may be told of, and values, which nobody is told. A mark may be both.
func Used(request []byte) (named, valued []int) {
	if !mark.Match(request) {
		return nil, nil
	}
	var value any
	if err := json.Unmarshal(request, &value); err != nil {
		return In(string(request)), nil
	}
	u := &uses{}
	if operations, ok := value.([]any); ok { // JSON patches.
		for _, o := range operations {
			operation, _ := o.(map[string]any)
			pointer, _ := operation["path"].(string)
			u.named = append(u.named, In(pointer)...)
			u.walk(strings.Split(strings.TrimPrefix(pointer, "/"), "/"), operation["value"])
		}
	} else {
		u.walk(nil, value)
	}
	for _, found := range []*[]int{&u.named, &u.valued} {
		slices.Sort(*found)
		*found = slices.Compact(*found)
	}
	return u.named, u.valued
}

// kept is the field of records that has a ledger as somebody wrote it: it is no message.
const kept = "rawLedger"

// uses are what marks are.
type uses struct{ named, valued []int }

func (u *uses) walk(path []string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, below := range value {
			if key == kept {
				continue
			}
			u.named = append(u.named, In(key)...)
			u.walk(append(slices.Clip(path), key), below)
		}
	case []any:
		for _, below := range value {
			u.walk(path, below)
		}
	default:
		if found := Of(value); isName(path) {
			u.named = append(u.named, found...)
		} else {
			u.valued = append(u.valued, found...)
		}
	}
}

// isName reports whether the value at a path is a name: of an object, its owner, its labels, or an item of a
// list. Kausality's own annotations count as names, as messages may repeat them.
func isName(path []string) bool {
	if len(path) == 0 {
		return false
	}
	if path[0] == "metadata" {
		return len(path) < 3 || path[1] != "annotations" || strings.Contains(path[2], "kausality.io")
	}
	last := path[len(path)-1]
	return strings.HasSuffix(strings.ToLower(last), "name") || slices.Contains([]string{"key", "kind", "apiVersion", "uid", "fieldPath", "mountPath", "topologyKey", "ip", "type"}, last)
}
