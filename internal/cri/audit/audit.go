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

// Package audit writes who asked for what on a container runtime, and what became of it.
// It never has the contents of a call, where credentials, environments and the tokens of
// streams pass.
package audit

import (
	"encoding/json"
	"io"
	"log/slog"
	"sync"
	"time"
)

// Line is about one call.
type Line struct {
	// Time is when the call ended.
	Time time.Time `json:"time"`
	// Endpoint is the socket by which it came.
	Endpoint string `json:"endpoint"`
	// Method is the path of the method that was called.
	Method string `json:"method"`
	// Outcome is allowed, refused or undecided.
	Outcome string `json:"outcome"`
	// Code is what the caller was answered, in gRPC's words.
	Code string `json:"code"`
	// Rule counts the rules of the file from 1; 0 where none decided.
	Rule int `json:"rule,omitempty"`
	// RuleLine is where it begins.
	RuleLine int `json:"ruleLine,omitempty"`
	// Reason says why the call was refused or not decided.
	Reason string `json:"reason,omitempty"`
	// Caller is who opened the connection.
	Caller Party `json:"caller"`
	// Target is what the request names; nil where it names neither Pod nor container.
	Target *Party `json:"target,omitempty"`
	// Held is how many elements of the response were held back.
	Held int `json:"held,omitempty"`
}

// Party is a Pod, and a container or a process in it. What is not known is empty.
type Party struct {
	// PID is the number of the process in the PID namespace of kausality-cri.
	PID int `json:"pid,omitempty"`
	// Namespace is that of the Pod.
	Namespace string `json:"namespace,omitempty"`
	// Pod is the name of the Pod.
	Pod string `json:"pod,omitempty"`
	// UID is that of the Pod.
	UID string `json:"uid,omitempty"`
	// PodSandboxID is the runtime's id of the Pod.
	PodSandboxID string `json:"podSandboxId,omitempty"`
	// ContainerID is the runtime's id of the container.
	ContainerID string `json:"containerId,omitempty"`
	// Unknown says why nothing else is known.
	Unknown string `json:"unknown,omitempty"`
}

// Log writes lines of JSON. It may be used by many at once.
type Log struct {
	mu  sync.Mutex
	out *json.Encoder
}

// New writes to out.
func New(out io.Writer) *Log {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return &Log{out: encoder}
}

// Write writes a line.
func (l *Log) Write(line Line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.out.Encode(line); err != nil {
		slog.Error("An audit line could not be written", "error", err)
	}
}
