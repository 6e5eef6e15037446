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

package target

import "time"

const (
	// maxWindow is how many times a window remembers at most. Where more may be in a
	// second, it is shorter.
	maxWindow = 1000
	// windowSlack is how much longer a window is than the time that it is for: what is
	// done at one time is seen a little later, and not always equally so.
	windowSlack = 1.05
)

// window lets something be done so often in any stretch of time, wherever that begins.
type window struct {
	length time.Duration
	// times are when it was done last, a ring that begins at oldest.
	times  []time.Time
	oldest int
}

// newWindow lets something be done so often in any second; where that is less than once,
// once in as long as that takes.
func newWindow(perSecond float64) *window {
	n := max(1, min(int(perSecond), maxWindow))
	length := float64(time.Second)
	if perSecond < 1 || perSecond > maxWindow {
		length *= float64(n) / perSecond
	}
	return &window{length: time.Duration(windowSlack * length), times: make([]time.Time, n)}
}

// allow reports whether it may be done now, and then takes it as done.
func (w *window) allow(now time.Time) bool {
	if now.Sub(w.times[w.oldest]) < w.length {
		return false
	}
	w.times[w.oldest] = now
	w.oldest = (w.oldest + 1) % len(w.times)
	return true
}
