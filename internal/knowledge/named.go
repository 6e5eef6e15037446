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

package knowledge

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kausality.io/operator/api/v1alpha1"
)

// Named is a field of objects that a declaration names.
type Named struct {
	// At is where the declaration names it.
	At *field.Path
	// Path is the text of its path.
	Path string
}

// Fields returns all fields of objects of its kind that a declaration names.
func Fields(declaration *v1alpha1.Knowledge, path *field.Path) []Named {
	if declaration == nil {
		return nil
	}
	n := names{}
	if s := declaration.Settled; s != nil {
		at := path.Child("settled")
		n.add(at.Child("generation"), s.Generation)
		n.add(at.Child("created"), s.Created)
		n.values(at.Child("fields"), s.Fields)
	}
	n.all(path.Child("proves"), declaration.Proves)
	n.all(path.Child("steering"), declaration.Steering)
	n.all(path.Child("cannotWait"), declaration.CannotWait)
	for i, w := range declaration.CannotWaitWith {
		at := path.Child("cannotWaitWith").Index(i)
		n.add(at.Child("set"), w.Set)
		n.all(at.Child("fields"), w.Fields)
	}
	for i, c := range declaration.Children {
		n.child(path.Child("children").Index(i), c)
	}
	for i, b := range declaration.Bookkeeping {
		n.values(path.Child("bookkeeping").Index(i).Child("fields"), b.Fields)
	}
	if s := declaration.Scales; s != nil {
		n.add(path.Child("scales", "reference"), s.Reference)
	}
	for i, a := range declaration.Actions {
		n.add(path.Child("actions").Index(i).Child("path"), a.Path)
	}
	n.all(path.Child("reported"), declaration.Reported)
	return n.found
}

// names collects what a declaration names.
type names struct{ found []Named }

func (n *names) add(at *field.Path, text string) {
	if text != "" {
		n.found = append(n.found, Named{At: at, Path: text})
	}
}

func (n *names) all(at *field.Path, texts []string) {
	for i, text := range texts {
		n.add(at.Index(i), text)
	}
}

func (n *names) values(at *field.Path, fields []v1alpha1.FieldValue) {
	for i, f := range fields {
		n.add(at.Index(i).Child("path"), f.Path)
	}
}

func (n *names) child(at *field.Path, c v1alpha1.ChildKnowledge) {
	n.add(at.Child("template"), c.Template)
	n.all(at.Child("counts"), c.Counts)
	n.add(at.Child("suspend"), c.Suspend)
	n.all(at.Child("unshown"), c.Unshown)
	if s := c.Surge; s != nil {
		n.add(at.Child("surge", "max"), s.Max)
		n.add(at.Child("surge", "strategy"), s.Strategy)
	}
	if o := c.Ordinals; o != nil {
		n.add(at.Child("ordinals", "start"), o.Start)
		n.add(at.Child("ordinals", "strategy"), o.Strategy)
		n.add(at.Child("ordinals", "partition"), o.Partition)
		n.add(at.Child("ordinals", "currentRevision"), o.CurrentRevision)
		n.add(at.Child("ordinals", "updateRevision"), o.UpdateRevision)
	}
	if o := c.Completions; o != nil {
		n.add(at.Child("completions", "count"), o.Count)
	}
}
