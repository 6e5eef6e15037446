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

package approved

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/sets"

	"kausality.io/operator/internal/change"
)

const (
	// MaxBytes limits the length of the text of a State, in bytes: with a full ledger that
	// is a quarter of what all annotations of an object may have.
	MaxBytes = 32 * 1024
	// maxUnpacked bounds what a text is unpacked to, in bytes, so that a short one
	// cannot cost hundreds of megabytes.
	maxUnpacked = 1 << 20
	// Format begins each text.
	Format = "v1:"
)

// State is what is kept of an object of which something is withheld.
type State struct {
	// Content is the approved content: all fields that count, and the metadata that
	// Metadata names. Of values that are too large only a fingerprint is in their place,
	// as a string with a prefix of its own.
	Content map[string]any `json:"content,omitempty"`
	// Unknown is true where nothing of the approved content is known.
	Unknown bool `json:"unknown,omitempty"`
	// Version is the apiVersion in which the object was compared, empty in States from before
	// that was kept.
	Version string `json:"version,omitempty"`
	// Metadata are the patterns of metadata that were compared.
	Metadata []string `json:"metadata,omitempty"`
	// Generation of the object when it was last compared, zero where it has none.
	Generation int64 `json:"generation,omitempty"`
	// Seen is the digest of what the object held then.
	Seen string `json:"seen"`
	// Withheld are the places at which it differed, and who made it so.
	Withheld []Author `json:"withheld,omitempty"`
	// Rested is the generation at which the object had settled with its approved content,
	// zero where that is not known.
	Rested int64 `json:"rested,omitempty"`
}

// Author is who changed a field, as far as that was seen. It is for messages only.
type Author struct {
	// Path of the field.
	Path string `json:"path"`
	// User who changed it last, empty where nobody has seen it.
	User string `json:"user,omitempty"`
	// Generation of the object then.
	Generation int64 `json:"generation,omitempty"`
}

// Decode reads the text of a State. No text is no State. A text that cannot be read
// gives a State of which nothing is known, along with the error: that approves nothing.
func Decode(text string) (*State, error) {
	if text == "" {
		return nil, nil
	}
	s, err := decode(text)
	if err != nil {
		return &State{Unknown: true}, fmt.Errorf("the approved content cannot be read: %w", err)
	}
	return s, nil
}

func decode(text string) (*State, error) {
	packed, ok := strings.CutPrefix(text, Format)
	if !ok || len(text) > MaxBytes {
		return nil, errors.New("its format is not known")
	}
	raw, err := base64.RawStdEncoding.DecodeString(packed)
	if err != nil {
		return nil, errors.New("it is not base64")
	}
	unpacked, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(raw)), maxUnpacked+1))
	if err != nil || len(unpacked) > maxUnpacked {
		return nil, errors.New("it cannot be unpacked")
	}
	var out struct {
		State
		// Content has numbers as the API machinery has them.
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(unpacked, &out); err != nil {
		return nil, errors.New("it is not JSON of a state")
	}
	if out.Content != nil {
		if err := utiljson.Unmarshal(out.Content, &out.State.Content); err != nil {
			return nil, errors.New("its content is no object")
		}
		sealsIn(out.State.Content)
	}
	return &out.State, nil
}

// sealings are the steps by which values are sealed until the text of a State is short
// enough: what is so many levels below a field and longer than a limit.
var sealings = []struct{ levels, limit int }{
	{1, 1 << 20}, {1, 1 << 18}, {1, 1 << 16}, {1, 1 << 14}, {1, 1 << 12}, {1, 1 << 10}, {1, 1 << 8},
	{1, worthSealing}, {0, worthSealing},
}

// Encode returns the text of a State, the same for the same State. Where it would be longer
// than MaxBytes, values are sealed until it is not, the longest first.
func (s *State) Encode(uid string) string {
	if s == nil {
		return ""
	}
	out := *s
	out.Content, _ = sealAlike(s.Content, uid).(map[string]any)
	text, ok := out.encode()
	kept := out.Content
	for _, each := range sealings {
		if ok {
			return text
		}
		out.Content = sealLonger(kept, each.levels, each.limit, uid)
		text, ok = out.encode()
	}
	if !ok {
		// The names of fields take the room.
		text, _ = (&State{Unknown: true, Version: s.Version, Generation: s.Generation, Seen: s.Seen}).encode()
	}
	return text
}

// isShort reports whether the text of a State is short enough whatever it says.
func (s *State) isShort() bool {
	return s == nil || len(s.raw()) < MaxBytes*2/3
}

func (s *State) raw() []byte {
	raw, err := json.Marshal(s)
	if err != nil {
		// It is made of what JSON was decoded to.
		panic("approved: a state that cannot be encoded: " + err.Error())
	}
	return raw
}

// packers are writers to use again: each takes most of a megabyte.
var packers = sync.Pool{New: func() any {
	w, err := flate.NewWriter(io.Discard, flate.BestCompression)
	if err != nil {
		panic("approved: no compression: " + err.Error())
	}
	return w
}}

// encode returns the text of a State as it is. The answer is false where it is too long.
func (s *State) encode() (text string, ok bool) {
	raw := s.raw()
	if len(raw) > maxUnpacked {
		return "", false
	}
	var packed bytes.Buffer
	w, _ := packers.Get().(*flate.Writer)
	defer packers.Put(w)
	w.Reset(&packed)
	_, err := w.Write(raw)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic("approved: a buffer that cannot be written: " + err.Error())
	}
	text = Format + base64.RawStdEncoding.EncodeToString(packed.Bytes())
	return text, len(text) <= MaxBytes
}

// Same reports whether two States say the same, whatever their texts.
func (s *State) Same(other *State) bool {
	if s == nil || other == nil {
		return s == other
	}
	return s.Unknown == other.Unknown && s.Version == other.Version && s.Generation == other.Generation && s.Seen == other.Seen && s.Rested == other.Rested && slices.Equal(s.Withheld, other.Withheld) &&
		slices.Equal(s.Metadata, other.Metadata) && digestOf(s.Content) == digestOf(other.Content)
}

// Saw reports whether the State was made of an object as it is. While no policy is in
// effect for an object nobody follows what becomes of it.
func (s *State) Saw(fields map[string]any) bool {
	return digestOf(content(fields, s.patterns())) == s.Seen
}

// isOf reports whether the content of the State can be compared with an object: both are of one version
// of the kind, or say the same in both. What another version has in the place of a value, nobody knows who
// has no conversion: neither what was approved, nor whether a value that is the same means the same.
func (s *State) isOf(o *Object) bool {
	return s.Version == "" || o.Version == "" || s.Version == o.Version || s.Saw(o.Fields)
}

// patterns parses Metadata.
func (s *State) patterns() []change.Pattern {
	var out []change.Pattern
	for _, text := range s.Metadata {
		if p, err := change.ParsePattern(text); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// texts returns the patterns in order, each once.
func texts(patterns []change.Pattern) []string {
	out := sets.New[string]()
	for _, p := range patterns {
		out.Insert(p.String())
	}
	if out.Len() == 0 {
		return nil
	}
	return sets.List(out)
}
