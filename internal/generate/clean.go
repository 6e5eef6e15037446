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

package generate

import (
	"maps"
	"strings"
)

// serverFields of metadata are set by the API server alone.
var serverFields = []string{
	"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
	"deletionGracePeriodSeconds", "managedFields", "selfLink", "generateName",
}

// cleaned returns an object that was read, without what belongs to that one object: its identity,
// its owners, its end, what its controller reports, and the marks by which somebody takes it
// for his own. A copy with these would be pruned, adopted or reverted.
func cleaned(read map[string]any) map[string]any {
	out := maps.Clone(read)
	delete(out, "status")
	metadata, _ := out["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	if metadata == nil {
		return out
	}
	for _, name := range serverFields {
		delete(metadata, name)
	}
	delete(metadata, "ownerReferences")
	delete(metadata, "finalizers")
	out["metadata"] = metadata
	unmark(metadata)
	return out
}

// unmark takes the marks off labels and annotations of metadata, which is the caller's own.
func unmark(metadata map[string]any) {
	for _, name := range []string{"labels", "annotations"} {
		marked, ok := metadata[name].(map[string]any)
		if !ok {
			continue
		}
		unmarked := maps.Clone(marked)
		maps.DeleteFunc(unmarked, IsMark)
		if len(unmarked) == 0 {
			delete(metadata, name)
		} else {
			metadata[name] = unmarked
		}
	}
}

// markDomains are the domains of keys that say whose an object is. What is below them counts too.
var markDomains = []string{
	"kausality.io",
	"meta.helm.sh", "helm.sh",
	"argocd.argoproj.io",
	"toolkit.fluxcd.io",
	// Kyverno knows by its labels what it has generated itself, and deletes that.
	"kyverno.io",
	"applyset.kubernetes.io",
}

// IsMark reports whether a label or an annotation says who keeps an object.
func IsMark(key string, value any) bool {
	switch key {
	case "kubectl.kubernetes.io/last-applied-configuration",
		// By this label Argo CD knows what is its own, unless told otherwise: it would delete
		// the copy, which is not in its repository.
		"app.kubernetes.io/instance":
		return true
	case "app.kubernetes.io/managed-by":
		return value == "Helm" || value == "kyverno"
	}
	domain, _, _ := strings.Cut(key, "/")
	for _, mark := range markDomains {
		if domain == mark || strings.HasSuffix(domain, "."+mark) {
			return true
		}
	}
	return false
}
