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

package controller

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// overdueObjects counts the objects of a policy with allowances that have been open
// for longer than maxOpen (D8).
var overdueObjects = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Namespace: "kausality",
	Name:      "overdue_objects",
	Help:      "Number of objects of a policy whose allowances have been open for longer than its maxOpen.",
}, []string{"policy"})

func init() {
	metrics.Registry.MustRegister(overdueObjects)
}
