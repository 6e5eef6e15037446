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

// Package objectcache keeps a cached view of all objects of the kinds that policies
// are for: the holders of ledgers. Which kinds these are changes while the
// operator runs, so its informers come and go with them.
package objectcache

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"kausality.io/operator/internal/objectcache/compressed"
	"kausality.io/operator/internal/watchstate"
)

// Cache is the view of the holders. Add it to a manager, then tell it with
// Watch what to look at. Its methods are safe for concurrent use.
//
// Holders are cached without managed fields and without the configuration that
// kubectl apply leaves in an annotation: nothing decides by them. There may be very
// many, so that they are packed until they are read.
type Cache struct {
	cache  cache.Cache
	live   dynamic.Interface
	mapper apimeta.RESTMapper

	// changing lets one Watch at a time change what is watched.
	changing sync.Mutex
	// kinds are read on each request that the webhook gets, and replaced as a
	// whole.
	kinds atomic.Pointer[map[schema.GroupKind]watched]
	// subscribers get the events of all kinds.
	subscribers subscribers
	// looked is closed when the first Watch has returned.
	looked     chan struct{}
	lookedOnce sync.Once
	// ignored are parents that are none.
	ignored ignored
}

// watched is one kind with a running informer.
type watched struct {
	// gvk has the version that is watched.
	gvk schema.GroupVersionKind
	// scope is where its objects live.
	scope apimeta.RESTScopeName
	// synced says how far its event handler is, and so the cache before it.
	synced toolscache.DoneChecker
	// objects are packed.
	objects toolscache.Indexer
	// state is that of the watch that fills them.
	state *watchstate.State
	// left is closed by leave, once nobody is to wait for them any more.
	left  chan struct{}
	leave func()
}

func (w watched) ready() bool { return toolscache.IsDone(w.synced) }

// New makes a Cache that reads through httpClient from the API server that cfg
// names. It watches nothing yet.
func New(cfg *rest.Config, httpClient *http.Client, mapper apimeta.RESTMapper) (*Cache, error) {
	watcher, err := compressed.NewWatcher(cfg, httpClient, mapper)
	if err != nil {
		return nil, fmt.Errorf("cannot make the cache of holders: %w", err)
	}
	making := &informers{packing: &packing{}, watcher: watcher}
	scheme := runtime.NewScheme() // unstructured objects need no types
	made, err := cache.New(cfg, cache.Options{
		HTTPClient:                  httpClient,
		Scheme:                      scheme,
		Mapper:                      mapper,
		ReaderFailOnMissingInformer: true,
		DefaultTransform:            making.packing.transform,
		NewInformer:                 making.newInformer,
	})
	if err != nil {
		return nil, fmt.Errorf("cannot make the cache of holders: %w", err)
	}
	// Not controller-runtime's client, which never forgets the scope of a kind.
	live, err := dynamic.NewForConfigAndClient(cfg, httpClient)
	if err != nil {
		return nil, fmt.Errorf("cannot make the client that reads holders: %w", err)
	}
	c := &Cache{cache: made, live: live, mapper: mapper, looked: make(chan struct{}), subscribers: subscribers{arrivals: newArrivals()}}
	c.kinds.Store(&map[schema.GroupKind]watched{})
	return c, nil
}

// Start runs the informers until ctx ends.
func (c *Cache) Start(ctx context.Context) error {
	defer func() {
		for _, w := range *c.kinds.Load() {
			w.leave()
		}
	}()
	return c.cache.Start(ctx)
}

// NeedLeaderElection returns false: the webhook of each replica reads the cache.
func (c *Cache) NeedLeaderElection() bool { return false }

// GetCache makes a manager start the informers together with its own cache,
// before anything that may call Watch.
func (c *Cache) GetCache() cache.Cache { return c.cache }

// Looked is closed once the first Watch has returned: from then on, what the
// policies are for has been seen.
func (c *Cache) Looked() <-chan struct{} { return c.looked }
