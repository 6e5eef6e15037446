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

package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
)

// Ledger is a sorted list of entries.
type Ledger []Entry

const (
	// MaxEntries is how many entries a ledger may have (D4).
	MaxEntries = 64
	// MaxBytes limits the length of an encoded ledger, in bytes (D4).
	MaxBytes = 32 * 1024
	// maxInput bounds what is parsed: an annotation cannot be longer than this.
	maxInput = 256 * 1024
)

// ErrTooLarge says that a ledger would exceed MaxEntries or MaxBytes.
var ErrTooLarge = errors.New("the ledger would exceed its bounds")

// Decode reads a ledger from an annotation. An empty text is an empty ledger. It
// accepts JSON and YAML, and keeps fields that it does not know. An error says
// that the text is not a ledger; the caller treats it as empty and reports it.
func Decode(text string) (Ledger, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	if len(text) > maxInput {
		return nil, fmt.Errorf("ledger of %d bytes: more than any annotation can hold", len(text))
	}
	raw := []byte(text)
	if !json.Valid(raw) {
		var err error
		if raw, err = yaml.YAMLToJSON(raw); err != nil {
			return nil, errors.New("ledger is neither JSON nor YAML")
		}
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, errors.New("ledger is not a list of allowances")
	}
	ledger := make(Ledger, 0, len(items))
	for i, item := range items {
		entry, err := decodeEntry(item)
		if err != nil {
			return nil, fmt.Errorf("ledger entry %d: %w", i, err)
		}
		ledger = append(ledger, entry)
	}
	return ledger.sorted(), nil
}

func decodeEntry(item json.RawMessage) (Entry, error) {
	var a v1alpha1.Allowance
	if trimmed := bytes.TrimSpace(item); len(trimmed) == 0 || trimmed[0] != '{' {
		return Entry{}, errors.New("not an allowance")
	}
	if err := json.Unmarshal(item, &a); err != nil {
		return Entry{}, errors.New("a field of the allowance has the wrong type")
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, item); err != nil {
		return Entry{}, errors.New("not JSON")
	}
	return Entry{Allowance: a, raw: compact.Bytes(), key: KeyOf(&a)}, nil
}

// Encode writes the ledger as the value of an annotation, one entry a line; an
// empty ledger is the empty text, which stands for no annotation at all.
func (l Ledger) Encode() string {
	if len(l) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("[\n")
	for i, e := range l {
		b.Write(e.raw)
		if i < len(l)-1 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteByte(']')
	return b.String()
}

// Check returns ErrTooLarge where the allowances of the ledger exceed its bounds. What it
// tells of withheld changes is bounded by those who write it: else who may not initiate
// could keep the grants of those who may out of it.
func (l Ledger) Check() error {
	l = l.Without(Entry.IsWithheld)
	if len(l) > MaxEntries {
		return fmt.Errorf("%w: %d entries, at most %d", ErrTooLarge, len(l), MaxEntries)
	}
	if n := l.size(); n > MaxBytes {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, n, MaxBytes)
	}
	return nil
}

// size returns the length of the encoded ledger, in bytes.
func (l Ledger) size() int {
	if len(l) == 0 {
		return 0
	}
	n := len("[\n") + len("]") + len(l)*len(",\n") - len(",")
	for _, e := range l {
		n += len(e.raw)
	}
	return n
}

// Allowances returns the plain allowances of the ledger, withheld changes included.
func (l Ledger) Allowances() []v1alpha1.Allowance {
	if len(l) == 0 {
		return nil
	}
	out := make([]v1alpha1.Allowance, 0, len(l))
	for _, e := range l {
		out = append(out, e.Allowance)
	}
	return out
}

// Initializing reports whether the ledger has an entry from the creation of its holder
// (D9). What that lets readers do is theirs, and lasts longer.
func (l Ledger) Initializing() bool {
	return slices.ContainsFunc(l, func(e Entry) bool { return e.IsCreation() && !e.IsForReaders() })
}

func (l Ledger) sorted() Ledger {
	slices.SortStableFunc(l, compare)
	return slices.CompactFunc(l, func(a, b Entry) bool { return bytes.Equal(a.raw, b.raw) })
}
