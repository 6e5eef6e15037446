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

package v1alpha1

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"kausality.io/operator/internal/discovery"
)

// Serving knows what the API server serves, whether policies name it or not. *discovery.Resolver is the one.
type Serving interface {
	// Serves returns the resources that are served of a group version, none where it is not served.
	Serves(ctx context.Context, gv schema.GroupVersion) ([]discovery.Resource, error)
	// Everything returns all resources that are served, each in the version that is preferred. Where
	// there is an error, some may be missing.
	Everything(ctx context.Context) ([]discovery.Resource, error)
}

// served returns what is served of a group version. Kinds and resources are found in it as policies have to
// write them: a RESTMapper takes a kind also in lower case, and as that of a list, which admission does not.
type served func(schema.GroupVersion) ([]discovery.Resource, error)

// servedOnce asks about each group version once.
func servedOnce(ctx context.Context, serving Serving) served {
	type answer struct {
		resources []discovery.Resource
		err       error
	}
	answers := map[schema.GroupVersion]answer{}
	return func(gv schema.GroupVersion) ([]discovery.Resource, error) {
		known, asked := answers[gv]
		if !asked {
			known.resources, known.err = serving.Serves(ctx, gv)
			if known.err != nil {
				logf.FromContext(ctx).Error(known.err, "Cannot tell whether what a policy names is served")
			}
			answers[gv] = known
		}
		return known.resources, known.err
	}
}

// byKind returns the resource of a kind, and false where it is not served, or nobody knows.
func (s served) byKind(kind schema.GroupVersionKind) (discovery.Resource, bool) {
	return s.find(kind.GroupVersion(), func(r discovery.Resource) bool { return r.GVK == kind })
}

// kindFor is the policy.KindResolver.
func (s served) kindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
	found, ok := s.find(resource.GroupVersion(), func(r discovery.Resource) bool { return r.GVR == resource })
	return found.GVK, ok
}

// find asks for nothing where no version is named, as by targets that are outside the cluster.
func (s served) find(gv schema.GroupVersion, is func(discovery.Resource) bool) (discovery.Resource, bool) {
	if gv.Version == "" {
		return discovery.Resource{}, false
	}
	resources, err := s(gv)
	i := slices.IndexFunc(resources, is)
	if err != nil || i < 0 {
		return discovery.Resource{}, false
	}
	return resources[i], true
}

// suggest says which resource somebody may have meant, empty where none is called like that. told makes
// what to write of the resource.
func suggest(ctx context.Context, serving Serving, gv schema.GroupVersion, name string, told func(discovery.Resource) string) string {
	all, err := serving.Everything(ctx)
	if err != nil {
		logf.FromContext(ctx).V(1).Info("Some of what is served is not known", "reason", err.Error())
	}
	nearest, ok := discovery.Nearest(all, gv, name)
	if !ok {
		return ""
	}
	return fmt.Sprintf("; did you mean %s in %s?", told(nearest), nearest.GVR.GroupVersion())
}
