//go:build linux

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

package proxy

import (
	"context"
	"strings"

	"google.golang.org/grpc/status"

	"kausality.io/operator/internal/cri/audit"
	"kausality.io/operator/internal/runtimerules"
)

// told reports whether there will be an audit line whatever becomes of the call.
func (c *call) told() bool {
	return c.options.AuditAll || c.plan.Method.Changes || len(c.plan.Steps) == 0 || c.plan.Steps[0].Rule.Action == runtimerules.Deny
}

// remember asks about what will be gone when the call has ended.
func (c *call) remember() {
	if id := c.target.ContainerID; id != "" && strings.HasSuffix(c.path, "/RemoveContainer") {
		ctx, cancel := context.WithTimeout(c.stream.Context(), c.options.Limits.Lookup)
		defer cancel()
		_ = c.connection.share.lookup(ctx, func() { c.runtime.Container(ctx, id) })
	}
	if id := c.target.PodSandboxID; id != "" && strings.HasSuffix(c.path, "/RemovePodSandbox") {
		ctx, cancel := context.WithTimeout(c.stream.Context(), c.options.Limits.Lookup)
		defer cancel()
		_ = c.connection.share.lookup(ctx, func() { c.runtime.Pod(ctx, id) })
	}
}

// tell has the audit line of a call that has ended written. The call does not wait for
// that: the names in it may have to be asked for.
func (c *call) tell(path string, err error) {
	changes := c.plan != nil && c.plan.Method.Changes
	if c.outcome == outcomeAllowed && !changes && !c.options.AuditAll {
		return
	}
	story := story{
		connection: c.connection,
		target:     c.target,
		line: audit.Line{
			Time:     now(),
			Endpoint: c.options.Endpoint,
			Method:   path[:min(len(path), maxPath)],
			Outcome:  c.outcome,
			Code:     status.Code(err).String(),
			Held:     c.held,
			Caller:   audit.Party{PID: c.connection.peer.PID},
			Reason:   c.reason,
		},
	}
	if rule := c.verdict.Rule(); rule != nil {
		story.line.Rule, story.line.RuleLine = rule.Number, rule.Line
	}
	select {
	case c.stories <- story:
	default:
		// Better without names than late, or not at all.
		if c.target != (runtimerules.Target{}) {
			story.line.Target = &audit.Party{ContainerID: c.target.ContainerID, PodSandboxID: c.target.PodSandboxID}
		}
		story.line.Caller.Unknown = "there were too many lines to look everybody up"
		c.options.Audit.Write(story.line)
	}
}

// story is an audit line that lacks names.
type story struct {
	line       audit.Line
	connection *connection
	target     runtimerules.Target
}

// maxStories is how many lines wait for their names.
const maxStories = 1024

// write writes audit lines until there will be no more.
func (s *Server) write() {
	defer close(s.written)
	for story := range s.stories {
		ctx, cancel := context.WithTimeout(context.Background(), s.options.Limits.Lookup)
		s.caller(ctx, story.connection, &story.line.Caller)
		story.line.Target = s.target(ctx, story.target)
		cancel()
		s.options.Audit.Write(story.line)
	}
}

// maxPath is how much of a method that callers made up is told.
const maxPath = 256

// caller says who the caller is.
func (s *Server) caller(ctx context.Context, connection *connection, party *audit.Party) {
	who := connection.who(ctx, s.runtime.Caller)
	if who.Err != nil {
		party.Unknown = who.Err.Error()
		return
	}
	party.ContainerID = who.ContainerID
	s.pod(ctx, who.PodSandboxID, party)
}

// target returns what a request names, and whose it is.
func (s *Server) target(ctx context.Context, named runtimerules.Target) *audit.Party {
	party := audit.Party{ContainerID: named.ContainerID, PodSandboxID: named.PodSandboxID}
	if party == (audit.Party{}) {
		return nil
	}
	sandbox := party.PodSandboxID
	if party.ContainerID != "" {
		container := s.runtime.Container(ctx, party.ContainerID)
		if container.ID != "" {
			party.ContainerID, sandbox = container.ID, container.PodSandboxID
		}
	}
	s.pod(ctx, sandbox, &party)
	return &party
}

// pod names the Pod of a sandbox.
func (s *Server) pod(ctx context.Context, sandbox string, party *audit.Party) {
	party.PodSandboxID = sandbox
	if pod, known := s.runtime.Pod(ctx, sandbox); known {
		party.Namespace, party.Pod, party.UID = pod.Namespace, pod.Name, pod.UID
	}
}
