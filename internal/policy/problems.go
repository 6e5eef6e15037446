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

package policy

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	// maxBadValue and maxDetail are how much of a value and of its problem is repeated to
	// whoever wrote it, in bytes.
	maxBadValue, maxDetail = 256, 512
	// maxProblems is how many problems are told: who has solved these hears of the rest.
	maxProblems = 16
)

// told returns problems as an answer, and the condition of a policy, have room for them.
func told(all field.ErrorList) field.ErrorList {
	all = all[:min(len(all), maxProblems)]
	for _, problem := range all {
		if value, ok := problem.BadValue.(string); ok {
			problem.BadValue = cut(value, maxBadValue)
		}
		problem.Detail = cut(problem.Detail, maxDetail)
	}
	return all
}

// cut shortens a text, between two characters, and says so.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}
