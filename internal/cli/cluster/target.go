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

package cluster

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/record"
)

// Target is an object that a user names. It need not exist any more.
type Target struct {
	// GVK of the object, in the version in which it is stored where the user names none: what the cluster prefers may
	// lack fields of it.
	GVK schema.GroupVersionKind
	// Namespace and Name of the object; a cluster-scoped one has no namespace.
	Namespace, Name string
}

// String names the target as the user would.
func (t Target) String() string {
	if t.Namespace == "" {
		return t.GVK.Kind + "/" + t.Name
	}
	return t.GVK.Kind + "/" + t.Name + " in namespace " + t.Namespace
}

// Is reports whether a record's target is, or was, by this name.
func (t Target) Is(ref v1alpha1.TargetReference) bool {
	return t.GVK.GroupKind() == record.GVK(ref).GroupKind() && t.Name == ref.Name && t.Namespace == ref.Namespace
}

// Target reads KIND/NAME, or KIND and NAME. KIND is what kubectl takes: a kind or a
// resource, its short name, with its group where that is needed.
func (c *Cluster) Target(args []string) (Target, error) {
	kind, name, err := split(args)
	if err != nil {
		return Target{}, err
	}
	gvk, named, err := c.kind(kind)
	if err != nil {
		return Target{}, err
	}
	if !named {
		gvk = c.stored(gvk)
	}
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return Target{}, fmt.Errorf("finding the resource of kind %s: %w", gvk.Kind, err)
	}
	target := Target{GVK: gvk, Name: name}
	if mapping.Scope.Name() == apimeta.RESTScopeNameNamespace {
		target.Namespace = c.Namespace
	}
	return target, nil
}

// Kind resolves what a user calls a kind, as Target does.
func (c *Cluster) Kind(arg string) (schema.GroupVersionKind, error) {
	gvk, _, err := c.kind(arg)
	return gvk, err
}

// TargetOf returns the target that an object in a file is.
func (c *Cluster) TargetOf(obj *unstructured.Unstructured) (Target, error) {
	gvk := obj.GroupVersionKind()
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return Target{}, fmt.Errorf("finding the resource of kind %s in %s: %w", gvk.Kind, gvk.GroupVersion(), err)
	}
	target := Target{GVK: gvk, Name: obj.GetName()}
	if mapping.Scope.Name() == apimeta.RESTScopeNameNamespace {
		if target.Namespace = obj.GetNamespace(); target.Namespace == "" {
			target.Namespace = c.Namespace
		}
	}
	return target, nil
}

// Named returns the target of a kind that is known without its version.
func (c *Cluster) Named(kind schema.GroupKind, namespace, name string) (Target, error) {
	mapping, err := c.mapper.RESTMapping(kind)
	if err != nil {
		return Target{}, fmt.Errorf("finding the resource of kind %s: %w", kind, err)
	}
	return Target{GVK: mapping.GroupVersionKind, Namespace: namespace, Name: name}, nil
}

func split(args []string) (kind, name string, err error) {
	if len(args) == 1 {
		var ok bool
		if kind, name, ok = strings.Cut(args[0], "/"); !ok {
			return "", "", fmt.Errorf("%q names no object: give KIND/NAME, such as deployment/web", args[0])
		}
	} else {
		kind, name = args[0], args[1]
	}
	if kind == "" || name == "" || strings.Contains(name, "/") {
		return "", "", fmt.Errorf("%q names no object: give KIND/NAME, such as deployment/web", strings.Join(args, " "))
	}
	return kind, name, nil
}

// kind resolves what a user calls a kind. named is true where that has a version.
func (c *Cluster) kind(arg string) (gvk schema.GroupVersionKind, named bool, err error) {
	full, partial := schema.ParseResourceArg(strings.ToLower(arg))
	if full != nil {
		if gvk, err := c.mapper.KindFor(*full); err == nil {
			return gvk, true, nil
		}
	}
	gvk, err = c.mapper.KindFor(partial.WithVersion(""))
	if apimeta.IsNoMatchError(err) {
		return gvk, false, fmt.Errorf("the cluster serves nothing by the name of %q: see kubectl api-resources. "+
			"Of what it served once, AllowanceRecords tell: kubectl get allowancerecords -A, and -o yaml of one", arg)
	}
	if err != nil {
		return gvk, false, fmt.Errorf("asking the cluster for %q: %w", arg, err)
	}
	return gvk, false, nil
}

// Read returns the object, and a NotFound error where there is none.
func (c *Cluster) Read(ctx context.Context, t Target) (*unstructured.Unstructured, error) {
	return c.Object(ctx, t.GVK, types.NamespacedName{Namespace: t.Namespace, Name: t.Name})
}

// HasNamespace returns an error where the namespace of the command does not exist. Who may read what
// is in a namespace may not always read the namespace: then it is taken to be there.
func (c *Cluster) HasNamespace(ctx context.Context) error {
	of := Target{GVK: corev1.SchemeGroupVersion.WithKind("Namespace"), Name: c.Namespace}
	if _, err := c.Read(ctx, of); err != nil && !apierrors.IsForbidden(err) {
		return fmt.Errorf("reading %s: %w", of, err)
	}
	return nil
}

// Object returns an object of any kind, and a NotFound error where there is none. What names another
// object may leave out the version of its kind, as the marks of what a GeneratingPolicy made do, or give one that is
// not served: that which the API server prefers is read then.
func (c *Cluster) Object(ctx context.Context, gvk schema.GroupVersionKind, key types.NamespacedName) (*unstructured.Unstructured, error) {
	if gvk.Version == "" {
		mapping, err := c.mapper.RESTMapping(gvk.GroupKind())
		if err != nil {
			return nil, fmt.Errorf("finding the version of kind %s: %w", gvk.Kind, err)
		}
		gvk = mapping.GroupVersionKind
	}
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(gvk)
	err := c.Get(ctx, key, obj)
	if apimeta.IsNoMatchError(err) {
		if mapping, unserved := c.mapper.RESTMapping(gvk.GroupKind()); unserved == nil && mapping.GroupVersionKind != gvk {
			return c.Object(ctx, mapping.GroupVersionKind, key)
		}
	}
	if err != nil {
		return nil, err
	}
	return obj, nil
}
