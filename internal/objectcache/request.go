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
	"unique"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Request names a holder that was added, has changed, or is gone. It is small, as there may
// be very many holders, and several controllers remember each of them.
type Request struct {
	// place is the same for all holders of a kind in a namespace.
	place unique.Handle[place]
	name  string
}

type place struct {
	gvk       schema.GroupVersionKind
	namespace string
}

// RequestFor returns the request for a holder of the kind, in the version that is watched.
func RequestFor(gvk schema.GroupVersionKind, key types.NamespacedName) Request {
	return Request{place: unique.Make(place{gvk: gvk, namespace: key.Namespace}), name: key.Name}
}

// GVK of the holder, in the version that is watched.
func (r Request) GVK() schema.GroupVersionKind { return r.place.Value().gvk }

// Key returns the namespace and name of the holder.
func (r Request) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: r.place.Value().namespace, Name: r.name}
}

// String is for logs.
func (r Request) String() string { return r.GVK().Kind + " " + r.Key().String() }
