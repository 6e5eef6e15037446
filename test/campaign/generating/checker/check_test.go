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

package checker

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/generating/model"
)

const account = "generator"

var a = model.ID{Kind: model.ConfigMap, Namespace: "ns", Name: "a"}

// at returns a time, so many seconds after the log began.
func at(second int) time.Time { return time.Unix(1_000_000+int64(second), 0).UTC() }

// line returns a line of an audit log: what somebody did to the object a.
func line(second int, user, verb string, code int, annotations string) string {
	answer := fmt.Sprintf(`{"kind":"ConfigMap","metadata":{"namespace":"ns","name":"a","uid":"1","resourceVersion":"%d","annotations":{%s}}}`, second+10, annotations)
	if verb == "delete" {
		answer = `{"kind":"Status","details":{"uid":"1"}}`
	}
	return fmt.Sprintf(`{"verb":%q,"user":{"username":%q},"objectRef":{"resource":"configmaps","namespace":"ns","name":"a"},`+
		`"requestReceivedTimestamp":%q,"stageTimestamp":%q,"responseStatus":{"code":%d},"responseObject":%s}`,
		verb, user, at(second).Format(metav1.RFC3339Micro), at(second).Add(time.Millisecond).Format(metav1.RFC3339Micro), code, answer)
}

const ours = `"kausality.io/generated-from":"{}"`

func TestCheck(t *testing.T) {
	made := line(1, account, "patch", 201, ours)
	since := func(second int) map[model.ID]time.Time { return map[model.ID]time.Time{a: at(second)} }
	for _, tc := range []struct {
		name  string
		lines []string
		// concerned and unwanted are of the stretch that begins at 10, and rests from 20 to 25.
		concerned, unwanted map[model.ID]time.Time
		want                []Promise
	}{
		{"for a cause", []string{made, line(12, account, "patch", 200, ours)}, since(11), nil, nil},
		{"without a cause", []string{made, line(12, account, "patch", 200, ours)}, nil, nil, []Promise{Caused}},
		{"before its cause", []string{made, line(12, account, "patch", 200, ours)}, since(13), nil, []Promise{Caused}},
		{"not carried out", []string{made, line(12, account, "patch", 403, ours)}, nil, nil, nil},
		{"by somebody else", []string{made, line(12, "alice", "patch", 200, ours)}, nil, nil, nil},
		{"at rest", []string{made, line(21, account, "patch", 200, ours)}, since(11), nil, []Promise{Quiet}},
		{"after all of it", []string{made, line(26, account, "patch", 200, ours)}, since(11), nil, nil},
		{"deleted, and not wanted", []string{made, line(12, account, "delete", 200, "")}, since(11), since(11), nil},
		{"deleted, and wanted", []string{made, line(12, account, "delete", 200, "")}, since(11), nil, []Promise{Kept}},
		{"deleted, and wanted up to then", []string{made, line(12, account, "delete", 200, "")}, since(11), since(13), []Promise{Kept}},
		{"deleted and made again", []string{made, line(12, account, "delete", 200, ""), line(13, account, "patch", 201, ours)}, nil, nil, []Promise{Caused, Kept, Caused}},
		{"somebody's is changed", []string{line(1, "alice", "create", 201, ""), line(12, account, "patch", 200, ours)}, since(11), nil, []Promise{Others}},
		{"somebody's is deleted", []string{line(1, "alice", "create", 201, ""), line(12, account, "delete", 200, "")}, since(11), since(11), []Promise{Others}},
		{"a copy is changed", []string{line(1, "alice", "create", 201, ours), line(12, account, "patch", 200, ours)}, since(11), nil, []Promise{Others}},
		{"put back", []string{made, line(11, "alice", "patch", 200, ours), line(12, account, "patch", 200, ours)}, since(11), nil, nil},
		{"claimed, and changed", []string{made, line(11, "alice", "patch", 200, ""), line(12, account, "patch", 200, ours)}, since(11), nil, []Promise{Others}},
		{"claimed, and deleted", []string{made, line(11, "alice", "patch", 200, ""), line(12, account, "delete", 200, "")}, since(11), since(11), []Promise{Others}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			log, err := audit.Read(strings.NewReader(strings.Join(tc.lines, "\n")+"\n"), Kinds)
			if err != nil {
				t.Fatal(err)
			}
			stretches := []Stretch{
				{From: at(0), Rest: at(8), To: at(10), Concerned: since(0), Unwanted: nil},
				{From: at(10), Rest: at(20), To: at(25), Concerned: tc.concerned, Unwanted: tc.unwanted},
			}
			var got []Promise
			for _, f := range Check(log, account, stretches).Findings {
				got = append(got, f.Promise)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("promises that are not kept (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNote(t *testing.T) {
	b := model.ID{Kind: model.Seed, Namespace: "ns", Name: "b"}
	var s Stretch
	s.Note(at(1), model.Effect{Concerned: []model.ID{a}})
	s.Note(at(2), model.Effect{Concerned: []model.ID{a, b}, Unwanted: []model.ID{b}})
	want := Stretch{Concerned: map[model.ID]time.Time{a: at(1), b: at(2)}, Unwanted: map[model.ID]time.Time{b: at(2)}}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("noted (-want +got):\n%s", diff)
	}
}
