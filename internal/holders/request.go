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

package holders

import (
	"unique"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Request names a holder that was added, has changed, or is gone. The names are kept
// once: there may be very many holders, each of them in the queues of several
// controllers and in what they remember, which are as large as they have ever been.
type Request struct{ named unique.Handle[named] }

// named has by value what is of one holder alone: a text in it is copied for each.
type named struct {
	gvk       unique.Handle[schema.GroupVersionKind]
	namespace unique.Handle[string]
	name      string
}

// RequestFor is the request for a holder of the kind, in the version that is watched.
func RequestFor(gvk schema.GroupVersionKind, key types.NamespacedName) Request {
	return Request{unique.Make(named{gvk: unique.Make(gvk), namespace: unique.Make(key.Namespace), name: key.Name})}
}

// GVK of the holder, in the version that is watched.
func (r Request) GVK() schema.GroupVersionKind { return r.named.Value().gvk.Value() }

// Key is the namespace and name of the holder.
func (r Request) Key() types.NamespacedName {
	named := r.named.Value()
	return types.NamespacedName{Namespace: named.namespace.Value(), Name: named.name}
}

// String is for logs.
func (r Request) String() string { return r.GVK().Kind + " " + r.Key().String() }
