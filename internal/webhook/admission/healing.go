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

package admission

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"kausality.io/operator/internal/decision"
)

// Pods knows the Pods of a holder.
type Pods interface {
	// Alive returns the names of the Pods that the holder controls and that have
	// neither ended nor are being deleted, as the API server has them.
	Alive(ctx context.Context, holder *unstructured.Unstructured) (sets.Set[string], error)
}

// healing finds out, while a change of the number of the parent's Pods is withheld,
// whether the Pod of the request takes the place of one that was there before (D2); and where
// its controller leads Pods back, whether there are fewer or more than it has.
// It costs a call, and is asked only then.
func (g *Gatherer) healing(ctx context.Context, r *request, f *facts) error {
	count, ok := f.WithheldCount()
	if !ok {
		count, ok = f.ReturningCount()
	}
	if !ok {
		return nil
	}
	doubtHealing.read()
	alive, err := g.Pods.Alive(ctx, f.parentObject)
	if err != nil {
		return err
	}
	if f.Operation == decision.Delete {
		f.Parent.Beyond = alive.Has(f.Child.Name) && int64(alive.Len()) > count
		return nil
	}
	if r.validating && !r.dryRun {
		f.Parent.Short = g.replacements.hasRoom(f.parentObject.GetUID(), f.Child.Name, alive, count)
	} else {
		f.Parent.Short = int64(alive.Delete(f.Child.Name).Len()) < count
	}
	f.alive, f.places = alive, count
	return nil
}

// takePlace has a Pod that heals take its place, and returns false where others have taken
// all that there are since it was decided.
func (v *Validator) takePlace(f *facts) bool {
	return !f.Parent.Short || v.replacements.claim(f.parentObject.GetUID(), f.Child.Name, f.alive, f.places)
}

// admittedAgo is how long an admitted Pod may take to be stored and seen.
const admittedAgo = 10 * time.Second

// replacements are the Pods that were admitted to take the place of another, until
// they are seen: a controller creates several at a time, and none of their requests
// sees the others. Another replica of the operator does not see them either; then
// there may be some Pods more than before the withheld change.
type replacements struct {
	mu       sync.Mutex
	admitted map[types.UID]map[string]time.Time
}

// hasRoom reports whether a Pod makes no more than count together with those that are
// alive or admitted.
func (p *replacements) hasRoom(holder types.UID, name string, alive sets.Set[string], count int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	others := alive.Clone().Delete(name)
	for pod, since := range p.admitted[holder] {
		if pod != name && time.Since(since) <= admittedAgo {
			others.Insert(pod)
		}
	}
	return int64(others.Len()) < count
}

// claim reports the same, and has the Pod take its place then.
func (p *replacements) claim(holder types.UID, name string, alive sets.Set[string], count int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	others := alive.Clone().Delete(name)
	for uid, names := range p.admitted {
		for pod, since := range names {
			switch {
			case now.Sub(since) > admittedAgo, uid == holder && alive.Has(pod):
				delete(names, pod)
			case uid == holder && pod != name:
				others.Insert(pod)
			}
		}
		if len(names) == 0 {
			delete(p.admitted, uid)
		}
	}
	if int64(others.Len()) >= count {
		return false
	}
	if p.admitted == nil {
		p.admitted = map[types.UID]map[string]time.Time{}
	}
	if p.admitted[holder] == nil {
		p.admitted[holder] = map[string]time.Time{}
	}
	p.admitted[holder][name] = now
	return true
}
