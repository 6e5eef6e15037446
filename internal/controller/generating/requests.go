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

package generating

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/generate/kept"
)

// requests knows which Secrets keep the requests that are triggers. It is the index of a watch, and is made
// anew with it.
type requests struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// by holds the Secrets of each trigger, of the trigger of each Secret.
	by map[request]map[string]*keptIn
	of map[string]request
}

// keptIn is what is known of a Secret without its content.
type keptIn struct {
	// asked is the time of the request, seen the one when the Secret was seen first.
	asked, seen time.Time
	// looked is true once it is known what the policy wants for the request.
	looked bool
	// made has what was noted in the Secret, which its watch may not show yet.
	made []v1alpha1.GeneratedObject
}

func newRequests(c clock.PassiveClock) *requests {
	return &requests{clock: c, by: map[request]map[string]*keptIn{}, of: map[string]request{}}
}

// note remembers that a Secret keeps a request.
func (r *requests) note(secret string, req request, asked time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by[req] == nil {
		r.by[req] = map[string]*keptIn{}
	}
	if _, known := r.by[req][secret]; !known {
		r.by[req][secret] = &keptIn{asked: asked, seen: r.clock.Now()}
	}
	r.of[secret] = req
}

// forget forgets a Secret, and returns the trigger that it kept.
func (r *requests) forget(secret string) (request, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	req, ok := r.of[secret]
	delete(r.of, secret)
	delete(r.by[req], secret)
	if len(r.by[req]) == 0 {
		delete(r.by, req)
	}
	return req, ok
}

// secretsOf returns the Secrets of a trigger, the latest request first: that one counts.
func (r *requests) secretsOf(req request) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.by[req]
	return slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(all[b].asked.Compare(all[a].asked), cmp.Compare(b, a))
	})
}

// seen returns the time when a Secret was seen first; now if it is not known.
func (r *requests) seen(secret string) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if in := r.by[r.of[secret]][secret]; in != nil {
		return in.seen
	}
	return r.clock.Now()
}

// made returns the objects that were made for the request in a Secret: those that its content names, those
// that were noted since, and further ones, which are noted.
func (r *requests) made(secret string, content []v1alpha1.GeneratedObject, further ...v1alpha1.GeneratedObject) []v1alpha1.GeneratedObject {
	r.mu.Lock()
	defer r.mu.Unlock()
	in := r.by[r.of[secret]][secret]
	if in == nil {
		return append(slices.Clone(content), further...) // The Secret is gone: nobody asks again.
	}
	for _, note := range slices.Concat(content, further) {
		if !slices.Contains(in.made, note) {
			in.made = append(in.made, note)
		}
	}
	return slices.Clone(in.made)
}

// noteLooked notes that it is known what the policy wants for the requests in these Secrets.
func (r *requests) noteLooked(secrets []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, secret := range secrets {
		if in := r.by[r.of[secret]][secret]; in != nil {
			in.looked = true
		}
	}
}

// isOpen reports whether a request about an object waits for the policy to be evaluated for it.
func (r *requests) isOpen(policy string, object generate.ID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for req, all := range r.by {
		if req.policy != policy || req.trigger.Request == "" || req.trigger.Of() != object {
			continue
		}
		for _, in := range all {
			if !in.looked {
				return true
			}
		}
	}
	return false
}

// has reports whether a Secret is known.
func (r *requests) has(secret string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.of[secret]
	return ok
}

// addTo adds the triggers of a policy for which requests are kept.
func (r *requests) addTo(triggers map[generate.ID]bool, policy string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for req := range r.by {
		if req.policy == policy {
			triggers[req.trigger] = true
		}
	}
}

// tooMany returns the Secrets of a policy beyond kept.MaxRequests, which are the oldest ones.
func (r *requests) tooMany(policy string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked := map[string]time.Time{}
	for req, all := range r.by {
		if req.policy == policy {
			for secret, in := range all {
				asked[secret] = in.asked
			}
		}
	}
	oldest := slices.SortedFunc(maps.Keys(asked), func(a, b string) int { return asked[a].Compare(asked[b]) })
	return oldest[:max(0, len(oldest)-kept.MaxRequests)]
}
