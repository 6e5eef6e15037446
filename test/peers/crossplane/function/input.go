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

package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	"google.golang.org/protobuf/types/known/structpb"
)

// input is what a step of a Composition's pipeline says to the function.
type input struct {
	// Delay is how long the function thinks before it answers, such as "2s".
	Delay string `json:"delay,omitempty"`
	// Resources are what to compose.
	Resources []template `json:"resources,omitempty"`
}

// template is one resource to compose.
type template struct {
	// Name tells the resource from the others of the Composition.
	Name string `json:"name"`
	// When is a field of the composite resource without which, or with the value
	// false of which, the resource is not composed. Without When it always is.
	When string `json:"when,omitempty"`
	// Base is the resource without what is copied into it.
	Base map[string]any `json:"base"`
	// Patches are the fields that are copied; those that the composite resource
	// does not have are left out.
	Patches []patch `json:"patches,omitempty"`
}

// patch copies a field of the composite resource to one of the composed resource.
type patch struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// parseInput reads an input, and how long to wait.
func parseInput(raw *structpb.Struct) (input, time.Duration, error) {
	var in input
	content, err := json.Marshal(raw.AsMap())
	if err != nil {
		return in, 0, err
	}
	if err := json.Unmarshal(content, &in); err != nil {
		return in, 0, fmt.Errorf("the input of the function does not parse: %w", err)
	}
	if in.Delay == "" {
		return in, 0, nil
	}
	delay, err := time.ParseDuration(in.Delay)
	return in, delay, err
}

// wanted reports whether the resource is to be composed for a composite resource.
func (t template) wanted(composite *fieldpath.Paved) (bool, error) {
	if t.When == "" {
		return true, nil
	}
	value, err := composite.GetValue(t.When)
	if fieldpath.IsNotFound(err) {
		return false, nil
	}
	on, isBool := value.(bool)
	return on || !isBool, err
}

// compose returns the resource for a composite resource.
func (t template) compose(composite *fieldpath.Paved) (map[string]any, error) {
	out := fieldpath.Pave(t.Base)
	for _, p := range t.Patches {
		value, err := composite.GetValue(p.From)
		if fieldpath.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := out.SetValue(p.To, value); err != nil {
			return nil, err
		}
	}
	return out.UnstructuredContent(), nil
}
