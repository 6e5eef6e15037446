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

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"kausality.io/operator/api/v1alpha1"
)

// definitionInterval is the time between two looks for definitions of ours that are missing.
const definitionInterval = time.Second

// definitions are the resources that nothing works without.
var definitions = []string{"allowancepolicies", "allowancerecords", "upgradeallowances", "generatingpolicies"}

// awaitDefinitions returns once the API server knows the operator, and serves our own kinds. An operator
// that ended instead would be started again after minutes only, once it has done so a few times.
func awaitDefinitions(ctx context.Context, cfg *rest.Config) error {
	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return fmt.Errorf("setting up discovery: %w", err)
	}
	said, refused := "", false
	return wait.PollUntilContextCancel(ctx, definitionInterval, true, func(context.Context) (bool, error) {
		served, err := client.ServerResourcesForGroupVersion(v1alpha1.GroupVersion.String())
		if apierrors.IsNotFound(err) {
			served, err = &metav1.APIResourceList{}, nil
		}
		if apierrors.IsUnauthorized(err) {
			if !refused {
				ctrl.Log.WithName("setup").Error(err, "The API server refuses the operator's credential; waiting until it has another one")
			}
			refused = true
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("asking the API server what it serves of %s: %w", v1alpha1.GroupVersion, err)
		}
		missing := missingOf(served)
		if missing != "" && missing != said {
			ctrl.Log.WithName("setup").Info("A definition of ours is not there; waiting until it is installed again", "definition", missing)
			said = missing
		}
		return missing == "", nil
	})
}

// missingOf returns the name of a definition whose resource is not served, empty where all are.
func missingOf(served *metav1.APIResourceList) string {
	for _, name := range definitions {
		if !slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Name == name }) {
			return name + "." + v1alpha1.GroupVersion.Group
		}
	}
	return ""
}
