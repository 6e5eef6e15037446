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

package admission

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestWhenReady(t *testing.T) {
	var starting error
	asked := 0
	handler := WhenReady(
		func(*http.Request) error { return starting },
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }),
	)
	ask := func() *httptest.ResponseRecorder {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mutate", http.NoBody))
		return answer
	}

	starting = errors.New("the policies are not indexed yet")
	if answer := ask(); asked != 0 || answer.Code != http.StatusServiceUnavailable || !strings.Contains(answer.Body.String(), starting.Error()) {
		t.Errorf("while it starts: asked %d times, answer %d %q", asked, answer.Code, answer.Body)
	}
	starting = nil
	if answer := ask(); asked != 1 || answer.Code != http.StatusOK {
		t.Errorf("once it is ready: asked %d times, answer %d %q", asked, answer.Code, answer.Body)
	}
}
