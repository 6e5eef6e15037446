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

// Package packed keeps objects of the API server in caches without taking much memory:
// compressed, until somebody reads them.
package packed

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"unique"
	"weak"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Object is a packed object. What caches ask an object for it has at hand: its name
// and its version. It does not change, and is safe for concurrent use.
type Object[T any] struct {
	// namespace is the same text for all objects in it.
	namespace     unique.Handle[string]
	name, version string
	// hashes are those of the values by which the object is indexed.
	hashes []uint32
	// text is the object in JSON, compressed.
	text   []byte
	packer *Packer[T]
	// unpacked is the object for as long as somebody uses it, or the garbage collector
	// has not come by: what is read many times in a moment is unpacked once.
	unpacked atomic.Pointer[weak.Pointer[T]]
}

// Key is the namespace and name of the object.
func (o *Object[T]) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: o.namespace.Value(), Name: o.name}
}

// GetObjectMeta implements metav1.ObjectMetaAccessor with what caches ask for.
func (o *Object[T]) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: o.namespace.Value(), Name: o.name, ResourceVersion: o.version}
}

// Unpack returns the object. It is shared and must not be modified.
func (o *Object[T]) Unpack() (*T, error) {
	if known := o.unpacked.Load(); known != nil {
		if obj := known.Value(); obj != nil {
			return obj, nil
		}
	}
	text, err := o.packer.unpack(o.text)
	if err != nil {
		return nil, fmt.Errorf("unpacking %s/%s: %w", o.namespace.Value(), o.name, err)
	}
	obj := new(T)
	if err := utiljson.Unmarshal(text, o.packer.content(obj)); err != nil {
		return nil, fmt.Errorf("decoding %s/%s: %w", o.namespace.Value(), o.name, err)
	}
	o.remember(obj)
	return obj, nil
}

func (o *Object[T]) remember(obj *T) {
	known := weak.Make(obj)
	o.unpacked.Store(&known)
}

// pack packs an object, which is not modified afterwards.
func (p *Packer[T]) pack(obj *T, meta metav1.Object, hashes []uint32) (*Object[T], error) {
	text, err := json.Marshal(p.content(obj))
	if err != nil {
		return nil, fmt.Errorf("encoding %s/%s: %w", meta.GetNamespace(), meta.GetName(), err)
	}
	o := &Object[T]{
		namespace: unique.Make(meta.GetNamespace()),
		name:      meta.GetName(),
		version:   meta.GetResourceVersion(),
		hashes:    hashes,
		text:      p.compress(text),
		packer:    p,
	}
	o.remember(obj)
	return o, nil
}
