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

package crossplane

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/ledger"
)

// sparesCreate reports whether a write needs no Create although its ledger allows it: all
// that allows it is the creation of the parent, which lets whatever follows be created,
// and what the object stands for is there already. Who creates nothing cannot bring back
// what has vanished.
func sparesCreate(w gate.Write) bool {
	return !mayHaveToCreate(w) && !slices.ContainsFunc(w.Ledger, func(e ledger.Entry) bool {
		return e.IsGate() && creates(e) && !followsCreation(e)
	})
}

// mayHaveToCreate reports whether the provider may have something to create. That is
// asked where a gate opens: one that is open stays as it was opened, as long as nothing
// speaks against it, since what a status says in passing is no reason for a write.
func mayHaveToCreate(w gate.Write) bool {
	if w.Old == nil || w.Old.GetAnnotations()[ExternalNameAnnotation] != w.New.GetAnnotations()[ExternalNameAnnotation] {
		return true
	}
	s := signalsOf(w.Old)
	if lets := (Driver{}).Lets(w.Old); !w.Brings && len(lets) > 0 {
		return slices.Contains(lets, actionCreate) || s.isMissing()
	}
	return !s.exists()
}

// isMissing tells of a resource that the cloud certainly lacks, or may.
func (s signals) isMissing() bool {
	return s.notFound || s.create == createPending || s.create == createFailed
}

// exists reports whether the cloud has, or had, what a resource stands for: not while it
// is being created.
func (s signals) exists() bool {
	if s.isMissing() {
		return false
	}
	return isTrue(s.ready) || !known(s.ready) && success(s.synced) && len(s.atProvider) > 0
}

// NeverOutside implements gate.Driver. A resource that was lost is still Ready, or tells by whom it was
// created. That a pass has failed says nothing of what is there.
func (Driver) NeverOutside(obj *unstructured.Unstructured) bool {
	s := signalsOf(obj)
	return known(s.synced) && s.create == createNone && !known(s.ready) && !known(s.async) && !known(s.lastAsync) && len(s.atProvider) == 0
}

// IsOutside implements gate.Driver.
func (Driver) IsOutside(obj *unstructured.Unstructured) bool { return signalsOf(obj).exists() }

func creates(e ledger.Entry) bool {
	return slices.Contains(e.Mutations, actionCreate) || slices.Contains(e.Mutations, v1alpha1.Any)
}

// followsCreation reports whether an entry goes with a change that the creation of the
// parent lets through.
func followsCreation(e ledger.Entry) bool {
	hops := len(e.Trace)
	return hops > 1 && e.Trace[hops-1].Field != v1alpha1.FieldCreated && e.Trace[hops-2].Field == v1alpha1.FieldCreated
}
