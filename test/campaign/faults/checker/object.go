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
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/test/campaign/audit"
)

// Resources that the checker looks at.
const (
	deployments = "deployments"
	replicaSets = "replicasets"
	pods        = "pods"
	policies    = "allowancepolicies"
	records     = "allowancerecords"
)

// kinds are the kinds of the resources.
var kinds = audit.Kinds{
	deployments: "Deployment", replicaSets: "ReplicaSet", pods: "Pod", policies: "AllowancePolicy", records: "AllowanceRecord",
}

// recordStatus is what a record says.
type recordStatus struct {
	Active        []entry        `json:"active"`
	PendingGrants []pendingGrant `json:"pendingGrants"`
	Adopting      bool           `json:"adopting"`
	Denials       int64          `json:"denials"`
	History       []historyEntry `json:"history"`
	EndedAt       *metav1.Time   `json:"endedAt"`
}

// pendingGrant is on its way into a ledger.
type pendingGrant struct {
	Time       metav1.Time `json:"time"`
	Allowances []entry     `json:"allowances"`
}

// historyEntry is what a record says that happened.
type historyEntry struct {
	Event string   `json:"event"`
	User  string   `json:"user"`
	Kind  string   `json:"kind"`
	Names []string `json:"names"`
}

// said returns what a version of a record says.
func said(record *audit.Object) (recordStatus, error) {
	var s recordStatus
	if len(record.RawStatus) == 0 {
		return s, nil
	}
	if err := json.Unmarshal(record.RawStatus, &s); err != nil {
		return s, fmt.Errorf("AllowanceRecord %s/%s: %w", record.Namespace, record.Name, err)
	}
	return s, nil
}

func ownerUID(o *audit.Object) types.UID {
	if owner := o.Controller(); owner != nil {
		return owner.UID
	}
	return ""
}

// image returns the image of the first container of a Pod, or of those that a workload makes.
func image(o *audit.Object) string {
	keys := []string{"spec", "containers", "0", "image"}
	if o.Kind != kinds[pods] {
		keys = slices.Insert(keys, 1, "template", "spec")
	}
	image, _ := o.At(keys...).(string)
	return image
}

// settled reports whether there is nothing left to do at a generation.
func settled(o *audit.Object, generation int64) bool {
	s, want := &o.Status, o.Replicas()
	if s.ObservedGeneration < generation || s.Replicas != want || s.AvailableReplicas != want {
		return false
	}
	return o.Kind != kinds[deployments] || s.UpdatedReplicas == want
}

// changes returns what a write changed of the content, or that it made the object.
func changes(v *audit.Version) []audit.Change {
	if v.Before == nil {
		return []audit.Change{{Verb: audit.Makes}}
	}
	return audit.ContentChanges(v.Before.Object, v.Object)
}
