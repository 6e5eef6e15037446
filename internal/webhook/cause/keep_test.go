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

package cause

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/generate/kept"
)

// keeper notes what is kept, by policy, or fails.
type keeper struct {
	kept map[string]kept.Request
	err  error
}

func (k *keeper) Keep(_ context.Context, request *kept.Request, _ types.UID) error {
	k.kept[request.Policy] = *request
	return k.err
}

const aboutRequests = `
metadata: {name: NAME, uid: u-NAME, generation: 1}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {env: prod}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [OPERATIONS], resources: [RESOURCE]}]
  matchConditions: [{name: c, expression: "CONDITION"}]
  generate: [{expression: "generator.ApplyAll('shop', oldObject)"}]`

func about(name, operations, resource, condition string) string {
	return strings.NewReplacer("NAME", name, "OPERATIONS", operations, "RESOURCE", resource, "CONDITION", condition).Replace(aboutRequests)
}

func keeping(t *testing.T, in labels, policies ...string) (*Hook, *keeper) {
	t.Helper()
	k := &keeper{kept: map[string]kept.Request{}}
	h := newHook(t, in, policies...)
	h.Requests, h.Clock = k, clocktesting.NewFakePassiveClock(time.Unix(1, 0))
	h.KindFor = func(of schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
		kind, ok := map[string]string{"configmaps": "ConfigMap", "pods": "Pod", "namespaces": "Namespace"}[of.Resource]
		return of.GroupVersion().WithKind(kind), ok
	}
	return h, k
}

func requested(t *testing.T, operation admissionv1.Operation, resource, subresource, object, old string) admission.Request {
	t.Helper()
	out := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		UID: "r", Operation: operation, SubResource: subresource, Namespace: "shop", Name: "web",
		Resource: metav1.GroupVersionResource{Version: "v1", Resource: resource}, UserInfo: authenticationv1.UserInfo{Username: "bob"},
	}}
	if object != "" {
		out.Object = raw(t, object)
	}
	if old != "" {
		out.OldObject = raw(t, old)
	}
	return out
}

func TestKeep(t *testing.T) {
	const (
		web      = `{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: shop, uid: u, managedFields: [{manager: m}]}}`
		made     = `{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: shop, annotations: {kausality.io/generated-from: '{"policy":{"name":"gone"},"object":{"kind":"ConfigMap","namespace":"shop","name":"web"}}'}}}`
		eviction = `{apiVersion: policy/v1, kind: Eviction, metadata: {name: web, namespace: shop}}`
		options  = `{apiVersion: v1, kind: PodExecOptions, command: [ls]}`
	)
	prod := labels{"env": "prod"}
	policies := []string{
		about("gone", "DELETE", "configmaps", "request.userInfo.username == 'bob' && object == null"),
		about("evicted", `"*"`, "pods/eviction", "true"),
		about("run", "CONNECT", "pods/exec", "object.metadata.name == 'web' && object.metadata.namespace == 'shop'"),
		about("watched", "CREATE, UPDATE", "configmaps", "true"),
		about("all", `"*"`, `"*"`, "true"),
	}
	for name, tc := range map[string]struct {
		in                    labels
		operation             admissionv1.Operation
		resource, subresource string
		object, old           string
		change                func(*admission.Request)
		want                  []string
		warns                 string
	}{
		"a deletion":                    {prod, "DELETE", "configmaps", "", "", web, nil, []string{"gone"}, ""},
		"a deletion by somebody else":   {prod, "DELETE", "configmaps", "", "", web, func(r *admission.Request) { r.UserInfo.Username = "eve" }, nil, ""},
		"a deletion somewhere else":     {labels{}, "DELETE", "configmaps", "", "", web, nil, nil, ""},
		"a deletion that is tried only": {prod, "DELETE", "configmaps", "", "", web, func(r *admission.Request) { r.DryRun = new(true) }, nil, ""},
		"a deletion of what it made":    {prod, "DELETE", "configmaps", "", "", made, nil, nil, ""},
		"a deletion of nothing":         {prod, "DELETE", "configmaps", "", "", "", nil, []string{"gone"}, ""},
		"an eviction":                   {prod, "CREATE", "pods", "eviction", eviction, "", nil, []string{"evicted"}, ""},
		"an execution":                  {prod, "CONNECT", "pods", "exec", options, "", nil, []string{"run"}, ""},
		"a status":                      {prod, "UPDATE", "configmaps", "status", web, web, nil, nil, ""},
		"what is not known":             {prod, "DELETE", "widgets", "", "", web, nil, nil, ""},
		"what cannot be read":           {prod, "DELETE", "configmaps", "", "", web, func(r *admission.Request) { r.OldObject = runtime.RawExtension{Raw: []byte("{")} }, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h, k := keeping(t, tc.in, policies...)
			req := requested(t, tc.operation, tc.resource, tc.subresource, tc.object, tc.old)
			if tc.change != nil {
				tc.change(&req)
			}
			resp := h.Handle(t.Context(), req)
			if !resp.Allowed || len(resp.Patches) > 0 || len(resp.Warnings) > 0 {
				t.Errorf("got %+v, want that it passes as it is", resp)
			}
			var got []string
			for policy, request := range k.kept {
				got = append(got, policy)
				if request.PolicyUID != types.UID("u-"+policy) || request.Kind.Kind == "" || request.Asked["operation"] != string(tc.operation) {
					t.Errorf("kept: %+v", request)
				}
				for _, object := range []map[string]any{request.Object, request.OldObject} {
					if metadata, ok := object["metadata"].(map[string]any); ok && (metadata["name"] != "web" || metadata["managedFields"] != nil) {
						t.Errorf("an object is kept as %v", object)
					}
				}
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("the policies that it is kept for (-want +got):\n%s", diff)
			}
		})
	}
}

// TestKeepWarns shows that who makes a request hears that nothing will come of it, and no value of an object.
func TestKeepWarns(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"too large": {kept.ErrTooLarge, "KiB"},
		"it fails":  {errors.New("a secret value"), "could not keep the request"},
	} {
		t.Run(name, func(t *testing.T) {
			h, k := keeping(t, labels{"env": "prod"}, about("gone", "DELETE", "configmaps", "true"))
			k.err = tc.err
			resp := h.Handle(t.Context(), requested(t, "DELETE", "configmaps", "", "", `{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: shop}}`))
			if !resp.Allowed || len(resp.Warnings) != 1 || !strings.Contains(resp.Warnings[0], tc.want) || strings.Contains(resp.Warnings[0], "secret value") {
				t.Errorf("got %+v, want that it passes with a warning of %q", resp, tc.want)
			}
		})
	}
}

// TestKeepsWhatWasBefore shows that a policy which generates from it can find it, and that a request which is
// not kept leaves the one before.
func TestKeepsWhatWasBefore(t *testing.T) {
	const (
		before = `{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: shop, annotations: {kausality.io/requests: '{"old":{"uid":"earlier"}}'}}, data: {key: one}}`
	)
	now := strings.Replace(before, "one", "two", 1)
	for name, tc := range map[string]struct {
		dryRun bool
		err    error
		want   string
	}{
		"it is kept":     {false, nil, "r"},
		"it is not kept": {false, kept.ErrTooLarge, "earlier"},
		"it is tried":    {true, nil, "r"},
	} {
		t.Run(name, func(t *testing.T) {
			h, k := keeping(t, labels{"env": "prod"}, about("old", "CREATE, UPDATE", "configmaps", "true"))
			k.err = tc.err
			req := requested(t, "UPDATE", "configmaps", "", now, signed(t, before))
			req.DryRun = new(tc.dryRun)
			resp := h.Handle(t.Context(), req)
			if got := generate.RequestsOn(answered(t, req.Object.Raw, resp).Object)["old"]["uid"]; got != tc.want {
				t.Errorf("the object keeps request %v, want %s", got, tc.want)
			}
			request, is := k.kept["old"]
			value, _, _ := unstructured.NestedString(request.OldObject, "data", "key")
			if is == tc.dryRun || is && (request.Object != nil || value != "one") {
				t.Errorf("kept: %+v", request)
			}
		})
	}
}
