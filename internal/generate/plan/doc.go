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

// Package plan compares what a GeneratingPolicy wants with what there is, and says what there
// is to do: create, apply, delete, or leave alone (D21). It is pure.
//
// Two tables of the proposal say what becomes of an object when the policy, a trigger, a
// source or the object itself is changed or deleted. Nothing here knows which of these
// happened: what is wanted now, what there is now and what was made before are enough, so that
// it does not matter whether anybody looked when it happened.
//
// What a policy did not make it neither changes nor deletes, and what cannot be told deletes
// nothing.
package plan
