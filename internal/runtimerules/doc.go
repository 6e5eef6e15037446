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

// Package runtimerules decides who may call what on a container runtime. A file of
// rules goes in and compiled rules come out; a request and facts go in, and a verdict
// with its reason comes out.
//
// It is a pure room. What a verdict depends on, and the request does not say, is a
// Fact that somebody else looks up: a judgement that lacks one says so with a Question,
// and is asked again with the answer.
package runtimerules
