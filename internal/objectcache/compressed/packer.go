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
	"sync"

	"github.com/klauspost/compress/s2"
)

// Packer packs and unpacks the objects of one kind. These are much alike, so that the
// first one serves as a dictionary for the others. It is safe for concurrent use.
type Packer[T any] struct {
	// content is what is encoded of an object, and decoded into.
	content func(*T) any
	// recent has what is read many times in a moment unpacked once.
	recent recent[T]

	once sync.Once
	dict *s2.Dict
}

// NewPacker makes a Packer. content is what is to be encoded of an object in JSON, and
// what is decoded into: the object itself, or a pointer to what is in it.
func NewPacker[T any](content func(*T) any) *Packer[T] {
	return &Packer[T]{content: content}
}

func (p *Packer[T]) compress(text []byte) []byte {
	p.once.Do(func() { p.dict = s2.MakeDict(bytes.Clone(text), nil) })
	var buffer []byte
	if pooled, ok := buffers.Get().(*[]byte); ok {
		defer buffers.Put(pooled)
		*pooled = growTo(*pooled, s2.MaxEncodedLen(len(text)))
		buffer = *pooled
	}
	if p.dict == nil { // There was too little in the first one.
		return bytes.Clone(s2.Encode(buffer, text))
	}
	return bytes.Clone(p.dict.Encode(buffer, text))
}

func (p *Packer[T]) unpack(packed []byte) ([]byte, error) {
	if p.dict == nil {
		return s2.Decode(nil, packed)
	}
	return p.dict.Decode(nil, packed)
}

// buffers are compressed into: what comes of it is shorter than what has to be there
// for it.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

func growTo(buffer []byte, length int) []byte {
	if cap(buffer) < length {
		return make([]byte, length)
	}
	return buffer[:length]
}
