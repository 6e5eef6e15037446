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

// Package generation predicts what GeneratingPolicies would do: it evaluates them with the objects in the
// cluster, and plans as the operator does.
package generation

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/generate/plan"
)

// mostTriggers bounds how many triggers of a policy are evaluated.
const mostTriggers = 500

// Step is what a policy would do to an object.
type Step struct {
	plan.Step
	// Policy that would do it.
	Policy string
	// There is the object as it is, nil where it is not there.
	There *unstructured.Unstructured
	// Above lists the policies that led to the first of its triggers, which decides its content.
	Above []string
}

var (
	generatingKind = v1alpha1.GroupVersion.WithKind(v1alpha1.KindGeneratingPolicy)
	namespaceKind  = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
)

// generation finds out what GeneratingPolicies would do.
type generation struct {
	cluster *cluster.Cluster
	from    *cluster.Snapshot
	// changed is the object as it would be, and id which it is.
	changed *unstructured.Unstructured
	id      generate.ID
	// alive has the policies in the cluster, and above the policies that led to a trigger.
	alive map[string]plan.PolicyRef
	above map[generate.ID][]string
	// plan plans what to do with objects.
	plan  func(plan.Policy, []plan.Trigger, []plan.Existing, map[generate.ID][]plan.PolicyRef) []plan.Step
	notes []string
}

// Would returns what GeneratingPolicies would do after a change of an object, and what could not be found
// out. It leaves out the objects that they would leave alone, but for conflicts.
func Would(ctx context.Context, c *cluster.Cluster, changed *unstructured.Unstructured) ([]Step, []string, error) {
	policies, err := c.GeneratingPolicies(ctx)
	if err != nil {
		return nil, nil, err
	}
	g := newGeneration(ctx, c, changed, policies)
	if changed.GroupVersionKind() == generatingKind {
		p, err := policyIn(changed)
		if err != nil {
			return nil, nil, err
		}
		policies = append(slices.DeleteFunc(policies, func(o v1alpha1.GeneratingPolicy) bool { return o.Name == p.Name }), p)
		g.alive[p.Name] = refOf(&p)
	}
	var out []Step
	for i := range policies {
		if policies[i].DeletionTimestamp != nil {
			continue
		}
		found, err := g.by(ctx, &policies[i])
		if err != nil {
			return nil, nil, err
		}
		out = append(out, found...)
	}
	out = slices.DeleteFunc(out, func(s Step) bool { return s.Do == plan.Leave && !s.Reason.IsConflict() })
	slices.SortFunc(out, func(a, b Step) int { return cmp.Or(cmp.Compare(a.Policy, b.Policy), a.ID.Compare(b.ID)) })
	return out, g.notes, nil
}

// TakeOver returns what to do with the objects that a policy wants and that no policy made, for them to be
// the policy's own: Apply with the marks by which the operator knows them, or Leave. It also returns what
// could not be found out.
func TakeOver(ctx context.Context, c *cluster.Cluster, name string) ([]Step, []string, error) {
	object, err := c.Object(ctx, generatingKind, types.NamespacedName{Name: name})
	if err != nil {
		return nil, nil, fmt.Errorf("reading GeneratingPolicy %s: %w", name, err)
	}
	p, err := policyIn(object)
	if err != nil {
		return nil, nil, err
	}
	if !p.Spec.Evaluation.Synchronize {
		return nil, nil, fmt.Errorf("GeneratingPolicy %s does not synchronize: what it made it leaves alone from then on, so that there is nothing to take over", name)
	}
	policies, err := c.GeneratingPolicies(ctx)
	if err != nil {
		return nil, nil, err
	}
	g := newGeneration(ctx, c, object, policies)
	g.plan = takenOver
	out, err := g.by(ctx, &p)
	return out, g.notes, err
}

func policyIn(object *unstructured.Unstructured) (p v1alpha1.GeneratingPolicy, err error) {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &p); err != nil {
		return p, fmt.Errorf("reading GeneratingPolicy %s: %w", object.GetName(), err)
	}
	return p, nil
}

func newGeneration(ctx context.Context, c *cluster.Cluster, changed *unstructured.Unstructured, policies []v1alpha1.GeneratingPolicy) *generation {
	g := &generation{
		cluster: c, from: c.SnapshotWith(ctx, changed), changed: changed, id: generate.IDOf(changed.Object),
		alive: map[string]plan.PolicyRef{}, above: map[generate.ID][]string{}, plan: plan.For,
	}
	for i := range policies {
		g.alive[policies[i].Name] = refOf(&policies[i])
	}
	return g
}

func refOf(p *v1alpha1.GeneratingPolicy) plan.PolicyRef {
	return plan.PolicyRef{Name: p.Name, UID: p.UID, Created: p.CreationTimestamp.UTC()}
}

func (g *generation) notef(format string, args ...any) {
	g.notes = append(g.notes, fmt.Sprintf(format, args...))
}

// by returns what one policy would do.
func (g *generation) by(ctx context.Context, p *v1alpha1.GeneratingPolicy) ([]Step, error) {
	compiled, _, errs := generate.Compile(p.Name, &p.Spec)
	if len(errs) > 0 {
		return nil, nil // It makes nothing as it is; policy check says why.
	}
	made, kinds, err := g.made(ctx, p)
	if err != nil {
		return nil, err
	}
	triggers, err := g.triggers(p, compiled, made)
	if err != nil {
		return nil, err
	}
	var affected []plan.Trigger
	for _, trigger := range triggers {
		one, concerned, err := g.evaluate(ctx, p, compiled, trigger, made)
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			g.notef("What GeneratingPolicy %s wants for %s is not known: %s", p.Name, generate.IDOf(trigger.Object), err)
			continue
		}
		if concerned {
			affected = append(affected, one)
			for _, wanted := range one.Wanted {
				kinds[wanted.ID.GroupKind()] = (&unstructured.Unstructured{Object: wanted.Content}).GroupVersionKind()
			}
		}
	}
	return g.steps(p, affected, made, kinds)
}

// made returns what a policy made, and the kinds of these objects.
func (g *generation) made(ctx context.Context, p *v1alpha1.GeneratingPolicy) (map[generate.ID]*plan.Marks, map[schema.GroupKind]schema.GroupVersionKind, error) {
	out, kinds := map[generate.ID]*plan.Marks{}, map[schema.GroupKind]schema.GroupVersionKind{}
	for _, kind := range p.Status.Kinds {
		kind := schema.GroupVersionKind(kind)
		found, err := g.cluster.MadeBy(ctx, p.Name, kind)
		if err != nil {
			return nil, nil, err
		}
		kinds[kind.GroupKind()] = kind
		maps.Copy(out, found)
	}
	return out, kinds, nil
}

// triggers returns the objects that a policy is about, as it would be, or was.
func (g *generation) triggers(p *v1alpha1.GeneratingPolicy, compiled *generate.Policy, made map[generate.ID]*plan.Marks) ([]*generate.Trigger, error) {
	objects, err := g.candidates(p)
	if err != nil {
		return nil, err
	}
	var out []*generate.Trigger
	seen := map[generate.ID]bool{}
	for i := range objects {
		id := generate.IDOf(objects[i].Object)
		if seen[id] || !p.Spec.Evaluation.GenerateExisting && id != g.id && !isTriggerOf(made, id) {
			continue
		}
		seen[id] = true
		trigger, err := g.trigger(&objects[i])
		if err != nil {
			return nil, err
		}
		matches, err := compiled.Matches(trigger)
		if err != nil {
			return nil, fmt.Errorf("asking whether GeneratingPolicy %s is about %s: %w", p.Name, id, err)
		}
		if !matches && !isTriggerOf(made, id) {
			continue
		}
		if len(out) == mostTriggers {
			g.notef("Only %d triggers of GeneratingPolicy %s were looked at.", mostTriggers, p.Name)
			break
		}
		out = append(out, trigger)
	}
	return out, nil
}

// candidates returns the object that would change, and the others of the resources that a policy
// names.
func (g *generation) candidates(p *v1alpha1.GeneratingPolicy) ([]unstructured.Unstructured, error) {
	changed := g.changed.GroupVersionKind()
	byKind := map[schema.GroupKind]schema.GroupVersionKind{changed.GroupKind(): changed}
	objects := []unstructured.Unstructured{*g.changed}
	for _, of := range namedBy(p) {
		kind, served, err := g.from.KindOf(of)
		if err != nil {
			return nil, err
		}
		if known, ok := byKind[kind.GroupKind()]; !served || ok && known != kind {
			continue // In another version they are the same.
		}
		byKind[kind.GroupKind()] = kind
		found, err := g.from.Objects(kind, "", labels.Everything())
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

// namedBy returns the resources that a policy names, without those that it leaves open.
func namedBy(p *v1alpha1.GeneratingPolicy) []schema.GroupVersionResource {
	var out []schema.GroupVersionResource
	if p.Spec.MatchConstraints == nil {
		return nil
	}
	for i := range p.Spec.MatchConstraints.ResourceRules {
		for of := range generate.ResourcesOf(&p.Spec.MatchConstraints.ResourceRules[i]) {
			out = append(out, of)
		}
	}
	slices.SortFunc(out, func(a, b schema.GroupVersionResource) int { return cmp.Compare(a.String(), b.String()) })
	return out
}

func isTriggerOf(made map[generate.ID]*plan.Marks, id generate.ID) bool {
	for _, marks := range made {
		if slices.Contains(marks.Triggers, id) {
			return true
		}
	}
	return false
}

// trigger returns an object as a trigger.
func (g *generation) trigger(object *unstructured.Unstructured) (*generate.Trigger, error) {
	kind := object.GroupVersionKind()
	is, others, err := g.cluster.Resources(kind)
	if err != nil {
		return nil, err
	}
	out := &generate.Trigger{Resource: is, Equivalent: others, Object: object.Object}
	if out.Above = plan.Above(object.Object); len(out.Above) > 0 {
		g.above[generate.IDOf(object.Object)] = out.Above
	}
	switch {
	case kind == namespaceKind:
		out.Namespace = object.Object
	case object.GetNamespace() != "":
		namespace, err := g.from.Object(namespaceKind, "", object.GetNamespace())
		if err != nil {
			return nil, err
		}
		if namespace != nil {
			out.Namespace = namespace.Object
		}
	}
	return out, nil
}

// evaluate returns what a policy would want for a trigger, and whether the change concerns that.
func (g *generation) evaluate(
	ctx context.Context, p *v1alpha1.GeneratingPolicy, compiled *generate.Policy, trigger *generate.Trigger, made map[generate.ID]*plan.Marks,
) (plan.Trigger, bool, error) {
	out := plan.Trigger{ID: generate.IDOf(trigger.Object), State: plan.Evaluated}
	concerned := out.ID == g.id || g.changed.GroupVersionKind() == generatingKind && g.changed.GetName() == p.Name ||
		g.changed.GroupVersionKind() == namespaceKind && out.ID.Namespace == g.id.Name
	if marks := made[g.id]; marks != nil {
		concerned = concerned || slices.Contains(marks.Triggers, out.ID)
	}
	if matches, err := compiled.Matches(trigger); err != nil || !matches {
		return out, concerned, err
	}
	// A dry run has had the webhook note the request by which the object would change.
	trigger.Request = generate.RequestsOn(trigger.Object)[p.Name]
	if compiled.NeedsRequest() && trigger.Request == nil && !isTriggerOf(made, out.ID) {
		return out, concerned, nil
	}
	if isKnown, err := g.addOld(compiled, trigger, out.ID); err != nil || !isKnown {
		return plan.Trigger{ID: out.ID}, false, err
	}
	result, err := compiled.Evaluate(ctx, trigger, g.from)
	if err != nil {
		return out, false, err
	}
	for _, kind := range result.NotServed {
		g.notef("GeneratingPolicy %s would make a %s, which the cluster does not serve.", p.Name, kind.Kind)
	}
	out.Wanted = result.Objects
	concerned = concerned || slices.ContainsFunc(result.Reads, g.isOfChanged)
	if concerned && !p.Spec.Evaluation.Synchronize {
		out.Made, err = g.madeOnce(ctx, p.Name, out.ID)
	}
	return out, concerned, err
}

// addOld adds what a trigger was before, where the policy generates from that, and reports whether it is
// known: that of the object that would change is.
func (g *generation) addOld(compiled *generate.Policy, trigger *generate.Trigger, id generate.ID) (bool, error) {
	if !compiled.NeedsOld() {
		return true, nil
	}
	if id != g.id {
		g.notef("GeneratingPolicy %s generates from what %s was before, which only the operator knows.", compiled.Name, id)
		return false, nil
	}
	old, err := g.from.Object(g.changed.GroupVersionKind(), id.Namespace, id.Name)
	if err == nil && old != nil {
		trigger.OldObject = old.Object
	}
	return true, err
}

// isOfChanged reports whether a read is of the object that would change, or of a list that may have it.
func (g *generation) isOfChanged(r generate.Read) bool {
	kind, served, err := g.from.KindOf(r.Resource)
	if err != nil || !served || kind.GroupKind() != g.id.GroupKind() {
		return false
	}
	if r.Name != "" {
		return r.Name == g.id.Name && r.Namespace == g.id.Namespace
	}
	return r.Namespace == "" || r.Namespace == g.id.Namespace
}

// madeOnce returns what the record of a trigger remembers that a policy made for it.
func (g *generation) madeOnce(ctx context.Context, policy string, trigger generate.ID) (map[generate.ID]bool, error) {
	target, err := g.cluster.Named(trigger.GroupKind(), trigger.Namespace, trigger.Name)
	if err != nil {
		return nil, err
	}
	records, err := g.cluster.RecordsOf(ctx, target)
	if err != nil || len(records) == 0 {
		return nil, err
	}
	out := map[generate.ID]bool{}
	for _, made := range records[0].Status.Generated {
		if made.Policy == policy {
			out[generate.ID{Group: made.Group, Kind: made.Kind, Namespace: made.Namespace, Name: made.Name}] = true
		}
	}
	return out, nil
}

// steps returns what a policy would do with the objects that it wants for triggers, or made for them.
func (g *generation) steps(
	p *v1alpha1.GeneratingPolicy, triggers []plan.Trigger, made map[generate.ID]*plan.Marks, kinds map[schema.GroupKind]schema.GroupVersionKind,
) ([]Step, error) {
	ids := concernedBy(triggers, made)
	there := map[generate.ID]*unstructured.Unstructured{}
	var existing []plan.Existing
	rivals := map[generate.ID][]plan.PolicyRef{}
	for _, id := range slices.SortedFunc(maps.Keys(ids), generate.ID.Compare) {
		object, err := g.from.Object(kinds[id.GroupKind()], id.Namespace, id.Name)
		if err != nil {
			return nil, err
		}
		if object == nil {
			continue
		}
		there[id] = object
		marks, _ := plan.MarksOf(id, object.Object)
		existing = append(existing, plan.Existing{ID: id, Content: object.Object, Marks: marks})
		if marks != nil && marks.Policy.Name != p.Name {
			if rival, ok := g.alive[marks.Policy.Name]; ok {
				rivals[id] = []plan.PolicyRef{rival}
			}
		}
	}
	policy := plan.Policy{PolicyRef: refOf(p), GeneratingEvaluation: p.Spec.Evaluation}
	var out []Step
	for _, step := range g.plan(policy, triggers, existing, rivals) {
		if !ids[step.ID] {
			continue
		}
		one := Step{Step: step, Policy: p.Name, There: there[step.ID]}
		if step.Marks != nil {
			one.Above = g.above[step.Marks.Triggers[0]]
		}
		out = append(out, one)
	}
	return out, nil
}

// concernedBy returns the objects that triggers want, or that were made for them.
func concernedBy(triggers []plan.Trigger, made map[generate.ID]*plan.Marks) map[generate.ID]bool {
	out := map[generate.ID]bool{}
	for i := range triggers {
		for _, wanted := range triggers[i].Wanted {
			out[wanted.ID] = true
		}
		for id, marks := range made {
			if slices.Contains(marks.Triggers, triggers[i].ID) {
				out[id] = true
			}
		}
	}
	return out
}

// takenOver plans for the objects that no policy made as if they had the marks of this one.
func takenOver(policy plan.Policy, triggers []plan.Trigger, existing []plan.Existing, rivals map[generate.ID][]plan.PolicyRef) []plan.Step {
	var out []plan.Step
	for _, object := range existing {
		if object.Marks != nil {
			continue
		}
		object.Marks = &plan.Marks{Policy: policy.PolicyRef, Synchronized: policy.Synchronize, Triggers: wantedBy(triggers, object.ID)}
		for _, step := range plan.For(policy, triggers, []plan.Existing{object}, rivals) {
			if step.ID == object.ID {
				out = append(out, step)
			}
		}
	}
	return out
}

func wantedBy(triggers []plan.Trigger, id generate.ID) []generate.ID {
	var out []generate.ID
	for i := range triggers {
		if slices.ContainsFunc(triggers[i].Wanted, func(w generate.Wanted) bool { return w.ID == id }) {
			out = append(out, triggers[i].ID)
		}
	}
	return out
}
