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
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/tidwall/gjson"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// headSize is how much of a review is read to answer without looking at it: an API
	// server begins with what names the request.
	headSize = 1 << 10
	// retrySeconds is when a client may try again.
	retrySeconds = 1
)

// busy answers what there is no room for.
func (*Room) busy(w http.ResponseWriter, r *http.Request, size int64) {
	if size <= smallest {
		refuse(w, refusedBusy, http.StatusServiceUnavailable, "kausality has too much to judge at the moment, try again")
		return
	}
	refusals.WithLabelValues(refusedBusy).Inc()
	uid, err := skim(w, r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"},
		Response: &admissionv1.AdmissionResponse{UID: uid, Result: &metav1.Status{
			Status: metav1.StatusFailure,
			Code:   http.StatusTooManyRequests,
			Reason: metav1.StatusReasonTooManyRequests,
			Message: "kausality has more large objects to judge at the moment than fit into its memory, and this is one of them; " +
				"try again",
			Details: &metav1.StatusDetails{RetryAfterSeconds: retrySeconds},
		}},
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer)
}

// skim returns what names the request of a review, and throws the rest of it away: a
// client that is answered while it still sends may never read the answer.
func skim(w http.ResponseWriter, r *http.Request) (types.UID, error) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime))
	head := make([]byte, headSize)
	n, _ := io.ReadFull(r.Body, head) // A short one is answered all the same.
	uid := gjson.GetBytes(head[:n], "request.uid")
	if _, err := io.Copy(io.Discard, io.LimitReader(r.Body, Largest)); err != nil {
		return "", fmt.Errorf("reading a review: %w", err)
	}
	if uid.Type != gjson.String || uid.Str == "" {
		return "", errors.New("not a review: it does not begin with the uid of its request")
	}
	return types.UID(uid.Str), nil
}
