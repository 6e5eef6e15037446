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
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
)

// frame is a message as it came. It owns a reference to its bytes, which sending gives
// away.
type frame struct {
	data mem.BufferSlice
}

// bytes returns the message's, in one piece. The frame has none thereafter.
func (f *frame) bytes() []byte {
	out := f.data.Materialize()
	f.free()
	return out
}

// whole returns the message's bytes in one piece, without a copy where they came so. They belong to
// the frame: nobody may change them, and they are gone when it is sent or freed.
func (f *frame) whole() []byte {
	if len(f.data) != 1 {
		one := f.data.MaterializeToBuffer(mem.DefaultBufferPool())
		f.data.Free()
		f.data = mem.BufferSlice{one}
	}
	return f.data[0].ReadOnlyData()
}

func (f *frame) free() {
	f.data.Free()
	f.data = nil
}

// framed returns a frame of bytes.
func framed(data []byte) *frame {
	return &frame{data: mem.BufferSlice{mem.SliceBuffer(data)}}
}

// codec passes messages on as they came.
type codec struct{}

var _ encoding.CodecV2 = codec{}

// Marshal implements encoding.CodecV2.
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	f, ok := v.(*frame)
	if !ok {
		return nil, fmt.Errorf("no message as it came: %T", v)
	}
	out := f.data
	f.data = nil
	return out, nil
}

// Unmarshal implements encoding.CodecV2.
func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	f, ok := v.(*frame)
	if !ok {
		return fmt.Errorf("no message as it came: %T", v)
	}
	data.Ref()
	f.data = data
	return nil
}

// Name implements encoding.CodecV2: it is what runtimes take messages for.
func (codec) Name() string { return "proto" }
