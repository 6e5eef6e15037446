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

// Package baseline remembers what governed objects are like that have no AllowanceRecord:
// those that were there before their policy, and that nobody has changed since. An operator
// that comes back finds by it what was changed of them while nobody looked (D2), without a
// record for every object that is at rest.
//
// What it keeps are digests with a key, in ConfigMaps of the operator's namespace. They are
// written when policies come, and when objects come and go, some seconds later and all
// together; while nothing happens, nothing is written.
package baseline

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/objectcache"
)

const (
	// Prefix begins the names of the ConfigMaps.
	Prefix = "kausality-baseline-"
	// label is on all of them.
	label = "kausality.io/baseline"
	// field is where a ConfigMap has its text.
	field = "objects.json.gz"
	// maxShard is how large a text may become, in bytes, before there are twice as many:
	// an object of the API server is limited to 1.5 MiB.
	maxShard = 512 << 10
	// flushDelay is how long a change waits for others, for each ConfigMap that there is,
	// so that many objects cost no more writes in a minute than few do.
	flushDelay = 2 * time.Second
	// flushTimeout bounds the last write of an operator that ends.
	flushTimeout = 5 * time.Second
)

// Holders are the objects that there are.
type Holders interface {
	// Kinds are the watched kinds.
	Kinds() []schema.GroupVersionKind
	// Watches reports whether all objects of a kind are known.
	Watches(kind schema.GroupKind) bool
	// Has reports whether there is an object of that name.
	Has(gvk schema.GroupVersionKind, key types.NamespacedName) bool
}

// Config is what a Memory works with; all of it is required.
type Config struct {
	// Client writes the ConfigMaps.
	Client client.Client
	// Live reads them from the API server: no cache is kept of ConfigMaps.
	Live client.Reader
	// Namespace is the operator's.
	Namespace string
	// Holders are the objects, once Looked is closed.
	Holders Holders
	// Looked is closed once it is known which kinds are watched.
	Looked <-chan struct{}
	// Behind reports whether the watch of records is stale. Nothing is written meanwhile: a backup of
	// etcd may have been restored, in which objects are older than what is remembered of them.
	Behind func() bool
	// Clock is the real one, but in tests.
	Clock clock.WithTicker
}

// Memory remembers what objects without a record are like. The leader has it; add it to
// the manager.
type Memory struct {
	Config

	loaded chan struct{}
	recall recall

	mu      sync.Mutex
	entries map[objectcache.Request]entry
	// shards is how many ConfigMaps there are, a power of two, and dirty those of them that
	// do not have what is remembered.
	shards int
	dirty  map[int]bool
}

// New makes a Memory.
func New(cfg Config) *Memory {
	return &Memory{
		Config: cfg, loaded: make(chan struct{}),
		entries: map[objectcache.Request]entry{}, shards: 1, dirty: map[int]bool{},
	}
}

// NeedLeaderElection is true: one process writes.
func (m *Memory) NeedLeaderElection() bool { return true }

// Start reads what there is, and writes what changes until ctx ends.
func (m *Memory) Start(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-m.Looked:
	}
	if err := m.load(ctx); err != nil {
		return err
	}
	close(m.loaded)
	for {
		timer := m.Clock.NewTimer(m.delay())
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			m.flushLast(ctx)
			return nil
		}
		if !m.Behind() {
			m.tryFlush(ctx)
		}
	}
}

// flushLast writes what an operator that ends has not written yet.
func (m *Memory) flushLast(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	m.tryFlush(ctx)
}

// Wait returns when it is known what was remembered before.
func (m *Memory) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-m.loaded:
		return nil
	}
}

// Of returns what an object was like when it was last looked at; nil where that is not known.
func (m *Memory) Of(req objectcache.Request, uid types.UID) *v1alpha1.ApprovedContent {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.entries[req]
	if !ok || e.uid != uid {
		return nil
	}
	return e.content()
}

// PoliciesOf returns the creation time of the newest policy by which an object was last looked at;
// zero where that is not known.
func (m *Memory) PoliciesOf(req objectcache.Request, uid types.UID) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.entries[req]; ok && e.uid == uid && e.policies != 0 {
		return time.Unix(e.policies, 0)
	}
	return time.Time{}
}

// Note remembers what an object is like. policies is the creation time of the newest policy in
// effect for it.
func (m *Memory) Note(req objectcache.Request, uid types.UID, content *v1alpha1.ApprovedContent, policies time.Time) {
	e := entryOf(uid, content, policies)
	m.mu.Lock()
	defer m.mu.Unlock()
	was, known := m.entries[req]
	if known && was == e {
		return
	}
	if known {
		m.dirty[shardOf(was.uid, m.shards)] = true
	}
	m.entries[req] = e
	m.dirty[shardOf(uid, m.shards)] = true
}

// Forget an object: it is gone, has a record, or no policy is in effect for it.
func (m *Memory) Forget(req objectcache.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, known := m.entries[req]; known {
		delete(m.entries, req)
		m.dirty[shardOf(e.uid, m.shards)] = true
	}
}

func (m *Memory) delay() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Duration(m.shards) * flushDelay
}

// load reads what was remembered of the objects that there still are.
func (m *Memory) load(ctx context.Context) error {
	list, err := m.list(ctx)
	if err != nil {
		return err
	}
	watched := map[schema.GroupKind]schema.GroupVersionKind{}
	for _, gvk := range m.Holders.Kinds() {
		watched[gvk.GroupKind()] = gvk
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shards = 1 << bits.Len(uint(max(len(list.Items), 1)-1))
	for i := range list.Items {
		cm := &list.Items[i]
		lines, err := decode(cm.BinaryData[field])
		if err != nil {
			// It is made anew from what there is; what it told is lost.
			logf.FromContext(ctx).Error(err, "Cannot read what objects were like; what was changed of them while nobody looked is not found",
				"namespace", cm.Namespace, "configMap", cm.Name)
		}
		for _, l := range lines {
			m.take(l, cm.Name, watched)
		}
		if err != nil {
			m.allDirty()
		}
	}
	return nil
}

// list reads what was remembered.
func (m *Memory) list(ctx context.Context) (*corev1.ConfigMapList, error) {
	list := &corev1.ConfigMapList{}
	if err := m.Live.List(ctx, list, client.InNamespace(m.Namespace), client.MatchingLabels{label: ""}); err != nil {
		return nil, fmt.Errorf("listing the ConfigMaps %s* in %s, which tell what governed objects were like: %w", Prefix, m.Namespace, err)
	}
	return list, nil
}

// take remembers a line that a ConfigMap had, where there still is such an object. Its
// callers have the lock.
func (m *Memory) take(l line, name string, watched map[schema.GroupKind]schema.GroupVersionKind) {
	shard := shardOf(l.UID, m.shards)
	if nameOf(shard) != name {
		m.allDirty() // It was being divided when the operator ended.
	}
	gvk, ok := watched[schema.GroupKind{Group: l.Group, Kind: l.Kind}]
	key := types.NamespacedName{Namespace: l.Namespace, Name: l.Name}
	if !ok || m.Holders.Watches(gvk.GroupKind()) && !m.Holders.Has(gvk, key) {
		m.dirty[shard] = true
		return
	}
	req := objectcache.RequestFor(gvk, key)
	if was, known := m.entries[req]; !known || was.generation < l.Generation {
		e := entryOf(l.UID, &v1alpha1.ApprovedContent{Generation: l.Generation, Digests: l.Digests, Parents: l.Parents}, time.Time{})
		e.policies = l.Policies
		m.entries[req] = e
	}
}

func (m *Memory) allDirty() {
	for shard := range m.shards {
		m.dirty[shard] = true
	}
}

// tryFlush writes what has changed, and says where that fails; it is tried again.
func (m *Memory) tryFlush(ctx context.Context) {
	if err := m.flush(ctx); err != nil && ctx.Err() == nil {
		logf.FromContext(ctx).Error(err, "Cannot write what objects are like; it is tried again", "namespace", m.Namespace)
	}
}

// flush writes the ConfigMaps that do not have what is remembered.
func (m *Memory) flush(ctx context.Context) error {
	texts, err := m.render()
	if err != nil {
		return err
	}
	var errs []error
	for shard, text := range texts {
		if err := m.write(ctx, nameOf(shard), text); err != nil {
			errs = append(errs, err)
			m.mu.Lock()
			m.dirty[shard] = true
			m.mu.Unlock()
		}
	}
	return errors.Join(errs...)
}

// render returns what is to be written, by shards. It divides them where they have become too
// large.
func (m *Memory) render() (map[int][]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		texts, largest, err := m.texts()
		if err != nil {
			return nil, err
		}
		if largest <= maxShard {
			clear(m.dirty)
			return texts, nil
		}
		m.shards *= 2
		m.allDirty()
	}
}

// texts returns the texts of the dirty shards, and how large the largest is.
func (m *Memory) texts() (texts map[int][]byte, largest int, err error) {
	if len(m.dirty) == 0 {
		return nil, 0, nil
	}
	lines := make(map[int][]line, len(m.dirty))
	for shard := range m.dirty {
		lines[shard] = nil
	}
	for req, e := range m.entries {
		if shard := shardOf(e.uid, m.shards); m.dirty[shard] {
			lines[shard] = append(lines[shard], lineOf(req, e))
		}
	}
	texts = make(map[int][]byte, len(lines))
	for shard, of := range lines {
		if texts[shard], err = encode(of); err != nil {
			return nil, 0, err
		}
		if len(of) > 1 {
			largest = max(largest, len(texts[shard]))
		}
	}
	return texts, largest, nil
}

func lineOf(req objectcache.Request, e entry) line {
	gvk, key, content := req.GVK(), req.Key(), e.content()
	return line{
		Group: gvk.Group, Kind: gvk.Kind, Namespace: key.Namespace, Name: key.Name,
		UID: e.uid, Generation: content.Generation, Digests: content.Digests, Parents: content.Parents,
		Policies: e.policies,
	}
}

func (m *Memory) write(ctx context.Context, name string, text []byte) error {
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: m.Namespace, Name: name,
			Labels: map[string]string{"app.kubernetes.io/name": "kausality", label: ""},
		},
		BinaryData: map[string][]byte{field: text},
	}
	err := m.Client.Patch(ctx, cm.DeepCopy(), client.Merge)
	if apierrors.IsNotFound(err) {
		err = m.Client.Create(ctx, cm)
	}
	if err != nil {
		return fmt.Errorf("writing ConfigMap %s/%s, which tells what governed objects are like: %w", m.Namespace, name, err)
	}
	return nil
}

func nameOf(shard int) string { return Prefix + strconv.Itoa(shard) }
