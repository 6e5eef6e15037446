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

// What is withheld may be carried out in part all the same: its policy only warned for a while, or was gone, or the
// operator was away. When it is taken back then, children are left that are not as approved, and nobody's change is
// the cause of leading them back. So it is remembered that the object had settled with its approved content, until
// it has settled with that again.

// Returns reports whether the object is as approved again, what was withheld having been taken back after its
// controllers may have acted upon it, and had settled so before.
func (st *Standing) Returns() bool { return st != nil && st.Rested > 0 && len(st.Differences) == 0 }

// Settle returns how the object compares once it has settled as approved: there is nothing to lead back.
func (st *Standing) Settle() *Standing {
	if !st.Returns() {
		return st
	}
	next := *st
	next.Rested = 0
	return &next
}

// Returns reports whether a State tells of an object what Standing.Returns does, and nothing else.
func (s *State) Returns() bool {
	return s != nil && s.Rested > 0 && !s.Unknown && s.Content == nil && len(s.Withheld) == 0
}

// returning compares an object with a State of which nothing was withheld: it is about the object as it was then.
func (st *Standing) returning(s *State) {
	if st.Rested = 0; s.isOf(&st.Object) && s.Saw(st.Object.Fields) {
		st.Rested, st.patterns = s.Rested, s.patterns()
	}
}

// restsAfter returns at which generation the object had settled with what is approved after a request: nothing that is
// approved changes by it. That a status is about an earlier generation does not tell that no controller has acted:
// *observed* of a Deployment, of which a ReplicaSet was made half a second before its status said so.
func (st *Standing) restsAfter(next *Standing) int64 {
	rested := st.Rested
	if rested == 0 && len(st.Differences) == 0 && len(next.Differences) > 0 && st.Object.Settled != nil && st.Object.Settled() {
		rested = st.Object.Generation
	}
	if rested == 0 || digestOf(st.approvedFor(next)) != digestOf(next.approvedFor(next)) {
		return 0
	}
	return rested
}

// approvedFor returns the approved content, where it is the same as another version of the object has it with the
// values of that.
func (st *Standing) approvedFor(next *Standing) map[string]any {
	of := st.content
	if of == nil {
		of = content(st.Object.Fields, next.patterns)
	}
	of, _ = unseal(of, next.all(), next.Object.UID, next.Object.Schema, nil).(map[string]any)
	return of
}
