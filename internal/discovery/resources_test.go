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
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// fakeClient serves lists, counts calls, and fails with err while it is set.
type fakeClient struct {
	lists map[string][]metav1.APIResource
	err   error
	calls int
}

func (f *fakeClient) ServerResourcesForGroupVersion(gv string) (*metav1.APIResourceList, error) {
	f.calls++
	if f.err != nil {
		return nil, f.err
	}
	list, ok := f.lists[gv]
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{}, gv)
	}
	return &metav1.APIResourceList{APIResources: list}, nil
}

var (
	deploymentKind     = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	deploymentResource = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	deployment         = Resource{
		GVR: deploymentResource, GVK: deploymentKind, Namespaced: true, Subresources: []string{"scale", "status"},
	}
)

func newFake() *fakeClient {
	return &fakeClient{lists: map[string][]metav1.APIResource{"apps/v1": {
		{Name: "deployments", Kind: "Deployment", Namespaced: true},
		{Name: "deployments/status", Kind: "Deployment", Namespaced: true},
		{Name: "deployments/scale", Kind: "Scale", Group: "autoscaling", Version: "v1", Namespaced: true},
	}}}
}

func TestFind(t *testing.T) {
	unreachable := errors.New("unreachable")
	cases := map[string]struct {
		prepare   func(*fakeClient, *Resources)
		find      func(*Resources) (Resource, bool, error)
		want      Resource
		wantOK    bool
		wantErr   error
		wantCalls int
	}{
		"by kind": {
			find:   func(r *Resources) (Resource, bool, error) { return r.ByKind(deploymentKind) },
			want:   deployment,
			wantOK: true, wantCalls: 1,
		},
		"by resource": {
			find:   func(r *Resources) (Resource, bool, error) { return r.ByResource(deploymentResource) },
			want:   deployment,
			wantOK: true, wantCalls: 1,
		},
		"the kind of a sub-resource is no resource": {
			find: func(r *Resources) (Resource, bool, error) {
				return r.ByKind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Scale"})
			},
			wantCalls: 1,
		},
		"what is known is not asked for again": {
			prepare: func(_ *fakeClient, r *Resources) { _, _, _ = r.ByKind(deploymentKind) },
			find:    func(r *Resources) (Resource, bool, error) { return r.ByResource(deploymentResource) },
			want:    deployment,
			wantOK:  true, wantCalls: 1,
		},
		"what is not served is": {
			prepare: func(_ *fakeClient, r *Resources) {
				_, _, _ = r.ByResource(deploymentResource.GroupVersion().WithResource("x"))
			},
			find: func(r *Resources) (Resource, bool, error) {
				return r.ByResource(deploymentResource.GroupVersion().WithResource("x"))
			},
			wantCalls: 2,
		},
		"what appears is found": {
			prepare: func(f *fakeClient, r *Resources) {
				list := f.lists["apps/v1"]
				delete(f.lists, "apps/v1")
				_, _, _ = r.ByKind(deploymentKind)
				f.lists["apps/v1"] = list
			},
			find:   func(r *Resources) (Resource, bool, error) { return r.ByKind(deploymentKind) },
			want:   deployment,
			wantOK: true, wantCalls: 2,
		},
		"what has gone is not found after its group changed": {
			prepare: func(f *fakeClient, r *Resources) {
				_, _, _ = r.ByKind(deploymentKind)
				delete(f.lists, "apps/v1")
				r.Invalidate("apps")
			},
			find:      func(r *Resources) (Resource, bool, error) { return r.ByKind(deploymentKind) },
			wantCalls: 2,
		},
		"another group's change does not matter": {
			prepare: func(_ *fakeClient, r *Resources) {
				_, _, _ = r.ByKind(deploymentKind)
				r.Invalidate("batch")
			},
			find:   func(r *Resources) (Resource, bool, error) { return r.ByKind(deploymentKind) },
			want:   deployment,
			wantOK: true, wantCalls: 1,
		},
		"a stale answer is better than none": {
			prepare: func(f *fakeClient, r *Resources) {
				_, _, _ = r.ByKind(deploymentKind)
				f.err = unreachable
				r.Invalidate("apps")
			},
			find:   func(r *Resources) (Resource, bool, error) { return r.ByKind(deploymentKind) },
			want:   deployment,
			wantOK: true, wantCalls: 2,
		},
		"without any answer there is an error": {
			prepare:   func(f *fakeClient, _ *Resources) { f.err = unreachable },
			find:      func(r *Resources) (Resource, bool, error) { return r.ByKind(deploymentKind) },
			wantErr:   unreachable,
			wantCalls: 1,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			client := newFake()
			resources := New(client)
			if tc.prepare != nil {
				tc.prepare(client, resources)
			}
			got, ok, err := tc.find(resources)
			if !errors.Is(err, tc.wantErr) {
				t.Fatalf("error = %v, want %v", err, tc.wantErr)
			}
			if ok != tc.wantOK {
				t.Errorf("ok = %v, want %v", ok, tc.wantOK)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("resource (-want +got):\n%s", diff)
			}
			if client.calls != tc.wantCalls {
				t.Errorf("asked %d times, want %d", client.calls, tc.wantCalls)
			}
		})
	}
}
