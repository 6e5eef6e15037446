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
	"fmt"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
)

// thingControllerUser is who the policy in testdata says makes the children of
// Things.
const thingControllerUser = "system:serviceaccount:kube-system:thing-controller"

// thingController is a controller of Things that acts when it is told to. Each
// Thing has a ConfigMap with what it is configured as, a Service with its port,
// and, if it asks for one, another Thing with the same configuration.
type thingController struct {
	*actor
	// namespace of the children.
	namespace string
	// report writes the status, after all has been done.
	report func(context.Context, *actor, *unstructured.Unstructured) error
}

// newThing creates a Thing as somebody, of a kind of its own under the policies in testdata, and returns
// it with a controller that has not reconciled it yet.
func newThing(ctx context.Context, who *actor, spec map[string]any) (*thingController, *unstructured.Unstructured) {
	GinkgoHelper()
	group := defineThings(ctx)
	return newThingOf(ctx, who, group, spec, reportObserved, thingPolicies(group)...)
}

// newThingOf creates a Thing of a group as somebody, under the given policies, and returns it with a
// controller that has not reconciled it yet.
func newThingOf(
	ctx context.Context, who *actor, group string, spec map[string]any,
	report func(context.Context, *actor, *unstructured.Unstructured) error, policies ...*v1alpha1.AllowancePolicy,
) (*thingController, *unstructured.Unstructured) {
	GinkgoHelper()
	shared.apply(ctx, policies...)
	controller := &thingController{shared.as(thingControllerUser, "system:masters"), shared.newNamespace(ctx), report}
	thing := builders.MakeThing(group, controller.namespace, "app")
	thing.Object["spec"] = spec
	Expect(who.Create(ctx, thing)).To(Succeed())
	return controller, thing
}

// reconcile acts on one Thing, and again where somebody else was faster to write. For
// some seconds after a kind was defined, the API server answers that otherwise: it
// cannot yet apply admission policies to what differs.
func (c *thingController) reconcile(ctx context.Context, thing *unstructured.Unstructured) error {
	return retry.OnError(retry.DefaultBackoff, func(err error) bool {
		return apierrors.IsConflict(err) || apierrors.IsServiceUnavailable(err)
	}, func() error { return c.act(ctx, thing) })
}

func (c *thingController) act(ctx context.Context, thing *unstructured.Unstructured) error {
	if err := c.Get(ctx, client.ObjectKeyFromObject(thing), thing); err != nil {
		return err
	}
	spec, _, _ := unstructured.NestedMap(thing.Object, "spec")
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: thing.GetName()}}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: thing.GetName()}}
	part := builders.MakeThing(thing.GroupVersionKind().Group, c.namespace, thing.GetName()+"-part")
	err := errors.Join(
		c.have(ctx, thing, config, func() error {
			config.Data = map[string]string{"config": fmt.Sprint(spec["config"])}
			if tier := thing.GetLabels()["tier"]; tier != "" {
				config.Data["tier"] = tier
			}
			return nil
		}),
		c.have(ctx, thing, service, func() error {
			port, _ := spec["port"].(int64)
			service.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: int32(port)}}
			return nil
		}),
	)
	if wanted, _ := spec["part"].(bool); wanted {
		err = errors.Join(err, c.have(ctx, thing, part, func() error {
			return unstructured.SetNestedField(part.Object, map[string]any{"config": spec["config"], "port": int64(80)}, "spec")
		}))
	}
	if err != nil {
		return err
	}
	return c.report(ctx, c.actor, thing)
}

// have makes a child of a Thing, or changes it where it differs.
func (c *thingController) have(ctx context.Context, thing, child client.Object, set controllerutil.MutateFn) error {
	_, err := controllerutil.CreateOrUpdate(ctx, c, child, func() error {
		return errors.Join(set(), controllerutil.SetControllerReference(thing, child, scheme))
	})
	return err
}

// reportDone has a controller say that it is done with a Thing, which it looks at again where
// somebody, as the operator, has written it meanwhile.
func reportDone(ctx context.Context, who *actor, thing *unstructured.Unstructured) {
	GinkgoHelper()
	Expect(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		return errors.Join(who.Get(ctx, client.ObjectKeyFromObject(thing), thing), reportObserved(ctx, who, thing))
	})).To(Succeed())
}

// The ways in which controllers say that they are done.
func reportObserved(ctx context.Context, who *actor, thing *unstructured.Unstructured) error {
	thing.Object["status"] = map[string]any{
		"observedGeneration": thing.GetGeneration(), "conditions": []any{map[string]any{"type": "Ready", "status": "True"}},
	}
	return who.Status().Update(ctx, thing)
}

func reportInCondition(ctx context.Context, who *actor, thing *unstructured.Unstructured) error {
	thing.Object["status"] = map[string]any{"conditions": []any{
		map[string]any{"type": "Ready", "status": "True", "observedGeneration": thing.GetGeneration()},
	}}
	return who.Status().Update(ctx, thing)
}

func reportReadyOnly(ctx context.Context, who *actor, thing *unstructured.Unstructured) error {
	thing.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}
	return who.Status().Update(ctx, thing)
}

func reportGenerationOnly(ctx context.Context, who *actor, thing *unstructured.Unstructured) error {
	thing.Object["status"] = map[string]any{"observedGeneration": thing.GetGeneration()}
	return who.Status().Update(ctx, thing)
}

// reportGenerationAsText returns what Argo Rollouts does.
func reportGenerationAsText(ctx context.Context, who *actor, thing *unstructured.Unstructured) error {
	thing.Object["status"] = map[string]any{"observedGeneration": strconv.FormatInt(thing.GetGeneration(), 10), "phase": "Healthy"}
	return who.Status().Update(ctx, thing)
}

// reportInside is for a kind whose status is part of the object: to write it
// counts up the generation that it is about.
func reportInside(ctx context.Context, who *actor, thing *unstructured.Unstructured) error {
	thing.Object["status"] = map[string]any{"observedGeneration": thing.GetGeneration()}
	return who.Update(ctx, thing)
}

func reportNothing(context.Context, *actor, *unstructured.Unstructured) error { return nil }

// setThing changes fields of the spec of a Thing.
func (a *actor) setThing(ctx context.Context, thing *unstructured.Unstructured, spec string) {
	GinkgoHelper()
	Expect(a.Patch(ctx, thing, client.RawPatch(types.MergePatchType, []byte(`{"spec":`+spec+`}`)))).To(Succeed())
}

// over returns when the record of a custom resource says that nothing is left of
// any grant. Its ledger follows with its next write.
func (c *cluster) over(ctx context.Context, holder client.Object) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		status := c.record(ctx, g, holder).Status
		g.Expect(status.Phase).To(Equal(v1alpha1.PhaseSteady))
		g.Expect(status.Active).To(BeEmpty())
		g.Expect(status.PendingGrants).To(BeEmpty())
		// A record is a moment behind: what the ledger still has, it must know.
		fresh := &unstructured.Unstructured{}
		fresh.SetGroupVersionKind(holder.GetObjectKind().GroupVersionKind())
		g.Expect(c.Get(ctx, client.ObjectKeyFromObject(holder), fresh)).To(Succeed())
		for _, a := range ledgerOf(g, fresh, ledgerKey) {
			g.Expect(status.Consumed).To(ContainElement(HaveField("Generation", a.Generation)))
		}
	}).Should(Succeed())
}

// thingPolicies returns the policies in testdata for the Things of a group.
func thingPolicies(group string) []*v1alpha1.AllowancePolicy {
	GinkgoHelper()
	all := readPolicies("thing", strings.NewReplacer("GROUP", group))
	all[0].Name = "things-" + group
	return all
}
