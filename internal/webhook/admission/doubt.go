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

package admission

import (
	"github.com/prometheus/client_golang/prometheus"

	"kausality.io/operator/internal/metrics"
)

// doubt is why what the cache says is not enough.
type doubt string

const (
	// doubtNone means that it is.
	doubtNone doubt = ""
	// doubtBlind means that there is nothing else.
	doubtBlind doubt = "Blind"
	// doubtUncached: the cache does not have the object.
	doubtUncached doubt = "Uncached"
	// doubtBehind: the cache cannot watch objects of the kind, or records.
	doubtBehind doubt = "Behind"
	// doubtOvertaken: a change of the object has just been withheld, which the cache lacks.
	doubtOvertaken doubt = "Overtaken"
	// doubtUncovered: nothing covers the change, as far as the cache knows.
	doubtUncovered doubt = "Uncovered"
	// doubtPhase: it passes only because of the phase that the cache has the parent in.
	doubtPhase doubt = "Phase"
	// doubtGrant: a trigger matched, and not everything was granted.
	doubtGrant doubt = "Grant"
	// doubtUnrecorded: the cache has no record that knows the ledger of an object with one.
	doubtUnrecorded doubt = "Unrecorded"
	// doubtLedger: the object would have allowances that nobody granted, or was changed
	// without anybody who has told of it.
	doubtLedger doubt = "Ledger"
	// doubtDeletion: the parent goes, and nobody knows who deletes it.
	doubtDeletion doubt = "Deletion"
	// doubtStray: whether a deletion makes room for a stray depends on those there are.
	doubtStray doubt = "Stray"
	// doubtLost: the request came in a version that may lack fields of the object.
	doubtLost doubt = "Lost"
	// doubtHealing: whether a Pod takes the place of another depends on those there are.
	doubtHealing doubt = "Healing"
)

var liveReads = metrics.Factory.NewCounterVec(prometheus.CounterOpts{
	Namespace: metrics.Namespace,
	Name:      "admission_live_reads_total",
	Help:      "Number of reads from the API server that requests waited for, by why the cache was not enough.",
}, []string{"cause"})

// read counts a read from the API server for the doubt.
func (d doubt) read() { liveReads.WithLabelValues(string(d)).Inc() }
