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

// Package entry is what a request passes before a webhook sees it: whoever asks has to
// show the key that the API server is told, and what is asked at a time has to fit into
// memory. It knows nothing of what is asked.
package entry

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"kausality.io/operator/internal/metrics"
)

// KeyPattern is what the path of a webhook that asks for a key has behind its own.
const KeyPattern = "/{" + keyValue + "}"

const keyValue = "key"

// Why a request was not handed on.
const (
	refusedStranger = "UnknownKey"
	refusedLarge    = "TooLarge"
	refusedBusy     = "Busy"
	refusedBroken   = "Unreadable"
)

var refusals = metrics.Factory.NewCounterVec(prometheus.CounterOpts{
	Namespace: metrics.Namespace,
	Name:      "webhook_refusals_total",
	Help:      "Number of requests to the port of the webhooks that were turned away before anybody looked at what they ask.",
}, []string{"reason"})

var connectionsDropped = metrics.Factory.NewCounter(prometheus.CounterOpts{
	Namespace: metrics.Namespace,
	Name:      "webhook_connections_dropped_total",
	Help:      "Number of connections to the port of the webhooks that were closed for others, as nobody had shown a key over them.",
})

// Keys are the keys that a caller may show.
type Keys interface {
	// Accepts reports whether a key is one of them.
	Accepts(ctx context.Context, key string) bool
}

// strangersInterval is how often strangers are worth a line in the log.
const strangersInterval = 10 * time.Second

// Known hands on what shows a key, at a path that ends with KeyPattern. To anybody else
// there is nothing at that path; what they send is not read.
func Known(keys Keys, hook http.Handler) http.Handler {
	seldom := &rate.Sometimes{Interval: strangersInterval}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if keys.Accepts(r.Context(), r.PathValue(keyValue)) {
			welcome(r.Context())
			hook.ServeHTTP(w, r)
			return
		}
		refusals.WithLabelValues(refusedStranger).Inc()
		seldom.Do(func() {
			logf.FromContext(r.Context()).WithName("entry").Info("Somebody who is not the API server, or has an old webhook configuration, "+
				"asks a webhook; there may be more of them than lines here", "remote", r.RemoteAddr)
		})
		w.Header().Set("Connection", "close")
		http.NotFound(w, r)
	})
}
