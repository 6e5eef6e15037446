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

package generate

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
)

// manifest is a GeneratingPolicy as it is written.
type manifest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              v1alpha1.GeneratingPolicySpec `json:"spec"`
}

// parsePolicy reads a policy. A field that there is not is an error.
func parsePolicy(t *testing.T, text string) manifest {
	t.Helper()
	var out manifest
	if err := yaml.UnmarshalStrict([]byte(text), &out); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return out
}

// compiled compiles a policy that is valid.
func compiled(t *testing.T, text string) *Policy {
	t.Helper()
	m := parsePolicy(t, text)
	p, _, errs := Compile(m.Name, &m.Spec)
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	return p
}

// proposal returns a policy of the proposal: its text, but for group and version.
func proposal(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "proposal", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// parse reads one object.
func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	objects := parseAll(t, text)
	if len(objects) != 1 {
		t.Fatalf("%d objects in\n%s", len(objects), text)
	}
	return objects[0]
}

// parseAll reads objects that are separated by lines of dashes, with numbers as the API
// server has them.
func parseAll(t *testing.T, text string) []map[string]any {
	t.Helper()
	var out []map[string]any
	for document := range strings.SplitSeq(text, "\n---\n") {
		var object map[string]any
		if err := utilyaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		if len(object) > 0 {
			out = append(out, object)
		}
	}
	return out
}

// served are the kinds of the test cluster, by resource.
var served = map[schema.GroupVersionResource]schema.GroupVersionKind{
	{Version: "v1", Resource: "namespaces"}:                                       {Version: "v1", Kind: "Namespace"},
	{Version: "v1", Resource: "configmaps"}:                                       {Version: "v1", Kind: "ConfigMap"},
	{Version: "v1", Resource: "secrets"}:                                          {Version: "v1", Kind: "Secret"},
	{Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"}:      {Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}: {Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"},
	{Group: "example.org", Version: "v1", Resource: "widgets"}:                    {Group: "example.org", Version: "v1", Kind: "Widget"},
}

// resourceFor returns what a kind of the test cluster is served as.
func resourceFor(kind schema.GroupVersionKind) schema.GroupVersionResource {
	for resource, is := range served {
		if is == kind {
			return resource
		}
	}
	return schema.GroupVersionResource{}
}

// cluster is a snapshot that is a list of objects.
type cluster struct {
	objects []map[string]any
	// forbidden is a resource that may not be read.
	forbidden string
	reads     int
}

var errForbidden = errors.New("forbidden")

func (c *cluster) KindOf(resource schema.GroupVersionResource) (schema.GroupVersionKind, bool, error) {
	kind, ok := served[resource]
	return kind, ok, nil
}

func (c *cluster) IsNamespaced(kind schema.GroupVersionKind) (namespaced, isServed bool, err error) {
	return kind.Kind != "Namespace" && kind.Kind != "ClusterRole", resourceFor(kind) != schema.GroupVersionResource{}, nil
}

func (c *cluster) Get(resource schema.GroupVersionResource, namespace, name string) (map[string]any, error) {
	listed, err := c.List(resource, namespace, labels.Everything())
	for _, object := range listed {
		if id := IDOf(object); id.Name == name && id.Namespace == namespace {
			return object, nil
		}
	}
	return nil, err
}

func (c *cluster) List(resource schema.GroupVersionResource, namespace string, selector labels.Selector) ([]map[string]any, error) {
	c.reads++
	if resource.Resource == c.forbidden {
		return nil, errForbidden
	}
	var out []map[string]any
	for _, object := range c.objects {
		id := IDOf(object)
		if id.Kind == served[resource].Kind && (namespace == "" || id.Namespace == namespace) && selector.Matches(labelsOf(object)) {
			out = append(out, object)
		}
	}
	return out, nil
}

// triggerOf returns a watched object as a trigger.
func triggerOf(object map[string]any) *Trigger {
	kind := (&unstructured.Unstructured{Object: object}).GroupVersionKind()
	return &Trigger{Resource: resourceFor(kind), Object: object}
}
