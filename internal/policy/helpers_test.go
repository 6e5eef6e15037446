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

package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
)

var (
	deployments = schema.GroupKind{Group: "apps", Kind: "Deployment"}
	replicaSets = schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}
	pods        = schema.GroupKind{Kind: "Pod"}
	configMaps  = schema.GroupKind{Kind: "ConfigMap"}
)

// served is what the API server of these tests serves.
var served = map[schema.GroupVersionResource]string{
	{Group: "apps", Version: "v1", Resource: "deployments"}:                              "Deployment",
	{Group: "apps", Version: "v1", Resource: "replicasets"}:                              "ReplicaSet",
	{Group: "apps", Version: "v1", Resource: "controllerrevisions"}:                      "ControllerRevision",
	{Version: "v1", Resource: "pods"}:                                                    "Pod",
	{Version: "v1", Resource: "services"}:                                                "Service",
	{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}:                    "Lease",
	{Version: "v1", Resource: "configmaps"}:                                              "ConfigMap",
	{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}:               "EndpointSlice",
	{Group: "resource.k8s.io", Version: "v1", Resource: "resourceclaims"}:                "ResourceClaim",
	{Group: "example.com", Version: "v1alpha1", Resource: "xdatabases"}:                  "XDatabase",
	{Group: "example.com", Version: "v1", Resource: "xdatabases"}:                        "XDatabase",
	{Group: "rds.aws.crossplane.io", Version: "v1alpha1", Resource: "rdsinstances"}:      "RDSInstance",
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"}: "ClusterRoleBinding",
}

func servedKinds(resource schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
	kind, ok := served[resource]
	return resource.GroupVersion().WithKind(kind), ok
}

// parse reads a policy; as the API server does, it knows every field.
func parse(tb testing.TB, text string) *v1alpha1.AllowancePolicy {
	tb.Helper()
	var p v1alpha1.AllowancePolicy
	if err := yaml.UnmarshalStrict([]byte(text), &p); err != nil {
		tb.Fatalf("reading the policy: %v", err)
	}
	return &p
}

// compile compiles a policy that has nothing wrong in it.
func compile(tb testing.TB, text string) *Policy {
	tb.Helper()
	compiled, errs := Compile(parse(tb, text), servedKinds)
	if len(errs) > 0 {
		tb.Fatalf("compiling the policy: %v", errs.ToAggregate())
	}
	return compiled
}

// forDeployments returns a policy for Deployments with this in its spec, each line of
// which is indented by two.
func forDeployments(spec string) string {
	return "metadata: {name: test}\nspec:\n  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}\n" + spec
}

// specPolicies returns the policies of the specification, by name.
func specPolicies(tb testing.TB) map[string]string {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "spec", "*.yaml"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("no policies in testdata/spec: %v", err)
	}
	texts := make(map[string]string, len(files))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		texts[strings.TrimSuffix(filepath.Base(file), ".yaml")] = string(text)
	}
	return texts
}

func mustPath(tb testing.TB, text string) change.Path {
	tb.Helper()
	path, err := change.ParsePath(text)
	if err != nil {
		tb.Fatal(err)
	}
	return path
}
