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

package stats

import "fmt"

// Verdict says whether a target holds.
type Verdict string

// The verdicts. A value that is measured keeps to its target where its whole interval
// does, and does not where none of it does.
const (
	Holds    Verdict = "holds"
	Open     Verdict = "open: the interval has the target in it"
	Missed   Verdict = "MISSED"
	NoTarget Verdict = ""
)

// Against reports whether what is between low and high is at most the limit.
func Against(low, high, limit float64) Verdict {
	switch {
	case high <= limit:
		return Holds
	case low > limit:
		return Missed
	default:
		return Open
	}
}

// Judge returns the verdict on what either is so, or not.
func Judge(holds bool) Verdict {
	if holds {
		return Holds
	}
	return Missed
}

// String returns the value, and in parentheses the interval.
func (i Interval) String() string {
	return fmt.Sprintf("%.2f (%.2f to %.2f)", i.Value, i.Low, i.High)
}
