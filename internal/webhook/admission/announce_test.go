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

package admission

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/eventrecorder"
)

// secret is the value of a field: nobody must be told of it.
const secret = int64(271828)

func TestAnnounce(t *testing.T) {
	target := func(kind, name, uid string) v1alpha1.TargetReference {
		return v1alpha1.TargetReference{
			Group: "apps", Version: "v1", Kind: kind, Namespace: "default", Name: name, UID: types.UID(uid),
		}
	}
	web, child := target("Deployment", "web", "uid-web"), target("ReplicaSet", "web-1", "uid-web-1")
	generated := replicaSet(3)
	generated.SetName("web-x7zvq")
	generated.SetGenerateName("web-")
	rehearsed := asking(t, "mallory", nil, replicaSet(3), counted(replicaSet(secret)))
	rehearsed.DryRun = new(true)
	refusing := strings.Replace(deploymentPolicy, "  rules:", "  uncausedChanges: Refuse\n  rules:", 1)

	tests := map[string]struct {
		req    admission.Request
		policy string
		parent *unstructured.Unstructured
		want   []eventrecorder.Notice
		// says is part of the text.
		says string
	}{
		"a denial, to parent and child": {
			req:  asking(t, "mallory", nil, replicaSet(3), counted(replicaSet(secret))),
			want: []eventrecorder.Notice{{Reason: eventrecorder.Denied, Action: "Update", About: web, Child: &child}},
			says: "mallory was refused: changing spec.replicas of ReplicaSet web-1 is not allowed",
		},
		"a creation that was denied has no child, whatever name it was given": {
			req:  asking(t, "mallory", nil, nil, generated),
			want: []eventrecorder.Notice{{Reason: eventrecorder.Denied, Action: "Create", About: web}},
			says: "creation of ReplicaSet web-* is not allowed",
		},
		"broken glass": {
			req: asking(t, "mallory", glassBreakers, replicaSet(3),
				counted(annotate(replicaSet(secret), "replicaset.kausality.io/break-glass", "fire"))),
			want: []eventrecorder.Notice{{Reason: eventrecorder.BreakGlass, Action: "Update", About: web, Child: &child}},
			says: `mallory broke the glass: changing spec.replicas of ReplicaSet web-1, for the reason "fire"`,
		},
		"a change that its own policy refuses": {
			req: asking(t, "mallory", nil, deployment(3), counted(deployment(secret))), policy: refusing,
			want: []eventrecorder.Notice{{Reason: eventrecorder.Denied, Action: "Update", About: web}},
			says: "mallory was refused: the change of spec.replicas of Deployment web was refused",
		},
		"nothing on a dry run":       {req: rehearsed},
		"nothing of what is allowed": {req: asking(t, deployer, nil, replicaSet(3), counted(replicaSet(5))), parent: deployment(5, mayScale("alice", 4))},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.parent == nil {
				test.parent = deployment(3)
			}
			if test.policy == "" {
				test.policy = deploymentPolicy
			}
			at := map[string]*unstructured.Unstructured{key("Deployment", "web"): test.parent}
			w := &world{cached: at, live: at, records: map[types.UID]*v1alpha1.AllowanceRecord{}}
			_, validator := w.hooks(t, test.policy, replicaSetPolicy)
			validator.Handle(t.Context(), test.req)
			if diff := cmp.Diff(test.want, w.notices, cmpopts.IgnoreFields(eventrecorder.Notice{}, "Text")); diff != "" {
				t.Fatalf("notices (-want +got):\n%s", diff)
			}
			for _, n := range w.notices {
				if !strings.Contains(n.Text, test.says) || strings.Contains(n.Text, "271828") {
					t.Errorf("want %q and no value in %q", test.says, n.Text)
				}
			}
		})
	}
}
