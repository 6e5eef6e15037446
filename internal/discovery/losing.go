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

package discovery

import (
	"fmt"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Losing is about versions of a custom resource in which a write may lose fields that an object has: the API server
// gives the requester what it has stored in that version, without what the version lacks, and stores what comes back.
// A write in the version in which objects are stored loses nothing.
type Losing struct {
	// Versions in which such a write may lose fields, sorted.
	Versions []string
	// Converted says that a webhook converts objects between versions. Otherwise a field is called the same in all.
	Converted bool
	// Defaults of the version in which objects are stored; nil if it has none.
	Defaults *Defaults
}

// losing returns in which versions a write of a resource may lose fields, nil where it is no custom resource.
func losing(resource *Resource, stored Storage) *Losing {
	versions := slices.DeleteFunc(slices.Sorted(maps.Keys(resource.Versions)), func(version string) bool { return version == stored.Version })
	if stored.Version == "" || len(versions) == 0 {
		return nil
	}
	return &Losing{Versions: versions, Converted: stored.Converted, Defaults: stored.Defaults}
}

// Read returns an object as it is read after it was stored: with the defaults that it lacks. The argument stays as it is.
func (l *Losing) Read(obj map[string]any) map[string]any {
	if l.Defaults == nil {
		return obj
	}
	out := runtime.DeepCopyJSON(obj)
	l.Defaults.fill(out)
	return out
}

// Losing returns how a resource loses fields that is written in a version, nil where nothing is lost.
func (r *Resolver) Losing(gvr schema.GroupVersionResource, requested string) *Losing {
	if requested == gvr.Version {
		return nil
	}
	resource, _ := r.ByResource(gvr)
	if resource.Losing == nil || !slices.Contains(resource.Losing.Versions, requested) {
		return nil
	}
	return resource.Losing
}

// Defaults are what the API server fills in where a value, or something below it, is not there.
type Defaults struct {
	// Value is what is filled in, nil for nothing.
	Value any
	// Nullable says that null is a value, and stays.
	Nullable bool
	// Fields holds the defaults of the named fields of a map.
	Fields map[string]*Defaults
	// Each holds the defaults of the other values of a map, or of the items of a list.
	Each *Defaults
}

// defaultsOf returns the defaults in a schema, nil where there are none.
func defaultsOf(declared *apiextensionsv1.JSONSchemaProps) (*Defaults, error) {
	d := &Defaults{Nullable: declared.Nullable}
	if declared.Default != nil {
		if err := utiljson.Unmarshal(declared.Default.Raw, &d.Value); err != nil {
			return nil, fmt.Errorf("a default is no JSON: %w", err)
		}
	}
	for name := range declared.Properties {
		property := declared.Properties[name]
		field, err := defaultsOf(&property)
		if err != nil {
			return nil, err
		}
		if field == nil {
			continue
		}
		if d.Fields == nil {
			d.Fields = map[string]*Defaults{}
		}
		d.Fields[name] = field
	}
	var each *apiextensionsv1.JSONSchemaProps
	switch {
	case declared.Items != nil:
		each = declared.Items.Schema
	case declared.AdditionalProperties != nil:
		each = declared.AdditionalProperties.Schema
	}
	if each != nil {
		var err error
		if d.Each, err = defaultsOf(each); err != nil {
			return nil, err
		}
	}
	if d.Value == nil && d.Fields == nil && d.Each == nil {
		return nil, nil
	}
	return d, nil
}

// fill fills in what a value lacks, as the API server does it.
func (d *Defaults) fill(value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, field := range d.Fields {
			if held, there := value[name]; field.Value != nil && (!there || field.replaces(held)) {
				value[name] = runtime.DeepCopyJSONValue(field.Value)
			}
		}
		for name, held := range value {
			field, declared := d.Fields[name]
			if !declared {
				field = d.Each
			}
			value[name] = field.filled(held)
		}
	case []any:
		for i, held := range value {
			value[i] = d.Each.filled(held)
		}
	}
}

// filled returns a value that is there as it is read.
func (d *Defaults) filled(value any) any {
	if d == nil {
		return value
	}
	if d.replaces(value) {
		value = runtime.DeepCopyJSONValue(d.Value)
	}
	d.fill(value)
	return value
}

// replaces reports whether the default takes the place of a value.
func (d *Defaults) replaces(value any) bool { return value == nil && !d.Nullable && d.Value != nil }
