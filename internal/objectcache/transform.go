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

package objectcache

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/objectcache/compressed"
)

// packedHolder is a holder as it is cached.
type packedHolder = compressed.Object[unstructured.Unstructured]

// packing strips and packs objects before they enter the cache. Its zero value is ready
// for use.
type packing struct {
	mu      sync.Mutex
	packers map[schema.GroupVersionKind]*compressed.Packer[unstructured.Unstructured]
}

func (p *packing) transform(in any) (any, error) {
	obj, ok := in.(*unstructured.Unstructured)
	if !ok {
		return in, nil // packed already, or a tombstone
	}
	strip(obj)
	return p.packer(obj.GroupVersionKind()).Pack(obj, obj)
}

// packText strips and packs an object of the kind, as the API server writes it.
func (p *packing) packText(kind schema.GroupVersionKind) compressed.Pack {
	packer := p.packer(kind)
	return func(text []byte) (runtime.Object, error) {
		text = compressed.Without(text, "metadata", "managedFields")
		text = compressed.Without(text, "metadata", "annotations", corev1.LastAppliedConfigAnnotation)
		return packer.PackText(text)
	}
}

// packer returns the packer of one kind, whose objects are alike.
func (p *packing) packer(kind schema.GroupVersionKind) *compressed.Packer[unstructured.Unstructured] {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.packers == nil {
		p.packers = map[schema.GroupVersionKind]*compressed.Packer[unstructured.Unstructured]{}
	}
	packer, ok := p.packers[kind]
	if !ok {
		packer = compressed.NewPacker(func(obj *unstructured.Unstructured) any { return &obj.Object })
		p.packers[kind] = packer
	}
	return packer
}

// strip drops what is large and never read before an object enters the cache.
func strip(obj *unstructured.Unstructured) {
	metadata, ok := obj.Object["metadata"].(map[string]any)
	if !ok {
		return
	}
	delete(metadata, "managedFields")
	annotations, ok := metadata["annotations"].(map[string]any)
	if !ok {
		return
	}
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	if len(annotations) == 0 {
		delete(metadata, "annotations")
	}
}
