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

package change

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/sets"
	"pgregory.net/rapid"
)

// allMetadata names everything below metadata.
var allMetadata = []Pattern{{fieldSegment(metadataField)}}

// excepted returns the changes, and parts of them, of which one of the texts is the beginning of
// what lines writes; "*" is all changes.
func excepted(t *testing.T, changes []Change, texts []string) []Change {
	t.Helper()
	var out []Change
	if !slices.Contains(texts, "*") {
		for i := 0; i < len(changes); i++ {
			changes = append(changes, changes[i].Parts()...)
		}
	}
	for _, text := range texts {
		found := false
		for i, line := range lines(t, changes) {
			if text == "*" || strings.HasPrefix(line+" ", text+" ") {
				found = true
				out = append(out, changes[i])
			}
		}
		if !found {
			t.Fatalf("no change is %q: %q", text, lines(t, changes))
		}
	}
	return out
}

type mergeTest struct {
	ours, base, theirs string
	// except are beginnings of the lines of changes, and apart are paths.
	except []string
	apart  []string
	want   string
}

func checkMerge(t *testing.T, tests map[string]mergeTest) {
	t.Helper()
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			ours, base, theirs := object(t, tc.ours), object(t, tc.base), object(t, tc.theirs)
			changes := Find(base, theirs, Options{Metadata: allMetadata})
			var apart []Path
			for _, text := range tc.apart {
				path, err := ParsePath(text)
				if err != nil {
					t.Fatal(err)
				}
				apart = append(apart, path)
			}
			got := Merge(ours, base, theirs, nil, excepted(t, changes, tc.except), apart...)
			if diff := cmp.Diff(object(t, tc.want), got); diff != "" {
				t.Errorf("Merge() (-want +got):\n%s", diff)
			}
			for text, v := range map[string]map[string]any{tc.ours: ours, tc.base: base, tc.theirs: theirs} {
				if diff := cmp.Diff(object(t, text), v); diff != "" {
					t.Errorf("an argument was modified:\n%s", diff)
				}
			}
		})
	}
}

func TestMergeMaps(t *testing.T) {
	checkMerge(t, map[string]mergeTest{
		"nothing happened": {
			ours: `spec: {a: x}`, base: `spec: {a: y}`, theirs: `spec: {a: y}`, want: `spec: {a: x}`,
		},
		"a field set": {
			ours: `spec: {a: x}`, base: `spec: {a: y}`, theirs: `spec: {a: y, b: z}`, want: `spec: {a: x, b: z}`,
		},
		"a field changed again": {
			ours: `spec: {a: x}`, base: `spec: {a: y}`, theirs: `spec: {a: z}`, want: `spec: {a: z}`,
		},
		"a field excepted": {
			ours: `spec: {a: x, b: x}`, base: `spec: {a: x, b: x}`, theirs: `spec: {a: y, b: y}`,
			except: []string{"Mutate spec.b"}, want: `spec: {a: y, b: x}`,
		},
		"a field removed": {
			ours: `spec: {a: x, b: x}`, base: `spec: {a: y, b: y}`, theirs: `spec: {a: y}`, want: `spec: {a: x}`,
		},
		"a field removed, excepted": {
			ours: `spec: {a: x, b: x}`, base: `spec: {a: y, b: y}`, theirs: `spec: {a: y}`,
			except: []string{"Delete spec.b"}, want: `spec: {a: x, b: x}`,
		},
		"a map removed": {
			ours: `spec: {m: {a: x}, b: x}`, base: `spec: {m: {a: y, c: y}, b: x}`, theirs: `spec: {b: x}`, want: `spec: {b: x}`,
		},
		"a map removed, excepted": {
			ours: `spec: {m: {a: x}}`, base: `spec: {m: {a: x, b: x}}`, theirs: `spec: {}`,
			except: []string{"*"}, want: `spec: {m: {a: x}}`,
		},
		"a map removed, excepted in part": {
			ours: `spec: {m: {a: x, b: x}}`, base: `spec: {m: {a: x, b: x, c: x}}`, theirs: `spec: {}`,
			except: []string{"Delete spec.m.a"}, want: `spec: {m: {a: x}}`,
		},
		"a map removed, of which base had lost a part, taken apart": {
			ours: `spec: {m: {a: x, b: x, c: {d: x, e: x}}}`, base: `spec: {m: {a: x, c: {d: x}}}`, theirs: `spec: {}`,
			apart: []string{"spec.m"}, want: `spec: {m: {b: x, c: {e: x}}}`,
		},
		"a map removed, taken apart": {
			ours: `spec: {m: {a: x}}`, base: `spec: {m: {a: x}}`, theirs: `spec: {}`, apart: []string{"spec.m"}, want: `spec: {}`,
		},
		"a map added, excepted in part": {
			ours: `spec: {}`, base: `spec: {}`, theirs: `spec: {m: {a: x, d: {b: x, c: x}}}`,
			except: []string{"Insert spec.m.d.c"}, want: `spec: {m: {a: x, d: {b: x}}}`,
		},
		"a map added, excepted in all its parts": {
			ours: `spec: {a: x}`, base: `spec: {a: x}`, theirs: `spec: {a: x, m: {b: x, c: x}}`,
			except: []string{"Insert spec.m.b", "Insert spec.m.c"}, want: `spec: {a: x}`,
		},
		"lists added and removed, excepted in part": {
			ours: `spec: {m: [{name: c}, {name: d}]}`, base: `spec: {m: [{name: c}, {name: d}]}`, theirs: `spec: {l: [{name: a, b: x}, {name: b}]}`,
			except: []string{"Insert spec.l[0]", "Delete spec.m[1]"}, want: `spec: {l: [{name: b}], m: [{name: d}]}`,
		},
		"a map made that base had lost": {
			ours: `spec: {m: {a: x, b: x}}`, base: `spec: {}`, theirs: `spec: {m: {b: y, c: y}}`, want: `spec: {m: {a: x, b: y, c: y}}`,
		},
		"an empty map made that base had lost": {
			ours: `spec: {m: {a: x}}`, base: `spec: {}`, theirs: `spec: {m: {}}`, want: `spec: {m: {a: x}}`,
		},
		"an empty map made": {
			ours: `spec: {}`, base: `spec: {}`, theirs: `spec: {m: {}, l: []}`, want: `spec: {m: {}, l: []}`,
		},
		"a map emptied": {
			ours: `spec: {m: {a: x}}`, base: `spec: {m: {a: x}}`, theirs: `spec: {m: {}}`, want: `spec: {m: {}}`,
		},
		"a map emptied that ours does not have": {
			ours: `spec: {}`, base: `spec: {m: {a: x}}`, theirs: `spec: {m: {}}`, want: `spec: {}`,
		},
		"a field within a map that ours does not have": {
			ours: `spec: {}`, base: `spec: {m: {a: x}}`, theirs: `spec: {m: {a: x, b: y}}`, want: `spec: {m: {b: y}}`,
		},
		"a field removed within a map that ours does not have": {
			ours: `spec: {}`, base: `spec: {m: {a: x, b: y}}`, theirs: `spec: {m: {a: x}}`, want: `spec: {}`,
		},
		"a scalar becomes a map": {
			ours: `spec: {a: x}`, base: `spec: {a: y}`, theirs: `spec: {a: {b: z}}`, want: `spec: {a: {b: z}}`,
		},
		"a scalar becomes a map, excepted": {
			ours: `spec: {a: x}`, base: `spec: {a: y}`, theirs: `spec: {a: {b: z}}`, except: []string{"*"}, want: `spec: {a: x}`,
		},
		"a map becomes a scalar": {
			ours: `spec: {a: {b: x, c: x}}`, base: `spec: {a: {b: x}}`, theirs: `spec: {a: z}`, want: `spec: {a: z}`,
		},
		"a map becomes a list": {
			ours: `spec: {a: {b: x}}`, base: `spec: {a: {b: x}}`, theirs: `spec: {a: [1]}`, want: `spec: {a: [1]}`,
		},
		"ours has a scalar where a map was changed within": {
			ours: `spec: {a: x}`, base: `spec: {a: {b: y}}`, theirs: `spec: {a: {b: y, c: z}}`, want: `spec: {a: x}`,
		},
		"ours has a list where a map was changed within": {
			ours: `spec: {a: [x]}`, base: `spec: {a: {b: y}}`, theirs: `spec: {a: {b: z}}`, want: `spec: {a: [x]}`,
		},
		"ours has a map where a list was changed within": {
			ours: `spec: {a: {b: x}}`, base: `spec: {a: [y]}`, theirs: `spec: {a: [z]}`, want: `spec: {a: {b: x}}`,
		},
		"null is as good as nothing": {
			ours: `spec: {a: x, b: x}`, base: `spec: {a: x, b: null}`, theirs: `spec: {a: null}`, want: `spec: {b: x}`,
		},
		"a field from null": {
			ours: `spec: {}`, base: `spec: {a: null}`, theirs: `spec: {a: x}`, want: `spec: {a: x}`,
		},
		"quantities that are the same": {
			ours: `spec: {limits: {cpu: "2"}}`, base: `spec: {limits: {cpu: 500m}}`, theirs: `spec: {limits: {cpu: "0.5"}}`,
			want: `spec: {limits: {cpu: "2"}}`,
		},
		"the first field of all": {
			ours: `{}`, base: `{}`, theirs: `data: {a: x}`, want: `data: {a: x}`,
		},
		"everything removed": {
			ours: `data: {a: x}`, base: `data: {a: x}`, theirs: `{}`, want: `{}`,
		},
	})
}

func TestMergeMetadata(t *testing.T) {
	checkMerge(t, map[string]mergeTest{
		"a label besides one that is excepted, where none was": {
			ours: `{}`, base: `{}`, theirs: `metadata: {labels: {a: x, b: y}}`,
			except: []string{"Insert metadata.labels[b]"}, want: `metadata: {labels: {a: x}}`,
		},
		"all labels removed, one of them excepted": {
			ours: `metadata: {labels: {a: x, b: y}}`, base: `metadata: {labels: {a: x, b: y}}`, theirs: `{}`,
			except: []string{"Delete metadata.labels[b]"}, want: `metadata: {labels: {b: y}}`,
		},
		"the first label, where ours has one that base had lost": {
			ours: `metadata: {labels: {a: x}}`, base: `{}`, theirs: `metadata: {labels: {b: y}}`,
			want: `metadata: {labels: {a: x, b: y}}`,
		},
		"the last label removed, where ours has one that base had lost": {
			ours: `metadata: {labels: {a: x, b: y}}`, base: `metadata: {labels: {b: y}}`, theirs: `metadata: {}`,
			want: `metadata: {labels: {a: x}}`,
		},
		"all annotations removed": {
			ours: `metadata: {annotations: {a: x}}`, base: `metadata: {annotations: {a: x}}`, theirs: `{}`, want: `{}`,
		},
		"labels that are no map": {
			ours: `metadata: {labels: {a: x}}`, base: `metadata: {labels: 3}`, theirs: `metadata: {labels: [x]}`,
			want: `metadata: {labels: {a: x}}`,
		},
		"finalizers": {
			ours: `metadata: {finalizers: [a]}`, base: `metadata: {finalizers: [a]}`, theirs: `metadata: {finalizers: [a, b], labels: {c: d}}`,
			except: []string{"Insert metadata.finalizers[1]"}, want: `metadata: {finalizers: [a], labels: {c: d}}`,
		},
	})
}

func TestMergeListsWithKeys(t *testing.T) {
	checkMerge(t, map[string]mergeTest{
		"an item changed in which ours differs": {
			ours: `spec: {containers: [{name: a, image: x}]}`, base: `spec: {containers: [{name: a, image: evil}]}`,
			theirs: `spec: {containers: [{name: a, image: evil, tty: true}]}`,
			want:   `spec: {containers: [{name: a, image: x, tty: true}]}`,
		},
		"an item put in front": {
			ours: `spec: {containers: [{name: a, image: x}, {name: b}]}`, base: `spec: {containers: [{name: a, image: evil}, {name: b}]}`,
			theirs: `spec: {containers: [{name: c}, {name: a, image: evil}, {name: b}]}`,
			want:   `spec: {containers: [{name: c}, {name: a, image: x}, {name: b}]}`,
		},
		"an item put in front, excepted, besides another": {
			ours: `spec: {containers: [{name: a}, {name: b}]}`, base: `spec: {containers: [{name: a}, {name: b}]}`,
			theirs: `spec: {containers: [{name: evil}, {name: a}, {name: c}, {name: b}]}`, except: []string{"Insert spec.containers[0]"},
			want: `spec: {containers: [{name: a}, {name: c}, {name: b}]}`,
		},
		"an item removed before one in which ours differs": {
			ours: `spec: {containers: [{name: a}, {name: b, image: x}]}`, base: `spec: {containers: [{name: a}, {name: b, image: evil}]}`,
			theirs: `spec: {containers: [{name: b, image: evil}]}`,
			want:   `spec: {containers: [{name: b, image: x}]}`,
		},
		"one item removed and another in its place, of which the first is excepted": {
			ours: `spec: {containers: [{name: a}, {name: b}]}`, base: `spec: {containers: [{name: a}, {name: b}]}`,
			theirs: `spec: {containers: [{name: c}, {name: b}]}`, except: []string{"Delete spec.containers[0]"},
			want: `spec: {containers: [{name: c}, {name: a}, {name: b}]}`,
		},
		"one item removed and another in its place, of which the second is excepted": {
			ours: `spec: {containers: [{name: a}, {name: b}]}`, base: `spec: {containers: [{name: a}, {name: b}]}`,
			theirs: `spec: {containers: [{name: c}, {name: b}]}`, except: []string{"Insert spec.containers[0]"},
			want: `spec: {containers: [{name: b}]}`,
		},
		"an item that ours does not have removed": {
			ours: `spec: {containers: [{name: a}]}`, base: `spec: {containers: [{name: a}, {name: evil}]}`,
			theirs: `spec: {containers: [{name: a}]}`, want: `spec: {containers: [{name: a}]}`,
		},
		"an item that ours does not have changed in part": {
			ours: `spec: {containers: [{name: a}]}`, base: `spec: {containers: [{name: bb, image: evil}, {name: a}]}`,
			theirs: `spec: {containers: [{name: bb, image: evil, tty: true}, {name: a}]}`,
			want:   `spec: {containers: [{name: bb, tty: true}, {name: a}]}`,
		},
		"an item that only ours has stays": {
			ours: `spec: {containers: [{name: a}, {name: b}, {name: c}]}`, base: `spec: {containers: [{name: a}, {name: c}]}`,
			theirs: `spec: {containers: [{name: a}, {name: c, tty: true}]}`,
			want:   `spec: {containers: [{name: a}, {name: b}, {name: c, tty: true}]}`,
		},
		"reordered, with an item in which ours differs": {
			ours: `spec: {containers: [{name: a, image: x}, {name: b}]}`, base: `spec: {containers: [{name: a, image: evil}, {name: b}]}`,
			theirs: `spec: {containers: [{name: b}, {name: a, image: evil}]}`,
			want:   `spec: {containers: [{name: b}, {name: a, image: x}]}`,
		},
		"reordered, excepted": {
			ours: `spec: {containers: [{name: a}, {name: b}]}`, base: `spec: {containers: [{name: a}, {name: b}]}`,
			theirs: `spec: {containers: [{name: b, image: evil}, {name: a}]}`, except: []string{"Mutate spec.containers"},
			want: `spec: {containers: [{name: a}, {name: b}]}`,
		},
		"an item inserted where ours has another order": {
			ours: `spec: {containers: [{name: a}, {name: b}]}`, base: `spec: {containers: [{name: b}, {name: a}]}`,
			theirs: `spec: {containers: [{name: b}, {name: a}, {name: c}]}`,
			want:   `spec: {containers: [{name: a}, {name: c}, {name: b}]}`,
		},
		"another key, and nothing else": {
			ours:   `spec: {ports: [{containerPort: 80, protocol: TCP}]}`,
			base:   `spec: {ports: [{containerPort: 80, protocol: TCP, hostPort: 666}]}`,
			theirs: `spec: {ports: [{containerPort: 81, protocol: TCP, hostPort: 666}]}`,
			want:   `spec: {ports: [{containerPort: 81, protocol: TCP}]}`,
		},
		"another name for an item that ours does not have": {
			ours: `spec: {containers: [{name: a}]}`, base: `spec: {containers: [{name: a}, {name: b, image: evil}]}`,
			theirs: `spec: {containers: [{name: a}, {name: c, image: evil}]}`,
			want:   `spec: {containers: [{name: a}, {name: c}]}`,
		},
		"another item in the place of one that ours does not have": {
			ours: `spec: {containers: [{name: a}]}`, base: `spec: {containers: [{name: a}, {name: b, image: evil, pull: Always}]}`,
			theirs: `spec: {containers: [{name: a}, {name: c, image: good, pull: Always}]}`,
			want:   `spec: {containers: [{name: a}, {name: c, image: good, pull: Always}]}`,
		},
		"an item put back in the place of another": {
			ours: `spec: {containers: [{name: a}, {name: b, pull: Always}]}`, base: `spec: {containers: [{name: a}, {name: bb, pull: Always}]}`,
			theirs: `spec: {containers: [{name: a}, {name: b, pull: Always}]}`,
			want:   `spec: {containers: [{name: a}, {name: b, pull: Always}]}`,
		},
		"the first item of a list": {
			ours: `spec: {containers: [{name: a}]}`, base: `spec: {containers: []}`, theirs: `spec: {containers: [{name: b}]}`,
			want: `spec: {containers: [{name: a}, {name: b}]}`,
		},
		"a list made that base had lost": {
			ours: `spec: {containers: [{name: a}]}`, base: `spec: {}`, theirs: `spec: {containers: [{name: b}]}`,
			want: `spec: {containers: [{name: a}, {name: b}]}`,
		},
		"the last item of a list": {
			ours: `spec: {containers: [{name: a}, {name: b}]}`, base: `spec: {containers: [{name: b}]}`, theirs: `spec: {containers: []}`,
			want: `spec: {containers: [{name: a}]}`,
		},
		"the list removed": {
			ours: `spec: {containers: [{name: a}, {name: b}]}`, base: `spec: {containers: [{name: b}]}`, theirs: `spec: {}`,
			want: `spec: {}`,
		},
		"a null in an item": {
			ours: `spec: {containers: [{name: a, image: x}]}`, base: `spec: {containers: [{name: a, image: null}]}`,
			theirs: `spec: {containers: [{name: a, tty: true}]}`, want: `spec: {containers: [{name: a, image: x, tty: true}]}`,
		},
		"ours has an item twice": {
			ours:   `spec: {containers: [{name: a, image: x}, {name: a, image: y}]}`,
			base:   `spec: {containers: [{name: a, image: evil}, {name: b}]}`,
			theirs: `spec: {containers: [{name: a, image: evil}, {name: b, image: evil2}]}`, except: []string{"*"},
			want: `spec: {containers: [{name: a, image: x}, {name: a, image: y}]}`,
		},
		"two kinds of ports": {
			ours: `spec: {ports: [{port: 1, protocol: TCP}]}`, base: `spec: {ports: [{containerPort: 2, protocol: TCP, x: evil}]}`,
			theirs: `spec: {ports: [{containerPort: 2, protocol: TCP, x: evil}, {containerPort: 3}]}`,
			want:   `spec: {ports: [{port: 1, protocol: TCP}, {containerPort: 3}]}`,
		},
	})
}

func TestMergeListsWithoutKeys(t *testing.T) {
	checkMerge(t, map[string]mergeTest{
		"an item changed beside one in which ours differs": {
			ours: `spec: {args: [a, b]}`, base: `spec: {args: [a, evil]}`, theirs: `spec: {args: [c, evil]}`, want: `spec: {args: [c, b]}`,
		},
		"an item changed in which ours differs": {
			ours: `spec: {args: [a, b]}`, base: `spec: {args: [a, evil]}`, theirs: `spec: {args: [a, c]}`, want: `spec: {args: [a, c]}`,
		},
		"an item put in front of one in which ours differs": {
			ours: `spec: {args: [a, b]}`, base: `spec: {args: [a, evil]}`, theirs: `spec: {args: [c, a, evil]}`, want: `spec: {args: [c, a, b]}`,
		},
		"an item put behind one that ours does not have": {
			ours: `spec: {args: [a]}`, base: `spec: {args: [a, evil]}`, theirs: `spec: {args: [a, evil, c]}`, want: `spec: {args: [a, c]}`,
		},
		"an item removed before one in which ours differs": {
			ours: `spec: {args: [a, b, c]}`, base: `spec: {args: [a, evil, c]}`, theirs: `spec: {args: [evil, c]}`, want: `spec: {args: [b, c]}`,
		},
		"an item removed in which ours differs": {
			ours: `spec: {args: [a, b, c]}`, base: `spec: {args: [a, evil, c]}`, theirs: `spec: {args: [a, c]}`, want: `spec: {args: [a, c]}`,
		},
		"an item removed that ours does not have": {
			ours: `spec: {args: [a, c]}`, base: `spec: {args: [a, evil, c]}`, theirs: `spec: {args: [a, c]}`, want: `spec: {args: [a, c]}`,
		},
		"the first of some that are the same removed": {
			ours: `spec: {args: [a, b, x, b]}`, base: `spec: {args: [a, b, a, b]}`, theirs: `spec: {args: [b, a, b]}`, want: `spec: {args: [b, x, b]}`,
		},
		"reordered, with an item in which ours differs": {
			ours: `spec: {args: [a, b]}`, base: `spec: {args: [a, evil]}`, theirs: `spec: {args: [evil, a]}`, want: `spec: {args: [b, a]}`,
		},
		"reordered, with an item that ours does not have": {
			ours: `spec: {args: [a, b]}`, base: `spec: {args: [a, evil, b]}`, theirs: `spec: {args: [b, evil, a]}`, want: `spec: {args: [b, a]}`,
		},
		"reordered, excepted": {
			ours: `spec: {args: [a, b]}`, base: `spec: {args: [a, b]}`, theirs: `spec: {args: [b, a]}`, except: []string{"*"}, want: `spec: {args: [a, b]}`,
		},
		"all items changed": {
			ours: `spec: {args: [a]}`, base: `spec: {args: [evil, worse]}`, theirs: `spec: {args: [b, c, d]}`, want: `spec: {args: [b, c, d]}`,
		},
		"all items changed, excepted": {
			ours: `spec: {args: [a]}`, base: `spec: {args: [evil, worse]}`, theirs: `spec: {args: [b, c, d]}`, except: []string{"*"}, want: `spec: {args: [a]}`,
		},
		"one of two changes excepted": {
			ours: `spec: {args: [a, b]}`, base: `spec: {args: [a, b]}`, theirs: `spec: {args: [c, evil]}`,
			except: []string{"Mutate spec.args[1]"}, want: `spec: {args: [c, b]}`,
		},
		"one of two items put behind excepted": {
			ours: `spec: {args: [a]}`, base: `spec: {args: [a]}`, theirs: `spec: {args: [a, b, evil]}`,
			except: []string{"Insert spec.args[2]"}, want: `spec: {args: [a, b]}`,
		},
		"one of two changes excepted where ours has not as many": {
			ours: `spec: {args: [a]}`, base: `spec: {args: [a, evil]}`, theirs: `spec: {args: [b, worse]}`,
			except: []string{"Mutate spec.args[1]"}, want: `spec: {args: [a]}`,
		},
		"a value moved to an item that is not excepted": {
			ours: `spec: {args: [a, b]}`, base: `spec: {args: [a, evil]}`, theirs: `spec: {args: [evil, worse]}`,
			except: []string{"Mutate spec.args[1]"}, want: `spec: {args: [a, b]}`,
		},
		"maps changed within": {
			ours:   `spec: {rules: [{from: x, port: 1}, {from: y, port: 2}]}`,
			base:   `spec: {rules: [{from: evil, port: 1}, {from: y, port: 2}]}`,
			theirs: `spec: {rules: [{from: evil, port: 3}, {from: y, port: 4}]}`,
			want:   `spec: {rules: [{from: x, port: 3}, {from: y, port: 4}]}`,
		},
		"maps changed within that have a value in common that ours does not have": {
			ours:   `spec: {rules: [{from: x, port: 1}, {from: y, port: 2}]}`,
			base:   `spec: {rules: [{from: evil, port: 1}, {from: evil, port: 2}]}`,
			theirs: `spec: {rules: [{from: evil, port: 3}, {from: evil, port: 4}]}`,
			want:   `spec: {rules: [{from: x, port: 3}, {from: y, port: 4}]}`,
		},
		"maps changed within, and one put behind": {
			ours:   `spec: {rules: [{from: x, port: 1}]}`,
			base:   `spec: {rules: [{from: evil, port: 1}]}`,
			theirs: `spec: {rules: [{from: evil, port: 3}, {from: y, port: 4}]}`,
			want:   `spec: {rules: [{port: 3}, {from: y, port: 4}]}`,
		},
		"maps changed within and swapped": {
			ours:   `spec: {rules: [{from: x, port: 1}, {from: y, port: 2}]}`,
			base:   `spec: {rules: [{from: evil, port: 1}, {from: y, port: 2}]}`,
			theirs: `spec: {rules: [{from: y, port: 3}, {from: evil, port: 4}]}`,
			want:   `spec: {rules: [{from: y, port: 3}, {from: y, port: 2}]}`,
		},
		"a map changed within of which ours has the rest": {
			ours:   `spec: {rules: [{from: x, port: 1}, {from: y, port: 2}]}`,
			base:   `spec: {rules: [{from: x, port: 9}, {from: y, port: 2}]}`,
			theirs: `spec: {rules: [{from: y, port: 2}, {from: x, port: 5}]}`,
			want:   `spec: {rules: [{from: y, port: 2}, {from: x, port: 5}]}`,
		},
		"a map put behind with a value of one that stays": {
			ours:   `spec: {rules: [{from: x}]}`,
			base:   `spec: {rules: [{from: evil}]}`,
			theirs: `spec: {rules: [{from: evil}, {from: evil, port: 2}]}`,
			want:   `spec: {rules: [{from: x}, {from: evil, port: 2}]}`,
		},
		"a list within a map, of which an item is not theirs": {
			ours:   `spec: {rules: [{hosts: [a]}]}`,
			base:   `spec: {rules: [{hosts: [a, evil]}]}`,
			theirs: `spec: {rules: [{port: 1}, {hosts: [evil, c], port: 2}]}`,
			want:   `spec: {rules: [{port: 1}, {hosts: [c], port: 2}]}`,
		},
		"a map put behind that has nothing but what is not theirs": {
			ours:   `spec: {rules: [{from: x}]}`,
			base:   `spec: {rules: [{from: x, to: evil}]}`,
			theirs: `spec: {rules: [{from: y}, {to: evil}]}`,
			want:   `spec: {rules: [{from: y}]}`,
		},
		"a map that ours does not have changed within": {
			ours: `spec: {rules: []}`, base: `spec: {rules: [{from: evil, port: 1}]}`, theirs: `spec: {rules: [{from: evil, port: 2}]}`,
			want: `spec: {rules: [{port: 2}]}`,
		},
		"lists in lists": {
			ours: `spec: {m: [[a], [b]]}`, base: `spec: {m: [[a], [evil]]}`, theirs: `spec: {m: [[a, c], [evil]]}`, want: `spec: {m: [[a, c], [b]]}`,
		},
		"nulls": {
			ours: `spec: {args: [null, a]}`, base: `spec: {args: [null, evil]}`, theirs: `spec: {args: [b, null, evil]}`, want: `spec: {args: [b, null, a]}`,
		},
		"a list that only ours has not": {
			ours: `spec: {}`, base: `spec: {args: [evil]}`, theirs: `spec: {args: [evil, a]}`, want: `spec: {args: [a]}`,
		},
		"a list made that base had lost": {
			ours: `spec: {args: [a]}`, base: `spec: {}`, theirs: `spec: {args: [b]}`, want: `spec: {args: [b]}`,
		},
		"a list that only ours has not, emptied": {
			ours: `spec: {}`, base: `spec: {args: [evil]}`, theirs: `spec: {args: []}`, want: `spec: {}`,
		},
		"a list emptied": {
			ours: `spec: {args: [a]}`, base: `spec: {args: [evil]}`, theirs: `spec: {args: []}`, want: `spec: {args: []}`,
		},
		"items of different types": {
			ours: `spec: {l: [a, {b: x}, [c], 1]}`, base: `spec: {l: [a, {b: evil}, [c], 1]}`, theirs: `spec: {l: [1, [c], {b: evil}, a]}`,
			want: `spec: {l: [1, [c], {b: x}, a]}`,
		},
		"items with and without names": {
			ours: `spec: {l: [{name: a, x: 1}, {x: 2}]}`, base: `spec: {l: [{name: a, x: evil}, {x: 2}]}`,
			theirs: `spec: {l: [{x: 2}, {name: a, x: evil}]}`, want: `spec: {l: [{x: 2}, {name: a, x: 1}]}`,
		},
	})
}

func TestMergeByKeysOfASchema(t *testing.T) {
	schema := &declared{keys: map[string][]string{"spec.rules": {"id"}}}
	base := object(t, `spec: {rules: [{id: 1, to: evil}, {id: 2}]}`)
	theirs := object(t, `spec: {rules: [{id: 2}, {id: 3}, {id: 1, to: evil}]}`)
	got := Merge(object(t, `spec: {rules: [{id: 1, to: x}, {id: 2}]}`), base, theirs, schema, nil)
	if diff := cmp.Diff(object(t, `spec: {rules: [{id: 2}, {id: 3}, {id: 1, to: x}]}`), got); diff != "" {
		t.Errorf("Merge() (-want +got):\n%s", diff)
	}
}

// TestMergeDeeperThanFind shows that what Find does not tell apart is not brought in with
// what somebody else changed there.
func TestMergeDeeperThanFind(t *testing.T) {
	deep := func(a, b string) map[string]any {
		var v any = map[string]any{"a": a, "b": b}
		for range 10 * maxSegments {
			v = map[string]any{"x": v}
		}
		fields, _ := v.(map[string]any)
		return fields
	}
	ours, base, theirs := deep("x", "y"), deep("evil", "y"), deep("evil", "z")
	if diff := cmp.Diff(ours, Merge(ours, base, theirs, nil, nil)); diff != "" {
		t.Errorf("Merge() where ours differs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(theirs, Merge(base, base, theirs, nil, nil)); diff != "" {
		t.Errorf("Merge() where ours is the same (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(base, Merge(base, base, theirs, nil, Find(base, theirs, Options{}))); diff != "" {
		t.Errorf("Merge() of what is excepted (-want +got):\n%s", diff)
	}
}

// TestMergeOfLargeObjects takes minutes where the cost grows with the square of the size.
func TestMergeOfLargeObjects(t *testing.T) {
	const n = 20_000
	list := func(text string, step int) (keyed, unkeyed, fields any) {
		k, u, m := make([]any, n), make([]any, n), map[string]any{}
		for i := range n {
			at := (i * step) % n
			k[i] = map[string]any{"name": fmt.Sprint("n", at), "value": text}
			u[i] = fmt.Sprint(text, at)
			m[fmt.Sprint("n", i)] = text
		}
		return k, u, m
	}
	object := func(text string, step int) map[string]any {
		k, u, m := list(text, step)
		return map[string]any{"a": map[string]any{"env": k}, "b": u, "c": m}
	}
	for name, v := range map[string][3]map[string]any{
		"all changed":   {object("a", 1), object("b", 1), object("c", 1)},
		"all reordered": {object("b", 1), object("b", 1), object("b", 7)},
	} {
		if diff := Find(v[2], Merge(v[0], v[1], v[2], nil, nil), Options{}); len(diff) > 0 {
			t.Errorf("%s: Merge() differs from theirs at %s", name, diff[0].Path)
		}
		if diff := Find(v[0], Merge(v[0], v[1], v[2], nil, Find(v[1], v[2], Options{})), Options{}); len(diff) > 0 {
			t.Errorf("%s: Merge() of ours, where all is excepted, differs at %s", name, diff[0].Path)
		}
	}
}

// writer makes values of which each string is its own, and changes others. Names of items
// are nobody's.
type writer struct {
	t      *rapid.T
	prefix string
	n      int
}

func (w *writer) roll(n int) int { return rapid.IntRange(0, n-1).Draw(w.t, "roll") }

func (w *writer) text() string {
	w.n++
	return fmt.Sprintf("%s%d;", w.prefix, w.n)
}

// value returns JSON of some depth. Items of lists have names, names that several have, or none.
func (w *writer) value(depth int) any {
	kind := w.roll(8)
	switch {
	case depth == 0 || kind > 5:
		return w.text()
	case kind > 3:
		m := map[string]any{}
		for _, name := range []string{"a", "b", "labels"} {
			if w.roll(3) < 2 {
				m[name] = w.value(depth - 1)
			}
		}
		return m
	}
	l := []any{}
	keyed, step := w.roll(2) == 0, w.roll(2)
	for i := range 4 - w.roll(4) {
		v := w.value(depth - 1)
		if keyed {
			v = map[string]any{"name": fmt.Sprint("n", i*step+i/2), "v": v}
		}
		l = append(l, v)
	}
	return l
}

// edit returns a copy of v in which a few things differ.
func (w *writer) edit(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return w.editMap(v)
	case []any:
		return w.editList(v)
	case string:
		if w.roll(8) == 7 {
			return w.text()
		}
	}
	return v
}

func (w *writer) editMap(v map[string]any) map[string]any {
	m := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		switch roll := w.roll(8); {
		case name == "name":
			m[name] = v[name]
		case roll == 7:
		case roll == 6:
			m[name] = w.value(1)
		default:
			m[name] = w.edit(v[name])
		}
	}
	if w.roll(5) == 4 {
		m["new"] = w.value(1)
	}
	return m
}

func (w *writer) editList(v []any) []any {
	l := []any{}
	for _, item := range v {
		switch w.roll(8) {
		case 7:
		case 6:
			l = append(l, w.edit(item), w.value(1))
		case 5:
			w.n++
			l = append(l, map[string]any{"name": fmt.Sprint("new", w.n), "v": w.text()}, w.edit(item))
		default:
			l = append(l, w.edit(item))
		}
	}
	if w.roll(6) == 5 {
		l = rapid.Permutation(l).Draw(w.t, "shuffled")
	}
	return l
}

// threeVersions are three versions of an object that have much in common: ours, base and
// theirs. The strings that each of them was changed to begin with its name.
var threeVersions = rapid.Custom(func(t *rapid.T) [3]map[string]any {
	w := writer{t: t, prefix: "first"}
	first := map[string]any{"spec": w.value(4), "list": w.value(2)}
	ours := (&writer{t: t, prefix: "ours"}).editMap(first)
	base := (&writer{t: t, prefix: "base"}).editMap(first)
	theirs := (&writer{t: t, prefix: "theirs"}).editMap(base)
	return [3]map[string]any{ours, base, theirs}
})

// some returns some of the changes.
func some(t *rapid.T, changes []Change) []Change {
	return slices.DeleteFunc(slices.Clone(changes), func(Change) bool { return rapid.Bool().Draw(t, "some") })
}

func TestPropertyMergeIntoTheSameIsTheirs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := threeVersions.Draw(t, "versions")
		if diff := Find(v[2], Merge(v[1], v[1], v[2], nil, nil), Options{}); len(diff) > 0 {
			t.Fatalf("Merge() differs from theirs: %v", diff)
		}
	})
}

func TestPropertyMergeFollowsNothingThatIsExcepted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := threeVersions.Draw(t, "versions")
		got := Merge(v[0], v[1], v[2], nil, Find(v[1], v[2], Options{}))
		if diff := Find(v[0], got, Options{}); len(diff) > 0 {
			t.Fatalf("Merge() of ours, where all is excepted: %v", diff)
		}
	})
}

func TestPropertyMergeDoesNotDependOnTheOrderOfChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := threeVersions.Draw(t, "versions")
		except := some(t, Find(v[1], v[2], Options{}))
		want := Merge(v[0], v[1], v[2], nil, except)
		if diff := cmp.Diff(want, Merge(v[0], v[1], v[2], nil, rapid.Permutation(except).Draw(t, "order"))); diff != "" {
			t.Fatalf("Merge() (-one order +another):\n%s", diff)
		}
	})
}

var writerText = regexp.MustCompile(`(first|ours|base|theirs)[0-9]+;`)

// textsOf returns the strings of a value that a writer has written.
func textsOf(t *rapid.T, v any) sets.Set[string] {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return sets.New(writerText.FindAllString(string(text), -1)...)
}

// TestPropertyMergeBringsInNothingElse shows that no value comes in that base had already
// and ours had not, nor one that is excepted.
func TestPropertyMergeBringsInNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := threeVersions.Draw(t, "versions")
		var except []Change
		if rapid.Bool().Draw(t, "with exceptions") {
			except = some(t, Find(v[1], v[2], Options{}))
		}
		got := textsOf(t, Merge(v[0], v[1], v[2], nil, except)).Difference(textsOf(t, v[0]))
		if foreign := got.Intersection(textsOf(t, v[1])); foreign.Len() > 0 {
			t.Fatalf("Merge() brings in %v", foreign)
		}
		for _, c := range except {
			if foreign := got.Intersection(textsOf(t, c.New)); foreign.Len() > 0 {
				t.Fatalf("Merge() brings in %v of %s, which is excepted", foreign, c.Path)
			}
		}
	})
}

func FuzzMerge(f *testing.F) {
	for _, seed := range [][3]string{
		{`{}`, `{}`, `{}`},
		{`{"spec":{"a":[{"name":"a"}]}}`, `{"spec":{"a":[{"name":"a"},{"name":"a"}]}}`, `{"spec":{"a":[{"name":1},{"name":[]},null]}}`},
		{`{"spec":{"ports":[{"port":1}]}}`, `{"spec":{"ports":[{"containerPort":1}]}}`, `{"spec":{"ports":[{"containerPort":1},{"port":2}]}}`},
		{`{"spec":[[[1]]]}`, `{"spec":[[1],[null],[]]}`, `{"spec":[[],[{}],[1e99]]}`},
		{`{"metadata":{"labels":{"a":"b"}}}`, `{"metadata":{"annotations":{"a":"b"},"labels":[]}}`, `{"metadata":3}`},
		{`{"spec":["a","b"]}`, `{"spec":["a","evil"]}`, `{"spec":["evil","c","a"]}`},
		{`{"spec":[{"a":1},{"a":2}]}`, `{"spec":[{"a":1},{"b":2}]}`, `{"spec":[{"b":2,"c":3},{"a":1},{"a":1}]}`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]), []byte(seed[2]), byte(0))
	}
	f.Fuzz(func(t *testing.T, a, b, c []byte, mask byte) {
		var ours, base, theirs map[string]any
		if json.Unmarshal(a, &ours) != nil || json.Unmarshal(b, &base) != nil || json.Unmarshal(c, &theirs) != nil || ours == nil {
			return
		}
		changes := Find(base, theirs, Options{Metadata: allMetadata})
		if diff := Find(ours, Merge(ours, base, theirs, nil, changes), Options{Metadata: allMetadata}); len(diff) > 0 {
			t.Fatalf("Merge() of ours, where all is excepted: %v", diff)
		}
		if diff := Find(theirs, Merge(base, base, theirs, nil, nil), Options{Metadata: allMetadata}); len(diff) > 0 {
			t.Fatalf("Merge() into the same differs from theirs: %v", diff)
		}
		var except []Change
		for i, c := range changes {
			if mask>>(i%8)&1 == 1 {
				except = append(except, c)
			}
		}
		first := Merge(ours, base, theirs, nil, except)
		slices.Reverse(except)
		if diff := cmp.Diff(first, Merge(ours, base, theirs, nil, except)); diff != "" {
			t.Fatalf("Merge() (-one order +another):\n%s", diff)
		}
	})
}
