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

package watchstate

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

func TestRewind(t *testing.T) {
	tests := map[string]struct {
		from, now string
		broken    error
		want      bool
	}{
		"from where it is":             {from: "10", now: "10"},
		"from before":                  {from: "9", now: "10"},
		"from what is not there yet":   {from: "10", now: "9", want: true},
		"from the beginning":           {now: "9"},
		"from anywhere":                {from: "0", now: "9"},
		"of a server without numbers":  {from: "b", now: "a"},
		"of a server that cannot list": {from: "10", now: "9", broken: errors.New("away")},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got error
			lw := Rewind{End: func(err error) { got = err }}.Over(&toolscache.ListWatch{
				ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
					list := &unstructured.UnstructuredList{}
					list.SetResourceVersion(tc.now)
					return list, tc.broken
				},
				WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil },
			})
			w, err := toolscache.ToWatcherWithContext(lw).WatchWithContext(t.Context(), metav1.ListOptions{ResourceVersion: tc.from})
			fails := tc.want || tc.broken != nil
			if apierrors.IsResourceExpired(err) != tc.want || (err != nil) != fails || (w == nil) != fails {
				t.Errorf("the watch: %v", err)
			}
			if tc.want != errors.Is(got, ErrRewound) {
				t.Errorf("it says %v", got)
			}
		})
	}
}
