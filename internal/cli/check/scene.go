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

package check

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/cli/offline"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
)

// fault is what keeps a case from being run, and in which of its fields it is, or in
// which of its test.
type fault struct {
	field  string
	ofTest bool
	err    error
}

// in returns the path of the field, where the case is at a path.
func (f *fault) in(path string) string {
	switch {
	case f.ofTest:
		return f.field
	case f.field == "":
		return path
	}
	return path + "." + f.field
}

func faulty(field, format string, args ...any) *fault {
	return &fault{field: field, err: fmt.Errorf(format, args...)}
}

// scene makes the world of a case, and its request.
func scene(kinds *offline.Kinds, index *policy.Index, test *PolicyTest, c *Case) (*offline.World, offline.Request, *fault) {
	world := &offline.World{Kinds: kinds, Policies: index, GlassBreakers: sets.New[string]()}
	if c.MayBreakGlass {
		world.GlassBreakers.Insert(c.User)
	}
	if wrong := furnish(world, test, c); wrong != nil {
		return nil, offline.Request{}, wrong
	}
	if c.Old != nil {
		if err := exist(world, c.Old); err != nil {
			return nil, offline.Request{}, faulty("old", "%w", err)
		}
	}
	for _, obj := range world.Objects {
		adopt(world, obj)
	}
	for i, l := range c.Ledgers {
		obj, err := named(world, l.Object)
		if err != nil {
			return nil, offline.Request{}, faulty(fmt.Sprintf("ledgers[%d].object", i), "%w", err)
		}
		hold(obj, l.Allowances)
	}
	request, wrong := requestOf(world, c)
	if wrong == nil && request.New != nil {
		adopt(world, request.New)
	}
	return world, request, wrong
}

// furnish puts the objects of a test, and of a case, into the world.
func furnish(world *offline.World, test *PolicyTest, c *Case) *fault {
	for i, content := range test.Objects {
		if err := exist(world, content); err != nil {
			return &fault{field: fmt.Sprintf("objects[%d]", i), ofTest: true, err: err}
		}
	}
	for i, content := range c.Objects {
		if err := exist(world, content); err != nil {
			return faulty(fmt.Sprintf("objects[%d]", i), "%w", err)
		}
	}
	return nil
}

// exist puts an object into the world; it replaces one of the same name.
func exist(world *offline.World, content map[string]any) error {
	obj, err := complete(world, content)
	if err != nil {
		return err
	}
	key := types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	if known := world.Find(obj.GroupVersionKind().GroupKind(), key); known != nil {
		*known = *obj
		return nil
	}
	world.Objects = append(world.Objects, obj)
	return nil
}

// complete fills in what every object in a cluster has.
func complete(world *offline.World, content map[string]any) (*unstructured.Unstructured, error) {
	obj := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(content)}
	gvk := obj.GroupVersionKind()
	switch _, known := world.Kinds.ResourceFor(gvk); {
	case gvk.Kind == "" || gvk.Version == "":
		return nil, errors.New("an object needs its apiVersion and kind")
	case !known:
		return nil, fmt.Errorf("%s in %s is not known: give its CustomResourceDefinition, by crds in the file or by --crds", gvk.Kind, gvk.GroupVersion())
	case obj.GetName() == "":
		return nil, fmt.Errorf("the %s has no name", gvk.Kind)
	}
	if obj.GetNamespace() == "" && world.Kinds.Namespaced(gvk) {
		obj.SetNamespace(metav1.NamespaceDefault)
	}
	if obj.GetUID() == "" {
		obj.SetUID(uidOf(gvk.Kind, obj.GetNamespace(), obj.GetName()))
	}
	if obj.GetGeneration() == 0 {
		obj.SetGeneration(1)
	}
	return obj, nil
}

func uidOf(kind, namespace, name string) types.UID {
	return types.UID(strings.ToLower(kind) + "." + namespace + "." + name)
}

// adopt fills in the uids of owners.
func adopt(world *offline.World, obj *unstructured.Unstructured) {
	owners := obj.GetOwnerReferences()
	for i, owner := range owners {
		if owner.UID != "" {
			continue
		}
		owners[i].UID = uidOf(owner.Kind, obj.GetNamespace(), owner.Name)
		for _, candidate := range world.Objects {
			if candidate.GetKind() == owner.Kind && candidate.GetAPIVersion() == owner.APIVersion && candidate.GetName() == owner.Name &&
				(candidate.GetNamespace() == "" || candidate.GetNamespace() == obj.GetNamespace()) {
				owners[i].UID = candidate.GetUID()
			}
		}
	}
	if len(owners) > 0 {
		obj.SetOwnerReferences(owners)
	}
}

// named returns the object that KIND/NAME, or KIND/NAMESPACE/NAME, names.
func named(world *offline.World, text string) (*unstructured.Unstructured, error) {
	parts := strings.Split(text, "/")
	if len(parts) != 2 && len(parts) != 3 {
		return nil, fmt.Errorf("%q names no object: give KIND/NAME or KIND/NAMESPACE/NAME", text)
	}
	var found []*unstructured.Unstructured
	for _, obj := range world.Objects {
		if strings.EqualFold(obj.GetKind(), parts[0]) && obj.GetName() == parts[len(parts)-1] &&
			(len(parts) == 2 || obj.GetNamespace() == parts[1]) {
			found = append(found, obj)
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("%s is none of the objects", text)
	case 1:
		return found[0], nil
	default:
		return nil, fmt.Errorf("%s is the name of %d objects: give KIND/NAMESPACE/NAME", text, len(found))
	}
}

// hold writes the ledger of an object.
func hold(obj *unstructured.Unstructured, allowances []v1alpha1.Allowance) {
	entries := slices.Clone(allowances)
	for i := range entries {
		if entries[i].Generation == 0 {
			entries[i].Generation = obj.GetGeneration()
		}
		if len(entries[i].Trace) == 0 && entries[i].Relation != v1alpha1.RelationWithheld {
			entries[i].Trace = []v1alpha1.TraceHop{{Kind: obj.GetKind(), Name: obj.GetName(), Generation: entries[i].Generation}}
		}
	}
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	key := ledger.AnnotationKey(obj, ledger.NameAllowances)
	annotations[key] = ledger.Ledger{}.Merge(entries...).Encode()
	obj.SetAnnotations(annotations)
}

// requestOf returns the request of a case.
func requestOf(world *offline.World, c *Case) (offline.Request, *fault) {
	r := offline.Request{Username: c.User, Groups: c.Groups, Operation: operation(c)}
	switch {
	case c.User == "":
		return r, faulty("user", "who makes the request?")
	case c.Object != "" && c.Old != nil:
		return r, faulty("old", "give the object by its name or in full, not both")
	case c.New != nil && len(c.Set)+len(c.Unset) > 0:
		return r, faulty("new", "give the new object in full or what to set and unset, not both")
	case r.Operation == offline.Scale && c.Replicas == nil:
		return r, faulty("operation", "a Scale needs replicas")
	}
	if r.Operation == offline.Create {
		if c.New == nil {
			return r, faulty("operation", "a Create needs the new object")
		}
		created, err := complete(world, c.New)
		if err != nil {
			return r, faulty("new", "%w", err)
		}
		r.New = created
		return r, nil
	}
	if wrong := old(world, c, &r); wrong != nil || r.Operation != offline.Update {
		return r, wrong
	}
	wrong := updated(world, c, &r)
	return r, wrong
}

// operation returns what a case does where it does not say so.
func operation(c *Case) offline.Operation {
	switch {
	case c.Operation != "":
		return c.Operation
	case c.Replicas != nil:
		return offline.Scale
	case c.New != nil && c.Old == nil && c.Object == "":
		return offline.Create
	case c.New != nil || len(c.Set)+len(c.Unset) > 0:
		return offline.Update
	default:
		return offline.Delete
	}
}

// old finds the object as it is before the request.
func old(world *offline.World, c *Case, r *offline.Request) *fault {
	if c.Old != nil {
		known, err := complete(world, c.Old)
		if err != nil {
			return faulty("old", "%w", err)
		}
		r.Old = world.Find(known.GroupVersionKind().GroupKind(), types.NamespacedName{Namespace: known.GetNamespace(), Name: known.GetName()})
		return nil
	}
	if c.Object == "" {
		return faulty("operation", "give the object of the %s, by its name or in full as old", r.Operation)
	}
	var err error
	if r.Old, err = named(world, c.Object); err != nil {
		return faulty("object", "%w", err)
	}
	return nil
}

// updated makes the object as it is after an Update.
func updated(world *offline.World, c *Case, r *offline.Request) *fault {
	if c.New != nil {
		obj, err := complete(world, c.New)
		if err != nil {
			return faulty("new", "%w", err)
		}
		// The identity of an object is not for its writers to give.
		obj.SetUID(r.Old.GetUID())
		obj.SetGeneration(r.Old.GetGeneration())
		r.New = obj
		return nil
	}
	r.New = r.Old.DeepCopy()
	for _, text := range slices.Sorted(maps.Keys(c.Set)) {
		path, err := change.ParsePath(text)
		if err == nil {
			err = path.Set(r.New.Object, runtime.DeepCopyJSONValue(c.Set[text]))
		}
		if err != nil {
			return faulty("set", "%w", err)
		}
	}
	for _, text := range c.Unset {
		if err := fieldpath.Pave(r.New.Object).DeleteField(text); err != nil {
			return faulty("unset", "%w", err)
		}
	}
	return nil
}
