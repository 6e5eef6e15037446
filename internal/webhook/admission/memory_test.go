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
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/internal/eventrecorder"
	"kausality.io/operator/internal/webhook/entry"
)

const (
	// crowd is how many large reviews come at once.
	crowd = 256
	// mostHeap is how much memory they may take: the limit of the Deployment is 1 GiB, of
	// which a large cluster's objects need a part.
	mostHeap = 512 << 20
	// patience is how long the API server waits for an answer, the small ones included: it is
	// longer than by default, as the race detector makes all of it slow.
	patience = 10 * time.Second
)

// bodyOf returns the review of a request as an API server sends it.
func bodyOf(t *testing.T, req admission.Request) []byte {
	t.Helper()
	body, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"},
		Request:  &req.AdmissionRequest,
	})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// dense returns an object whose text takes the most memory when it is decoded.
func dense(tb testing.TB, obj *unstructured.Unstructured, kib int) *unstructured.Unstructured {
	tb.Helper()
	var items []any
	if err := json.Unmarshal([]byte("["+strings.Repeat(`{"a":1},`, kib*1024/8)+"0]"), &items); err != nil {
		tb.Fatal(err)
	}
	for i := range items {
		if m, ok := items[i].(map[string]any); ok {
			m["a"] = int64(1)
		} else {
			items[i] = int64(0)
		}
	}
	if err := unstructured.SetNestedSlice(obj.Object, items, "spec", "template", "spec", "containers"); err != nil {
		tb.Fatal(err)
	}
	return obj
}

// unheard tells nobody: there is too much to tell.
type unheard struct{}

func (unheard) Post(eventrecorder.Notice) {}

// Many large reviews at a time do not take more memory than there is, and small ones are
// answered meanwhile.
func TestMemoryOfManyLargeReviews(t *testing.T) {
	s := setting(t, smallest, []string{deploymentPolicy, replicaSetPolicy}, mayScale("alice", 4))
	s.validator.Notices = unheard{}
	logf.SetLogger(logr.Discard())
	small := bodyOf(t, asking(t, "mallory", nil, replicaSet(3), counted(replicaSet(5))))
	for name, fill := range map[string]func(testing.TB, *unstructured.Unstructured, int) *unstructured.Unstructured{
		"containers": sized, "as many objects as fit": dense,
	} {
		t.Run(name, func(t *testing.T) {
			large := bodyOf(t, asking(t, "mallory", nil, fill(t, replicaSet(3), 1500), counted(fill(t, replicaSet(5), 1500))))
			server := httptest.NewServer(entry.NewRoom().Within(patience, SetObjectsAside(Hook(s.validator))))
			defer server.Close()
			runtime.GC()
			before, most, stop := inUse(), atomic.Uint64{}, make(chan struct{})
			var watching sync.WaitGroup
			watching.Go(func() {
				for {
					select {
					case <-stop:
						return
					case <-time.After(5 * time.Millisecond):
						most.Store(max(most.Load(), inUse()))
					}
				}
			})
			var allowed, denied, later atomic.Int64
			var asked sync.WaitGroup
			for range crowd {
				asked.Go(func() {
					switch code, err := ask(t.Context(), server, large); {
					case err != nil:
						t.Error(err)
					case code == 0:
						allowed.Add(1)
					case code == http.StatusTooManyRequests:
						later.Add(1)
					default:
						denied.Add(1)
					}
				})
			}
			for range 10 {
				if code, err := ask(t.Context(), server, small); err != nil || code != http.StatusForbidden {
					t.Errorf("a small review was answered with %d, %v", code, err)
				}
			}
			asked.Wait()
			close(stop)
			watching.Wait()
			t.Logf("%d reviews of %d bytes: %d denied, %d to be tried again, %d MiB", crowd, len(large), denied.Load(), later.Load(), (most.Load()-before)>>20)
			if allowed.Load() > 0 {
				t.Errorf("%d were let through", allowed.Load())
			}
			if denied.Load() == 0 {
				t.Error("none was judged")
			}
			if took := most.Load() - before; took > mostHeap {
				t.Errorf("they took %d MiB", took>>20)
			}
		})
	}
}

// inUse returns how many bytes of the heap are in use, what is not collected yet included.
func inUse() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// ask posts a review, and returns the code of its refusal; 0 where it passes.
func ask(ctx context.Context, server *httptest.Server, body []byte) (code int32, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := server.Client().Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(text, &review); err != nil || review.Response == nil {
		return 0, fmt.Errorf("%s: %s", resp.Status, text)
	}
	if review.Response.Allowed {
		return 0, nil
	}
	if review.Response.UID == "" {
		return 0, fmt.Errorf("no uid: %s", text)
	}
	return review.Response.Result.Code, nil
}
