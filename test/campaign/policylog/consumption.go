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

package policylog

import (
	"encoding/json"
	"math"
	"sync"

	"github.com/google/cel-go/cel"

	"kausality.io/operator/test/campaign/audit"
)

// Consumed reports whether an allowance for a generation of an object has been used up by what the policy says, as it is
// written. It is known only where the policy says anything about it that CEL itself can read.
func (p *Policy) Consumed(o *audit.Object, generation int64) (used, known bool) {
	if p.Consumption.When == "" {
		return false, false
	}
	program := compiled(p.Consumption.When)
	if program == nil {
		return false, false
	}
	object := map[string]any{"metadata": map[string]any{"name": o.Name, "namespace": o.Namespace, "generation": o.Generation, "labels": o.Labels, "annotations": o.Annotations}}
	for key, value := range o.Fields {
		object[key] = whole(value)
	}
	var status any
	if json.Unmarshal(o.RawStatus, &status) == nil {
		object["status"] = whole(status)
	}
	out, _, err := program.Eval(map[string]any{"object": object, "allowance": map[string]any{"generation": generation}})
	// What cannot be evaluated does not hold: so is what is compared with a field that is absent.
	if err != nil {
		return false, true
	}
	holds, isBool := out.Value().(bool)
	return isBool && holds, true
}

// programs are the expressions that have been read, nil where that is not possible.
var programs sync.Map

func compiled(text string) cel.Program {
	if known, ok := programs.Load(text); ok {
		program, _ := known.(cel.Program)
		return program
	}
	program := compile(text)
	programs.Store(text, program)
	return program
}

func compile(text string) cel.Program {
	env, err := cel.NewEnv(cel.OptionalTypes(), cel.CrossTypeNumericComparisons(true), cel.Variable("object", cel.DynType), cel.Variable("allowance", cel.DynType))
	if err != nil {
		return nil
	}
	ast, issues := env.Compile(text)
	if issues.Err() != nil {
		return nil
	}
	program, err := env.Program(ast)
	if err != nil {
		return nil
	}
	return program
}

// whole returns a value of JSON with integers where its numbers are.
func whole(value any) any {
	switch typed := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(typed))
		for key, below := range typed {
			out[key] = whole(below)
		}
		return out
	case []any:
		out := make([]any, 0, len(typed))
		for _, item := range typed {
			out = append(out, whole(item))
		}
		return out
	case float64:
		if typed == math.Trunc(typed) && math.Abs(typed) < 1<<53 {
			return int64(typed)
		}
	}
	return value
}
