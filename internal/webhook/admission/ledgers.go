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

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lifecycle"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

const (
	// knownLedgers is how many ledgers are kept decoded: some per object that is
	// being rolled out.
	knownLedgers = 1024
	// knownBytes is how long the text of one of them may be. It bounds what they all
	// take; few ledgers are longer.
	knownBytes = 8 * 1024
)

// ledgers reads the ledgers of objects. In a rollout the same text is read over and
// over: that of the parent with each child, and that of an object by both hooks and
// at its next change. The zero value can be used.
type ledgers struct {
	once  sync.Once
	known *lru.Cache
}

// storedLedger is the ledger in an annotation. It is shared, and does not change.
type storedLedger struct {
	ledger ledger.Ledger
	// err is set where the text is not a ledger.
	err error
}

// of reads the ledger in the annotation of an object.
func (l *ledgers) of(obj *unstructured.Unstructured) (ledger.Ledger, error) {
	text := ledger.Annotation(obj, ledger.NameAllowances)
	if text == "" || len(text) > knownBytes {
		return ledger.Decode(text)
	}
	l.once.Do(func() { l.known = lru.New(knownLedgers) })
	if known, ok := l.known.Get(text); ok {
		if stored, ok := known.(storedLedger); ok {
			return stored.ledger, stored.err
		}
	}
	decoded, err := ledger.Decode(text)
	l.known.Add(text, storedLedger{ledger: decoded, err: err})
	return decoded, err
}

// unspent returns the effective ledger of a parent without the pending grants that its status has used
// up. stored is the ledger in its annotation, of which a status update removes what it uses up; a pending
// grant stays in the record until the operator looks. *Observed*: a third of a second after a scale of a
// Deployment was done, its controller could still scale the ReplicaSet, and to any size.
func unspent(
	ctx context.Context, rec *v1alpha1.AllowanceRecord, parent *unstructured.Unstructured, stored ledger.Ledger, policies []*policy.Policy,
) ledger.Ledger {
	effective := record.Effective(rec, parent, stored)
	if rec == nil || len(rec.Status.PendingGrants) == 0 {
		return effective
	}
	spent := lifecycle.Consumed(ctx, parent, policies, lifecycle.Unknown)
	return effective.Without(func(e ledger.Entry) bool { return !hasID(stored, e) && spent(e) })
}

// ledgerBefore returns the ledger that the object carries before the request. The operator
// itself moves one from a former key: what it writes was there before.
func (r *request) ledgerBefore(f *facts) (ledger.Ledger, error) {
	if f.Operator && r.movesOwn(ledger.NameAllowances) {
		return r.ledgers.of(r.new)
	}
	return r.ledgers.of(r.old)
}

// movesOwn reports whether a request gives an object one of its own annotations that it has
// had under the key of objects without an owner.
func (r *request) movesOwn(name string) bool {
	return r.new != nil && r.old != nil && r.subresource == "" && ledger.AnnotationKey(r.new, name) != v1alpha1.AnnotationPrefix+name &&
		annotation(r.old, v1alpha1.AnnotationPrefix+name) != "" && annotation(r.new, v1alpha1.AnnotationPrefix+name) == "" &&
		ledger.Annotation(r.new, name) != ledger.Annotation(r.old, name)
}

// ledgerAsked returns the ledger that the object carries as the request has it.
func (r *request) ledgerAsked() (ledger.Ledger, error) { return r.ledgers.of(r.new) }

// keepLedger makes sure that a ledger that the object is about to get by an update has a record:
// without one nothing of it counts. It is the mutating hook's, whom approvals alone reach.
func (g *Gatherer) keepLedger(ctx context.Context, r *request, f *facts, next ledger.Ledger) error {
	if r.dryRun || !holdsAllowances(next) || record.KnowsLedger(f.record) {
		return nil
	}
	if f.recordError != nil {
		return lostError{f.recordError}
	}
	void := f.stored.Without(func(e ledger.Entry) bool { return e.IsWithheld() || hasID(next, e) })
	if err := g.Records.KeepLedger(ctx, r.target(), types.UID(f.Parent.UID), void); err != nil {
		return lostError{err}
	}
	return nil
}

// keepCreation makes sure that an object that is being created has a record, if it gets a ledger,
// or policies are in effect for it. It is the validating hook's, to whom the UID is known. Where
// policies are in effect and allow nothing, or another webhook has taken the ledger away, the
// record alone tells that somebody was asked. pending is what was granted and the object is about to be
// stored without.
func (g *Gatherer) keepCreation(ctx context.Context, r *request, f *facts, pending []v1alpha1.PendingGrant) error {
	has, _ := r.ledgerAsked() // What cannot be read allows nothing.
	if !holdsAllowances(has) && len(f.OwnPolicies) == 0 {
		return nil
	}
	if err := g.Records.KeepCreation(ctx, r.target(), types.UID(f.Parent.UID), pending...); err != nil {
		return lostError{err}
	}
	return nil
}
