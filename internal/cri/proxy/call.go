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
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"kausality.io/operator/internal/runtimerules"
)

// What becomes of calls, in audit lines and metrics.
const (
	outcomeAllowed   = "allowed"
	outcomeRefused   = "refused"
	outcomeUndecided = "undecided"
	outcomeLimited   = "limited"
	outcomeMalformed = "malformed"
)

// downstream is how the runtime is called: whatever the method, one message goes there, and
// any number come back.
var downstream = &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}

// call is one of a client.
type call struct {
	*Server
	stream     grpc.ServerStream
	connection *connection
	path       string
	plan       *runtimerules.Plan
	facts      runtimerules.Facts

	// What is told of it when it has ended.
	outcome string
	verdict runtimerules.Verdict
	reason  string
	target  runtimerules.Target
	held    int

	// unread ends a stream of a container that does not read it; nil for other calls.
	unread *time.Timer

	// reading is set while the request is held, and holding is how many bytes that are.
	reading bool
	holding int64
}

// handle answers a call.
func (s *Server) handle(_ any, stream grpc.ServerStream) error {
	path, _ := grpc.MethodFromServerStream(stream)
	connection, ok := connectionOf(stream.Context())
	if !ok {
		return status.Error(codes.Internal, "the connection has no peer")
	}
	rules := s.rules.Load()
	c := &call{Server: s, stream: stream, connection: connection, path: path, plan: rules.Plan(path), outcome: outcomeAllowed}
	var err error
	if c.plan == nil {
		c.path = unknownMethod
		err = c.refuse(rules.Unknown(path))
	} else {
		err = c.answer()
	}
	s.metrics.called(c.path, c.outcome)
	c.tell(path, err)
	return err
}

// answer reads the request, judges it, and passes it on.
func (c *call) answer() error {
	if err := c.connection.share.begin(c.stream.Context()); err != nil {
		return c.end(outcomeLimited, status.FromContextError(err).Err())
	}
	defer c.connection.share.end()
	if err := c.connection.share.requests.Acquire(c.stream.Context(), 1); err != nil {
		return c.end(outcomeLimited, status.FromContextError(err).Err())
	}
	c.reading = true
	defer c.sent()
	largest := int64(c.options.Limits.MessageBytes)
	if err := c.connection.share.hold(c.stream.Context(), largest); err != nil {
		return c.end(outcomeLimited, status.FromContextError(err).Err())
	}
	c.holding = largest
	request, err := c.receive()
	if err != nil {
		return err
	}
	c.holding = min(int64(request.data.Len()), largest)
	c.connection.share.let(largest - c.holding)
	if c.told() {
		data := request.bytes()
		c.target = c.plan.Method.Target(data)
		request = framed(data)
	}
	if request, err = c.judge(request); err != nil {
		return err
	}
	c.remember()
	return c.relay(request)
}

// sent lets another request of the caller be read.
func (c *call) sent() {
	if c.reading {
		c.reading = false
		c.connection.share.let(c.holding)
		c.connection.share.requests.Release(1)
	}
}

// receive reads the one message that a request has.
func (c *call) receive() (*frame, error) {
	request := &frame{}
	if err := c.stream.RecvMsg(request); err != nil {
		if errors.Is(err, io.EOF) {
			err = status.Error(codes.InvalidArgument, "a call has one message, and this one has none")
		}
		return nil, c.end(outcomeMalformed, err)
	}
	if err := c.stream.RecvMsg(&frame{}); !errors.Is(err, io.EOF) {
		request.free()
		if err == nil {
			err = status.Error(codes.InvalidArgument, "a call has one message, and this one has more")
		}
		return nil, c.end(outcomeMalformed, err)
	}
	return request, nil
}

// end says what became of a call that goes no further.
func (c *call) end(outcome string, err error) error {
	c.outcome, c.reason = outcome, status.Convert(err).Message()
	return err
}

// judge asks the rules, and returns what is to be sent.
func (c *call) judge(request *frame) (*frame, error) {
	var message proto.Message
	if c.plan.ReadsRequest() {
		data := request.bytes()
		defer func() {
			if c.outcome != outcomeAllowed {
				c.target = c.plan.Method.Target(data)
			}
		}()
		var err error
		if message, err = c.plan.Method.Request(data); err != nil {
			return nil, c.end(outcomeMalformed, status.Error(codes.InvalidArgument, "the request: "+err.Error()))
		}
		request = nil
	}
	for {
		c.verdict = c.plan.Judge(message, c.facts)
		switch c.verdict.Outcome {
		case runtimerules.Asking:
			c.ask(c.verdict.Questions)
		case runtimerules.Allowed:
			if message == nil {
				return request, nil
			}
			data, err := proto.Marshal(c.verdict.Request)
			if err != nil {
				return nil, c.end(outcomeMalformed, status.Error(codes.InvalidArgument, "the request cannot be written again"))
			}
			return framed(data), nil
		case runtimerules.Refused, runtimerules.Undecided, runtimerules.Unimplemented:
			if request != nil {
				request.free()
			}
			return nil, c.refuse(c.verdict)
		}
	}
}

// refuse returns the answer to a call that goes no further by its verdict.
func (c *call) refuse(verdict runtimerules.Verdict) error {
	c.verdict = verdict
	code, outcome := codes.PermissionDenied, outcomeRefused
	switch verdict.Outcome {
	case runtimerules.Undecided:
		code, outcome = codes.Unavailable, outcomeUndecided
	case runtimerules.Unimplemented:
		code = codes.Unimplemented
	case runtimerules.Refused, runtimerules.Allowed, runtimerules.Asking:
	}
	return c.end(outcome, status.Error(code, "kausality-cri: "+verdict.Reason))
}

// ask finds out what a judgement lacks.
func (c *call) ask(questions []runtimerules.Question) {
	ctx, cancel := context.WithTimeout(c.stream.Context(), c.options.Limits.Lookup)
	defer cancel()
	for _, question := range questions {
		err := c.connection.share.lookup(ctx, func() { c.find(ctx, question) })
		if err != nil {
			c.fail(question, errors.New("too many questions are being asked for this caller, or the call has ended"))
		}
	}
}

func (c *call) find(ctx context.Context, question runtimerules.Question) {
	switch question.About {
	case runtimerules.TheCaller:
		found := c.connection.who(ctx, c.runtime.Caller)
		c.facts.Caller = &found
	case runtimerules.AContainer:
		c.container(question.ID, c.runtime.Container(ctx, question.ID))
	case runtimerules.APodsContainers:
		c.members(question.ID, c.runtime.Members(ctx, question.ID))
	}
}

// fail answers a question with an error.
func (c *call) fail(question runtimerules.Question, err error) {
	switch question.About {
	case runtimerules.TheCaller:
		c.facts.Caller = &runtimerules.Caller{Err: err}
	case runtimerules.AContainer:
		c.container(question.ID, runtimerules.Container{Err: err})
	case runtimerules.APodsContainers:
		c.members(question.ID, runtimerules.Members{Err: err})
	}
}

func (c *call) container(id string, found runtimerules.Container) {
	if c.facts.Containers == nil {
		c.facts.Containers = map[string]runtimerules.Container{}
	}
	c.facts.Containers[id] = found
}

func (c *call) members(pod string, found runtimerules.Members) {
	c.facts.Pods = map[string]runtimerules.Members{pod: found}
}

// relay sends the request on, and passes back what the runtime answers.
func (c *call) relay(request *frame) error {
	ctx := c.stream.Context()
	if c.plan.Method.Streams {
		following, end := context.WithCancelCause(ctx)
		defer end(nil)
		ctx = following
		basis := c.plan.Basis(c.verdict.Step)
		remove := c.streams.add(c.path, basis, end)
		defer remove()
		// Rules that came in the meantime did not see it.
		if !c.rules.Load().Plan(c.path).Has(basis) {
			end(errRulesChanged)
		}
		if c.connection.share.key != host {
			c.unread = time.AfterFunc(c.options.Limits.Unread, func() { end(errUnread) })
			c.unread.Stop()
			defer c.unread.Stop()
		}
	}
	err := c.forward(ctx, request)
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errRulesChanged):
		return c.end(outcomeAllowed, status.Error(codes.Unavailable, "kausality-cri: "+cause.Error()))
	case errors.Is(cause, errUnread):
		return c.end(outcomeLimited, status.Error(codes.ResourceExhausted, "kausality-cri: "+cause.Error()))
	}
	return err
}

func (c *call) forward(ctx context.Context, request *frame) error {
	sent, _ := metadata.FromIncomingContext(ctx)
	// This is about what we can read, and grpc says it again.
	delete(sent, "grpc-accept-encoding")
	// By these, containerd's own clients say on whose containers they work.
	delete(sent, "containerd-namespace")
	delete(sent, "containerd-lease")
	upstream, err := c.upstream.NewStream(metadata.NewOutgoingContext(ctx, sent), downstream, c.path, grpc.ForceCodecV2(codec{}))
	if err != nil {
		return err
	}
	// What fails here fails again, with its reason, when the answer is read.
	if err := upstream.SendMsg(request); err == nil {
		_ = upstream.CloseSend()
	}
	c.sent()
	if header, err := upstream.Header(); err == nil && header != nil {
		if c.plan.Method.Streams {
			err = c.stream.SendHeader(header)
		} else {
			err = c.stream.SetHeader(header)
		}
		if err != nil {
			return err
		}
	}
	for {
		response := &frame{}
		if err := upstream.RecvMsg(response); err != nil {
			c.stream.SetTrailer(upstream.Trailer())
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := c.pass(response); err != nil {
			return err
		}
	}
}

// pass sends a response, or what filters leave of it.
func (c *call) pass(response *frame) error {
	size := int64(response.data.Len())
	if !c.connection.share.responses.TryAcquire(size) {
		response.free()
		return c.end(outcomeLimited, status.Error(codes.ResourceExhausted, "kausality-cri: the caller does not read what it was answered"))
	}
	defer c.connection.share.responses.Release(size)
	if !c.connection.share.tryHold(size) {
		response.free()
		return c.end(outcomeLimited, status.Error(codes.ResourceExhausted, "kausality-cri: all containers together hold too much: try again"))
	}
	defer c.connection.share.let(size)
	if c.verdict.Step.Filters() {
		var err error
		if response, err = c.cut(response); err != nil || response == nil {
			return err
		}
	}
	if c.unread != nil {
		c.unread.Reset(c.options.Limits.Unread)
		defer c.unread.Stop()
	}
	return c.stream.SendMsg(response)
}

// cut filters a response, and returns what is left of it, nil if that is nothing. A response of
// which all stays goes on as it came.
func (c *call) cut(response *frame) (*frame, error) {
	data := response.whole()
	for {
		cut := c.verdict.Step.Cut(data, c.facts)
		switch {
		case cut.Err != nil:
			response.free()
			return nil, c.end(outcomeUndecided, status.Error(codes.Unavailable, "kausality-cri: the response cannot be filtered: "+cut.Err.Error()))
		case len(cut.Questions) > 0:
			c.ask(cut.Questions)
			continue
		}
		// Containers come and go: the next message asks again.
		c.facts.Pods = nil
		if cut.Held > 0 {
			c.held += cut.Held
			c.metrics.held.WithLabelValues(c.metrics.endpoint, c.path).Add(float64(cut.Held))
		}
		if !cut.Nothing && same(cut.Response, data) {
			return response, nil
		}
		response.free()
		if cut.Nothing {
			return nil, nil
		}
		return framed(cut.Response), nil
	}
}

// same reports whether two texts are one and the same in memory.
func same(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// now returns the time of audit lines.
func now() time.Time { return time.Now().UTC() }
