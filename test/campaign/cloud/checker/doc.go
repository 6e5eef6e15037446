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

// Package checker compares what a cloud was asked for with what people had allowed. It
// knows the cloud's own log, the API server's audit log, and the text of the policies,
// and nothing of the code that it judges: what it has to read of annotations, it reads
// by itself.
//
// What it finds, in the words of its findings:
//
//   - Uncovered: the cloud was asked for a change while no version of the managed
//     resource had its gate open for that, with an allowance whose trace leads to an
//     initiator's own request, and with the very content that the cloud was asked for;
//   - Written, Ended: a composite or managed resource was made, changed or deleted, and
//     neither what an initiator asked for, nor what was late, nor the books that
//     Crossplane keeps account for that;
//   - Open: a version of a managed resource had its gate wider than its allowances;
//   - Forged: an allowance on it leads to no initiator's request;
//   - Lost: a change that an initiator made or approved has not reached the cloud;
//   - Left: at the end something is open, allowed or withheld;
//   - Leaked, Kept: what was to be deleted is in the cloud, or in the cluster.
package checker
