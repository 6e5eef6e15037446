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

package discovery

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"
)

// asked serves Things, and counts how often it is asked.
type asked struct {
	times int
	err   error
}

func (a *asked) ServerResourcesForGroupVersionWithContext(_ context.Context, gv string) (*metav1.APIResourceList, error) {
	a.times++
	if a.err != nil {
		return nil, a.err
	}
	if gv != "example.org/v1" {
		return nil, apierrors.NewNotFound(schema.GroupResource{}, gv)
	}
	return &metav1.APIResourceList{APIResources: []metav1.APIResource{{Name: "things", Kind: "Thing"}}}, nil
}

func TestLacking(t *testing.T) {
	for name, tc := range map[string]struct {
		kind schema.GroupVersionKind
		err  error
		want bool
		// times is how often the API server is asked in two questions.
		times int
	}{
		"a served kind":                    {kind: schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Thing"}, times: 1},
		"another kind of a served group":   {kind: schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Nope"}, want: true, times: 1},
		"a version that is not served":     {kind: schema.GroupVersionKind{Group: "example.org", Version: "v9", Kind: "Thing"}, want: true, times: 1},
		"a group that is not served":       {kind: schema.GroupVersionKind{Group: "nogroup.x", Version: "v1", Kind: "Nope"}, want: true, times: 1},
		"the API server is away meanwhile": {kind: schema.GroupVersionKind{Group: "nogroup.x", Version: "v1", Kind: "Nope"}, err: errors.New("away"), times: 2},
	} {
		t.Run(name, func(t *testing.T) {
			server := &asked{err: tc.err}
			l := &Lacking{Discovery: server, Clock: testclock.NewFakePassiveClock(time.Now())}
			for range 2 {
				if got := l.Lacks(t.Context(), tc.kind); got != tc.want {
					t.Errorf("Lacks() = %t", got)
				}
			}
			if server.times != tc.times {
				t.Errorf("the API server was asked %d times", server.times)
			}
		})
	}
}

// What is not served may be defined later, and who names much has nobody asked for ever.
func TestLackingAgain(t *testing.T) {
	server, clock := &asked{}, testclock.NewFakePassiveClock(time.Now())
	l := &Lacking{Discovery: server, Clock: clock}
	nope := schema.GroupVersionKind{Group: "nogroup.x", Version: "v1", Kind: "Nope"}
	l.Lacks(t.Context(), nope)
	clock.SetTime(clock.Now().Add(lackingFor))
	if !l.Lacks(t.Context(), nope) || server.times != 2 {
		t.Errorf("the API server was asked %d times", server.times)
	}
	server.times = 0
	for i := range 10 * mostLacking {
		nope.Version = fmt.Sprintf("v%d", i)
		l.Lacks(t.Context(), nope)
	}
	if server.times > lackingBurst {
		t.Errorf("the API server was asked %d times at once", server.times)
	}
	if len(l.known) > mostLacking {
		t.Errorf("%d group versions are remembered", len(l.known))
	}
}
