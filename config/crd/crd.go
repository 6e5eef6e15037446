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

// Package crd holds the CustomResourceDefinitions of Kausality's own kinds, for
// programs that work without a cluster.
package crd

import _ "embed"

// AllowancePolicies is the definition of AllowancePolicies, as YAML.
//
//go:embed bases/kausality.io_allowancepolicies.yaml
var AllowancePolicies []byte

// GeneratingPolicies is the definition of GeneratingPolicies, as YAML.
//
//go:embed bases/kausality.io_generatingpolicies.yaml
var GeneratingPolicies []byte
