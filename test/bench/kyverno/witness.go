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

package main

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"kausality.io/operator/test/controlplane"
)

// clones is the resource of the clones, and generated lists the resources of all that the policy makes.
const clones = "secrets"

var generated = []string{clones, "networkpolicies", "limitranges"}

// witness counts what users ask the API server for.
type witness struct {
	users []string
	// total is how often they asked for anything, and by how often for what.
	total int
	by    map[string]int
	// made are the objects of the policy that were created, and changed the namespaces whose clone
	// was. A change that the API server refused is none.
	made, changed map[string]bool
	// changes is how often a clone was changed.
	changes int
	// writes is how often they wrote at all, Events included.
	writes int
	// lists is how often a whole kind was read, by what was asked for.
	lists map[string]int
	// lastMade and lastChanged are when the last of these was answered.
	lastMade, lastChanged time.Time
}

func newWitness(users []string) *witness {
	return &witness{
		users: users, by: map[string]int{}, made: map[string]bool{}, changed: map[string]bool{}, lists: map[string]int{},
	}
}

// wants is an AuditFilter.
func (w *witness) wants(event *auditv1.Event) bool {
	return slices.ContainsFunc(w.users, func(user string) bool { return controlplane.ByUser(user)(event) })
}

func (w *witness) see(events controlplane.AuditEvents) {
	for i := range events {
		event := &events[i]
		if event.ObjectRef == nil {
			continue
		}
		w.total++
		w.by[what(event)]++
		if controlplane.Writes(event) {
			w.writes++
		}
		if list, isList := listOf(event); isList {
			w.lists[list]++
		}
		w.seeObject(event)
	}
}

// seeObject takes note of what happened to an object of the policy.
func (w *witness) seeObject(event *auditv1.Event) {
	ref := event.ObjectRef
	if ref.Name != objectName || ref.Namespace == sourceNamespace || !slices.Contains(generated, ref.Resource) ||
		!controlplane.Writes(event) || event.ResponseStatus == nil {
		return
	}
	switch {
	case event.ResponseStatus.Code == http.StatusCreated:
		w.made[ref.Resource+" "+ref.Namespace] = true
		w.lastMade = event.StageTimestamp.Time
	case event.ResponseStatus.Code == http.StatusOK && ref.Resource == clones:
		w.changes++
		w.changed[ref.Namespace] = true
		w.lastChanged = event.StageTimestamp.Time
	}
}

// what returns what was asked for: the verb and the resource.
func what(event *auditv1.Event) string {
	ref := event.ObjectRef
	resource := ref.Resource
	if ref.APIGroup != "" {
		resource += "." + ref.APIGroup
	}
	return event.Verb + " " + strings.TrimSuffix(resource+"/"+ref.Subresource, "/")
}

// listOf returns what a request reads all objects of, if it does: by a list, or by a watch that
// begins with all there is. The further pages of a list are the same one.
func listOf(event *auditv1.Event) (string, bool) {
	uri, err := url.Parse(event.RequestURI)
	if err != nil {
		return "", false
	}
	query := uri.Query()
	switch {
	case event.Verb == "list" && query.Get("continue") == "", event.Verb == "watch" && query.Get("sendInitialEvents") == "true":
	default:
		return "", false
	}
	list := []string{uri.Path}
	for _, selector := range []string{"fieldSelector", "labelSelector"} {
		if value := query.Get(selector); value != "" {
			list = append(list, selector, value)
		}
	}
	return strings.Join(list, " "), true
}

// most returns how often was asked for what, the most frequent first.
func most(counts map[string]int) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
}
