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

// Package model says which objects GeneratingPolicies make, in its own words: it knows the tables of
// docs/generatingpolicy.md, and shares no code with the operator.
//
// What people do is known, and when. When the operator looks is not: between two acts it may have done
// something, all of it, or nothing. So the model keeps, of each object, all the states that it may be
// in. Each act moves each of them. At rest the operator has nothing left to do, which leaves one of
// them as a rule, and what is seen then tells which it was.
package model
