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

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/campaign/generating/model"
	"kausality.io/operator/test/campaign/generating/plan"
)

var (
	// namespaces, triggers and policies are names: of the Namespaces of teams, of the ConfigMaps that are
	// triggers, and of GeneratingPolicies.
	namespaces = []string{"team-0", "team-1", "team-2", "team-3"}
	triggers   = []string{"t0", "t1", "t2"}
	policies   = []string{"p0", "p1", "p2", "p3", "p4", "p5"}
)

// errNothing says that there is nothing to do an act to.
var errNothing = errors.New("there is nothing to do it to")

// someone is the field manager of people.
const someone = client.FieldOwner("someone")

// play does so many acts, and rests now and then.
func (s *stage) play(ctx context.Context, number int) error {
	last := 0
	for a := range plan.Make(s.seed) {
		if err := s.perform(ctx, a); err != nil {
			return fmt.Errorf("act %s: %w", a, err)
		}
		pause(ctx, time.Duration(max(0, a.Pick[3]%100-30))*time.Millisecond)
		if s.acted == last || s.acted%*every != 0 && s.acted != number {
			continue
		}
		last = s.acted
		if err := s.rest(ctx); err != nil {
			return fmt.Errorf("after act %s: %w", a, err)
		}
		sayf("%d acts, %d objects are as they should be", s.acted, len(s.model.IDs()))
		if s.acted == number {
			return nil
		}
		if *fault != "" && !faults[*fault].atRest && s.isDue() {
			if err := s.plant(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// perform does one act.
func (s *stage) perform(ctx context.Context, a plan.Act) error {
	p := &performance{stage: s, Act: a, at: time.Now()}
	what, err := p.act(ctx)
	if errors.Is(err, errNothing) {
		return nil
	}
	if err != nil {
		return err
	}
	s.done[a.Do]++
	s.acted++
	line := fmt.Sprintf("%s %d: %s", p.at.Format("15:04:05.000"), a.N, what)
	s.recent = append(s.recent, line)
	if *telling {
		sayf("%d: %s", a.N, what)
	}
	if s.model.Lost() {
		return fmt.Errorf("%s: what came of it cannot be:\n%s", what, s.model.ExplainLost())
	}
	return nil
}

// performance is one act as it is done.
type performance struct {
	*stage
	plan.Act
	at time.Time
}

// did has the model and the checker know what was done.
func (p *performance) did(do func(*model.World), touched ...model.Touch) {
	p.now().Note(p.at, p.model.Act(do, touched...))
}

// act does it, and says what was done.
func (p *performance) act(ctx context.Context) (string, error) {
	switch p.Do {
	case plan.MakeTrigger, plan.ChangeTrigger, plan.RelabelTrigger, plan.DeleteTrigger:
		return p.trigger(ctx)
	case plan.MakeSource, plan.ChangeSource, plan.DeleteSource:
		return p.source(ctx)
	case plan.MakeNamespace, plan.RelabelNamespace, plan.DeleteNamespace:
		return p.namespace(ctx)
	case plan.ChangeObject, plan.AddToObject, plan.ClaimObject, plan.DeleteObject, plan.DeleteOwn:
		return p.object(ctx)
	case plan.MakeObject:
		return p.makeObject(ctx)
	case plan.MakePolicy, plan.FlashPolicy:
		return p.makePolicy(ctx)
	case plan.DeletePolicy:
		return p.deletePolicy(ctx)
	case plan.RewritePolicy, plan.ReshapePolicy, plan.SwitchSync, plan.SwitchExisting, plan.SwitchOrphan:
		return p.changePolicy(ctx)
	default:
		return p.breakOrMend(ctx)
	}
}

// pickOf picks one.
func pickOf[T any](all []T, pick int) (T, error) {
	var none T
	if len(all) == 0 {
		return none, errNothing
	}
	return all[pick%len(all)], nil
}

// value is a text that nothing else has.
func (p *performance) value() string { return fmt.Sprintf("v%d", p.N) }

func yesOrNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// merge returns a JSON merge patch.
func merge(fields map[string]any) client.Patch {
	raw, err := json.Marshal(fields)
	if err != nil {
		raw = []byte(err.Error()) // The API server refuses it.
	}
	return client.RawPatch(types.MergePatchType, raw)
}

func labels(labels map[string]string) client.Patch {
	return merge(map[string]any{"metadata": map[string]any{"labels": labels}})
}

func (p *performance) trigger(ctx context.Context) (string, error) {
	var all []model.Name
	for _, ns := range slices.Sorted(maps.Keys(p.model.Namespaces)) {
		for _, t := range triggers {
			name := model.Name{Namespace: ns, Name: t}
			if _, ok := p.model.Triggers[name]; ok == (p.Do != plan.MakeTrigger) {
				all = append(all, name)
			}
		}
	}
	name, err := pickOf(all, p.Pick[0])
	if err != nil {
		return "", err
	}
	is := p.model.Triggers[name]
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
	switch p.Do {
	case plan.MakeTrigger:
		is = model.Trigger{Labeled: p.Pick[1]%4 > 0, Value: p.value()}
		object.Labels = map[string]string{"trigger": yesOrNo(is.Labeled)}
		object.Data = map[string]string{"value": is.Value}
		err = p.admin.Create(ctx, object, someone)
	case plan.ChangeTrigger:
		is.Value = p.value()
		err = p.admin.Patch(ctx, object, merge(map[string]any{"data": map[string]string{"value": is.Value}}), someone)
	case plan.RelabelTrigger:
		is.Labeled = !is.Labeled
		err = p.admin.Patch(ctx, object, labels(map[string]string{"trigger": yesOrNo(is.Labeled)}), someone)
	default:
		err = p.admin.Delete(ctx, object)
	}
	p.did(func(w *model.World) {
		if p.Do == plan.DeleteTrigger {
			delete(w.Triggers, name)
			return
		}
		is.Written = w.Clock
		if p.Do == plan.MakeTrigger {
			is.Born = w.Clock
		}
		w.Triggers[name] = is
	})
	return fmt.Sprintf("%s %s/%s: %+v", p.Do, name.Namespace, name.Name, is), err
}

func (p *performance) source(ctx context.Context) (string, error) {
	var all []string
	for i := range 3 {
		name := model.SourceName(i)
		if _, ok := p.model.Sources[name]; ok == (p.Do != plan.MakeSource) {
			all = append(all, name)
		}
	}
	name, err := pickOf(all, p.Pick[0])
	if err != nil {
		return "", err
	}
	object := objectOf(model.ID{Kind: model.Seed, Namespace: model.Sources, Name: name})
	spec := map[string]any{"value": p.value()}
	switch p.Do {
	case plan.MakeSource:
		object.Object["spec"] = spec
		err = p.admin.Create(ctx, object, someone)
	case plan.ChangeSource:
		err = p.admin.Patch(ctx, object, merge(map[string]any{"spec": spec}), someone)
	default:
		err = p.admin.Delete(ctx, object)
	}
	p.did(func(w *model.World) {
		w.Sources[name] = p.value()
		if p.Do == plan.DeleteSource {
			delete(w.Sources, name)
		}
	})
	return fmt.Sprintf("%s %s", p.Do, name), err
}

func (p *performance) namespace(ctx context.Context) (string, error) {
	var all []string
	for _, name := range namespaces {
		if _, ok := p.model.Namespaces[name]; ok == (p.Do != plan.MakeNamespace) {
			all = append(all, name)
		}
	}
	name, err := pickOf(all, p.Pick[0])
	if err != nil {
		return "", err
	}
	is := p.model.Namespaces[name]
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	switch p.Do {
	case plan.MakeNamespace:
		is.Labeled = p.Pick[1]%4 > 0
		object.Labels = map[string]string{"team": yesOrNo(is.Labeled)}
		err = p.admin.Create(ctx, object, someone)
	case plan.RelabelNamespace:
		is.Labeled = !is.Labeled
		err = p.admin.Patch(ctx, object, labels(map[string]string{"team": yesOrNo(is.Labeled)}), someone)
	default:
		return p.deleteNamespace(ctx, object)
	}
	p.did(func(w *model.World) {
		is.Written = w.Clock
		if p.Do == plan.MakeNamespace {
			is.Born = w.Clock
		}
		w.Namespaces[name] = is
	})
	return fmt.Sprintf("%s %s: %+v", p.Do, name, is), err
}

// deleteNamespace deletes a namespace, and waits until it is gone, and what was in it.
func (p *performance) deleteNamespace(ctx context.Context, object *corev1.Namespace) (string, error) {
	if err := p.admin.Delete(ctx, object); err != nil {
		return "", err
	}
	var touched []model.Touch
	for _, id := range p.model.IDs() {
		if id.Namespace == object.Name {
			touched = append(touched, model.Touch{ID: id, Do: model.Lose})
		}
	}
	p.did(func(w *model.World) {
		delete(w.Namespaces, object.Name)
		maps.DeleteFunc(w.Triggers, func(n model.Name, _ model.Trigger) bool { return n.Namespace == object.Name })
	}, touched...)
	err := wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		err := p.admin.Get(ctx, client.ObjectKeyFromObject(object), &corev1.Namespace{})
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	return "delete namespace " + object.Name, err
}

// object does something by hand to an object that a policy made, or somebody else.
func (p *performance) object(ctx context.Context) (string, error) {
	all := p.model.MayBe(func(s model.Seen) bool {
		switch p.Do {
		case plan.DeleteOwn:
			return s.There && s.Owner == ""
		case plan.ChangeObject, plan.AddToObject:
			return s.There
		default:
			return s.There && s.Owner != ""
		}
	})
	if p.Do == plan.AddToObject {
		all = slices.DeleteFunc(all, func(id model.ID) bool { return id.Kind != model.ConfigMap })
	}
	id, err := pickOf(all, p.Pick[0])
	if err != nil {
		return "", err
	}
	object, t := objectOf(id), model.Touch{ID: id, Value: p.value()}
	switch p.Do {
	case plan.ChangeObject:
		t.Do = model.Change
		err = p.admin.Patch(ctx, object, merge(map[string]any{dataOf[id.Kind]: map[string]string{"value": t.Value}}), someone)
	case plan.AddToObject:
		t.Do = model.Add
		err = p.admin.Patch(ctx, object, merge(map[string]any{dataOf[id.Kind]: map[string]string{"more": t.Value}}), someone)
	case plan.ClaimObject:
		t.Do = model.Claim
		err = p.admin.Patch(ctx, object, merge(map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1alpha1.AnnotationGeneratedFrom: nil}}}), someone)
	default:
		t.Do = model.Delete
		err = p.admin.Delete(ctx, object)
	}
	if apierrors.IsNotFound(err) {
		err, t.Do = nil, model.Miss
	}
	p.did(func(*model.World) {}, t)
	return fmt.Sprintf("%s: %s (%d)", p.Do, id, t.Do), err
}

// makeObject makes an object by hand that a policy wants, or may want.
func (p *performance) makeObject(ctx context.Context) (string, error) {
	var all []model.ID
	for _, ns := range slices.Sorted(maps.Keys(p.model.Namespaces)) {
		for i := range 3 {
			all = append(all, model.ID{Kind: model.Seed, Namespace: ns, Name: model.SourceName(i)})
		}
		for _, t := range triggers {
			all = append(all, model.ID{Kind: model.ConfigMap, Namespace: model.Targets, Name: model.CentralName(model.Name{Namespace: ns, Name: t})})
			for _, policy := range policies {
				all = append(all, model.ID{Kind: model.ConfigMap, Namespace: ns, Name: policy + "-" + t})
			}
		}
	}
	there := p.model.MayBe(func(s model.Seen) bool { return s.There })
	all = slices.DeleteFunc(all, func(id model.ID) bool { return slices.Contains(there, id) })
	id, err := pickOf(all, p.Pick[0])
	if err != nil {
		return "", err
	}
	object := objectOf(id)
	object.Object[dataOf[id.Kind]] = map[string]any{"value": p.value()}
	err = p.admin.Create(ctx, object, someone)
	if apierrors.IsAlreadyExists(err) {
		return "", errNothing
	}
	p.did(func(*model.World) {}, model.Touch{ID: id, Do: model.Make, Value: p.value()})
	return fmt.Sprintf("%s: %s", p.Do, id), err
}

// makePolicy makes a policy, and waits until it is accepted.
func (p *performance) makePolicy(ctx context.Context) (string, error) {
	var all []string
	for _, name := range policies {
		if p.model.Policies[name] == nil {
			all = append(all, name)
		}
	}
	name, err := pickOf(all, p.Pick[0])
	if err != nil || p.model.Down {
		return "", errNothing // Nobody could say whether it is valid.
	}
	flags := p.Pick[1]
	spec := model.Spec{
		Shape: model.Shape(p.Pick[2] % int(model.Shapes)), Index: p.Pick[3],
		Synchronize: flags%3 > 0, GenerateExisting: flags/3%2 == 0, Orphan: flags/6%3 == 0,
	}
	object, err := policyOf(name, spec)
	if err != nil {
		return "", err
	}
	if err := p.admin.Create(ctx, object); apierrors.IsAlreadyExists(err) {
		return "", errNothing // The one before it waits to be gone.
	} else if err != nil {
		return "", err
	}
	if slices.Contains(p.model.Ending(), name) {
		p.model.Finished(name)
	}
	p.did(func(w *model.World) { w.Make(name, object.CreationTimestamp.UTC(), spec) })
	what := fmt.Sprintf("%s %s: %+v", p.Do, name, spec)
	if err := p.untilAccepted(ctx, object); err != nil || p.Do == plan.MakePolicy {
		return what, err
	}
	return what, p.end(ctx, name)
}

// changePolicy changes the spec of a policy, and waits until that is accepted.
func (p *performance) changePolicy(ctx context.Context) (string, error) {
	name, err := pickOf(slices.Sorted(maps.Keys(p.model.Policies)), p.Pick[0])
	if err != nil || p.model.Down {
		return "", errNothing
	}
	spec := p.model.Policies[name].Spec
	switch p.Do {
	case plan.RewritePolicy:
		spec.Rev++
	case plan.ReshapePolicy:
		spec.Shape, spec.Index = model.Shape(p.Pick[1]%int(model.Shapes)), p.Pick[2]
	case plan.SwitchSync:
		spec.Synchronize = !spec.Synchronize
	case plan.SwitchExisting:
		spec.GenerateExisting = !spec.GenerateExisting
	default:
		spec.Orphan = !spec.Orphan
	}
	object, err := policyOf(name, spec)
	if err != nil {
		return "", err
	}
	raw, err := json.Marshal([]map[string]any{{"op": "replace", "path": "/spec", "value": object.Spec}})
	if err != nil {
		return "", err
	}
	if err := p.admin.Patch(ctx, object, client.RawPatch(types.JSONPatchType, raw)); err != nil {
		return "", err
	}
	p.did(func(w *model.World) { w.Respecify(name, spec) })
	return fmt.Sprintf("%s %s: %+v", p.Do, name, spec), p.untilAccepted(ctx, object)
}

func (p *performance) deletePolicy(ctx context.Context) (string, error) {
	name, err := pickOf(slices.Sorted(maps.Keys(p.model.Policies)), p.Pick[0])
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %s", p.Do, name), p.end(ctx, name)
}

// end deletes a policy. As a rule it is gone before anything else is done.
func (p *performance) end(ctx context.Context, name string) error {
	if err := p.admin.Delete(ctx, &v1alpha1.GeneratingPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		return err
	}
	p.did(func(w *model.World) { w.End(name) })
	if p.model.Down || p.Pick[1]%4 == 0 {
		return nil
	}
	return p.finish(ctx)
}
