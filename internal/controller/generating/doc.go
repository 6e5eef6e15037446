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

// Package generating carries out GeneratingPolicies (D21): it watches triggers, what policies read of
// the cluster and what they made, asks the pure rooms what is wanted and what there is to do for it,
// and does that as the policy's service account.
//
// A policy is set up by one reconciler, and each of its triggers is seen to by another. What they know
// together is in a book, which a restart loses: all of it is in the objects themselves, in the status
// of the policy, and, of what was made once, in the record of the trigger.
//
// Without GeneratingPolicies nothing but the kind is watched.
package generating
