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
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/policy"
)

// isTrue is the value of annotations that ask for something.
const isTrue = "true"

// gatedAsChild returns the parent because of which policies gate the object, nil where they gate it
// on its own, or do not: chain is that of the parent. Of a request that takes the parent away it is that one.
func (f *facts) gatedAsChild(r *request, chain []policy.Holder) *gate.Parent {
	if f.ParentState != decision.ParentFound || len(chain) == 0 {
		return nil
	}
	parent := gate.ParentOf(types.UID(f.Parent.UID), chain)
	if !slices.ContainsFunc(f.gate.standing.Denying, func(p *policy.Policy) bool { return parent.Gates(p, r.gvk.GroupKind()) }) {
		return nil
	}
	return parent
}

// hasLostParent reports whether the object had lost the parent because of which it was gated before the request.
func (g *Gatherer) hasLostParent(ctx context.Context, r *request, f *facts, state gate.State) bool {
	if state.Parent == nil {
		return false
	}
	return state.HasLostParent(ancestry.ParentUID(ctx, g.Objects, f.index, r.old))
}

// mayRelease reports whether the requester may free an object of the gate that it has kept since it lost
// its parent: who may initiate on the object, on the kind of that parent, or on one above it. What the policies
// select cannot be told any more; else the gate would stay for ever.
func (f *facts) mayRelease(r *request) bool {
	return f.gate != nil && f.gate.lost && (policy.MayInitiate(r.requester, f.OwnPolicies) ||
		slices.ContainsFunc(f.index.Policies(), func(p *policy.Policy) bool { return f.gate.state.Parent.IsAbove(p) && p.MayInitiate(r.requester) }))
}

// asksToRelease reports whether the request sets the annotation for that.
func (r *request) asksToRelease() bool {
	return r.new != nil && annotation(r.new, v1alpha1.AnnotationReleaseGate) == isTrue && r.stored(v1alpha1.AnnotationReleaseGate) != isTrue
}

// releases reports whether the request frees the object of the gate that it has kept. Where another webhook has
// our mutating one asked again, the object says that it does.
func (o *outcome) releases(r *request) bool {
	return o.mayRelease(r) && (r.asksToRelease() || o.isSetAgain(r) && gate.ReadState(r.new.GetAnnotations()).Parent == nil)
}

// releaseWarning tells the requester what has come of asking for that; empty where nobody has.
func (o *outcome) releaseWarning(r *request) string {
	said := annotation(r.new, v1alpha1.AnnotationReleaseGate)
	if said == "" || said == r.stored(v1alpha1.AnnotationReleaseGate) {
		return ""
	}
	object := objectText(r.gvk.Kind, r.objectName())
	switch {
	case said != isTrue:
		return fmt.Sprintf("kausality: %s of %s did nothing: no value but %q counts", v1alpha1.AnnotationReleaseGate, object, isTrue)
	case !o.gate.lost:
		return fmt.Sprintf("kausality: %s of %s did nothing: that is for what has kept its gate since it lost its parent; the gates of others go with their policies",
			v1alpha1.AnnotationReleaseGate, object)
	case !o.mayRelease(r):
		return fmt.Sprintf("kausality: %s of %s did nothing: it is for who may initiate on it, or on its former parent or above that", v1alpha1.AnnotationReleaseGate, object)
	default:
		return fmt.Sprintf("kausality: the gate of %s goes; %s does outside again what the object says", object, o.gate.System())
	}
}
