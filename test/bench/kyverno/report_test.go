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
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"kausality.io/operator/test/controlplane"
)

func TestWitness(t *testing.T) {
	began := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	event := func(verb, group, resource, namespace, name string, code int32, at time.Duration) auditv1.Event {
		return auditv1.Event{
			Verb: verb, StageTimestamp: metav1.NewMicroTime(began.Add(at)), ResponseStatus: &metav1.Status{Code: code},
			ObjectRef: &auditv1.ObjectReference{APIGroup: group, Resource: resource, Namespace: namespace, Name: name},
		}
	}
	w := newWitness([]string{"generator"})
	w.see(controlplane.AuditEvents{
		event("patch", "", clones, "a", objectName, http.StatusCreated, time.Second),
		event("create", "networking.k8s.io", "networkpolicies", "a", objectName, http.StatusCreated, 2*time.Second),
		event("create", "", clones, "b", objectName, http.StatusConflict, 3*time.Second),
		event("create", "", clones, "b", "other", http.StatusCreated, 3*time.Second),
		event("update", "", clones, "a", objectName, http.StatusOK, 4*time.Second),
		event("update", "", clones, "a", objectName, http.StatusOK, 5*time.Second),
		event("update", "", clones, sourceNamespace, objectName, http.StatusOK, 6*time.Second),
		event("get", "", clones, "a", objectName, http.StatusOK, 7*time.Second),
	})
	if diff := cmp.Diff(map[string]bool{"secrets a": true, "networkpolicies a": true}, w.made); diff != "" {
		t.Errorf("made (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]bool{"a": true}, w.changed); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	if w.changes != 2 || w.writes != 7 || w.total != 8 {
		t.Errorf("changes, writes, total = %d, %d, %d, want 2, 7, 8", w.changes, w.writes, w.total)
	}
	if got := w.lastMade.Sub(began); got != 2*time.Second {
		t.Errorf("lastMade = %s, want 2s", got)
	}
	if got := w.lastChanged.Sub(began); got != 5*time.Second {
		t.Errorf("lastChanged = %s, want 5s", got)
	}
	want := []string{"create secrets", "update secrets", "create networkpolicies.networking.k8s.io", "get secrets", "patch secrets"}
	w.by["create secrets"]++
	if diff := cmp.Diff(want, most(w.by)); diff != "" {
		t.Errorf("most(by) (-want +got):\n%s", diff)
	}
}

func TestListOf(t *testing.T) {
	for name, tc := range map[string]struct {
		verb, uri, want string
	}{
		"list":                            {"list", "/api/v1/secrets?limit=500", "/api/v1/secrets"},
		"further page":                    {"list", "/api/v1/secrets?continue=x&limit=500", ""},
		"of a label":                      {"list", "/api/v1/secrets?labelSelector=a%3Db", "/api/v1/secrets labelSelector a=b"},
		"watch that begins with all":      {"watch", "/api/v1/secrets?sendInitialEvents=true&watch=true", "/api/v1/secrets"},
		"watch that goes on":              {"watch", "/api/v1/secrets?resourceVersion=12&watch=true", ""},
		"read of one object":              {"get", "/api/v1/namespaces/a/secrets/b", ""},
		"watch of one object from now on": {"watch", "/api/v1/secrets?fieldSelector=metadata.name%3Db&watch=true", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, isList := listOf(&auditv1.Event{Verb: tc.verb, RequestURI: tc.uri})
			if got != tc.want || isList != (tc.want != "") {
				t.Errorf("listOf() = %q, %t, want %q", got, isList, tc.want)
			}
		})
	}
}

func TestReport(t *testing.T) {
	mine := &measurement{World: ours, Namespaces: 100, First: phase{Seconds: 10, Requests: 300}}
	other := &measurement{World: theirs, Namespaces: 100, First: phase{Seconds: 15, Requests: 1200}}
	for name, tc := range map[string]struct {
		row  row
		all  []*measurement
		want string
	}{
		"missed": {rows[0], []*measurement{mine, other}, "first generation, s                            10.0           15.0  0.67 of kyverno, at most 0.50: MISSED\n"},
		"holds":  {rows[1], []*measurement{mine, other}, "  requests                                      300           1200  0.25 of kyverno, at most 0.33: holds\n"},
		"alone":  {rows[1], []*measurement{other}, "  requests                                     1200\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.row.line(tc.all)); diff != "" {
				t.Errorf("line() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMedianOf(t *testing.T) {
	taking := []float64{5, 1, 4, 2, 9}
	got, all, err := medianOf(func(i int) (phase, error) { return phase{Seconds: taking[i]}, nil })
	if err != nil || got.Seconds != 4 {
		t.Errorf("medianOf = %v, %v, want 4 s", got.Seconds, err)
	}
	if diff := cmp.Diff(taking, all); diff != "" {
		t.Errorf("times (-want +got):\n%s", diff)
	}
}
