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

// Package checker judges by evidence alone what came of strangers' acts. It knows the audit
// log of the API server, in which the policies are too, and shares no code with the operator,
// nor does it believe what the operator writes about itself: ledgers, records and reasons
// are judged, and never evidence. What an object is allowed, what is withheld of it and when it
// has settled is told by a model of its own, from requests and from what controllers report.
//
// What it promises to find:
//
//   - a change of a bounded child that the model grants by no cause and no section;
//   - a value of a stranger in what controllers make below an object, without that anybody
//     who may has approved of it. Each value has a mark that tells the act that it comes from;
//   - a ledger or a record that names somebody as having done what they have not;
//   - a value of a stranger in a message, a refusal of what is certainly allowed, an adoption or an
//     allowance that does not end, and a change of what cannot wait.
//
// Where it cannot tell, it is lenient: a controller and the operator may go by a version that
// is two seconds old, and what happens around the coming and going of a policy is not judged. What is
// withheld by then stays so.
// What docs/bypasses.md says is not stopped is counted as known.
package checker
