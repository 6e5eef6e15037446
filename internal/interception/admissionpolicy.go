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

package interception

import (
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kausality.io/operator/api/v1alpha1"
)

// requests are the annotations under our domain that users set to ask for
// something; whether they may is the webhook's to judge (D13, D20).
var requests = []string{v1alpha1.AnnotationApprove, v1alpha1.AnnotationBreakGlass, v1alpha1.AnnotationOrphan}

// admissionPolicy renders what protects the annotations of holders inside the API
// server, so that a ledger can be neither forged nor dropped while the webhook is
// down (D10). What a request says about them is replaced by what the old object
// has, in silence: refusing would break "kubectl apply" of an old manifest.
//
// It is never reinvoked, as it would then strip the webhook's own grant. Its
// failurePolicy is Ignore, since a defect in it must not stop a cluster whose
// webhook, when it is up, does the same and more.
//
// Annotations under kausality.io/ on a ReplicaSet that a Deployment controls are
// copies that the Deployment controller rewrites on each sync. They are left
// alone, and as nobody guards them they are worth nothing once the Deployment lets
// go of the ReplicaSet: then they go.
func admissionPolicy(in Input, scope *metav1.LabelSelector, resources []*resource) (
	*admissionregistrationv1.MutatingAdmissionPolicy, *admissionregistrationv1.MutatingAdmissionPolicyBinding,
) {
	rules := protectionRules(resources)
	if len(rules) == 0 {
		return nil, nil
	}
	named := make([]admissionregistrationv1.NamedRuleWithOperations, len(rules))
	for i, rule := range rules {
		named[i] = admissionregistrationv1.NamedRuleWithOperations{RuleWithOperations: rule}
	}
	return &admissionregistrationv1.MutatingAdmissionPolicy{
			ObjectMeta: objectMeta(in),
			Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
				MatchConstraints: &admissionregistrationv1.MatchResources{
					NamespaceSelector: scope,
					ObjectSelector:    &metav1.LabelSelector{},
					ResourceRules:     named,
					MatchPolicy:       ptr.To(admissionregistrationv1.Equivalent),
				},
				MatchConditions:    protectionConditions(in, resources),
				Variables:          append(protectionVariables(), gateVariables(in, resources)...),
				FailurePolicy:      ptr.To(admissionregistrationv1.Ignore),
				ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
				Mutations: []admissionregistrationv1.Mutation{{
					PatchType: admissionregistrationv1.PatchTypeJSONPatch,
					JSONPatch: &admissionregistrationv1.JSONPatch{Expression: protectionPatch + gatePatch(resources)},
				}},
			},
		}, &admissionregistrationv1.MutatingAdmissionPolicyBinding{
			ObjectMeta: objectMeta(in),
			Spec:       admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: in.Name},
		}
}

// protectionConditions come before the variables, and leave out each request of which
// the patch would change nothing. That spares it the round trip through JSON, and more:
// an API server that does not know the schema of a kind yet, which it looks for every five
// seconds after its start and after each new definition, answers what the policy applies
// to with 503, whatever the failurePolicy says. Who approves, and a controller that copies annotations,
// must not get that answer.
func protectionConditions(in Input, resources []*resource) []admissionregistrationv1.MatchCondition {
	return []admissionregistrationv1.MatchCondition{
		{Name: "not-the-operator", Expression: "!" + byOperator(in)},
		{Name: "something-to-put-back", Expression: anyOf(append([]string{concernsProtection()}, concernsGate(resources)...)...)},
	}
}

// concernsProtection is true where there are keys to drop or to restore, as
// protectionVariables has them.
func concernsProtection() string {
	return protectionText(`[{new}].exists(new, [oldObject == null ? {} : {old}].exists(old,
[{copied}].exists(copied, [{wasCopied}].exists(wasCopied,
  (new != old || (wasCopied && !copied)) && (size(new) + size(old) > {many}
  ? {ledgers}.exists(k, {differs})
  : (new.exists(k, {ours} && !(k in {free}) && {differs}) || old.exists(k, {ours} && !(k in {free}) && {differs})))))))`)
}

// protectionVariables decide what the patch does:
//
//	old, new   the annotations before, and as the request has them
//	keys       those that are ours to look at; among too many to look at, the
//	           ledgers, which are what permits something
//	copied     the object is a ReplicaSet of a Deployment; wasCopied: it was one
//	drop       keys that the request brings and the old object does not vouch for
//	restore    keys of the old object that the request drops or changes
func protectionVariables() []admissionregistrationv1.Variable {
	return []admissionregistrationv1.Variable{
		{Name: "new", Expression: protectionText(`{new}`)},
		{Name: "old", Expression: protectionText(`oldObject == null ? {} : {old}`)},
		{Name: "keys", Expression: protectionText(`size(variables.new) + size(variables.old) > {many}
? {ledgers}
: (variables.new.filter(k, {ours}) + variables.old.filter(k, {ours} && !(k in variables.new))).filter(k, !(k in {free}))`)},
		{Name: "copied", Expression: protectionText(`{copied}`)},
		{Name: "wasCopied", Expression: protectionText(`{wasCopied}`)},
		{Name: "drop", Expression: protectionText(`variables.keys.filter(k, k in variables.new
&& !(k in variables.old && !(variables.wasCopied && k.startsWith("{prefix}")))
&& !(variables.copied && k.startsWith("{prefix}")))`)},
		{Name: "restore", Expression: protectionText(`variables.keys.filter(k, k in variables.old
&& !(variables.wasCopied && k.startsWith("{prefix}"))
&& !(variables.copied && k.startsWith("{prefix}"))
&& (!(k in variables.new) || variables.new[k] != variables.old[k]))`)},
	}
}

// protectionText fills in what the expressions of the protection have in common.
// {differs} is true for a key of which an annotation is dropped or restored.
func protectionText(text string) string {
	free := make([]string, 0, 2*len(requests))
	for _, key := range requests {
		free = append(free, key, replicaSetKey(key))
	}
	for _, fill := range []*strings.Replacer{
		strings.NewReplacer("{differs}", `(!(copied && k.startsWith("{prefix}"))
    && (!(k in old) || (wasCopied && k.startsWith("{prefix}")) ? k in new : !(k in new) || new[k] != old[k]))`),
		strings.NewReplacer(
			"{new}", annotations("object"),
			"{old}", annotations("oldObject"),
			"{copied}", ofDeployment("object"),
			"{wasCopied}", "oldObject != null && "+ofDeployment("oldObject"),
			"{ours}", ours,
			"{ledgers}", list(v1alpha1.AnnotationAllowances, replicaSetKey(v1alpha1.AnnotationAllowances)),
			"{free}", list(free...),
			"{many}", manyText,
			"{prefix}", v1alpha1.AnnotationPrefix,
		),
	} {
		text = fill.Replace(text)
	}
	return text
}

// ofDeployment is true where a Deployment controls a ReplicaSet: where
// ledger.AnnotationPrefix says so too.
func ofDeployment(variable string) string {
	return fmt.Sprintf(`(request.kind.group == "apps" && request.kind.kind == "ReplicaSet"
&& has(%[1]s.metadata.ownerReferences)
&& %[1]s.metadata.ownerReferences.exists(o, has(o.controller) && o.controller == true && o.kind == "Deployment" && o.apiVersion.startsWith("apps/")))`, variable)
}

// protectionPatch first makes room where the request removed all annotations.
const protectionPatch = `(size(variables.restore) > 0 && size(variables.new) == 0
? [JSONPatch{op: "add", path: "/metadata/annotations", value: {}}]
: [])
+ variables.drop.map(k, JSONPatch{op: "remove", path: "/metadata/annotations/" + jsonpatch.escapeKey(k)})
+ variables.restore.map(k, JSONPatch{op: "add", path: "/metadata/annotations/" + jsonpatch.escapeKey(k), value: variables.old[k]})`
