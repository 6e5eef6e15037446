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

package install

import (
	"context"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/stage"
)

const (
	// askers ask at a time, each of them once in askInterval.
	askers      = 4
	askInterval = 20 * time.Millisecond
)

// load is requests all the time, the answers to which are known: a stranger who scales a ReplicaSet
// is refused, and somebody who may initiate changes a Deployment. Nothing is written.
type load struct {
	stop chan struct{}
	all  sync.WaitGroup

	mu    sync.Mutex
	asked int
	wrong []wrong
}

// wrong is an answer that should have been another one.
type wrong struct {
	at  time.Time
	who string
	err error
}

// GomegaString implements format.GomegaStringer.
func (w wrong) GomegaString() string {
	return fmt.Sprintf("%s to %s: %v", w.at.Format(time.StampMilli), w.who, w.err)
}

// underLoad begins with the requests, which end with end, or the spec.
func (w *world) underLoad(ctx context.Context, d *appsv1.Deployment) *load {
	GinkgoHelper()
	l, rs := &load{stop: make(chan struct{})}, w.newest(ctx, d)
	alice, mallory := w.Alice(), w.Mallory()
	for range askers {
		l.ask(ctx, stage.MalloryName, apierrors.IsForbidden, func(ctx context.Context) error { return scale(ctx, mallory, rs) })
		l.ask(ctx, stage.AliceName, func(err error) bool { return err == nil }, func(ctx context.Context) error { return tryImage(ctx, alice, d) })
	}
	return l
}

func (l *load) ask(ctx context.Context, who string, right func(error) bool, request func(context.Context) error) {
	l.all.Go(func() {
		ticker := time.NewTicker(askInterval)
		defer ticker.Stop()
		for {
			select {
			case <-l.stop:
				return
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			err := request(ctx)
			l.mu.Lock()
			l.asked++
			if !right(err) && ctx.Err() == nil {
				l.wrong = append(l.wrong, wrong{at: time.Now(), who: who, err: err})
			}
			l.mu.Unlock()
		}
	})
}

// goesOn waits until many more requests have been answered.
func (l *load) goesOn(ctx context.Context) {
	GinkgoHelper()
	before := l.count()
	Eventually(ctx, l.count).Should(BeNumerically(">", before+50*askers))
}

func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked
}

// end ends the requests, and returns the answers that should have been others.
func (l *load) end() []wrong {
	close(l.stop)
	l.all.Wait()
	GinkgoWriter.Println(l.asked, "requests")
	return l.wrong
}

// unjudged describes the requests since a time that were carried out although the webhook did not
// answer.
func (w *world) unjudged(since time.Time) []string {
	GinkgoHelper()
	var out []string
	for _, event := range stage.Unjudged(w.AuditLog, controlplane.Since(since)).Requests() {
		out = append(out, stage.DescribeEvent(&event))
	}
	return out
}
