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
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apimachinery/pkg/runtime/schema"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// Result is what a policy says of one trigger.
type Result struct {
	// Matched is false where the policy wants nothing because the trigger is none of its own.
	Matched bool
	// Objects are what the policy wants, by kind, namespace and name.
	Objects []Wanted
	// Reads are what it read on the way.
	Reads []Read
	// LeftOut counts what was applied and is not wanted.
	LeftOut map[LeftOut]int
	// Elsewhere are the objects that were applied to another namespace than the one that they name, and not to that one as
	// well.
	Elsewhere []Elsewhere
	// NotServed are the kinds of which objects would be wanted, were they served.
	NotServed []schema.GroupVersionKind
}

// Elsewhere is an object that is not wanted, as it was applied to another namespace than the one that it names.
type Elsewhere struct {
	// Kind and Name say which object it is, Namespace which one it names, and To the one to which it was applied.
	Kind, Name, Namespace, To string
}

// String says it.
func (e Elsewhere) String() string {
	return fmt.Sprintf("%s %s names namespace %s and is applied to %s", e.Kind, e.Name, e.Namespace, e.To)
}

// Wanted is an object that a policy wants.
type Wanted struct {
	// ID is which object it is.
	ID ID
	// Content is the object, with kind and apiVersion. It shares nothing with what was read.
	Content map[string]any
	// Source is the object that it is a clone of, nil where it is data.
	Source *ID
}

// LeftOut is why something that was applied is not wanted.
type LeftOut string

const (
	// LeftOutNothing means that what was applied is not there.
	LeftOutNothing LeftOut = "Nothing"
	// LeftOutSourceGone means that the object would be a clone of what is not there.
	LeftOutSourceGone LeftOut = "SourceGone"
	// LeftOutOtherNamespace means that the object names another namespace than the one that
	// it was applied to.
	LeftOutOtherNamespace LeftOut = "OtherNamespace"
	// LeftOutIsSource means that the object would be a clone of itself.
	LeftOutIsSource LeftOut = "IsSource"
	// LeftOutNotServed means that the API server serves no such kind now.
	LeftOutNotServed LeftOut = "KindNotServed"
)

// Evaluate says which objects the policy wants for a trigger. An error is an *Error, or says
// that the context ended; it says nothing about what is wanted.
func (p *Policy) Evaluate(ctx context.Context, trigger *Trigger, from Snapshot) (*Result, error) {
	matches, err := p.Matches(trigger)
	if err != nil {
		return nil, err
	}
	if !matches {
		return &Result{}, nil
	}
	if len(trigger.Above) > MaxAbove {
		return nil, &Error{Reason: ReasonLimit, Detail: fmt.Sprintf("the trigger was made by policies that follow one another, %d of them, and %d may", len(trigger.Above), MaxAbove)}
	}
	if p.NeedsRequest() && trigger.Request == nil {
		return nil, &Error{Reason: ReasonRead, Detail: "the policy asks about the request that made the trigger, and nobody has noted it: change the trigger"}
	}
	e := newEvaluation(p, trigger, from)
	e.resolve = e.runner(ctx)
	matched, err := e.matched(ctx, trigger.isAskedOf)
	if err != nil {
		return nil, err
	}
	if !matched {
		return &Result{Reads: e.allReads()}, nil
	}
	for _, x := range p.generate {
		result, err := e.run(ctx, x)
		if err != nil {
			return nil, err
		}
		if err := onlyBools(result, 0); err != nil {
			return nil, &Error{Field: x.field, Reason: ReasonEvaluation, Detail: err.Error()}
		}
	}
	return e.result(), nil
}

// runner returns what evaluates the variables that an expression uses.
func (e *evaluation) runner(ctx context.Context) func(*expression) (ref.Val, error) {
	return func(x *expression) (ref.Val, error) { return e.run(ctx, x) }
}

// matched reports whether all conditions that are asked hold. One that does not hold decides, whether or
// not another one fails: so do those of webhooks and admission policies.
func (e *evaluation) matched(ctx context.Context, asked func(*expression) bool) (bool, error) {
	var failed error
	for _, x := range e.policy.conditions {
		if !asked(x) {
			continue
		}
		result, err := e.run(ctx, x)
		switch {
		case ctx.Err() != nil:
			return false, err
		case err != nil:
			failed = cmp.Or(failed, err)
		case result == types.False:
			return false, nil
		case result != types.True:
			failed = cmp.Or(failed, error(&Error{Field: x.field, Reason: ReasonEvaluation, Detail: "the condition yields neither true nor false"}))
		}
	}
	return failed == nil, failed
}

// onlyBools returns an error where a generate expression yields something other than what
// generator.ApplyAll does, or lists of it: then it forgot to apply what it made.
func onlyBools(v ref.Val, depth int) error {
	switch v := v.(type) {
	case types.Bool, types.Null:
		return nil
	case *types.Optional:
		if !v.HasValue() {
			return nil
		}
		return onlyBools(v.GetValue(), depth)
	case traits.Lister:
		for it := v.Iterator(); depth <= MaxNesting && it.HasNext() == types.True; {
			if err := onlyBools(it.Next(), depth+1); err != nil {
				return err
			}
		}
		if depth <= MaxNesting {
			return nil
		}
	}
	return errors.New("the expression yields something that it does not apply: pass it to generator.ApplyAll")
}

// run evaluates an expression. What it costs counts for the whole evaluation.
func (e *evaluation) run(ctx context.Context, x *expression) (ref.Val, error) {
	if e.budget == 0 {
		return nil, &Error{Field: x.field, Reason: ReasonLimit, Detail: "the expressions cost all that those of a policy may for one trigger: make them look at less"}
	}
	result, details, err := x.program.ContextEval(ctx, e)
	e.spend(details)
	if err == nil {
		return result, nil
	}
	var own *Error
	var ended interpreter.EvalCancelledError
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("evaluating %s was interrupted: %w", x.field, context.Cause(ctx))
	case errors.As(err, &own):
		if own.Field == nil {
			own.Field = x.field
		}
		return nil, own
	case errors.As(err, &ended) && ended.Cause == interpreter.CostLimitExceeded:
		return nil, &Error{Field: x.field, Reason: ReasonLimit, Detail: "the expression costs more than one may: make it look at less"}
	}
	// What CEL says of the failure may carry values of objects.
	return nil, &Error{Field: x.field, Reason: ReasonEvaluation, Detail: "the expression fails for this trigger: something that it needs is absent or of another type"}
}

// spend takes what an expression has cost. One that has exceeded its limit does not say.
func (e *evaluation) spend(details *cel.EvalDetails) {
	cost := uint64(celconfig.PerCallLimit)
	if actual := details.ActualCost(); actual != nil {
		cost = *actual
	}
	e.budget -= min(cost, e.budget)
}
