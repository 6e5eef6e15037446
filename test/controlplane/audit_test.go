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

package controlplane

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// One line each: who, what, and whether it was carried out.
const (
	controllerCreates = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"RequestResponse","auditID":"controller-creates","stage":"ResponseComplete","requestURI":"/apis/apps/v1/namespaces/default/replicasets","verb":"create","user":{"username":"system:serviceaccount:kube-system:deployment-controller"},"objectRef":{"resource":"replicasets","namespace":"default","name":"web-1","apiGroup":"apps","apiVersion":"v1"},"responseStatus":{"metadata":{},"code":201},"requestReceivedTimestamp":"2026-01-01T00:00:01.000001Z"}`
	personScales      = `{"auditID":"person-scales","requestURI":"/apis/apps/v1/namespaces/default/deployments/web/scale","verb":"patch","user":{"username":"kubernetes-admin"},"impersonatedUser":{"username":"alice"},"objectRef":{"resource":"deployments","namespace":"default","name":"web","apiGroup":"apps","subresource":"scale"},"responseStatus":{"code":403},"requestReceivedTimestamp":"2026-01-01T00:00:02.000000Z"}`
	adminReads        = `{"auditID":"admin-reads","requestURI":"/api/v1/namespaces/default/pods","verb":"list","user":{"username":"kubernetes-admin"},"objectRef":{"resource":"pods","namespace":"default"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-01-01T00:00:03.000000Z"}`
	dryRunByURI       = `{"auditID":"dry-run-by-uri","requestURI":"/api/v1/namespaces/default/pods?dryRun=All&fieldManager=x","verb":"create","user":{"username":"alice"},"objectRef":{"resource":"pods","namespace":"default","name":"p"},"responseStatus":{"code":201},"requestReceivedTimestamp":"2026-01-01T00:00:04.000000Z"}`
	dryRunByBody      = `{"auditID":"dry-run-by-body","requestURI":"/api/v1/namespaces/default/pods/p","verb":"delete","user":{"username":"alice"},"objectRef":{"resource":"pods","namespace":"default","name":"p"},"requestObject":{"kind":"DeleteOptions","dryRun":["All"]},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-01-01T00:00:05.000000Z"}`
	tokenRequest      = `{"auditID":"token-request","requestURI":"/api/v1/namespaces/kube-system/serviceaccounts/job-controller/token","verb":"create","user":{"username":"system:kube-controller-manager"},"objectRef":{"resource":"serviceaccounts","namespace":"kube-system","name":"job-controller","subresource":"token"},"responseStatus":{"code":201},"requestReceivedTimestamp":"2026-01-01T00:00:06.000000Z"}`
	accessReview      = `{"auditID":"access-review","requestURI":"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews","verb":"create","user":{"username":"alice"},"objectRef":{"resource":"selfsubjectaccessreviews","apiGroup":"authorization.k8s.io"},"responseStatus":{"code":201},"requestReceivedTimestamp":"2026-01-01T00:00:07.000000Z"}`
	adminDeletes      = `{"auditID":"admin-deletes","requestURI":"/api/v1/nodes/node-1","verb":"delete","user":{"username":"kubernetes-admin"},"objectRef":{"resource":"nodes","name":"node-1"},"requestObject":{"kind":"DeleteOptions"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-01-01T00:00:08.000000Z"}`
)

func writeLog(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func allAudit(t *testing.T) AuditEvents {
	t.Helper()
	lines := []string{controllerCreates, personScales, adminReads, dryRunByURI, dryRunByBody, tokenRequest, accessReview, adminDeletes}
	events, err := ReadAudit(writeLog(t, strings.Join(lines, "\n")+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func auditIDs(events AuditEvents) []string {
	var ids []string
	for i := range events {
		ids = append(ids, string(events[i].AuditID))
	}
	return ids
}

func TestAuditWhere(t *testing.T) {
	const controller = "system:serviceaccount:kube-system:deployment-controller"
	events := allAudit(t)
	cases := map[string]struct {
		filters []AuditFilter
		want    []string
	}{
		"writes":                       {filters: []AuditFilter{Writes}, want: []string{"controller-creates", "person-scales", "admin-deletes"}},
		"writes that were carried out": {filters: []AuditFilter{Writes, Succeeded}, want: []string{"controller-creates", "admin-deletes"}},
		"refused":                      {filters: []AuditFilter{Refused(403)}, want: []string{"person-scales"}},
		"of a resource":                {filters: []AuditFilter{OfResource("apps", "deployments")}, want: []string{"person-scales"}},
		"of another group":             {filters: []AuditFilter{OfResource("", "deployments")}},
		"of a main resource":           {filters: []AuditFilter{OfResource("apps", "deployments"), OfSubresource("")}},
		"of a subresource":             {filters: []AuditFilter{OfSubresource("scale")}, want: []string{"person-scales"}},
		"on a namespaced object":       {filters: []AuditFilter{OnObject("default", "p")}, want: []string{"dry-run-by-uri", "dry-run-by-body"}},
		"on a cluster-scoped object":   {filters: []AuditFilter{OnObject("", "node-1")}, want: []string{"admin-deletes"}},
		"in a namespace":               {filters: []AuditFilter{InNamespace("kube-system")}, want: []string{"token-request"}},
		"by a controller":              {filters: []AuditFilter{ByUser(controller)}, want: []string{"controller-creates"}},
		"by the impersonated":          {filters: []AuditFilter{ByUser("alice"), OfResource("apps", "deployments")}, want: []string{"person-scales"}},
		"not by who impersonates":      {filters: []AuditFilter{ByUser("kubernetes-admin")}, want: []string{"admin-reads", "admin-deletes"}},
		"by verb":                      {filters: []AuditFilter{ByVerb("list", "patch")}, want: []string{"person-scales", "admin-reads"}},
		"since": {
			filters: []AuditFilter{Since(time.Date(2026, 1, 1, 0, 0, 7, 900, time.UTC))},
			want:    []string{"access-review", "admin-deletes"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, auditIDs(events.Where(tc.filters...))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAuditTally(t *testing.T) {
	events := allAudit(t)
	events = append(events, events...)
	want := map[AuditKey]int{
		{User: "system:serviceaccount:kube-system:deployment-controller", Verb: "create", Group: "apps", Resource: "replicasets"}: 2,
		{User: "alice", Verb: "patch", Group: "apps", Resource: "deployments", Subresource: "scale"}:                              2,
		{User: "kubernetes-admin", Verb: "delete", Resource: "nodes"}:                                                             2,
	}
	if diff := cmp.Diff(want, events.Where(Writes).Tally()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReadAuditFrom(t *testing.T) {
	path := writeLog(t, controllerCreates+"\n"+personScales[:40])

	events, offset, err := ReadAuditFrom(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"controller-creates"}, auditIDs(events)); diff != "" {
		t.Errorf("before the second line is complete (-want +got):\n%s", diff)
	}

	if err := os.WriteFile(path, []byte(controllerCreates+"\n"+personScales+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	events, offset, err = ReadAuditFrom(path, offset)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"person-scales"}, auditIDs(events)); diff != "" {
		t.Errorf("after it is complete (-want +got):\n%s", diff)
	}

	if events, _, err = ReadAuditFrom(path, offset); err != nil || len(events) > 0 {
		t.Errorf("at the end: got %d events, error %v", len(events), err)
	}
}

func TestReadAuditHaving(t *testing.T) {
	path := writeLog(t, controllerCreates+"\n"+personScales+"\n"+`not JSON, of "elsewhere"`+"\n"+adminDeletes+"\n")

	events, offset, err := ReadAuditHaving([]string{`"name":"node-1"`, "deployment-controller"}, path, 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"controller-creates", "admin-deletes"}, auditIDs(events)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if events, _, err = ReadAuditHaving([]string{"alice"}, path, offset); err != nil || len(events) > 0 {
		t.Errorf("at the end: got %d events, error %v", len(events), err)
	}
	if _, _, err = ReadAuditHaving([]string{"elsewhere"}, path, 0); err == nil {
		t.Error("no error for a line that does not parse")
	}
}

func TestReadAuditOfGarbage(t *testing.T) {
	if _, err := ReadAudit(writeLog(t, "not JSON\n")); err == nil {
		t.Error("no error")
	}
}
