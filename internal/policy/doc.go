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

// Package policy turns AllowancePolicies into what an admission decision needs:
// compiled paths and conditions, an index by kind, and the answer to which
// policies are in effect for an object.
//
// It is pure: it takes values and returns values. A compiled Policy, an Index and
// a Condition are immutable and safe for concurrent use.
package policy
