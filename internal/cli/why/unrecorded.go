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

package why

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/denial"
	"kausality.io/operator/internal/record"
)

// unrecorded says what Kausality refused with an error to whoever acts for an object, such as where it could not write down
// what follows. No record tells of that: the conditions and Events do that a controller writes about itself.
func unrecorded(obj *unstructured.Unstructured, events []unstructured.Unstructured) []string {
	if obj == nil {
		return nil
	}
	target := phrase.Target(record.TargetOf(obj))
	var out, known []string
	add := func(text, where string) {
		refusal := denial.ErrorIn(text)
		if refusal == "" || slices.Contains(known, refusal) {
			return
		}
		known = append(known, refusal)
		out = append(out, fmt.Sprintf("%s of %s tells of a refusal that no AllowanceRecord tells of. Unless it has got through since, "+
			"its controller tries again, and goes on once this is mended: %s", where, target, refusal))
	}
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, each := range conditions {
		condition, isMap := each.(map[string]any)
		if !isMap {
			continue
		}
		kind, _, _ := unstructured.NestedString(condition, "type")
		message, _, _ := unstructured.NestedString(condition, "message")
		add(message, "The condition "+kind)
	}
	for i := range events {
		reason, _, _ := unstructured.NestedString(events[i].Object, "reason")
		message, _, _ := unstructured.NestedString(events[i].Object, "message")
		where := "An Event " + reason
		if last := lastOf(events[i]); last != "" {
			where += ", last seen at " + last + ","
		}
		add(message, where)
	}
	return out
}

// events reads those that are about an object. They are a help: who may not list them is told nothing of them.
func events(ctx context.Context, c *cluster.Cluster, obj *unstructured.Unstructured) []unstructured.Unstructured {
	if obj == nil || obj.GetNamespace() == "" || obj.GetUID() == "" {
		return nil
	}
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("v1")
	list.SetKind("EventList")
	if err := c.List(ctx, list, client.InNamespace(obj.GetNamespace()),
		client.MatchingFields{"involvedObject.uid": string(obj.GetUID())}); err != nil {
		return nil
	}
	slices.SortStableFunc(list.Items, func(a, b unstructured.Unstructured) int { return cmp.Compare(lastOf(b), lastOf(a)) })
	return list.Items
}

// lastOf returns when an Event was last seen, as it says itself; empty where it does not.
func lastOf(event unstructured.Unstructured) string {
	last := ""
	for _, path := range [][]string{{"lastTimestamp"}, {"eventTime"}, {"series", "lastObservedTime"}} {
		at, _, _ := unstructured.NestedString(event.Object, path...)
		last = max(last, at)
	}
	return last
}
