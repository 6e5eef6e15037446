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
	"slices"
	"sync"

	"kausality.io/operator/internal/change"
)

// Difference is one place at which an object differs from its approved content.
type Difference struct {
	// Change leads from the approved content to the object. A removed item of a list
	// has the index that it has in the approved content.
	change.Change
	// Author is who made it so; its Path is that of the Change.
	Author Author
	// Counts is true where a rule in effect is about it, so that it is withheld. What
	// a rule was about that is not in effect now waits.
	Counts bool
}

// Standing is how an object compares with its approved content.
type Standing struct {
	// Object that was compared.
	Object Object
	// Differences in order of their paths, those that wait included.
	Differences []Difference
	// Rested is the generation at which the object had settled with its approved content, before
	// something of it was withheld; zero where that is not known (Returns).
	Rested int64

	content  map[string]any
	patterns []change.Pattern
}

// Pending is what is known of an object besides its annotation: a request whose answer
// could not carry it (D11).
type Pending struct {
	// Cleared are places that are approved as they are.
	Cleared []change.Path
	// Withheld are places that are not.
	Withheld []Mark
}

// Mark is a withheld change of which the approved value is not kept.
type Mark struct {
	// Author has its path.
	Author Author
	// Value is the approved value, nil where it is not known.
	Value any
	// Print is its fingerprint where Value is nil, empty where there was none.
	Print string
	// Unknown is true where not even that is known.
	Unknown bool
}

// Print returns the fingerprint of a value of an object, empty for none: for a Mark.
func Print(uid string, v any) string {
	if v == nil {
		return ""
	}
	return fingerprint(uid, v)
}

// Now compares an object with what is kept of it. Without a State, and with nothing
// pending, an object is as approved.
//
// What a State does not tell of, an object of the same generation got from the API
// server: new defaults. Of an object of another generation it is a change that nobody has
// seen. Of an object in another version of its kind, as policies are moved to the next one,
// nothing is known of what was approved, unless it says the same there: what was withheld is
// still there, and in whatever field.
func Now(s *State, pending Pending, o Object) *Standing {
	st := &Standing{Object: o}
	switch {
	case s.Returns():
		st.returning(s)
	case s != nil:
		st.compare(s, &pending)
	}
	if marks := st.unseen(pending.Withheld); len(marks) > 0 {
		st.mark(marks)
	}
	return st
}

// unseen filters marks to those at, above and below which nothing differs yet.
func (st *Standing) unseen(marks []Mark) []Mark {
	return slices.DeleteFunc(slices.Clone(marks), func(m Mark) bool {
		path, err := change.ParsePath(m.Author.Path)
		return err != nil || st.Differs(path)
	})
}

// Resumed compares an object, of which nobody has followed what became of it for a while, with what was
// kept of it before. What was withheld then is so still, until it is approved or put back; what
// differs elsewhere was changed meanwhile, and is approved as it is. Items of lists have moved
// meanwhile, as far as anybody knows: of a list in which something was withheld all that differs is.
//
// Where nothing is known of what was approved, nobody can tell the two apart, and all is withheld.
// A State of a later generation than the object has is another object's.
func Resumed(s *State, o Object) *Standing {
	st := &Standing{Object: o}
	if s == nil || s.Generation > o.Generation && !s.Saw(o.Fields) {
		return st
	}
	if s.Returns() {
		st.returning(s)
		return st
	}
	isUnknown, claims := st.recall(s), claimsOf(s.Withheld)
	st.find(nil, claims)
	st.keep(func(d Difference) bool {
		return isUnknown || slices.ContainsFunc(claims, func(c claim) bool { return outsideLists(c.path).Overlaps(d.Path) })
	})
	return st.fitted()
}

// compare finds the differences from what a State has.
func (st *Standing) compare(s *State, pending *Pending) {
	o, isUnknown := &st.Object, st.recall(s)
	saw := sync.OnceValue(func() bool { return s.Saw(o.Fields) }) // It takes a digest of the object.
	served := o.Generation > 0 && o.Generation == s.Generation && !saw()
	claims := claimsOf(s.Withheld)
	st.find(pending.claimsAfter(s), claims)
	st.keep(func(d Difference) bool {
		if slices.ContainsFunc(pending.Cleared, func(p change.Path) bool { return change.Pattern(p).Covers(d.Path) }) {
			return false
		}
		// Defaults do not change metadata.
		return isUnknown || d.Author.Path != "" || d.Counts && (!served || d.Path.IsMetadata()) || !served && o.hasWaiting(claims, d.Path) && !saw()
	})
}

// recall takes the approved content from a State, and reports whether nothing is known of it.
func (st *Standing) recall(s *State) (isUnknown bool) {
	o, before := &st.Object, s.patterns()
	st.Rested = s.Rested
	st.patterns = both(before, o.Metadata)
	now := st.all()
	isUnknown = s.Unknown || !s.isOf(o)
	switch {
	case isUnknown:
		st.content = unknown(now)
	case s.Content == nil:
		st.content = map[string]any{}
	default:
		st.content = s.Content
	}
	if len(before) < len(st.patterns) {
		st.content = change.Merge(st.content, content(o.Fields, before), now, o.Schema, nil)
	}
	st.unseal(now)
	return isUnknown
}

// claimsAfter returns the claims of those who made what is withheld since a State was written.
func (p *Pending) claimsAfter(s *State) []claim {
	var later []Author
	for _, m := range p.Withheld {
		if m.Author.User != "" && m.Author.Generation > s.Generation {
			later = append(later, m.Author)
		}
	}
	return claimsOf(later)
}

// mark makes places differ of which the approved value is not known.
func (st *Standing) mark(marks []Mark) {
	if st.content == nil {
		st.patterns = st.Object.Metadata
		st.content = st.all()
	}
	claims := claimsTo(st.Differences)
	places := make([]markedPlace, 0, len(marks))
	for _, m := range marks {
		path, err := change.ParsePath(m.Author.Path)
		if err != nil {
			continue
		}
		claims = append(claims, claim{Author: m.Author, path: path})
		// An item that the approved content does not have differs already.
		if at, there := change.Follow(path, st.all(), st.content, st.Object.Schema); there {
			places = append(places, markedPlace{m, at})
		}
	}
	// What is taken out of a list moves what is behind it.
	slices.SortStableFunc(places, func(a, b markedPlace) int { return b.path.Compare(a.path) })
	approved, _ := clone(st.content).(map[string]any)
	for _, m := range places {
		m.sealIn(approved)
	}
	st.content = approved
	st.unseal(st.all())
	st.find(nil, claims)
	st.keep(func(d Difference) bool { return d.Author.Path != "" })
}

// markedPlace is a Mark with the place that it has in the approved content.
type markedPlace struct {
	Mark
	path change.Path
}

// sealIn puts the value before the change, or a seal for it, into content. An item of a
// list is told from others by what is in it: one that is not known itself makes all of
// the list unknown.
func (m *markedPlace) sealIn(content map[string]any) {
	path, value := m.path, m.Value
	switch {
	case value != nil:
	case m.Unknown:
		value = seal("")
	case m.Print == "":
		path.Remove(content)
		return
	default:
		value = seal(m.Print)
	}
	for path.IsItem() && m.Value == nil {
		path, value = path[:len(path)-1], seal("")
	}
	// Where there is no room for it, nothing is known of what is above.
	for len(path) > 0 && path.Set(content, value) != nil {
		path, value = path[:len(path)-1], seal("")
	}
}

// Request is one change of an object.
type Request struct {
	// New is the object after it.
	New Object
	// User who makes it.
	User string
	// Uncaused are its changes, as Find reports them, or parts of these, that nobody with
	// the right to them has made. All others are approved, also where no rule in effect is
	// about what differs at their places (DiffersAt).
	Uncaused []change.Change
	// Following are changes that come of what is withheld already, and are withheld with it.
	Following []change.Change
	// Apart are the paths of maps that were removed by a user who has a right to some of their
	// fields only: the approved content loses the fields that the object had, and no others.
	Apart []change.Path
	// Approves reports whether it approves a difference that is there after it; nil
	// where it approves none.
	Approves func(Difference) bool
}

// After returns how the object compares with its approved content after a request.
func (st *Standing) After(r Request) *Standing {
	next := &Standing{Object: r.New}
	if st.content == nil && len(r.Uncaused) == 0 {
		if st.Rested > 0 {
			next.patterns = st.patterns
			next.Rested = st.restsAfter(next)
		}
		return next
	}
	ours := st.content
	if next.patterns = st.patterns; ours == nil {
		next.patterns = r.New.Metadata
		ours = content(st.Object.Fields, next.patterns)
	}
	base := content(st.Object.Fields, next.patterns)
	next.content = change.Merge(ours, base, next.all(), r.New.Schema, slices.Concat(r.Uncaused, r.Following, st.besideItems(&r, next.patterns)), r.Apart...)
	next.unseal(next.all())

	claims := st.claimsBy(&r, next)
	next.find(claims, st.moved(ours, next))
	next.name(Author{User: r.User, Generation: r.New.Generation}, func(d Difference) bool {
		return slices.ContainsFunc(r.Following, func(c change.Change) bool { return c.Path.Overlaps(d.Path) })
	})
	// What else differs is at another place than it was, and nobody knows who made it so,
	// unless who makes the request has made it, or one alone has made what differed in a list.
	author := Author{Generation: r.New.Generation}
	if len(claims) > 0 {
		author.User = r.User
	} else {
		next.nameInLists(st.Differences)
	}
	next.name(author, everywhere)
	next.Rested = st.restsAfter(next)
	if r.Approves != nil {
		return next.Approve(r.Approves)
	}
	return next.fitted()
}

// besideItems returns the changes of a request that no rule is about in lists without keys of which something is withheld:
// there a place is an index, and what is put back has another one. To follow them would have approved content with
// items that nobody has made.
func (st *Standing) besideItems(r *Request, patterns []change.Pattern) []change.Change {
	var lists []change.Path
	for _, c := range r.Uncaused {
		in := r.New.Fields
		if c.Verb == change.Delete && c.Path.IsItem() {
			in = st.Object.Fields // It has the index of before the request.
		}
		if list, ok := change.Unkeyed(c.Path, in, r.New.Schema); ok && !slices.ContainsFunc(lists, func(l change.Path) bool { return l.Compare(list) == 0 }) {
			lists = append(lists, list)
		}
	}
	if len(lists) == 0 {
		return nil
	}
	return slices.DeleteFunc(r.New.find(content(st.Object.Fields, patterns), patterns), func(c change.Change) bool {
		return r.New.Triggers(c) || !slices.ContainsFunc(lists, func(l change.Path) bool { return change.Pattern(l).Covers(c.Path) })
	})
}

// claimsBy returns the claims of who makes a request to what it changes without a cause. An item that it takes
// out of a list has the index that it has in the approved content, and the list is another one by it.
func (st *Standing) claimsBy(r *Request, next *Standing) []claim {
	author := Author{User: r.User, Generation: r.New.Generation}
	var claims []claim
	for _, c := range byPath(r.Uncaused) {
		if c.Verb != change.Delete || !c.Path.IsItem() {
			claims = append(claims, claim{Author: author, path: c.Path, inserted: c.Verb == change.Insert})
			continue
		}
		if at, ok := change.Follow(c.Path, st.Object.Fields, next.content, r.New.Schema); ok {
			claims = append(claims, claim{Author: author, path: at, removed: true})
		}
		if list, ok := change.Follow(c.Path[:len(c.Path)-1], st.Object.Fields, r.New.Fields, r.New.Schema); ok {
			claims = append(claims, claim{Author: author, path: list})
		}
	}
	return claims
}

// byPath returns changes in the order in which Find reports them: of claims to one place the first is told.
func byPath(changes []change.Change) []change.Change {
	return slices.SortedStableFunc(slices.Values(changes), change.Change.Compare)
}

// moved returns the authors of the differences, at the places where the next version of the
// object has them. content is that which was approved.
func (st *Standing) moved(content map[string]any, next *Standing) []claim {
	claims := claimsTo(st.Differences)
	if len(claims) > maxAuthors {
		claims = gathered(claims)
	}
	for i, c := range claims {
		from, to := st.Object.Fields, next.Object.Fields
		if c.removed {
			from, to = content, next.content
		}
		if path, ok := change.Follow(c.path, from, to, next.Object.Schema); ok {
			claims[i].path = path
		}
	}
	return claims
}

// find finds the differences, and the authors of those that one of the claims is about: who has
// just changed what differs there, or something in it, and else who did before.
func (st *Standing) find(latest, before []claim) {
	found := st.Object.find(st.content, st.patterns)
	authors := newAuthors(latest, before)
	st.Differences = make([]Difference, 0, len(found))
	for _, c := range found {
		d := Difference{Change: c, Counts: st.Object.counts(c)}
		if author, ok := authors.of(c); ok {
			d.Author = author
			d.Author.Path = c.Path.String()
		}
		st.Differences = append(st.Differences, d)
	}
}

// nameInLists names, of those differences that have no author, the authors of what was in the same list before, where
// all of that was one user's: items have other indices when others come or go.
func (st *Standing) nameInLists(before []Difference) {
	type one struct {
		Author
		alone bool
	}
	lists := map[string]one{}
	for _, d := range before {
		list := outsideLists(d.Path).String()
		known, there := lists[list]
		alone := !there || known.alone && known.User == d.Author.User
		if known.Generation <= d.Author.Generation {
			known.Author = d.Author
		}
		lists[list] = one{known.Author, alone}
	}
	for i := range st.Differences {
		d := &st.Differences[i]
		list := outsideLists(d.Path)
		if known := lists[list.String()]; d.Author.Path == "" && len(list) < len(d.Path) && known.alone {
			d.Author = Author{Path: d.Path.String(), User: known.User, Generation: known.Generation}
		}
	}
}

// name makes somebody the author of those differences that have none.
func (st *Standing) name(author Author, those func(Difference) bool) {
	for i := range st.Differences {
		if d := &st.Differences[i]; d.Author.Path == "" && those(*d) {
			d.Author = author
			d.Author.Path = d.Path.String()
		}
	}
}

func everywhere(Difference) bool { return true }

// keep leaves the differences that stay, and approves the others.
func (st *Standing) keep(stays func(Difference) bool) {
	var except []change.Change
	var kept []Difference
	for _, d := range st.Differences {
		if stays(d) {
			except = append(except, d.Change)
			kept = append(kept, d)
		}
	}
	if len(kept) < len(st.Differences) {
		st.Rested = 0 // Another content is approved.
		st.content = change.Merge(st.content, st.content, st.all(), st.Object.Schema, except)
		st.find(nil, claimsTo(kept))
	}
	st.name(Author{}, everywhere)
}

// unseal opens sealed values that the object holds.
func (st *Standing) unseal(now map[string]any) {
	st.content, _ = unseal(st.content, now, st.Object.UID, st.Object.Schema, nil).(map[string]any)
}

// all returns everything of the object that can be approved.
func (st *Standing) all() map[string]any { return content(st.Object.Fields, st.patterns) }

// Content returns the approved content of the object. It is shared and must not be modified.
func (st *Standing) Content() map[string]any {
	if st.content == nil {
		return content(st.Object.Fields, st.Object.Metadata)
	}
	return st.content
}

// Withheld returns the differences that count.
func (st *Standing) Withheld() []Difference {
	var out []Difference
	for _, d := range st.Differences {
		if d.Counts {
			out = append(out, d)
		}
	}
	return out
}

// Withholds reports whether a difference that counts is at a path, above or below it.
func (st *Standing) Withholds(path change.Path) bool {
	return slices.ContainsFunc(st.Differences, func(d Difference) bool { return d.Counts && d.Path.Overlaps(path) })
}

// Differs reports whether a difference is at a path, above or below it, whether it counts or waits for a rule.
func (st *Standing) Differs(path change.Path) bool {
	return slices.ContainsFunc(st.Differences, func(d Difference) bool { return d.Path.Overlaps(path) })
}

// Approve returns how the object compares once the differences are approved for which
// approves holds.
func (st *Standing) Approve(approves func(Difference) bool) *Standing {
	if len(st.Differences) == 0 {
		return st
	}
	next := *st
	next.keep(func(d Difference) bool { return !approves(d) })
	return next.fitted()
}

// fitted returns how the object compares with as much of the approved content as can be kept:
// people are told what whoever looks next finds.
func (st *Standing) fitted() *Standing {
	s := st.State()
	if s.isShort() {
		return st
	}
	// A text of ours can be read.
	kept, _ := Decode(s.Encode(st.Object.UID))
	return Now(kept, Pending{}, st.Object)
}

// State returns what is to be kept of the object, nil for nothing.
func (st *Standing) State() *State {
	switch {
	case st.Returns():
		return &State{
			Version: st.Object.Version, Metadata: texts(st.patterns), Generation: st.Object.Generation, Seen: digestOf(st.all()), Rested: st.Rested,
		}
	case len(st.Differences) == 0:
		return nil
	}
	return &State{
		Content:    st.content,
		Version:    st.Object.Version,
		Metadata:   texts(st.patterns),
		Generation: st.Object.Generation,
		Seen:       digestOf(st.all()),
		Withheld:   authorsOf(gathered(claimsTo(st.Differences))),
		Rested:     st.Rested,
	}
}

// both returns the patterns of two lists, each once.
func both(a, b []change.Pattern) []change.Pattern {
	out := slices.Clone(a)
	for _, p := range b {
		if !slices.ContainsFunc(out, func(q change.Pattern) bool { return slices.Equal(p, q) }) {
			out = append(out, p)
		}
	}
	return out
}
