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
	"cmp"
	"fmt"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func compareReads(a, b Read) int {
	return cmp.Or(
		cmp.Compare(a.Resource.String(), b.Resource.String()),
		cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.Selector, b.Selector),
	)
}

// get implements resource.Get: it returns an object, or null where it is not there.
func (e *evaluation) get(apiVersion, resource, namespace, name string) ref.Val {
	if name == "" {
		return failed(ReasonEvaluation, "resource.Get was called with an empty name: resource.List reads all objects", nil)
	}
	gvr, err := resourceOf(apiVersion, resource)
	if err != nil {
		return types.WrapErr(err)
	}
	return e.once(Read{Resource: gvr, Namespace: namespace, Name: name}, func() (ref.Val, error) {
		kind, served, err := e.snapshot.KindOf(gvr)
		if err != nil || !served {
			return types.NullValue, err
		}
		content, err := e.snapshot.Get(gvr, namespace, name)
		if err != nil {
			return nil, err
		}
		if content == nil {
			e.gone = append(e.gone, ID{Group: kind.Group, Kind: kind.Kind, Namespace: namespace, Name: name})
			return types.NullValue, nil
		}
		e.found++
		return e.wasRead(content), nil
	})
}

// list implements resource.List: it returns a List, which is empty where there is nothing.
func (e *evaluation) list(apiVersion, resource, namespace string, by traits.Mapper) ref.Val {
	gvr, err := resourceOf(apiVersion, resource)
	if err != nil {
		return types.WrapErr(err)
	}
	selector, err := selectorFrom(by)
	if err != nil {
		return types.WrapErr(err)
	}
	return e.once(Read{Resource: gvr, Namespace: namespace, Selector: selector.String()}, func() (ref.Val, error) {
		kind, served, err := e.snapshot.KindOf(gvr)
		if err != nil {
			return nil, err
		}
		var items []ref.Val
		if served {
			listed, err := e.snapshot.List(gvr, namespace, selector)
			if err != nil {
				return nil, err
			}
			e.found += len(listed)
			for _, content := range listed {
				items = append(items, e.wasRead(content))
			}
		}
		return types.NewStringInterfaceMap(types.DefaultTypeAdapter, map[string]any{
			"apiVersion": apiVersion,
			"kind":       kind.Kind + "List",
			"items":      types.NewRefValList(types.DefaultTypeAdapter, items),
		}), nil
	})
}

// once reads what was not read before in this evaluation.
func (e *evaluation) once(what Read, read func() (ref.Val, error)) ref.Val {
	if v, ok := e.reads[what]; ok {
		return v
	}
	if len(e.reads) == MaxReads {
		return failed(ReasonLimit, fmt.Sprintf("more than %d reads for one trigger: list objects, and filter them", MaxReads), nil)
	}
	v, err := read()
	if err != nil {
		v = failed(ReasonRead, fmt.Sprintf("reading %s failed", what.Resource.GroupResource()), err)
	}
	if e.found > MaxObjectsRead {
		v = failed(ReasonLimit, fmt.Sprintf("more than %d objects were read for one trigger: read one namespace, or what has a label", MaxObjectsRead), nil)
	}
	e.reads[what] = v
	return v
}

// wasRead remembers that an object was read.
func (e *evaluation) wasRead(content map[string]any) ref.Val {
	id := IDOf(content)
	e.read[id] = true
	return newObject(content, id)
}

// resourceOf returns what the first two arguments of resource.Get and resource.List name.
func resourceOf(apiVersion, resource string) (schema.GroupVersionResource, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil || gv.Version == "" {
		return schema.GroupVersionResource{}, &Error{Reason: ReasonEvaluation, Detail: "what is read needs an API version such as v1 or apps/v1"}
	}
	if resource == "" {
		return schema.GroupVersionResource{}, &Error{Reason: ReasonEvaluation, Detail: "what is read needs a resource such as configmaps: the plural, in lower case"}
	}
	return gv.WithResource(resource), nil
}

// selectorFrom returns the selector for the labels that resource.List was called with.
func selectorFrom(by traits.Mapper) (labels.Selector, error) {
	if by == nil {
		return labels.Everything(), nil
	}
	set := labels.Set{}
	for it := by.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		name, ok := key.(types.String)
		value, isString := by.Get(key).(types.String)
		if !ok || !isString {
			return nil, &Error{Reason: ReasonEvaluation, Detail: "the labels that resource.List selects by are not all strings"}
		}
		set[string(name)] = string(value)
	}
	selector, err := set.AsValidatedSelector()
	if err != nil {
		return nil, &Error{Reason: ReasonEvaluation, Detail: "the labels that resource.List selects by are not valid"}
	}
	return selector, nil
}

// failed returns an error as the value of a function.
func failed(reason Reason, detail string, err error) ref.Val {
	return types.WrapErr(&Error{Reason: reason, Detail: detail, Err: err})
}
