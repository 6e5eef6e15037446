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

package generate

import (
	"maps"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
)

func TestNotary(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	web := ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	meta := func(change ...func(*metav1.ObjectMeta)) *metav1.ObjectMeta {
		out := &metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "uid", CreationTimestamp: metav1.NewTime(noon)}
		for _, c := range change {
			c(out)
		}
		return out
	}
	creation := func(o *metav1.ObjectMeta) { o.UID, o.CreationTimestamp = "", metav1.Time{} }
	generated := func(o *metav1.ObjectMeta) { o.GenerateName = "w" }
	uid := func(of types.UID) func(*metav1.ObjectMeta) { return func(o *metav1.ObjectMeta) { o.UID = of } }
	for name, tc := range map[string]struct {
		signedID ID
		signed   *metav1.ObjectMeta
		at       time.Time
		id       ID
		object   *metav1.ObjectMeta
		// says replaces the notes.
		says map[string]string
		key  string
		want bool
	}{
		"what was changed":                        {signedID: web, signed: meta(), id: web, object: meta(), want: true},
		"as another group serves it":              {signedID: web, signed: meta(), id: ID{Kind: "Deployment", Namespace: "shop", Name: "web"}, object: meta(), want: true},
		"another key":                             {signedID: web, signed: meta(), id: web, object: meta(), key: "another"},
		"another user":                            {signedID: web, signed: meta(), id: web, object: meta(), says: map[string]string{v1alpha1.AnnotationChangedBy: "mallory"}},
		"other requests":                          {signedID: web, signed: meta(), id: web, object: meta(), says: map[string]string{v1alpha1.AnnotationRequests: "{}"}},
		"another time":                            {signedID: web, signed: meta(), id: web, object: meta(), says: map[string]string{v1alpha1.AnnotationNoted: "9.00"}},
		"no signature":                            {signedID: web, signed: meta(), id: web, object: meta(), says: map[string]string{v1alpha1.AnnotationNoted: ""}},
		"one of the same name later":              {signedID: web, signed: meta(), id: web, object: meta(uid("later"))},
		"another kind":                            {signedID: web, signed: meta(), id: ID{Kind: "ReplicaSet", Namespace: "shop", Name: "web"}, object: meta()},
		"what was created":                        {signedID: web, signed: meta(creation), id: web, object: meta(), want: true},
		"what was created a while later":          {signedID: web, signed: meta(creation), at: noon.Add(-time.Minute), id: web, object: meta(), want: true},
		"what was created before and since again": {signedID: web, signed: meta(creation), at: noon.Add(-time.Hour), id: web, object: meta()},
		"another name":                            {signedID: web, signed: meta(creation), id: ID{Kind: "Deployment", Namespace: "shop", Name: "api"}, object: meta()},
		"another namespace":                       {signedID: web, signed: meta(creation), id: ID{Kind: "Deployment", Namespace: "x", Name: "web"}, object: meta()},
		"a name that was generated":               {signedID: ID{Kind: "Deployment", Namespace: "shop"}, signed: meta(creation, generated), id: web, object: meta(generated), want: true},
		"a name that was generated, of another":   {signedID: ID{Kind: "Deployment", Namespace: "shop"}, signed: meta(creation, generated), id: web, object: meta()},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.at.IsZero() {
				tc.at = noon
			}
			const by, requests = "alice", `{"made":{}}`
			tc.object.Annotations = map[string]string{
				v1alpha1.AnnotationChangedBy: by, v1alpha1.AnnotationRequests: requests,
				v1alpha1.AnnotationNoted: NewNotary("key").Sign(tc.signedID, tc.signed, by, requests, tc.at),
			}
			maps.Copy(tc.object.Annotations, tc.says)
			if tc.key == "" {
				tc.key = "key"
			}
			notary := NewNotary(tc.key)
			if got := notary.Signed(tc.id, tc.object); got != tc.want {
				t.Errorf("signed: %v, want %v", got, tc.want)
			}
			if got := notary.RequestsOn(tc.id, tc.object) != nil; got != tc.want {
				t.Errorf("has requests: %v, want %v", got, tc.want)
			}
		})
	}
}
