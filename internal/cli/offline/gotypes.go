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

package offline

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// scalars are types whose values have nothing below them, although they are structs.
var scalars = map[reflect.Type]bool{
	reflect.TypeFor[metav1.Time]():      true,
	reflect.TypeFor[metav1.MicroTime](): true,
	reflect.TypeFor[metav1.Duration]():  true,
	reflect.TypeFor[[]byte]():           true,
}

// eitherOr are types whose values may be a number, or a string.
var eitherOr = map[reflect.Type]bool{
	reflect.TypeFor[intstr.IntOrString](): true,
	reflect.TypeFor[resource.Quantity]():  true,
}

// free are types whose values may have anything below them.
var free = map[reflect.Type]bool{
	reflect.TypeFor[runtime.RawExtension](): true,
	reflect.TypeFor[metav1.FieldsV1]():      true,
}

// declared returns the schema of a Go type: which fields its values have. What a type has
// of itself below it is open. within are the types around it.
func declared(t reflect.Type, within ...reflect.Type) *spec.Schema {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case slices.Contains(within, t):
		return spec.MapProperty(nil)
	case eitherOr[t]:
		return spec.StrFmtProperty("int-or-string")
	case scalars[t]:
		return spec.StringProperty()
	case free[t] || t.Kind() == reflect.Interface:
		return spec.MapProperty(nil)
	case t.Kind() == reflect.Slice:
		return spec.ArrayProperty(declared(t.Elem(), within...))
	case t.Kind() == reflect.Map:
		return spec.MapProperty(declared(t.Elem(), within...))
	case t.Kind() == reflect.Bool:
		return spec.BooleanProperty()
	case t.Kind() == reflect.String:
		return spec.StringProperty()
	case t.Kind() != reflect.Struct:
		return spec.Int64Property()
	}
	out := &spec.Schema{}
	out.Typed("object", "")
	fields(out, t, append(within, t))
	return out
}

// fields declares those of a struct, and of the structs that are part of it.
func fields(out *spec.Schema, t reflect.Type, within []reflect.Type) {
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case strings.Contains(options, "inline") || name == "" && field.Anonymous:
			fields(out, field.Type, within)
		case name != "" && name != "-":
			out.SetProperty(name, *declared(field.Type, within...))
		}
	}
}
