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

package cluster

import (
	"slices"
	"strings"
	"sync"
)

// Warnings collects what the API server warns of.
type Warnings struct {
	mu    sync.Mutex
	texts []string
}

// miscellaneous is the code of persistent warnings, the only ones that the API
// server sends.
const miscellaneous = 299

// HandleWarningHeader implements rest.WarningHandler.
func (w *Warnings) HandleWarningHeader(code int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text = strings.TrimPrefix(text, "kausality: ")
	if code == miscellaneous && text != "" && !slices.Contains(w.texts, text) {
		w.texts = append(w.texts, text)
	}
}

// Take returns what it was warned of since the last time.
func (w *Warnings) Take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	texts := w.texts
	w.texts = nil
	return texts
}
