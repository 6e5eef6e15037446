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

package holder

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/internal/controller/requeue"
)

// DefaultLedgerRestTime is for how long all of the ledger of a custom resource has to be used
// up before the operator writes the object to take it out.
const DefaultLedgerRestTime = 10 * time.Minute

// The status of a custom resource is written without its metadata, so that the report which
// uses up the last allowance leaves the ledger as it is. The next write of the object by
// anybody takes it out, at no cost. Where none comes, the operator makes one itself, once the
// object has been at rest for a while: a controller that has just been at work would have a
// conflict, or reconcile again, for nothing that matters to it.

// usedUp remembers since when all of the ledgers of holders is used up. That is not kept
// anywhere: another process begins anew. Its zero value is ready for use.
type usedUp struct {
	mu    sync.Mutex
	known map[types.UID]usedUpLedger
}

type usedUpLedger struct {
	ledger string
	since  time.Time
}

// since returns when the ledger of a holder was first seen to be used up.
func (u *usedUp) since(uid types.UID, ledger string, now time.Time) time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	known, ok := u.known[uid]
	if !ok || known.ledger != ledger {
		known = usedUpLedger{ledger: ledger, since: now}
		if u.known == nil {
			u.known = map[types.UID]usedUpLedger{}
		}
		u.known[uid] = known
	}
	return known.since
}

// forget a holder that is gone, or whose ledger allows something.
func (u *usedUp) forget(uid types.UID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.known, uid)
}

// rests reports whether an object, of whose ledger nothing is left that counts, has been so
// for long enough to be written for it, and has it looked at again when it will have been.
func (v view) rests(isUsedUp bool, next *requeue.Soonest) bool {
	switch {
	case v.usedUp == nil:
		return false
	case !isUsedUp || !v.progress.Settled && !v.progress.Timed && !v.judged:
		v.usedUp.forget(v.obj.GetUID())
		return false
	}
	end := v.usedUp.since(v.obj.GetUID(), v.raw, v.now).Add(v.restTime)
	if end.After(v.now) {
		next.At(end)
		return false
	}
	return true
}
