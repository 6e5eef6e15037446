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

package knowledge

import "time"

// A controller that goes by a schedule starts things at full minutes, and then writes down what it has
// started. With many objects that takes a while, the longer the slower its client may be. Before a full
// minute it has to have seen what was written, by a clock that is not quite the API server's.
const (
	// LullBegins is how long after a full minute an object may be written whose controllers go by it.
	LullBegins = 30 * time.Second
	// LullEnds is how long after a full minute it may not be any more.
	LullEnds = 50 * time.Second
)

// Lull returns for how long a write of an object has to wait so as not to come between what its
// controllers do; zero where it need not.
func (k *Kind) Lull(now time.Time) time.Duration {
	if !k.FullMinutes {
		return 0
	}
	switch into := now.Sub(now.Truncate(time.Minute)); {
	case into < LullBegins:
		return LullBegins - into
	case into >= LullEnds:
		return time.Minute + LullBegins - into
	default:
		return 0
	}
}
