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
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Storing is about what the API server stores of a custom resource whose versions nothing converts: what the version
// in which objects are stored does not have is dropped as they are stored, after everybody was asked about the
// request. What a webhook makes of such fields nobody can ask.
type Storing struct {
	// Version in which objects are stored.
	Version string
	// Fields of that version.
	Fields *structuralschema.Structural
	// Defaults of that version; nil if it has none.
	Defaults *Defaults
}

// storing returns what is stored of a resource, nil where that is all, or nothing tells.
func storing(stored Storage) *Storing {
	if stored.Converted || stored.Fields == nil {
		return nil
	}
	return &Storing{Version: stored.Version, Fields: stored.Fields, Defaults: stored.Defaults}
}

// Stored returns an object as it is read after it was stored: without what is dropped, and with the defaults that it
// lacks then. dropped reports whether anything is. The argument stays as it is.
func (s *Storing) Stored(obj map[string]any) (stored map[string]any, dropped bool) {
	out := runtime.DeepCopyJSON(obj)
	unknown := pruning.PruneWithOptions(out, s.Fields, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	if len(unknown) == 0 {
		return obj, false
	}
	if s.Defaults != nil {
		s.Defaults.fill(out)
	}
	return out, true
}

// Storing returns what is stored of a resource that is written in a version, nil where that is all, or nothing tells.
func (r *Resolver) Storing(gvr schema.GroupVersionResource, requested string) *Storing {
	resource, _ := r.ByResource(gvr)
	if resource.Storing == nil || resource.Storing.Version == requested {
		return nil
	}
	return resource.Storing
}

// fieldsOf returns which fields a version has, nil where it may have any: in a definition from before schemas had to
// be structural nothing is dropped.
func fieldsOf(definition *apiextensionsv1.CustomResourceDefinition, declared *apiextensionsv1.JSONSchemaProps) *structuralschema.Structural {
	var internal apiextensions.JSONSchemaProps
	err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(declared, &internal, nil)
	if err != nil || definition.Spec.PreserveUnknownFields {
		return nil
	}
	fields, err := structuralschema.NewStructural(&internal)
	if err != nil {
		return nil
	}
	// What values have to be like takes most of the room, and nobody asks for it.
	(&structuralschema.Visitor{Structural: func(s *structuralschema.Structural) bool {
		s.Generic = structuralschema.Generic{Type: s.Type}
		s.ValueValidation, s.ValidationExtensions = nil, structuralschema.ValidationExtensions{}
		return true
	}}).Visit(fields)
	return fields
}
