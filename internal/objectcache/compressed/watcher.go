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

package compressed

import (
	"context"
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Pack packs an object that the API server has written as text. It keeps nothing of the
// text.
type Pack func(text []byte) (runtime.Object, error)

// Watcher watches objects and packs them without decoding them first, which would be most
// of the work: of a start with very many objects, and while objects change all the time.
type Watcher struct {
	client rest.Interface
	mapper apimeta.RESTMapper
}

// NewWatcher makes a Watcher that asks the API server that cfg names through httpClient,
// for the resources that mapper knows.
func NewWatcher(cfg *rest.Config, httpClient *http.Client, mapper apimeta.RESTMapper) (*Watcher, error) {
	cfg = dynamic.ConfigFor(cfg)
	cfg.AcceptContentTypes, cfg.ContentType = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	client, err := rest.UnversionedRESTClientForConfigAndClient(cfg, httpClient)
	if err != nil {
		return nil, fmt.Errorf("cannot make the client that watches: %w", err)
	}
	return &Watcher{client: client, mapper: mapper}, nil
}

// Over returns a ListerWatcher that lists as lw does, and watches the objects of a kind in all
// namespaces by itself, with each of them packed.
func (w *Watcher) Over(lw toolscache.ListerWatcher, kind schema.GroupVersionKind, pack Pack) toolscache.ListerWatcher {
	return &toolscache.ListWatch{
		ListWithContextFunc: toolscache.ToListerWithContext(lw).ListWithContext,
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			body, err := w.stream(ctx, kind, options)
			if err != nil {
				return nil, err
			}
			reporter := apierrors.NewClientErrorReporter(http.StatusInternalServerError, http.MethodGet, "ClientWatchDecoding")
			return watch.NewStreamWatcherWithLogger(klog.FromContext(ctx), newDecoder(body, pack), reporter), nil
		},
	}
}

func (w *Watcher) stream(ctx context.Context, kind schema.GroupVersionKind, options metav1.ListOptions) (io.ReadCloser, error) {
	mapping, err := w.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, err
	}
	path := []string{"apis", kind.Group, kind.Version, mapping.Resource.Resource}
	if kind.Group == "" {
		path = []string{"api", kind.Version, mapping.Resource.Resource}
	}
	options.Watch = true
	return w.client.Get().AbsPath(path...).SpecificallyVersionedParams(&options, metav1.ParameterCodec, metav1.Unversioned).Stream(ctx)
}
