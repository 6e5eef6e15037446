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

// Package denial tells, by the history of a parent's record, whether somebody still waits for what was
// denied. Times in a history are of a second: what happened in the same one is told apart by its order.
package denial

import (
	"slices"
	"time"

	"kausality.io/operator/api/v1alpha1"
)

// Together is the time within which the requests of one reconcile are denied.
const Together = time.Minute

// Passed reports whether whoever was denied something was let through with it later, such as after it
// was approved.
func Passed(history []v1alpha1.HistoryEntry, d *v1alpha1.Decision) bool {
	return slices.ContainsFunc(since(history, d), func(e v1alpha1.HistoryEntry) bool {
		return isLetThrough(e.Event) && isOf(e, d) && hasAll(e.Paths, d.Paths)
	})
}

// PassedFor returns who else was let through later with what somebody was denied, the latest; empty where nobody was. An
// eviction is a deletion, whoever asks for either. Of an entry that tells of several children it is known of the latest
// when that was, of the others only that all of it was later.
func PassedFor(history []v1alpha1.HistoryEntry, d *v1alpha1.Decision) string {
	for _, e := range since(history, d) {
		isLater := len(e.Names) > 0 && e.Names[0] == d.Name || e.FirstTime == nil || d.Time.Before(e.FirstTime)
		if isLater && isLetThrough(e.Event) && e.User != d.User && isOfChild(e, d) && does(e.Operation) == does(d.Operation) &&
			(does(d.Operation) == operationDelete || hasAll(e.Paths, d.Paths)) {
			return e.User
		}
	}
	return ""
}

const (
	operationDelete   = "Delete"
	operationEviction = "Eviction"
)

// does returns what an operation does to the object.
func does(operation string) string {
	if operation == operationEviction {
		return operationDelete
	}
	return operation
}

func hasAll(has, paths []string) bool {
	return !slices.ContainsFunc(paths, func(path string) bool { return !slices.Contains(has, path) })
}

// Answered reports whether something came after a denial that may help with it: a change of the parent
// by who may, an approval, or the end of what was withheld. Each was a write of the parent, by which
// its controllers try again. Only what a request tells counts: of what the watch found it is not known when
// it came.
func Answered(history []v1alpha1.HistoryEntry, d *v1alpha1.Decision) bool {
	return slices.ContainsFunc(since(history, d), func(e v1alpha1.HistoryEntry) bool {
		switch e.Event {
		case v1alpha1.EventGranted, v1alpha1.EventApproved, v1alpha1.EventReleased:
			return e.Operation != ""
		default:
			return false
		}
	})
}

// since returns the entries after a denial. Of a history without it, these are the later ones.
func since(history []v1alpha1.HistoryEntry, d *v1alpha1.Decision) []v1alpha1.HistoryEntry {
	end := slices.IndexFunc(history, func(e v1alpha1.HistoryEntry) bool {
		return e.Event == v1alpha1.EventDenied && isOf(e, d) && !e.Time.Before(&d.Time)
	})
	if end >= 0 {
		return history[:end]
	}
	return slices.DeleteFunc(slices.Clone(history), func(e v1alpha1.HistoryEntry) bool { return !d.Time.Before(&e.Time) })
}

// isOf reports whether an entry is about the same user's same operation on the same child.
func isOf(e v1alpha1.HistoryEntry, d *v1alpha1.Decision) bool {
	return e.User == d.User && e.Operation == d.Operation && isOfChild(e, d)
}

// isOfChild reports whether an entry is about the same child.
func isOfChild(e v1alpha1.HistoryEntry, d *v1alpha1.Decision) bool {
	return e.Kind == d.Kind && e.Namespace == d.Namespace && (d.Name == "" || slices.Contains(e.Names, d.Name))
}

// isLetThrough reports whether an event is a change of a child that was let through.
func isLetThrough(event v1alpha1.HistoryEvent) bool {
	switch event {
	case v1alpha1.EventExercised, v1alpha1.EventAllowed, v1alpha1.EventWarned, v1alpha1.EventAudited, v1alpha1.EventBreakGlass:
		return true
	default:
		return false
	}
}
