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

package pathkey

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// SecretName is the name of the Secret with the keys, in the operator's namespace. The
	// Role for it allows it.
	SecretName = "kausality-webhook-path" //nolint:gosec // its name, and not what is in it
	// refreshInterval is the least time between two reads of the Secret for keys
	// that nobody knows, which anybody can show.
	refreshInterval = time.Second
	// readTimeout limits how long one of them takes.
	readTimeout = 2 * time.Second
	// retryInterval is the delay after a renewal that failed.
	retryInterval = 5 * time.Second
)

// Config is what a Keeper works with. All of it is required but the clock.
type Config struct {
	// Client writes the Secret, and Live reads it from the API server.
	Client client.Client
	Live   client.Reader
	// Namespace is the operator's.
	Namespace string
	// Schedule is that by which keys are renewed.
	Schedule Schedule
	// Clock is the real one where it is left out.
	Clock clock.WithTicker
}

// Keeper knows the keys that count. Each replica has one, and the one that leads renews
// them. It is safe for concurrent use.
type Keeper struct {
	Config

	changed chan event.GenericEvent
	// gone has an item where the Secret was deleted.
	gone chan struct{}

	mu   sync.RWMutex
	ring Ring

	refreshing sync.Mutex
	refreshed  time.Time
}

// Open reads the keys from the Secret, which it makes where there is none: no replica
// serves before it knows what to accept.
func Open(ctx context.Context, cfg Config) (*Keeper, error) {
	if cfg.Clock == nil {
		cfg.Clock = clock.RealClock{}
	}
	k := &Keeper{Config: cfg, changed: make(chan event.GenericEvent, 1), gone: make(chan struct{}, 1)}
	secret, err := k.read(ctx)
	if err == nil && ringOf(secret).Current == "" {
		next, _, _ := k.Schedule.Step(Ring{}, k.now(), fresh)
		secret, err = k.write(ctx, secret, next)
		if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) {
			secret, err = k.read(ctx) // Another replica was faster.
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading or making Secret %s, which has the keys of the webhooks' paths: %w; "+
			"allow the operator to create, get, list, watch and update it", k.name(), err)
	}
	if ringOf(secret).Current == "" {
		return nil, fmt.Errorf("the Secret %s has no %q: delete it, and restart the operator", k.name(), fieldCurrent)
	}
	k.apply(secret)
	return k, nil
}

// Current returns the key that the API server is to show.
func (k *Keeper) Current() string { return k.known().Current }

// Changed tells when the keys are others. Several changes may be told as one. It is for
// one receiver.
func (k *Keeper) Changed() <-chan event.GenericEvent { return k.changed }

// Accepts reports whether somebody who shows the key knows what only the API server is
// told. For a key that is not known the Secret is read again now and then, as this replica
// may be the last that hears of it.
func (k *Keeper) Accepts(ctx context.Context, key string) bool {
	if k.known().Accepts(key) {
		return true
	}
	return len(key) == 2*size && k.refresh(ctx) && k.known().Accepts(key)
}

func (k *Keeper) known() Ring {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.ring
}

// now returns the time as the Secret has it.
func (k *Keeper) now() time.Time { return k.Clock.Now().UTC().Truncate(time.Millisecond) }

// refresh reads the Secret, unless that was done a moment ago, or somebody does so.
func (k *Keeper) refresh(ctx context.Context) bool {
	if !k.refreshing.TryLock() {
		return false
	}
	defer k.refreshing.Unlock()
	if now := k.Clock.Now(); now.Sub(k.refreshed) < refreshInterval {
		return false
	}
	k.refreshed = k.Clock.Now()
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	secret, err := k.read(ctx)
	if err != nil {
		logf.FromContext(ctx).Error(err, "Cannot read whether there is another key for the webhooks' paths", "secret", k.name())
		return false
	}
	k.apply(secret)
	return true
}

// apply makes the keys of the Secret those that count. One without keys changes nothing:
// what the API server shows stays valid until it is told of another.
func (k *Keeper) apply(secret *corev1.Secret) {
	next := ringOf(secret)
	if next.Current == "" {
		return
	}
	k.mu.Lock()
	same := k.ring == next
	k.ring = next
	k.mu.Unlock()
	if same {
		return
	}
	select {
	case k.changed <- event.GenericEvent{Object: &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: SecretName}}}:
	default: // One is waiting to be told already.
	}
}

// Watch returns what follows the Secret on each replica, through a cache of its own,
// which holds no other. It is to be added to the manager.
func (k *Keeper) Watch(ctx context.Context, cfg *rest.Config, opts cache.Options) (*Watch, error) {
	opts.ByObject = map[client.Object]cache.ByObject{&corev1.Secret{}: {
		Namespaces: map[string]cache.Config{k.Namespace: {FieldSelector: fields.OneTermEqualSelector("metadata.name", SecretName)}},
	}}
	secrets, err := cache.New(cfg, opts)
	if err != nil {
		return nil, fmt.Errorf("preparing to watch Secret %s: %w", k.name(), err)
	}
	informer, err := secrets.GetInformer(ctx, &corev1.Secret{}, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("preparing to watch Secret %s: %w", k.name(), err)
	}
	see := func(obj any) {
		if secret, ok := obj.(*corev1.Secret); ok {
			k.apply(secret)
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    see,
		UpdateFunc: func(_, obj any) { see(obj) },
		DeleteFunc: func(any) {
			select {
			case k.gone <- struct{}{}:
			default:
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("preparing to watch Secret %s: %w", k.name(), err)
	}
	return &Watch{secrets}, nil
}

// Watch follows the Secret.
type Watch struct{ cache.Cache }

// NeedLeaderElection returns false: each replica accepts keys.
func (*Watch) NeedLeaderElection() bool { return false }
