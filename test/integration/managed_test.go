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

package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"kausality.io/operator/api/v1alpha1"
	gatecontroller "kausality.io/operator/internal/controller/gate"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/gate/crossplane"
	"kausality.io/operator/internal/ledger"
)

// settleTime is how long providers are given here that do not say when they have
// finished: longer than it takes until that shows.
const settleTime = 5 * time.Second

// startGates runs the controller of gates, with all that it builds upon. Nobody
// else's part is played: specs are admission, the provider and its cloud. The
// controller writes through what wrap returns, where that is given.
func startGates(ctx context.Context, wrap ...func(client.Client) client.Client) *policyControllers {
	GinkgoHelper()
	return startPolicyControllers(ctx, func(mgr ctrl.Manager, c *policyControllers) error {
		writer := mgr.GetClient()
		for _, each := range wrap {
			writer = each(writer)
		}
		gates := &gatecontroller.Reconciler{
			Client: writer, Holders: c.holders, Drivers: c.gates, Records: c.records, Policies: c.active, Catalog: c.catalog,
			Namespaces: c.namespaces, Events: mgr.GetEventRecorder("kausality"), Clock: clock.RealClock{}, Settle: settleTime,
		}
		return errors.Join(followHolders(mgr, c.holders, c.records, c.active, nil, c.namespaces), gates.SetupWithManager(mgr))
	})
}

// managedThings are managed resources in a namespace that one ConfigMap owns, as a
// composite resource would.
type managedThings struct {
	group, namespace string
	owner            *corev1.ConfigMap
}

// newManagedThings makes the ConfigMap, in a namespace of its own.
func newManagedThings(ctx context.Context, group string) *managedThings {
	GinkgoHelper()
	m := &managedThings{group: group, namespace: newNamespace(ctx)}
	m.owner = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: "owner"}}
	apply(ctx, m.owner)
	return m
}

// define defines the kind Thing in the group as one of managed resources, and returns
// when it is served. The next start of the operator does not find it half gone.
func (m *managedThings) define(ctx context.Context) *apiextensionsv1.CustomResourceDefinition {
	GinkgoHelper()
	definition := thingDefinition(m.group)
	definition.Spec.Names.Categories = []string{crossplane.Category}
	DeferCleanup(m.undefined)
	apply(ctx, definition)
	waitServed(ctx, m.group)
	return definition
}

// undefined waits until the kind is not served any more.
func (m *managedThings) undefined(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		resolver := newResolver()
		_, err := resolver.Update(ctx, []schema.GroupVersion{{Group: m.group, Version: "v1"}})
		g.Expect(err).NotTo(HaveOccurred())
		_, served := resolver.ByKind(m.kind().WithVersion("v1"))
		g.Expect(served).To(BeFalse())
	}).Should(Succeed())
}

// kind of the things, as metrics name it.
func (m *managedThings) kind() schema.GroupKind {
	return schema.GroupKind{Group: m.group, Kind: "Thing"}
}

// policy gates the things: the platform team may have them created and updated.
func (m *managedThings) policy(edits ...func(*v1alpha1.AllowancePolicy)) *v1alpha1.AllowancePolicy {
	p := newPolicy("gates-"+m.namespace, m.namespace, corev1.SchemeGroupVersion.WithKind("ConfigMap"), "platform-team")
	p.Spec.Rules = []v1alpha1.Rule{{Trigger: "data", Policies: []v1alpha1.PolicyEntry{{
		Relation: v1alpha1.RelationExternal,
		Target:   v1alpha1.Target{External: map[string]string{crossplane.KeyAPIGroup: m.group, crossplane.KeyKind: "Thing"}},
		Verbs:    []string{"Create", "Update"},
	}}}}
	for _, edit := range edits {
		edit(p)
	}
	return p
}

// maxOpen has a policy say how long gates may be open before that shows.
func maxOpen(limit time.Duration) func(*v1alpha1.AllowancePolicy) {
	return func(p *v1alpha1.AllowancePolicy) {
		p.Spec.Consumption = &v1alpha1.Consumption{MaxOpen: &metav1.Duration{Duration: limit}}
	}
}

// thingLedgerKey is the key of the ledger of a thing, which has an owner.
const thingLedgerKey = "thing." + ledgerKey

// unmanaged returns a thing that has not been under its gate.
func (m *managedThings) unmanaged(name string) *unstructured.Unstructured {
	thing := newThing(m.group, m.namespace, name)
	thing.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(m.owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))})
	thing.Object["spec"] = map[string]any{"forProvider": map[string]any{"size": "1"}}
	return thing
}

// thing returns a Thing under its gate, which is as its ledger says, as admission would have
// it.
func (m *managedThings) thing(name string, allowances ...v1alpha1.Allowance) *unstructured.Unstructured {
	thing := m.unmanaged(name)
	holds := ledger.Ledger(nil).Merge(allowances...)
	driver := crossplane.Driver{}
	driver.Set(thing, driver.Compute(gate.Write{
		Old: thing, New: thing, Kind: gate.Kind{GVK: thing.GroupVersionKind(), Resource: "things"}, Ledger: holds, Brings: true,
	}))
	if len(holds) > 0 {
		setAnnotation(thing, thingLedgerKey, holds.Encode())
	}
	return thing
}

// sizeField is the field of things that changes.
const sizeField = "spec.forProvider.size"

// opener returns an allowance that opens the gate of a thing, for it to be updated.
func (m *managedThings) opener(name string) v1alpha1.Allowance {
	return v1alpha1.Allowance{
		Relation: v1alpha1.RelationExternal, Mutations: []string{"Update"}, Generation: 1, Initiator: "alice",
		Trace: []v1alpha1.TraceHop{
			{Kind: "ConfigMap", Name: m.owner.Name, Field: "data"},
			{Kind: "Thing", Name: name, Generation: 1, Field: sizeField},
		},
	}
}

// opened creates a thing whose gate is open.
func (m *managedThings) opened(ctx context.Context, name string, edits ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	GinkgoHelper()
	thing := m.thing(name, m.opener(name))
	for _, edit := range edits {
		edit(thing)
	}
	apply(ctx, thing)
	return thing
}

// setAnnotation sets one in place.
func setAnnotation(object client.Object, key, value string) {
	annotations := map[string]string{}
	maps.Copy(annotations, object.GetAnnotations())
	annotations[key] = value
	object.SetAnnotations(annotations)
}

// What a provider says of its last look at a thing.
var (
	succeeded = map[string]any{"status": "True", "reason": "ReconcileSuccess"}
	erring    = map[string]any{"status": "False", "reason": "ReconcileError", "message": "the cloud refuses it"}
	missing   = map[string]any{"status": "False", "reason": "ReconcileError", "message": "external resource does not exist"}
)

// reported has the provider say how its last look went, and, where that is given, what
// it has seen.
func reported(ctx context.Context, thing *unstructured.Unstructured, synced map[string]any, size string) {
	GinkgoHelper()
	Expect(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(thing), thing); err != nil {
			return err
		}
		condition := map[string]any{"type": "Synced", "observedGeneration": thing.GetGeneration(), "lastTransitionTime": "2026-01-01T00:00:00Z"}
		maps.Copy(condition, synced)
		status, _, _ := unstructured.NestedMap(thing.Object, "status")
		if status == nil {
			status = map[string]any{}
		}
		conditions := []any{condition}
		others, _, _ := unstructured.NestedSlice(status, "conditions")
		for _, other := range others {
			if fields, ok := other.(map[string]any); ok && fields["type"] != "Synced" {
				conditions = append(conditions, other)
			}
		}
		status["conditions"] = conditions
		if size != "" {
			status["atProvider"] = map[string]any{"size": size}
		}
		if token := thing.GetAnnotations()[crossplane.Driver{}.PassAnnotation()]; token != "" {
			status["lastHandledReconcileAt"] = token
		}
		thing.Object["status"] = status
		return k8s.Status().Update(ctx, thing)
	})).To(Succeed())
}

// gateOf returns the condition of a thing that tells of its gate.
func gateOf(ctx context.Context, g Gomega, thing *unstructured.Unstructured) metav1.Condition {
	g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(thing), thing)).To(Succeed())
	return conditionIn(thing, v1alpha1.ConditionGate)
}

// shows waits until the condition of a thing says so.
func shows(ctx context.Context, thing *unstructured.Unstructured, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	GinkgoHelper()
	var shown metav1.Condition
	Eventually(ctx, func(g Gomega) {
		shown = gateOf(ctx, g, thing)
		g.Expect(shown).To(And(HaveField("Status", status), HaveField("Reason", reason), HaveField("Message", MatchRegexp(message))))
	}).Should(Succeed(), thing.GetName())
	return shown
}

// isClosed reports whether the gate of a thing is closed, and its ledger empty.
func isClosed(ctx context.Context, thing *unstructured.Unstructured) func(Gomega) {
	return func(g Gomega) {
		g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(thing), thing)).To(Succeed())
		g.Expect(policiesOf(thing)).To(Equal(closedSwitch))
		g.Expect(thing.GetAnnotations()).NotTo(HaveKey(thingLedgerKey))
	}
}

// Settings of the switch.
var (
	closedSwitch = []string{"Observe", "LateInitialize"}
	openSwitch   = []string{"Observe", "Update", "LateInitialize"}
)

// policiesOf returns the management policies of a thing as it is.
func policiesOf(thing *unstructured.Unstructured) []string {
	policies, _, _ := unstructured.NestedStringSlice(thing.Object, "spec", crossplane.SwitchField)
	return policies
}

// changedf patches a thing as somebody whom no webhook sees.
func changedf(ctx context.Context, thing *unstructured.Unstructured, format string, args ...any) {
	GinkgoHelper()
	Expect(k8s.Patch(ctx, thing, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, format, args...)))).To(Succeed())
}

// eventsOn returns the reasons of the events about an object.
func eventsOn(ctx context.Context, g Gomega, object client.Object) []string {
	var list eventsv1.EventList
	g.Expect(k8s.List(ctx, &list, client.InNamespace(object.GetNamespace()))).To(Succeed())
	var reasons []string
	for _, e := range list.Items {
		if e.Regarding.UID == object.GetUID() {
			reasons = append(reasons, e.Reason)
		}
	}
	return reasons
}

// metric adds up the series of a gauge or counter of the operator that have the labels.
func metric(name string, labels map[string]string) float64 {
	GinkgoHelper()
	families, err := metrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	var sum float64
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, series := range family.GetMetric() {
			matching := 0
			for _, pair := range series.GetLabel() {
				if labels[pair.GetName()] == pair.GetValue() {
					matching++
				}
			}
			if matching == len(labels) {
				sum += series.GetGauge().GetValue() + series.GetCounter().GetValue() + float64(series.GetHistogram().GetSampleCount())
			}
		}
	}
	return sum
}

// gatesOf counts the things by what their gates do, as the metric does.
func (m *managedThings) gatesOf() map[string]float64 {
	GinkgoHelper()
	out := map[string]float64{}
	for _, reason := range []string{"Closed", "Open", "Settling", "Stuck", "Held", "Adopting"} {
		if n := metric("kausality_gates", map[string]string{"kind": m.kind().String(), "reason": reason}); n != 0 {
			out[reason] = n
		}
	}
	return out
}
