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
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"kausality.io/operator/test/controlplane"
)

const (
	deploymentController = "system:serviceaccount:kube-system:deployment-controller"
	operator             = "system:serviceaccount:kausality-system:kausality-controller-manager"
)

// request returns a request in a namespace.
func request(user, verb, group, resource, subresource, name string, code int32) auditv1.Event {
	return auditv1.Event{
		Verb: verb, User: authenticationv1.UserInfo{Username: user},
		ObjectRef:      &auditv1.ObjectReference{Namespace: string(with), APIGroup: group, Resource: resource, Subresource: subresource, Name: name},
		ResponseStatus: &metav1.Status{Code: code},
	}
}

func TestWrites(t *testing.T) {
	elsewhere := request(deploymentController, "create", "apps", "replicasets", "", "web-1", http.StatusCreated)
	elsewhere.ObjectRef.Namespace = string(without)
	dry := request(deploymentController, "update", "apps", "replicasets", "", "web-1", http.StatusOK)
	dry.RequestURI = "/apis/apps/v1/namespaces/with/replicasets/web-1?dryRun=All"
	seen := newWrites()
	counted := seen.add(controlplane.AuditEvents{
		request(deploymentController, "create", "apps", "replicasets", "", "web-1", http.StatusCreated),
		request(deploymentController, "update", "apps", "replicasets", "", "web-1", http.StatusConflict),
		request(deploymentController, "update", "apps", "replicasets", "", "web-1", http.StatusOK),
		request(deploymentController, "update", "apps", "deployments", "status", "web-1", http.StatusOK),
		request("system:kube-controller-manager", "delete", "", "pods", "", "web-1-1", http.StatusForbidden),
		request(operator, "create", "kausality.io", "allowancerecords", "", "deployment-1", http.StatusCreated),
		request(operator, "update", "kausality.io", "allowancerecords", "status", "deployment-1", http.StatusOK),
		request(operator, "update", "kausality.io", "allowancerecords", "status", "replicaset-1", http.StatusOK),
		request(operator, "patch", "apps", "deployments", "", "web-1", http.StatusOK),
		request("system:kube-scheduler", "create", "", "pods", "binding", "web-1-1", http.StatusCreated),
		elsewhere,
		// These change nothing, or nothing of interest.
		dry,
		request(deploymentController, "get", "apps", "replicasets", "", "web-1", http.StatusOK),
		request(deploymentController, "create", "", "events", "", "", http.StatusCreated),
		request(operator, "create", "events.k8s.io", "events", "", "", http.StatusCreated),
	})
	if want := 11; counted != want {
		t.Errorf("counted %d requests, want %d", counted, want)
	}
	want := block{
		Writes: 5,
		ByController: map[string]float64{
			"deployment-controller create replicasets":        1,
			"deployment-controller update replicasets":        2,
			"deployment-controller update deployments/status": 1,
			"system:kube-controller-manager delete pods":      1,
		},
		ByOperator: map[string]float64{
			"create allowancerecords": 1, "update allowancerecords/status": 2, "patch deployments": 1,
		},
		Records: 2, RecordWrites: 3, Forbidden: 1, Conflicts: 1,
	}
	if diff := cmp.Diff(want, seen.in(with), cmp.AllowUnexported(block{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := seen.in(without).Writes; got != 1 {
		t.Errorf("in the other namespace there are %v writes, want 1", got)
	}
	if got := seen.in(again).Writes; got != 0 {
		t.Errorf("where nothing is written there are %v writes", got)
	}
}
