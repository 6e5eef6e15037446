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
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/change"
)

const replicaSetsInRules = `
  rules:
  - trigger: spec.template
    policies:
    - {target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: [Create]}`

const slicesInRules = `
  rules:
  - trigger: spec
    policies:
    - {target: {apiGroup: discovery.k8s.io, apiVersion: v1, resource: endpointslices}, relation: ControllerChild, verbs: [Create]}`

const claimsInRules = `
  rules:
  - trigger: spec
    policies:
    - {target: {apiGroup: resource.k8s.io, apiVersion: v1, resource: resourceclaims}, relation: ControllerChild, verbs: [Create]}`

var (
	endpointSlices = schema.GroupKind{Group: "discovery.k8s.io", Kind: "EndpointSlice"}
	resourceClaims = schema.GroupKind{Group: "resource.k8s.io", Kind: "ResourceClaim"}
)

func TestMarks(t *testing.T) {
	const (
		revision   = "metadata.labels[controller-revision-hash]"
		generation = "metadata.labels[pod-template-generation]"
		index      = "metadata.annotations[batch.kubernetes.io/job-completion-index]"
		composed   = "metadata.annotations[crossplane.io/composition-resource-name]"
		failed     = "metadata.annotations[batch.kubernetes.io/job-index-failure-count]"
		ignored    = "metadata.annotations[batch.kubernetes.io/job-index-ignored-failure-count]"
		manager    = "metadata.labels[endpointslice.kubernetes.io/managed-by]"
		service    = "metadata.labels[kubernetes.io/service-name]"
		headless   = "metadata.labels[service.kubernetes.io/headless]"
		claim      = "metadata.annotations[resource.kubernetes.io/pod-claim-name]"
	)
	of := func(prefix string, names ...string) []string {
		var out []string
		for _, name := range names {
			out = append(out, "metadata.annotations["+prefix+"/"+name+"]")
		}
		return out
	}
	ofGroup := func(group, kind, spec string) string {
		return "metadata: {name: test}\nspec:\n  for: {apiGroup: " + group + ", apiVersion: v1, kind: " + kind + "}\n" + spec
	}
	composite := []string{"composite"}
	tests := map[string]struct {
		policy     string
		categories []string
		child      schema.GroupKind
		want       []string
	}{
		"a Pod of a StatefulSet":      {policy: forKind("StatefulSet", podsInRules), child: pods, want: []string{revision}},
		"a revision of a StatefulSet": {policy: forKind("StatefulSet", podsInRules), child: controllerRevisions},
		"a Pod of a DaemonSet":        {policy: forKind("DaemonSet", podsInRules), child: pods, want: []string{revision, generation}},
		"a revision of a DaemonSet":   {policy: forKind("DaemonSet", podsInRules), child: controllerRevisions, want: []string{revision}},
		"a DaemonSet, no Pods":        {policy: forKind("DaemonSet", othersInInitializing), child: controllerRevisions},
		"a Pod of a Job":              {policy: ofGroup("batch", "Job", podsInRules), child: pods, want: []string{index, failed, ignored}},
		"a Pod of a ReplicaSet":       {policy: forKind("ReplicaSet", podsInRules), child: pods},
		"a ReplicaSet of a Deployment": {
			policy: forKind("Deployment", replicaSetsInRules), child: replicaSets,
			want: of("deployment.kubernetes.io", "desired-replicas", "max-replicas", "revision-history", "revision"),
		},
		"a ReplicaSet of a Rollout": {
			policy: ofGroup("argoproj.io", "Rollout", replicaSetsInRules), child: replicaSets,
			want: append(of("rollout.argoproj.io", "desired-replicas", "revision-history", "revision"), "metadata.annotations[scale-down-deadline]"),
		},
		"an EndpointSlice of a Service": {
			policy: ofGroup(`""`, "Service", slicesInRules), child: endpointSlices, want: []string{manager, service, headless},
		},
		// Its controller copies whether it is headless, as any other label.
		"an EndpointSlice of Endpoints":    {policy: ofGroup(`""`, "Endpoints", slicesInRules), child: endpointSlices, want: []string{manager, service}},
		"an EndpointSlice of another kind": {policy: ofGroup("example.com", "Other", slicesInRules), child: endpointSlices},
		"a claim of a Pod":                 {policy: ofGroup(`""`, "Pod", claimsInRules), child: resourceClaims, want: []string{claim}},
		"a claim of a group of Pods": {
			policy: ofGroup("scheduling.k8s.io", "PodGroup", claimsInRules), child: resourceClaims, want: []string{claim},
		},
		"a ReplicaSet of another kind": {policy: ofGroup("example.com", "Other", replicaSetsInRules), child: replicaSets},
		"something else of a Job":      {policy: ofGroup("batch", "Job", othersInInitializing), child: configMaps},
		"what a composite resource composes": {
			policy: ofGroup("example.com", "XDatabase", othersInInitializing), categories: composite, child: configMaps, want: []string{composed},
		},
		"what another custom resource owns": {policy: ofGroup("example.com", "XDatabase", othersInInitializing), child: configMaps},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := compile(t, tc.policy)
			p.Categorize(func(kind schema.GroupKind) []string {
				if kind == p.For.GroupKind() {
					return tc.categories
				}
				return nil
			})
			var got []string
			for _, pattern := range p.ChildMetadata(tc.child) {
				got = append(got, pattern.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("metadata that counts (-want +got):\n%s", diff)
			}
			for _, mark := range tc.want {
				if !slices.ContainsFunc(p.MetadataPatterns(), func(pattern change.Pattern) bool { return pattern.String() == mark }) {
					t.Errorf("the API server does not ask about %s", mark)
				}
			}
		})
	}
}
