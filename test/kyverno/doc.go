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

// Package kyverno runs Kyverno's admission controller and background controller as
// processes in a control plane of the tests, to see them beside Kausality and to compare
// what generating costs.
//
//	err := kyverno.Start(ctx, cp, kyverno.Options{})
//
// The binaries and the manifest come from "make kyverno-binaries". From the manifest come
// the custom resource definitions, ConfigMaps, service accounts and roles, and the flags and
// the environment of each controller, so that it has the defaults of an installation, but for
// two things: the API server calls the webhooks by URL, and nothing limits the memory.
// Kyverno makes its certificates and webhook configurations itself. The cluster needs a
// controller manager, as the roles are aggregated. The other controllers of Kyverno do not
// run.
package kyverno
