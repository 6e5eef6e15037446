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

package checker

import (
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/test/campaign/audit"
)

// Looping says that the operator does not write an object again and again.
const Looping Promise = "an object that the operator writes again and again"

// Invalid says that the API server takes what the operator writes: what it does not take is written never.
const Invalid Promise = "a write of the operator's that is invalid"

// At most the operator writes an object a few times for each request of anybody else about it, and some times in any case. What
// is far beyond that is a loop. Records are written for what happens to others, and are not looked at.
const (
	perRequest = 2
	anyway     = 200
)

// checkLoops counts the operator's writes of each object against the requests of others for what has its name.
func (c *checker) checkLoops() {
	own, others := map[types.UID]int{}, map[string]int{}
	for _, w := range c.Log.Writes {
		switch {
		case w.User != c.Operator:
			others[w.Namespace+"/"+w.Name]++
		case w.UID != "" && w.Resource != events:
			own[w.UID]++
		}
	}
	for _, l := range c.all {
		v := l.First()
		if controllers[v.Kind] == "" {
			continue
		}
		if most := anyway + perRequest*others[v.Namespace+"/"+v.Name]; own[l.UID] > most {
			c.findf(Looping, l.Last().By.Received, l, nil, "the operator has written it %d times, and others have asked about it %d times", own[l.UID], others[v.Namespace+"/"+v.Name])
		}
	}
}

// otherUID is of what the API server says where a patch names the UID of another object, so as to change that one and no other.
const otherUID = "metadata.uid: Invalid value"

// checkInvalid looks for what the operator wrote and the API server found invalid, once for each object.
func (c *checker) checkInvalid() {
	times, last := map[*audit.Life]int{}, map[*audit.Life]*audit.Write{}
	for _, w := range c.Log.Writes {
		if w.User != c.Operator || w.Code != http.StatusUnprocessableEntity || strings.Contains(w.Message, otherUID) {
			continue
		}
		for _, l := range c.byName[kinds[w.Resource]+"/"+w.Namespace+"/"+w.Name] {
			if !l.First().By.Received.After(w.Received) && !l.GoneBefore(w.Received) {
				times[l]++
				last[l] = w
			}
		}
	}
	for _, l := range c.all {
		if w := last[l]; w != nil {
			c.findf(Invalid, w.Received, l, nil, "%d times, the last one: %s: %s", times[l], w, w.Message)
		}
	}
}
