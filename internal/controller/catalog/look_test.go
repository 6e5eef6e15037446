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

package catalog

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/controllertest"
	"kausality.io/operator/internal/policy"
)

// thePolicies stands in for the policies of the API server.
type thePolicies struct {
	client.Reader
	items []v1alpha1.AllowancePolicy
	err   error
	reads int
}

func (p *thePolicies) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	p.reads++
	if into, ok := list.(*v1alpha1.AllowancePolicyList); ok {
		into.Items = p.items
	}
	return p.err
}

func TestPolicyLook(t *testing.T) {
	named := func(name string, generation int64) v1alpha1.AllowancePolicy {
		p := *controllertest.PolicyFor("Deployment")
		p.Name, p.Generation = name, generation
		return p
	}
	both := []v1alpha1.AllowancePolicy{named("a", 1), named("b", 1)}
	away := errors.New("the API server is away")
	cases := map[string]struct {
		indexed, there []v1alpha1.AllowancePolicy
		watched        bool
		err            error
		indexes        bool
		fails          bool
		reads          int
	}{
		"watched":                      {indexed: both, watched: true, err: away},
		"the same":                     {indexed: both, there: both, reads: 1},
		"cannot be read":               {indexed: both, err: away, fails: true, reads: 2},
		"changed, and indexed":         {indexed: both, there: []v1alpha1.AllowancePolicy{named("a", 2), named("b", 1)}, indexes: true, reads: 1},
		"one more, and indexed":        {indexed: both[:1], there: both, indexes: true, reads: 1},
		"one less, and indexed":        {indexed: both, there: both[1:], indexes: true, reads: 1},
		"changed, and not yet indexed": {indexed: both, there: both[:1], fails: true, reads: 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				catalog := New(&policy.Active{})
				catalog.compile(tc.indexed, controllertest.ServedKinds(), false)
				there := &thePolicies{items: tc.there, err: tc.err}
				look := NewLook(catalog, there, func() bool { return !tc.watched })
				if tc.indexes {
					go func() {
						<-look.due
						catalog.compile(tc.there, controllertest.ServedKinds(), false)
					}()
				}
				start := time.Now()
				// What was seen a moment ago counts.
				err := errors.Join(look.Current(t.Context()), look.Current(t.Context()))
				if (err != nil) != tc.fails || there.reads != tc.reads {
					t.Errorf("%d reads, and error %v; want %d, and fails %t", there.reads, err, tc.reads, tc.fails)
				}
				if took := time.Since(start); took > 2*lookTimeout {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}
