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
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// object is what matters of a workload, a policy or a record.
type object struct {
	Kind     string            `json:"kind"`
	Metadata metav1.ObjectMeta `json:"metadata"`
	RawSpec  json.RawMessage   `json:"spec"`
	Status   status            `json:"status"`

	// Spec is RawSpec as it decodes, and ledger what the annotation says.
	Spec      any `json:"-"`
	ledger    []entry
	ledgerErr error
}

// status is that of any of the kinds.
type status struct {
	ObservedGeneration int64 `json:"observedGeneration"`
	Replicas           int64 `json:"replicas"`
	UpdatedReplicas    int64 `json:"updatedReplicas"`
	AvailableReplicas  int64 `json:"availableReplicas"`

	Conditions []metav1.Condition `json:"conditions"`

	Phase         string         `json:"phase"`
	Active        []entry        `json:"active"`
	PendingGrants []pendingGrant `json:"pendingGrants"`
	// Adopting is true or false of a record; of a policy it is a number.
	Adopting any            `json:"adopting"`
	Denials  int64          `json:"denials"`
	History  []historyEntry `json:"history"`
	EndedAt  *metav1.Time   `json:"endedAt"`
}

// adopting tells whether a record says that its object is.
func (s *status) adopting() bool {
	adopting, ok := s.Adopting.(bool)
	return ok && adopting
}

// pendingGrant is on its way into a ledger.
type pendingGrant struct {
	Time       metav1.Time `json:"time"`
	Allowances []entry     `json:"allowances"`
}

// historyEntry is what a record says that happened.
type historyEntry struct {
	Time  metav1.Time `json:"time"`
	Event string      `json:"event"`
	User  string      `json:"user"`
	Kind  string      `json:"kind"`
	Names []string    `json:"names"`
}

// The annotations with ledgers: ReplicaSets that a Deployment controls have one of
// their own, as its controller copies the other one onto them.
const (
	ledgerKey           = "kausality.io/allowances"
	replicaSetLedgerKey = "replicaset.kausality.io/allowances"
	approveKey          = "kausality.io/approve"
)

func (o *object) ledgerKey() string {
	if owner := o.owner(); o.Kind == kinds[replicaSets] && owner != nil && owner.Kind == kinds[deployments] {
		return replicaSetLedgerKey
	}
	return ledgerKey
}

// owner is the controller of an object.
func (o *object) owner() *metav1.OwnerReference { return metav1.GetControllerOfNoCopy(&o.Metadata) }

func (o *object) ownerUID() types.UID {
	if owner := o.owner(); owner != nil {
		return owner.UID
	}
	return ""
}

// at is the value at a path of keys of the spec.
func (o *object) at(keys ...string) any {
	value := o.Spec
	for _, key := range keys {
		fields, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = fields[key]
	}
	return value
}

func (o *object) replicas() int64 {
	n, ok := o.at("replicas").(float64)
	if !ok {
		return 1
	}
	return int64(n)
}

// image is that of the first container of a Pod, or of those that a workload makes.
func (o *object) image() string {
	keys := []string{"containers"}
	if o.Kind != kinds[pods] {
		keys = []string{"template", "spec", "containers"}
	}
	containers, ok := o.at(keys...).([]any)
	if !ok || len(containers) == 0 {
		return ""
	}
	container, ok := containers[0].(map[string]any)
	if !ok {
		return ""
	}
	image, _ := container["image"].(string)
	return image
}

// settled tells whether there is nothing left to do at a generation.
func (o *object) settled(generation int64) bool {
	s, want := o.Status, o.replicas()
	if s.ObservedGeneration < generation || s.Replicas != want || s.AvailableReplicas != want {
		return false
	}
	return o.Kind != kinds[deployments] || s.UpdatedReplicas == want
}
