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

package nullsafe

import (
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
)

// A name with a dot is a variable: what is selected from it may be absent, it is not.
func TestQualifiedNames(t *testing.T) {
	env, err := cel.NewEnv(append(Options(), cel.OptionalTypes(),
		cel.Variable("variables.source", cel.DynType),
		cel.Variable("variables.gone", cel.DynType),
		cel.Variable("variables.name", cel.StringType))...)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{
		"variables.source": map[string]any{"data": map[string]any{"a": "b"}},
		"variables.gone":   types.NullValue,
		"variables.name":   "web",
	}
	for name, source := range map[string]string{
		"a field":                 "variables.source.data.a == 'b'",
		"an absent field":         "variables.source.metadata.labels['x'] == null",
		"a key":                   "variables.source.data['a'] == 'b'",
		"below null":              "variables.gone.data.a == null",
		"has":                     "has(variables.source.data) && !has(variables.source.spec.x)",
		"has of the variable":     "has(variables.source) && !has(variables.gone)",
		"items of null":           "variables.gone.all(x, false) && size(variables.gone) == 0 && !('a' in variables.gone)",
		"items":                   "variables.source.data.exists(k, k == 'a') && variables.source.exists(k, k == 'data')",
		"of a known type":         "variables.name.startsWith('w')",
		"in a map":                "{'name': variables.name, 'x': variables.source.x}.x == null",
		"optional":                "variables.source.?spec.?x.orValue('none') == 'none'",
		"argument of a function":  "string(variables.source.data.a) == 'b'",
		"within a comprehension":  "['a'].all(k, variables.source.data[k] == 'b')",
		"equal":                   "variables.source.data == {'a': 'b'}",
		"the variable as a whole": "variables.gone == null && variables.source != null",
	} {
		t.Run(name, func(t *testing.T) {
			parsed, issues := env.Parse(source)
			if issues.Err() != nil {
				t.Fatal(issues.Err())
			}
			Rewrite(parsed, env.Variables())
			checked, issues := env.Check(parsed)
			if issues.Err() != nil {
				t.Fatal(issues.Err())
			}
			program, err := env.Program(checked)
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := program.Eval(values)
			if err != nil {
				t.Fatal(err)
			}
			if got != types.True {
				t.Errorf("%s = %v, want true", source, got)
			}
		})
	}
}
