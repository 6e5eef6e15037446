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

package credential

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	ours   = "/apis/kausality.io/v1alpha1"
	theirs = "/apis/metrics.k8s.io/v1beta1/nodes"
)

type answering func(*http.Request) (*http.Response, error)

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }

// TestAnswers shows which answers of the API server prove that it does not know the operator.
func TestAnswers(t *testing.T) {
	type answer struct {
		after  time.Duration
		path   string
		status int
	}
	const refused, fine, no, broken = http.StatusUnauthorized, http.StatusOK, http.StatusForbidden, http.StatusInternalServerError
	type seen struct{ Refused, Again bool }
	for name, tc := range map[string]struct {
		answers []answer
		want    seen
	}{
		"none":                           {},
		"good ones":                      {answers: []answer{{0, ours, fine}, {tolerated, ours, fine}}},
		"one refusal, long ago":          {answers: []answer{{0, ours, refused}, {tolerated, theirs, fine}}},
		"refusals for a moment":          {answers: []answer{{0, ours, refused}, {tolerated - 2, ours, refused}}},
		"refusals for too long":          {answers: []answer{{0, ours, refused}, {tolerated, ours, refused}}, want: seen{Refused: true}},
		"refusals of another server":     {answers: []answer{{0, theirs, refused}, {tolerated, theirs, refused}}},
		"a good one in between":          {answers: []answer{{0, ours, refused}, {1, ours, fine}, {tolerated, ours, refused}}},
		"one without the right":          {answers: []answer{{0, ours, refused}, {1, ours, no}, {tolerated, ours, refused}}},
		"another server's in between":    {answers: []answer{{0, ours, refused}, {1, theirs, fine}, {tolerated, ours, refused}}, want: seen{Refused: true}},
		"nobody known in between":        {answers: []answer{{0, ours, refused}, {1, ours, broken}, {tolerated, ours, refused}}, want: seen{Refused: true}},
		"too many requests in between":   {answers: []answer{{0, ours, refused}, {1, ours, 429}, {tolerated, ours, refused}}, want: seen{Refused: true}},
		"no answer in between":           {answers: []answer{{0, ours, refused}, {1, ours, 0}, {tolerated, ours, refused}}, want: seen{Refused: true}},
		"a good one in the end":          {answers: []answer{{0, ours, refused}, {tolerated, ours, refused}, {1, ours, fine}}, want: seen{Again: true}},
		"good after a moment":            {answers: []answer{{0, ours, refused}, {1, ours, fine}}},
		"one refusal, and then nothing":  {answers: []answer{{0, ours, refused}, {time.Hour, ours, 0}}},
		"an unsuccessful one in the end": {answers: []answer{{0, ours, refused}, {tolerated, ours, refused}, {1, ours, broken}}, want: seen{Refused: true}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got seen
				c := New()
				c.Again = func() { got.Again = true }
				for _, a := range tc.answers {
					<-time.After(a.after)
					answerWith(t, c, a.path, a.status)
				}
				got.Refused = c.Check(nil) != nil
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// answerWith has the API server answer with a status, or not at all.
func answerWith(t *testing.T, c *Credential, path string, status int) {
	t.Helper()
	over := c.Over(answering(func(*http.Request) (*http.Response, error) {
		<-time.After(1)
		if status == 0 {
			return nil, errors.New("nobody there")
		}
		return &http.Response{StatusCode: status, Body: http.NoBody}, nil
	}))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://localhost"+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := over.RoundTrip(request)
	if err == nil {
		err = resp.Body.Close()
	}
	if (err != nil) != (status == 0) {
		t.Error(err)
	}
}

// TestALateAnswer shows that an answer to what was sent before a refusal does not prove that the credential
// is good again.
func TestALateAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New()
		began := time.Now()
		<-time.After(time.Second)
		c.answered(time.Now(), http.StatusUnauthorized)
		c.answered(began, http.StatusOK)
		<-time.After(tolerated)
		c.answered(time.Now(), http.StatusUnauthorized)
		if c.Check(nil) == nil {
			t.Error("it counts as good")
		}
	})
}

// TestStart shows within what time an operator knows that is asked nothing and has nothing to write.
func TestStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New()
		var status atomic.Int32
		status.Store(http.StatusOK)
		again := 0
		c.Again = func() { again++ }
		c.Ask = func(context.Context) error {
			answerWith(t, c, ours, int(status.Load()))
			return nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Start(ctx) }()
		var got []bool
		look := func(after time.Duration) {
			<-time.After(after)
			synctest.Wait()
			got = append(got, c.Check(nil) != nil)
		}
		look(time.Minute)
		status.Store(http.StatusUnauthorized)
		look(tolerated - time.Second)
		look(Interval + 2*doubtInterval)
		look(time.Minute)
		status.Store(http.StatusOK)
		look(2 * doubtInterval)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]bool{false, false, true, true, false}, got); diff != "" {
			t.Errorf("refused (-want +got):\n%s", diff)
		}
		if again != 1 {
			t.Errorf("told %d times that it is good again", again)
		}
	})
}
