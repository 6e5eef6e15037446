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

// Package generating derives AllowancePolicies from a GeneratingPolicy: one for each kind of its
// triggers, one for each kind of what it clones, and one for itself.
//
// It is a pure room. Expressions are not evaluated but followed: which fields of which object reach
// which field of what is made, and which decide on whether it is made. A change of these by who may
// initiate allows just that, and waits otherwise. What is made of objects that are no parents, such as
// what is only read, changes without a cause: the policies have it as maintaining. The same policy
// gives the same bytes.
package generating
