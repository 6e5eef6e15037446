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

package ledger

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
)

// Names of the annotations that are the object's own: each is under its AnnotationPrefix.
const (
	// NameAllowances is that of the ledger.
	NameAllowances = "allowances"
	// NameApproved is that of the approved content.
	NameApproved = "approved"
	// NameApprove is that of the command to approve.
	NameApprove = "approve"
	// NameBreakGlass is that of the command to break the glass.
	NameBreakGlass = "break-glass"
)

const (
	// MaxOwners is how many owners are looked at, one by one. Somebody can make 10,000.
	MaxOwners = 64
	// uidLength is how much of an owner's UID tells it apart from others of its kind.
	uidLength = 8
)

// uidStart is what the UIDs of API servers begin with. Of what else a reference may say,
// not everything can be in the key of an annotation.
var uidStart = regexp.MustCompile(`^[0-9a-f]{8}`)

// AnnotationPrefix returns the prefix under which an object keeps its annotations of
// Kausality: kausality.io/ where it has no owner, else that of its kind. Controllers
// copy all annotations of an object onto those that they make for it, and rewrite what
// differs; nobody has to know which do, as what they copy is under another key than what
// is the child's own, and means nothing there (D10).
//
// Below an owner of its own kind an object would have the key of that. So it has one
// with the beginning of the owner's UID.
func AnnotationPrefix(obj *unstructured.Unstructured) string {
	owners, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "metadata", "ownerReferences")
	list, _ := owners.([]any)
	if len(list) == 0 {
		return v1alpha1.AnnotationPrefix
	}
	kind := strings.ToLower(obj.GetKind())
	if len(list) > MaxOwners {
		list = nil
	}
	for _, o := range list {
		owner, _ := o.(map[string]any)
		if name, _ := owner["kind"].(string); strings.EqualFold(name, kind) {
			if uid, _ := owner["uid"].(string); uidStart.MatchString(uid) {
				return kind + "-" + uid[:uidLength] + "." + v1alpha1.AnnotationPrefix
			}
		}
	}
	return kind + "." + v1alpha1.AnnotationPrefix
}

// AnnotationKey returns the key of an annotation of the object's own, such as NameAllowances.
func AnnotationKey(obj *unstructured.Unstructured, name string) string {
	return AnnotationPrefix(obj) + name
}

// Annotation returns the value of an annotation of the object's own, empty where it has none.
func Annotation(obj *unstructured.Unstructured, name string) string {
	value, _, _ := unstructured.NestedString(obj.Object, "metadata", "annotations", AnnotationKey(obj, name))
	return value
}

// IsOurs reports whether a key is in the domain of Kausality, whatever object it is for.
func IsOurs(key string) bool {
	domain, _, ok := strings.Cut(key, "/")
	return ok && isDomain(domain)
}

// NameOf returns the name of an annotation in the domain of Kausality, whatever object it is
// for, and false for others.
func NameOf(key string) (string, bool) {
	domain, name, ok := strings.Cut(key, "/")
	return name, ok && isDomain(domain)
}

func isDomain(domain string) bool {
	above, ok := strings.CutSuffix(domain, strings.TrimSuffix(v1alpha1.AnnotationPrefix, "/"))
	return ok && (above == "" || strings.HasSuffix(above, "."))
}
