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

package explain

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/internal/cli/text"
)

func TestRules(t *testing.T) {
	template := Rule{Policy: "template", Trigger: "spec.template", Allows: []string{"create ReplicaSet"}}
	size := Rule{Policy: "size", Trigger: "spec.replicas", Allows: []string{"change spec.replicas of ReplicaSet"}, Conditions: []string{"object.spec.paused != true"}}
	own := size
	own.Policy = template.Policy
	tests := map[string]struct {
		rules []Rule
		want  string
	}{
		"none": {},
		"of one policy": {rules: []Rule{template, own}, want: `
WHAT A CHANGE OF IT WOULD ALLOW
  CHANGE OF       ALLOWS
  spec.template   create ReplicaSet
  spec.replicas   change spec.replicas of ReplicaSet, if object.spec.paused != true
`},
		"of several, which may say the same": {rules: []Rule{template, size}, want: `
WHAT A CHANGE OF IT WOULD ALLOW
  POLICY     CHANGE OF       ALLOWS
  template   spec.template   create ReplicaSet
  size       spec.replicas   change spec.replicas of ReplicaSet, if object.spec.paused != true
`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := &page{terminal: text.Terminal{Width: 120}}
			p.rules(tt.rules)
			if diff := cmp.Diff(tt.want, p.out.String()); diff != "" {
				t.Errorf("rules() (-want +got):\n%s", diff)
			}
		})
	}
}
