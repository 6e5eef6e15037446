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
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// one is the only key.
type one string

func (k one) Accepts(_ context.Context, key string) bool { return key == string(k) }

// unreadable is a body that nobody may read.
type unreadable struct{ t *testing.T }

func (u unreadable) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, errors.New("it was read")
}

func TestKnown(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("/validate"+KeyPattern, Known(one("secret"), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })))
	for path, want := range map[string]int{
		"/validate/secret":           http.StatusOK,
		"/validate/secret?timeout=5": http.StatusOK,
		"/validate":                  http.StatusNotFound,
		"/validate/":                 http.StatusNotFound,
		"/validate/other":            http.StatusNotFound,
		"/validate/secret/":          http.StatusNotFound,
		"/validate?key=secret":       http.StatusNotFound,
	} {
		t.Run(path, func(t *testing.T) {
			answer := httptest.NewRecorder()
			mux.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, unreadable{t}))
			if answer.Code != want {
				t.Errorf("answered with %d, want %d", answer.Code, want)
			}
		})
	}
}

func TestWithin(t *testing.T) {
	for name, tc := range map[string]struct {
		full bool
		body io.Reader
		want int
		says string
	}{
		"a small one":                {false, strings.NewReader("abc"), http.StatusOK, "abc"},
		"of no known length":         {false, io.MultiReader(strings.NewReader("abc")), http.StatusOK, "abc"},
		"a small one, without room":  {true, strings.NewReader("abc"), http.StatusServiceUnavailable, "try again"},
		"a large one, without room":  {true, strings.NewReader(`{"request":{"uid":"u-1","a":"` + strings.Repeat("a", smallest)), http.StatusOK, `"uid":"u-1","allowed":false`},
		"no review, without room":    {true, strings.NewReader(strings.Repeat("a", smallest+1)), http.StatusBadRequest, "not a review"},
		"longer than anything":       {false, bytes.NewReader(make([]byte, Largest+1)), http.StatusRequestEntityTooLarge, "at most"},
		"longer, of no known length": {false, io.MultiReader(bytes.NewReader(make([]byte, Largest+1))), http.StatusBadRequest, "at most"},
	} {
		t.Run(name, func(t *testing.T) {
			room := NewRoom()
			if tc.full {
				room.small.TryAcquire(smallRoom)
				room.large.TryAcquire(largeRoom)
			}
			hook := room.Within(50*time.Millisecond, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }))
			answer := httptest.NewRecorder()
			hook.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", tc.body))
			if answer.Code != tc.want || !strings.Contains(answer.Body.String(), tc.says) {
				t.Errorf("answered with %d, %.200s; want %d, %s", answer.Code, answer.Body, tc.want, tc.says)
			}
			if !tc.full && (!room.small.TryAcquire(smallRoom) || !room.large.TryAcquire(largeRoom)) {
				t.Error("room was not given back")
			}
		})
	}
}

func TestTimeOf(t *testing.T) {
	for query, want := range map[string]time.Duration{
		"": 4 * time.Second, "?timeout=1s": 800 * time.Millisecond, "?timeout=30s": 4 * time.Second, "?timeout=x": 4 * time.Second, "?timeout=-1s": 4 * time.Second,
	} {
		if got := timeOf(httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/"+query, http.NoBody), 5*time.Second); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}
