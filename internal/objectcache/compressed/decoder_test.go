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
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// text is an object as it is handed over to be packed.
type text struct {
	runtime.Object
	text string
}

func asText(raw []byte) (runtime.Object, error) {
	if bytes.Contains(raw, []byte("unpackable")) {
		return nil, errUnnamed
	}
	return text{text: string(raw)}, nil
}

func TestDecode(t *testing.T) {
	type event struct {
		what   watch.EventType
		object string
	}
	const added = `{"type":"ADDED","object":{"metadata":{"name":"a"}}}`
	for name, tc := range map[string]struct {
		stream string
		want   []event
		// end is the error behind all events.
		end error
	}{
		"no events": {stream: "", end: io.EOF},
		"events": {
			stream: added + "\n" + `{"type":"MODIFIED","object":{"a":"\n}"}}` + "\n" + `{"object":{},"type":"DELETED"}` + "\n",
			want: []event{
				{watch.Added, `{"metadata":{"name":"a"}}`}, {watch.Modified, `{"a":"\n}"}`}, {watch.Deleted, `{}`},
			},
			end: io.EOF,
		},
		"a bookmark": {
			stream: `{"type":"BOOKMARK","object":{"kind":"Thing","metadata":{"resourceVersion":"7"}}}` + "\n",
			want:   []event{{watch.Bookmark, "at 7"}}, end: io.EOF,
		},
		"an error": {
			stream: `{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}` + "\n",
			want:   []event{{watch.Error, "Expired"}}, end: io.EOF,
		},
		"in several lines": {stream: "{\"type\":\"ADDED\",\n \"object\":{\n}\n}\n\n" + added + "\n", want: []event{
			{watch.Added, "{\n}"}, {watch.Added, `{"metadata":{"name":"a"}}`},
		}, end: io.EOF},
		"longer than what is read at once": {
			stream: `{"type":"ADDED","object":{"a":"` + strings.Repeat("long ", 4000) + `"}}` + "\n" + added + "\n",
			want: []event{
				{watch.Added, `{"a":"` + strings.Repeat("long ", 4000) + `"}`}, {watch.Added, `{"metadata":{"name":"a"}}`},
			},
			end: io.EOF,
		},
		"one that breaks off": {stream: added + "\n" + added[:20], want: []event{{watch.Added, `{"metadata":{"name":"a"}}`}}, end: io.ErrUnexpectedEOF},
		"one that is too long": {
			stream: `{"type":"ADDED","object":{"a":"` + strings.Repeat("long ", longestEvent/5+1) + `"}}` + "\n", end: errLongEvent,
		},
		"one that cannot be packed": {stream: `{"type":"ADDED","object":{"unpackable":1}}` + "\n", end: errUnnamed},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDecoder(io.NopCloser(strings.NewReader(tc.stream)), asText)
			defer d.Close()
			var got []event
			var end error
			for end == nil {
				what, obj, err := d.Decode()
				switch obj := obj.(type) {
				case text:
					got = append(got, event{what, obj.text})
				case *metav1.PartialObjectMetadata:
					got = append(got, event{what, "at " + obj.ResourceVersion})
				case *metav1.Status:
					got = append(got, event{what, string(obj.Reason)})
				}
				end = err
			}
			if !errors.Is(end, tc.end) {
				t.Errorf("Decode() ends with %v, want %v", end, tc.end)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(event{})); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever is sent is decoded, or an error.
func FuzzDecode(f *testing.F) {
	for _, stream := range []string{
		`{"type":"ADDED","object":{"metadata":{"name":"a"}}}` + "\n", `{"type":"BOOKMARK","object":{}}` + "\n",
		`{"type":"ADDED"}` + "\n", `{"object":{}}` + "\n", `{"type":1,"object":[]}` + "\n", "[]\n", " null \n", "\n\n", `{"type":"ERROR","object":"x"}` + "\n",
	} {
		f.Add([]byte(stream))
	}
	packer := newUnstructuredPacker()
	f.Fuzz(func(t *testing.T, stream []byte) {
		d := newDecoder(io.NopCloser(bytes.NewReader(stream)), func(text []byte) (runtime.Object, error) {
			return packer.PackText(Without(text, "metadata", "managedFields"))
		})
		for range len(stream) + 1 {
			what, obj, err := d.Decode()
			if err != nil {
				return
			}
			if obj == nil || what == "" {
				t.Fatalf("an event of type %q has %v, and no error", what, obj)
			}
		}
		t.Error("there are more events than bytes")
	})
}
