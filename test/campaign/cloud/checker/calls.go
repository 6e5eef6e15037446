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

package checker

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Call is one to the cloud.
type Call struct {
	// Number is the position of the call in the cloud's log.
	Number int `json:"number"`
	// By is on behalf of which managed resource the provider says that it calls.
	By   string `json:"by"`
	Verb string `json:"verb"`
	// Name is that of the instance in the cloud.
	Name       string         `json:"name"`
	Parameters map[string]any `json:"parameters"`
	Outcome    string         `json:"outcome"`
	Received   time.Time      `json:"received"`
	Ended      time.Time      `json:"ended"`
}

// The verbs, and the outcomes of calls that were carried out, or half so.
const (
	observe = "Observe"
	create  = "Create"
	update  = "Update"
	remove  = "Delete"
	done    = "Done"
	partial = "Partial"
)

// size returns the one that the cloud was asked for.
func (c Call) size() string {
	size, _ := c.Parameters["instanceClass"].(string)
	return size
}

// resource returns the managed resource that a call was made for: its API group, namespace
// and name.
func (c Call) resource() place {
	kind, path, _ := strings.Cut(c.By, " ")
	_, group, _ := strings.Cut(kind, ".")
	namespace, name, _ := strings.Cut(path, "/")
	return place{group: group, resource: instances, namespace: namespace, name: name}
}

// ReadCalls reads a cloud's log of calls that were to change something. It has a line
// for each call that was received, and another one for what came of it.
func ReadCalls(log io.Reader) ([]Call, error) {
	var out []Call
	at := map[int]int{}
	for lines := bufio.NewReader(log); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the cloud's log: %w", err)
		}
		var call Call
		if err := json.Unmarshal(line, &call); err != nil {
			return nil, fmt.Errorf("the cloud's log does not parse: %w", err)
		}
		if call.Verb == observe {
			continue
		}
		if i, found := at[call.Number]; found {
			out[i] = call
			continue
		}
		at[call.Number] = len(out)
		out = append(out, call)
	}
}
