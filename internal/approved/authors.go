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
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"kausality.io/operator/internal/change"
)

const (
	// maxAuthors is how many authors a State keeps apart.
	maxAuthors = 128
	// maxPath is how long the text of a path is at most, in bytes, in a State and in
	// messages.
	maxPath = 256
	// mostShown is how many withheld changes are told apart for people.
	mostShown = 16
)

// gathered are authors whose paths are short and few enough to be kept: of longer paths,
// and of more, the fields further up stand for them.
func gathered(authors []Author) []Author { return summarize(authors, maxAuthors) }

// summarize cuts paths until there are no more of them than most, or each is that of a
// top-level field.
func summarize(authors []Author, most int) []Author {
	paths := make([]change.Path, len(authors))
	deepest := 0
	for i, a := range authors {
		// It was written from a path.
		paths[i], _ = change.ParsePath(a.Path)
		for len(paths[i]) > 1 && len(paths[i].String()) > maxPath {
			paths[i] = paths[i][:len(paths[i])-1]
		}
		deepest = max(deepest, len(paths[i]))
	}
	out := joined(authors, paths)
	for depth := deepest - 1; depth > 0 && len(out) > most; depth-- {
		for i, p := range paths {
			if len(p) > depth {
				paths[i] = outsideLists(p[:depth])
			}
		}
		out = joined(authors, paths)
	}
	return out
}

// outsideLists is the part of a path before the first list: an index says little
// without what follows it.
func outsideLists(p change.Path) change.Path {
	for i := range p {
		if p[:i+1].IsItem() {
			return p[:i]
		}
	}
	return p
}

// joined are the authors with these paths, the latest of each path.
func joined(authors []Author, paths []change.Path) []Author {
	out := make([]Author, 0, len(authors))
	for i, a := range authors {
		a.Path = paths[i].String()
		at := slices.IndexFunc(out, func(other Author) bool { return other.Path == a.Path })
		switch {
		case at < 0:
			out = append(out, a)
		case out[at].Generation <= a.Generation:
			out[at] = a
		}
	}
	return out
}

// Shown is a withheld change as people are told of it.
type Shown struct {
	Author
	// Digest identifies what the object holds there, and nothing else: an approval
	// that names it does not reach what came since.
	Digest string
}

// Summary is what of the withheld changes is shown: at most mostShown of them. What are
// more is a change of a field further up.
func (st *Standing) Summary() []Shown {
	withheld := st.Withheld()
	if len(withheld) == 0 {
		return nil
	}
	authors := make([]Author, 0, len(withheld))
	for _, d := range withheld {
		authors = append(authors, d.Author)
	}
	var out []Shown
	for _, a := range summarize(authors, mostShown) {
		// It was written from a path.
		path, _ := change.ParsePath(a.Path)
		out = append(out, Shown{Author: a, Digest: st.Digest(path)})
	}
	return out
}

// digestSize is how many bytes of the digest of an approval are kept. People copy it; who
// would find another content with the same may not approve it.
const digestSize = 6

// Digest identifies what the object holds at its withheld places that are at, below or
// above a path; no path is all of them.
func (st *Standing) Digest(path change.Path) string {
	var b strings.Builder
	b.WriteString(st.Object.UID)
	for _, d := range st.Withheld() {
		if overlap(path, d.Path) {
			b.WriteString("|" + d.Path.String() + "|" + string(d.Verb) + "|" + canonical(d.New))
		}
	}
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:digestSize])
}
