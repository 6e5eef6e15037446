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

package e2e

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
)

// labelControllers is on specs that "make e2e-controllers" runs, and "make test" leaves out.
const labelControllers = "controllers"

// readiness is when a controller says that it is done.
type readiness int

const (
	// The zero value is when it is.
	_ readiness = iota
	// readyEarly is before it has done anything.
	readyEarly
	// readyLate is some looks after it was done.
	readyLate
	readyNever
)

// lateBy is how many looks late is.
const lateBy = 25

// habits are what controllers do that nobody forbids.
type habits struct {
	// copies all annotations of the parent onto its child, and of the child onto its parent.
	copies bool
	// forgets what it does not recognize: it writes without the annotations of others.
	forgets bool
	// generation is how it tells what it has seen: as a number, a text, or not at all.
	generation func(int64) any
	ready      readiness
	// recreates its children rather than changing them.
	recreates bool
	// meddles with the children of its children before it changes these.
	meddles bool
	// relays by the status of the parent what its children are to be like.
	relays bool
	// bursts of it come at once.
	bursts bool
	// consumption is what its policy says of it.
	consumption *v1alpha1.Consumption
}

// asNumber and asText are how a generation may be told.
func asNumber(generation int64) any { return generation }

func asText(generation int64) any { return strconv.FormatInt(generation, 10) }

// worst is a controller of Things that does the worst that is legal. A Thing has a
// ConfigMap of its name, and another Thing below it, which has one as well.
type worst struct {
	copier
	habits

	group, namespace string
	// done is how often it has looked since all was as it is to be.
	done int
}

// look looks at all, and does what is missing. What fails is tried again with the next.
func (w *worst) look(ctx context.Context) error {
	if !w.bursts {
		return w.act(ctx)
	}
	const burst = 5
	failed := make([]error, burst)
	var all sync.WaitGroup
	for i := range burst {
		all.Go(func() {
			one := *w.fresh()
			failed[i] = one.act(ctx)
			w.writes.Add(one.writes.Load())
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

// fresh returns the same controller for one look.
func (w *worst) fresh() *worst {
	return &worst{copier: copier{actor: w.actor}, habits: w.habits, group: w.group, namespace: w.namespace, done: lateBy}
}

func (w *worst) act(ctx context.Context) error {
	app, part := builders.MakeThing(w.group, w.namespace, "app"), builders.MakeThing(w.group, w.namespace, "app-part")
	if err := w.Get(ctx, client.ObjectKeyFromObject(app), app); err != nil {
		return client.IgnoreNotFound(err)
	}
	config, _, _ := unstructured.NestedString(app.Object, "spec", "config")
	if w.ready == readyEarly {
		if err := w.report(ctx, app, "True", ""); err != nil {
			return err
		}
	}
	if is, _, _ := unstructured.NestedString(app.Object, "status", "wanted"); w.relays && is != config {
		state := "False"
		if w.ready == readyEarly {
			state = "True"
		}
		if err := w.relay(ctx, app, state, config); err != nil {
			return err
		}
		config, _, _ = unstructured.NestedString(app.Object, "status", "wanted")
	}
	failed := w.configure(ctx, app, "app", config)
	if w.meddles && w.Get(ctx, client.ObjectKeyFromObject(part), part) == nil {
		failed = errors.Join(failed, w.configure(ctx, part, "app-part", config))
	}
	if err := errors.Join(failed, w.compose(ctx, app, part, config)); err != nil {
		w.done = 0
		return err
	}
	if err := w.configure(ctx, part, "app-part", config); err != nil {
		return err
	}
	w.done++
	for _, thing := range []*unstructured.Unstructured{part, app} {
		state := "True"
		if w.ready == readyNever || w.ready == readyLate && w.done < lateBy {
			state = "False"
		}
		if err := w.report(ctx, thing, state, config); err != nil {
			return err
		}
	}
	return w.annotate(ctx, app, part)
}

// configure makes the ConfigMap of a Thing be as is wanted.
func (w *worst) configure(ctx context.Context, thing *unstructured.Unstructured, name, config string) error {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	err := w.Get(ctx, client.ObjectKeyFromObject(object), object)
	if err == nil && object.Data["config"] == config {
		return nil
	}
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	exists := err == nil
	if exists && w.recreates {
		if err := w.Delete(ctx, object); err != nil {
			return err
		}
		exists = false
		object = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	}
	object.Data = map[string]string{"config": config}
	if exists {
		return w.Update(ctx, object)
	}
	if err := controllerutil.SetControllerReference(thing, object, scheme); err != nil {
		return err
	}
	return w.Create(ctx, object)
}

// compose makes the Thing below another one be as is wanted.
func (w *worst) compose(ctx context.Context, app, part *unstructured.Unstructured, config string) error {
	err := w.Get(ctx, client.ObjectKeyFromObject(part), part)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if is, _, _ := unstructured.NestedString(part.Object, "spec", "config"); err == nil && is == config {
		return nil
	}
	if err := unstructured.SetNestedField(part.Object, config, "spec", "config"); err != nil {
		return err
	}
	if err == nil {
		return w.Update(ctx, part)
	}
	if err := controllerutil.SetControllerReference(app, part, scheme); err != nil {
		return err
	}
	return w.Create(ctx, part)
}

// relay writes into the status of a Thing what its children are to be like.
func (w *worst) relay(ctx context.Context, thing *unstructured.Unstructured, state, wanted string) error {
	status := w.status(thing, state)
	status["wanted"] = wanted
	return w.write(ctx, thing, status)
}

// report writes the status of a Thing, all of it, where it differs: what has been applied
// is told where something has.
func (w *worst) report(ctx context.Context, thing *unstructured.Unstructured, state, applied string) error {
	status := w.status(thing, state)
	if applied != "" {
		status["applied"] = applied
	}
	return w.write(ctx, thing, status)
}

// status returns what it says of a Thing, with what it has said before of its children.
func (w *worst) status(thing *unstructured.Unstructured, state string) map[string]any {
	status := map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": state}}}
	if w.generation != nil {
		status["observedGeneration"] = w.generation(thing.GetGeneration())
	}
	before, _, _ := unstructured.NestedMap(thing.Object, "status")
	for _, key := range []string{"wanted", "applied"} {
		if value, ok := before[key]; ok {
			status[key] = value
		}
	}
	return status
}

func (w *worst) write(ctx context.Context, thing *unstructured.Unstructured, status map[string]any) error {
	before, _, _ := unstructured.NestedMap(thing.Object, "status")
	if sameStatus(before, status) {
		return nil
	}
	thing.Object["status"] = status
	w.writes.Add(1)
	return w.Status().Update(ctx, thing)
}

// sameStatus reports whether what the controller knows of a status is as it wants it.
func sameStatus(is, want map[string]any) bool {
	ready := func(status map[string]any) any {
		conditions, _ := status["conditions"].([]any)
		for _, c := range conditions {
			if fields, _ := c.(map[string]any); fields["type"] == "Ready" {
				return fields["status"]
			}
		}
		return nil
	}
	for _, key := range []string{"observedGeneration", "wanted", "applied"} {
		if is[key] != want[key] {
			return false
		}
	}
	return ready(is) == ready(want)
}

// annotate does to the annotations of both what it does to annotations.
func (w *worst) annotate(ctx context.Context, app, part *unstructured.Unstructured) error {
	if w.forgets {
		for _, thing := range []*unstructured.Unstructured{app, part} {
			if known := onlyKnown(thing); !maps.Equal(known, thing.GetAnnotations()) {
				thing.SetAnnotations(known)
				version := thing.GetResourceVersion()
				if err := w.Update(ctx, thing); err != nil {
					return err
				}
				if thing.GetResourceVersion() != version {
					w.writes.Add(1)
				}
			}
		}
	}
	if !w.copies {
		return nil
	}
	return errors.Join(w.have(ctx, part, copies(part, app)), w.have(ctx, app, copies(app, part)))
}

// What a controller may do without breaking a rule of Kubernetes, nobody here can forbid.
var _ = Describe("A controller that does the worst that is legal", Label(labelControllers), func() {
	soon := &v1alpha1.Consumption{TTL: &metav1.Duration{Duration: 5 * time.Second}}
	whenApplied := &v1alpha1.Consumption{When: "object.status.applied == object.spec.config"}

	for name, h := range map[string]habits{
		"copies all annotations both ways":          {generation: asNumber, copies: true},
		"writes without what it does not recognize": {generation: asNumber, forgets: true},
		"tells its generation as a text": {generation: asText, consumption: &v1alpha1.Consumption{
			When: "int(object.status.observedGeneration) >= allowance.generation && object.status.conditions[0].status == 'True'",
		}},
		"tells no generation":                       {consumption: soon},
		"is ready early":                            {generation: asNumber, ready: readyEarly, consumption: whenApplied},
		"is ready late":                             {generation: asNumber, ready: readyLate},
		"is never ready":                            {generation: asNumber, ready: readyNever, consumption: whenApplied},
		"recreates rather than updates":             {generation: asNumber, recreates: true},
		"meddles with the children of its children": {generation: asNumber, meddles: true},
		"relays through a status":                   {generation: asNumber, relays: true},
		"comes in bursts":                           {generation: asNumber, bursts: true},
		// But for forgetting: what it copies it would forget, whosever it is.
		"does all of that, and is ready early":        {generation: asText, ready: readyEarly, copies: true, recreates: true, meddles: true, relays: true, bursts: true, consumption: whenApplied},
		"does all of that, and never says that it is": {ready: readyNever, copies: true, recreates: true, meddles: true, relays: true, bursts: true, consumption: whenApplied},
	} {
		It(name, func(ctx SpecContext) {
			group := defineThings(ctx)
			policy := worstPolicy(group)
			policy.Spec.Consumption = h.consumption
			shared.apply(ctx, policy)
			ns := shared.newNamespace(ctx)
			owner, stranger := shared.as(alice, platformTeam, "system:masters"), shared.as(mallory, "system:masters")
			app := builders.MakeThing(group, ns, "app")
			app.Object["spec"] = map[string]any{"config": "a"}
			Expect(owner.Create(ctx, app)).To(Succeed())
			w := &worst{copier: copier{actor: shared.as(thingControllerUser, "system:masters")}, habits: h, group: group, namespace: ns}
			w.start(context.WithoutCancel(ctx), w.look)
			configured := func(config string) {
				GinkgoHelper()
				Eventually(ctx, func(g Gomega) {
					for _, name := range []string{"app", "app-part"} {
						var object corev1.ConfigMap
						g.Expect(shared.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, &object)).To(Succeed())
						g.Expect(object.Data).To(HaveKeyWithValue("config", config), name)
					}
				}).WithTimeout(90 * time.Second).Should(Succeed())
			}
			// What is written and changes nothing nobody hears of.
			rests := func() {
				GinkgoHelper()
				var before map[string]string
				Eventually(ctx, func(g Gomega) {
					now := versions(ctx, g, group, ns)
					last := before
					before = now
					g.Expect(now).To(Equal(last), "it writes without an end")
				}).WithPolling(quietMoment).Should(Succeed())
			}

			By("creating it")
			configured("a")
			Eventually(ctx, func(g Gomega) {
				g.Expect(shared.record(ctx, g, app).Status.Phase).To(Equal(v1alpha1.PhaseSteady))
			}).Should(Succeed())
			rests()

			By("changing it")
			owner.setThing(ctx, app, `{"config":"b"}`)
			configured("b")
			rests()

			By("changing it as a stranger")
			audit := shared.watch(ns)
			stranger.setThing(ctx, app, `{"config":"theirs"}`)
			Expect(stranger.warned.take()).To(ContainSubstring("withheld"))
			audit.tries(ctx, thingControllerUser, "Thing app")
			Consistently(ctx, func(g Gomega) {
				var all corev1.ConfigMapList
				g.Expect(shared.List(ctx, &all, client.InNamespace(ns))).To(Succeed())
				for _, object := range all.Items {
					g.Expect(object.Data).NotTo(HaveKeyWithValue("config", "theirs"), object.Name)
				}
			}).WithTimeout(2 * quietMoment).Should(Succeed())
			Expect(audit.writes(controlplane.Succeeded, controlplane.ByUser(thingControllerUser), controlplane.OfSubresource(""),
				controlplane.ByVerb("create", "update"), func(e *auditv1.Event) bool { return e.ObjectRef.Resource == "configmaps" })).To(BeEmpty())

			By("changing it once more")
			owner.setThing(ctx, app, `{"config":"c"}`)
			configured("c")
			rests()
		}, SpecTimeout(3*specTimeout))
	}
})

// versions returns the versions of the Things and ConfigMaps in a namespace.
func versions(ctx context.Context, g Gomega, group, ns string) map[string]string {
	out := map[string]string{}
	for _, kind := range []schema.GroupVersionKind{builders.ThingKind(group), corev1.SchemeGroupVersion.WithKind("ConfigMap")} {
		var all unstructured.UnstructuredList
		all.SetGroupVersionKind(kind)
		g.Expect(shared.List(ctx, &all, client.InNamespace(ns))).To(Succeed())
		for _, object := range all.Items {
			out[object.GetKind()+" "+object.GetName()] = object.GetResourceVersion()
		}
	}
	return out
}

// worstPolicy returns a policy for Things whose controller recreates rather than updates.
func worstPolicy(group string) *v1alpha1.AllowancePolicy {
	GinkgoHelper()
	p := thingPolicy(group, "worst-"+group)
	p.Spec.Subjects = append(p.Spec.Subjects, v1alpha1.PolicySubject{
		Subject: v1alpha1.Subject{Kind: v1alpha1.SubjectServiceAccount, Namespace: "kube-system", Name: "thing-controller"},
	})
	things := p.Spec.Rules[0].Policies[0]
	things.Target.APIGroup, things.Target.Resource = &group, "things"
	p.Spec.Rules[0].Policies = append(p.Spec.Rules[0].Policies, things)
	p.Spec.Initializing = &v1alpha1.InitializingSection{Policies: p.Spec.Rules[0].Policies}
	p.Spec.Maintaining = &v1alpha1.MaintainingSection{}
	return p
}
