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

package explain

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/cli/stops"
	"kausality.io/operator/internal/controller/conditions"
	"kausality.io/operator/internal/kubectl"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// sight is what was read.
type sight struct {
	// obj is the object. chain begins with the object and goes up to its topmost ancestor; above begins with its
	// parent. Where owners form a circle, above has the object as well.
	obj          standing
	chain, above []policy.Holder
	// parent is nil where the object has none, and its obj where it does not exist.
	parent   *standing
	ref      lineage.Ref
	policies cluster.Policies
	// untold is true where the policies may not be read, and parentUntold where the parent may not.
	untold, parentUntold bool
	// upgrades are all UpgradeAllowances.
	upgrades []cluster.Upgrade
	// below are the records of what lives below the object.
	below []*v1alpha1.AllowanceRecord
	// unenforced are the policies about it that are not enforced.
	unenforced []cluster.Unenforced
	// you is who asks; nil where that cannot be told.
	you   *policy.Requester
	notes []string
	// versionToName is the version that a command about the object has to name; empty for none.
	versionToName string
}

// objects returns what a command about the object is told.
func (s *sight) objects() kubectl.Objects {
	of := phrase.Objects(record.TargetOf(s.obj.obj))
	of.Version = s.versionToName
	return of
}

// standing is an object with its record; nil is none.
type standing struct {
	obj *unstructured.Unstructured
	rec *v1alpha1.AllowanceRecord
}

// read reads what there is to know about an object.
func read(ctx context.Context, c *cluster.Cluster, target cluster.Target) (*sight, error) {
	obj, err := c.Read(ctx, target)
	if apierrors.IsNotFound(err) {
		ref := v1alpha1.TargetReference{Group: target.GVK.Group, Kind: target.GVK.Kind, Namespace: target.Namespace, Name: target.Name}
		return nil, fmt.Errorf("%s does not exist, so nothing is allowed or not; what was: %s", target, phrase.Command("trace", ref))
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", target, err)
	}
	s := &sight{obj: standing{obj: obj}, versionToName: c.VersionToName(obj.GroupVersionKind().GroupKind())}
	if s.policies, err = c.Policies(ctx); apierrors.IsForbidden(err) {
		s.untold = true
		s.notes = append(s.notes, fmt.Sprintf("Which policies are for it, and what they allow to whom, cannot be told: %v", err))
	} else if err != nil {
		return nil, err
	}
	s.obj.rec = s.recordOf(ctx, c, obj)
	// Without policies nothing depends on what is above it.
	if !s.untold {
		s.chain, s.notes = c.Ancestry(ctx, s.policies, obj, s.notes)
		if err := s.readParent(ctx, c); err != nil {
			return nil, err
		}
		s.noteOthers(ctx, c)
		s.notes = append(s.notes, stops.On(ctx, c, s.policies, obj)...)
	}
	around, err := c.Around(ctx, s.policies, target, obj)
	if err != nil {
		s.notes = append(s.notes, fmt.Sprintf("What is blocked below it cannot be told: %v", err))
	}
	if around.Elsewhere != nil {
		s.notes = append(s.notes, fmt.Sprintf("What is blocked below it, and is cluster-scoped or in another namespace, cannot be told: %v", around.Elsewhere))
	}
	s.below = cluster.Below(around.Records, obj.GetUID())
	if s.upgrades, err = c.Upgrades(ctx); err != nil {
		s.notes = append(s.notes, upgradesUntold(err))
	}
	if you, err := c.Whoami(ctx); err == nil {
		s.you = &you
	}
	s.unenforced = c.UnenforcedFor(ctx, s.policies, obj)
	s.policies = s.policies.Now() // What is above and below was read by all of them.
	return s, nil
}

// recordOf reads the record of an object. What cannot be read is said.
func (s *sight) recordOf(ctx context.Context, c *cluster.Cluster, obj *unstructured.Unstructured) *v1alpha1.AllowanceRecord {
	target := cluster.Target{GVK: obj.GroupVersionKind(), Namespace: obj.GetNamespace(), Name: obj.GetName()}
	records, err := c.RecordsOf(ctx, target)
	if err != nil {
		s.notes = append(s.notes, fmt.Sprintf("Pending grants, what is consumed, and what is blocked but not shown by the object, cannot be told: %v", err))
		// What the ledger has is taken for open, and what the object shows of a refusal for all there is of it.
		rec := &v1alpha1.AllowanceRecord{Spec: v1alpha1.AllowanceRecordSpec{TargetRef: record.TargetOf(obj), LedgerKnown: true}}
		if text := conditions.BlockedText(obj); text != "" {
			rec.Status.Blocked = &v1alpha1.Blocked{Message: text}
		}
		return rec
	}
	for i := range records {
		if records[i].Spec.TargetRef.UID == obj.GetUID() {
			return &records[i]
		}
	}
	return nil
}

func (s *sight) readParent(ctx context.Context, c *cluster.Cluster) error {
	var ok bool
	var unread error
	if s.ref, ok, unread = c.Parent(ctx, s.policies, s.obj.obj); !ok {
		return nil
	}
	s.parent = &standing{}
	obj, err := c.Referred(ctx, s.ref)
	switch {
	case apierrors.IsForbidden(err):
		s.parent, s.parentUntold = nil, true
		s.notes = append(s.notes, fmt.Sprintf("What holds for it as a child of %s cannot be told: %v", name(s.ref), err))
	case err != nil:
		return fmt.Errorf("reading the parent %s: %w", name(s.ref), err)
	case obj != nil:
		s.parent.obj = obj
		s.parent.rec = s.recordOf(ctx, c, obj)
		s.above, s.notes = c.Ancestry(ctx, s.policies, obj, s.notes)
	case unread != nil:
		s.parent, s.parentUntold = nil, true
		s.notes = append(s.notes, fmt.Sprintf("There is no %s with the UID that it names, and an owner is who has that, "+
			"whatever it is called. What holds for it as a child cannot be told: %v", name(s.ref), unread))
	}
	return nil
}

// targetOf returns the reference of a parent that is named, whether it exists or not.
func targetOf(ref lineage.Ref, obj *unstructured.Unstructured) v1alpha1.TargetReference {
	if obj != nil {
		return record.TargetOf(obj)
	}
	return v1alpha1.TargetReference{
		Group: ref.GVK.Group, Version: ref.GVK.Version, Kind: ref.GVK.Kind, Namespace: ref.Namespace, Name: ref.Name, UID: ref.UID,
	}
}
