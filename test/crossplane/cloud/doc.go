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

// Package cloud is a small cloud for tests of providers: instances with parameters
// behind an HTTP API, a log of who asked for what and what came of it, and faults on
// demand. What counts about a gate is what reaches the cloud, and the log is what a
// test reads that does not believe what Kubernetes objects say about it.
package cloud
