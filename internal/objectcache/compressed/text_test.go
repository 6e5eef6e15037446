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
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestWithout(t *testing.T) {
	const annotations, applied = "annotations", "kubectl.kubernetes.io/last-applied-configuration"
	for name, tc := range map[string]struct {
		text string
		path []string
		want string
	}{
		"the first of several": {`{"a":{"x":1},"b":2}`, []string{"a"}, `{"b":2}`},
		"one in the middle":    {`{"a":1,"b":[2],"c":3}`, []string{"b"}, `{"a":1,"c":3}`},
		"the last":             {`{"a":1,"b":{"c":[{}]}}`, []string{"b"}, `{"a":1}`},
		"the only one":         {`{"a":1}`, []string{"a"}, `{}`},
		"none":                 {`{"a":1}`, []string{"b"}, `{"a":1}`},
		"none further down":    {`{"a":{"x":1}}`, []string{"a", "b"}, `{"a":{"x":1}}`},
		"below what is none":   {`{"a":1}`, []string{"a", "b"}, `{"a":1}`},
		"further down":         {`{"a":{"x":1,"y":2},"b":3}`, []string{"a", "x"}, `{"a":{"y":2},"b":3}`},
		"with what would be empty": {
			`{"kind":"Thing","metadata":{"annotations":{"` + applied + `":"{}"},"name":"web"}}`,
			[]string{"metadata", annotations, applied}, `{"kind":"Thing","metadata":{"name":"web"}}`,
		},
		"beside others": {
			`{"metadata":{"annotations":{"a":"b","` + applied + `":"{}"}}}`,
			[]string{"metadata", annotations, applied}, `{"metadata":{"annotations":{"a":"b"}}}`,
		},
		"with spaces":                {"{ \"a\" : 1 ,\n \"b\" : 2 \n}", []string{"b"}, "{ \"a\" : 1  \n}"},
		"of two the first":           {`{"a":1,"a":2}`, []string{"a"}, `{"a":2}`},
		"a name inside a value":      {`{"b":"\"a\":1","c":{"a":1}}`, []string{"a"}, `{"b":"\"a\":1","c":{"a":1}}`},
		"a value that looks like it": {`{"b":",","a":"},"}`, []string{"a"}, `{"b":","}`},
	} {
		t.Run(name, func(t *testing.T) {
			text := []byte(tc.text)
			got := Without(text, tc.path...)
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("Without() (-want +got):\n%s", diff)
			}
			if !json.Valid(got) {
				t.Errorf("Without() = %s, which is not JSON", got)
			}
			if string(text) != tc.text {
				t.Errorf("the text is %s now", text)
			}
		})
	}
}

// FuzzPackText holds packing a text against packing the object that it says.
func FuzzPackText(f *testing.F) {
	for _, text := range []string{
		`{"apiVersion":"v1","kind":"Thing","metadata":{"name":"web","namespace":"shop","resourceVersion":"7","creationTimestamp":"2026-01-02T03:04:05Z"}}`,
		`{"metadata":{"annotations":{"a":"b"},"managedFields":[{"manager":"m"}],"name":"web"},"spec":{"n":1,"f":1.5,"l":[null,true]}}`,
		`{"metadata":{"managedFields":[]},"spec":{}}`,
		` {"metadata" : {"name":"wéb","managedFields":null } } `,
		`{"metadata":{"name":"a","managedFields":1,"name":"b"}}`,
		`[]`, `7`, `{"metadata":[]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var content map[string]any
		if !utf8.Valid(text) || !json.Valid(text) || json.Unmarshal(text, &content) != nil || repeats(gjson.ParseBytes(text)) {
			t.Skip("no API server writes it")
		}
		want := &unstructured.Unstructured{}
		if want.UnmarshalJSON(text) != nil || want.IsList() {
			t.Skip("it is no object")
		}
		unstructured.RemoveNestedField(want.Object, "metadata", "managedFields")
		packer := newUnstructuredPacker()
		packed, err := packer.PackText(Without(text, "metadata", "managedFields"))
		if want.GetName() == "" {
			if err == nil {
				t.Fatal("an object without a name was packed")
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		plain, err := packer.Pack(want, want)
		if err != nil {
			t.Skip("it cannot be packed at all")
		}
		if packed.Key() != plain.Key() || packed.version != plain.version || !packed.Created().Equal(plain.Created()) {
			t.Errorf("%s at %s of %s, want %s at %s of %s", packed.Key(), packed.version, packed.Created(), plain.Key(), plain.version, plain.Created())
		}
		got, err := packed.Unpack()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Object, got.Object, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("Unpack() (-want +got):\n%s", diff)
		}
	})
}

// repeats reports whether an object says a name twice, of which decoders make different things.
func repeats(json gjson.Result) bool {
	names, found := map[string]bool{}, false
	json.ForEach(func(key, value gjson.Result) bool {
		name := stringOf(key)
		found = json.IsObject() && names[name] || (value.IsObject() || value.IsArray()) && repeats(value)
		names[name] = true
		return !found
	})
	return found
}
