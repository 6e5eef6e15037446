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

// Package knowledge holds what is known of kinds that their definitions do not say: when
// an object has settled, what its status proves, what it makes children of, what people
// do through its status. It is data: one declaration for each kind, of the same form for
// the kinds that are built in, in the directory builtin, and for those that an
// administrator gives in spec.knowledge of a policy. Other packages ask for what a kind
// declares, and never for a kind by its name.
//
// The package is pure. It compiles declarations; what follows from them is said by those
// who ask.
package knowledge
