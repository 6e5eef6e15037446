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

package discovery

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// watching are the verbs without which nothing can be known of the objects of a kind.
var watching = []string{"list", "watch"}

// isUnwatchable reports whether objects cannot be listed and watched, such as Bindings, which are only
// ever created. Where no verbs are said, nothing is known.
func isUnwatchable(served *metav1.APIResource) bool {
	return len(served.Verbs) > 0 && slices.ContainsFunc(watching, func(verb string) bool { return !slices.Contains(served.Verbs, verb) })
}

// namesOf are the other names of a resource that people know: its singular, and short ones.
func namesOf(served *metav1.APIResource) []string {
	var names []string
	if served.SingularName != "" {
		names = append(names, served.SingularName)
	}
	return append(names, served.ShortNames...)
}

// Serves asks the API server which resources it serves of a group version, whether policies name it
// or not. They have what discovery says of them, and nothing of what definitions say.
func (r *Resolver) Serves(ctx context.Context, gv schema.GroupVersion) ([]Resource, error) {
	list, err := r.discovery.ServerResourcesForGroupVersionWithContext(ctx, gv.String())
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("asking the API server what it serves of %s: %w", gv, err)
	}
	return parse(gv, list), nil
}

// Everything asks the API server for all resources that it serves, each in the version that it prefers.
// An aggregated API server that is away is named in the error; what the others serve is there.
func (r *Resolver) Everything(ctx context.Context) ([]Resource, error) {
	lists, err := r.discovery.ServerPreferredResourcesWithContext(ctx)
	var out []Resource
	for _, list := range lists {
		gv, parseErr := schema.ParseGroupVersion(list.GroupVersion)
		if parseErr != nil {
			err = errors.Join(err, parseErr)
			continue
		}
		out = append(out, parse(gv, list)...)
	}
	return out, err
}
