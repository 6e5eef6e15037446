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
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/utils/ptr"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/ledger"
)

// nameGeneratedFrom is the annotation by which who made an object says so. It is not the object's
// own to keep, and whose it is to change the webhook judges (D21).
var nameGeneratedFrom = strings.TrimPrefix(v1alpha1.AnnotationGeneratedFrom, v1alpha1.AnnotationPrefix)

// commands are the annotations of an object's own that users set to ask for
// something; whether they may is the webhook's to judge (D13, D20).
var commands = ledger.Commands()

// gateNames is what the names begin with of what says about the gate of an object. They
// are protected with that, and have one key whatever the object's owner is.
const gateNames = "gate-"

// admissionPolicy renders what protects the annotations of holders inside the API
// server, so that a ledger can be neither forged nor dropped while the webhook is
// down (D10). What a request says about them is replaced by what the old object
// has, in silence: refusing would break "kubectl apply" of an old manifest.
//
// It is never reinvoked, as it would then strip the webhook's own grant. Its
// failurePolicy is Ignore, since a defect in it must not stop a cluster whose
// webhook, when it is up, does the same and more.
//
// What is under the keys of other objects is left to whoever writes it, and as nobody
// guards it, it is worth nothing where the object gets another owner, or none, and with
// that another prefix: then its own annotations go on under that.
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
				Variables:          append(protectionVariables(in), gateVariables(in, resources)...),
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
		{Name: "something-to-put-back", Expression: anyOf(append([]string{concernsProtection(in)}, concernsGate(resources)...)...)},
	}
}

// concernsProtection returns true where there is something to drop, to restore, or to make
// blank, as protectionVariables have it.
func concernsProtection(in Input) string {
	return protectionText(in, `[{new}].exists(new, [{old}].exists(old,
[{objectPrefix}].exists(now, [{oldPrefix}].exists(was, (new != old || now != was) && (size(new) + size(old) > {many}
  ? {largest}.exists(n, {differs}) || {bound}.exists(k, k in new)
  : new.exists(k, ({mine} && [k.substring(size(now))].exists(n, !{free} && {differs})) || {foreign})
    || old.exists(k, k.startsWith(was) && [k.substring(size(was))].exists(n, !{free} && {differs})))))))`)
}

// protectionVariables decide what the patch does:
//
//	old, new   the annotations before, and as the request has them
//	now, was   the prefix of the object's own by the request, and before
//	names      those of its own to look at; among too many to look at, the ledger and
//	           the approved content, which are what permits something
//	restore    names of the old object that the request drops or changes
//	blank      names that a controller brings, which may have copied them: they say
//	           nothing, but are there, as it would bring them again otherwise
//	drop       keys that anybody else brings and the old object does not vouch for, and
//	           those of other objects, or for a Binding all, that no controller brings
//	told       what of that means nothing, such as a command with a mistyped name: the webhook tells
//	           of it, and hears of it by an annotation
func protectionVariables(in Input) []admissionregistrationv1.Variable {
	return []admissionregistrationv1.Variable{
		{Name: "new", Expression: protectionText(in, `{new}`)},
		{Name: "old", Expression: protectionText(in, `{old}`)},
		{Name: "now", Expression: protectionText(in, `{objectPrefix}`)},
		{Name: "was", Expression: protectionText(in, `{oldPrefix}`)},
		{Name: "names", Expression: protectionText(in, variables(`size(new) + size(old) > {many}
? {largest}
: (new.filter(k, {mine}).map(k, k.substring(size(now)))
  + old.filter(k, k.startsWith(was)).map(k, k.substring(size(was))).filter(n, !((now + n) in new))).filter(n, !{free})`))},
		{Name: "restore", Expression: protectionText(in, variables(`names.filter(n, (was + n) in old && {differs})`))},
		{Name: "blank", Expression: protectionText(in, variables(`names.filter(n, !((was + n) in old) && {copied} && {differs})`))},
		{Name: "drop", Expression: protectionText(in, variables(`names.filter(n, !((was + n) in old) && !{copied} && {differs}).map(n, now + n)
+ (size(new) + size(old) > {many} ? {bound}.filter(k, k in new) : new.filter(k, {foreign}))`))},
		{Name: "told", Expression: fmt.Sprintf(`(has(request.subResource) && request.subResource != "" ? [] : variables.drop.filter(k,
  !%s.exists(n, k.endsWith("/" + n)) || k.endsWith("/%s") && variables.new[k] != "" && !variables.new[k].startsWith(%q)))`,
			list(ledger.Known()...), ledger.NameApproved, approved.Format)},
	}
}

// variables names the values of protectionText as the variables that they are.
func variables(text string) string {
	return `[variables.new].map(new, [variables.old].map(old, [variables.now].map(now, [variables.was].map(was, ` + text + `)[0])[0])[0])[0]`
}

// protectionText fills in what the expressions of the protection have in common.
// {differs} is true for the name of an annotation that is dropped, restored or made
// blank; a blank one may go.
func protectionText(in Input, text string) string {
	for _, fill := range []*strings.Replacer{
		strings.NewReplacer("names.filter", "variables.names.filter"),
		strings.NewReplacer("{differs}", `((was + n) in old
    ? ((now + n) in new ? new[now + n] != old[was + n] : old[was + n] != "")
    : (now + n) in new && !({copied} && new[now + n] == ""))`),
		strings.NewReplacer(
			"{new}", annotations("object"),
			"{old}", "(oldObject == null ? {} : "+annotations("oldObject")+")",
			"{objectPrefix}", prefix("object"),
			"{oldPrefix}", "(oldObject == null ? "+prefix("object")+" : "+prefix("oldObject")+")",
			"{mine}", "k.startsWith(now)",
			// A command under such a key is the webhook's to answer.
			"{foreign}", "("+ours+fmt.Sprintf(` && !k.startsWith(now) && !k.startsWith(%q) && !%s.exists(n, k.endsWith("/" + n))
    && !(k in old && old[k] == new[k]) && !%s)`, v1alpha1.AnnotationPrefix+gateNames, list(commands...), byController),
			"{bound}", `(request.kind.kind == "Binding" ? `+list("pod."+v1alpha1.AnnotationAllowances, "pod."+v1alpha1.AnnotationApproved)+` : [])`,
			"{copied}", "(now == was && "+byCopier(in)+")",
			"{largest}", list(ledger.NameAllowances, ledger.NameApproved),
			"{free}", "(n in "+list(append(slices.Clone(commands), nameGeneratedFrom, ledger.NameDropped)...)+fmt.Sprintf(` || n.startsWith(%q))`, gateNames),
			"{many}", manyText,
		),
	} {
		text = fill.Replace(text)
	}
	return text
}

// byController is true where a controller asks. A Binding brings to its Pod what nobody has
// copied.
var byController = fmt.Sprintf(`(request.kind.kind != "Binding" && has(request.userInfo.username)
&& (request.userInfo.username.startsWith(%q) || request.userInfo.username == %q))`,
	serviceaccount.ServiceAccountUsernamePrefix, user.KubeControllerManager)

// byCopier returns true where a controller asks that may copy annotations both ways. Crossplane
// copies one way only, and what is put back costs it no write (D10).
func byCopier(in Input) string {
	return fmt.Sprintf(`(%s && !(request.userInfo.username in %s))`, byController, list(in.Composers...))
}

// protectionPatch first makes room where the request removed all annotations.
const protectionPatch = `(size(variables.old) > 0 && size(variables.new) == 0
? [JSONPatch{op: "add", path: "/metadata/annotations", value: {}}]
: [])
+ variables.drop.map(k, JSONPatch{op: "remove", path: "/metadata/annotations/" + jsonpatch.escapeKey(k)})
+ variables.blank.map(n, JSONPatch{op: "add", path: "/metadata/annotations/" + jsonpatch.escapeKey(variables.now + n), value: ""})
+ variables.restore.map(n, JSONPatch{op: "add", path: "/metadata/annotations/" + jsonpatch.escapeKey(variables.now + n), value: variables.old[variables.was + n]})
+ (size(variables.told) > 0
? [JSONPatch{op: "add", path: "/metadata/annotations/" + jsonpatch.escapeKey(variables.now + "` + ledger.NameDropped + `"), value: variables.told.join(",")}]
: [])`
