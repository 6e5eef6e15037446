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
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/campaign/badinput/inputs"
)

// holder is an object that can have a ledger, or the path where such objects are.
type holder struct {
	*stage
	path string
}

// annotate puts something into an annotation, along with a change that may trigger a rule
// or with none, and takes it out again.
func (h holder) annotate(ctx context.Context, n int, c inputs.Change) error {
	body := map[string]any{}
	if n%2 == 0 {
		body = map[string]any{"spec": map[string]any{"config": strconv.Itoa(n), "minReadySeconds": int64(n % 5)}}
	}
	raw, err := json.Marshal(inputs.With(body, c.Field, c.Value.JSON))
	if err != nil {
		return err
	}
	who, name := h.mallory, "mallory"
	if n%3 == 0 {
		who, name = h.alice, "alice"
	}
	a, err := who.do(ctx, http.MethodPatch, h.path, asMerge, raw)
	if err != nil {
		return err
	}
	h.report.add(fmt.Sprintf("%s annotates %s with %s", name, h.path, c), a, a.fault(c.Field, c.Value.Long), h.forged(a, c))
	if !a.accepted() {
		return nil
	}
	return h.mend(ctx, h.path, `{"metadata":{"annotations":{%q:null}}}`, c.Field.Name())
}

// forged says what an object has in its annotations that nobody but Kausality may write.
func (h holder) forged(a answer, c inputs.Change) string {
	var object metav1.PartialObjectMetadata
	if !a.accepted() || json.Unmarshal(a.body, &object) != nil {
		return ""
	}
	var written string
	if json.Unmarshal(c.Value.JSON, &written) != nil || written == "" {
		return ""
	}
	key := c.Field.Name()
	switch key {
	case v1alpha1.AnnotationAllowances, v1alpha1.ReplicaSetAnnotationPrefix + "allowances":
		// What holds the ledgers of ReplicaSets means nothing elsewhere.
		if ledger := object.Annotations[key]; ledger == written && (key == v1alpha1.AnnotationAllowances) != (h.path == h.replicaSet) {
			return "the ledger is what the request says"
		}
	case v1alpha1.AnnotationApprove:
		if h.path != h.replicaSet && object.Annotations[key] != "" {
			return "the approval stays"
		}
	}
	return ""
}

// mend takes back what was written. The object may be held back, or be written by others.
func (h holder) mend(ctx context.Context, path, format string, args ...any) error {
	return h.until(ctx, func(ctx context.Context) error {
		a, err := h.admin.do(ctx, http.MethodPatch, path, asMerge, fmt.Appendf(nil, format, args...))
		if err == nil && !a.accepted() {
			err = fmt.Errorf("mending %s: %d %s", path, a.code, a.status.Message)
		}
		return err
	})
}

// fill creates an object with the change in it, changes another one to it, and deletes
// both.
func (h holder) fill(ctx context.Context, n int, c inputs.Change) error {
	name := fmt.Sprintf("filled-%d", n)
	thing := h.thing(name)
	if h.path == h.managed() {
		thing.SetAPIVersion("managed." + h.Group + "/v1")
	}
	bad, err := changed(thing.Object, c)
	if err != nil {
		return err
	}
	a, err := h.mallory.do(ctx, http.MethodPost, h.path, asJSON, bad)
	if err != nil {
		return err
	}
	fault, err := h.faultOf(ctx, a, http.MethodPost, name, c)
	if err != nil {
		return err
	}
	h.report.add(fmt.Sprintf("creating %s with %s", h.path, c), a, fault)
	if a.accepted() {
		if err := h.discard(ctx, name); err != nil {
			return err
		}
	}
	if a, err = h.alice.insist(ctx, http.MethodPost, h.path, asJSON, thing); err != nil {
		return err
	}
	who := h.mallory
	if n%3 == 0 {
		who = h.alice
	}
	if a, err = who.do(ctx, http.MethodPatch, h.path+"/"+name, asMerge, bad); err != nil {
		return err
	}
	if fault, err = h.faultOf(ctx, a, http.MethodPatch, name, c); err != nil {
		return err
	}
	h.report.add(fmt.Sprintf("changing %s to %s", h.path, c), a, fault)
	return h.discard(ctx, name)
}

// faultOf says what is wrong with the answer to the creation of an object with the change
// in it, or to a change to it. If the answer is late, the same is asked of a Thing that no
// policy is about: the API server compares references to one owner that differ each with
// each, and takes half a minute over 10,000.
func (h holder) faultOf(ctx context.Context, a answer, method, name string, c inputs.Change) (string, error) {
	if !a.late() {
		return a.fault(c.Field, false), nil
	}
	unheeded := holder{stage: h.stage, path: h.unheeded()}
	if h.path == h.managed() {
		name = "managed-" + name // Things are tried at the same time.
	}
	thing := h.thing(name)
	thing.SetAPIVersion("unheeded." + h.Group + "/v1")
	bad, err := changed(thing.Object, c)
	if err != nil {
		return "", err
	}
	path, contentType := unheeded.path, asJSON
	if method == http.MethodPatch {
		if _, err := h.admin.insist(ctx, http.MethodPost, path, asJSON, thing); err != nil {
			return "", err
		}
		path, contentType = path+"/"+name, asMerge
	}
	beside, err := h.mallory.do(ctx, method, path, contentType, bad)
	if err != nil {
		return "", err
	}
	return a.faultBeside(beside, c.Field), unheeded.discard(ctx, name)
}

// discard deletes an object, whatever holds it back, and returns when it is gone.
func (h holder) discard(ctx context.Context, name string) error {
	path := h.path + "/" + name
	return h.until(ctx, func(ctx context.Context) error {
		a, err := h.alice.do(ctx, http.MethodDelete, path, asJSON, nil)
		if err != nil || a.code == http.StatusNotFound {
			return err
		}
		if _, err := h.admin.do(ctx, http.MethodPatch, path, asMerge, []byte(`{"metadata":{"finalizers":null}}`)); err != nil {
			return err
		}
		return fmt.Errorf("deleting %s: %d %s", path, a.code, a.status.Message)
	})
}
