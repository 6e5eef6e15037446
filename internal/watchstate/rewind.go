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
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

// ErrRewound says that the API server has gone back in time, as when a backup of etcd is
// restored.
var ErrRewound = errors.New("the API server has gone back in time, as when a backup of etcd is restored; what is known of its objects is not true any more")

// IsBefore reports whether a resourceVersion is older than another one of the same resource.
// Of versions that are no numbers nobody can tell.
func IsBefore(version, other string) bool {
	order, err := resourceversion.CompareResourceVersion(version, other)
	return err == nil && order < 0
}

// Rewind notices that the API server has gone back in time. A watch does not: one that goes
// on from a version that is not there yet delivers nothing until it is, and everything else
// stays as it was before.
type Rewind struct {
	// End is called with an ErrRewound: whoever has drawn conclusions from what was watched
	// has to begin anew. It may be nil.
	End func(error)
}

// Over has a ListerWatcher look, each time a watch goes on from a version, whether the API
// server has got that far. One that has not is answered like one whose version is too old,
// so that everything is listed again.
func (r Rewind) Over(lw toolscache.ListerWatcher) toolscache.ListerWatcher {
	return rewinding{ListerWatcher: lw, rewind: r}
}

type rewinding struct {
	toolscache.ListerWatcher
	rewind Rewind
}

// ListWithContext implements toolscache.ListerWithContext.
func (w rewinding) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return toolscache.ToListerWithContext(w.ListerWatcher).ListWithContext(ctx, options)
}

// WatchWithContext implements toolscache.WatcherWithContext.
func (w rewinding) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if err := w.rewound(ctx, options.ResourceVersion); err != nil {
		if !errors.Is(err, ErrRewound) {
			return nil, err // What watches tries again.
		}
		if w.rewind.End != nil {
			w.rewind.End(err)
		}
		return nil, apierrors.NewResourceExpired(err.Error())
	}
	return toolscache.ToWatcherWithContext(w.ListerWatcher).WatchWithContext(ctx, options)
}

// rewound returns an ErrRewound where the API server has not got to a version yet, and another
// error where it cannot say: an API server that starts may answer a watch before it answers
// a list, and what such a watch waits for would never come. A watch that goes on from no
// version has nothing to compare, and costs no list.
func (w rewinding) rewound(ctx context.Context, version string) error {
	if version == "" || version == "0" {
		return nil
	}
	// A list without a version is of what is stored now.
	list, err := w.ListWithContext(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	accessor, err := apimeta.ListAccessor(list)
	if err != nil || !IsBefore(accessor.GetResourceVersion(), version) {
		return nil //nolint:nilerr // Nobody can tell.
	}
	return fmt.Errorf("%w: it was at version %s, and is at %s", ErrRewound, version, accessor.GetResourceVersion())
}
