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

package policy

import "github.com/google/cel-go/cel"

// Activation is what a Condition is evaluated over. A nil object, such as
// OldObject on CREATE, is null, and everything below it is absent.
type Activation struct {
	// Object is the object as the request leaves it: of the parent for a rule and
	// for the two whens, of the child for a maintaining entry.
	Object map[string]any
	// OldObject is the object before the request.
	OldObject map[string]any
	// Request is who asks for what.
	Request RequestVars
	// Allowance is the ledger entry that consumption.when asks about, as JSON.
	Allowance map[string]any
	// Budget is shared by all expressions that are about the same object. Nil is no limit
	// beside that of each.
	Budget *Budget
}

// RequestVars is the variable request of an expression.
type RequestVars struct {
	// Username is request.user.username, as the API server authenticated it.
	Username string
	// Groups is request.user.groups.
	Groups []string
	// Operation is request.operation: CREATE, UPDATE or DELETE.
	Operation string
	// Namespace is request.namespace, empty for cluster-scoped objects.
	Namespace string
	// Name is request.name, empty where the API server makes the name up.
	Name string
}

var _ cel.Activation = (*Activation)(nil)

// ResolveName implements cel.Activation.
func (a *Activation) ResolveName(name string) (any, bool) {
	switch name {
	case varObject:
		return orNull(a.Object), true
	case varOldObject:
		return orNull(a.OldObject), true
	case varAllowance:
		return orNull(a.Allowance), true
	case varRequest:
		return a.Request.asMap(), true
	}
	return nil, false
}

// Parent implements cel.Activation: there is none.
func (a *Activation) Parent() cel.Activation { return nil }

// orNull keeps a nil map from being taken for an empty one.
func orNull(m map[string]any) any {
	if m == nil {
		return nil
	}
	return m
}

func (r RequestVars) asMap() map[string]any {
	return map[string]any{
		"user":      map[string]any{"username": r.Username, "groups": r.Groups},
		"operation": r.Operation,
		"namespace": r.Namespace,
		"name":      r.Name,
	}
}
