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

package generating

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/derive/draft"
)

var update = flag.Bool("update", false, "write what is derived now to testdata")

// served are the kinds that the tests know.
var served = map[schema.GroupVersionResource]schema.GroupVersionKind{
	{Version: "v1", Resource: "namespaces"}:                                       {Version: "v1", Kind: "Namespace"},
	{Version: "v1", Resource: "configmaps"}:                                       {Version: "v1", Kind: "ConfigMap"},
	{Version: "v1", Resource: "secrets"}:                                          {Version: "v1", Kind: "Secret"},
	{Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"}:      {Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}: {Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"},
	{Group: "example.org", Version: "v1", Resource: "widgets"}:                    {Group: "example.org", Version: "v1", Kind: "Widget"},
}

func kindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
	kind, known := served[resource]
	return kind, known
}

func resourceFor(kind schema.GroupVersionKind) (schema.GroupVersionResource, bool) {
	for resource, is := range served {
		if is == kind {
			return resource, true
		}
	}
	return schema.GroupVersionResource{}, false
}

var testOptions = Options{
	Initiators: []v1alpha1.Subject{{Kind: v1alpha1.SubjectGroup, Name: "platform"}}, ResourceFor: resourceFor, KindFor: kindFor,
}

// scene is a policy, and a world in which it makes something.
type scene struct {
	policy *v1alpha1.GeneratingPolicy
	// objects of the world; the trigger is called so.
	objects []map[string]any
}

// scenes reads those of testdata, and the policies of the proposal with a world for them.
func scenes(tb testing.TB) map[string]scene {
	tb.Helper()
	out := map[string]scene{}
	read := func(file string, world []byte) {
		content, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		s := scene{policy: &v1alpha1.GeneratingPolicy{}}
		for i, document := range strings.Split(string(content)+"\n---\n"+string(world), "\n---\n") {
			if i == 0 {
				if err := yaml.UnmarshalStrict([]byte(document), s.policy); err != nil {
					tb.Fatalf("%s: %v", file, err)
				}
				continue
			}
			var object map[string]any
			if err := utilyaml.Unmarshal([]byte(document), &object); err != nil {
				tb.Fatalf("%s: %v", file, err)
			}
			if len(object) > 0 {
				s.objects = append(s.objects, object)
			}
		}
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		if filepath.Dir(file) != "testdata" {
			name = "proposal-" + name
		}
		out[name] = s
	}
	world, err := os.ReadFile("testdata/proposal.world")
	if err != nil {
		tb.Fatal(err)
	}
	proposals, _ := filepath.Glob("../../generate/testdata/proposal/*.yaml")
	own, _ := filepath.Glob("testdata/*.yaml")
	if len(proposals) < 8 || len(own) == 0 {
		tb.Fatalf("there are %d policies of the proposal and %d others", len(proposals), len(own))
	}
	for _, file := range proposals {
		read(file, world)
	}
	for _, file := range own {
		if !strings.HasSuffix(file, ".golden.yaml") {
			read(file, nil)
		}
	}
	return out
}

// golden is what a file of testdata has of a derived policy.
type golden struct {
	Rows   []string                  `json:"rows,omitempty"`
	Notes  []draft.Note              `json:"notes,omitempty"`
	Policy *v1alpha1.AllowancePolicy `json:"policy"`
}

// TestDerive derives from each policy, twice, and compares the result with the golden file beside it.
func TestDerive(t *testing.T) {
	for name, s := range scenes(t) {
		t.Run(name, func(t *testing.T) {
			got := shownGolden(t, s.policy)
			if again := shownGolden(t, s.policy); again != got {
				t.Errorf("the same policy gives something else (-first +second):\n%s", cmp.Diff(got, again))
			}
			beside := filepath.Join("testdata", name+".golden.yaml")
			if *update {
				if err := os.WriteFile(beside, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(beside)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("what is derived has changed; if it is right, run with -update (-want +got):\n%s", diff)
			}
		})
	}
}

func shownGolden(tb testing.TB, p *v1alpha1.GeneratingPolicy) string {
	tb.Helper()
	derived, err := Derive(p, testOptions)
	if err != nil {
		tb.Fatal(err)
	}
	var out []string
	for _, d := range derived {
		g := golden{Notes: d.Notes, Policy: d.Policy}
		for _, r := range d.Rows {
			from := r.Field
			if from == "" {
				from = "(" + r.Observed + ")"
			}
			g.Rows = append(g.Rows, from+" -> "+strings.TrimSpace(r.Resource+" "+r.Reaches)+": "+r.Why)
		}
		slices.Sort(g.Rows)
		text, err := yaml.Marshal(g)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, string(text))
	}
	return strings.Join(out, "---\n")
}
