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

package generate

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// evaluation is one evaluation of a policy. It gives the expressions their variables, reads
// for them, and collects what they apply.
type evaluation struct {
	policy   *Policy
	trigger  *Trigger
	snapshot Snapshot
	// resolve evaluates a variable.
	resolve func(*expression) (ref.Val, error)
	// budget is what is left of what expressions may cost.
	budget uint64

	// variables are the values of those that were asked for.
	variables map[string]ref.Val
	objects   map[string]ref.Val

	// reads are the results of reading, by what was read.
	reads map[Read]ref.Val
	// read are the objects that were found, gone those that were asked for by name and are
	// not there.
	read map[ID]bool
	gone []ID
	// found counts them, those of each list.
	found int

	// scopes is what is known of kinds.
	scopes map[schema.GroupVersionKind]scope

	// applied counts what was applied, bytes its size, those included that are applied twice.
	applied, bytes int
	wanted         map[ID]Wanted
	leftOut        map[LeftOut]int
	// elsewhere has what was applied to another namespace than the one that it names, by what it would be there.
	elsewhere map[ID]Elsewhere
	notServed map[schema.GroupVersionKind]bool
}

// scope is where the objects of a kind are.
type scope struct{ served, namespaced bool }

var _ cel.Activation = (*evaluation)(nil)

func newEvaluation(p *Policy, trigger *Trigger, from Snapshot) *evaluation {
	return &evaluation{
		policy: p, trigger: trigger, snapshot: from,
		budget:    p.budget,
		variables: map[string]ref.Val{},
		objects: map[string]ref.Val{
			varObject:    orNull(trigger.Object),
			varOldObject: orNull(trigger.OldObject),
			varNamespace: orNull(trigger.Namespace),
		},
		reads: map[Read]ref.Val{}, read: map[ID]bool{},
		scopes: map[schema.GroupVersionKind]scope{},
		wanted: map[ID]Wanted{}, leftOut: map[LeftOut]int{}, elsewhere: map[ID]Elsewhere{},
		notServed: map[schema.GroupVersionKind]bool{},
	}
}

// orNull returns an object, or null where there is none.
func orNull(content map[string]any) ref.Val {
	if content == nil {
		return types.NullValue
	}
	return newObject(content, IDOf(content))
}

// ResolveName implements cel.Activation.
func (e *evaluation) ResolveName(name string) (any, bool) {
	if v, ok := e.objects[name]; ok {
		return v, true
	}
	switch name {
	case varRequest:
		if e.trigger.Request == nil {
			return types.NullValue, true
		}
		return e.trigger.Request, true
	case varResource:
		return &handle{is: resourcesType, run: e}, true
	case varGenerator:
		return &handle{is: generatorType, run: e}, true
	}
	if variable, ok := strings.CutPrefix(name, varVariables+"."); ok {
		return e.variable(variable)
	}
	return nil, false
}

// Parent implements cel.Activation: there is none.
func (e *evaluation) Parent() cel.Activation { return nil }

// variable returns the value of a variable, evaluated when it is first asked for.
func (e *evaluation) variable(name string) (any, bool) {
	if v, ok := e.variables[name]; ok {
		return v, true
	}
	x, ok := e.policy.variables[name]
	if !ok {
		return nil, false
	}
	v, err := e.resolve(x)
	if err != nil {
		v = types.WrapErr(err)
	}
	e.variables[name] = v
	return v, true
}

// allReads returns what was read, in order.
func (e *evaluation) allReads() []Read {
	return slices.SortedFunc(maps.Keys(e.reads), compareReads)
}

// result returns what was collected.
func (e *evaluation) result() *Result {
	out := &Result{Matched: true, Reads: e.allReads(), LeftOut: e.leftOut}
	for _, id := range slices.SortedFunc(maps.Keys(e.wanted), ID.Compare) {
		out.Objects = append(out.Objects, e.wanted[id])
	}
	for _, id := range slices.SortedFunc(maps.Keys(e.elsewhere), ID.Compare) {
		// Who applies all to each namespace means that each goes to its own.
		if _, isWanted := e.wanted[id]; !isWanted {
			out.Elsewhere = append(out.Elsewhere, e.elsewhere[id])
		}
	}
	out.NotServed = slices.SortedFunc(maps.Keys(e.notServed), func(a, b schema.GroupVersionKind) int {
		return strings.Compare(a.String(), b.String())
	})
	return out
}
