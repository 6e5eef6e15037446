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
	"fmt"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
)

// affectedKey is the annotation that names the policies in effect for an object.
const affectedKey = v1alpha1.ConditionAffected

// updates collects when the ConfigMaps in a namespace are written.
type updates struct {
	mu    sync.Mutex
	times []time.Time
}

func watchUpdates(ctx context.Context, namespace string) *updates {
	GinkgoHelper()
	watcher, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	events, err := watcher.Watch(context.WithoutCancel(ctx), &corev1.ConfigMapList{}, client.InNamespace(namespace))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(events.Stop)
	u := &updates{}
	go func() {
		for event := range events.ResultChan() {
			if event.Type == watch.Modified {
				u.mu.Lock()
				u.times = append(u.times, time.Now())
				u.mu.Unlock()
			}
		}
	}()
	return u
}

// seen returns the times of the updates since it was last asked.
func (u *updates) seen() []time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	times := u.times
	u.times = nil
	return times
}

func (u *updates) count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.times)
}

// conditionOf returns the message of the condition that an object shows, none where it
// has none.
func conditionOf(ctx context.Context, obj *unstructured.Unstructured, conditionType string) func() (string, error) {
	return func() (string, error) {
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return "", err
		}
		return conditionIn(obj, conditionType).Message, nil
	}
}

// conditionIn returns the condition of an object as it is, empty where it has none.
func conditionIn(obj *unstructured.Unstructured, conditionType string) metav1.Condition {
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, c := range conditions {
		fields, ok := c.(map[string]any)
		if !ok || fields["type"] != conditionType {
			continue
		}
		var condition metav1.Condition
		_ = runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &condition) // A broken one shows by its fields.
		return condition
	}
	return metav1.Condition{}
}

// annotationOf returns the annotation that an object shows, none where it has none.
func annotationOf(ctx context.Context, obj client.Object) func() (string, error) {
	return func() (string, error) {
		err := k8s.Get(ctx, client.ObjectKeyFromObject(obj), obj)
		return obj.GetAnnotations()[affectedKey], err
	}
}

var _ = Describe("The objects that a policy affects", func() {
	var namespace string
	var controllers *policyControllers
	BeforeEach(func(ctx SpecContext) {
		namespace = newNamespace(ctx)
		controllers = startPolicyControllers(ctx)
	})

	It("are left alone around full minutes where their controller goes by these", func(ctx SpecContext) {
		controllers.clock.setSecond(52)
		cron := builders.MakeCronJob(namespace, "tick", "* * * * *")
		apply(ctx, cron)
		version := cron.ResourceVersion
		config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "config"}}
		apply(ctx, config)
		for _, kind := range []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("ConfigMap"), batchv1.SchemeGroupVersion.WithKind("CronJob")} {
			p := withRule(newPolicy("spec-"+strings.ToLower(kind.Kind), namespace, kind, "platform-team"), "spec", "", "secrets")
			apply(ctx, p)
			Eventually(statusOf(ctx, p.Name)).Should(affecting(1))
		}
		// touch has the operator look at it.
		touch := func(value string) {
			GinkgoHelper()
			Expect(k8s.Get(ctx, client.ObjectKeyFromObject(cron), cron)).To(Succeed())
			Expect(annotate(ctx, k8s, cron, "touched", value)).To(Succeed())
			version = cron.ResourceVersion
		}
		untouched := func() {
			GinkgoHelper()
			Eventually(annotationOf(ctx, config)).Should(Equal("spec-configmap"))
			Consistently(func() (string, error) {
				err := k8s.Get(ctx, client.ObjectKeyFromObject(cron), cron)
				return cron.ResourceVersion, err
			}).WithTimeout(3 * time.Second).Should(Equal(version))
		}

		By("its end")
		untouched()

		By("its beginning")
		controllers.clock.setSecond(1)
		touch("at the beginning")
		untouched()

		By("its second half")
		controllers.clock.setSecond(31)
		touch("in between")
		Eventually(annotationOf(ctx, cron)).Should(Equal("spec-cronjob"))
	})

	It("show it, each by one write, and so many a second", func(ctx SpecContext) {
		const objects = 300
		for i := range objects {
			apply(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: fmt.Sprintf("config-%03d", i),
			}})
		}
		written := watchUpdates(ctx, namespace)
		p := withRule(newPolicy("spec-configs", namespace, corev1.SchemeGroupVersion.WithKind("ConfigMap"), "platform-team"), "data", "", "secrets")
		one := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "config-000"}}
		expectPaced := func() {
			GinkgoHelper()
			Eventually(written.count).WithTimeout(time.Minute).Should(Equal(objects))
			Consistently(written.count).WithTimeout(time.Second).Should(Equal(objects))
			times := written.seen()
			took := times[len(times)-1].Sub(times[0])
			// The first few come at once; and a watch tells of things a little later.
			const atOnce, late = targetRate / 10, 200 * time.Millisecond
			Expect(took).To(BeNumerically(">", time.Duration(objects-atOnce)*time.Second/targetRate-late))
		}

		By("the policy coming")
		apply(ctx, p)
		expectPaced()
		Expect(annotationOf(ctx, one)()).To(Equal(p.Name))
		Eventually(statusOf(ctx, p.Name)).Should(affecting(objects))

		By("others coming that do not show, and a change that changes nothing")
		subjects := newPolicy("spec-subjects", namespace, corev1.SchemeGroupVersion.WithKind("ConfigMap"), "platform-team")
		hidden := withRule(subjects.DeepCopy(), "data", "", "secrets")
		hidden.Name, hidden.Spec.TargetStatus = "spec-hidden", v1alpha1.TargetStatusNone
		for _, other := range []*v1alpha1.AllowancePolicy{subjects, hidden} {
			apply(ctx, other)
			Eventually(statusOf(ctx, other.Name)).Should(affecting(objects))
		}
		before := p.DeepCopy()
		p.Spec.FailurePolicy = v1alpha1.FailurePolicyFail
		Expect(k8s.Patch(ctx, p, client.MergeFrom(before))).To(Succeed())
		Eventually(statusOf(ctx, p.Name)).Should(And(beEnforced(), HaveField("AdoptedGeneration", p.Generation)))
		Consistently(written.count).WithTimeout(4 * time.Second).Should(BeZero())

		By("somebody taking it away, again and again")
		remove := fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, affectedKey)
		for range 2 {
			Expect(k8s.Patch(ctx, one, client.RawPatch(types.MergePatchType, []byte(remove)))).To(Succeed())
			Eventually(annotationOf(ctx, one)).Should(Equal(p.Name))
		}
		Expect(k8s.Patch(ctx, one, client.RawPatch(types.MergePatchType, []byte(remove)))).To(Succeed())
		Consistently(annotationOf(ctx, one)).WithTimeout(4 * time.Second).Should(BeEmpty())
		Expect(annotate(ctx, k8s, one, affectedKey, p.Name)).To(Succeed())

		By("all going, so that the kind is not watched any more")
		Expect(k8s.Delete(ctx, hidden)).To(Succeed())
		Expect(k8s.Delete(ctx, subjects)).To(Succeed())
		Eventually(written.count).Should(BeNumerically(">=", 6))
		written.seen()
		Expect(k8s.Delete(ctx, p)).To(Succeed())
		expectPaced()
		Expect(annotationOf(ctx, one)()).To(BeEmpty())
	})

	DescribeTable("show it where their controller keeps it:", func(ctx SpecContext, group string, asMap, rebuilds bool) {
		definition := thingDefinition(group)
		conditions := apiextensionsv1.JSONSchemaProps{
			Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{
				Type: "object", XPreserveUnknownFields: new(true), Required: []string{"type"},
				Properties: map[string]apiextensionsv1.JSONSchemaProps{"type": {Type: "string"}},
			}},
		}
		if asMap {
			conditions.XListType, conditions.XListMapKeys = new("map"), []string{"type"}
		}
		definition.Spec.Versions[0].Schema.OpenAPIV3Schema = &apiextensionsv1.JSONSchemaProps{
			Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
				"status": {Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"conditions": conditions}},
			},
		}
		apply(ctx, definition)
		waitServed(ctx, group)
		thing := newThing(group, namespace, "thing")
		apply(ctx, thing)
		// report is what its controller does.
		report := func() {
			GinkgoHelper()
			ready := []any{map[string]any{
				"type": "Ready", "status": "True", "observedGeneration": thing.GetGeneration(), "message": "is ready",
			}}
			thing.Object["status"] = map[string]any{"conditions": ready}
			Expect(k8s.Status().Update(ctx, thing)).To(Succeed())
		}
		report()

		kind := schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Thing"}
		p := withRule(newPolicy("spec-things", namespace, kind, "platform-team"), "spec", "", "configmaps")
		apply(ctx, p)
		shown := conditionOf(ctx, thing, v1alpha1.ConditionAffected)
		if asMap {
			for range map[bool]int{true: 2, false: 1}[rebuilds] {
				Eventually(shown).WithTimeout(inEffectWithin).Should(ContainSubstring("AllowancePolicy spec-things"))
				Expect(conditionOf(ctx, thing, "Ready")()).To(Equal("is ready"))
				Expect(annotationOf(ctx, thing)()).To(BeEmpty())
				if rebuilds {
					report()
				}
			}
		}
		if rebuilds || !asMap {
			Eventually(annotationOf(ctx, thing)).WithTimeout(inEffectWithin).Should(Equal("spec-things"))
			Expect(shown()).To(BeEmpty())
		}

		By("being told not to")
		version := thing.GetResourceVersion()
		Consistently(func() (string, error) {
			err := k8s.Get(ctx, client.ObjectKeyFromObject(thing), thing)
			return thing.GetResourceVersion(), err
		}).WithTimeout(3 * time.Second).Should(Equal(version))
		before := p.DeepCopy()
		p.Spec.TargetStatus = v1alpha1.TargetStatusNone
		Expect(k8s.Patch(ctx, p, client.MergeFrom(before))).To(Succeed())
		Eventually(shown).Should(BeEmpty())
		Eventually(annotationOf(ctx, thing)).Should(BeEmpty())
		Expect(conditionOf(ctx, thing, "Ready")()).To(Equal("is ready"))
	},
		Entry("conditions that are kept", "keeping.example.com", true, false),
		Entry("conditions that are rebuilt", "rebuilding.example.com", true, true),
		Entry("conditions that cannot be told apart", "listing.example.com", false, false),
	)
})
