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

// Package checker judges what the account did that GeneratingPolicies are carried out as, by the audit
// log and by what people did meanwhile. It has a finding where
//
//   - an object was written or deleted, and nothing that people did since the last rest concerns it;
//   - anything was written at rest;
//   - an object was deleted that was wanted all the time;
//   - an object was changed or deleted that no policy had made, or that somebody had claimed.
//
// Of requests that failed nothing came.
package checker
