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
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"kausality.io/operator/internal/runtimerules"
)

// runtimeOf has a stand's proxy before a runtime that answers each call in one way.
func runtimeOf(t *testing.T, answer grpc.StreamHandler, change ...func(*Options)) *stand {
	t.Helper()
	change = append(change, func(o *Options) { o.Runtime = filepath.Join(filepath.Dir(o.Runtime), "odd.sock") })
	s := newStand(t, allowAll, change...)
	server := grpc.NewServer(grpc.UnknownServiceHandler(answer), grpc.ForceServerCodecV2(codec{}))
	listener := s.listen("odd.sock")
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return s
}

// answersOf returns the messages that a call is answered with.
func (s *stand) answersOf(path string, request []byte) ([][]byte, error) {
	s.t.Helper()
	if s.conns["a"] == nil {
		s.conns["a"] = s.dial("a")
	}
	stream, err := s.conns["a"].NewStream(s.t.Context(), downstream, path, grpc.ForceCodecV2(codec{}))
	if err != nil {
		return nil, err
	}
	if err := stream.SendMsg(framed(request)); err != nil {
		return nil, err
	}
	if err := stream.CloseSend(); err != nil {
		return nil, err
	}
	var out [][]byte
	for {
		answer := &frame{}
		if err := stream.RecvMsg(answer); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return out, err
		}
		out = append(out, answer.bytes())
	}
}

// Where rules ask nothing, all methods pass in both directions as their bytes are, though
// these are no messages of the API, and streams by as many messages as they have.
func TestBytesPassAsTheyCame(t *testing.T) {
	all := runtimerules.Methods()
	streaming := map[string]bool{}
	for _, method := range all {
		if method.Streams {
			streaming[method.Path] = true
		}
	}
	if len(all) != 43 || len(streaming) != 7 {
		t.Errorf("there are %d methods, %d of them streams", len(all), len(streaming))
	}
	s := runtimeOf(t, func(_ any, stream grpc.ServerStream) error {
		request := &frame{}
		if err := stream.RecvMsg(request); err != nil {
			return err
		}
		data := request.bytes()
		path, _ := grpc.MethodFromServerStream(stream)
		messages := 1
		if streaming[path] {
			messages = 3
		}
		for range messages {
			if err := stream.SendMsg(framed(append([]byte(path), data...))); err != nil {
				return err
			}
		}
		return nil
	})
	request := []byte("\xff\x00 what nobody can read \x07")
	for _, method := range all {
		want := [][]byte{append([]byte(method.Path), request...)}
		if method.Streams {
			want = append(want, want[0], want[0])
		}
		got, err := s.answersOf(method.Path, request)
		if err != nil {
			t.Errorf("%s: %v", method.Path, err)
		}
		if !bytes.Equal(bytes.Join(got, []byte("|")), bytes.Join(want, []byte("|"))) {
			t.Errorf("%s: answered %q, want %q", method.Path, got, want)
		}
	}
}

// A process of the node that does not read is waited for, by the runtime as well: nothing is
// kept in between but what fits into windows.
func TestBackPressure(t *testing.T) {
	const size, most = 64 << 10, 64
	var sent atomic.Int64
	s := runtimeOf(t, func(_ any, stream grpc.ServerStream) error {
		message := bytes.Repeat([]byte("x"), size)
		for {
			if err := stream.SendMsg(framed(message)); err != nil {
				return err
			}
			sent.Add(1)
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := s.dial("host").NewStream(ctx, downstream, services+"GetContainerEvents", grpc.ForceCodecV2(codec{}))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(stream.SendMsg(framed(nil)), stream.CloseSend()); err != nil {
		t.Fatal(err)
	}
	before := settled(t, &sent)
	if before > most {
		t.Errorf("the runtime has sent %d messages that nobody reads", before)
	}
	for range before + most {
		answer := &frame{}
		if err := stream.RecvMsg(answer); err != nil {
			t.Fatal(err)
		}
		answer.free()
	}
	if after := settled(t, &sent); after < before+most {
		t.Errorf("%d messages were read, and %d sent", before+most, after)
	}
}

// settled returns a number when it has stayed as it is for a while.
func settled(t *testing.T, number *atomic.Int64) int64 {
	t.Helper()
	const still = 300 * time.Millisecond
	deadline := time.Now().Add(30 * time.Second)
	last, since := number.Load(), time.Now()
	for tick := time.NewTicker(10 * time.Millisecond); ; <-tick.C {
		switch now := number.Load(); {
		case time.Now().After(deadline):
			t.Fatal("it never stays as it is")
		case now != last || now == 0:
			last, since = now, time.Now()
		case time.Since(since) > still:
			return now
		}
	}
}

// A call that fails has been made once, and its code is the runtime's: whether to try again
// is up to its client.
func TestNothingIsRetried(t *testing.T) {
	const method = services + "StopContainer"
	for _, code := range []codes.Code{codes.Unavailable, codes.ResourceExhausted, codes.Aborted, codes.DeadlineExceeded} {
		t.Run(code.String(), func(t *testing.T) {
			var calls atomic.Int64
			s := runtimeOf(t, func(_ any, stream grpc.ServerStream) error {
				// The names in audit lines are asked for by other calls.
				if path, _ := grpc.MethodFromServerStream(stream); path == method {
					calls.Add(1)
				}
				return status.Error(code, "not now")
			})
			_, err := s.answersOf(method, nil)
			wantCode(t, err, code)
			if !strings.Contains(status.Convert(err).Message(), "not now") || calls.Load() != 1 {
				t.Errorf("%v, after %d calls", err, calls.Load())
			}
		})
	}
}
