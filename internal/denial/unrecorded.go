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

package denial

import "strings"

// What an answer with an error begins with: of what could not be judged, or written down. No record tells of that.
const (
	// Unjudged begins the refusal of a request that could not be judged.
	Unjudged = "kausality cannot judge this request, try again"
	// Unwritten begins the refusal of a request that was judged, and of which that could not be written down.
	Unwritten = "what follows from this request cannot be written down, and would be lost, try again"
)

// ErrorIn returns what a text, such as a condition or an Event of a controller, says of such a refusal; empty
// where it does not tell of one.
func ErrorIn(text string) string {
	for _, begin := range []string{Unjudged, Unwritten} {
		if at := strings.Index(text, begin); at >= 0 {
			return text[at:]
		}
	}
	return ""
}
