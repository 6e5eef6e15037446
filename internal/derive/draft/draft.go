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

package draft

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"kausality.io/operator/internal/change"
)

// Draft collects what a policy is made of.
type Draft struct {
	// kind of the parents.
	kind  string
	notes []Note
	// children are the resources of the children, in order.
	children []schema.GroupVersionResource
	// former are the resources of children that parents may still have, and get no more.
	former []schema.GroupVersionResource
	// triggers are what changes of the parent allow, by the text of the trigger.
	triggers map[string]*Changes
	// maintaining is what needs no change of the parent.
	maintaining *Changes
}

// New returns an empty draft of a policy for parents of a kind.
func New(kind string) *Draft {
	return &Draft{kind: kind, triggers: map[string]*Changes{}, maintaining: &Changes{}}
}

// Child adds a resource of children.
func (d *Draft) Child(resource schema.GroupVersionResource) {
	if !slices.Contains(d.children, resource) {
		d.children = append(d.children, resource)
	}
}

// Former adds a resource of children that parents may still have, and get no more.
func (d *Draft) Former(resource schema.GroupVersionResource) {
	if !named(d.children, resource) && !named(d.former, resource) {
		d.former = append(d.former, resource)
	}
}

// named reports whether a resource is among others, in whichever version: a policy bounds a kind in
// all of them.
func named(among []schema.GroupVersionResource, resource schema.GroupVersionResource) bool {
	return slices.ContainsFunc(among, func(r schema.GroupVersionResource) bool { return r.GroupResource() == resource.GroupResource() })
}

// Maintaining returns what needs no change of the parent.
func (d *Draft) Maintaining() *Changes { return d.maintaining }

// Trigger returns what a change of a field of the parent allows.
func (d *Draft) Trigger(path change.Pattern) *Changes {
	key := path.String()
	if d.triggers[key] == nil {
		d.triggers[key] = &Changes{trigger: path}
	}
	return d.triggers[key]
}

// Note adds something to know about what was derived, once.
func (d *Draft) Note(n Note) {
	if !slices.Contains(d.notes, n) {
		d.notes = append(d.notes, n)
	}
}

// Notes returns what there is to know.
func (d *Draft) Notes() []Note { return d.notes }

// Name returns a name that a policy may have, for one that may be longer.
func Name(name string) string {
	if len(name) <= validation.DNS1123SubdomainMaxLength {
		return name
	}
	digest := sha256.Sum256([]byte(name))
	end := "-" + hex.EncodeToString(digest[:8])
	return strings.TrimRight(name[:validation.DNS1123SubdomainMaxLength-len(end)], "-.") + end
}
