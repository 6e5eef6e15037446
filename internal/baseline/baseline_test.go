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

package baseline

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/objectcache"
)

var apps = schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "App"}

const namespace = "kausality-system"

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// world is which objects there are.
type world map[string]bool

func (w world) Kinds() []schema.GroupVersionKind { return []schema.GroupVersionKind{apps} }
func (w world) Watches(schema.GroupKind) bool    { return true }
func (w world) Has(_ schema.GroupVersionKind, key types.NamespacedName) bool {
	return w[key.Name]
}

// start has a Memory that has read what there is.
func start(t *testing.T, c client.Client, there world) *Memory {
	t.Helper()
	m := New(configOf(c, there))
	if err := m.load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return m
}

func configOf(c client.Client, there world) Config {
	looked := make(chan struct{})
	close(looked)
	return Config{
		Client: c, Live: c, Namespace: namespace, Holders: there, Looked: looked,
		Behind: func() bool { return false }, Clock: clocktesting.NewFakeClock(time.Now()),
	}
}

func reqOf(name string) objectcache.Request {
	return objectcache.RequestFor(apps, types.NamespacedName{Namespace: "shop", Name: name})
}

func contentOf(generation int64, values ...string) *v1alpha1.ApprovedContent {
	out := &v1alpha1.ApprovedContent{Generation: generation}
	for i, digest := range values {
		out.Digests = append(out.Digests, v1alpha1.ContentDigest{Path: fmt.Sprintf("spec.field%d", i), Digest: digest})
	}
	return out
}

func flush(t *testing.T, m *Memory) {
	t.Helper()
	if err := m.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// writes returns the versions of the ConfigMaps, by their names.
func writes(t *testing.T, c client.Client) map[string]string {
	t.Helper()
	var list corev1.ConfigMapList
	if err := c.List(t.Context(), &list, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for i := range list.Items {
		out[list.Items[i].Name] = list.Items[i].ResourceVersion
	}
	return out
}

// TestMemory shows what an operator knows of what the one before it saw.
func TestMemory(t *testing.T) {
	c := fake.NewClientBuilder().Build()
	there := world{"web": true, "db": true, "gone": true, "recorded": true}
	before := start(t, c, there)
	want := contentOf(3, "0a", "", "0b0c")
	for name := range there {
		before.Note(reqOf(name), types.UID(name), want, noon)
	}
	before.Forget(reqOf("recorded"))
	flush(t, before)

	delete(there, "gone")
	after := start(t, c, there)
	for name, known := range map[string]bool{"web": true, "db": true, "gone": false, "recorded": false} {
		got := after.Of(reqOf(name), types.UID(name))
		if !known && got != nil {
			t.Errorf("of %s it knows %+v", name, got)
		}
		if diff := cmp.Diff(want, got); known && diff != "" {
			t.Errorf("of %s (-want +got):\n%s", name, diff)
		}
	}
	for uid, known := range map[types.UID]time.Time{"web": noon, "another": {}} {
		if got := after.PoliciesOf(reqOf("web"), uid); !got.Equal(known) {
			t.Errorf("of %s policies until %s were looked at, want %s", uid, got, known)
		}
	}
	if got := after.Of(reqOf("web"), "another"); got != nil {
		t.Errorf("an object that was made anew is like the one before: %+v", got)
	}
}

// TestNothingIsWrittenAtRest shows that seeing the same again costs no write.
func TestNothingIsWrittenAtRest(t *testing.T) {
	c := fake.NewClientBuilder().Build()
	m := start(t, c, world{"web": true})
	flush(t, m)
	if got := writes(t, c); len(got) > 0 {
		t.Errorf("with nothing to remember: %v", got)
	}
	m.Note(reqOf("web"), "u", contentOf(1, "aa"), time.Time{})
	flush(t, m)
	first := writes(t, c)
	m.Note(reqOf("web"), "u", contentOf(1, "aa"), time.Time{})
	m.Forget(reqOf("other"))
	flush(t, m)
	flush(t, start(t, c, world{"web": true}))
	if diff := cmp.Diff(first, writes(t, c)); diff != "" {
		t.Errorf("written again (-before +after):\n%s", diff)
	}
	m.Note(reqOf("web"), "u", contentOf(2, "ab"), time.Time{})
	flush(t, m)
	second := writes(t, c)
	if cmp.Equal(first, second) {
		t.Error("a change was not written")
	}
	m.Note(reqOf("web"), "u", contentOf(2, "ab"), noon)
	flush(t, m)
	if cmp.Equal(second, writes(t, c)) {
		t.Error("another policy was not written")
	}
}

// TestNothingIsWrittenWhileBehind shows that what was seen before a backup of etcd came back does
// not get into it, and that what was seen while a watch was broken is not lost.
func TestNothingIsWrittenWhileBehind(t *testing.T) {
	c := fake.NewClientBuilder().Build()
	synctest.Test(t, func(t *testing.T) {
		var behind atomic.Bool
		behind.Store(true)
		cfg := configOf(c, world{"web": true})
		cfg.Clock, cfg.Behind = clock.RealClock{}, behind.Load
		m := New(cfg)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			if err := m.Start(ctx); err != nil {
				t.Error(err)
			}
		}()
		m.Note(reqOf("web"), "u", contentOf(1, "aa"), noon)
		time.Sleep(10 * flushDelay) //nolint:forbidigo // It is the clock of the bubble that passes.
		synctest.Wait()
		if got := writes(t, c); len(got) > 0 {
			t.Errorf("while the watch was broken %v were written", got)
		}
		behind.Store(false)
		time.Sleep(flushDelay) //nolint:forbidigo // It is the clock of the bubble that passes.
		synctest.Wait()
		if got := writes(t, c); len(got) != 1 {
			t.Errorf("when it was there again %v were written, want one", got)
		}
		cancel()
		synctest.Wait()
	})
}

// TestMany shows that no ConfigMap grows beyond what the API server takes, and that
// an operator which ends while they are divided loses nothing.
func TestMany(t *testing.T) {
	const many = 12_000
	c := fake.NewClientBuilder().Build()
	there := world{}
	m := start(t, c, there)
	random := rand.New(rand.NewPCG(1, 2))
	wide := func(i int) *v1alpha1.ApprovedContent {
		var digests []string
		for range 3 {
			digests = append(digests, fmt.Sprintf("%016x%016x", random.Uint64(), random.Uint64()))
		}
		return contentOf(int64(i), digests...)
	}
	want := map[string]*v1alpha1.ApprovedContent{}
	for i := range many {
		name := fmt.Sprintf("app-%d", i)
		there[name], want[name] = true, wide(i)
		m.Note(reqOf(name), types.UID(name), want[name], time.Time{})
	}
	flush(t, m)
	if m.shards < 2 {
		t.Fatalf("%d ConfigMaps", m.shards)
	}
	for shard := range m.shards {
		cm := &corev1.ConfigMap{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: nameOf(shard)}, cm); err != nil {
			t.Fatal(err)
		}
		if size := len(cm.BinaryData[field]); size > maxShard {
			t.Errorf("%s has %d bytes", cm.Name, size)
		}
	}

	m.mu.Lock()
	m.shards *= 2
	m.allDirty()
	texts, _, err := m.texts()
	m.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	for shard, text := range texts {
		if shard%2 == 0 {
			if err := m.write(t.Context(), nameOf(shard), text); err != nil {
				t.Fatal(err)
			}
		}
	}
	after := start(t, c, there)
	for name, content := range want {
		if diff := cmp.Diff(content, after.Of(reqOf(name), types.UID(name))); diff != "" {
			t.Fatalf("of %s (-want +got):\n%s", name, diff)
		}
	}
	flush(t, after)
	if again := start(t, c, there); len(again.dirty) > 0 || len(again.entries) != many {
		t.Errorf("after that, %d of %d ConfigMaps are to be written, and %d objects known", len(again.dirty), again.shards, len(again.entries))
	}
}

// TestUnreadable shows that what somebody broke is made anew, and keeps nobody from
// starting.
func TestUnreadable(t *testing.T) {
	c := fake.NewClientBuilder().WithObjects(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: nameOf(0), Labels: map[string]string{label: ""}},
		BinaryData: map[string][]byte{field: []byte("broken")},
	}).Build()
	m := start(t, c, world{"web": true})
	m.Note(reqOf("web"), "u", contentOf(1, "aa"), time.Time{})
	flush(t, m)
	if got := start(t, c, world{"web": true}).Of(reqOf("web"), "u"); got == nil {
		t.Error("it was not made anew")
	}
}

// TestText shows that what is written is what is read, whatever it is.
func TestText(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		digest := rapid.StringMatching(`([0-9a-f]{2}){0,20}`)
		segment := rapid.StringMatching(`[a-z\[\]*.]{1,9}`)
		content := &v1alpha1.ApprovedContent{Generation: rapid.Int64Min(0).Draw(rt, "generation")}
		for range rapid.IntRange(0, 5).Draw(rt, "fields") {
			content.Digests = append(content.Digests, v1alpha1.ContentDigest{Path: segment.Draw(rt, "path"), Digest: digest.Draw(rt, "digest")})
		}
		for range rapid.IntRange(0, 2).Draw(rt, "parents") {
			content.Parents = append(content.Parents, segment.Draw(rt, "parent"))
		}
		if diff := cmp.Diff(content, entryOf("u", content, time.Time{}).content()); diff != "" {
			rt.Fatalf("in memory (-want +got):\n%s", diff)
		}
		l := lineOf(reqOf("web"), entryOf("u", content, time.Time{}))
		text, err := encode([]line{l})
		if err != nil {
			rt.Fatal(err)
		}
		got, err := decode(text)
		if diff := cmp.Diff([]line{l}, got); err != nil || diff != "" {
			rt.Fatalf("written: %v (-want +got):\n%s", err, diff)
		}
	})
}

func TestDecodeForeign(t *testing.T) {
	for name, text := range map[string]string{"nothing": "", "no gzip": "{}", "half of one": "\x1f\x8b\x08"} {
		if _, err := decode([]byte(text)); err == nil || !strings.Contains(err.Error(), "what objects are like") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
