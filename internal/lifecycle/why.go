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

// The values of Progress.Why, as they complete the sentence "the holder is …".
const (
	whyBehind       = "waiting: its status is about another generation"
	whyDeclared     = "settled: its status says what is declared for its kind, at the current generation"
	whyDeleting     = "being deleted"
	whyFailed       = "failed: its status says that it makes no progress"
	whyFinished     = "settled: finished for good"
	whyMisscheduled = "waiting: Pods remain on nodes that it no longer selects"
	whyNeverStarted = "waiting: suspended, and nothing shows that it was ever started"
	whyNoConditions = "judged by time: its status has no condition that tells when it is done"
	whyNoGeneration = "judged by time: it does not say which generation its status is about"
	whyNotTrue      = "waiting: Ready, or Synced where it is used, is not True at the current generation"
	whyOldRevision  = "waiting: not all Pods are at the revision that they should be at"
	whyPausedAtZero = "waiting: paused without replicas, its status does not tell whether its template was rolled out"
	whyPaused       = "settled: paused with nothing left to roll out"
	whyReady        = "settled: its conditions say so at the current generation"
	whyReconciled   = "settled: its status says so at the current generation"
	whyReplicas     = "waiting: not all replicas are there and ready"
	whyRollback     = "waiting: its controller is told to go back to an older template"
	whySuspended    = "settled: suspended with nothing active"
	whyTerminating  = "waiting: Pods have to end before its template is rolled out"
	whyUndeclared   = "waiting: its status does not say what is declared for its kind, at the current generation"
	whyUnresponsive = "waiting: " + unresponsive
	whyUnseen       = "waiting: its controller has not seen it yet"
	whyWorking      = "waiting: its controller is at work"
)
