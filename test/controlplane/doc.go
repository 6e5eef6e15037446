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

// Package controlplane runs a real Kubernetes control plane without
// containers: etcd, kube-apiserver, kube-controller-manager and kube-scheduler
// as child processes on loopback ports, and kwok in place of kubelets. The
// deployment controller, the garbage collector and all others are therefore
// the real ones, under their own service accounts; only the containers of pods
// do not run.
//
// Integration and end-to-end tests, the demo and the development cluster of
// "make up" share it:
//
//	cp, err := controlplane.Start(ctx, controlplane.Options{Dir: dir})
//	if err != nil { ... }
//	defer cp.Stop()
//	client, err := kubernetes.NewForConfig(cp.AdminConfig())
//
// Everything that is written through the API server is in an audit log, which
// ReadAudit reads back: a witness that does not depend on what the operator
// says about itself.
//
// The binaries come from "make controlplane-binaries"; their versions are
// pinned in test/tools. Nothing outside Options.Dir is read or written, the
// user's own kubeconfig least of all.
package controlplane
