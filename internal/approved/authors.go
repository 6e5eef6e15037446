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
	// maxPath limits the length of the text of a path, in bytes, in a State and in
	// messages.
	maxPath = 256
	// mostShown is how many withheld changes are told apart for people.
	mostShown = 16
)

// claim is an author with the path, read.
type claim struct {
	Author
	path change.Path
	// removed is true of an item that only the approved content has: its index is that
	// which it has there.
	removed bool
	// inserted is true of what was not there before the request: nothing is missing by it.
	inserted bool
}

// claimsOf reads authors.
func claimsOf(authors []Author) []claim {
	out := make([]claim, 0, len(authors))
	for _, a := range authors {
		if path, err := change.ParsePath(a.Path); err == nil {
			out = append(out, claim{Author: a, path: path})
		}
	}
	return out
}

// claimsTo returns the authors of differences.
func claimsTo(differences []Difference) []claim {
	out := make([]claim, 0, len(differences))
	for _, d := range differences {
		out = append(out, claim{Author: d.Author, path: d.Path, removed: d.Verb == change.Delete && d.Path.IsItem()})
	}
	return out
}

// authorsOf returns the authors of claims.
func authorsOf(claims []claim) []Author {
	out := make([]Author, 0, len(claims))
	for _, c := range claims {
		out = append(out, c.Author)
	}
	return out
}

// authorNode stands for the claims whose paths begin with the segments on the way to it.
type authorNode struct {
	// here and below are the numbers of the first claims with that path, and below it;
	// none is -1.
	here, below int
	next        map[change.Segment]*authorNode
}

func newAuthorNode() *authorNode { return &authorNode{here: -1, below: -1} }

// authorsAt arranges claims by their paths.
func authorsAt(claims []claim) *authorNode {
	root := newAuthorNode()
	for number, c := range claims {
		root.add(number, c.path)
	}
	return root
}

// add adds the claim of a number, which is higher than those before.
func (n *authorNode) add(number int, path change.Path) {
	for _, s := range path {
		if n.below < 0 {
			n.below = number
		}
		if n.next == nil {
			n.next = map[change.Segment]*authorNode{}
		}
		if n.next[s] == nil {
			n.next[s] = newAuthorNode()
		}
		n = n.next[s]
	}
	if n.here < 0 {
		n.here = number
	}
}

// find returns the number of the first claim with a path, else of the first above or below
// it, -1 for none.
func (n *authorNode) find(path change.Path) int {
	found := -1
	for _, s := range path {
		found = first(found, n.here)
		if n = n.next[s]; n == nil {
			return found
		}
	}
	if n.here >= 0 {
		return n.here
	}
	return first(found, n.below)
}

// within returns the number of the first claim with a path, else of the first below it, -1 for
// none.
func (n *authorNode) within(path change.Path) int {
	for _, s := range path {
		if n = n.next[s]; n == nil {
			return -1
		}
	}
	if n.here >= 0 {
		return n.here
	}
	return n.below
}

// authors finds who made a difference.
type authors struct {
	claims []claim
	// all has every claim, those of a request that is under way first; inside and removed have
	// only these, apart, as the index of an item that was taken out says nothing of other items.
	all, inside, removed *authorNode
	// earlier has only the claims of before.
	earlier *authorNode
}

func newAuthors(latest, before []claim) *authors {
	a := &authors{claims: slices.Concat(latest, before), inside: newAuthorNode(), removed: newAuthorNode(), earlier: newAuthorNode()}
	a.all = authorsAt(a.claims)
	for number := range before {
		a.earlier.add(len(latest)+number, before[number].path)
	}
	for number := range latest {
		if latest[number].removed {
			a.removed.add(number, latest[number].path)
		} else {
			a.inside.add(number, latest[number].path)
		}
	}
	return a
}

// of returns the author of a difference, and false where nobody claims it. Who has changed something
// of what differs, in a request that is under way, is its author, even if somebody else made it
// differ as a whole.
func (a *authors) of(c change.Change) (Author, bool) {
	latest := a.inside
	if c.Verb == change.Delete && c.Path.IsItem() {
		latest = a.removed
	}
	number := latest.within(c.Path)
	if number < 0 {
		number = a.all.find(c.Path)
	}
	if number < 0 {
		return Author{}, false
	}
	// Who puts back a part of what somebody else has taken out is not who took out the rest.
	if c.Verb == change.Delete && a.claims[number].inserted {
		if other := a.earlier.find(c.Path); other >= 0 {
			number = other
		}
	}
	return a.claims[number].Author, true
}

// first returns the lower one of two numbers that are not negative.
func first(a, b int) int {
	if a < 0 || b >= 0 && b < a {
		return b
	}
	return a
}

// gathered returns claims whose paths are short and few enough to be kept: of longer paths,
// and of more, the fields further up stand for them.
func gathered(claims []claim) []claim { return summarize(claims, maxAuthors) }

// summarize cuts paths until there are no more of them than most, or each is that of a
// top-level field.
func summarize(claims []claim, most int) []claim {
	short := slices.Clone(claims)
	deepest := 1
	for i := range short {
		short[i].path = shortened(short[i].path)
		deepest = max(deepest, len(short[i].path))
	}
	out := joined(short, deepest)
	if len(out) <= most || deepest == 1 {
		return out
	}
	// The further up they are cut, the fewer there are.
	low, high := 1, deepest-1
	for low < high {
		if middle := (low + high + 1) / 2; len(joined(short, middle)) <= most {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return joined(short, low)
}

// shortened returns a path whose text has no more than maxPath bytes, or one segment.
func shortened(p change.Path) change.Path {
	size := 0
	for i, s := range p {
		// At the least.
		if size += len(s.Field); size > maxPath {
			p = p[:max(i, 1)]
			break
		}
	}
	for len(p) > 1 && len(p.String()) > maxPath {
		p = p[:len(p)-1]
	}
	return p
}

// joined returns the claims with their paths cut to a depth, the latest of each path.
func joined(claims []claim, depth int) []claim {
	out := make([]claim, 0, len(claims))
	index := map[string]int{}
	for _, c := range claims {
		if len(c.path) > depth {
			c.path, c.removed = outsideLists(c.path[:depth]), false
		}
		c.Path = c.path.String()
		at, known := index[c.Path]
		switch {
		case !known:
			index[c.Path] = len(out)
			out = append(out, c)
		case out[at].Generation <= c.Generation:
			out[at] = c
		}
	}
	return out
}

// outsideLists returns the part of a path before the first list: an index says little
// without what follows it.
func outsideLists(p change.Path) change.Path {
	for i := range p {
		if p[:i+1].IsItem() {
			return p[:i]
		}
	}
	return p
}

// Shown is a withheld change as people are told of it.
type Shown struct {
	Author
	// Digest identifies what the object holds there, and nothing else: an approval
	// that names it does not reach what came since.
	Digest string
}

// Summary returns what of the withheld changes is shown: at most mostShown of them. What are
// more is a change of a field further up.
func (st *Standing) Summary() []Shown {
	withheld := st.Withheld()
	return st.summary(withheld, withheld)
}

// summary tells of differences, with digests of all that is held at some.
func (st *Standing) summary(of, held []Difference) []Shown {
	if len(of) == 0 {
		return nil
	}
	var out []Shown
	for _, c := range summarize(claimsTo(of), mostShown) {
		out = append(out, Shown{Author: c.Author, Digest: st.digest(c.path, held)})
	}
	return out
}

// digestSize is how many bytes of the digest of an approval are kept. People copy it; who
// would find another content with the same may not approve it.
const digestSize = 6

// DigestLength is how many hexadecimal digits these are.
const DigestLength = 2 * digestSize

// Digest identifies what the object holds at its withheld places that are at, below or
// above a path; no path is all of them.
func (st *Standing) Digest(path change.Path) string { return st.digest(path, st.Withheld()) }

func (st *Standing) digest(path change.Path, differences []Difference) string {
	var b strings.Builder
	b.WriteString(st.Object.UID)
	for _, d := range differences {
		if path.Overlaps(d.Path) {
			b.WriteString("|" + d.Path.String() + "|" + string(d.Verb) + "|" + canonical(d.New))
		}
	}
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:digestSize])
}
