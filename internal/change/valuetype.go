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

package change

// ValueType is what kind of value a field holds. Empty is any, or not known.
type ValueType string

// The types of values that are not of any.
const (
	ValueText   ValueType = "a string"
	ValueNumber ValueType = "a number"
	ValueBool   ValueType = "true or false"
	ValueList   ValueType = "a list"
	ValueMap    ValueType = "an object"
)

// TypeOfValue returns the type of a value of an object, empty for null.
func TypeOfValue(v any) ValueType {
	switch v.(type) {
	case string:
		return ValueText
	case int64, float64:
		return ValueNumber
	case bool:
		return ValueBool
	case []any:
		return ValueList
	case map[string]any:
		return ValueMap
	default:
		return ""
	}
}
