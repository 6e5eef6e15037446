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
	"slices"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

// workload returns an object of about 50 KiB with a Pod template of many containers.
func workload(b *testing.B) map[string]any {
	b.Helper()
	var containers []any
	for i := range 33 {
		var env, mounts []any
		for j := range 20 {
			env = append(env, map[string]any{"name": fmt.Sprint("VARIABLE_", j), "value": fmt.Sprint("value of it ", j)})
		}
		for j := range 5 {
			mounts = append(mounts, map[string]any{"name": fmt.Sprint("volume-", j), "mountPath": fmt.Sprint("/var/lib/", j), "readOnly": true})
		}
		containers = append(containers, map[string]any{
			"name":         fmt.Sprint("container-", i),
			"image":        "registry.example.com/team/app:v1.2.3",
			"env":          env,
			"volumeMounts": mounts,
			"ports":        []any{map[string]any{"containerPort": int64(8000 + i), "protocol": "TCP"}},
			"resources":    map[string]any{"requests": map[string]any{"cpu": "500m", "memory": "1Gi"}, "limits": map[string]any{"memory": "1Gi"}},
			"args":         []any{"--verbose", "--listen=:8080", "--timeout=30s"},
		})
	}
	obj := map[string]any{
		"apiVersion": "apps/v1",
		"kind":       "Deployment",
		"metadata":   map[string]any{"name": "app", "labels": map[string]any{"app": "app"}, "annotations": map[string]any{"jira": "A-1"}},
		"spec": map[string]any{
			"replicas": int64(3),
			"template": map[string]any{"spec": map[string]any{"containers": containers}},
		},
	}
	text, err := json.Marshal(obj)
	if err != nil {
		b.Fatal(err)
	}
	if len(text) < 45<<10 || len(text) > 55<<10 {
		b.Fatalf("the object has %d bytes", len(text))
	}
	return obj
}

// container returns a container of a workload.
func container(b *testing.B, obj map[string]any, i int) map[string]any {
	b.Helper()
	v, _ := path("spec", "template", "spec", "containers", i).Value(obj)
	c, ok := v.(map[string]any)
	if !ok {
		b.Fatalf("there is no container %d", i)
	}
	return c
}

func BenchmarkFind(b *testing.B) {
	old := workload(b)

	image := runtime.DeepCopyJSON(old)
	container(b, image, 12)["image"] = "registry.example.com/team/app:v1.2.4"

	inserted := runtime.DeepCopyJSON(old)
	spec, _ := path("spec", "template", "spec").Value(inserted)
	podSpec, _ := spec.(map[string]any)
	containers, _ := podSpec["containers"].([]any)
	podSpec["containers"] = slices.Insert(containers, 0, any(map[string]any{"name": "first"}))

	cases := map[string]map[string]any{
		"equal":                runtime.DeepCopyJSON(old),
		"one field":            image,
		"a container in front": inserted,
	}
	opts := Options{Metadata: []Pattern{Pattern(path("metadata", "annotations", "jira"))}}
	for name, changed := range cases {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Find(old, changed, opts)
			}
		})
	}
}

func BenchmarkFindInLongList(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		long := make([]any, n)
		for i := range long {
			long[i] = map[string]any{"name": fmt.Sprint("item-", i), "value": int64(i)}
		}
		old := map[string]any{"spec": map[string]any{"items": long[1:]}}
		changed := map[string]any{"spec": map[string]any{"items": long}}
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Find(old, changed, Options{})
			}
		})
	}
}

func BenchmarkHashOfCounted(b *testing.B) {
	obj := workload(b)
	b.ReportAllocs()
	for b.Loop() {
		HashOfCounted(obj)
	}
}

func BenchmarkParsePattern(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParsePattern("spec.template.spec.containers[*].image"); err != nil {
			b.Fatal(err)
		}
	}
}
