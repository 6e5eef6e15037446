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
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/campaign/stranger/plan"
)

// actTimeout bounds one act.
const actTimeout = 30 * time.Second

// fates are one at a time.
var fates sync.Mutex

// performance is one act that is being played.
type performance struct {
	*stage
	plan.Act
	r *rand.Rand
	// who plays it.
	who client.Client
	// obj is what it is done to, as it is there.
	obj *unstructured.Unstructured
}

// play lets all acts happen, some at the same time.
func (s *stage) play(ctx context.Context, acts []plan.Act) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(*lanes)
	for _, act := range acts {
		if groupCtx.Err() != nil {
			break
		}
		group.Go(func() error {
			s.mu.Lock()
			s.begun = append(s.begun, time.Now())
			s.mu.Unlock()
			ctx, cancel := context.WithTimeout(groupCtx, actTimeout)
			defer cancel()
			p := &performance{stage: s, Act: act, r: act.Rand()}
			if act.Who == plan.Fate {
				return p.fate(groupCtx)
			}
			if act.Elsewhere && s.elsewhere != nil {
				p.stage = s.elsewhere
			}
			p.who = p.people[act.Who]
			switch {
			case act.Impostor:
				p.who = p.impostors[act.Resource]
			case act.Who == plan.Gone:
				p.who = p.servants[act.Resource]
			}
			if act.Dry {
				p.who = client.NewDryRunClient(p.who)
			}
			what, err := p.perform(ctx)
			if p.stage == s {
				s.note(act.N, what)
			}
			sayf("act %d: %s: %s %s %s%s: %s", act.N, act.Who, tells(act), act.Resource, what, where(act), outcome(err))
			return nil
		})
	}
	return group.Wait()
}

// tells says what is done, or only tried.
func tells(act plan.Act) string {
	if act.Dry {
		return "try to " + string(act.What)
	}
	return string(act.What)
}

// where says where an act is done that is not done in the first namespace, and whether an impostor does it.
func where(act plan.Act) string {
	out := ""
	if act.Elsewhere {
		out = " elsewhere"
	}
	if act.Impostor {
		out += " by an impostor"
	}
	return out
}

// errNothing is that there is nothing to do it to.
var errNothing = errors.New("there is nothing to do it to")

// outcome says in a word what came of an act. Values are in none.
func outcome(err error) string {
	switch {
	case err == nil:
		return "done"
	case errors.Is(err, errNothing):
		return "nothing there"
	case strings.Contains(err.Error(), "admission webhook") && strings.Contains(err.Error(), "denied"):
		return "denied"
	}
	if reason := apierrors.ReasonForError(err); reason != "" {
		return string(reason)
	}
	return "no answer"
}

// perform plays the act.
func (p *performance) perform(ctx context.Context) (string, error) {
	below := p.What == plan.Approve && !slices.Contains(plan.Parents, p.Resource)
	if p.Who == plan.Alice && !slices.Contains([]plan.What{plan.Evict, plan.Autoscale, plan.Reach}, p.What) && !below {
		return p.initiate(ctx)
	}
	if p.Who == plan.Bob && p.What == plan.Part && p.Resource == "things" && p.r.IntN(3) == 0 {
		return p.reachDown(ctx)
	}
	if p.What == plan.Thin {
		return p.thin(ctx)
	}
	if err := p.find(ctx); err != nil {
		return "", err
	}
	name := p.obj.GetName()
	p.pose()
	switch p.What {
	case plan.Approve:
		return name, p.approve(ctx, p.obj)
	case plan.Reach:
		return name, p.reach(ctx)
	case plan.Copy, plan.Delete, plan.DeleteCollection, plan.Scale, plan.Evict, plan.Debug, plan.Resize, plan.Bind, plan.Autoscale:
		return name, p.call(ctx)
	default:
		path, err := p.write(ctx)
		return strings.Join(append([]string{name}, path...), " "), err
	}
}

// find chooses what it is done to: mostly what is alice's, or below that.
func (p *performance) find(ctx context.Context) error {
	list := listOf(p.Resource)
	if err := p.admin.List(ctx, list, client.InNamespace(p.namespace)); err != nil {
		return err
	}
	all := slices.DeleteFunc(list.Items, func(o unstructured.Unstructured) bool { return !strings.HasPrefix(o.GetName(), p.family) })
	strays := slices.DeleteFunc(slices.Clone(all), func(o unstructured.Unstructured) bool {
		return !strings.HasPrefix(o.GetName(), "zq") || len(o.GetOwnerReferences()) == 0
	})
	deep := slices.DeleteFunc(slices.Clone(all), func(o unstructured.Unstructured) bool {
		return len(o.GetOwnerReferences()) == 0 || o.GetOwnerReferences()[0].Kind != kinds["replicasets"].Kind
	})
	switch {
	case p.What == plan.Approve && len(strays) > 0:
		all = strays // That are worth approving.
	case p.Who == plan.Gone && len(strays) > 0 && p.r.IntN(4) == 0:
		all = strays // Which controllers may only get rid of.
	case p.What == plan.Reach && len(deep) > 0 && p.r.IntN(3) > 0:
		all = deep // Below what nobody may initiate on.
	case p.r.IntN(10) < 8:
		own := slices.DeleteFunc(slices.Clone(all), func(o unstructured.Unstructured) bool { return strings.HasPrefix(o.GetName(), "zq") })
		if len(own) > 0 {
			all = own
		}
	}
	if len(all) == 0 {
		return errNothing
	}
	p.obj = &all[p.r.IntN(len(all))]
	p.obj.SetGroupVersionKind(kinds[p.Resource])
	return nil
}

// initiate plays what alice does with what is hers.
func (p *performance) initiate(ctx context.Context) (string, error) {
	names := p.hers(p.Resource)
	if len(names) == 0 {
		return "", errNothing
	}
	name := names[p.r.IntN(len(names))]
	want, err := p.pristine(p.Resource, name, p.N)
	if err != nil {
		return name, err
	}
	p.obj = want.DeepCopy()
	err = p.admin.Get(ctx, client.ObjectKeyFromObject(want), p.obj)
	switch {
	case apierrors.IsNotFound(err):
		if p.What == plan.Delete {
			return name, errNothing
		}
		return name, p.who.Create(ctx, want)
	case err != nil:
		return name, err
	}
	before := p.obj.DeepCopy()
	switch p.What {
	case plan.Delete:
		return name, p.who.Delete(ctx, before)
	case plan.Approve:
		return name, p.approve(ctx, before)
	case plan.Park:
		return name, p.park(ctx)
	case plan.Pick:
		return name, p.pick(ctx)
	case plan.Glance:
		return name, p.glance(ctx)
	case plan.Plant:
		return name, p.plant(ctx)
	case plan.Replace:
		return name, p.replace(ctx)
	case plan.Exceed, plan.Lean, plan.Waver, plan.Share, plan.Linger:
		return name, p.burden(ctx)
	case plan.Scale:
		return name, p.scale(ctx)
	case plan.Steer:
		if !p.steer() {
			return name, errNothing
		}
	case plan.Ensure:
		// A Job that is done is made anew.
		if ended(p.obj) {
			return name, p.who.Delete(ctx, before, client.PropagationPolicy("Background"))
		}
		return name, nil
	case plan.Restore:
		p.restore(want)
	default:
		if !p.roll(want) {
			return name, errNothing
		}
	}
	return name, p.who.Patch(ctx, p.obj, client.MergeFrom(before))
}

func ended(obj *unstructured.Unstructured) bool {
	_, done, _ := unstructured.NestedString(obj.Object, "status", "completionTime")
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	return done || slices.ContainsFunc(conditions, func(c any) bool {
		return asMap(c)["type"] == "Failed" && asMap(c)["status"] == "True"
	})
}

// restore takes back whatever others have made of it.
func (p *performance) restore(want *unstructured.Unstructured) {
	p.obj.SetOwnerReferences(nil)
	p.obj.SetFinalizers(nil)
	p.obj.SetLabels(want.GetLabels())
	if p.Resource == "jobs" {
		return // Their template is for ever.
	}
	spec := asMap(want.Object["spec"])
	for _, key := range []string{"selector", "serviceName", "podManagementPolicy"} {
		if old, ok := asMap(p.obj.Object["spec"])[key]; ok {
			spec[key] = old
		}
	}
	p.obj.Object["spec"] = spec
}

// roll writes an image of hers.
func (p *performance) roll(want *unstructured.Unstructured) bool {
	paths := map[string][]string{
		"deployments": {"spec", "template", "spec", "containers"}, "statefulsets": {"spec", "template", "spec", "containers"},
		"daemonsets": {"spec", "template", "spec", "containers"}, "things": {"spec", "config"}, plan.Others: {"spec", "config"},
		"cronjobs": {"spec", "jobTemplate", "spec", "template", "spec", "containers"},
	}
	path := paths[p.Resource]
	if path == nil {
		return p.steer()
	}
	wanted, _, _ := unstructured.NestedFieldCopy(want.Object, path...)
	list, ok := wanted.([]any)
	if !ok {
		return unstructured.SetNestedField(p.obj.Object, wanted, path...) == nil
	}
	there, _, _ := unstructured.NestedSlice(p.obj.Object, path...)
	for i := range there {
		if c := asMap(there[i]); c != nil && i == 0 {
			c["image"] = asMap(list[0])["image"]
		}
	}
	return unstructured.SetNestedSlice(p.obj.Object, there, path...) == nil
}

func asMap(value any) map[string]any {
	fields, _ := value.(map[string]any)
	return fields
}

// fate ends processes, and edits policies.
func (p *performance) fate(ctx context.Context) error {
	fates.Lock()
	defer fates.Unlock()
	sayf("act %d: %s", p.N, p.What)
	switch p.What {
	case plan.KillOperator:
		if err := p.operator.Kill(); err != nil {
			return err
		}
		return p.operator.Restart(ctx)
	case plan.RestartControllers:
		return p.cp.Restart(ctx, "kube-controller-manager")
	case plan.RenewPolicy:
		return p.renew(ctx)
	case plan.Move:
		return p.move(ctx)
	case plan.Unhook:
		return p.unhook(ctx)
	default:
		if p.elsewhere == nil {
			return p.clean(ctx)
		}
		there := *p
		there.stage = p.elsewhere
		return errors.Join(p.clean(ctx), there.clean(ctx))
	}
}

// renew deletes a policy and makes it again, upon which what is there is adopted.
func (p *performance) renew(ctx context.Context) error {
	policy := p.policies[p.r.IntN(len(p.policies))].DeepCopy()
	if err := client.IgnoreNotFound(p.admin.Delete(ctx, policy)); err != nil {
		return fmt.Errorf("AllowancePolicy %s: %w", policy.Name, err)
	}
	if err := p.admin.Create(ctx, policy); err != nil {
		return fmt.Errorf("AllowancePolicy %s: %w", policy.Name, err)
	}
	return p.untilEnforced(ctx)
}

// move takes the second namespace out of the policies that select it by its label, or has it come back.
func (p *performance) move(ctx context.Context) error {
	if p.elsewhere == nil {
		return nil
	}
	namespace := &corev1.Namespace{}
	if err := p.admin.Get(ctx, client.ObjectKey{Name: p.elsewhere.namespace}, namespace); err != nil {
		return err
	}
	before := namespace.DeepCopy()
	if namespace.Labels[governed] == "" {
		namespace.Labels[governed] = "yes"
	} else {
		delete(namespace.Labels, governed)
	}
	return p.admin.Patch(ctx, namespace, client.MergeFrom(before))
}

// clean takes finalizers of strangers away, which would keep what is deleted for ever, what
// strangers made, and what was left behind in the place of what a controller makes.
func (p *performance) clean(ctx context.Context) error {
	for resource := range kinds {
		if resource == "allowancerecords" {
			continue
		}
		list := listOf(resource)
		if err := p.admin.List(ctx, list, client.InNamespace(p.namespace)); err != nil {
			return err
		}
		for i := range list.Items {
			obj := &list.Items[i]
			p.letGo(ctx, obj)
			left := strings.HasSuffix(obj.GetName(), part) || strings.HasSuffix(obj.GetName(), below)
			if (left || strings.HasPrefix(obj.GetName(), "zq") && p.r.IntN(3) == 0) && len(obj.GetOwnerReferences()) == 0 {
				_ = p.people[plan.Alice].Delete(ctx, obj, client.PropagationPolicy("Background")) // It goes the next time.
			}
		}
	}
	return nil
}

// letGo takes the finalizers of what a stranger keeps from its end.
func (s *stage) letGo(ctx context.Context, obj *unstructured.Unstructured) {
	foreign := slices.ContainsFunc(obj.GetFinalizers(), func(f string) bool { return strings.Contains(f, "zq") })
	if foreign && obj.GetDeletionTimestamp() != nil {
		_ = s.admin.Patch(ctx, obj, merge(`{"metadata":{"finalizers":null}}`)) // It goes the next time.
	}
}
