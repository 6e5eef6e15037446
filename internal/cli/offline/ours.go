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

package offline

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/source"
)

// KindPolicyTest is the kind of files with tests. It is no kind of the API server.
const KindPolicyTest = "PolicyTest"

// listSuffix is what the kinds of lists end with.
const listSuffix = "List"

// ourKinds are the kinds of the group kausality.io, sorted.
var ourKinds = func() []string {
	scheme := runtime.NewScheme()
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	types := scheme.KnownTypes(v1alpha1.GroupVersion)
	kinds := []string{KindPolicyTest}
	for kind := range types {
		if _, listed := types[kind+listSuffix]; listed {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}()

// Misnamed finds the documents of the group kausality.io whose version or kind the group does not have.
// Commands pass over documents that they have no use for: without this, nobody would be told.
func Misnamed(docs []*source.Document) []source.Problem {
	var out []source.Problem
	for _, doc := range docs {
		apiVersion, _ := doc.Object["apiVersion"].(string)
		group, _, _ := strings.Cut(apiVersion, "/")
		if !strings.EqualFold(group, v1alpha1.GroupVersion.Group) {
			continue
		}
		ours := v1alpha1.GroupVersion.String()
		switch kind, _ := doc.Object["kind"].(string); {
		case !slices.Contains(ourKinds, strings.TrimSuffix(kind, listSuffix)):
			out = append(out, doc.Problem("kind", "there is no kind %q in %s: it has %s", kind, ours, strings.Join(ourKinds, ", ")))
		case apiVersion != ours:
			out = append(out, doc.Problem("apiVersion", "there is no %s: kind %s is of %s", apiVersion, kind, ours))
		}
	}
	return out
}
