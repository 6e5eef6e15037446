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

// Package lifecycle tells when a holder has settled: when its controllers have
// finished acting on its current generation, so that the allowances granted for
// that generation can be consumed (D8) and the holder stops being Initializing
// (D9).
//
// status.observedGeneration alone is no such sign: the Deployment controller
// writes it some milliseconds into a rollout and goes on changing ReplicaSets,
// and Crossplane and kro never write it. What each kind means by its status is
// left to kstatus where kstatus knows it; this package asks for more where
// kstatus gives the benefit of the doubt. An allowance that is consumed too
// early stalls a rollout, so what is absent never counts as success.
//
// The package is pure: it reads one object and knows no client and no clock.
// What needs time (a ttl, a quiet time, maxOpen) is its callers' matter.
package lifecycle
