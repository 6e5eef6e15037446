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

package discovery

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
)

const (
	// lackingFor is for how long what is not served is taken not to be: it may be defined meanwhile.
	lackingFor = 10 * time.Second
	// lackingPatience is for how long an answer is waited for. It is for a warning only.
	lackingPatience = time.Second
	// mostLacking is how many group versions are remembered, as anybody may name any.
	mostLacking = 128
	// lackingRate and lackingBurst bound how often the API server is asked, for the same reason.
	lackingRate, lackingBurst = 5, 20
)

// Lacking tells of kinds that objects name whether they are served: also of those that no policy names, of which a
// Resolver knows nothing. It is safe for concurrent use.
type Lacking struct {
	// Discovery asks the API server.
	Discovery interface {
		ServerResourcesForGroupVersionWithContext(ctx context.Context, groupVersion string) (*metav1.APIResourceList, error)
	}
	// Clock tells the time.
	Clock clock.PassiveClock

	mu      sync.Mutex
	limiter *rate.Limiter
	known   map[schema.GroupVersion]served
}

// served are the kinds of a group version, and when they were.
type served struct {
	kinds []string
	asked time.Time
}

// Lacks reports whether the API server is known not to serve a kind in its version. Where it cannot be asked, or has been
// asked too often in the last second, nothing is known.
func (l *Lacking) Lacks(ctx context.Context, gvk schema.GroupVersionKind) bool {
	gv := gvk.GroupVersion()
	known, ok := l.remembered(gv)
	if ok && slices.Contains(known.kinds, gvk.Kind) {
		return false
	}
	if ok && l.Clock.Since(known.asked) < lackingFor {
		return true
	}
	if !l.mayAsk() {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, lackingPatience)
	defer cancel()
	now := served{asked: l.Clock.Now()}
	list, err := l.Discovery.ServerResourcesForGroupVersionWithContext(ctx, gv.String())
	if err != nil && !apierrors.IsNotFound(err) {
		return false
	}
	if err == nil {
		for i := range list.APIResources {
			now.kinds = append(now.kinds, list.APIResources[i].Kind)
		}
	}
	l.remember(gv, now)
	return !slices.Contains(now.kinds, gvk.Kind)
}

func (l *Lacking) remembered(gv schema.GroupVersion) (served, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known, ok := l.known[gv]
	return known, ok
}

func (l *Lacking) remember(gv schema.GroupVersion, now served) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil || len(l.known) >= mostLacking {
		l.known = map[schema.GroupVersion]served{}
	}
	l.known[gv] = now
}

func (l *Lacking) mayAsk() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.limiter == nil {
		l.limiter = rate.NewLimiter(lackingRate, lackingBurst)
	}
	return l.limiter.AllowN(l.Clock.Now(), 1)
}
