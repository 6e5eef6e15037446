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

package admission

import (
	"maps"
	"slices"
	"strings"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/ledger"
)

// ownAnnotations are the annotations that the object of a request is to have. What is
// under keys of other objects stays where a controller puts it.
type ownAnnotations struct {
	// old, have and want are those before the request, as it has them, and as they become.
	old, have, want map[string]string
	// was and now are the object's prefix before the request and by it: it is another one
	// where the object gets its first owner, or loses the last.
	was, now string
	// byController is true where a controller asks, which may have copied what the request
	// brings, and brings it again.
	byController bool
	// ofClaim is true where they are those of a claim: what is put back costs Crossplane no
	// write.
	ofClaim bool
}

func (r *request) ownAnnotations(f *facts, have map[string]string) *ownAnnotations {
	o := &ownAnnotations{have: have, want: maps.Clone(have), now: ledger.AnnotationPrefix(r.new)}
	if o.want == nil {
		o.want = map[string]string{}
	}
	o.was = o.now
	if r.old != nil {
		o.old, o.was = r.old.GetAnnotations(), ledger.AnnotationPrefix(r.old)
	}
	o.byController = f.Requester.IsController() && !f.mayApprove()
	o.ofClaim = f.copied()
	return o
}

// leavePrefix takes away what was the object's own until the request gave it another
// prefix, under which it goes on.
func (o *ownAnnotations) leavePrefix() {
	if o.was == o.now {
		return
	}
	for _, name := range append([]string{ledger.NameAllowances, ledger.NameApproved, ledger.NameApprove, ledger.NameBreakGlass}, marks...) {
		delete(o.want, o.was+name)
	}
}

// dropForeign takes away what somebody brings that is another object's, and no controller:
// "kubectl rollout undo" copies the annotations of a ReplicaSet onto its Deployment,
// from where the Deployment controller would copy what was the ReplicaSet's back to it, over
// what is its own now.
func (o *ownAnnotations) dropForeign() {
	if o.byController {
		return
	}
	for key, value := range o.have {
		name, isOurs := ledger.NameOf(key)
		isCommand := name == ledger.NameApprove || name == ledger.NameBreakGlass
		before, had := o.old[key]
		if isOurs && !strings.HasPrefix(key, o.now) && !hasOneKey(key) && (!had || before != value || isCommand) {
			delete(o.want, key)
		}
	}
}

// dropMeaningless takes away what somebody brings under a key that means nothing, as what protects annotations inside
// the API server does: they are told of it.
func (o *ownAnnotations) dropMeaningless() {
	if o.byController {
		return
	}
	for key, value := range o.have {
		if before, had := o.old[key]; isMeaningless(key) && (!had || before != value) {
			delete(o.want, key)
		}
	}
}

// hasOneKey reports whether an annotation has the same key whatever the owner of its object: what is said
// about a gate, who changed the object, and by which requests.
func hasOneKey(key string) bool {
	return slices.Contains(generate.NoteKeys(), key) || key == v1alpha1.AnnotationOrphan || key == v1alpha1.AnnotationReleaseGate || slices.Contains(gate.StateKeys(), key)
}

// takeCommands takes away what asks for something, which counts only in the request that
// sets it; a reason to break the glass by a deletion waits for that.
func (o *ownAnnotations) takeCommands(keepsBreakGlass bool) {
	delete(o.want, o.now+ledger.NameApprove)
	delete(o.want, o.now+ledger.NameDropped)
	key := o.now + ledger.NameBreakGlass
	if reason := o.have[key]; !keepsBreakGlass && (reason != o.old[key] || !forDeletion(reason) && !forStatus(reason)) {
		delete(o.want, key)
	}
}

// restoreMarks leaves the marks as they were.
func (o *ownAnnotations) restoreMarks() {
	for _, name := range marks {
		o.set(name, o.old[o.was+name])
	}
}

// set gives the object one of its own annotations, or takes it away where the text is
// empty.
func (o *ownAnnotations) set(name, text string) {
	key := o.now + name
	switch {
	case text != "" || o.leavesBlank(key):
		o.want[key] = text
	default:
		delete(o.want, key)
	}
}

// leavesBlank reports whether an annotation that says nothing stays, without a value. A
// controller that copies annotations both ways copies an object's own back to it, some
// time later. An empty one it copies in its turn, and is content; but of none it
// makes one again, and again.
func (o *ownAnnotations) leavesBlank(key string) bool {
	said, brought := o.have[key]
	before, had := o.old[key]
	switch {
	case !brought || o.was != o.now:
		return false
	case had && before == "":
		return true
	default:
		return o.byController && !o.ofClaim && (!had || said != before)
	}
}
