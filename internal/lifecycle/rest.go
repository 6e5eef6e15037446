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

package lifecycle

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/internal/policy"
)

// Rests reports whether the controllers of an object have for sure finished acting on it as it is. A status
// that may lag, or that says no generation, leaves that open.
func Rests(ctx context.Context, obj *unstructured.Unstructured, policies []*policy.Policy) bool {
	observed := Observed(obj, policies)
	return observed > 0 && observed == obj.GetGeneration() && LagOf(obj, policies) == NoLag &&
		SettledAt(ctx, obj, policies, obj.GetGeneration())
}

// Observed returns the generation that the status of an object is about, zero where it does not say.
func Observed(obj *unstructured.Unstructured, policies []*policy.Policy) int64 {
	observed, _ := observedGeneration(obj, knownOf(obj, policies).Settled.Generation)
	return observed
}
