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

package gate

import (
	"strconv"

	"kausality.io/operator/internal/gate"
)

// passPrefix begins the tokens of passes that the operator asks for.
const passPrefix = "kausality-"

// passToken returns the token of the n-th pass that is asked for at the present generation.
// It says all that is known of it, so that nothing else has to be remembered.
func (v view) passToken(n int) string {
	token := passPrefix + strconv.FormatInt(v.obj.GetGeneration(), 10)
	if n > 1 {
		token += "-" + strconv.Itoa(n)
	}
	return token
}

// pass returns the token of the last pass that was asked for at the present generation,
// and how many were.
func (v view) pass() (token string, passes int) {
	token = v.obj.GetAnnotations()[v.driver.PassAnnotation()]
	for n := 1; n <= maxPasses; n++ {
		if token == v.passToken(n) {
			return token, n
		}
	}
	return "", 0
}

// maxPasses is how many passes a driver asks for at most; each is a write that
// counts for Crossplane's circuit breaker.
const maxPasses = 2

// ask has the system look once more.
func (v view) ask(c gate.Change) map[string]*string {
	return map[string]*string{v.driver.PassAnnotation(): new(v.passToken(c.Passes + 1))}
}
