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
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFindInLists(t *testing.T) {
	tests := map[string]struct {
		old, new string
		want     []string
	}{
		"an item inserted in the middle": {
			old:  `spec: {containers: [{name: a, image: x}, {name: c, image: z}]}`,
			new:  `spec: {containers: [{name: a, image: x}, {name: b, image: w}, {name: c, image: z}]}`,
			want: []string{`Insert spec.containers[1] {"image":"w","name":"b"}`},
		},
		"an item removed": {
			old:  `spec: {containers: [{name: a}, {name: b}, {name: c}]}`,
			new:  `spec: {containers: [{name: a}, {name: c}]}`,
			want: []string{`Delete spec.containers[1] {"name":"b"}`},
		},
		"a change in an item that moved up": {
			old:  `spec: {containers: [{name: a}, {name: b, image: x}]}`,
			new:  `spec: {containers: [{name: b, image: w}]}`,
			want: []string{`Delete spec.containers[0] {"name":"a"}`, `Mutate spec.containers[0].image "x" -> "w"`},
		},
		"an item renamed": {
			old:  `spec: {containers: [{name: a, image: x}]}`,
			new:  `spec: {containers: [{name: b, image: x}]}`,
			want: []string{`Delete spec.containers[0] {"image":"x","name":"a"}`, `Insert spec.containers[0] {"image":"x","name":"b"}`},
		},
		"items in another order": {
			old:  `spec: {initContainers: [{name: a}, {name: b}]}`,
			new:  `spec: {initContainers: [{name: b}, {name: a}]}`,
			want: []string{`Mutate spec.initContainers [{"name":"a"},{"name":"b"}] -> [{"name":"b"},{"name":"a"}]`},
		},
		"items in another order with others": {
			old:  `spec: {env: [{name: a}, {name: b}, {name: c}]}`,
			new:  `spec: {env: [{name: c}, {name: d}, {name: a}]}`,
			want: []string{`Mutate spec.env [{"name":"a"},{"name":"b"},{"name":"c"}] -> [{"name":"c"},{"name":"d"},{"name":"a"}]`},
		},
		"the first item": {
			old:  `spec: {a: x, containers: []}`,
			new:  `spec: {a: x, containers: [{name: a}]}`,
			want: []string{`Insert spec.containers[0] {"name":"a"}`},
		},
		"the first item with its list": {
			old:  `spec: {a: x}`,
			new:  `spec: {a: x, containers: [{name: a}]}`,
			want: []string{`Insert spec.containers [{"name":"a"}]`},
		},
		"the last item": {
			old:  `spec: {a: x, containers: [{name: a}]}`,
			new:  `spec: {a: x, containers: []}`,
			want: []string{`Delete spec.containers[0] {"name":"a"}`},
		},
		"the last item with its list": {
			old:  `spec: {a: x, containers: [{name: a}]}`,
			new:  `spec: {a: x}`,
			want: []string{`Delete spec.containers [{"name":"a"}]`},
		},
		"an item that gets an empty field": {
			old:  `spec: {containers: [{name: a}, {name: b}]}`,
			new:  `spec: {containers: [{name: c}, {name: a}, {name: b, securityContext: {}}]}`,
			want: []string{`Insert spec.containers[0] {"name":"c"}`, `Insert spec.containers[2].securityContext {}`},
		},
		"an item that loses an empty field": {
			old:  `spec: {containers: [{name: a, env: []}]}`,
			new:  `spec: {containers: [{name: a}]}`,
			want: []string{`Delete spec.containers[0].env []`},
		},
		"lists within items": {
			old:  `spec: {containers: [{name: a, env: [{name: x, value: "1"}, {name: w, value: "1"}]}]}`,
			new:  `spec: {containers: [{name: m}, {name: a, env: [{name: w, value: "2"}]}]}`,
			want: []string{`Insert spec.containers[0] {"name":"m"}`, `Delete spec.containers[1].env[0] {"name":"x","value":"1"}`, `Mutate spec.containers[1].env[0].value "1" -> "2"`},
		},
		"names that are not unique": {
			old:  `spec: {env: [{name: a, value: "1"}, {name: a, value: "2"}]}`,
			new:  `spec: {env: [{name: a, value: "2"}]}`,
			want: []string{`Mutate spec.env[0].value "1" -> "2"`, `Delete spec.env[1] {"name":"a","value":"2"}`},
		},
		"items of which one has no name": {
			old:  `spec: {things: [{name: a}, {x: w}]}`,
			new:  `spec: {things: [{x: w}, {name: a}]}`,
			want: []string{`Delete spec.things[0].name "a"`, `Insert spec.things[0].x "w"`, `Insert spec.things[1].name "a"`, `Delete spec.things[1].x "w"`},
		},
		"names that are no scalars": {
			old:  `spec: {things: [{name: {a: b}}, {name: c}]}`,
			new:  `spec: {things: [{name: c}]}`,
			want: []string{`Mutate spec.things[0].name {"a":"b"} -> "c"`, `Delete spec.things[1] {"name":"c"}`},
		},
		"ports of containers": {
			old:  `spec: {ports: [{containerPort: 53, protocol: UDP, name: u}, {containerPort: 53, protocol: TCP}]}`,
			new:  `spec: {ports: [{containerPort: 80}, {containerPort: 53, protocol: UDP, name: v}, {containerPort: 53, protocol: TCP}]}`,
			want: []string{`Insert spec.ports[0] {"containerPort":80}`, `Mutate spec.ports[1].name "u" -> "v"`},
		},
		"ports of services": {
			old:  `spec: {ports: [{port: 80, protocol: TCP, name: web}, {port: 443, protocol: TCP, name: tls}]}`,
			new:  `spec: {ports: [{port: 443, protocol: TCP, name: https}]}`,
			want: []string{`Delete spec.ports[0] {"name":"web","port":80,"protocol":"TCP"}`, `Mutate spec.ports[0].name "tls" -> "https"`},
		},
		"ports of something else": {
			old:  `spec: {ports: [{name: a, number: 1}, {name: b, number: 2}]}`,
			new:  `spec: {ports: [{name: b, number: 2}]}`,
			want: []string{`Delete spec.ports[0] {"name":"a","number":1}`},
		},
		"one volume in several places": {
			old:  `spec: {volumeMounts: [{name: v, mountPath: /a}, {name: v, mountPath: /b}]}`,
			new:  `spec: {volumeMounts: [{name: v, mountPath: /b, readOnly: true}]}`,
			want: []string{`Delete spec.volumeMounts[0] {"mountPath":"/a","name":"v"}`, `Insert spec.volumeMounts[0].readOnly true`},
		},
		"constraints by two keys": {
			old:  `spec: {topologySpreadConstraints: [{topologyKey: z, whenUnsatisfiable: A, maxSkew: 1}, {topologyKey: z, whenUnsatisfiable: B, maxSkew: 1}]}`,
			new:  `spec: {topologySpreadConstraints: [{topologyKey: z, whenUnsatisfiable: B, maxSkew: 2}]}`,
			want: []string{`Delete spec.topologySpreadConstraints[0] {"maxSkew":1,"topologyKey":"z","whenUnsatisfiable":"A"}`, `Mutate spec.topologySpreadConstraints[0].maxSkew 1 -> 2`},
		},
		"tolerations go by index": {
			old:  `spec: {tolerations: [{key: a}, {key: b}]}`,
			new:  `spec: {tolerations: [{key: b}]}`,
			want: []string{`Mutate spec.tolerations[0].key "a" -> "b"`, `Delete spec.tolerations[1] {"key":"b"}`},
		},
		"scalars go by index": {
			old:  `spec: {args: [a, b, c]}`,
			new:  `spec: {args: [a, c]}`,
			want: []string{`Mutate spec.args[1] "b" -> "c"`, `Delete spec.args[2] "c"`},
		},
		"an empty item is an item": {
			old:  `spec: {a: x, ingress: []}`,
			new:  `spec: {a: x, ingress: [{}]}`,
			want: []string{`Insert spec.ingress[0] {}`},
		},
		"one more empty item": {
			old:  `spec: {ingress: [{}]}`,
			new:  `spec: {ingress: [{}, {}]}`,
			want: []string{`Insert spec.ingress[1] {}`},
		},
		"an empty item that is filled": {
			old:  `spec: {ingress: [{}]}`,
			new:  `spec: {ingress: [{from: [{}]}]}`,
			want: []string{`Insert spec.ingress[0].from [{}]`},
		},
		"a null item that is filled": {
			old:  `spec: {ingress: [null]}`,
			new:  `spec: {ingress: [{from: x}]}`,
			want: []string{`Mutate spec.ingress[0] null -> {"from":"x"}`},
		},
		"empty items of all sorts": {
			old:  `spec: {ingress: [null, {}, []]}`,
			new:  `spec: {ingress: [[], {a: null}, {}]}`,
			want: []string{`Mutate spec.ingress[0] null -> []`, `Mutate spec.ingress[2] [] -> {}`},
		},
		"lists of lists": {
			old:  `spec: {m: [[1, 2], []]}`,
			new:  `spec: {m: [[1, 3], [4]]}`,
			want: []string{"Mutate spec.m[0][1] 2 -> 3", "Insert spec.m[1][0] 4"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := lines(t, Find(object(t, tc.old), object(t, tc.new), Options{}))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Find() (-want +got):\n%s", diff)
			}
		})
	}
}

// declared is a Schema by the texts of paths. It notes what it is asked.
type declared struct {
	keys       map[string][]string
	quantities []string
	asked      []string
}

func (d *declared) ListKeys(path Path) []string {
	d.asked = append(d.asked, path.String())
	return d.keys[path.String()]
}

func (d *declared) IsQuantity(path Path) bool {
	return slices.Contains(d.quantities, path.String())
}

func TestFindByKeysOfASchema(t *testing.T) {
	before := object(t, `spec: {rules: [{id: 1, zone: a, v: x}, {id: 1, zone: b, v: x}], things: [{name: a}, {name: b}]}`)
	after := object(t, `spec: {rules: [{id: 1, zone: b, v: w}], things: [{name: b}]}`)

	schema := &declared{keys: map[string][]string{"spec.rules": {"id", "zone"}}}
	got := Find(before, after, Options{Schema: schema})

	want := []string{
		`Delete spec.rules[0] {"id":1,"v":"x","zone":"a"}`,
		`Mutate spec.rules[0].v "x" -> "w"`,
		`Delete spec.things[0] {"name":"a"}`,
	}
	if diff := cmp.Diff(want, lines(t, got)); diff != "" {
		t.Errorf("Find() (-want +got):\n%s", diff)
	}
	if len(schema.asked) != 2 {
		t.Errorf("ListKeys was asked for %v, want each list once", schema.asked)
	}
}

func TestFindByQuantitiesOfASchema(t *testing.T) {
	before := object(t, `spec: {size: "1", version: "1.10", disks: [{size: 1Gi}]}`)
	after := object(t, `spec: {size: 1000m, version: "1.1", disks: [{size: 1024Mi}]}`)

	schema := &declared{quantities: []string{"spec.size", "spec.disks[0].size"}}
	got := Find(before, after, Options{Schema: schema})

	want := []string{`Mutate spec.version "1.10" -> "1.1"`}
	if diff := cmp.Diff(want, lines(t, got)); diff != "" {
		t.Errorf("Find() (-want +got):\n%s", diff)
	}
}

func TestFindInALongList(t *testing.T) {
	const n = 10_000
	long := func(skip int) map[string]any {
		var list []any
		for i := range n {
			if i != skip {
				list = append(list, map[string]any{"name": fmt.Sprint("n", i), "value": int64(i)})
			}
		}
		return map[string]any{"spec": map[string]any{"list": list}}
	}

	got := lines(t, Find(long(n/2), long(n), Options{}))
	want := []string{`Insert spec.list[5000] {"name":"n5000","value":5000}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Find() (-want +got):\n%s", diff)
	}
}
