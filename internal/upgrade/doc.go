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

// Package upgrade says what is an upgrade of a controller, and which UpgradeAllowance lets it
// through (D12). It is pure: what a parent remembers, and which version makes a request, are
// values, and the answer is one.
//
// Nothing tells a webhook which program makes a request but the Pod that its token is bound
// to. A parent remembers the image by which its children were made, or last upgraded, and when
// the Pod was created that had it. A request that nothing else covers is an upgrade where its
// image is another one, in a Pod that was created later: of any two Pods one is the older, so
// that two versions side by side do not take turns.
package upgrade
