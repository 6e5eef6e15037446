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

package crossplane

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/version"
)

// The management policies.
const (
	actionObserve        = "Observe"
	actionCreate         = "Create"
	actionUpdate         = "Update"
	actionDelete         = "Delete"
	actionLateInitialize = "LateInitialize"
	actionAll            = "*"
)

// actions are all policies but "*", in the order in which they are written.
var actions = []string{actionObserve, actionCreate, actionUpdate, actionDelete, actionLateInitialize}

// supported are the sets that a provider accepts, beyond those that list both
// Observe and Create, by the version of crossplane-runtime that first did. A provider
// that finds another set reports an error and does nothing at all.
var supported = []struct {
	since *version.Version
	set   sets.Set[string]
}{
	{since: version.MustParseGeneric("1.14"), set: sets.New(actionObserve)},
	{since: version.MustParseGeneric("1.15"), set: sets.New(actionObserve, actionDelete)},
	{since: version.MustParseGeneric("1.19"), set: sets.New(actionObserve, actionUpdate)},
	{since: version.MustParseGeneric("1.20"), set: sets.New(actionObserve, actionLateInitialize)},
	{since: version.MustParseGeneric("1.20"), set: sets.New(actionObserve, actionUpdate, actionLateInitialize)},
}

// Runtime is a version of crossplane-runtime, as far as it decides which sets of
// management policies a provider accepts. The zero value is any that is as new as
// the newest that makes a difference.
type Runtime struct {
	version *version.Version
}

// ParseRuntime reads a version such as v1.16.0 or 1.16.
func ParseRuntime(text string) (Runtime, error) {
	v, err := version.ParseGeneric(text)
	if err != nil {
		return Runtime{}, fmt.Errorf("%q is no version of crossplane-runtime: %w", text, err)
	}
	return Runtime{version: v}, nil
}

// accepts reports whether a provider accepts the set.
func (r Runtime) accepts(set sets.Set[string]) bool {
	if set.HasAll(actionObserve, actionCreate) {
		return true
	}
	for _, s := range supported {
		if s.set.Equal(set) {
			return r.version == nil || r.version.AtLeast(s.since)
		}
	}
	return false
}

// closed returns the set that lets nothing through. Where a provider accepts no set with
// late initialization and nothing else, it does without.
func (r Runtime) closed(limit sets.Set[string]) sets.Set[string] {
	if set := sets.New(actionObserve, actionLateInitialize); limit.Has(actionLateInitialize) && r.accepts(set) {
		return set
	}
	return sets.New(actionObserve)
}

// open returns the set that lets the verbs through as far as the limit does, and nothing
// more, and the verbs that it cannot let through as the provider accepts no such set.
func (r Runtime) open(verbs, limit sets.Set[string]) (set sets.Set[string], unsupported []string) {
	verbs = verbs.Intersection(limit)
	if verbs.Len() == 0 {
		return r.closed(limit), nil
	}
	set = verbs.Clone().Insert(actionObserve)
	if late := set.Clone().Insert(actionLateInitialize); limit.Has(actionLateInitialize) && r.accepts(late) {
		return late, nil
	}
	if r.accepts(set) {
		return set, nil
	}
	return r.closed(limit), sets.List(verbs)
}

// deletion returns the set by which a provider deletes what an object that is being
// deleted stands for. Where it accepts none without Create, it has that as well:
// nothing is created for what is being deleted.
func (r Runtime) deletion(limit sets.Set[string]) (set sets.Set[string], unsupported []string) {
	if !limit.Has(actionDelete) {
		return r.closed(limit), nil
	}
	for _, set := range []sets.Set[string]{
		sets.New(actionObserve, actionDelete),
		sets.New(actionObserve, actionCreate, actionDelete),
	} {
		if r.accepts(set) {
			return set, nil
		}
	}
	return r.closed(limit), []string{actionDelete}
}

// Harmless returns the actions that change nothing in the cloud.
func Harmless() []string { return []string{actionObserve, actionLateInitialize} }

// limitOf returns the actions that a list of policies lets through.
func limitOf(policies []string) sets.Set[string] {
	if slices.Contains(policies, actionAll) {
		return sets.New(actions...)
	}
	return sets.New(policies...)
}

// listOf writes a set in the usual order.
func listOf(set sets.Set[string]) []string {
	out := make([]string, 0, len(set))
	for _, action := range actions {
		if set.Has(action) {
			out = append(out, action)
		}
	}
	return out
}
