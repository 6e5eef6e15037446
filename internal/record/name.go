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

// Package record keeps the AllowanceRecords: the mirror of what the holders of
// ledgers hold, of what admission decided about their children, and of the
// little that is kept nowhere else (D18).
package record

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"kausality.io/operator/api/v1alpha1"
)

const (
	// LabelTargetUID is the label of a record with the uid of its target.
	LabelTargetUID = v1alpha1.AnnotationPrefix + "target-uid"
	// LabelTargetKind is the label of a record with the kind of its target.
	LabelTargetKind = v1alpha1.AnnotationPrefix + "target-kind"
	// LabelParentUID is the label of a record with the uid of its target's
	// parent, for selecting. What it says is in the status, which counts: see ParentOf.
	LabelParentUID = v1alpha1.AnnotationPrefix + "parent-uid"
)

const (
	// uidDigits of a uid tell apart objects that had the same name.
	uidDigits = 8
	// hashDigits of a name replace what had to be cut or rewritten of it.
	hashDigits = 16
)

// notInNames are characters that object names of some kinds may have, such as
// the colon of roles, and that names of records may not.
var notInNames = regexp.MustCompile(`[^a-z0-9.-]+`)

// Name of the record of an object: its kind, its name and the beginning of its
// uid, so that a recreated object starts anew. It is always a valid name, and
// different for different objects.
func Name(ref v1alpha1.TargetReference) string {
	full := ref.Kind + "-" + ref.Name
	suffix := string(ref.UID)
	if len(suffix) > uidDigits {
		suffix = suffix[:uidDigits]
	}
	name := strings.ToLower(full) + "-" + suffix
	if strings.ToLower(ref.Name) == ref.Name && len(validation.IsDNS1123Subdomain(name)) == 0 {
		return name
	}
	sum := sha256.Sum256([]byte(full + "\x00" + string(ref.UID)))
	suffix = hex.EncodeToString(sum[:])[:hashDigits]
	name = notInNames.ReplaceAllString(strings.ToLower(full), "-")
	name = name[:min(len(name), validation.DNS1123SubdomainMaxLength-len(suffix)-1)]
	// What is cut between two parts of a subdomain must not end in a dot, nor a
	// part in a dash.
	labels := strings.FieldsFunc(name, func(r rune) bool { return r == '.' })
	for i := range labels {
		labels[i] = strings.Trim(labels[i], "-")
	}
	labels = append(nonEmpty(labels), suffix)
	return strings.Join(labels, "-")
}

func nonEmpty(in []string) []string {
	out := in[:0]
	for _, s := range in {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

// Namespace of the record of an object: that of the object, or the operator's
// for cluster-scoped objects.
func Namespace(ref v1alpha1.TargetReference, operatorNamespace string) string {
	if ref.Namespace == "" {
		return operatorNamespace
	}
	return ref.Namespace
}

// TargetOf returns the reference by which obj is recorded.
func TargetOf(obj *unstructured.Unstructured) v1alpha1.TargetReference {
	gvk := obj.GroupVersionKind()
	return v1alpha1.TargetReference{
		Group:     gvk.Group,
		Version:   gvk.Version,
		Kind:      gvk.Kind,
		Namespace: obj.GetNamespace(),
		Name:      obj.GetName(),
		UID:       obj.GetUID(),
	}
}

// GVK returns the kind of a target in the version that it is recorded by.
func GVK(ref v1alpha1.TargetReference) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: ref.Group, Version: ref.Version, Kind: ref.Kind}
}

// Key returns the namespace and name of a target.
func Key(ref v1alpha1.TargetReference) types.NamespacedName {
	return types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
}

// ParentOf returns the uid of the parent of a record's target, empty where it has none, or that
// is not known. The label, which whoever may patch records writes, counts only in a record
// of an older version, which has nothing else.
func ParentOf(rec *v1alpha1.AllowanceRecord) types.UID {
	if told := rec.Status.ParentUID; told != nil {
		return *told
	}
	return types.UID(rec.Labels[LabelParentUID])
}

// newRecord makes a record of an object, with nothing in it. parent is the uid of the
// object's parent, where that is known.
func newRecord(ref v1alpha1.TargetReference, parent types.UID, operatorNamespace string) *v1alpha1.AllowanceRecord {
	rec := &v1alpha1.AllowanceRecord{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: Namespace(ref, operatorNamespace),
			Name:      Name(ref),
			Labels:    map[string]string{},
		},
		Spec: v1alpha1.AllowanceRecordSpec{TargetRef: ref},
	}
	for label, value := range map[string]string{
		LabelTargetUID:  string(ref.UID),
		LabelTargetKind: ref.Kind,
		LabelParentUID:  string(parent),
	} {
		if value != "" && len(validation.IsValidLabelValue(value)) == 0 {
			rec.Labels[label] = value
		}
	}
	return rec
}
