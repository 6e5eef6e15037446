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
	"encoding/binary"
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// raw is a client that writes HTTP/2 frames as it likes.
type raw struct {
	t       testing.TB
	conn    net.Conn
	framer  *http2.Framer
	headers *hpack.Encoder
	buffer  bytes.Buffer
	stream  uint32
}

// raw connects as Pod A.
func (s *stand) raw() *raw {
	s.t.Helper()
	conn, err := net.Dial("unix", filepath.Join(s.folder, "a.sock")) //nolint:noctx // it does not wait
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		s.t.Fatal(err)
	}
	r := &raw{t: s.t, conn: conn, framer: http2.NewFramer(conn, conn)}
	r.headers = hpack.NewEncoder(&r.buffer)
	r.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if _, err := conn.Write([]byte(http2.ClientPreface)); err != nil {
		s.t.Fatal(err)
	}
	if err := r.framer.WriteSettings(); err != nil {
		s.t.Fatal(err)
	}
	return r
}

// begin opens a stream.
func (r *raw) begin(path string, more ...string) {
	r.t.Helper()
	r.buffer.Reset()
	fields := append([]string{
		":method", "POST", ":scheme", "http", ":path", path, ":authority", "localhost",
		"content-type", "application/grpc", "te", "trailers",
	}, more...)
	for i := 0; i < len(fields); i += 2 {
		// Of a field that is given again, the last counts.
		again := false
		for j := i + 2; j < len(fields); j += 2 {
			again = again || fields[j] == fields[i]
		}
		if again {
			continue
		}
		if err := r.headers.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}); err != nil {
			r.t.Fatal(err)
		}
	}
	r.stream = 2*((r.stream+1)/2) + 1
	if err := r.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: r.stream, BlockFragment: r.buffer.Bytes(), EndHeaders: true}); err != nil {
		r.t.Fatal(err)
	}
}

// data sends bytes of the stream.
func (r *raw) data(bytes []byte, end bool) {
	r.t.Helper()
	if err := r.framer.WriteData(r.stream, end, bytes); err != nil {
		r.t.Fatal(err)
	}
}

// message returns a message as gRPC frames it, of a length that it claims to have.
func message(compressed byte, length int, data []byte) []byte {
	out := binary.BigEndian.AppendUint32([]byte{compressed}, uint32(length))
	return append(out, data...)
}

// answer returns the status that a stream ends with, in gRPC's or HTTP's numbers, or how else it
// ends.
func (r *raw) answer() string {
	r.t.Helper()
	for {
		frame, err := r.framer.ReadFrame()
		if err != nil {
			return "closed"
		}
		switch frame := frame.(type) {
		case *http2.MetaHeadersFrame:
			status := ""
			for _, field := range frame.Fields {
				switch field.Name {
				case "grpc-status":
					return "grpc " + field.Value
				case ":status":
					status = field.Value
				}
			}
			if frame.StreamEnded() {
				return "http " + status
			}
		case *http2.RSTStreamFrame:
			return fmt.Sprintf("reset %s", frame.ErrCode)
		case *http2.GoAwayFrame:
			return fmt.Sprintf("go away %s", frame.ErrCode)
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				if err := r.framer.WriteSettingsAck(); err != nil {
					return "closed"
				}
			}
		}
	}
}
