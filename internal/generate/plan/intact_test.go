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

package plan

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// The managed fields are as an API server writes them.
func TestIsIntact(t *testing.T) {
	const network = `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: deny, namespace: shop, labels: {a: b}}, spec: {podSelector: {}, policyTypes: [Ingress], ingress: [{ports: [{port: 80}]}]}}`
	const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, finalizers: [a/b]}
spec: {template: {spec: {containers: [{name: app, image: "app:1", ports: [{containerPort: 80}], env: []}]}}}`
	tests := map[string]struct {
		wanted string
		// fields are what was applied, entry is what else is said of that.
		fields, entry string
		want          bool
	}{
		"all is owned":        {wanted: network, fields: `{f:metadata: {f:labels: {f:a: {}}}, f:spec: {f:ingress: {}, f:podSelector: {}, f:policyTypes: {}}}`, want: true},
		"a list was changed":  {wanted: network, fields: `{f:metadata: {f:labels: {f:a: {}}}, f:spec: {f:podSelector: {}, f:policyTypes: {}}}`},
		"a label was changed": {wanted: network, fields: `{f:spec: {f:ingress: {}, f:podSelector: {}, f:policyTypes: {}}}`},
		"more is owned":       {wanted: network, fields: `{f:metadata: {f:annotations: {f:x: {}}, f:labels: {f:a: {}}}, f:spec: {f:ingress: {}, f:podSelector: {}, f:policyTypes: {}}}`, want: true},
		"nothing is owned":    {wanted: network, fields: `{}`},
		"another manager":     {wanted: network, fields: `{f:metadata: {f:labels: {f:a: {}}}, f:spec: {}}`, entry: "manager: kubectl"},
		"not by applying":     {wanted: network, fields: `{f:metadata: {f:labels: {f:a: {}}}, f:spec: {}}`, entry: "operation: Update"},
		"another version":     {wanted: network, fields: `{f:metadata: {f:labels: {f:a: {}}}, f:spec: {}}`, entry: "apiVersion: networking.k8s.io/v2"},
		"a sub-resource":      {wanted: network, fields: `{f:metadata: {f:labels: {f:a: {}}}, f:spec: {}}`, entry: "subresource: status"},
		"items by key, and by value": {
			wanted: deployment,
			fields: `{f:metadata: {f:finalizers: {'v:"a/b"': {}}}, f:spec: {f:template: {f:spec: {f:containers: {'k:{"name":"app"}': {.: {}, f:image: {}, f:name: {}, f:ports: {'k:{"containerPort":80,"protocol":"TCP"}': {.: {}, f:containerPort: {}}}}}}}}}`,
			want:   true,
		},
		"the field of an item was changed": {
			wanted: deployment,
			fields: `{f:metadata: {f:finalizers: {'v:"a/b"': {}}}, f:spec: {f:template: {f:spec: {f:containers: {'k:{"name":"app"}': {.: {}, f:name: {}, f:ports: {'k:{"containerPort":80,"protocol":"TCP"}': {.: {}, f:containerPort: {}}}}}}}}}`,
		},
		"an item of an item was removed": {
			wanted: deployment,
			fields: `{f:metadata: {f:finalizers: {'v:"a/b"': {}}}, f:spec: {f:template: {f:spec: {f:containers: {'k:{"name":"app"}': {.: {}, f:image: {}, f:name: {}}}}}}}`,
		},
		"an item of which nothing is left": {
			wanted: deployment,
			fields: `{f:metadata: {f:finalizers: {'v:"a/b"': {}}}, f:spec: {f:template: {f:spec: {f:containers: {'k:{"name":"app"}': {}}}}}}`,
		},
		"an item was removed": {
			wanted: deployment,
			fields: `{f:metadata: {f:finalizers: {'v:"a/b"': {}}}, f:spec: {f:template: {f:spec: {f:containers: {'k:{"name":"side"}': {.: {}, f:image: {}, f:name: {}}}}}}}`,
		},
		"a value was removed": {
			wanted: deployment,
			fields: `{f:metadata: {f:finalizers: {'v:"c/d"': {}}}, f:spec: {f:template: {f:spec: {f:containers: {'k:{"name":"app"}': {.: {}, f:image: {}, f:name: {}, f:ports: {'k:{"containerPort":80,"protocol":"TCP"}': {.: {}, f:containerPort: {}}}}}}}}}`,
		},
		"labels that are empty": {
			wanted: `{apiVersion: v1, kind: ConfigMap, metadata: {name: s, labels: {}}, data: {a: b}}`,
			fields: `{f:data: {f:a: {}}}`, want: true,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			wanted := decoded(t, tt.wanted)
			there := decoded(t, tt.wanted)
			entry := map[string]any{"manager": FieldManager, "operation": "Apply", "apiVersion": wanted["apiVersion"], "fieldsV1": decoded(t, tt.fields)}
			maps.Copy(entry, decoded(t, tt.entry))
			metadata, _ := there["metadata"].(map[string]any)
			metadata["managedFields"] = []any{map[string]any{"manager": "x", "operation": "Update", "fieldsV1": map[string]any{}}, entry}
			if got := isIntact(wanted, there); got != tt.want {
				t.Errorf("intact: %v, want %v", got, tt.want)
			}
		})
	}
}

func TestOtherData(t *testing.T) {
	for name, tt := range map[string]struct {
		wanted, there string
		want          []string
	}{
		"none":                  {`{apiVersion: v1, kind: Secret, data: {a: Yg==}}`, `{data: {a: ZA==}}`, nil},
		"beside what is wanted": {`{apiVersion: v1, kind: Secret, data: {a: Yg==}}`, `{data: {a: Yg==, c.d: ZA==, b: ZA==}}`, []string{"data[b]", "data[c.d]"}},
		"where none is wanted":  {`{apiVersion: v1, kind: ConfigMap}`, `{binaryData: {c: ZA==}, data: {a: b}}`, []string{"binaryData[c]", "data[a]"}},
		"of another kind":       {`{apiVersion: example.org/v1, kind: ConfigMap, data: {a: b}}`, `{data: {c: d}}`, nil},
		"of a Service":          {`{apiVersion: v1, kind: Service}`, `{data: {c: d}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, path := range otherData(decoded(t, tt.wanted), decoded(t, tt.there)) {
				got = append(got, path.String())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("other data (-want +got):\n%s", diff)
			}
		})
	}
}

// decoded reads YAML.
func decoded(t *testing.T, text string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return out
}
