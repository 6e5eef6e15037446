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

// Package flow says what the value of a CEL expression depends on. It is a pure room.
//
// An expression is not evaluated but followed: a value is what some places hold, and is decided on
// by others. What is not told apart depends on all that it might. Names and types are not checked:
// whoever has the expression has compiled it.
package flow
