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

// Package controllers runs published controllers of other projects in a control plane
// of the tests, each as a process under a service account of its own: what nobody here
// has written shows best whether Kausality lets controllers do their work.
//
//	cp, err := controlplane.Start(ctx, controlplane.Options{Dir: dir})
//	if err != nil { ... }
//	defer cp.Stop()
//	err = controllers.Start(ctx, cp, controllers.ArgoRollouts)
//
// The binaries, and the definitions of their kinds, come from "make
// controllers-binaries". They may do anything in the cluster, so that a refusal is not
// RBAC's.
package controllers
