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

package can

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/cli/source"
)

// edit is what is done to an object: fields that are set, or the object as it should
// be.
type edit struct {
	fields, values []string
	file           string
}

// check says what is missing.
func (e *edit) check() error {
	switch {
	case e.file != "" && len(e.fields)+len(e.values) > 0:
		return errors.New("give the changed object with -f, or what to set with --field and --set, not both")
	case e.file == "" && len(e.fields) == 0:
		return errors.New("what would change? Say --field spec.replicas --set 5, or give the changed object with -f")
	case len(e.fields) != len(e.values):
		return fmt.Errorf("there are %d --field and %d --set: each field needs its value", len(e.fields), len(e.values))
	}
	return nil
}

// object returns the one object of the file.
func (e *edit) object(stdin io.Reader) (*unstructured.Unstructured, error) {
	docs, malformed, err := source.Read([]string{e.file}, stdin)
	if err != nil {
		return nil, err
	}
	for _, p := range malformed {
		return nil, fmt.Errorf("%s: %s", p, p.Message)
	}
	if len(docs) != 1 {
		return nil, fmt.Errorf("there are %d objects in %s: give one at a time", len(docs), e.file)
	}
	obj := &unstructured.Unstructured{Object: docs[0].Object}
	if obj.GetKind() == "" || obj.GetAPIVersion() == "" || obj.GetName() == "" {
		return nil, fmt.Errorf("%s: the object needs its apiVersion, kind and metadata.name", docs[0].At(""))
	}
	return obj, nil
}

// set sets the fields.
func (e *edit) set(obj *unstructured.Unstructured) error {
	for i, text := range e.fields {
		path, err := change.ParsePath(text)
		if err != nil {
			return fmt.Errorf("--field: %w", err)
		}
		if err := changeable(path, obj); err != nil {
			return err
		}
		var value any
		if err := yaml.Unmarshal([]byte(e.values[i]), &value); err != nil {
			return fmt.Errorf("--set of %s is neither a YAML value nor a JSON value: %s", text, strings.TrimPrefix(err.Error(), "error converting YAML to JSON: "))
		}
		if err := path.Set(obj.Object, whole(value)); err != nil {
			return fmt.Errorf("--field: %w", err)
		}
	}
	return nil
}

// ownMetadata are the fields of metadata that anybody may change.
var ownMetadata = []string{"labels", "annotations", "ownerReferences", "finalizers"}

// changeable returns an error where a field is none that a change of an object is about: another name is another
// object, and the rest is the API server's.
func changeable(path change.Path, obj *unstructured.Unstructured) error {
	var is bool
	switch {
	case len(path) == 0:
	case path[0].Field == "apiVersion" || path[0].Field == "kind":
		is = true
	case path[0].Field == "metadata" && len(path) > 1:
		is = !slices.Contains(ownMetadata, path[1].Field)
	}
	if !is {
		return nil
	}
	return fmt.Errorf("--field: nobody can change %s of %s %s; whether another object could be created is asked with -f FILE", path, obj.GetKind(), obj.GetName())
}

// ofStatus returns the fields of the status: an update of an object leaves them as they are.
func (e *edit) ofStatus() []string {
	var out []string
	for _, text := range e.fields {
		if path, err := change.ParsePath(text); err == nil && len(path) > 0 && path[0].Field == "status" {
			out = append(out, text)
		}
	}
	return out
}

// whole makes integers of the numbers that are, as in objects of the API server.
func whole(value any) any {
	switch value := value.(type) {
	case float64:
		if n := int64(value); float64(n) == value {
			return n
		}
		return value
	case map[string]any:
		for name, item := range value {
			value[name] = whole(item)
		}
		return value
	case []any:
		for i, item := range value {
			value[i] = whole(item)
		}
		return value
	default:
		return value
	}
}

// replace makes an object what another one says, as kubectl replace would: all but
// status, and what of metadata is not a label or an annotation.
func replace(obj, by *unstructured.Unstructured) {
	for name := range obj.Object {
		if _, given := by.Object[name]; !given && !kept(name) {
			delete(obj.Object, name)
		}
	}
	for name, value := range by.Object {
		if !kept(name) {
			obj.Object[name] = runtime.DeepCopyJSONValue(value)
		}
	}
	labels, annotations := obj.GetLabels(), obj.GetAnnotations()
	obj.SetLabels(overlay(labels, by.GetLabels()))
	obj.SetAnnotations(overlay(annotations, by.GetAnnotations()))
}

func kept(name string) bool {
	return name == "apiVersion" || name == "kind" || name == "metadata" || name == "status"
}

func overlay(m, over map[string]string) map[string]string {
	if m == nil {
		return over
	}
	maps.Copy(m, over)
	return m
}
