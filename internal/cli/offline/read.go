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
	"fmt"
	"io"

	"kausality.io/operator/internal/cli/source"
)

// ReadKinds returns the kinds of Kubernetes, with those that the files of definitions and
// the documents define.
func ReadKinds(definitions []string, docs []*source.Document, stdin io.Reader) (*Kinds, error) {
	kinds := NewKinds()
	more, malformed, err := source.Read(definitions, stdin)
	if err != nil {
		return nil, err
	}
	for _, p := range malformed {
		return nil, fmt.Errorf("%s: %s", p, p.Message)
	}
	for _, doc := range append(more, docs...) {
		if !IsDefinition(doc.GVK()) {
			continue
		}
		if err := kinds.DefineObject(doc.Object); err != nil {
			return nil, fmt.Errorf("%s: %w", doc.At("spec"), err)
		}
	}
	return kinds, nil
}
