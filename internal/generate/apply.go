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
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

// apply implements generator.ApplyAll: it collects what is wanted in a namespace, and returns true. What
// is applied is an object, a List of objects, or a list of these, nested.
func (e *evaluation) apply(namespace string, value ref.Val) ref.Val {
	if namespace != "" && len(validation.IsDNS1123Label(namespace)) > 0 {
		return failed(ReasonObject, "generator.ApplyAll was called with a namespace that can be no name of one", nil)
	}
	if err := e.applyAll(namespace, value, 0); err != nil {
		return types.WrapErr(err)
	}
	return types.True
}

func (e *evaluation) applyAll(namespace string, value ref.Val, depth int) error {
	if depth > MaxNesting {
		return &Error{Reason: ReasonLimit, Detail: fmt.Sprintf("what is applied is lists in lists, more than %d deep", MaxNesting)}
	}
	switch v := value.(type) {
	case types.Null:
		e.leftOut[LeftOutNothing]++
		return nil
	case *types.Optional:
		if !v.HasValue() {
			e.leftOut[LeftOutNothing]++
			return nil
		}
		return e.applyAll(namespace, v.GetValue(), depth)
	case traits.Mapper:
		if items, ok := itemsOf(v); ok {
			return e.applyAll(namespace, items, depth+1)
		}
		return e.applyOne(namespace, v)
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True; {
			if err := e.applyAll(namespace, it.Next(), depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	return &Error{Reason: ReasonObject, Detail: fmt.Sprintf("generator.ApplyAll was called with a %s: it takes objects, and lists of them", value.Type().TypeName())}
}

// itemsOf returns the items of a List, such as resource.List yields.
func itemsOf(m traits.Mapper) (traits.Lister, bool) {
	if kind := stringIn(m, "kind"); kind != "" && !strings.HasSuffix(kind, "List") {
		return nil, false
	}
	held, _ := m.Find(types.String("items"))
	items, ok := held.(traits.Lister)
	return items, ok
}

// stringIn returns a field that is a string, empty where it is not.
func stringIn(m traits.Mapper, name string) string {
	held, _ := m.Find(types.String(name))
	return text(held)
}

// applyOne collects one object.
func (e *evaluation) applyOne(namespace string, m traits.Mapper) error {
	e.applied++
	if e.applied > MaxApplied {
		return &Error{Reason: ReasonLimit, Detail: fmt.Sprintf("more than %d objects are applied for one trigger: apply to each namespace only what goes there", MaxApplied)}
	}
	kind, served, err := e.kindOf(m)
	if err != nil || !served {
		return err
	}
	id := ID{Group: kind.Group, Kind: kind.Kind}
	if id.Name, err = e.nameOf(m); err != nil {
		return err
	}
	read, _ := m.(*object)
	if e.scopes[kind].namespaced {
		var elsewhere bool
		if id.Namespace, elsewhere, err = namespaceIn(m, namespace, read != nil && !read.placed); err != nil {
			return err
		}
		if elsewhere {
			e.leftOut[LeftOutOtherNamespace]++
			e.noteElsewhere(id, m)
			return nil
		}
	}
	source, gone := e.sourceOf(id, read)
	switch {
	case gone:
		e.leftOut[LeftOutSourceGone]++
		return nil
	case source != nil && *source == id:
		e.leftOut[LeftOutIsSource]++
		return nil
	}
	content, err := contentOf(m, id, source != nil)
	if err != nil {
		return err
	}
	return e.want(Wanted{ID: id, Content: content, Source: source})
}

// noteElsewhere notes an object that was applied to the namespace in its ID, and names another one.
func (e *evaluation) noteElsewhere(id ID, m traits.Mapper) {
	to := id.Namespace
	if metadata, ok := metadataOf(m); ok {
		held, _ := metadata.Find(types.String("namespace"))
		id.Namespace = text(held)
	}
	e.elsewhere[id] = Elsewhere{Kind: id.Kind, Name: id.Name, Namespace: id.Namespace, To: to}
}

// kindOf returns the kind of an object that is applied, and whether there is something to apply.
func (e *evaluation) kindOf(m traits.Mapper) (schema.GroupVersionKind, bool, error) {
	apiVersion, kind := stringIn(m, "apiVersion"), stringIn(m, "kind")
	if apiVersion == "" && kind == "" && len(e.gone) > 0 {
		// Both are taken from a source that is not there.
		e.leftOut[LeftOutSourceGone]++
		return schema.GroupVersionKind{}, false, nil
	}
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil || gv.Version == "" || kind == "" {
		return schema.GroupVersionKind{}, false, &Error{Reason: ReasonObject, Detail: "an object is applied that has no apiVersion, such as v1 or apps/v1, or no kind"}
	}
	gvk := gv.WithKind(kind)
	in, known := e.scopes[gvk]
	if !known {
		if in.namespaced, in.served, err = e.snapshot.IsNamespaced(gvk); err != nil {
			return gvk, false, &Error{Reason: ReasonRead, Detail: fmt.Sprintf("whether %s is namespaced cannot be told", gvk.GroupKind()), Err: err}
		}
		e.scopes[gvk] = in
	}
	if !in.served {
		e.leftOut[LeftOutNotServed]++
		e.notServed[gvk] = true
	}
	return gvk, in.served, nil
}

// nameOf returns the name of an object that is applied: that of the policy where it says none. A
// name that is absent, because what it is made of is, is none.
func (e *evaluation) nameOf(m traits.Mapper) (string, error) {
	metadata, ok := metadataOf(m)
	if !ok {
		return e.policy.Name, nil
	}
	held, named := metadata.Find(types.String("name"))
	if !named {
		if _, generated := metadata.Find(types.String("generateName")); generated {
			return "", &Error{Reason: ReasonObject, Detail: "an object is applied with generateName: it needs a name by which it is found again"}
		}
		return e.policy.Name, nil
	}
	name := text(held)
	if name == "" || len(name) > validation.DNS1123SubdomainMaxLength || len(content.IsPathSegmentName(name)) > 0 {
		return "", &Error{Reason: ReasonObject, Detail: "an object is applied whose name is absent or can be none"}
	}
	return name, nil
}

// metadataOf returns the metadata of an object, if it has any.
func metadataOf(m traits.Mapper) (traits.Mapper, bool) {
	held, _ := m.Find(types.String("metadata"))
	metadata, ok := held.(traits.Mapper)
	return metadata, ok
}

// namespaceIn returns where an object goes: where it is applied to, or, if that says nothing, where
// it says itself. An object that was written, and not just read, may say that it goes
// elsewhere.
func namespaceIn(m traits.Mapper, to string, moves bool) (namespace string, elsewhere bool, err error) {
	if moves && to != "" {
		return to, false, nil
	}
	var own string
	if metadata, ok := metadataOf(m); ok {
		held, named := metadata.Find(types.String("namespace"))
		if own = text(held); named && (own == "" || len(validation.IsDNS1123Label(own)) > 0) {
			return "", false, &Error{Reason: ReasonObject, Detail: "an object is applied whose namespace is absent or can be none"}
		}
	}
	switch {
	case own == "" && to == "":
		return "", false, &Error{Reason: ReasonObject, Detail: "an object of a namespaced kind is applied to no namespace, and names none"}
	case to == "":
		return own, false, nil
	case own == "":
		return to, false, nil
	}
	return to, own != to, nil
}

// sourceOf returns the object that an object is a clone of: what was read, or what was read and has
// its kind and name. gone is true where such an object was asked for and is not there.
func (e *evaluation) sourceOf(id ID, read *object) (source *ID, gone bool) {
	if read != nil {
		return &read.from, false
	}
	if namesake := e.namesake(maps.Keys(e.read), id); namesake != nil {
		return namesake, false
	}
	return nil, e.namesake(slices.Values(e.gone), id) != nil
}

// namesake returns the first of the objects, in order, that has the kind and the name of another
// one. An object that a policy looks for where it would make it is not its source.
func (e *evaluation) namesake(among func(func(ID) bool), id ID) *ID {
	var out *ID
	for other := range among {
		if other.GroupKind() == id.GroupKind() && other.Name == id.Name && other != id && (out == nil || other.Compare(*out) < 0) {
			out = &other
		}
	}
	return out
}

// contentOf returns an object as it is wanted.
func contentOf(m traits.Mapper, id ID, clone bool) (map[string]any, error) {
	value, err := native(m)
	if err != nil {
		return nil, &Error{Reason: ReasonObject, Detail: "what is applied cannot be an object: " + err.Error()}
	}
	fields, _ := value.(map[string]any)
	if read, ok := m.(*object); ok && !read.cleaned {
		fields = cleaned(fields)
	}
	held, has := fields["metadata"]
	metadata, ok := held.(map[string]any)
	if has && !ok {
		return nil, &Error{Reason: ReasonObject, Detail: "an object is applied whose metadata has no fields"}
	}
	if metadata == nil {
		metadata = map[string]any{}
	}
	for _, name := range serverFields {
		delete(metadata, name)
	}
	delete(metadata, "namespace")
	if clone {
		// A clone that is written field by field has the labels and annotations of its source.
		unmark(metadata)
	}
	metadata["name"] = id.Name
	if id.Namespace != "" {
		metadata["namespace"] = id.Namespace
	}
	fields["metadata"] = metadata
	if id.GroupKind() == (schema.GroupKind{Kind: "Secret"}) {
		encodeStringData(fields)
	}
	return fields, nil
}

// encodeStringData puts what a Secret has in stringData where the API server puts it. It keeps
// no stringData, so that a Secret which is wanted with some would never be as it is wanted.
func encodeStringData(secret map[string]any) {
	plain, ok := secret["stringData"].(map[string]any)
	if !ok {
		return
	}
	delete(secret, "stringData")
	data, _ := secret["data"].(map[string]any)
	if data == nil {
		data = map[string]any{}
		secret["data"] = data
	}
	for key, value := range plain {
		if text, ok := value.(string); ok {
			value = base64.StdEncoding.EncodeToString([]byte(text))
		}
		data[key] = value
	}
}

// want adds an object to what is wanted. The same one may be applied several times.
func (e *evaluation) want(w Wanted) error {
	encoded, err := json.Marshal(w.Content)
	if err != nil {
		return &Error{Reason: ReasonObject, Detail: fmt.Sprintf("%s cannot be written as JSON", w.ID)}
	}
	e.bytes += len(encoded)
	switch before, again := e.wanted[w.ID]; {
	case len(encoded) > MaxObjectBytes:
		return &Error{Reason: ReasonLimit, Detail: fmt.Sprintf("%s has %d bytes, and may have %d", w.ID, len(encoded), MaxObjectBytes)}
	case e.bytes > MaxTotalBytes:
		return &Error{Reason: ReasonLimit, Detail: fmt.Sprintf("what is applied for one trigger has more than %d bytes", MaxTotalBytes)}
	case again && !equality.Semantic.DeepEqual(before.Content, w.Content):
		return &Error{Reason: ReasonObject, Detail: fmt.Sprintf("%s is applied twice, with different content: give one of them another name", w.ID)}
	case !again && len(e.wanted) == MaxObjects:
		return &Error{Reason: ReasonLimit, Detail: fmt.Sprintf("more than %d objects are wanted for one trigger", MaxObjects)}
	case !again:
		e.wanted[w.ID] = w
	}
	return nil
}
