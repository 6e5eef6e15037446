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

// Package generate says which objects a GeneratingPolicy wants for a trigger, and what there
// is to do about those that exist (D21). It is pure: the trigger and what the policy reads of
// the cluster are values, and so are the answers; whoever calls it watches, reads and writes.
//
// Evaluating a policy writes nothing. An expression calls generator.ApplyAll for what it
// wants; that is collected, and compared with what there is afterwards. What cannot be
// evaluated, or read, is an error, after which nothing is changed and nothing deleted.
package generate
