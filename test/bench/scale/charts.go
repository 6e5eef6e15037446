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

package main

import (
	"math"

	"kausality.io/operator/test/bench/scale/plot"
)

// The packages that have the benchmarks.
const (
	policyPackage    = "./internal/policy"
	ledgerPackage    = "./internal/ledger"
	admissionPackage = "./internal/webhook/admission"
)

// The units of what is measured, as golang.org/x/perf has them.
const (
	perOp    = "sec/op"
	perAsked = "sec/handle"
	byDecode = "x-decode"
)

// bench is a benchmark. Its sub-benchmarks are named after their places on the axis,
// and some also after the request that they are about.
type bench struct {
	pkg, name string
	// is what it is called in charts; that of a benchmark with requests is followed
	// by their names.
	is   string
	unit string
}

// chart is an axis, and what is measured along it.
type chart struct {
	// file is the name of the chart, without its extension.
	file  string
	title string
	// key is what the sub-benchmarks have in their names, as key=place.
	key string
	// x and y are the axes of the chart. A place times that many is in the unit of x.
	x, y    plot.Axis
	times   float64
	benches []bench
	target  target
}

// target is what the values of a chart are to keep to.
type target struct {
	// growth is the most that the value at the last place may be by that at the
	// first, given the places; nil where there is no such target.
	growth func(first, last float64) float64
	// most is the largest that any value may be; zero where there is no such target.
	most float64
}

// atMost returns a growth by no more than a factor, however far apart the places are.
func atMost(factor float64) func(first, last float64) float64 {
	return func(_, _ float64) float64 { return factor }
}

// logarithmic returns the growth of the logarithm of the place.
func logarithmic(first, last float64) float64 { return math.Log(last) / math.Log(first) }

const seconds = "s"

var charts = []chart{
	{
		file: "policies", title: "Among policies for other kinds", key: "others",
		x: plot.Axis{Label: "policies for other kinds"}, y: plot.Axis{Label: "time", Unit: seconds},
		benches: []bench{
			{admissionPackage, "HandleAmongOthers", "handler", perAsked},
			{policyPackage, "IndexInEffect", "policies in effect", perOp},
			{policyPackage, "IndexFor", "policies of a kind", perOp},
		},
		target: target{growth: atMost(1.1)},
	},
	{
		file: "rules", title: "With rules for one kind", key: "rules",
		x: plot.Axis{Label: "rules for the kind, 64 a policy"}, y: plot.Axis{Label: "time", Unit: seconds},
		benches: []bench{
			{admissionPackage, "HandleRules", "handler", perAsked},
			{policyPackage, "Triggered", "rules triggered", perOp},
		},
		target: target{growth: logarithmic},
	},
	{
		file: "peers", title: "Among policies for the same kind in other namespaces", key: "peers",
		x: plot.Axis{Label: "policies for the kind"}, y: plot.Axis{Label: "time", Unit: seconds},
		benches: []bench{{policyPackage, "IndexInEffectOfKind", "policies in effect", perOp}},
		target:  target{growth: logarithmic},
	},
	{
		file: "ledger", title: "With allowances on the parent", key: "entries",
		x: plot.Axis{Label: "entries of the parent's ledger"}, y: plot.Axis{Label: "time", Unit: seconds},
		benches: []bench{
			{admissionPackage, "HandleLedger", "handler", perAsked},
			{ledgerPackage, "Decode", "decoding the ledger", perOp},
		},
	},
	{
		file: "size", title: "With the size of the object", key: "kib", times: 1 << 10,
		x: plot.Axis{Label: "size of the object", Unit: "B"}, y: plot.Axis{Label: "time", Unit: seconds},
		benches: []bench{{admissionPackage, "Handle", "handler", perAsked}},
	},
	{
		file: "decoding", title: "Handling by decoding the review and both objects", key: "kib", times: 1 << 10,
		x: plot.Axis{Label: "size of the object", Unit: "B"}, y: plot.Axis{Label: "time of the handler by that of decoding"},
		benches: []bench{{admissionPackage, "Handle", "handler", byDecode}},
		target:  target{most: 1.5},
	},
}
