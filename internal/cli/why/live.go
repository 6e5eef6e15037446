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

package why

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// scene is what records are read with: the policies, and the objects that they tell of as they are.
type scene struct {
	cluster.Policies

	// look returns the object that a record is about; nil is none.
	look func(v1alpha1.TargetReference) live
	// gone reports of a child without a cause that it does not exist any more; nil where nobody looks.
	gone func(v1alpha1.StrayChild) bool
	// versionToName returns the version that a command about an object of a kind has to name; nil for none.
	versionToName func(schema.GroupKind) string
	// upgrades are the UpgradeAllowances, as far as they can be read.
	upgrades []cluster.Upgrade
}

// isGone reports whether a child that a record tells of does not exist any more: the record may be minutes behind.
func (s scene) isGone(stray v1alpha1.StrayChild) bool { return s.gone != nil && s.gone(stray) }

// lookingFor returns a function that looks whether children without a cause are gone, once for each.
func lookingFor(ctx context.Context, c *cluster.Cluster) func(v1alpha1.StrayChild) bool {
	known := map[types.UID]bool{}
	return func(stray v1alpha1.StrayChild) bool {
		gone, ok := known[stray.UID]
		if !ok {
			gv, _ := schema.ParseGroupVersion(stray.APIVersion) // What cannot be parsed is found nowhere.
			gone = read(ctx, c, v1alpha1.TargetReference{
				Group: gv.Group, Version: gv.Version, Kind: stray.Kind, Namespace: stray.Namespace, Name: stray.Name, UID: stray.UID,
			}).gone
			known[stray.UID] = gone
		}
		return gone
	}
}

// live is an object as it is.
type live struct {
	// obj is nil where it is gone or cannot be read, and gone is true where it does not exist any more.
	obj  *unstructured.Unstructured
	gone bool
	// chain has the object itself, and then what is above it.
	chain []policy.Holder
}

// of returns the object that a record is about.
func (s scene) of(rec *v1alpha1.AllowanceRecord) live {
	if rec.Status.EndedAt != nil {
		return live{gone: true}
	}
	if s.look == nil || s.Index == nil {
		return live{}
	}
	return s.look(rec.Spec.TargetRef)
}

// looking returns a function that reads objects, each once. The one that was asked about has been read already.
// What is above them and cannot be read is added to the notes.
func looking(ctx context.Context, c *cluster.Cluster, policies cluster.Policies, seen *seen) func(v1alpha1.TargetReference) live {
	type identity struct {
		kind            schema.GroupKind
		namespace, name string
		uid             types.UID
	}
	known := map[identity]live{}
	return func(ref v1alpha1.TargetReference) live {
		id := identity{schema.GroupKind{Group: ref.Group, Kind: ref.Kind}, ref.Namespace, ref.Name, ref.UID}
		found, ok := known[id]
		if ok {
			return found
		}
		if seen.obj != nil && ref.UID == seen.obj.GetUID() {
			found.obj = seen.obj
		} else {
			found = read(ctx, c, ref)
		}
		if found.obj != nil {
			var notes []string
			found.chain, notes = c.Ancestry(ctx, policies, found.obj, nil)
			for _, note := range notes {
				if !slices.Contains(seen.notes, note) {
					seen.notes = append(seen.notes, note)
				}
			}
		}
		known[id] = found
		return found
	}
}

func read(ctx context.Context, c *cluster.Cluster, ref v1alpha1.TargetReference) live {
	obj, err := c.Object(ctx, record.GVK(ref), record.Key(ref))
	switch {
	case apierrors.IsNotFound(err), apimeta.IsNoMatchError(err):
		return live{gone: true}
	case err != nil:
		return live{} // Who asks may not be allowed to read it.
	case ref.UID != "" && obj.GetUID() != ref.UID:
		return live{gone: true}
	default:
		return live{obj: obj}
	}
}

// approvers returns who may approve changes of an object. Of one that cannot be read nobody knows which
// policies select it: those are named who may by any policy for its kind.
func (s scene) approvers(at live, ref v1alpha1.TargetReference, paths ...string) []string {
	if at.obj != nil {
		return decision.Approvers(s.InEffect(at.chain), s.InitiatorsAbove(at.chain), paths...)
	}
	out := policy.InitiatorsFor(s.For(kindOf(ref)), paths...)
	slices.Sort(out)
	return slices.Compact(out)
}

// initiators returns who may initiate on an object, whatever changes.
func (s scene) initiators(at live, ref v1alpha1.TargetReference) []string {
	var out []string
	if at.obj != nil {
		out = s.InitiatorsOf(at.chain)
	} else {
		out = policy.InitiatorsIn(s.For(kindOf(ref)))
	}
	return slices.Compact(slices.Sorted(slices.Values(out)))
}

// notMet returns the conditions because of which nobody can approve changes of an object as it is.
func (s scene) notMet(at live, paths ...string) []string {
	if at.obj == nil {
		return nil
	}
	return decision.NotMet(context.Background(), s.InEffect(at.chain), decision.Child{
		Namespace: at.obj.GetNamespace(), Name: at.obj.GetName(), New: at.obj.Object,
	}, paths...)
}

// conditions returns those of the rules about changes of an object: what is refused has to meet them.
func (s scene) conditions(at live, paths ...string) []string {
	var out []string
	for _, p := range s.InEffect(at.chain) {
		for _, r := range p.Rules {
			if len(r.Conditions) == 0 || !isAbout(r, paths) {
				continue
			}
			for _, c := range r.Conditions {
				if text := c.Source() + " (AllowancePolicy " + p.Name + ")"; !slices.Contains(out, text) {
					out = append(out, text)
				}
			}
		}
	}
	return out
}

func isAbout(r policy.Rule, paths []string) bool {
	return slices.ContainsFunc(paths, func(text string) bool {
		path, err := change.ParsePath(text)
		return err == nil && r.Trigger.Overlaps(change.Pattern(path))
	})
}

func kindOf(ref v1alpha1.TargetReference) schema.GroupKind {
	return schema.GroupKind{Group: ref.Group, Kind: ref.Kind}
}
