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

package main

import (
	"maps"
	"slices"
	"strings"
)

// scorecardVersion is that of the image with scorecard's own tests.
const scorecardVersion = "v1.42.2"

// annotations say what is in the image of a bundle, as its labels do.
var annotations = map[string]string{
	"operators.operatorframework.io.bundle.mediatype.v1":       "registry+v1",
	"operators.operatorframework.io.bundle.manifests.v1":       "manifests/",
	"operators.operatorframework.io.bundle.metadata.v1":        "metadata/",
	"operators.operatorframework.io.bundle.package.v1":         "kausality",
	"operators.operatorframework.io.bundle.channels.v1":        "candidate",
	"operators.operatorframework.io.bundle.channel.default.v1": "candidate",
	"operators.operatorframework.io.test.mediatype.v1":         "scorecard+v1",
	"operators.operatorframework.io.test.config.v1":            "tests/scorecard/",
}

// dockerfile builds the image of the bundle, which is its files and nothing else.
func dockerfile() string {
	var text strings.Builder
	text.WriteString("# Written by \"make bundle\".\nFROM scratch\n\n")
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		text.WriteString("LABEL " + key + "=" + annotations[key] + "\n")
	}
	text.WriteString("\nCOPY bundle/manifests /manifests/\nCOPY bundle/metadata /metadata/\nCOPY bundle/tests/scorecard /tests/scorecard/\n")
	return text.String()
}

// scorecard has all of scorecard's own tests run.
func scorecard() map[string]any {
	test := func(suite, name string) map[string]any {
		return map[string]any{
			"entrypoint": []string{"scorecard-test", name},
			"image":      "quay.io/operator-framework/scorecard-test:" + scorecardVersion,
			"labels":     map[string]string{"suite": suite, "test": name + "-test"},
			"storage":    map[string]any{"spec": map[string]any{"mountPath": map[string]any{}}},
		}
	}
	tests := []any{
		test("basic", "basic-check-spec"),
		test("olm", "olm-bundle-validation"),
		test("olm", "olm-crds-have-validation"),
		test("olm", "olm-crds-have-resources"),
		test("olm", "olm-spec-descriptors"),
		test("olm", "olm-status-descriptors"),
	}
	return map[string]any{
		"apiVersion": "scorecard.operatorframework.io/v1alpha3",
		"kind":       "Configuration",
		"metadata":   map[string]string{"name": "config"},
		"stages":     []any{map[string]any{"parallel": true, "tests": tests}},
		"storage":    map[string]any{"spec": map[string]any{"mountPath": map[string]any{}}},
	}
}
