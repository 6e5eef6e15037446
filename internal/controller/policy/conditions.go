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

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/access"
	"kausality.io/operator/internal/kubectl"
	"kausality.io/operator/internal/listing"
	"kausality.io/operator/internal/policy"
)

// acceptance is what the Accepted condition of a policy depends on.
type acceptance struct {
	// errs are what does not compile.
	errs field.ErrorList
	// served says that the kind that the policy is for is served.
	served bool
	// unwatchable says that it is, and nobody can list and watch its objects.
	unwatchable bool
	// clashes are the kinds that it names in another version than policies that stand.
	clashes []policy.Clash
	// standing says what is left of it beside other policies.
	standing standing
	// notes are what its author should know although it works (notesOn).
	notes []string
}

// accepted returns the Accepted condition of a policy.
func accepted(p *policy.Policy, a acceptance) metav1.Condition {
	condition := metav1.Condition{
		Type:               v1alpha1.ConditionAccepted,
		Status:             metav1.ConditionFalse,
		ObservedGeneration: p.Generation,
	}
	switch {
	case len(a.clashes) > 0:
		condition.Reason = v1alpha1.ReasonConflicted
		condition.Message = policy.ClashMessage(a.clashes)
	case len(a.errs) > 0:
		problems := make([]string, 0, len(a.errs))
		for _, err := range a.errs {
			problems = append(problems, err.Error())
		}
		condition.Reason = v1alpha1.ReasonInvalid
		condition.Message = "Correct these; the policy works without them: " + listing.Join(problems, "; ")
	case a.unwatchable:
		condition.Reason = v1alpha1.ReasonTargetNotFound
		condition.Message = unwatchableMessage(p) + " Name another kind in spec.for, or delete the policy."
	case !a.served:
		condition.Reason = v1alpha1.ReasonTargetNotFound
		condition.Message = fmt.Sprintf("The API server does not serve kind %s in %s. The policy takes effect when it does.",
			p.For.Kind, p.For.GroupVersion())
	case a.standing.isVoid():
		condition.Reason = v1alpha1.ReasonConflicted
		condition.Message = voidMessage(a.standing)
	default:
		condition.Status = metav1.ConditionTrue
		condition.Reason = v1alpha1.ReasonAccepted
		condition.Message = strings.Join(append([]string{"The policy can work."}, a.notes...), " ")
	}
	return condition
}

// enforcement is what the conditions Enforced, PartiallyEnforced and Overridden of a
// policy depend on.
type enforcement struct {
	// off says that nothing is intercepted, whatever policies say.
	off bool
	// failing says what could not be written of that by which the API server asks, and gone that something
	// of it is not there any more, or is another one.
	failing string
	gone    bool
	// served says that the kind that the policy is for is served.
	served bool
	// unwatchable says that it is, and nobody can list and watch its objects.
	unwatchable bool
	// clashes are the kinds that it names in another version than policies that stand.
	clashes []policy.Clash
	// missing are the rights that the operator would need.
	missing []access.Need
	// lacks are what the operator cannot do whatever policies say, as rights of its own are missing.
	lacks []access.Lack
	// unread are the kinds whose objects are not known.
	unread unread
	// active says that the webhook judges by the policy, and by those through
	// which chains come to it; adopted that the holders that were midway are
	// recorded for this generation of it.
	active, adopted bool
	// waiting says that nobody can start the chains that it continues.
	waiting bool
	// parents are the policies that name its kind; all of them wait themselves.
	parents []string
	// rendered says that the API server asks about what this generation names.
	rendered bool
	// standing says what is left of it beside other policies.
	standing standing
}

// enforced returns the conditions Enforced, PartiallyEnforced and Overridden. At most one
// of them is True, and all three have the same reason, which is the type of that one
// if there is one.
func enforced(p *policy.Policy, e enforcement) []metav1.Condition {
	reason, message := e.assess(p)
	conditions := make([]metav1.Condition, 0, 3)
	for _, conditionType := range []string{
		v1alpha1.ConditionEnforced, v1alpha1.ConditionPartiallyEnforced, v1alpha1.ConditionOverridden,
	} {
		status := metav1.ConditionFalse
		if conditionType == reason {
			status = metav1.ConditionTrue
		}
		conditions = append(conditions, metav1.Condition{
			Type: conditionType, Status: status, Reason: reason, Message: message, ObservedGeneration: p.Generation,
		})
	}
	return conditions
}

// assess returns how far the policy is enforced, as a reason, and says why.
func (e enforcement) assess(p *policy.Policy) (reason, message string) {
	switch {
	case e.off:
		return v1alpha1.ReasonSwitchedOff, "Nothing is intercepted: the ValidatingWebhookConfiguration for AllowancePolicies is not installed. " +
			"Apply the installation again to switch it on."
	case e.gone:
		return v1alpha1.ReasonNotIntercepted, notInterceptedMessage("Something by which the API server asks about what policies name is gone, or was changed, "+
			"and cannot be put back, so that requests may pass unseen", e.failing)
	case e.unwatchable:
		return v1alpha1.ReasonPending, unwatchableMessage(p) + " None of the policy is enforced."
	case !e.served:
		return v1alpha1.ReasonPending, fmt.Sprintf("Waits until kind %s is served in %s.", p.For.Kind, p.For.GroupVersion())
	case len(e.clashes) > 0:
		return v1alpha1.ReasonOverridden, policy.ClashMessage(e.clashes)
	case len(e.missing) > 0:
		return v1alpha1.ReasonForbidden, forbiddenMessage(p, e.missing)
	case slices.ContainsFunc(e.lacks, isVital):
		return v1alpha1.ReasonImpaired, strings.TrimSpace(lackMessage(e.lacks))
	case len(e.unread.awaited) > 0:
		return v1alpha1.ReasonPending, "The existing objects of these kinds are being read: " + kindNames(e.unread.awaited) +
			". If this lasts, the operator's log says why."
	case !e.active || !e.adopted:
		return v1alpha1.ReasonPending, "Objects that are in the middle of something are being recorded, so that they can finish it."
	case e.waiting:
		return v1alpha1.ReasonWaiting, waitingMessage(p, e.parents)
	case !e.rendered && e.failing != "":
		return v1alpha1.ReasonNotIntercepted, notInterceptedMessage("The API server cannot be told to ask about what the policy names", e.failing)
	case !e.rendered:
		return v1alpha1.ReasonPending, "The API server is being told to ask about what the policy names."
	case e.standing.isVoid():
		return v1alpha1.ReasonOverridden, voidMessage(e.standing)
	case len(e.standing.overridden) > 0:
		return v1alpha1.ReasonPartiallyEnforced, "Requests for what the policy names are judged by it, but for what an older policy decides " +
			"for the same objects: " + byField(e.standing.overridden, "by") + "." + overridesMessage(e.standing) + e.unread.message() + lackMessage(e.lacks)
	default:
		return v1alpha1.ReasonEnforced, "Requests for what the policy names are judged by it." + overridesMessage(e.standing) + e.unread.message() + lackMessage(e.lacks)
	}
}

// notInterceptedMessage says what is missing, why it is not written, and what to do.
func notInterceptedMessage(what, failing string) string {
	return fmt.Sprintf("%s: %s. Where a right is missing, apply the installation again, which gives it back; the operator tries again by itself within half a minute.",
		what, strings.TrimSuffix(failing, "."))
}

// lackIntro begins what lackMessage says.
const lackIntro = " The operator lacks rights of its own. To give them back, apply the installation again, with make deploy IMG=<image> or helm upgrade " +
	"(\"Another version\" in docs/install.md); they take effect within half a minute."

// lackMessage says which rights of its own the operator lacks, if any, what is so meanwhile, and what to do. What to
// do comes first, as an Event may have no room for all.
func lackMessage(lacks []access.Lack) string {
	if len(lacks) == 0 {
		return ""
	}
	var out strings.Builder
	out.WriteString(lackIntro)
	for _, lack := range lacks {
		fmt.Fprintf(&out, " It has no right to %s: %s.", needNames(lack.Missing), lack.Without)
	}
	return out.String()
}

func isVital(lack access.Lack) bool { return lack.Vital }

// message says which kinds that go with the policy cannot be read, if any.
func (u unread) message() string {
	if len(u.failing) == 0 {
		return ""
	}
	return fmt.Sprintf(" The objects of %s, for which other policies are, cannot be read, and what these allow is not known here; the operator's log says why.",
		kindNames(u.failing))
}

func kindNames(kinds []schema.GroupKind) string {
	names := make([]string, 0, len(kinds))
	for _, kind := range kinds {
		names = append(names, kind.String())
	}
	slices.Sort(names)
	return listing.Join(names, ", ")
}

// unwatchableMessage says why nothing can be enforced for a kind that is served.
func unwatchableMessage(p *policy.Policy) string {
	return fmt.Sprintf("Objects of kind %s in %s cannot be listed and watched, so that nothing can be known of them.", p.For.Kind, p.For.GroupVersion())
}

// forbiddenMessage says which rights are missing, and what gives them.
func forbiddenMessage(p *policy.Policy, missing []access.Need) string {
	return fmt.Sprintf("The operator has no right to %s; none of the policy is enforced. To give it these rights: kubectl kausality access %s | kubectl apply -f -",
		needNames(missing), kubectl.Name(p.Name))
}

func needNames(needs []access.Need) string {
	names := make([]string, 0, len(needs))
	for _, need := range needs {
		names = append(names, need.String())
	}
	return listing.Join(names, ", ")
}

// voidMessage says why a policy has no effect.
func voidMessage(s standing) string {
	return "Without this policy nothing would be different: an older one decides for each of its objects: " +
		byField(s.overridden, "by") + ". Change these fields there, or select other objects here."
}

// overridesMessage says for whom the policy decides, if for anybody.
func overridesMessage(s standing) string {
	if len(s.overrides) == 0 {
		return ""
	}
	return " It overrides younger policies for the same objects: " + byField(s.overrides, "of") + "."
}

func waitingMessage(p *policy.Policy, parents []string) string {
	if len(parents) == 0 {
		return fmt.Sprintf("Nobody can start what the policy allows: no subject has mayInitiate: true, and no policy for an owner "+
			"of %s objects names their resource as a ControllerChild. Apply one, or add a subject that may initiate.", p.For.Kind)
	}
	return fmt.Sprintf("Nobody can start what the policy allows: no subject has mayInitiate: true, neither here nor in %s, "+
		"through which chains would come. Add a subject that may initiate.", listing.Join(parents, ", "))
}

// startable reports whether somebody can start the chains that p continues, and if
// not, which policies for parents name the kind of p.
func startable(index *policy.Index, p *policy.Policy) (bool, []string) {
	var parents []string
	seen := map[*policy.Policy]bool{p: true}
	for queue := []*policy.Policy{p}; len(queue) > 0; queue = queue[1:] {
		if queue[0].HasInitiator() {
			return true, nil
		}
		for _, parent := range index.Policies() {
			if seen[parent] || !parent.Bounds(queue[0].For.GroupKind()) {
				continue
			}
			seen[parent] = true
			queue = append(queue, parent)
			parents = append(parents, parent.Name)
		}
	}
	return false, parents
}
