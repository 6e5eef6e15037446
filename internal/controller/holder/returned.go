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

package holder

import (
	"context"

	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lifecycle"
)

// hasReturned reports whether the holder keeps a note that what was withheld of it was taken back, and has settled
// since: its children are as approved, and the webhook takes the note away.
func (v view) hasReturned(ctx context.Context) bool {
	text := ledger.Annotation(v.obj, ledger.NameApproved)
	if text == "" || len(v.policies) == 0 {
		return false
	}
	state, err := approved.Decode(text)
	return err == nil && state.Returns() &&
		(!state.Saw(v.obj.Object) || lifecycle.SettledAt(ctx, v.obj, v.policies, v.obj.GetGeneration()))
}
