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

package approved

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/internal/change"
)

// step is one request of a story.
type step struct {
	// user who makes it; only alice may initiate.
	user string
	// to is the object after it.
	to string
	// approves are the paths of the differences that it approves as well.
	approves []string
	// caused are the paths at or below which the changes of somebody else have a cause.
	caused []string
	// want are the differences after it.
	want []string
}

// story plays steps, and returns what is approved in the end.
func story(t *testing.T, from string, steps []step) *Standing {
	t.Helper()
	h := newHolder(t, object(t, from))
	for i, s := range steps {
		var approves func(Difference) bool
		if s.approves != nil {
			approves = func(d Difference) bool { return change.AnyCovers(patterns(t, s.approves...), d.Path) }
		}
		caused := patterns(t, s.caused...)
		h.write(s.user, object(t, s.to), func(c change.Change) bool {
			return s.user == alice || change.AnyCovers(caused, c.Path)
		}, approves)
		if diff := cmp.Diff(s.want, told(h.now())); diff != "" {
			t.Fatalf("after step %d (-want +got):\n%s\napproved: %s", i+1, diff, asJSON(h.now().Content()))
		}
	}
	return h.now()
}

const (
	abc       = `spec: {containers: [{name: a, image: a1}, {name: b, image: b1}, {name: c, image: c1}]}`
	bEvil     = `spec: {containers: [{name: a, image: a1}, {name: b, image: evil}, {name: c, image: c1}]}`
	acOnly    = `spec: {containers: [{name: a, image: a1}, {name: c, image: c1}]}`
	bbEvil    = `spec: {containers: [{name: a, image: a1}, {name: bb, image: evil}, {name: c, image: c1}]}`
	bAndBB    = `spec: {containers: [{name: a, image: a1}, {name: b, image: b1}, {name: bb, image: evil}, {name: c, image: c1}]}`
	tolerated = `spec: {t: [{key: a, effect: No}, {key: b, effect: No}]}`
	args      = `spec: {args: [x, v, z]}`
	withMap   = `spec: {m: {a: "1", b: "2"}, p: "3"}`
	imageOfB  = "Mutate spec.containers[1].image by "
)

// TestLastAuthors covers who is named for what differs, where several have changed it.
func TestLastAuthors(t *testing.T) {
	const none, all = "spec: {p: 3}", "Insert spec.m by "
	tests := map[string]struct {
		from  string
		steps []step
	}{
		"within what another added": {none, []step{
			{user: "bob", to: `spec: {p: 3, m: {a: "1", b: "2"}}`, want: []string{all + "bob"}},
			{user: "mallory", to: `spec: {p: 3, m: {a: "9", b: "2"}}`, want: []string{all + "mallory"}},
			{user: "trudy", to: `spec: {p: 3, m: {b: "2"}}`, want: []string{all + "trudy"}},
			{user: alice, to: `spec: {p: 4, m: {b: "2"}}`, want: []string{all + "trudy"}},
		}},
		"around what another changed": {`spec: {m: {a: "1", b: "2"}}`, []step{
			{user: "bob", to: `spec: {m: {a: "9", b: "2"}}`, want: []string{"Mutate spec.m.a by bob"}},
			{user: "mallory", to: "spec: {}", want: []string{"Delete spec.m by mallory"}},
			{user: "trudy", to: `spec: {m: {a: "8", b: "2"}}`, want: []string{"Mutate spec.m.a by trudy"}},
		}},
		"beside what another changed": {`spec: {m: {a: "1", b: "2"}}`, []step{
			{user: "bob", to: `spec: {m: {a: "9", b: "2"}}`, want: []string{"Mutate spec.m.a by bob"}},
			{user: "mallory", to: `spec: {m: {a: "9", b: "8"}}`, want: []string{"Mutate spec.m.a by bob", "Mutate spec.m.b by mallory"}},
		}},
		"an item that comes before what another changed is taken out": {abc, []step{
			{user: "bob", to: "spec: {containers: [{name: a, image: a1}, {name: b, image: b1}, {name: c, image: evil}]}", want: []string{"Mutate spec.containers[2].image by bob"}},
			{user: "mallory", to: "spec: {containers: [{name: a, image: a1}, {name: c, image: evil}]}", want: []string{
				"Delete spec.containers[1] by mallory", "Mutate spec.containers[1].image by bob",
			}},
		}},
		"an item is taken out of a list that another added": {none, []step{
			{user: "bob", to: "spec: {p: 3, m: [x, y]}", want: []string{all + "bob"}},
			{user: "mallory", to: "spec: {p: 3, m: [x]}", want: []string{all + "mallory"}},
		}},
		"an item that another took out stays out": {abc, []step{
			{user: "bob", to: acOnly, want: []string{"Delete spec.containers[1] by bob"}},
			{user: "mallory", to: "spec: {containers: [{name: a, image: a1}]}", want: []string{
				"Delete spec.containers[1] by bob", "Delete spec.containers[2] by mallory",
			}},
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { story(t, tc.from, tc.steps) })
	}
}

// TestLatestMarks shows that who changed last what differs is named where only a pending grant knows who did.
func TestLatestMarks(t *testing.T) {
	h := newHolder(t, object(t, "spec: {p: 3}"))
	h.write("bob", object(t, `spec: {p: 3, m: {a: "1"}}`), never, nil)
	s, err := Decode(h.text)
	if err != nil {
		t.Fatal(err)
	}
	h.object.Fields, h.object.Generation = object(t, `spec: {p: 4, m: {a: "2"}}`), h.object.Generation+1
	mark := func(at, user string) Mark {
		return Mark{Author: Author{Path: at, User: user, Generation: h.object.Generation}, Unknown: true}
	}
	got := told(Now(s, Pending{Withheld: []Mark{mark("spec.m.a", "mallory"), mark("spec.p", "trudy")}}, h.object))
	if diff := cmp.Diff([]string{"Insert spec.m by mallory", "Mutate spec.p by trudy"}, got); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
}

func TestStories(t *testing.T) {
	tests := map[string]struct {
		from  string
		steps []step
		// want is what is approved in the end.
		want string
	}{
		"an initiator's changes": {from: abc, want: acOnly, steps: []step{{user: alice, to: bEvil}, {user: alice, to: acOnly}}},
		"a stranger replaces a container, and another puts the old one back besides": {from: abc, want: abc, steps: []step{
			{user: "mallory", to: bbEvil, want: []string{"Delete spec.containers[1] by mallory", "Insert spec.containers[1] by mallory"}},
			{user: "trudy", to: bAndBB, want: []string{"Insert spec.containers[2] by mallory"}},
			{user: "trudy", to: abc},
		}},
		"an initiator puts back what a stranger replaced": {from: abc, want: abc, steps: []step{
			{user: "mallory", to: bbEvil, want: []string{"Delete spec.containers[1] by mallory", "Insert spec.containers[1] by mallory"}},
			{user: alice, to: abc},
		}},
		"a stranger changes a container, removes it, and adds it again": {from: abc, want: abc, steps: []step{
			{user: "mallory", to: bEvil, want: []string{imageOfB + "mallory"}},
			{user: "mallory", to: acOnly, want: []string{"Delete spec.containers[1] by mallory"}},
			{user: "mallory", to: bEvil, want: []string{imageOfB + "mallory"}},
			{user: "mallory", to: abc},
		}},
		"a container gets the image that another had": {from: abc, want: abc, steps: []step{
			{user: "mallory", to: bEvil, want: []string{imageOfB + "mallory"}},
			{
				user: "mallory", to: `spec: {containers: [{name: a, image: a1}, {name: b, image: evil}, {name: c, image: b1}]}`,
				want: []string{imageOfB + "mallory", "Mutate spec.containers[2].image by mallory"},
			},
			{
				user: "mallory", to: `spec: {containers: [{name: a, image: a1}, {name: b, image: b1}, {name: c, image: b1}]}`,
				want: []string{"Mutate spec.containers[2].image by mallory"},
			},
			{user: "mallory", to: abc},
		}},
		"several strangers": {from: withMap, want: withMap, steps: []step{
			{user: "mallory", to: `spec: {m: {a: "4", b: "2"}, p: "3"}`, want: []string{"Mutate spec.m.a by mallory"}},
			{user: "trudy", to: `spec: {m: {a: "4", b: "5"}, p: "3"}`, want: []string{"Mutate spec.m.a by mallory", "Mutate spec.m.b by trudy"}},
			{user: "trudy", to: `spec: {m: {a: "6", b: "5"}, p: "3"}`, want: []string{"Mutate spec.m.a by trudy", "Mutate spec.m.b by trudy"}},
			{user: "mallory", to: `spec: {m: {a: "1", b: "5"}, p: "3"}`, want: []string{"Mutate spec.m.b by trudy"}},
			{user: "mallory", to: withMap},
		}},
		"put back in another order than changed": {from: withMap, want: withMap, steps: []step{
			{user: "mallory", to: `spec: {m: {a: "4", b: "2"}, p: "3"}`, want: []string{"Mutate spec.m.a by mallory"}},
			{user: "mallory", to: `spec: {m: {a: "4", b: "2"}}`, want: []string{"Mutate spec.m.a by mallory", "Delete spec.p by mallory"}},
			{user: "mallory", to: `spec: {p: "7"}`, want: []string{"Delete spec.m by mallory", "Mutate spec.p by mallory"}},
			{user: "mallory", to: `spec: {m: {a: "1", b: "2"}, p: "7"}`, want: []string{"Mutate spec.p by mallory"}},
			{user: "mallory", to: withMap},
		}},
		"an initiator changes a field of an item in which a stranger changed another": {from: abc, want: `spec: {containers: [{name: a, image: a1}, {name: b, image: b1, tty: true}, {name: c, image: c1}]}`, steps: []step{
			{user: "mallory", to: bEvil, want: []string{imageOfB + "mallory"}},
			{
				user: alice, to: `spec: {containers: [{name: a, image: a1}, {name: b, image: evil, tty: true}, {name: c, image: c1}]}`,
				want: []string{imageOfB + "mallory"},
			},
		}},
		"an initiator changes the field that a stranger changed": {from: abc, want: `spec: {containers: [{name: a, image: a1}, {name: b, image: b2}, {name: c, image: c1}]}`, steps: []step{
			{user: "mallory", to: bEvil, want: []string{imageOfB + "mallory"}},
			{user: alice, to: `spec: {containers: [{name: a, image: a1}, {name: b, image: b2}, {name: c, image: c1}]}`},
		}},
		"an initiator changes a field of an item that a stranger added": {
			from: abc, want: `spec: {containers: [{name: a, image: a1}, {name: bb, tty: true}, {name: b, image: b1}, {name: c, image: c1}]}`, steps: []step{
				{user: "mallory", to: bbEvil, want: []string{"Delete spec.containers[1] by mallory", "Insert spec.containers[1] by mallory"}},
				{
					user: alice, to: `spec: {containers: [{name: a, image: a1}, {name: bb, image: evil, tty: true}, {name: c, image: c1}]}`,
					want: []string{"Insert spec.containers[1].image by mallory", "Delete spec.containers[2] by mallory"},
				},
			},
		},
		"an initiator changes a field of a map that a stranger added": {from: withMap, want: `spec: {m: {a: "1", b: "2"}, p: "3", o: {v: "5"}}`, steps: []step{
			{user: "mallory", to: `spec: {m: {a: "1", b: "2"}, p: "3", o: {x: "4"}}`, want: []string{"Insert spec.o by mallory"}},
			{user: alice, to: `spec: {m: {a: "1", b: "2"}, p: "3", o: {x: "4", v: "5"}}`, want: []string{"Insert spec.o.x by mallory"}},
		}},
		"an initiator reorders a list in which a stranger changed an item": {from: abc, want: `spec: {containers: [{name: c, image: c1}, {name: b, image: b1}, {name: a, image: a1}]}`, steps: []step{
			{user: "mallory", to: bEvil, want: []string{imageOfB + "mallory"}},
			{
				user: alice, to: `spec: {containers: [{name: c, image: c1}, {name: b, image: evil}, {name: a, image: a1}]}`,
				want: []string{imageOfB + "mallory"},
			},
		}},
		"a stranger reorders a list": {from: abc, want: abc, steps: []step{
			{
				user: "mallory", to: `spec: {containers: [{name: b, image: b1}, {name: a, image: a1}, {name: c, image: c1}]}`,
				want: []string{"Mutate spec.containers by mallory"},
			},
			{user: "trudy", to: abc},
		}},
		"an initiator removes a stranger's item": {from: abc, want: abc, steps: []step{
			{user: "mallory", to: bAndBB, want: []string{"Insert spec.containers[2] by mallory"}},
			{user: alice, to: abc},
		}},
		"an initiator removes the item that a stranger changed": {from: abc, want: acOnly, steps: []step{
			{user: "mallory", to: bEvil, want: []string{imageOfB + "mallory"}},
			{user: alice, to: acOnly},
		}},
		"an initiator removes another item than the stranger added": {from: abc, want: acOnly, steps: []step{
			{user: "mallory", to: bAndBB, want: []string{"Insert spec.containers[2] by mallory"}},
			{
				user: alice, to: bbEvil,
				want: []string{"Insert spec.containers[1] by mallory"},
			},
		}},
		"an initiator reorders a list without keys in which a stranger changed an item": {from: args, want: `spec: {args: [v, x, z]}`, steps: []step{
			{user: "mallory", to: `spec: {args: [evil, v, z]}`, want: []string{"Mutate spec.args[0] by mallory"}},
			{user: alice, to: `spec: {args: [v, evil, z]}`, want: []string{"Mutate spec.args[1] by mallory"}},
		}},
		"an initiator removes an item before one that a stranger changed": {from: args, want: `spec: {args: [v, z]}`, steps: []step{
			{user: "mallory", to: `spec: {args: [x, v, evil]}`, want: []string{"Mutate spec.args[2] by mallory"}},
			{user: alice, to: `spec: {args: [v, evil]}`, want: []string{"Mutate spec.args[1] by mallory"}},
			{user: "trudy", to: `spec: {args: [w, evil]}`, want: []string{"Mutate spec.args[0] by trudy", "Mutate spec.args[1] by mallory"}},
			{user: alice, to: `spec: {args: [evil]}`, want: []string{"Mutate spec.args[0] by trudy"}},
			{user: alice, to: `spec: {args: [v, evil]}`, want: []string{"Mutate spec.args[1] by trudy"}},
			{user: "mallory", to: `spec: {args: [v, z]}`},
		}},
		"an initiator moves what a stranger put in, and adds another": {from: args, want: `spec: {args: [x, v, z, w]}`, steps: []step{
			{
				user: "mallory", to: `spec: {args: [x, evil, v, z]}`,
				want: []string{"Mutate spec.args[1] by mallory", "Mutate spec.args[2] by mallory", "Insert spec.args[3] by mallory"},
			},
			{
				user: alice, to: `spec: {args: [evil, x, v, z, w]}`,
				want: []string{
					"Mutate spec.args[0] by mallory", "Mutate spec.args[1] by mallory", "Mutate spec.args[2] by mallory",
					"Mutate spec.args[3] by mallory", "Insert spec.args[4] by mallory",
				},
			},
			{user: "trudy", to: `spec: {args: [x, v, z, w]}`},
		}},
		"an initiator replaces what a stranger added by something like it": {from: tolerated, want: `spec: {t: [{key: d, effect: No}, {key: a, effect: No}, {key: b, effect: No}]}`, steps: []step{
			{user: "mallory", to: `spec: {t: [{key: a, effect: No}, {key: b, effect: No}, {key: m, effect: No}]}`, want: []string{"Insert spec.t[2] by mallory"}},
			{user: alice, to: `spec: {t: [{key: d, effect: No}, {key: a, effect: No}, {key: b, effect: No}]}`},
		}},
		"an initiator replaces what a stranger added, in its place": {from: tolerated, want: `spec: {t: [{key: a, effect: No}, {key: b, effect: No}, {key: d, effect: No}]}`, steps: []step{
			{user: "mallory", to: `spec: {t: [{key: a, effect: No}, {key: b, effect: No}, {key: m, effect: No}]}`, want: []string{"Insert spec.t[2] by mallory"}},
			{user: alice, to: `spec: {t: [{key: a, effect: No}, {key: b, effect: No}, {key: d, effect: No}]}`},
		}},
		"an initiator changes what a stranger added": {from: tolerated, want: `spec: {t: [{key: a, effect: No}, {key: b, effect: No}, {effect: Never}]}`, steps: []step{
			{user: "mallory", to: `spec: {t: [{key: a, effect: No}, {key: b, effect: No}, {key: m, effect: No}]}`, want: []string{"Insert spec.t[2] by mallory"}},
			{
				user: alice, to: `spec: {t: [{key: a, effect: No}, {key: b, effect: No}, {key: m, effect: Never}]}`,
				want: []string{"Insert spec.t[2].key by mallory"},
			},
		}},
		"a stranger empties what was not empty": {from: `data: {a: x}`, want: `data: {a: x, b: v}`, steps: []step{
			{user: "mallory", to: `data: {}`, want: []string{"Delete data[a] by mallory"}},
			{user: "mallory", to: `{}`, want: []string{"Delete data by mallory"}},
			{user: alice, to: `data: {b: v}`, want: []string{"Delete data[a] by mallory"}},
		}},
		"a stranger fills what was empty": {from: `{kind: ConfigMap}`, want: `{}`, steps: []step{
			{user: "mallory", to: `data: {a: evil}`, want: []string{"Insert data by mallory"}},
			{user: alice, to: `{data: {a: evil}, metadata: {labels: {x: v}}}`, want: []string{"Insert data by mallory"}},
			{user: alice, to: `data: {a: evil, b: x}`, want: []string{"Insert data[a] by mallory"}},
			{user: alice, to: `{}`},
		}},
		"some differences approved": {from: withMap, want: `spec: {m: {a: "4", b: "2"}, p: "3"}`, steps: []step{
			{user: "mallory", to: `spec: {m: {a: "4", b: "5"}}`, want: []string{"Mutate spec.m.a by mallory", "Mutate spec.m.b by mallory", "Delete spec.p by mallory"}},
			{user: alice, to: `spec: {m: {a: "4", b: "5"}}`, approves: []string{"spec.m.a"}, want: []string{"Mutate spec.m.b by mallory", "Delete spec.p by mallory"}},
			{user: "mallory", to: `spec: {m: {a: "1", b: "2"}, p: "3"}`, want: []string{"Mutate spec.m.a by mallory"}},
			{user: alice, to: `spec: {m: {a: "1", b: "2"}, p: "3"}`, want: []string{"Mutate spec.m.a by mallory"}},
			{user: "mallory", to: `spec: {m: {a: "4", b: "2"}, p: "3"}`},
		}},
		"all differences approved": {from: abc, want: bbEvil, steps: []step{
			{user: "mallory", to: bbEvil, want: []string{"Delete spec.containers[1] by mallory", "Insert spec.containers[1] by mallory"}},
			{user: alice, to: bbEvil, approves: []string{"*"}},
		}},
		"an item that a stranger removed approved, of two": {from: abc, want: `spec: {containers: [{name: b, image: b1}, {name: c, image: c1}]}`, steps: []step{
			{
				user: "mallory", to: `spec: {containers: [{name: b, image: b1}]}`,
				want: []string{"Delete spec.containers[0] by mallory", "Delete spec.containers[2] by mallory"},
			},
			{user: alice, to: `spec: {containers: [{name: b, image: b1}]}`, approves: []string{"spec.containers[0]"}, want: []string{"Delete spec.containers[1] by "}},
		}},
		"one of the items without keys approved": {from: args, want: `spec: {args: [x, 4, z]}`, steps: []step{
			{
				user: "mallory", to: `spec: {args: [x, 4, 5, 6]}`,
				want: []string{"Mutate spec.args[1] by mallory", "Mutate spec.args[2] by mallory", "Insert spec.args[3] by mallory"},
			},
			{
				user: alice, to: `spec: {args: [x, 4, 5, 6]}`, approves: []string{"spec.args[1]"},
				want: []string{"Mutate spec.args[2] by mallory", "Insert spec.args[3] by mallory"},
			},
		}},
		"a request of which a part has a cause": {from: withMap, want: `spec: {m: {a: "4", b: "2"}, p: "3"}`, steps: []step{
			{user: "bob", to: `spec: {m: {a: "4", b: "5"}, p: "3"}`, caused: []string{"spec.m.a"}, want: []string{"Mutate spec.m.b by bob"}},
			{user: "bob", to: `spec: {m: {a: "4", b: "2"}, p: "3"}`},
		}},
		"an initiator gives an item another key": {from: `spec: {ports: [{containerPort: 80}]}`, want: `spec: {ports: [{containerPort: 81}]}`, steps: []step{
			{user: "mallory", to: `spec: {ports: [{containerPort: 80, hostPort: 666}]}`, want: []string{"Insert spec.ports[0].hostPort by mallory"}},
			{user: alice, to: `spec: {ports: [{containerPort: 81, hostPort: 666}]}`, want: []string{"Insert spec.ports[0].hostPort by mallory"}},
		}},
		"items that have one name": {from: `spec: {l: [{name: a, x: "1"}, {name: a, x: "2"}]}`, want: `spec: {l: [{name: a, x: "1"}, {name: a, x: "2"}, {name: b}]}`, steps: []step{
			{user: "mallory", to: `spec: {l: [{name: a, x: evil}, {name: a, x: "2"}]}`, want: []string{"Mutate spec.l[0].x by mallory"}},
			{user: alice, to: `spec: {l: [{name: a, x: evil}, {name: a, x: "2"}, {name: b}]}`, want: []string{"Mutate spec.l[0].x by mallory"}},
		}},
		"a field becomes a map, and a part of it is changed": {from: withMap, want: withMap, steps: []step{
			{user: "mallory", to: `spec: {m: {a: "1", b: "2"}, p: {x: evil}}`, want: []string{"Mutate spec.p by mallory"}},
			{user: alice, to: `spec: {m: {a: "1", b: "2"}, p: {x: evil, v: "4"}}`, want: []string{"Mutate spec.p by mallory"}},
			{user: "mallory", to: withMap},
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			st := story(t, tc.from, tc.steps)
			if diff := sameContent(st, object(t, tc.want)); diff != "" {
				t.Errorf("Content() (-want +got):\n%s", diff)
			}
		})
	}
}

// TestManyChangesTakenBack shows that changes beyond those that are told apart are not
// forgotten: 15, two more, and the 15 put back.
func TestManyChangesTakenBack(t *testing.T) {
	fields := func(first, more int) map[string]any {
		return map[string]any{"data": numbered("k", 40, func(i int) any {
			if i < first || i >= 20 && i < 20+more {
				return "evil"
			}
			return "good"
		})}
	}
	h := newHolder(t, fields(0, 0))
	for _, to := range []struct{ first, more, want int }{{15, 0, 15}, {15, 2, 17}, {0, 2, 2}, {0, 0, 0}} {
		h.write("mallory", fields(to.first, to.more), never, nil)
		if got := len(h.now().Withheld()); got != to.want {
			t.Fatalf("%d changes are withheld, not %d", got, to.want)
		}
		if diff := sameContent(h.now(), fields(0, 0)); diff != "" {
			t.Fatalf("Content() (-want +got):\n%s", diff)
		}
	}
	if h.text != "" {
		t.Errorf("something is stored: %q", h.text)
	}
}
