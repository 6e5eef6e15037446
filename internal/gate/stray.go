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

package gate

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// maxNamed is how many of the objects that share a name are told of.
const maxNamed = 3

// Sharing returns which of the objects of a kind stand for the same outside as one of them, as far as their
// names there tell, with their namespaces, sorted. What cannot be read is left out: it is for messages.
func Sharing(driver Driver, obj *unstructured.Unstructured, all iter.Seq2[*unstructured.Unstructured, error]) []string {
	var out []string
	for other, err := range all {
		if err == nil && other.GetUID() != obj.GetUID() && driver.SharesName(obj, other) {
			out = append(out, types.NamespacedName{Namespace: other.GetNamespace(), Name: other.GetName()}.String())
		}
	}
	slices.Sort(out)
	return out
}

// DescribeStray says what a stray stands for outside, as far as that can be told: whoever made it may have given it
// the name of what is another's. sharing are the objects that have the same name. It begins with a space, and is
// empty where the object stands for what it is called, as nothing else does.
func DescribeStray(driver Driver, obj *unstructured.Unstructured, sharing []string) string {
	field := driver.Identity()[0].String()
	if len(sharing) > 0 {
		others := make([]string, 0, maxNamed)
		for _, other := range sharing[:min(len(sharing), maxNamed)] {
			others = append(others, obj.GetKind()+" "+strings.TrimPrefix(other, "/"))
		}
		if more := len(sharing) - len(others); more > 0 {
			others = append(others, fmt.Sprintf("%d more", more))
		}
		return fmt.Sprintf(" By %s it stands for the same outside as %s: what is done to the one is done to the other.", field, strings.Join(others, ", "))
	}
	itself := &unstructured.Unstructured{}
	itself.SetName(obj.GetName())
	if driver.SharesName(obj, itself) {
		return ""
	}
	return fmt.Sprintf(" By %s it stands for something outside that is not called like it: whoever made it said so, and it may be another's.", field)
}
