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

package plan

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/generate"
)

func TestCauses(t *testing.T) {
	const account = "system:serviceaccount:kausality-system:kausality-generator"
	notary := generate.NewNotary("key")
	id := generate.ID{Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
	above := generate.ID{Kind: "Namespace", Name: "shop"}
	at := func(minute int) *metav1.Time {
		return new(metav1.NewTime(time.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC)))
	}
	noted := func(by string, madeFrom ...Cause) *unstructured.Unstructured {
		object := &unstructured.Unstructured{Object: map[string]any{}}
		if len(madeFrom) > 0 {
			marked, err := Marked(Step{ID: id, Content: object.Object, Marks: &Marks{Policy: PolicyRef{Name: "p"}}}, nil, madeFrom)
			if err != nil {
				t.Fatal(err)
			}
			object.Object = marked
		}
		if by != "" {
			object.SetAnnotations(with(object.GetAnnotations(), v1alpha1.AnnotationChangedBy, by))
			object.SetAnnotations(with(object.GetAnnotations(), v1alpha1.AnnotationNoted, notary.Sign(id, object, by, "", time.Unix(0, 0))))
		}
		object.SetManagedFields([]metav1.ManagedFieldsEntry{
			{Manager: "first", Time: at(1)}, {Manager: "last", Time: at(2)}, {Manager: "controller", Subresource: "status", Time: at(9)}, {Manager: "undated"},
		})
		return object
	}
	alice, bob := Cause{Object: id, User: "alice", Time: at(2)}, Cause{Object: above, User: "bob", Time: at(5)}
	many := make([]Cause, 0, 2*MaxCauses)
	for i := range 2 * MaxCauses {
		many = append(many, Cause{Object: generate.ID{Name: strconv.Itoa(i)}, User: "alice", Time: at(59 - i)})
	}
	for name, tc := range map[string]struct{ got, want []Cause }{
		"nobody noted it":                     {CausesOf(notary, id, noted(""), account), nil},
		"somebody changed it":                 {CausesOf(notary, id, noted("alice"), account), []Cause{alice}},
		"somebody says that they changed it":  {CausesOf(generate.NewNotary("another"), id, noted("alice")), nil},
		"the account did, and no policy":      {CausesOf(notary, id, noted(account), account), []Cause{{Object: id, User: account, Time: at(2)}}},
		"a policy made it":                    {CausesOf(notary, id, noted(account, bob), account), []Cause{bob}},
		"somebody changed what a policy made": {CausesOf(notary, id, noted("alice", bob), account), []Cause{alice, bob}},
		"a copy of what a policy made":        {CausesOf(notary, above, noted("", bob), account), nil},
		"the latest is the first":             {Causes([]Cause{alice}, []Cause{bob}), []Cause{bob, alice}},
		"one of each object":                  {Causes([]Cause{bob}, []Cause{{Object: above, User: "carol", Time: at(1)}}), []Cause{bob}},
		"without a time it is the last":       {Causes([]Cause{{Object: id, User: "alice"}}, []Cause{bob}), []Cause{bob, {Object: id, User: "alice"}}},
		"not more than there is room for":     {Causes(many), many[:MaxCauses]},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.got); diff != "" {
				t.Errorf("causes (-want +got):\n%s", diff)
			}
		})
	}
}
