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

// Package crossplane runs Crossplane beside a control plane of the tests, without
// containers and without its package manager: the real core as a process under its
// own service account, a composition function that composes what a Composition
// spells out, a provider on Crossplane's own runtime, and the cloud that it works
// on.
//
//	cp, err := controlplane.Start(ctx, controlplane.Options{Dir: dir})
//	if err != nil { ... }
//	defer cp.Stop()
//	err = crossplane.Start(ctx, cp, crossplane.Options{})
//
// All of them are members of the control plane: they end with it, and are killed,
// paused and started again by the names in this package. The binaries come from
// "make peers-binaries".
package crossplane
