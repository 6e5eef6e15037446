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

package entry

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// Largest is how long a review is at most: two objects of the 3 MB that the API server
	// takes, and the rest of it.
	Largest = 7 << 20
	// smallest are those that go around larger ones.
	smallest = 128 << 10
	// smallRoom and largeRoom are how many bytes of reviews there are at a time, in each of
	// the two lanes. Deciding takes several times as much memory.
	smallRoom = 8 << 20
	largeRoom = 8 << 20
	// bodyTime is how long somebody may take to send a review: an API server that is short of
	// processors takes its time, and must not get an error for it.
	bodyTime = 10 * time.Second
	// spare is how long before the API server stops waiting it is answered that there is no
	// room, as part of the time that it waits.
	spare = 5
)

// Room is how much of what is asked may be in memory at a time. Small reviews and large
// ones have a lane each, so that a small one never waits for a large one, and wait in the
// order in which they come; what waits is not read.
type Room struct {
	small, large *semaphore.Weighted
}

// NewRoom returns a Room for the webhooks that the API server asks about each write.
func NewRoom() *Room {
	return &Room{small: semaphore.NewWeighted(smallRoom), large: semaphore.NewWeighted(largeRoom)}
}

// NewSmallRoom returns a Room for a webhook that is seldom asked: one large review at a time.
func NewSmallRoom() *Room {
	return &Room{small: semaphore.NewWeighted(1 << 20), large: semaphore.NewWeighted(Largest)}
}

// Review is the body of a request that was read as a whole.
type Review struct {
	*bytes.Reader

	text []byte
}

// Text returns all of it, which is shared and must not be modified.
func (r *Review) Text() []byte { return r.text }

// Close implements io.Closer.
func (*Review) Close() error { return nil }

// Within hands a request on once there is room for it, with a Review as its body, and a
// context that ends before the API server stops waiting. That waits for patience where it
// does not say for how long.
//
// Where there is no room in time, a large review is refused, with a time to try again:
// else whoever sends enough of them would have the next one pass unjudged. Of a small one
// the failurePolicy of the webhook decides, as it does where nobody answers.
func (m *Room) Within(patience time.Duration, hook http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size := r.ContentLength
		if size > Largest {
			refuse(w, refusedLarge, http.StatusRequestEntityTooLarge, fmt.Sprintf("a review has at most %d bytes", Largest))
			return
		}
		if size < 0 {
			size = Largest // Nobody knows, and no API server leaves it out.
		}
		lane := m.large
		if size <= smallest {
			lane = m.small
		}
		ctx, cancel := context.WithTimeout(r.Context(), timeOf(r, patience))
		defer cancel()
		if err := lane.Acquire(ctx, size); err != nil {
			m.busy(w, r, size)
			return
		}
		defer lane.Release(size)
		review, err := read(w, r, size)
		if err != nil {
			refuse(w, refusedBroken, http.StatusBadRequest, err.Error())
			return
		}
		r = r.WithContext(ctx)
		r.Body = review
		hook.ServeHTTP(w, r)
	})
}

// timeOf returns for how long the caller may be kept waiting.
func timeOf(r *http.Request, patience time.Duration) time.Duration {
	if said, err := time.ParseDuration(r.URL.Query().Get("timeout")); err == nil && said > 0 {
		patience = min(patience, said)
	}
	return patience - patience/spare
}

// read reads the body of a request, of which there is room for size.
func read(w http.ResponseWriter, r *http.Request, size int64) (*Review, error) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTime)) // Where it cannot be set, this is a test.
	defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	var text []byte
	var err error
	if r.ContentLength >= 0 {
		text = make([]byte, size)
		_, err = io.ReadFull(r.Body, text)
	} else if text, err = io.ReadAll(io.LimitReader(r.Body, size+1)); err == nil && int64(len(text)) > size {
		err = fmt.Errorf("a review has at most %d bytes", Largest)
	}
	if err != nil {
		return nil, fmt.Errorf("reading a review: %w", err)
	}
	return &Review{Reader: bytes.NewReader(text), text: text}, nil
}

func refuse(w http.ResponseWriter, reason string, code int, why string) {
	refusals.WithLabelValues(reason).Inc()
	http.Error(w, why, code)
}
