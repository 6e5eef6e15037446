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
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/sets"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/policy"
)

// A request that is refused while the operator is away may be what it would take to have
// it back, or the cluster. So of a resource that a policy with failurePolicy Fail names
// only those requests wait that the policy can be about: in the namespaces that it selects,
// of objects whose labels it selects, of Pods with an owner of its kind; and nothing that
// runs under one of the priorities that Kubernetes keeps for what keeps it running. All
// others are asked about as well, and pass where nobody answers.

// demand is that a policy with failurePolicy Fail names a resource.
type demand struct {
	// namespaces are those that its objects may be in.
	namespaces labels.Selector
	// objects are the parents' labels; nil where the objects are not the parents.
	objects labels.Selector
	// parent is the kind of the parents whose children the objects are; empty where they
	// are not.
	parent schema.GroupKind
}

// demands returns the demands of a policy: as for parents, as for their children, and as for what its
// External entries are about; none where it does not say Fail.
func (in *Input) demands(p *policy.Policy, namespaced bool) (parents, children, gated []demand) {
	if p.FailurePolicy != v1alpha1.FailurePolicyFail {
		return nil, nil, nil
	}
	// It may be further down than the children, in any namespace.
	gated = []demand{{namespaces: labels.Everything()}}
	objects, selector, namespaces := p.ObjectSelector(), p.NamespaceSelector(), labels.Everything()
	if namespaced {
		namespaces = selector // Children are where their parents are.
	}
	for _, each := range []labels.Selector{objects, namespaces} {
		if _, selectable := each.Requirements(); !selectable {
			return nil, nil, gated
		}
	}
	below := demand{namespaces: namespaces, parent: p.For.GroupKind()}
	if p.Naming() != nil {
		// They are anywhere, and have no owner by which one could tell.
		below = demand{namespaces: labels.Everything()}
	}
	if in.KubeSystem && !namesKubeSystem(selector) {
		namespaces, below.namespaces = outsideKubeSystem(namespaces), outsideKubeSystem(below.namespaces)
	}
	return []demand{{namespaces: namespaces, objects: objects}}, []demand{below}, gated
}

// namesKubeSystem reports whether a selector matches kube-system because of its name: all
// namespaces with some label, or without, are not meant to be that where nobody answers.
func namesKubeSystem(selector labels.Selector) bool {
	const nobody = "-" // no name of a namespace
	return selector.Matches(labels.Set{corev1.LabelMetadataName: metav1.NamespaceSystem}) &&
		!selector.Matches(labels.Set{corev1.LabelMetadataName: nobody})
}

// outsideKubeSystem returns a selector without kube-system, where only another policy asks for it.
func outsideKubeSystem(selector labels.Selector) labels.Selector {
	other, err := labels.NewRequirement(corev1.LabelMetadataName, selection.NotIn, []string{metav1.NamespaceSystem})
	if err != nil {
		panic(err) // Nothing in it depends on input.
	}
	return selector.Add(*other)
}

// placement is a part of the resources, in some namespaces, to be asked about in one way.
// No request is in two of them.
type placement struct {
	suffix     string
	policy     admissionregistrationv1.FailurePolicyType
	scope      *metav1.LabelSelector
	resources  []*resource
	conditions []admissionregistrationv1.MatchCondition
}

// placements returns all there are, with names that stay the same while policies do.
func placements(scope cell, resources []*resource) []placement {
	var lax []*resource
	groups := map[string][]*resource{}
	for _, r := range resources {
		if len(r.demands) == 0 {
			lax = append(lax, r)
			continue
		}
		key := r.divided()
		groups[key] = append(groups[key], r)
	}
	all := []placement{{policy: admissionregistrationv1.Ignore, scope: scope.selector(), resources: lax}}
	numbers := map[string]int{}
	add := func(suffix string, policy admissionregistrationv1.FailurePolicyType, c cell, resources []*resource,
		conditions ...admissionregistrationv1.MatchCondition,
	) {
		numbers[suffix]++
		if n := numbers[suffix]; n > 1 {
			suffix = fmt.Sprintf("%s-%d", suffix, n)
		}
		all = append(all, placement{suffix: suffix, policy: policy, scope: c.selector(), resources: resources, conditions: conditions})
	}
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		for _, each := range waysOf(scope, groups[key]) {
			for _, c := range each.cells {
				if !each.fails {
					add("-elsewhere", admissionregistrationv1.Ignore, c, groups[key])
					continue
				}
				add("-fail", admissionregistrationv1.Fail, c, groups[key], each.waits...)
				if len(each.spared) > 0 {
					add("-spared", admissionregistrationv1.Ignore, c, each.spared, each.passes...)
				}
			}
		}
	}
	return all
}

// way is how some resources are asked about in some namespaces.
type way struct {
	cells []cell
	// fails is true where requests wait, but for those of the resources spared of which
	// an expression is true.
	fails         bool
	spared        []*resource
	waits, passes []admissionregistrationv1.MatchCondition
}

// waysOf returns the ways of resources whose demands are for the same namespaces.
func waysOf(scope cell, resources []*resource) []way {
	ways := map[string]*way{}
	for _, p := range partition(scope, resources[0].selectors()) {
		w := &way{fails: p.matching.Len() > 0}
		key := strconv.FormatBool(!w.fails)
		if w.fails {
			var expressions []string
			if expressions, w.spared = sparing(resources, p.matching); len(expressions) > 0 {
				w.waits = []admissionregistrationv1.MatchCondition{{Name: "waits", Expression: "!(" + anyOf(expressions...) + ")"}}
				w.passes = []admissionregistrationv1.MatchCondition{{Name: "does-not-wait", Expression: anyOf(expressions...)}}
			}
			key += anyOf(expressions...)
		}
		if ways[key] == nil {
			ways[key] = w
		}
		ways[key].cells = append(ways[key].cells, p.cell)
	}
	all := make([]way, 0, len(ways))
	for _, key := range slices.Sorted(maps.Keys(ways)) {
		w := ways[key]
		w.cells = merged(w.cells)
		all = append(all, *w)
	}
	return all
}

// selectors returns the selectors of the namespaces in which requests for the resource wait, each
// once. What is in no namespace is in the scope of each webhook, whatever its selector
// says.
func (r *resource) selectors() []labels.Selector {
	if !r.namespaced {
		return []labels.Selector{labels.Everything()}
	}
	byText := map[string]labels.Selector{}
	for _, d := range r.demands {
		byText[d.namespaces.String()] = d.namespaces
	}
	selectors := make([]labels.Selector, 0, len(byText))
	for _, text := range slices.Sorted(maps.Keys(byText)) {
		selectors = append(selectors, byText[text])
	}
	return selectors
}

// in returns the demands that are for namespaces in which such selectors match.
func (r *resource) in(matching sets.Set[string]) []demand {
	if !r.namespaced {
		return r.demands
	}
	var in []demand
	for _, d := range r.demands {
		if matching.Has(d.namespaces.String()) {
			in = append(in, d)
		}
	}
	return in
}

// divided returns the same for resources whose requests wait in the same namespaces.
func (r *resource) divided() string {
	selectors := r.selectors()
	text := make([]string, 0, len(selectors))
	for _, selector := range selectors {
		text = append(text, selector.String())
	}
	return strings.Join(text, "|")
}

// sparing returns expressions for what does not wait although a policy names its resource in
// namespaces in which such selectors match, and the resources that they are about.
func sparing(resources []*resource, matching sets.Set[string]) (expressions []string, spared []*resource) {
	for _, r := range resources {
		var own []string
		if path, ok := priorities[r.GroupResource]; ok {
			own = append(own, bothAre("(%s)", reaches(path, criticalNames)))
		}
		demands := r.in(matching)
		if owners := r.owners(demands); len(owners) > 0 {
			own = append(own, bothAre("!(%s)", ownedBy(owners)))
		}
		if selectors := labeledBy(demands); len(selectors) > 0 {
			own = append(own, bothAre("!(%s)", anyMatches(selectors)))
		}
		if len(own) > 0 {
			spared = append(spared, r)
			expressions = append(expressions, "("+only(r)+"\n&& ("+anyOf(own...)+"))")
		}
	}
	return expressions, spared
}

// bothAre returns true where an expression is of the object before and after, as far as there
// are these.
func bothAre(format, expression string) string {
	return fmt.Sprintf(`[object, oldObject].all(o, o == null || `+format+`)`, expression)
}

// only returns true for requests for a resource in which the objects are such ones: what other
// sub-resources are asked with says nothing of them.
func only(r *resource) string {
	return fmt.Sprintf(`request.resource.group == %q && request.resource.resource == %q
&& (!has(request.subResource) || request.subResource in ["", "status", "resize", "ephemeralcontainers"])`, r.Group, r.Resource)
}

// criticalNames are the priority classes that Kubernetes brings for what it needs itself,
// such as the agent that gives the Pods of a node their network, the operator's included.
// Whoever may create Pods may use them: what is spared is asked about like anything else
// while the operator is there.
var criticalNames = list("system-node-critical", "system-cluster-critical")

// inTemplate is where a template of Pods says under which priority they run.
const inTemplate = "spec.template.spec.priorityClassName"

// priorities are where objects say under which priority Pods run: Pods themselves, what
// has a template of them, and the history of those that have. That is where the API of
// Kubernetes has a field, and not what is known of what a kind does, which package knowledge
// holds: of kinds that others define, nothing keeps a cluster from starting.
var priorities = map[schema.GroupResource]string{
	{Resource: "pods"}:                                         "spec.priorityClassName",
	{Resource: "replicationcontrollers"}:                       inTemplate,
	{Group: appsv1.GroupName, Resource: "deployments"}:         inTemplate,
	{Group: appsv1.GroupName, Resource: "replicasets"}:         inTemplate,
	{Group: appsv1.GroupName, Resource: "statefulsets"}:        inTemplate,
	{Group: appsv1.GroupName, Resource: "daemonsets"}:          inTemplate,
	{Group: appsv1.GroupName, Resource: "controllerrevisions"}: "data." + inTemplate,
	{Group: batchv1.GroupName, Resource: "jobs"}:               inTemplate,
	{Group: batchv1.GroupName, Resource: "cronjobs"}:           "spec.jobTemplate." + inTemplate,
}

// reaches returns true where o has one of the values at a path. What is in the data of a
// ControllerRevision is anybody's to say, and may be no map.
func reaches(path, values string) string {
	at := "o"
	var conditions []string
	for field := range strings.SplitSeq(path, ".") {
		if strings.HasPrefix(at, "o.data") {
			conditions = append(conditions, fmt.Sprintf("type(%s) == map", at))
		}
		conditions = append(conditions, fmt.Sprintf("has(%s.%s)", at, field))
		at += "." + field
	}
	return strings.Join(append(conditions, fmt.Sprintf("%s in %s", at, values)), " && ")
}

// owners returns the kinds of owners that policies with Fail are about, where the resource is
// Pods and nothing else can make these wait: a Pod that none of them owns is bounded by no
// such policy, and whoever makes it one's must ask for that.
func (r *resource) owners(demands []demand) []schema.GroupKind {
	kinds := sets.New[schema.GroupKind]()
	for _, d := range demands {
		if d.parent.Empty() {
			return nil
		}
		kinds.Insert(d.parent)
	}
	if !r.isPods() || kinds.Len() > many {
		return nil
	}
	return slices.SortedFunc(maps.Keys(kinds), func(a, b schema.GroupKind) int { return cmp.Compare(a.String(), b.String()) })
}

// ownedBy returns true where one of the owners of o is of one of the kinds, or there are too many
// to look at.
func ownedBy(owners []schema.GroupKind) string {
	kinds := make([]string, len(owners))
	for i, kind := range owners {
		kinds[i] = kind.Group + "/" + kind.Kind
	}
	return fmt.Sprintf(`has(o.metadata) && has(o.metadata.ownerReferences) && o.metadata.ownerReferences != null
&& (size(o.metadata.ownerReferences) > %d
|| o.metadata.ownerReferences.exists(r, (r.apiVersion.contains("/") ? r.apiVersion.split("/")[0] : "") + "/" + r.kind in %s))`,
		manyOwners, list(kinds...))
}

// manyOwners is the number of owners up to which an expression looks at each. More than a
// few are nobody's.
const manyOwners = 100

// labeledBy returns the selectors of the parents, where the resource is that of parents only, and
// each policy with Fail selects them by label.
func labeledBy(demands []demand) []labels.Selector {
	byText := map[string]labels.Selector{}
	for _, d := range demands {
		if d.objects == nil || d.objects.Empty() {
			return nil
		}
		byText[d.objects.String()] = d.objects
	}
	if len(byText) > maxCells {
		return nil
	}
	var selectors []labels.Selector
	for _, text := range slices.Sorted(maps.Keys(byText)) {
		selectors = append(selectors, byText[text])
	}
	return selectors
}

// anyMatches returns true where the labels of o match one of the selectors.
func anyMatches(selectors []labels.Selector) string {
	alternatives := make([]string, 0, len(selectors))
	for _, selector := range selectors {
		requirements, _ := selector.Requirements()
		var conditions []string
		for _, r := range requirements {
			key, v := r.Key(), valuesOf(r)
			in := fmt.Sprintf("l[%q] in %s", key, list(sets.List(v.listed)...))
			if v.but {
				in = "!(" + in + ")"
			}
			if v.missing {
				conditions = append(conditions, fmt.Sprintf("(!(%q in l) || %s)", key, in))
			} else {
				conditions = append(conditions, fmt.Sprintf("%q in l && %s", key, in))
			}
		}
		alternatives = append(alternatives, strings.Join(conditions, " && "))
	}
	return fmt.Sprintf(`[has(o.metadata) && has(o.metadata.labels) && o.metadata.labels != null ? o.metadata.labels : {}].exists(l, %s)`,
		strings.Join(alternatives, " || "))
}
