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

// Package eventrecorder tells people by Events what admission decided about their
// objects (D13).
package eventrecorder

import (
	"encoding/hex"
	"hash/fnv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/kubectl"
	"kausality.io/operator/internal/metrics"
)

// Reasons of Events.
const (
	// Denied says that a change was refused.
	Denied = "Denied"
	// BreakGlass says that somebody broke the glass.
	BreakGlass = "BreakGlass"
	// Stray says that a parent adopts a child without a cause.
	Stray = "Stray"
	// Upgrading says that the children of an object are brought in line with a new version.
	Upgrading = "Upgrading"
	// LedgerFull says that a change allows nothing, as the ledger has no room.
	LedgerFull = "LedgerFull"
	// NoRoom says that the API server refuses a write, as the annotations of its object have no room for what
	// is kept there.
	NoRoom = "NoRoom"
)

const (
	// burst is how many different notices about an object become Events at once, and
	// every how long another may follow. The recorder of the core API has the same burst.
	burst = 25
	every = 30 * time.Second
	// repeated is how long a notice stays known: as long as the recorder adds to the
	// series of its Event.
	repeated = 6 * time.Minute
	// atOnce is within what time the same notice is the same: the recorder need not know
	// that a controller tries a hundred times in a second.
	atOnce = time.Second
	// remembered is how many notices, and how many objects, are known.
	remembered = 4096
	// maxText limits the length of the note of an Event, in bytes.
	maxText = 1024
)

var suppressed = metrics.Factory.NewCounterVec(prometheus.CounterOpts{
	Namespace: metrics.Namespace,
	Name:      "events_suppressed_total",
	Help:      "Number of notices that became no Event because there were too many different ones about the same object.",
}, []string{"reason"})

// Notice is what people should know about an object.
type Notice struct {
	// Reason is one of the constants.
	Reason string
	// Action is what was tried, in one word.
	Action string
	// Text says what happened. It contains no value of a field, and is the same for the
	// same thing.
	Text string
	// About is the object.
	About v1alpha1.TargetReference
	// Normal is true for what nobody has to do anything about.
	Normal bool
	// Child of it that was to be changed, nil where none exists. It gets an Event too.
	Child *v1alpha1.TargetReference
}

// Shortened cuts a text that is too long for the note of an Event between two characters, and says
// so.
func Shortened(text string) string {
	const more = " …"
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText-len(more)], "") + more
}

// shortenedInside leaves out the middle of a text that is too long for the note of an Event, and says
// so: it begins with who did what, such as a list of fields, and ends with what to do about it.
func shortenedInside(text string) string {
	const (
		more = " … "
		head = maxText / 3
		tail = maxText - head - len(more)
	)
	if len(text) <= maxText {
		return text
	}
	first, last := text[:head], text[len(text)-tail:]
	if i := strings.LastIndexByte(first, ' '); i > 0 {
		first = first[:i]
	}
	if i := strings.IndexByte(last, ' '); i >= 0 {
		last = last[i+1:]
	}
	return strings.ToValidUTF8(first, "") + more + strings.ToValidUTF8(last, "")
}

// Board makes Events of notices: one for each that is different, however often it
// comes, and not too many about one object. It is safe for concurrent use.
type Board struct {
	recorder events.EventRecorder
	clock    clock.PassiveClock

	mu sync.Mutex
	// known are when notices were last passed on.
	known *lru.Cache
	// limits are of objects, by uid.
	limits *lru.Cache
}

// NewBoard makes a Board.
func NewBoard(recorder events.EventRecorder, clock clock.PassiveClock) *Board {
	return &Board{recorder: recorder, clock: clock, known: lru.New(remembered), limits: lru.New(remembered)}
}

// Post makes Events of a notice, some time later.
func (b *Board) Post(n Notice) {
	n.Text = shortenedInside(kubectl.Printable(n.Text))
	// The recorder takes two events for one, and keeps the first note, where all but
	// their notes is equal: observed, of two persons who broke the glass of one object
	// within seconds only the first showed. So the action differs with the text.
	action := n.Action + "-" + digest(n.Text)
	if !b.admits(n, action) {
		return
	}
	about, kind := reference(n.About), corev1.EventTypeWarning
	if n.Normal {
		kind = corev1.EventTypeNormal
	}
	if n.Child == nil {
		b.recorder.Eventf(about, nil, kind, n.Reason, action, "%s", n.Text)
		return
	}
	child := reference(*n.Child)
	b.recorder.Eventf(about, child, kind, n.Reason, action, "%s", n.Text)
	b.recorder.Eventf(child, about, kind, n.Reason, action, "%s", n.Text)
}

// notice is what makes a notice the same as another.
type notice struct {
	about, child   types.UID
	reason, action string
}

// admits reports whether a notice is to be passed on to the recorder, which writes what
// is new to it and counts what is not.
func (b *Board) admits(n Notice, action string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := notice{about: n.About.UID, reason: n.Reason, action: action}
	if n.Child != nil {
		key.child = n.Child.UID
	}
	now := b.clock.Now()
	if last, known := b.known.Get(key); known {
		switch ago := now.Sub(last.(time.Time)); { //nolint:errcheck,forcetypeassert // Nothing else is in there.
		case ago < atOnce:
			return false
		case ago < repeated:
			b.known.Add(key, now)
			return true
		}
	}
	if !b.limit(n.About.UID).TryAccept() {
		suppressed.WithLabelValues(n.Reason).Inc()
		return false
	}
	b.known.Add(key, now)
	return true
}

func (b *Board) limit(uid types.UID) flowcontrol.PassiveRateLimiter {
	if known, ok := b.limits.Get(uid); ok {
		return known.(flowcontrol.PassiveRateLimiter) //nolint:errcheck,forcetypeassert // Nothing else is in there.
	}
	limit := flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(float32(1/every.Seconds()), burst, b.clock)
	b.limits.Add(uid, limit)
	return limit
}

func reference(ref v1alpha1.TargetReference) *corev1.ObjectReference {
	version := schema.GroupVersion{Group: ref.Group, Version: ref.Version}
	return &corev1.ObjectReference{
		APIVersion: version.String(), Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name, UID: ref.UID,
	}
}

// digest tells texts apart.
func digest(text string) string {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(text)) // It never fails.
	return hex.EncodeToString(hash.Sum(nil))
}
