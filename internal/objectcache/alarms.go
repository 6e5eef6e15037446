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

package objectcache

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

const (
	// alarmGrain is how exact alarms are.
	alarmGrain = time.Second
	// longestAlarm is how far away they are at most. People may write down times that are
	// hundreds of years away, which cannot be added to.
	longestAlarm = 24 * time.Hour
)

// Alarms queue requests when it is time to look at them again. They are for times that are
// far away: each holder may wait for one, and a queue keeps ten times as much for each that
// it is to add later. Its zero value is ready, and safe for concurrent use.
type Alarms struct {
	mu    sync.Mutex
	began time.Time
	// due is when each request is to be queued, counted in grains since began. None is due before first.
	due   map[Request]int64
	first int64
}

// Set has a request queued after a while, and up to a second later, or after a day if that is
// sooner: it is for those who set it again where they look too early. It replaces what was set for
// the request before: an object that changes often would otherwise have many entries, each until it is due.
func (a *Alarms) Set(req Request, after time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.due == nil {
		a.began, a.due = time.Now(), map[Request]int64{}
	}
	at := int64((time.Since(a.began)+min(after, longestAlarm))/alarmGrain) + 1
	if len(a.due) == 0 || at < a.first {
		a.first = at
	}
	a.due[req] = at
}

// Drop takes back what is set for a request.
func (a *Alarms) Drop(req Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.due, req)
}

// Source queues requests when their time has come.
func (a *Alarms) Source() source.TypedSource[Request] {
	return source.TypedFunc[Request](func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[Request]) error {
		go a.run(ctx, queue)
		return nil
	})
}

func (a *Alarms) run(ctx context.Context, queue workqueue.TypedRateLimitingInterface[Request]) {
	ticker := time.NewTicker(alarmGrain)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		Feed(ctx, queue, slices.Values(a.take()))
	}
}

// take removes and returns what is due.
func (a *Alarms) take() []Request {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := int64(time.Since(a.began) / alarmGrain)
	if len(a.due) == 0 || a.first > now {
		return nil
	}
	var out []Request
	a.first = math.MaxInt64
	for req, at := range a.due {
		if at > now {
			a.first = min(a.first, at)
			continue
		}
		out = append(out, req)
		delete(a.due, req)
	}
	return out
}
