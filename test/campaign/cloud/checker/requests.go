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
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Request is one that the API server has carried out or refused.
type Request struct {
	// Received and Answered are when. What it asks for has become true in between.
	Received, Answered time.Time
	// User is who asked, or on whose behalf somebody asked, and Groups are the user's.
	User   string
	Groups []string
	Verb   string
	// APIGroup, Resource, Subresource, Namespace and Name say of what.
	APIGroup, Resource, Subresource, Namespace, Name string
	// Code is the answer's.
	Code int
	// Asked is what was sent, and Object what was stored; the latter is nil where
	// nothing was.
	Asked  json.RawMessage
	Object *Object
}

// Succeeded tells whether the request was carried out.
func (r *Request) Succeeded() bool { return r.Code >= 200 && r.Code < 300 }

// record is a line of an audit log, as far as it is of interest.
type record struct {
	Verb             string    `json:"verb"`
	RequestURI       string    `json:"requestURI"`
	User             user      `json:"user"`
	ImpersonatedUser *user     `json:"impersonatedUser"`
	Received         time.Time `json:"requestReceivedTimestamp"`
	Stage            time.Time `json:"stageTimestamp"`
	ObjectRef        *struct {
		APIGroup    string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	RequestObject  json.RawMessage `json:"requestObject"`
	ResponseObject json.RawMessage `json:"responseObject"`
}

type user struct {
	Username string   `json:"username"`
	Groups   []string `json:"groups"`
}

// writing are the verbs of requests that change something.
var writing = []string{"create", "update", "patch", "delete"}

// ReadRequests reads the requests that were to change objects of the given API groups
// from an audit log.
func ReadRequests(log io.Reader, groups ...string) ([]Request, error) {
	var out []Request
	for lines, number := bufio.NewReader(log), 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return out, nil // what is not a whole line was being written
		}
		if err != nil {
			return nil, fmt.Errorf("reading the audit log: %w", err)
		}
		if !slices.ContainsFunc(groups, func(g string) bool { return bytes.Contains(line, []byte(`"apiGroup":"`+g+`"`)) }) {
			continue
		}
		request, err := readRequest(line)
		if err != nil {
			return nil, fmt.Errorf("line %d of the audit log: %w", number, err)
		}
		if request != nil && slices.Contains(groups, request.APIGroup) {
			out = append(out, *request)
		}
	}
}

// readRequest reads a line; nil if it is about a request that changes nothing.
func readRequest(line []byte) (*Request, error) {
	var r record
	if err := json.Unmarshal(line, &r); err != nil {
		return nil, err
	}
	if r.ObjectRef == nil || !slices.Contains(writing, r.Verb) || strings.Contains(r.RequestURI, "dryRun=") {
		return nil, nil
	}
	who := r.User
	if r.ImpersonatedUser != nil {
		who = *r.ImpersonatedUser
	}
	out := &Request{
		Received: r.Received, Answered: r.Stage, User: who.Username, Groups: who.Groups, Verb: r.Verb,
		APIGroup: r.ObjectRef.APIGroup, Resource: r.ObjectRef.Resource, Subresource: r.ObjectRef.Subresource,
		Namespace: r.ObjectRef.Namespace, Name: r.ObjectRef.Name, Code: r.ResponseStatus.Code, Asked: r.RequestObject,
	}
	if !out.Succeeded() || len(r.ResponseObject) == 0 {
		return out, nil
	}
	var stored Object
	if err := json.Unmarshal(r.ResponseObject, &stored); err != nil {
		return nil, err
	}
	if stored.Kind != "Status" {
		out.Object = &stored
	}
	return out, nil
}
