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

// Package compressed keeps objects of the API server in caches without taking much memory:
// compressed, until somebody reads them.
package compressed

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unique"

	"github.com/tidwall/gjson"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Object is a packed object. What caches ask an object for it has at hand: its name
// and its version. It does not change, and is safe for concurrent use.
type Object[T any] struct {
	// namespace is the same text for all objects in it.
	namespace     unique.Handle[string]
	name, version string
	// created is when, in seconds since 1970; 0 where the object does not say so.
	created int64
	// uid is the hash of its UID.
	uid uint32
	// hashes are those of the values by which the object is indexed.
	hashes []uint32
	// note is what a Cache was to note of it.
	note any
	// text is the object in JSON, compressed.
	text   []byte
	packer *Packer[T]
}

// Key returns the namespace and name of the object.
func (o *Object[T]) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: o.namespace.Value(), Name: o.name}
}

// Note returns what the Cache was asked to note of the object, to be had without unpacking it.
func (o *Object[T]) Note() any { return o.note }

// Created returns when the object was created; the zero time where it does not say so.
func (o *Object[T]) Created() time.Time {
	if o.created == 0 {
		return time.Time{}
	}
	return time.Unix(o.created, 0)
}

// MayHaveUID reports whether the object may have a UID, to be had without unpacking it:
// of some thousand million others one is taken for it.
func (o *Object[T]) MayHaveUID(uid types.UID) bool { return o.uid == uidHash(uid) }

// UIDHash returns what UIDHash does of the UID of the object, to be had without unpacking it.
func (o *Object[T]) UIDHash() uint32 { return o.uid }

// GetObjectMeta implements metav1.ObjectMetaAccessor with what caches ask for.
func (o *Object[T]) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: o.namespace.Value(), Name: o.name, ResourceVersion: o.version}
}

// Unpack returns the object. It is shared and must not be modified.
func (o *Object[T]) Unpack() (*T, error) {
	if obj := o.packer.recent.get(o); obj != nil {
		return obj, nil
	}
	text, err := o.packer.unpack(o.text)
	if err != nil {
		return nil, fmt.Errorf("unpacking %s/%s: %w", o.namespace.Value(), o.name, err)
	}
	obj := new(T)
	if err := utiljson.Unmarshal(text, o.packer.content(obj)); err != nil {
		return nil, fmt.Errorf("decoding %s/%s: %w", o.namespace.Value(), o.name, err)
	}
	o.packer.recent.add(o, obj)
	return obj, nil
}

// GetObjectKind implements runtime.Object, of which the packed have nothing to say.
func (o *Object[T]) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object. What does not change need not be copied.
func (o *Object[T]) DeepCopyObject() runtime.Object { return o }

// Pack packs an object, of which meta is the metadata, and which must not be modified
// afterwards.
func (p *Packer[T]) Pack(obj *T, meta metav1.Object) (*Object[T], error) {
	text, err := json.Marshal(p.content(obj))
	if err != nil {
		return nil, fmt.Errorf("encoding %s/%s: %w", meta.GetNamespace(), meta.GetName(), err)
	}
	o := p.object(meta.GetNamespace(), meta.GetName(), meta.GetResourceVersion(), text)
	o.uid = uidHash(meta.GetUID())
	if created := meta.GetCreationTimestamp(); !created.IsZero() {
		o.created = created.Unix()
	}
	p.recent.add(o, obj)
	return o, nil
}

var errUnnamed = errors.New("an object without a name cannot be packed")

// PackText packs an object that is valid JSON, without decoding it. It keeps nothing of
// the text.
func (p *Packer[T]) PackText(text []byte) (*Object[T], error) {
	var namespace, name, version string
	var uid types.UID
	var created time.Time
	memberOf(gjson.ParseBytes(text), "metadata").value.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "namespace":
			namespace = stringOf(value)
		case "name":
			name = stringOf(value)
		case "resourceVersion":
			version = stringOf(value)
		case "uid":
			uid = types.UID(stringOf(value))
		case "creationTimestamp":
			created, _ = time.Parse(time.RFC3339, stringOf(value)) // Or nobody knows.
		}
		return true
	})
	if name == "" {
		return nil, errUnnamed
	}
	o := p.object(namespace, name, version, text)
	o.uid = uidHash(uid)
	if !created.IsZero() {
		o.created = created.Unix()
	}
	return o, nil
}

func (p *Packer[T]) object(namespace, name, version string, text []byte) *Object[T] {
	return &Object[T]{namespace: unique.Make(namespace), name: name, version: version, text: p.compress(text), packer: p}
}
