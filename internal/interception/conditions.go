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
	"strconv"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
)

// The match conditions keep requests that cannot matter inside the API server
// (D15). An expression that fails skips the hook in silence under failurePolicy
// Ignore, and refuses the request under Fail, so each one is total:
//
//   - every selection is guarded: request.subResource is absent on main resources,
//     metadata or annotations may be absent or null;
//   - when in doubt it is true, and we are called;
//   - its cost has a bound. Comparing two values costs a tenth of their length or
//     number of entries, however large the entries are, so an object of any size
//     stays far below the limit of 1,000,000 for one expression and 2,500,000 for
//     all of a webhook. Looking at each entry of a map costs some tens for each, and
//     somebody can make 100,000 of them: a map with more than many entries is not
//     looked into.
//
// Kinds have different top-level fields, and built-in ones may reach CEL as typed
// values, so fields are looked up by name and nothing relies on a type.

// noObject and noOldObject are true where a request has no object, or had none before.
const (
	noObject    = `object == null`
	noOldObject = `oldObject == null`
)

// conditionCounts names the condition that leaves out what cannot matter.
const conditionCounts = "something-counts"

// many is the number of entries of two maps together up to which an expression
// looks at each of them.
const many = 1000

var manyText = strconv.Itoa(many)

// withoutSpec are the top-level fields that never count (D7), and the spec, which has
// an expression of its own.
var withoutSpec = []string{"apiVersion", "kind", "metadata", "spec", "status"}

// grantConditions returns the conditions of the mutating hook.
func grantConditions(in Input) []admissionregistrationv1.MatchCondition {
	return []admissionregistrationv1.MatchCondition{
		{Name: "status-of-a-ledger", Expression: statusOfLedger(in)},
		{Name: conditionCounts, Expression: somethingCounts(in)},
	}
}

// glassConditions returns the conditions of the mutating hook for what holds no ledger: it is
// called only where somebody breaks the glass, approves that the object has the parent that it has, or sets what means
// nothing, and where an approval was left on the object: it counts in the request that sets it, and has to be gone for
// the next one.
func glassConditions() []admissionregistrationv1.MatchCondition {
	known := slices.DeleteFunc(ledger.Known(), func(name string) bool { return name == ledger.NameApprove || name == ledger.NameBreakGlass })
	return []admissionregistrationv1.MatchCondition{{
		Name: "something-is-asked",
		Expression: fmt.Sprintf(`object != null && [%s].exists(new, [oldObject == null ? {} : %s].exists(old,
  size(new) > 0 && (%s + %q) in new
  || new != old && (size(new) + size(old) > %d
    || new.exists(k, %s && (!(k in old) || new[k] != old[k]) && !%s.exists(n, k.endsWith("/" + n))))))`,
			annotations("object"), annotations("oldObject"), prefix("object"), ledger.NameApprove, many, ours, list(known...)),
	}}
}

// verdictConditions returns the conditions of the validating hook.
func verdictConditions(in Input) []admissionregistrationv1.MatchCondition {
	return []admissionregistrationv1.MatchCondition{
		{Name: "not-already-deleted", Expression: notAlreadyDeleted},
		{Name: conditionCounts, Expression: somethingCounts(in)},
		{Name: "status-with-metadata", Expression: statusWithMetadata(in)},
	}
}

// notAlreadyDeleted leaves out the DELETE of what is already being deleted: its
// deletion was admitted when it began (D8). What is held back then may go on by it (D16).
var notAlreadyDeleted = `request.operation != "DELETE"
|| oldObject == null
|| !has(oldObject.metadata)
|| !has(oldObject.metadata.deletionTimestamp)
|| oldObject.metadata.deletionTimestamp == null
|| "` + v1alpha1.AnnotationGateHeld + `" in ` + annotations("oldObject")

// statusOfLedger leaves out status writes to objects without a ledger: there is
// nothing to consume. Those of the operator pass, as it makes them to have a
// ledger pruned (D8).
func statusOfLedger(in Input) string {
	return anyOf(
		`!has(request.subResource)`,
		`request.subResource != "status"`,
		noObject,
		noOldObject,
		byOperator(in),
		says("object", ledger.NameAllowances),
		says("oldObject", ledger.NameAllowances),
	)
}

// somethingCounts leaves out updates of main resources that change nothing that
// may count (D7): no field outside metadata and status, and in metadata neither a
// label (selectors, and the lineage of some systems), nor an owner reference (D5),
// nor an annotation of ours or one that gates go by, nor anything that some policy names. Finalizers,
// managed fields and the deletion timestamp do not count, but for the finalizers of an object whose
// deletion is held back (D16). The operator's own empty
// updates pass, as it makes them to have a pending grant folded in (D11).
//
// The spec comes first: of most updates that count, little else is looked at.
func somethingCounts(in Input) string {
	named := namedMetadata(in.Policies)
	for _, p := range in.Policies {
		for _, g := range in.gated(p) {
			named.annotations.Insert(g.Annotations...)
		}
		named.annotations.Insert(in.outside(p)...)
	}
	for _, p := range in.Policies {
		if d, ok := p.Deputy(); ok {
			named.annotations.Insert(d.Annotations...)
		}
		for _, d := range policy.Deputies() {
			if p.Bounds(d.Kind) {
				named.annotations.Insert(d.Annotations...)
			}
		}
	}
	alternatives := []string{
		`request.operation != "UPDATE"`,
		`(has(request.subResource) && request.subResource != "")`,
		noObject,
		noOldObject,
		byOperator(in),
	}
	metadata := []string{metadataDiffers(named.fields), annotationDiffers(named.annotations, true)}
	return anyOf(slices.Concat(alternatives, contentDiffers, metadata, somebodyActs(in, inObject), showsParent(in), losesFields(in), leavesWithheld(in), abandonsComposite(in), endsHeldDeletion(in))...)
}

// contentDiffers are true where a field outside metadata and status differs, or somebody sends an object
// without metadata.
var contentDiffers = []string{
	`!has(object.metadata)`,
	`!has(oldObject.metadata)`,
	`has(object.spec) != has(oldObject.spec)`,
	`(has(object.spec) && object.spec != oldObject.spec)`,
	fmt.Sprintf(`size(object) + size(oldObject) > %d`, many),
	fmt.Sprintf(`object.exists(f, !(f in %s) && (!(f in oldObject) || object[f] != oldObject[f]))`, list(withoutSpec...)),
	fmt.Sprintf(`oldObject.exists(f, !(f in %s) && !(f in object))`, list(withoutSpec...)),
}

// statusWithMetadata leaves out updates of a status that touch nothing in metadata
// that may count. Built-in kinds keep what a status update says of metadata, so
// that owner and labels can be changed by one (D6). Ours among the annotations are
// the mutating hook's to guard.
func statusWithMetadata(in Input) string {
	named := namedMetadata(in.Policies)
	named.annotations.Insert(v1alpha1.AnnotationGeneratedFrom) // It says whose child an object is.
	alternatives := []string{
		`!has(request.subResource)`,
		`request.subResource != "status"`,
		noObject,
		noOldObject,
		`!has(object.metadata)`,
		`!has(oldObject.metadata)`,
		metadataDiffers(named.fields),
		annotationDiffers(named.annotations, false),
	}
	return anyOf(slices.Concat(alternatives, somebodyActs(in, inStatus), losesFields(in))...)
}

// metadataDiffers returns true where one of the fields of metadata does.
func metadataDiffers(fields sets.Set[string]) string {
	return list(sets.List(fields)...) + ".exists(f, (f in object.metadata) != (f in oldObject.metadata) || (f in object.metadata && object.metadata[f] != oldObject.metadata[f]))"
}

// annotationDiffers returns true where an annotation with one of these keys, or one of
// ours where that is asked for, was set, changed or removed, and where there are
// too many annotations to look at and any was.
func annotationDiffers(keys sets.Set[string], orOurs bool) string {
	concerned := `k in ` + list(sets.List(keys)...)
	switch {
	case orOurs && keys.Len() > 0:
		concerned = fmt.Sprintf(`(%s || %s)`, ours, concerned)
	case orOurs:
		concerned = ours
	}
	// A list of one and exists() are how an expression names a value.
	return fmt.Sprintf(`[%s].exists(new, [%s].exists(old, new != old && (
  size(new) + size(old) > %d
  || new.exists(k, %[4]s && (!(k in old) || new[k] != old[k]))
  || old.exists(k, %[4]s && !(k in new)))))`, annotations("object"), annotations("oldObject"), many, concerned)
}

// ours is true for a key k of an annotation in our domain, as ledger.IsOurs is, whatever
// object it is for.
var ours = fmt.Sprintf(`(k.startsWith(%q) || k.contains(%q))`, v1alpha1.AnnotationPrefix, "."+v1alpha1.AnnotationPrefix)

// prefix returns the prefix of the annotations which are the own ones of a variable, as
// ledger.AnnotationPrefix has it. The variable itself must not be null.
func prefix(variable string) string {
	return strings.NewReplacer("{v}", variable, "{prefix}", v1alpha1.AnnotationPrefix, "{owners}", strconv.Itoa(ledger.MaxOwners)).Replace(
		`(has({v}.metadata) && has({v}.metadata.ownerReferences) && {v}.metadata.ownerReferences != null && size({v}.metadata.ownerReferences) > 0
? request.kind.kind.lowerAscii() + (size({v}.metadata.ownerReferences) > {owners} ? "" : {v}.metadata.ownerReferences
  .filter(o, o.kind.lowerAscii() == request.kind.kind.lowerAscii() && o.uid.matches("^[0-9a-f]{8}"))
  .map(o, "-" + o.uid.substring(0, 8))[?0].orValue("")) + ".{prefix}"
: "{prefix}")`)
}

// says returns true where a variable has an annotation of its own with a value.
func says(variable, name string) string { return saysSuch(variable, name, `a[k] != ""`) }

// saysSuch returns true where a variable has an annotation of its own, a[k], of which an expression is true.
func saysSuch(variable, name, such string) string {
	return fmt.Sprintf(`[%s].exists(a, size(a) > 0 && [%s + %q].exists(k, k in a && %s))`, annotations(variable), prefix(variable), name, such)
}

// annotations returns the annotations of a variable, and an empty map where it has none. The
// variable itself must not be null.
func annotations(variable string) string {
	return fmt.Sprintf(`(has(%[1]s.metadata) && has(%[1]s.metadata.annotations) && %[1]s.metadata.annotations != null ? %[1]s.metadata.annotations : {})`, variable)
}

func byOperator(in Input) string {
	return fmt.Sprintf(`(has(request.userInfo.username) && request.userInfo.username == %q)`, in.OperatorUser)
}

// namedFields are what of metadata is compared.
type namedFields struct {
	// fields are compared as a whole.
	fields sets.Set[string]
	// annotations are compared one by one, besides our own.
	annotations sets.Set[string]
}

// namedMetadata collects what policies name in metadata, and what counts anyway.
func namedMetadata(policies []*policy.Policy) namedFields {
	named := namedFields{fields: sets.New("labels", "ownerReferences"), annotations: sets.New[string]()}
	for _, p := range policies {
		for _, pattern := range p.MetadataPatterns() {
			named.add(pattern)
		}
	}
	return named
}

func (n namedFields) add(pattern change.Pattern) {
	switch {
	case len(pattern) < 2 || pattern[1] == change.Wildcard:
		// All that anybody but the API server itself changes after creation.
		n.fields.Insert("annotations", "finalizers")
	case pattern[1].Field == "annotations" && len(pattern) > 2 && pattern[2] != change.Wildcard:
		n.annotations.Insert(pattern[2].Field)
	default:
		n.fields.Insert(pattern[1].Field)
	}
}

// anyOf returns true as soon as one of the expressions is, even if an earlier one fails.
func anyOf(expressions ...string) string {
	return strings.Join(expressions, "\n|| ")
}

// list returns a list of strings.
func list(items ...string) string {
	quoted := make([]string, len(items))
	for i, item := range items {
		quoted[i] = strconv.Quote(item)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
