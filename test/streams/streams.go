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

// Package streams plays an API server to informers, for tests that need nothing but
// objects, and perhaps very many of them: it streams what there is, and then what the
// test adds.
package streams

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// Server streams the objects of one kind, whatever it is asked for.
type Server struct {
	// Bookmark is the object of the kind that tells that all there is was streamed, with
	// nothing in it but apiVersion and kind.
	Bookmark map[string]any
	// Count is how many objects there are, and Object makes the i-th of them.
	Count  int
	Object func(i int) any

	once   sync.Once
	events chan metav1.WatchEvent
}

// Start serves until the end of the test.
func (s *Server) Start(tb testing.TB) *rest.Config {
	tb.Helper()
	server := httptest.NewServer(s)
	tb.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
}

// Send streams an event after all that there was at first.
func (s *Server) Send(tb testing.TB, event watch.EventType, obj any) {
	tb.Helper()
	raw, err := json.Marshal(obj)
	if err != nil {
		tb.Fatal(err)
	}
	s.later() <- metav1.WatchEvent{Type: string(event), Object: runtime.RawExtension{Raw: raw}}
}

func (s *Server) later() chan metav1.WatchEvent {
	s.once.Do(func() { s.events = make(chan metav1.WatchEvent, 16) })
	return s.events
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("sendInitialEvents") != "true" {
		http.Error(w, "only streamed lists are served", http.StatusNotImplemented)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	out := json.NewEncoder(w)
	for i := range s.Count {
		if err := out.Encode(map[string]any{"type": watch.Added, "object": s.Object(i)}); err != nil {
			return // The client has gone.
		}
	}
	done := map[string]any{"metadata": map[string]any{
		"resourceVersion": strconv.Itoa(s.Count + 1),
		"annotations":     map[string]any{metav1.InitialEventsAnnotationKey: "true"},
	}}
	maps.Copy(done, s.Bookmark)
	if err := out.Encode(map[string]any{"type": watch.Bookmark, "object": done}); err != nil {
		return
	}
	for {
		if flusher, ok := w.(http.Flusher); ok {
			flusher.Flush()
		}
		select {
		case <-r.Context().Done():
			return
		case event := <-s.later():
			if err := out.Encode(event); err != nil {
				return
			}
		}
	}
}
