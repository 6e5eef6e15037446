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

package policy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/knowledge"
)

func TestUnruled(t *testing.T) {
	const initiators = "  subjects: [{kind: Group, name: platform-team, mayInitiate: true}]\n"
	tests := map[string]struct {
		spec string
		want []string
	}{
		"of a kind whose controller nobody knows": {
			spec: "  for: {apiVersion: v1, kind: ConfigMap}\n" + initiators + "  rules: [{trigger: data}]\n",
		},
		"without rules": {spec: "  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}\n" + initiators},
		"that only continues chains": {
			spec: "  for: {apiGroup: apps, apiVersion: v1, kind: ReplicaSet}\n  rules: [{trigger: spec.replicas}]\n",
		},
		"the template alone": {
			spec: "  for: {apiGroup: apps, apiVersion: v1, kind: StatefulSet}\n" + initiators + "  rules: [{trigger: spec.template}, {trigger: spec.replicas}]\n",
			want: []string{"spec.updateStrategy", "spec.minReadySeconds", "spec.ordinals", "spec.persistentVolumeClaimRetentionPolicy"},
		},
		"a part of a field is a rule about it": {
			spec: "  for: {apiGroup: apps, apiVersion: v1, kind: DaemonSet}\n" + initiators +
				"  rules: [{trigger: 'spec.template.spec.containers[*].image'}, {trigger: spec.updateStrategy.type}]\n",
			want: []string{"spec.minReadySeconds"},
		},
		"all of the spec": {
			spec: "  for: {apiGroup: batch, apiVersion: v1, kind: CronJob}\n" + initiators + "  rules: [{trigger: spec}]\n",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := compile(t, "metadata: {name: test}\nspec:\n"+tc.spec).Unruled()
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("fields without a rule (-want +got):\n%s", diff)
			}
		})
	}
}

// The page about policies has a row for each kind.
func TestSteeringIsDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "allowancepolicy.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n| kind | fields |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	documented, want := map[string][]string{}, map[string][]string{}
	for _, row := range regexp.MustCompile(`(?m)^\| (\w+)[^|]* \| (.*) \|$`).FindAllStringSubmatch(table, -1) {
		for _, field := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[2], -1) {
			documented[row[1]] = append(documented[row[1]], field[1])
		}
	}
	for _, kind := range knowledge.Kinds() {
		for _, field := range knowledge.BuiltIn(kind).Steering {
			want[kind.Kind] = append(want[kind.Kind], field.String())
		}
	}
	for _, category := range []string{"claim", "composite"} {
		for _, field := range knowledge.BuiltIn(schema.GroupKind{}, category).Steering {
			want[category] = append(want[category], field.String())
		}
	}
	if diff := cmp.Diff(want, documented); diff != "" {
		t.Errorf("fields that steer (-) and those in the page (+):\n%s", diff)
	}
}
