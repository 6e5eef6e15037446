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

// Package checker finds out from evidence alone whether Kausality kept its promises
// while things broke. It knows the audit log of the API server, in which the policies
// are too, and the objects that are there at the end, and shares no code with the
// operator: what a ledger says and when an object has settled is written down here once
// more, in as few words as the workloads of a campaign need (Deployments, their ReplicaSets
// and their Pods, under policies without conditions). Whether changes of children had a cause
// is for the checker of the campaign of strangers, who believes no ledger.
//
// What it promises to find:
//
//   - a ledger that does not parse, exceeds its bounds or says one thing twice;
//   - an allowance that nobody who may has caused, and one that went without having been
//     used up, or never came;
//   - legitimate work that is not done;
//   - a record that says something else than the log.
package checker
