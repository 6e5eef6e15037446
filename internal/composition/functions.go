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

package composition

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/upgrade"
)

// labelPackage is, on a revision of a package, the name of the package.
const labelPackage = "pkg.crossplane.io/package"

// active is the state of the revision that Crossplane runs.
const active = "Active"

var functionRevisionList = schema.GroupVersionKind{Group: "pkg.crossplane.io", Version: "v1", Kind: "FunctionRevisionList"}

// Functions knows which packages of Functions a composite resource is composed with. Crossplane
// goes by the same: no composite resource says it.
type Functions struct{ *Revisions }

// Of implements upgrade.Source.
func (f Functions) Of(ctx context.Context, r upgrade.Request) ([]upgrade.Version, error) {
	name := f.named(r.Parent)
	if name == "" {
		return nil, nil
	}
	composed, why, err := f.get(ctx, name)
	switch {
	case err != nil:
		return nil, err
	case why != "":
		return []upgrade.Version{{Trigger: v1alpha1.UpgradeOfFunction, Unknown: why}}, nil
	}
	var out []upgrade.Version
	for _, function := range composed.functions {
		found, err := f.lists.Do(ctx, function, func(ctx context.Context) ([]unstructured.Unstructured, error) {
			return f.list(ctx, client.MatchingLabels{labelPackage: function})
		})
		v := upgrade.Version{Trigger: v1alpha1.UpgradeOfFunction, Of: function}
		switch i := slices.IndexFunc(found, isActive); {
		case apierrors.IsForbidden(err):
			v.Unknown = "Kausality may not list FunctionRevisions"
		case err != nil:
			return nil, fmt.Errorf("reading the revisions of Function %s: %w", function, err)
		case i < 0:
			v.Unknown = fmt.Sprintf("Function %s has no active FunctionRevision", function)
		default:
			v.Image, v.Revision, v.Created = image(&found[i]), found[i].GetName(), found[i].GetCreationTimestamp().Time
		}
		out = append(out, v)
	}
	return out, nil
}

// Running implements upgrade.Runner: it returns the packages of all active Functions, whoever
// composes with them.
func (f Functions) Running(ctx context.Context, _ string) ([]string, error) {
	found, err := f.list(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing the revisions of Functions: %w", err)
	}
	var images []string
	for i := range found {
		if isActive(found[i]) {
			images = append(images, image(&found[i]))
		}
	}
	slices.Sort(images)
	return slices.Compact(images), nil
}

// list reads FunctionRevisions; where there is no such kind there are none.
func (f Functions) list(ctx context.Context, opts ...client.ListOption) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(functionRevisionList)
	if err := f.reader.List(ctx, list, opts...); !apimeta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
		return list.Items, err
	}
	return nil, nil
}

func isActive(revision unstructured.Unstructured) bool {
	state, _, _ := unstructured.NestedString(revision.Object, "spec", "desiredState")
	return state == active
}

func image(revision *unstructured.Unstructured) string {
	name, _, _ := unstructured.NestedString(revision.Object, "spec", "image")
	return name
}
