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

package decision

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/ledger"
)

const templatePrefix = "spec.template."

var (
	podKind         = schema.GroupKind{Kind: "Pod"}
	statefulSetKind = schema.GroupKind{Group: "apps", Kind: "StatefulSet"}
)

// podCounts are the kinds that make Pods of a template under spec.template, each
// with the fields that say how many.
var podCounts = map[schema.GroupKind][]string{
	statefulSetKind:                     {"spec.replicas"},
	{Group: "apps", Kind: "ReplicaSet"}: {"spec.replicas"},
	{Group: "apps", Kind: "DaemonSet"}:  nil,
	{Group: "batch", Kind: "Job"}:       {"spec.parallelism", "spec.completions"},
	{Kind: "ReplicationController"}:     {"spec.replicas"},
}

// WithheldCount is how many Pods the parent had before a change of their number
// was withheld, where the request creates one: while fewer are alive, it heals.
// The admission webhook finds out whether that is so, and sets Parent.Short.
func (in *Input) WithheldCount() (int64, bool) {
	if in.ParentState != ParentFound || in.Operation != Create || in.Child.GVK.GroupKind() != podKind {
		return 0, false
	}
	least, found := int64(0), false
	for _, e := range in.Parent.withheld() {
		if n, ok := in.countOf(e); ok && (!found || n < least) {
			least, found = n, true
		}
	}
	return least, found
}

// countOf is the number of Pods that the withheld change replaced. A count that was
// left out is one, as all of these fields default to.
func (in *Input) countOf(e ledger.Entry) (int64, bool) {
	if !slices.Contains(podCounts[in.Parent.GVK.GroupKind()], e.Mutation) {
		return 0, false
	}
	if e.Replaced == "" {
		return 1, true
	}
	n, err := strconv.ParseInt(e.Replaced, 10, 64)
	return n, err == nil
}

// carriesNothingWithheld tells whether the act is the creation of a Pod that
// carries out none of the parent's withheld changes (D2): at each withheld path of
// the template, the Pod has the value from before; and while a count is withheld,
// it takes the place of one that was there before. What else of a kind that makes
// Pods is withheld does not show in them; of other kinds nobody can tell.
func (in *Input) carriesNothingWithheld(withheld ledger.Ledger, act Act) bool {
	if act.Operation != Create || in.Child.GVK.GroupKind() != podKind {
		return false
	}
	_, makesPods := podCounts[in.Parent.GVK.GroupKind()]
	return makesPods && !slices.ContainsFunc(withheld, in.carries)
}

// carries tells whether a new Pod carries out a withheld change.
func (in *Input) carries(e ledger.Entry) bool {
	if n, ok := in.countOf(e); ok {
		return !in.Parent.Short || !in.inOrder(n)
	}
	inPod, isTemplate := strings.CutPrefix(e.Mutation, templatePrefix)
	if !isTemplate {
		return false
	}
	path, err := change.ParsePath(inPod)
	if err != nil {
		return true
	}
	value, _ := path.Value(in.Child.New)
	return fingerprint(in.Parent.UID, value) != e.Replaced
}

// inOrder tells whether a Pod of a StatefulSet is one of the first n.
func (in *Input) inOrder(n int64) bool {
	if in.Parent.GVK.GroupKind() != statefulSetKind {
		return true
	}
	number, ok := strings.CutPrefix(in.Child.Name, in.Parent.Name+"-")
	ordinal, err := strconv.ParseInt(number, 10, 64)
	return ok && err == nil && ordinal < in.Parent.FirstOrdinal+n
}
