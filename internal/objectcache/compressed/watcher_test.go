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

package compressed

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
)

// What an API server answers instead of a watch is known for what it is: by it, reflectors
// tell whether to list anew, and how.
func TestWatcherIsRefused(t *testing.T) {
	mapper := apimeta.NewDefaultRESTMapper(nil)
	thing := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Thing"}
	configMap := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	mapper.Add(thing, apimeta.RESTScopeNamespace)
	mapper.Add(configMap, apimeta.RESTScopeNamespace)
	for name, tc := range map[string]struct {
		kind   schema.GroupVersionKind
		status *apierrors.StatusError
		is     func(error) bool
		// asked is the path that was asked for, where anything was.
		asked string
	}{
		"the version is gone": {
			kind: thing, status: apierrors.NewResourceExpired("too old"), is: apierrors.IsResourceExpired, asked: "/apis/example.org/v1/things",
		},
		"lists are not streamed": {
			kind: configMap, status: apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil), is: apierrors.IsInvalid, asked: "/api/v1/configmaps",
		},
		"the kind is not served": {kind: schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Other"}, is: apimeta.IsNoMatchError},
	} {
		t.Run(name, func(t *testing.T) {
			var asked string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = r.URL.Path
				if r.URL.Query().Get("watch") != "true" {
					t.Errorf("it is asked for %s, which is no watch", r.URL)
				}
				status := tc.status.Status()
				status.Kind, status.APIVersion = "Status", "v1"
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(int(status.Code))
				if err := json.NewEncoder(w).Encode(status); err != nil {
					t.Error(err)
				}
			}))
			defer server.Close()
			watcher, err := NewWatcher(&rest.Config{Host: server.URL}, server.Client(), mapper)
			if err != nil {
				t.Fatal(err)
			}
			lw := watcher.Over(&toolscache.ListWatch{}, tc.kind, asText)
			_, err = toolscache.ToWatcherWithContext(lw).WatchWithContext(t.Context(), metav1.ListOptions{ResourceVersion: "7"})
			if !tc.is(err) {
				t.Errorf("the error is %v", err)
			}
			if diff := cmp.Diff(tc.asked, asked); diff != "" {
				t.Errorf("it is asked for another path (-want +got):\n%s", diff)
			}
		})
	}
}
