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

// Package kept says how an admission request is kept that is a trigger of a GeneratingPolicy: a deletion, a
// connection, or one about a sub-resource (D21). Nothing else is left of it. Each is in a Secret of its own
// in the operator's namespace, as it has contents of objects, until what the policy wants for it is there,
// and of a policy that synchronizes for as long as it counts. A request that changes an object is kept
// likewise for a policy that generates from what the object was before; the trigger is the object.
package kept

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/generate/plan"
)

const (
	// MaxBytes is the size of one request that is kept, as JSON.
	MaxBytes = 128 << 10
	// MaxRequests is how many requests of one policy are kept. The oldest are given up for others.
	MaxRequests = 1000

	namePrefix   = "kausality-request-"
	fieldRequest = "request"
	fieldMade    = "generated"
)

// typeOfKept is the type of the Secrets that keep requests.
const typeOfKept corev1.SecretType = "kausality.io/request"

// ErrTooLarge says that a request is too large to be kept.
var ErrTooLarge = fmt.Errorf("with its objects it takes more than %d KiB", MaxBytes>>10)

// Request is a request that is kept for a policy.
type Request struct {
	// Policy is the name of the policy, and PolicyUID its UID.
	Policy    string    `json:"policy"`
	PolicyUID types.UID `json:"policyUID"`
	// Resource that the request was about, in the version in which its objects are, with Subresource.
	Resource schema.GroupVersionResource `json:"resource"`
	// Kind that the resource serves, whatever its sub-resource takes.
	Kind        schema.GroupKind                      `json:"kind"`
	Subresource string                                `json:"subresource,omitempty"`
	Operation   admissionregistrationv1.OperationType `json:"operation"`
	// Namespace and Name of the object, and the UID that it had where it was deleted.
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid,omitempty"`
	// NamespaceLabels that the Namespace had: it may be gone when the policy is evaluated.
	NamespaceLabels map[string]string `json:"namespaceLabels,omitempty"`
	// Time when it was asked.
	Time metav1.MicroTime `json:"time"`
	// Asked is the request as expressions see it, without its objects.
	Asked map[string]any `json:"request"`
	// Object and OldObject are its objects, nil where it has none.
	Object    map[string]any `json:"object,omitempty"`
	OldObject map[string]any `json:"oldObject,omitempty"`

	// Made are the objects that were made for it once.
	Made []v1alpha1.GeneratedObject `json:"-"`
	// Secret is the name of the Secret that keeps it.
	Secret string `json:"-"`
}

// ID identifies the trigger: the request, or the object that it has changed.
func (r *Request) ID() generate.ID {
	of := generate.ID{Group: r.Kind.Group, Kind: r.Kind.Kind, Namespace: r.Namespace, Name: r.Name}
	if r.Subresource == "" && r.Operation == admissionregistrationv1.Update {
		return of
	}
	return generate.RequestID(of, r.Operation, r.Subresource)
}

// Trigger returns the request as policies see it. The Namespace that its object is in may be given as it is
// now; where it is not, as it is gone or was not read, its name and labels are known.
func (r *Request) Trigger(namespace map[string]any) *generate.Trigger {
	t := &generate.Trigger{
		Resource: r.Resource, Subresource: r.Subresource, Operation: r.Operation,
		Object: r.Object, OldObject: r.OldObject, Namespace: r.namespace(namespace), Request: r.Asked,
	}
	if r.Subresource == "" {
		t.Above = plan.Above(r.OldObject)
	}
	return t
}

func (r *Request) namespace(now map[string]any) map[string]any {
	switch {
	case r.Kind == (schema.GroupKind{Kind: "Namespace"}):
		return r.OldObject // It is the object itself.
	case r.Namespace == "" || now != nil:
		return now
	default:
		return generate.PartialNamespace(r.Namespace, r.NamespaceLabels)
	}
}

// EndsObject reports whether what was asked is that an object ends. Whether it was carried out can be told
// from the object then: another webhook may have refused it later, or a disruption budget.
func (r *Request) EndsObject() bool {
	return r.Subresource == "" && r.Operation == admissionregistrationv1.Delete || r.Subresource == "eviction"
}

// InSecret returns the Secret that keeps the request in a namespace. uid is that of the admission request,
// which the API server may send more than once. The Secret goes with its policy.
func (r *Request) InSecret(namespace string, uid types.UID) (*corev1.Secret, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, errors.New("its objects cannot be encoded") // What is wrong may tell values.
	}
	if len(text) > MaxBytes {
		return nil, ErrTooLarge
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: NameFor(uid, r.PolicyUID),
			Labels: map[string]string{v1alpha1.LabelRequestFor: plan.LabelOf(r.Policy), "app.kubernetes.io/managed-by": "kausality"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindGeneratingPolicy, Name: r.Policy, UID: r.PolicyUID,
			}},
		},
		Type: typeOfKept,
		Data: map[string][]byte{fieldRequest: text},
	}, nil
}

// NameFor returns the name of the Secret that keeps an admission request for a policy.
func NameFor(uid, policy types.UID) string {
	sum := sha256.Sum256([]byte(string(uid) + "/" + string(policy)))
	return namePrefix + hex.EncodeToString(sum[:10])
}

// On returns the request that a Secret keeps, given its data, and an error where it keeps none that can be
// read.
func On(data map[string][]byte) (*Request, error) {
	out := &Request{}
	if err := utiljson.Unmarshal(data[fieldRequest], out); err != nil || out.Policy == "" || out.Name == "" || out.Kind.Kind == "" {
		return nil, errors.New("it keeps no request that can be read")
	}
	if made := data[fieldMade]; len(made) > 0 {
		if err := json.Unmarshal(made, &out.Made); err != nil {
			return nil, errors.New("what was made for the request that it keeps cannot be read")
		}
	}
	return out, nil
}

// MadePatch returns what a merge patch has to write into the data of a Secret so that it says what was
// made for its request.
func MadePatch(made []v1alpha1.GeneratedObject) (map[string][]byte, error) {
	text, err := json.Marshal(made)
	if err != nil {
		return nil, fmt.Errorf("encoding what was made for a request: %w", err)
	}
	return map[string][]byte{fieldMade: text}, nil
}

// Expired reports whether what a request asks for was not to be had for so long that it is given up.
func (r *Request) Expired(now time.Time) bool { return now.Sub(r.Time.Time) > 24*time.Hour }
