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

package lifecycle

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// A verdict is what is expected of both exported functions for one object.
type verdict struct {
	Progress
	Reached bool
}

// A judgement is one case: an object as its API server stores it, and what is
// to be said of it.
type judgement struct {
	object string
	want   verdict
}

func settledVerdict(why string, reached bool) verdict {
	return verdict{Progress: Progress{Settled: true, Why: why}, Reached: reached}
}

func workingVerdict(why string) verdict {
	return verdict{Progress: Progress{Why: why}}
}

func timedVerdict(why string) verdict {
	return verdict{Progress: Progress{Timed: true, Why: why}}
}

func runJudgements(t *testing.T, tests map[string]judgement) {
	t.Helper()
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			obj := parse(t, tc.object)
			before := obj.DeepCopy()

			got := verdict{Progress: Of(obj, nil), Reached: Reached(obj, nil)}

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before.Object, obj.Object); diff != "" {
				t.Errorf("the object was changed (-before +after):\n%s", diff)
			}
		})
	}
}

// parse reads an object the way the API machinery does, whole numbers as int64.
func parse(tb testing.TB, object string) *unstructured.Unstructured {
	tb.Helper()
	data, err := yaml.YAMLToJSON([]byte(object))
	if err != nil {
		tb.Fatalf("parsing the test object: %v", err)
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(data); err != nil {
		tb.Fatalf("decoding the test object: %v", err)
	}
	return obj
}
