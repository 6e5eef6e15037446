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

package interception

import (
	"fmt"
	"slices"

	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
)

// abandonsComposite is true where somebody else than Crossplane takes the finalizer off a claim that is being deleted by which
// Crossplane deletes its composite resource first.
func abandonsComposite(in Input) []string {
	isOfClaims := func(p *policy.Policy) bool { return p.HasCategory(p.For.GroupKind(), lineage.CategoryClaim) }
	if !slices.ContainsFunc(in.Policies, isOfClaims) {
		return nil
	}
	const has = `(has(%[1]s.metadata.finalizers) && %[1]s.metadata.finalizers != null && %[2]q in %[1]s.metadata.finalizers)`
	return []string{fmt.Sprintf(`(has(oldObject.metadata.deletionTimestamp) && oldObject.metadata.deletionTimestamp != null && %s && !%s && !(has(request.userInfo.username) && request.userInfo.username in %s))`,
		fmt.Sprintf(has, "oldObject", lineage.ClaimFinalizer), fmt.Sprintf(has, "object", lineage.ClaimFinalizer), list(in.Composers...))}
}
