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

package runtimerules

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// path leads from a message to one of its fields, through messages.
type path []protoreflect.FieldDescriptor

// resolve finds the field that a text leads to. All but the last have to be messages
// of which there is one.
func resolve(message protoreflect.MessageDescriptor, text string) (path, error) {
	segments := strings.Split(text, ".")
	out := make(path, 0, len(segments))
	for i, segment := range segments {
		field := named(message, segment)
		if field == nil {
			return nil, fmt.Errorf("%s has no field %q: %s", message.Name(), segment, meant(segment, fieldNames(message)))
		}
		out = append(out, field)
		if i == len(segments)-1 {
			return out, nil
		}
		switch {
		case field.IsList(), field.IsMap():
			return nil, fmt.Errorf("%s of %s is a list or a map, and a path leads through single messages", segment, message.Name())
		case field.Message() == nil:
			return nil, fmt.Errorf("%s of %s has no fields below it", segment, message.Name())
		}
		message = field.Message()
	}
	return out, nil
}

// named returns the field of a message that has a name in Go, in the API's own language, or
// in JSON.
func named(message protoreflect.MessageDescriptor, name string) protoreflect.FieldDescriptor {
	for i := range message.Fields().Len() {
		field := message.Fields().Get(i)
		if string(field.Name()) == name || field.JSONName() == name || goName(string(field.Name())) == name {
			return field
		}
	}
	return nil
}

func fieldNames(message protoreflect.MessageDescriptor) []string {
	out := make([]string, 0, message.Fields().Len())
	for i := range message.Fields().Len() {
		out = append(out, goName(string(message.Fields().Get(i).Name())))
	}
	return out
}

// goName returns the name that generated code has for a field.
func goName(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(name, "_") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}

// leaf returns the field that a path ends at.
func (p path) leaf() protoreflect.FieldDescriptor { return p[len(p)-1] }

// holder returns the message that has the leaf: an empty one where the way to it is absent.
func (p path) holder(message protoreflect.Message) protoreflect.Message {
	for _, field := range p[:len(p)-1] {
		message = message.Get(field).Message()
	}
	return message
}

// value returns the value of the leaf: the zero value where it is absent.
func (p path) value(message protoreflect.Message) protoreflect.Value {
	return p.holder(message).Get(p.leaf())
}

// scalar reports whether a field can be compared, or why not.
func scalar(field protoreflect.FieldDescriptor) error {
	switch {
	case field.IsMap():
		return errors.New("is a map, and only single values are compared")
	case field.IsList():
		return errors.New("is a list, and only single values are compared")
	}
	switch field.Kind() {
	case protoreflect.StringKind, protoreflect.BoolKind, protoreflect.EnumKind,
		protoreflect.Int32Kind, protoreflect.Int64Kind, protoreflect.Uint32Kind, protoreflect.Uint64Kind:
		return nil
	case protoreflect.MessageKind:
		return fmt.Errorf("is a message: name one of its fields, which are %s", strings.Join(fieldNames(field.Message()), ", "))
	default:
		return fmt.Errorf("is of the type %s, which is not compared", field.Kind())
	}
}

// typed turns a value of the file into one of the field. Nothing is converted.
func typed(field protoreflect.FieldDescriptor, value *Scalar) (protoreflect.Value, error) {
	var none protoreflect.Value
	switch field.Kind() {
	case protoreflect.StringKind:
		if value.Tag != tagString {
			return none, fmt.Errorf("it is a string: write %q in quotes", value.Text)
		}
		return protoreflect.ValueOfString(value.Text), nil
	case protoreflect.BoolKind:
		if value.Tag != "!!bool" {
			return none, errors.New("it is true or false, without quotes")
		}
		return protoreflect.ValueOfBool(strings.EqualFold(value.Text, "true")), nil
	case protoreflect.EnumKind:
		values := field.Enum().Values()
		if found := values.ByName(protoreflect.Name(value.Text)); found != nil && value.Tag == tagString {
			return protoreflect.ValueOfEnum(found.Number()), nil
		}
		names := make([]string, 0, values.Len())
		for i := range values.Len() {
			names = append(names, string(values.Get(i).Name()))
		}
		return none, fmt.Errorf("it is one of %s, and not %q", strings.Join(names, ", "), value.Text)
	default:
		if value.Tag != "!!int" {
			return none, errors.New("it is a whole number, without quotes")
		}
		return integer(field, value.Text)
	}
}

func integer(field protoreflect.FieldDescriptor, text string) (protoreflect.Value, error) {
	var none protoreflect.Value
	switch field.Kind() {
	case protoreflect.Int32Kind:
		n, err := strconv.ParseInt(text, 10, 32)
		if err == nil {
			return protoreflect.ValueOfInt32(int32(n)), nil
		}
	case protoreflect.Int64Kind:
		n, err := strconv.ParseInt(text, 10, 64)
		if err == nil {
			return protoreflect.ValueOfInt64(n), nil
		}
	case protoreflect.Uint32Kind:
		n, err := strconv.ParseUint(text, 10, 32)
		if err == nil {
			return protoreflect.ValueOfUint32(uint32(n)), nil
		}
	default:
		n, err := strconv.ParseUint(text, 10, 64)
		if err == nil {
			return protoreflect.ValueOfUint64(n), nil
		}
	}
	return none, fmt.Errorf("it is an %s, in decimals", field.Kind())
}
