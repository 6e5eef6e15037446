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

package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"kausality.io/operator/test/campaign/badinput/inputs"
)

const (
	// enough is far more time than any answer may take, and less than the API server waits
	// for two webhooks.
	enough = 8 * time.Second
	// longest is how long the message of an error may be.
	longest = 64 << 10
)

// answer is that to one request.
type answer struct {
	code   int
	body   []byte
	status metav1.Status
	took   time.Duration
}

func (a *answer) accepted() bool { return a.code < http.StatusBadRequest }

// broken are words of an error that tell of a failure, and not of the request.
var broken = regexp.MustCompile(`panic|runtime error|failed calling webhook|nil pointer|context deadline exceeded|goroutine \d`)

// tooLarge is what etcd says of an object, and the API server passes on.
const tooLarge = "etcdserver: request is too large"

// denied begins what a webhook of Kausality says of a policy.
const denied = "kausality.io\" denied the request"

// timedOut begins what the API server says of its own time, and not of a webhook's.
const timedOut = "Timeout: request did not complete"

// fault says what is wrong with an answer to a request with something bad in the
// field; "" if nothing is. The API server may take its time over a long list: what it refuses by
// itself it refuses before it asks anybody.
func (a *answer) fault(field inputs.Field, long bool) string {
	message := a.status.Message
	switch {
	case long && (a.code == http.StatusUnprocessableEntity && !strings.Contains(message, denied) || strings.HasPrefix(message, timedOut)):
		return ""
	case a.late():
		return fmt.Sprintf("it takes %s", a.took.Round(time.Millisecond))
	case a.accepted():
		return ""
	case message == "":
		return fmt.Sprintf("the answer %d does not say what is wrong", a.code)
	case len(message) > longest && strings.Contains(message, denied):
		return fmt.Sprintf("the error is %d characters long", len(message))
	case broken.MatchString(message):
		return "the error is " + message
	case a.code >= http.StatusInternalServerError && message != tooLarge:
		return fmt.Sprintf("the answer is %d: %s", a.code, message)
	case a.code == http.StatusUnprocessableEntity && strings.Contains(message, denied) && !a.names(field):
		return fmt.Sprintf("the error does not name %s: %s", field, message)
	}
	return ""
}

// late reports whether an answer came so late that it is a fault.
func (a *answer) late() bool { return a.took > enough }

// faultBeside says what is wrong with an answer, where the same request was made about
// something that Kausality has no part in. What takes the API server about as long by itself
// does not take too long.
func (a *answer) faultBeside(unheeded answer, field inputs.Field) string {
	const much = 2
	if a.took > much*unheeded.took {
		return a.fault(field, false)
	}
	timely := *a
	timely.took = 0
	return timely.fault(field, strings.HasPrefix(a.status.Message, timedOut))
}

// names reports whether the error names a field, or the map that it is a key of.
func (a *answer) names(field inputs.Field) bool {
	texts := []string{a.status.Message}
	if a.status.Details != nil {
		for _, cause := range a.status.Details.Causes {
			texts = append(texts, cause.Field)
		}
	}
	said := strings.Join(texts, "\n")
	name := field.Name()
	for len(field) > 1 && field.Name() == name {
		field = field[:len(field)-1]
	}
	return strings.Contains(said, name) || strings.Contains(said, field.Name())
}

// requester makes requests as somebody.
type requester struct {
	http *http.Client
	host string
}

func newRequester(admin *rest.Config, user string, groups ...string) (*requester, error) {
	config := rest.CopyConfig(admin)
	if user != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	return &requester{http: client, host: config.Host}, nil
}

// The kinds of bodies.
const (
	asJSON  = "application/json"
	asMerge = string(types.MergePatchType)
	asPatch = string(types.JSONPatchType)
)

// do makes a request. What the API server or the operator says is an answer, an error is
// that there is none. For some seconds after a kind was defined, the API server cannot yet
// apply admission policies to it.
func (r *requester) do(ctx context.Context, method, path, contentType string, body []byte) (answer, error) {
	var a answer
	err := wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		var err error
		a, err = r.once(ctx, method, path, contentType, body)
		return a.code != http.StatusServiceUnavailable || !strings.HasPrefix(a.status.Message, "Resource kind"), err
	})
	return a, err
}

func (r *requester) once(ctx context.Context, method, path, contentType string, body []byte) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, method, r.host+path, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Content-Type", contentType)
	began := time.Now()
	response, err := r.http.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close() //nolint:errcheck // Only read from.
	a := answer{code: response.StatusCode}
	a.body, err = io.ReadAll(response.Body)
	a.took = time.Since(began)
	if err != nil {
		return answer{}, err
	}
	if !a.accepted() && json.Unmarshal(a.body, &a.status) != nil {
		a.status = metav1.Status{}
	}
	return a, nil
}

// insist makes a request that has to work.
func (r *requester) insist(ctx context.Context, method, path, contentType string, body any) (answer, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return answer{}, err
	}
	a, err := r.do(ctx, method, path, contentType, raw)
	if err == nil && !a.accepted() {
		err = fmt.Errorf("%s %s: %d %s", method, path, a.code, a.status.Message)
	}
	return a, err
}
