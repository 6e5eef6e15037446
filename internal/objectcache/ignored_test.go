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

package objectcache

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/internal/lineage"
)

func TestIgnores(t *testing.T) {
	child := &unstructured.Unstructured{}
	child.SetUID("child")
	c := &Cache{}
	for _, step := range []struct {
		name   string
		child  types.UID
		ignore []string
		want   bool
	}{
		{"another object's", "other", []string{"parent"}, false},
		{"another parent", "child", []string{"uncle"}, false},
		{"the parent", "child", []string{"uncle", "parent"}, true},
		{"none any more", "child", nil, false},
	} {
		c.Ignore(step.child, step.ignore)
		if got := c.Ignores(t.Context(), child, lineage.Ref{UID: "parent"}); got != step.want {
			t.Errorf("%s: Ignores() = %v, want %v", step.name, got, step.want)
		}
	}
}
