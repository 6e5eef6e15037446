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

// Package node runs what a node has beside its control plane, as processes and without
// anything that is installed: containerd with runc, and a kubelet. Containers are real
// ones.
//
// Main has a program run in namespaces and control groups of its own, in which the paths
// are those of any node, such as /run/containerd. All that it starts ends with it, and all
// that it makes is gone with them; this takes root. The binaries come from
// "make cri-binaries"; their versions are pinned in test/peers.
package node
