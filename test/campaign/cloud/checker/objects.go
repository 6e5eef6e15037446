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
	"slices"
	"strconv"
	"time"

	"kausality.io/operator/test/campaign/audit"
)

// Object is what the API server has stored, as far as it is of interest.
type Object struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name              string            `json:"name"`
		Namespace         string            `json:"namespace"`
		UID               string            `json:"uid"`
		ResourceVersion   string            `json:"resourceVersion"`
		Generation        int64             `json:"generation"`
		Labels            map[string]string `json:"labels"`
		Annotations       map[string]string `json:"annotations"`
		DeletionTimestamp string            `json:"deletionTimestamp"`
		Finalizers        []string          `json:"finalizers"`
		OwnerReferences   []audit.Owner     `json:"ownerReferences"`
	} `json:"metadata"`
	Spec struct {
		// Size is what people ask for.
		Size string `json:"size"`
		// ClaimRef is a composite resource's.
		ClaimRef struct {
			Name string `json:"name"`
		} `json:"claimRef"`
		// TargetRef is a record's.
		TargetRef struct {
			Kind string `json:"kind"`
			Name string `json:"name"`
			UID  string `json:"uid"`
		} `json:"targetRef"`
		// ManagementPolicies and ForProvider are a managed resource's.
		ManagementPolicies []string       `json:"managementPolicies"`
		ForProvider        map[string]any `json:"forProvider"`
	} `json:"spec"`
	Status struct {
		Conditions []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
		} `json:"conditions"`
		// Active is a record's.
		Active []json.RawMessage `json:"active"`
	} `json:"status"`

	// Content is all of the spec.
	Content map[string]any `json:"-"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (o *Object) UnmarshalJSON(raw []byte) error {
	type plain Object // without this method
	if err := json.Unmarshal(raw, (*plain)(o)); err != nil {
		return err
	}
	var all struct {
		Spec map[string]any `json:"spec"`
	}
	err := json.Unmarshal(raw, &all)
	o.Content = all.Spec
	return err
}

// The annotations that count.
const (
	pausedKey    = "crossplane.io/paused"
	traitsKey    = "aws.example.org/traits"
	compositeKey = "crossplane.io/composite"
)

// external and withheld are relations of allowances, and created is what takes the
// place of the field where an object was created.
const (
	external = "External"
	withheld = "Withheld"
	created  = "(created)"
)

// allowance is an entry of a ledger.
type allowance struct {
	Relation  string   `json:"relation"`
	Mutations []string `json:"mutations"`
	Initiator string   `json:"initiator"`
	Trace     []hop    `json:"trace"`
}

type hop struct {
	Kind         string            `json:"kind"`
	Name         string            `json:"name"`
	Generation   int64             `json:"generation"`
	Field        string            `json:"field"`
	Attestations map[string]string `json:"attestations"`
}

// lets reports whether the allowance is for something outside.
func (a allowance) lets(verb string) bool {
	return a.Relation == external && (slices.Contains(a.Mutations, verb) || slices.Contains(a.Mutations, everything))
}

// everything is the verb that stands for all of them.
const everything = "*"

// ledger returns the allowances of an object. One that cannot be read allows nothing.
func (o *Object) ledger() []allowance {
	var out []allowance
	if err := json.Unmarshal([]byte(o.Metadata.Annotations[audit.KeyPrefix(o.Kind, o.Metadata.OwnerReferences)+"allowances"]), &out); err != nil {
		return nil
	}
	return out
}

// holds reports whether the ledger has an allowance of a relation.
func (o *Object) holds(relation string) bool {
	return slices.ContainsFunc(o.ledger(), func(a allowance) bool { return a.Relation == relation })
}

// open returns the verbs that the gate of a managed resource is open for.
func (o *Object) open() []string {
	if len(o.Spec.ManagementPolicies) == 0 {
		return []string{everything} // by default
	}
	return slices.DeleteFunc(slices.Clone(o.Spec.ManagementPolicies), func(action string) bool {
		return action == observe || action == "LateInitialize"
	})
}

// lets reports whether the gate is open for a verb.
func (o *Object) lets(verb string) bool {
	return o.Metadata.Annotations[pausedKey] != "true" &&
		slices.ContainsFunc(o.open(), func(v string) bool { return v == verb || v == everything })
}

// unresponsive tells of a composite resource whether Crossplane has stopped following
// what it is composed of, as that changes too often.
func (o *Object) unresponsive() bool {
	for _, c := range o.Status.Conditions {
		if c.Type == "Responsive" && c.Status == "False" {
			return true
		}
	}
	return false
}

func (o *Object) deleting() bool { return o.Metadata.DeletionTimestamp != "" }

// revision orders the versions of an object.
func (o *Object) revision() int64 {
	n, err := strconv.ParseInt(o.Metadata.ResourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// place is where an object is.
type place struct{ group, resource, namespace, name string }

func (p place) String() string {
	if p.namespace == "" {
		return p.resource + "." + p.group + "/" + p.name
	}
	return p.resource + "." + p.group + "/" + p.namespace + "/" + p.name
}

// place returns where what the request is about is.
func (r *Request) place() place { return place{r.APIGroup, r.Resource, r.Namespace, r.Name} }

// instances is the resource of managed resources.
const instances = "rdsinstances"

// version is an object as it was for a while.
type version struct {
	*Object
	// write is what made it so.
	write *Request
	// began is when it may have been so for the first time, and known when it certainly
	// was.
	began, known time.Time
	// until is when it was certainly another one; zero if it never was.
	until time.Time
}

func (v *version) from() time.Time { return v.began }

// during reports whether it may have been so within a while.
func (v *version) during(from, to time.Time) bool {
	return !v.from().After(to) && (v.until.IsZero() || !v.until.Before(from))
}

// object is all that was of one object.
type object struct {
	place    place
	versions []*version
	// ended is when it was gone; zero if it never was.
	ended time.Time
	// deletions are the requests to delete it that were carried out.
	deletions []*Request
}

func (o *object) last() *version { return o.versions[len(o.versions)-1] }

func (o *object) alive() bool { return o.ended.IsZero() }
