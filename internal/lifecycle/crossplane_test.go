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

package lifecycle

import "testing"

func TestCrossplane(t *testing.T) {
	const (
		claim     = `{compositeDeletePolicy: Background, compositionRef: {name: buckets}, resourceRef: {kind: XBucket, name: blue-x7}}`
		legacyXR  = `{claimRef: {kind: Bucket, name: blue}, compositionUpdatePolicy: Automatic, resourceRefs: []}`
		xr        = `{crossplane: {compositionRef: {name: buckets}, resourceRefs: []}}`
		managed   = `{forProvider: {region: eu}, managementPolicies: ["*"]}`
		bothTrue  = `{conditions: [{type: Synced, status: "True", reason: ReconcileSuccess, observedGeneration: 4}, {type: Ready, status: "True", reason: Available, observedGeneration: 4}]}`
		notReady  = `{conditions: [{type: Synced, status: "True", reason: ReconcileSuccess, observedGeneration: 4}, {type: Ready, status: "False", reason: Creating, observedGeneration: 4}]}`
		notSynced = `{conditions: [{type: Synced, status: "False", reason: ReconcileError, observedGeneration: 4}, {type: Ready, status: "True", reason: Available, observedGeneration: 4}]}`
		paused    = `{conditions: [{type: Synced, status: "False", reason: ReconcilePaused, observedGeneration: 4}, {type: Ready, status: "True", reason: Available, observedGeneration: 4}]}`
		oldReady  = `{conditions: [{type: Synced, status: "True", observedGeneration: 4}, {type: Ready, status: "True", observedGeneration: 3}]}`
		oldSynced = `{conditions: [{type: Synced, status: "True", observedGeneration: 3}, {type: Ready, status: "True", observedGeneration: 4}]}`
		silent    = `{conditions: [{type: Synced, status: "True"}, {type: Ready, status: "True"}]}`
		unheard   = `{conditions: [{type: Responsive, status: "False", reason: WatchCircuitOpen, observedGeneration: 3}, {type: Synced, status: "True", reason: ReconcileSuccess, observedGeneration: 4}, {type: Ready, status: "True", reason: Available, observedGeneration: 4}]}`
		heard     = `{conditions: [{type: Responsive, status: "True", reason: WatchCircuitClosed, observedGeneration: 4}, {type: Synced, status: "True", reason: ReconcileSuccess, observedGeneration: 4}, {type: Ready, status: "True", reason: Available, observedGeneration: 4}]}`
		onlyReady = `{conditions: [{type: Ready, status: "True", observedGeneration: 4}]}`
		onlySync  = `{conditions: [{type: Synced, status: "True", observedGeneration: 4}]}`
	)
	runJudgements(t, map[string]judgement{
		"claim, both":                     {customObject(claim, bothTrue), settledVerdict(whyReady, true)},
		"claim, not ready":                {customObject(claim, notReady), workingVerdict(whyNotTrue)},
		"claim, not synced":               {customObject(claim, notSynced), workingVerdict(whyNotTrue)},
		"claim, paused":                   {customObject(claim, paused), workingVerdict(whyNotTrue)},
		"claim, nothing written yet":      {customObject(claim, `{}`), workingVerdict(whyNotTrue)},
		"XR, both":                        {customObject(xr, bothTrue), settledVerdict(whyReady, true)},
		"XR, ready at another generation": {customObject(xr, oldReady), workingVerdict(whyNotTrue)},
		"XR, synced at another":           {customObject(xr, oldSynced), workingVerdict(whyNotTrue)},
		"XR, only ready":                  {customObject(xr, onlyReady), workingVerdict(whyNotTrue)},
		"XR, only synced":                 {customObject(xr, onlySync), workingVerdict(whyNotTrue)},
		"XR, conditions say no generation": {
			customObject(xr, silent), timedVerdict(whyNoGeneration),
		},
		"XR, no longer followed":          {customObject(xr, unheard), workingVerdict(whyUnresponsive)},
		"XR, followed":                    {customObject(xr, heard), settledVerdict(whyReady, true)},
		"XR of a claim, both":             {customObject(legacyXR, bothTrue), settledVerdict(whyReady, true)},
		"XR of a claim, not synced":       {customObject(legacyXR, notSynced), workingVerdict(whyNotTrue)},
		"managed resource, both":          {customObject(managed, bothTrue), settledVerdict(whyReady, true)},
		"managed resource, not synced":    {customObject(managed, notSynced), workingVerdict(whyNotTrue)},
		"managed resource, synced before": {customObject(managed, oldSynced), workingVerdict(whyNotTrue)},
		"no composition, only ready":      {customObject(managed, onlyReady), settledVerdict(whyReady, true)},
	})
}

// TestUnresponsive has only a composite resource be told of that Crossplane does not follow.
func TestUnresponsive(t *testing.T) {
	const (
		open   = `{conditions: [{type: Responsive, status: "False", reason: WatchCircuitOpen}]}`
		closed = `{conditions: [{type: Responsive, status: "True", reason: WatchCircuitClosed}]}`
		xr     = `{crossplane: {compositionRef: {name: buckets}, resourceRefs: []}}`
	)
	for name, tt := range map[string]struct {
		spec, status, want string
	}{
		"an open breaker":  {xr, open, unresponsive},
		"a closed one":     {xr, closed, ""},
		"no condition":     {xr, `{}`, ""},
		"something else's": {`{forProvider: {region: eu}}`, open, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Unresponsive(parse(t, customObject(tt.spec, tt.status))); got != tt.want {
				t.Errorf("it says %q", got)
			}
		})
	}
}
