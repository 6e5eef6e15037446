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

package lifecycle

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/knowledge"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
)

// Consumed returns which entries of an object's ledger are consumed, now that the
// object is as it is: those for a generation at which it has settled, and creation
// entries whose initializing.when has become false (D8, D9). policies are those in effect for the
// object, the oldest first; where two say when, the oldest counts (D19).
//
// It says nothing of kinds whose status tells nothing: only time ends theirs. An
// entry found consumed once stays so: the caller has it pruned.
//
// A status that may lag (LagOf) is believed only for entries that are quiet.
// Admission has no clock to tell, and passes Unknown.
//
// What an object says of itself tells nothing of those that read it: an Issuer is Ready at
// once, and a Certificate may be issued by it much later. What readers may do is ended by
// time alone, or by what a policy says.
func Consumed(ctx context.Context, obj *unstructured.Unstructured, policies []*policy.Policy, quiet Quiet) func(ledger.Entry) bool {
	known := knownOf(obj, policies)
	progress, _ := assess(obj, known)
	generation := obj.GetGeneration()
	initializing, settledWhen := Conditions(policies)
	budget := policy.NewBudget()
	lag := lagOf(obj, policies, known)
	if lag == NoLag {
		quiet = always
	}
	authored := authored(obj, policies)
	return func(e ledger.Entry) bool {
		switch {
		case e.IsGate():
			return false // The gate's own controller sees what has happened outside (D16).
		case e.IsWithheld():
			return false // It ends with what it tells of.
		case e.Generation > generation:
			return false
		}
		if e.IsCreation() && !e.IsForReaders() && initializing != nil {
			// Where the condition cannot be evaluated, the status decides.
			if still, err := Holds(ctx, initializing, obj, e, budget); err == nil {
				return !still
			}
		}
		if settledWhen != nil {
			settled, err := Holds(ctx, settledWhen, obj, e, budget)
			waits := authored || known.Settled.Late && !e.IsCreation()
			return err == nil && settled && (!waits || quiet(e))
		}
		switch {
		case e.IsForReaders():
			return false
		case e.IsCreation() && endsCreation(obj, known, progress, lag):
			return true
		default:
			return progress.Settled && quiet(e)
		}
	}
}

// endsCreation reports whether the status ends what the creation allowed, without a quiet time: a new
// object has no older spec that its status could be about.
func endsCreation(obj *unstructured.Unstructured, known *knowledge.Kind, progress Progress, lag Lag) bool {
	return hasRun(obj, known.Settled.Created) || progress.Settled && lag == StatusLag
}

// SettledAt reports whether the object, as it is, has settled at a generation: whether an
// allowance that was granted for it just now would be consumed at once.
func SettledAt(ctx context.Context, obj *unstructured.Unstructured, policies []*policy.Policy, generation int64) bool {
	return Consumed(ctx, obj, policies, always)(ledger.NewEntry(v1alpha1.Allowance{Generation: generation}))
}

// Conditions returns the conditions of the policies in effect for a holder, the oldest first,
// that replace what its status says: while an object is initializing, and when it
// has settled. Either may be nil.
func Conditions(policies []*policy.Policy) (initializing, settled *policy.Condition) {
	if p := policy.Deciding(policies, policy.FieldInitializingWhen); p != nil {
		initializing = p.InitializingWhen
	}
	if p := policy.Deciding(policies, policy.FieldConsumptionWhen); p != nil {
		settled = p.Consumption.When
	}
	return initializing, settled
}

// Midway reports whether an object that no ledger speaks of is in the middle of
// something (D20). Where its status never tells, it is for as long as an allowance
// would last from its creation on.
func Midway(ctx context.Context, obj *unstructured.Unstructured, policies []*policy.Policy, now time.Time) bool {
	if obj.GetDeletionTimestamp() != nil {
		return false
	}
	if _, settled := Conditions(policies); settled != nil {
		done, err := Holds(ctx, settled, obj, Granted(obj), policy.NewBudget())
		return err != nil || !done
	}
	progress := Of(obj, policies)
	if !progress.Timed {
		return !progress.Settled
	}
	return now.Before(obj.GetCreationTimestamp().Add(policy.TTL(policies)))
}

// Adopting reports whether the adoption of an object, begun at since, goes on (D20). It ends when the
// object settles. If its status never tells, it ends when an allowance would; end is that time, and
// zero otherwise.
func Adopting(ctx context.Context, obj *unstructured.Unstructured, policies []*policy.Policy, since, now time.Time) (goes bool, end time.Time) {
	if _, settled := Conditions(policies); settled == nil && Of(obj, policies).Timed {
		end = since.Add(policy.TTL(policies))
		return end.After(now), end
	}
	return Midway(ctx, obj, policies, now), time.Time{}
}

// Granted returns an entry as the last change of the object would have granted it, for conditions that are
// evaluated where the ledger has none. Observed with an empty entry, which has no generation: the condition
// that the documentation recommends was never true, and StatefulSets that had settled were adopting for ever.
func Granted(obj *unstructured.Unstructured) ledger.Entry {
	return ledger.NewEntry(v1alpha1.Allowance{Generation: obj.GetGeneration()})
}

// Holds evaluates a condition that says when an object has settled, for an entry of its
// ledger.
func Holds(ctx context.Context, c *policy.Condition, obj *unstructured.Unstructured, e ledger.Entry, budget *policy.Budget) (bool, error) {
	allowance, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&e.Allowance)
	if err != nil {
		// An Allowance is made of strings, numbers, and lists and maps of them.
		panic("lifecycle: an allowance that cannot be converted: " + err.Error())
	}
	return c.Eval(ctx, policy.Activation{Object: obj.Object, Allowance: allowance, Budget: budget})
}
