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

package record

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// outcomesDropped counts holders whose outcomes were forgotten, because more
// came than could be written, or because writing them failed again and again.
var outcomesDropped = prometheus.NewCounter(prometheus.CounterOpts{
	Namespace: "kausality",
	Name:      "record_outcomes_dropped_total",
	Help:      "Number of times that decisions about the children of an object were not recorded.",
})

func init() {
	metrics.Registry.MustRegister(outcomesDropped)
}
