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
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/controller/catalog"
	"kausality.io/operator/internal/controller/controllertest"
	"kausality.io/operator/internal/policy"
)

// readings are what has become of reading kinds; all others are in the cache.
type readings map[string]string

func (r readings) Watches(kind schema.GroupKind) bool { return r[kind.Kind] == "" }

func (r readings) Fails(kind schema.GroupKind) bool { return r[kind.Kind] == "fails" }

func TestUnread(t *testing.T) {
	policies := controllertest.Compiled(t,
		controllertest.Bounding(controllertest.PolicyFor("Deployment"), "apps", "replicasets"),
		controllertest.Bounding(controllertest.PolicyFor("ReplicaSet"), "", "pods"))
	index, p := policy.NewIndex(policies), policies[1]
	type says struct{ Awaited, Failing string }
	for name, tc := range map[string]struct {
		reading readings
		adopted bool
		want    says
	}{
		"all is known":                      {},
		"its own kind is read":              {reading: readings{"ReplicaSet": "reads"}, adopted: true, want: says{Awaited: "ReplicaSet"}},
		"its own kind cannot be":            {reading: readings{"ReplicaSet": "fails"}, adopted: true, want: says{Awaited: "ReplicaSet"}},
		"another one is read":               {reading: readings{"Deployment": "reads"}, want: says{Awaited: "Deployment"}},
		"another one is read again":         {reading: readings{"Deployment": "reads"}, adopted: true},
		"another one cannot be":             {reading: readings{"Deployment": "fails"}, want: says{Failing: "Deployment"}},
		"another one cannot be, any longer": {reading: readings{"Deployment": "fails"}, adopted: true, want: says{Failing: "Deployment"}},
		"what is not related":               {reading: readings{"Job": "fails"}},
	} {
		t.Run(name, func(t *testing.T) {
			known := catalog.View{Entry: catalog.Entry{Policy: p}, Usable: index}
			if tc.adopted {
				known.Adopted = p
			}
			got := unreadFor(known, tc.reading)
			if diff := cmp.Diff(tc.want, says{Awaited: kinds(got.awaited), Failing: kinds(got.failing)}); diff != "" {
				t.Errorf("unread (-want +got):\n%s", diff)
			}
		})
	}
}

func kinds(of []schema.GroupKind) string {
	names := make([]string, 0, len(of))
	for _, kind := range of {
		names = append(names, kind.Kind)
	}
	return strings.Join(names, " ")
}
