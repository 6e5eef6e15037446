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

package controller

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/discovery"
)

// lookup answers from discovery, and remembers what it could not.
type lookup struct {
	discovery Discovery
	// missing says that something was not served.
	missing bool
	// err is the first error.
	err error
}

func (l *lookup) holder(gvk schema.GroupVersionKind) (schema.GroupVersionResource, bool, []string, bool) {
	found, ok := l.note(l.discovery.ByKind(gvk))
	return found.GVR, found.Namespaced, found.Subresources, ok
}

func (l *lookup) child(gvr schema.GroupVersionResource) ([]string, bool, bool) {
	found, ok := l.note(l.discovery.ByResource(gvr))
	return found.Subresources, found.Namespaced, ok
}

func (l *lookup) note(found discovery.Resource, ok bool, err error) (discovery.Resource, bool) {
	l.missing = l.missing || !ok
	if l.err == nil {
		l.err = err
	}
	return found, ok
}
