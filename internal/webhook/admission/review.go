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
	"io"
	"net/http"

	"github.com/tidwall/gjson"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/internal/webhook/entry"
)

// largestReview is how long a review is at most of which the objects are set aside. The
// webhook server refuses longer ones.
const largestReview = entry.Largest

// mostBrackets is how many objects and lists a review has at most of which the objects
// are set aside. That many can be within each other, and whether a text is valid JSON is
// told by a function that calls itself for each level: a few million would be the end of
// the process.
const mostBrackets = 200_000

// Hook serves a handler as a webhook. The two objects are most of a review, and the
// handler decodes them in a way of its own (decoder): they are set aside before the
// webhook server of controller-runtime decodes the review, which goes over all of it
// several times, and are put back before the handler is called. Whatever is not as an
// API server writes it goes to the webhook server as it is, to be refused there.
func Hook(handler admission.Handler) *admission.Webhook {
	return &admission.Webhook{Handler: admission.HandlerFunc(func(ctx context.Context, req admission.Request) admission.Response {
		if aside, ok := ctx.Value(asideKey{}).(aside); ok {
			if aside.object != nil {
				req.Object.Raw = aside.object
			}
			if aside.oldObject != nil {
				req.OldObject.Raw = aside.oldObject
			}
		}
		return handler.Handle(ctx, req)
	})}
}

// SetObjectsAside does so before a Hook is asked.
func SetObjectsAside(hook http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			hook.ServeHTTP(w, r)
			return
		}
		body, err := textOfReview(r.Body)
		rest := body
		if err == nil && len(body) < largestReview {
			var objects aside
			if rest, objects = setAside(body); objects.object != nil || objects.oldObject != nil {
				r = r.WithContext(context.WithValue(r.Context(), asideKey{}, objects))
			}
		}
		r.Body = readCloser{io.MultiReader(bytes.NewReader(rest), r.Body), r.Body}
		hook.ServeHTTP(w, r)
	})
}

// textOfReview reads a review, or as much of it as could be one. Where it was read before,
// it is not copied, and there is no rest of it.
func textOfReview(body io.ReadCloser) ([]byte, error) {
	if review, ok := body.(*entry.Review); ok {
		_, err := review.Seek(0, io.SeekEnd)
		return review.Text(), err
	}
	return io.ReadAll(io.LimitReader(body, largestReview))
}

type readCloser struct {
	io.Reader
	io.Closer
}

type asideKey struct{}

// aside are the objects of a review, as JSON; nil where there is none, or none was set
// aside.
type aside struct{ object, oldObject []byte }

// setAside returns a review with null in the place of its objects, and these.
func setAside(review []byte) ([]byte, aside) {
	if bytes.Count(review, []byte("{"))+bytes.Count(review, []byte("[")) > mostBrackets || !gjson.ValidBytes(review) {
		return review, aside{}
	}
	request, ok := only(gjson.ParseBytes(review), "request")
	if !ok {
		return review, aside{}
	}
	object, hasObject := only(request, "object")
	oldObject, hasOld := only(request, "oldObject")
	if !hasObject || !hasOld {
		return review, aside{}
	}
	var objects aside
	rest := make([]byte, 0, len(review)-len(object.Raw)-len(oldObject.Raw)+16)
	first, second := object, oldObject
	if second.Index < first.Index {
		first, second = second, first
	}
	at := 0
	for _, each := range []gjson.Result{first, second} {
		if !each.IsObject() {
			continue
		}
		end := each.Index + len(each.Raw)
		rest = append(append(rest, review[at:each.Index]...), "null"...)
		raw := review[each.Index:end:end]
		if each.Index == object.Index {
			objects.object = raw
		} else {
			objects.oldObject = raw
		}
		at = end
	}
	return append(rest, review[at:]...), objects
}

// only returns what a JSON object holds under a name; not ok where it is none, or says the
// name more than once, of which decoders make different things. What is not there is ok,
// and no object.
func only(in gjson.Result, name string) (value gjson.Result, ok bool) {
	if !in.IsObject() {
		return value, false
	}
	ok = true
	in.ForEach(func(key, each gjson.Result) bool {
		if nameOf(key) == name {
			ok = !value.Exists()
			value = each
		}
		return ok
	})
	return value, ok
}
