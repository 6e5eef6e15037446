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
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/gate/crossplane"
	"kausality.io/operator/internal/policy"
)

// What the admission policy does for objects with a gate (D16): while the webhook is
// down nobody opens one, and one that is open closes when its object changes. The
// webhook, which runs after it, computes the field anew. For that it is told what the request
// wanted, and by whom, as an author's wish is the object's ceiling: here nobody knows who that is.
//
// An object has a gate where the old one says what its allowances were granted for.

// isGated is true for an update of an object under its gate, which has a switch.
var isGated = gateText(`(oldObject != null && object != null && "{content}" in {old} && has(oldObject.spec) && has(object.spec)
&& has(oldObject.spec.{switch}))`)

// wantsAnother is true where the request has another switch than the old object.
var wantsAnother = gateText(`(!has(object.spec.{switch}) || object.spec.{switch} != oldObject.spec.{switch})`)

// appliesSwitch is true where the request is the first by which its manager applies the switch,
// which may be what there is anyway. Nothing tells the next one of that from another write, as
// admission is not told of a patch how it is one.
var appliesSwitch = gateText(`(has(request.options) && has(request.options.fieldManager) && ` + ownsSwitch("object") + `
&& !` + ownsSwitch("oldObject") + `)`)

// ownsSwitch is true where what the manager of the request applies has the switch.
func ownsSwitch(variable string) string {
	return strings.ReplaceAll(`(has({v}.metadata.managedFields) && {v}.metadata.managedFields != null
&& {v}.metadata.managedFields.exists(e, has(e.operation) && e.operation == "Apply"
&& has(e.manager) && e.manager == request.options.fieldManager && !(has(e.subresource) && e.subresource != "")
&& has(e.fieldsV1) && "f:spec" in e.fieldsV1 && "f:{switch}" in e.fieldsV1["f:spec"]))`, "{v}", variable)
}

// isComposed is true where the object has a controller.
const isComposed = `(has(object.metadata.ownerReferences) && object.metadata.ownerReferences != null
&& object.metadata.ownerReferences.exists(o, has(o.controller) && o.controller == true))`

// saysSwitch is true where the request wants the switch to be something: another one, or, for what
// nobody composes, what it applies.
var saysSwitch = "(" + wantsAnother + " || (!" + isComposed + " && " + appliesSwitch + "))"

// opensToAChange is true where the switch lets something through and the request
// changes what the object says.
var opensToAChange = gateText(`(oldObject.spec.{switch}.exists(p, !(p in {harmless}))
&& (size(object.spec) + size(oldObject.spec) > {many}
|| ({renamed} && !{deleted})
|| object.spec.exists(f, f != "{switch}" && (!(f in oldObject.spec) || object.spec[f] != oldObject.spec[f]))
|| oldObject.spec.exists(f, f != "{switch}" && !(f in object.spec))))`)

// renamed is true where the request gives an object that has a name in the cloud another
// one. That a provider gives it its first one is no reason to close its gate.
const renamed = `("{name}" in {old} && (!("{name}" in {new}) || {new}["{name}"] != {old}["{name}"]))`

const beingDeleted = `(has(oldObject.metadata.deletionTimestamp) && oldObject.metadata.deletionTimestamp != null)`

// renamesDeleted is true where the request gives another name in the cloud to an object
// that is being deleted: its provider would delete something else. While the deletion is
// held back nothing is deleted, and whoever may puts a name right.
var renamesDeleted = gateText(`(oldObject != null && object != null && "{content}" in {old}
&& !("{held}" in {old}) && {deleted} && {renamed})`)

// endsHold is true where the request goes on with an object that is paused because
// its deletion is held back.
var endsHold = gateText(`(oldObject != null && object != null && "{held}" in {old}
&& (!("{paused}" in {new}) || {new}["{paused}"] != "true"))`)

// endsHeldDeletion is true where the finalizers of an object change whose deletion is held back: without one of
// its system's it would be gone. Of policies that gate nothing no object has such a hold.
func endsHeldDeletion(in Input) []string {
	if !slices.ContainsFunc(in.Policies, func(p *policy.Policy) bool { return len(in.gated(p)) > 0 }) {
		return nil
	}
	return []string{`("` + v1alpha1.AnnotationGateHeld + `" in ` + annotations("oldObject") + ` && ` +
		metadataDiffers(sets.New("finalizers")) + `)`}
}

// keptOfGate are the keys of the annotations about its gate that a request for an object
// drops or changes, and broughtOfGate those that it brings. No controller copies them from an
// owner, as only what stands for something outside has them. The ceiling that a creation brings stays where the object was
// exported: it is what its author has said, who may say so by the switch as well.
var (
	keptOfGate = gateText(`(oldObject != null && object != null && {new} != {old} && size({old}) <= {many}
? {old}.filter(k, k.startsWith("{gate}") && (!(k in {new}) || {new}[k] != {old}[k])) : [])`)
	broughtOfGate = gateText(`(object != null && size({new}) <= {many}
? {new}.filter(k, k.startsWith("{gate}") && (oldObject == null ? k != "{ceiling}" || !("{content}" in {new}) : !(k in {old}))) : [])`)
)

// concernsGate returns true where the switch of a gate has to be set, or a hold to be kept.
func concernsGate(resources []*resource) []string {
	annotations := []string{"size(" + keptOfGate + ") > 0", "size(" + broughtOfGate + ") > 0"}
	if !anyGated(resources) {
		return annotations
	}
	return slices.Concat(annotations, []string{"(" + isGated + " && (" + saysSwitch + " || " + opensToAChange + "))", renamesDeleted, endsHold})
}

// gateVariables decide what the patch does:
//
//	gated     the object is under its gate
//	refused   the request wants another switch
//	says      the request wants another switch, or applies the one that there is
//	closes    the gate is open, and what the object says changes
//	composed  Crossplane applies what it composes
//	goesOn    the request ends the pause of a hold
//	renames   the request renames what is being deleted
//	kept, brought  annotations about the gate that it must not change, or bring
func gateVariables(in Input, resources []*resource) []admissionregistrationv1.Variable {
	annotations := []admissionregistrationv1.Variable{
		{Name: "kept", Expression: keptOfGate},
		{Name: "brought", Expression: broughtOfGate},
	}
	if !anyGated(resources) {
		return annotations
	}
	return slices.Concat(annotations, []admissionregistrationv1.Variable{
		{Name: "gated", Expression: isGated},
		{Name: "refused", Expression: "variables.gated && " + wantsAnother},
		{Name: "says", Expression: "variables.gated && " + saysSwitch},
		{Name: "closes", Expression: "variables.gated && " + opensToAChange},
		{Name: "goesOn", Expression: endsHold},
		{Name: "renames", Expression: renamesDeleted},
		{Name: "composed", Expression: list(in.Composers...) + gateText(`.exists(u, has(request.userInfo.username) && request.userInfo.username == u)
&& has(request.options.fieldManager) && request.options.fieldManager.startsWith("{composer}")`)},
	})
}

// gatePatch puts the switch back or closes it, and notes what the request wanted: what Crossplane
// composes as the list that it is, and for anybody else with the name of who asks. No text of a
// request is in there unquoted, as nobody checks it against a schema any more.
func gatePatch(resources []*resource) string {
	annotations := gateText(`
+ variables.brought.map(k, JSONPatch{op: "remove", path: "/metadata/annotations/" + jsonpatch.escapeKey(k)})
+ variables.kept.map(k, JSONPatch{op: "add", path: "/metadata/annotations/" + jsonpatch.escapeKey(k), value: {old}[k]})`)
	if !anyGated(resources) {
		return annotations
	}
	return annotations + gateText(`
+ (variables.refused || variables.closes
? [JSONPatch{op: "add", path: "/spec/{switch}", value: variables.closes ? oldObject.spec.{switch}.filter(p, p in {harmless}) : oldObject.spec.{switch}}]
: [])
+ (variables.says && has(request.userInfo.username)
? [has(object.spec.{switch}) && type(object.spec.{switch}) == list
  ? "[" + object.spec.{switch}.filter(p, type(p) == string).map(p, strings.quote(p)).join(",") + "]"
  : "[\"*\"]"].map(wanted, JSONPatch{op: "add", path: "/metadata/annotations/" + jsonpatch.escapeKey("{requested}"), value: variables.composed
  ? wanted
  : "{\"user\":" + strings.quote(request.userInfo.username) + ",\"policies\":" + wanted + "}"})
: [])
+ (variables.renames ? [JSONPatch{op: "add", path: "/metadata/annotations/" + jsonpatch.escapeKey("{name}"), value: {old}["{name}"]}] : [])
+ (variables.goesOn ? [JSONPatch{op: "add", path: "/metadata/annotations/" + jsonpatch.escapeKey("{paused}"), value: "true"}] : [])`)
}

func anyGated(resources []*resource) bool {
	return slices.ContainsFunc(resources, func(r *resource) bool { return r.gated })
}

func gateText(text string) string {
	text = strings.NewReplacer("{renamed}", renamed, "{deleted}", beingDeleted).Replace(text)
	return strings.NewReplacer(
		"{name}", crossplane.ExternalNameAnnotation,
		"{content}", v1alpha1.AnnotationGateContent,
		"{requested}", v1alpha1.AnnotationGateRequested,
		"{ceiling}", v1alpha1.AnnotationGateCeiling,
		"{held}", v1alpha1.AnnotationGateHeld,
		"{gate}", v1alpha1.AnnotationPrefix+gateNames,
		"{paused}", crossplane.PausedAnnotation,
		"{old}", annotations("oldObject"),
		"{new}", annotations("object"),
		"{switch}", crossplane.SwitchField,
		"{harmless}", list(crossplane.Harmless()...),
		"{composer}", crossplane.ComposedManager,
		"{many}", manyText,
	).Replace(text)
}
