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

// Package approved knows what of a holder is withheld: what differs between its
// approved content and what is there (D2, "withheld is a state").
//
// Approved content is what an object held when somebody with the right to it last made
// or approved it. An object of which nothing is withheld is its own approved content,
// and carries nothing of this package. Of any other one the State is in an annotation,
// for who may read the object and nobody else: it holds values.
//
// The package is pure. Now compares a holder with its State, Standing.After follows one
// request, and Standing.State is what is to be stored. What is withheld never depends on
// the way by which an object came to be as it is.
package approved
