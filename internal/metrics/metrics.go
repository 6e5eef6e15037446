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

// Package metrics is where the metrics of the operator are registered. Each is
// declared beside the code that moves it, and explained in docs/metrics.md.
//
// Labels are bounded: policies, resources, and words of our own, but never the
// names of objects or users.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus/promauto"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Namespace is what the names of all metrics begin with.
const Namespace = "kausality"

// Labels that several metrics have.
const (
	// LabelPolicy is the name of an AllowancePolicy.
	LabelPolicy = "policy"
	// LabelResource is a resource with its group, such as replicasets.apps.
	LabelResource = "resource"
)

// Factory makes metrics that the manager serves.
var Factory = promauto.With(metrics.Registry)
