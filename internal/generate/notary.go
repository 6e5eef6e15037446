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

package generate

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
)

// creationTakes is how long it may take until an object is created that admission was asked about: the
// API server gives up after a minute.
const creationTakes = 90 * time.Second

// NoteKeys are the annotations in which admission notes who changed an object, and by which requests.
func NoteKeys() []string {
	return []string{v1alpha1.AnnotationChangedBy, v1alpha1.AnnotationNoted, v1alpha1.AnnotationRequests}
}

// Notary signs what admission notes on objects. Anybody who may write an object may write notes there
// where nobody asks admission: in a namespace that is left out, before there is a policy, or while the
// operator is away. What is not signed was not noted by admission, and counts for nothing.
type Notary struct{ key string }

// NewNotary returns a Notary with a secret key.
func NewNotary(key string) Notary { return Notary{key: key} }

// Sign returns the signature of the notes that an object gets at some time. It is worth nothing on
// another object. One that is created has no UID yet, nor a name where that is generated.
func (n Notary) Sign(id ID, object metav1.Object, changedBy, requests string, at time.Time) string {
	name := id.Name
	if name == "" {
		name = object.GetGenerateName() + "*"
	}
	return n.sign(noted{
		uid: string(object.GetUID()), kind: id.Kind, namespace: id.Namespace, name: name,
		changedBy: changedBy, requests: requests, at: strconv.FormatInt(at.Unix(), 10),
	})
}

// Signed reports whether admission has noted what an object says about who changed it, and by which
// requests.
func (n Notary) Signed(id ID, object metav1.Object) bool {
	annotations := object.GetAnnotations()
	signature := annotations[v1alpha1.AnnotationNoted]
	at, _, _ := strings.Cut(signature, ".")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return false
	}
	says := noted{
		uid: string(object.GetUID()), kind: id.Kind, namespace: id.Namespace, name: id.Name,
		changedBy: annotations[v1alpha1.AnnotationChangedBy], requests: annotations[v1alpha1.AnnotationRequests], at: at,
	}
	equals := func(says noted) bool { return hmac.Equal([]byte(n.sign(says)), []byte(signature)) }
	if equals(says) {
		return true
	}
	// It was signed before the object had a UID: an object of that name may have been there before it.
	if time.Unix(seconds, 0).Add(creationTakes).Before(object.GetCreationTimestamp().Time) {
		return false
	}
	says.uid = ""
	if equals(says) {
		return true
	}
	says.name = object.GetGenerateName() + "*"
	return equals(says)
}

// RequestsOn returns the requests that admission has noted on an object.
func (n Notary) RequestsOn(id ID, object metav1.Object) Requests {
	text := object.GetAnnotations()[v1alpha1.AnnotationRequests]
	if text == "" || !n.Signed(id, object) {
		return nil
	}
	return decodeRequests(text)
}

// noted is what is signed. The group of the kind is left out, as an object may be served by several.
type noted struct{ uid, kind, namespace, name, changedBy, requests, at string }

func (n Notary) sign(what noted) string {
	text, err := json.Marshal([]string{
		v1alpha1.AnnotationNoted, what.uid, what.kind, what.namespace, what.name, what.changedBy, what.requests, what.at,
	})
	if err != nil {
		panic("generate: texts that cannot be encoded: " + err.Error())
	}
	mac := hmac.New(sha256.New, []byte(n.key))
	mac.Write(text) // It returns no error.
	return what.at + "." + hex.EncodeToString(mac.Sum(nil))
}
