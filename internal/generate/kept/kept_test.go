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

package kept

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/generate"
)

func deletion() *Request {
	return &Request{
		Policy: "archive", PolicyUID: "p", Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Kind: schema.GroupKind{Kind: "ConfigMap"},
		Operation: "DELETE", Namespace: "shop", Name: "settings", UID: "u", Time: metav1.NewMicroTime(time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)),
		Asked:     map[string]any{"operation": "DELETE", "dryRun": false},
		OldObject: map[string]any{"kind": "ConfigMap", "apiVersion": "v1", "metadata": map[string]any{"name": "settings", "generation": int64(3)}},
	}
}

func TestInSecret(t *testing.T) {
	want := deletion()
	secret, err := want.InSecret("kausality-system", "r")
	if err != nil {
		t.Fatal(err)
	}
	if secret.Namespace != "kausality-system" || secret.Name != NameFor("r", "p") || secret.Labels[v1alpha1.LabelRequestFor] != "archive" || secret.OwnerReferences[0].UID != "p" {
		t.Errorf("the Secret is %+v", secret.ObjectMeta)
	}
	want.Made = []v1alpha1.GeneratedObject{{Policy: "archive", Kind: "ConfigMap", Name: "made"}}
	made, err := MadePatch(want.Made)
	if err != nil {
		t.Fatal(err)
	}
	secret.Data[fieldMade] = made[fieldMade]
	got, err := On(secret.Data)
	if err != nil {
		t.Fatal(err)
	}
	got.Time = metav1.NewMicroTime(got.Time.UTC())
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the request that it keeps (-want +got):\n%s", diff)
	}
	if NameFor("r", "q") == secret.Name || NameFor("s", "p") == secret.Name {
		t.Error("another policy, or another request, is kept in the same Secret")
	}
}

func TestTooLarge(t *testing.T) {
	r := deletion()
	r.OldObject["data"] = strings.Repeat("x", MaxBytes)
	if _, err := r.InSecret("n", "r"); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v, want %v", err, ErrTooLarge)
	}
}

func TestOnWithout(t *testing.T) {
	const whole = `{"policy": "p", "name": "n", "kind": {"Kind": "ConfigMap"}}`
	for name, data := range map[string]map[string][]byte{
		"nothing":                {},
		"something else":         {"request": []byte("secret-value")},
		"another type":           {"request": []byte(`{"policy": 1}`)},
		"no policy":              {"request": []byte(strings.Replace(whole, `"policy": "p", `, "", 1))},
		"no kind":                {"request": []byte(strings.Replace(whole, "Kind", "Other", 1))},
		"what was made is wrong": {"request": []byte(whole), "generated": []byte("secret-value")},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := On(data); err == nil || strings.Contains(err.Error(), "secret-value") {
				t.Errorf("got %+v, %v; want an error without values", got, err)
			}
		})
	}
	if _, err := On(map[string][]byte{"request": []byte(whole)}); err != nil {
		t.Error(err)
	}
}

func TestWhatIsKept(t *testing.T) {
	for name, tc := range map[string]struct {
		operation   admissionv1.Operation
		subresource string
		is, ends    bool
		want        string
	}{
		"a creation":      {"CREATE", "", false, false, "CREATE of ConfigMap shop/settings"},
		"a change":        {"UPDATE", "", false, false, "ConfigMap shop/settings"},
		"a deletion":      {"DELETE", "", true, true, "DELETE of ConfigMap shop/settings"},
		"an eviction":     {"CREATE", "eviction", true, true, "CREATE eviction of ConfigMap shop/settings"},
		"a scale":         {"UPDATE", "scale", true, false, "UPDATE scale of ConfigMap shop/settings"},
		"a connection":    {"CONNECT", "exec", true, false, "CONNECT exec of ConfigMap shop/settings"},
		"a proxy of none": {"CONNECT", "", true, false, "CONNECT of ConfigMap shop/settings"},
	} {
		t.Run(name, func(t *testing.T) {
			r := deletion()
			r.Operation, r.Subresource = admissionregistrationv1.OperationType(tc.operation), tc.subresource
			is := generate.IsRequest(r.Operation, r.Subresource)
			if is != tc.is || r.EndsObject() != tc.ends || r.ID().String() != tc.want {
				t.Errorf("is kept: %v, ends the object: %v, %s; want %v, %v, %s", is, r.EndsObject(), r.ID(), tc.is, tc.ends, tc.want)
			}
		})
	}
}
