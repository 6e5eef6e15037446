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

package generation

import "kausality.io/operator/internal/generate/plan"

// Why says why something is done to an object, or not; empty where that needs no explanation.
func Why(reason plan.Reason) string {
	switch reason {
	case plan.Modified:
		return "put back"
	case plan.TakenOver:
		return "taken over"
	case plan.NotOurs:
		return "it is there, and no GeneratingPolicy made it"
	case plan.Overruled:
		return "an older policy wants it too, and decides"
	case plan.BeingDeleted:
		return "it is being deleted"
	default:
		return ""
	}
}
