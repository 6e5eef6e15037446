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
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lifecycle"
	"kausality.io/operator/internal/objectcache"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/upgrade"
)

// view is one look at a holder. What follows from it is decided by its methods,
// which read nothing else.
type view struct {
	obj *unstructured.Unstructured
	// versionToName is the version that a command about the holder has to name; empty for none.
	versionToName string
	// uncached is true where obj is what a rewrite returned, which the cache does not have yet.
	uncached bool
	// stored is the ledger in the annotation; nil where that is unreadable.
	stored ledger.Ledger
	// raw is the annotation, unreadable whether it is no ledger.
	raw        string
	unreadable bool
	// policies are those in effect, the oldest first.
	policies []*policy.Policy
	// gating are the policies that gate it, the oldest first.
	gating []*policy.Policy
	// upgrades are the UpgradeAllowances that select it.
	upgrades []*upgrade.Allowance
	progress lifecycle.Progress
	now      time.Time
	// changed is since when the holder's status tells of its spec, and quietTime how long nothing
	// may have happened to it, where its status alone is not believed.
	changed   time.Time
	quietTime time.Duration
	// usedUp knows since when nothing of the ledger is left, and restTime for how long it has
	// to be before the object is written for it; nil where it never is. judged is true where a
	// policy says when the object has settled.
	usedUp   *usedUp
	restTime time.Duration
	judged   bool
	// content identifies what of the holder can be withheld, nil where that is not
	// looked at, and unseen what of it was changed while no operator looked.
	content *v1alpha1.ApprovedContent
	unseen  unseen
	// lapsed reports whether the API server does not ask, or has ceased to since the look; nil where
	// that does not matter.
	lapsed func() bool
	// parents are the ids of those that the holder names, where that matters, and attached
	// those that somebody gave it while no operator looked.
	parents  []string
	attached attached
	// parent is the uid of its parent, empty where it has none, and nil where nobody knows.
	parent *types.UID
	// digestKey keys the digests of values.
	digestKey string
	// isLost is true where the record of it was lost, and with it which entries of the stored
	// ledger are used up.
	isLost bool
	// inherited is who deletes the holder by deleting what is above it, where that
	// is so and known.
	inherited *v1alpha1.Deletion
}

func look(obj *unstructured.Unstructured, policies []*policy.Policy, now time.Time) view {
	key := ledger.AnnotationKey(obj, ledger.NameAllowances)
	raw := obj.GetAnnotations()[key]
	stored, err := ledger.Decode(raw)
	return view{
		obj:        obj,
		stored:     stored,
		raw:        raw,
		unreadable: err != nil,
		policies:   policies,
		progress:   lifecycle.Of(obj, policies),
		now:        now,
	}
}

// isLapsed reports whether what the holder is now may be so as nobody is asked.
func (v view) isLapsed() bool { return v.lapsed != nil && v.lapsed() }

// request names the holder.
func (v view) request() objectcache.Request {
	return objectcache.RequestFor(v.obj.GroupVersionKind(), client.ObjectKeyFromObject(v.obj))
}

// deservesRecord reports whether the holder gets a record if it has none.
func (v view) deservesRecord() bool {
	return len(v.stored) > 0 || v.unreadable || gate.ReadState(v.obj.GetAnnotations()).Adopted() || len(v.unseen.fields) > 0 || len(v.attached.refs) > 0
}

// holdsAllowances reports whether the stored ledger has more than withheld changes.
func (v view) holdsAllowances() bool {
	return slices.ContainsFunc(v.stored, func(e ledger.Entry) bool { return !e.IsWithheld() })
}

// withheld reports whether the stored ledger has a withheld change.
func (v view) withheld() bool {
	return slices.ContainsFunc(v.stored, ledger.Entry.IsWithheld)
}

// generationOf names one generation of a policy.
func generationOf(p *policy.Policy) string {
	return fmt.Sprintf("%s/%d", p.Name, p.Generation)
}
