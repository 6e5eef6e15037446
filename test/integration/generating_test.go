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
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli"
	generatingcontroller "kausality.io/operator/internal/controller/generating"
	"kausality.io/operator/internal/controller/recordevents"
	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/record"
	webhookv1alpha1 "kausality.io/operator/internal/webhook/v1alpha1"
)

// asked are the requests of an operator, by method and path.
type asked struct {
	mu       sync.Mutex
	requests []string
}

func (a *asked) over(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		a.mu.Lock()
		a.requests = append(a.requests, req.Method+" "+req.URL.Path)
		a.mu.Unlock()
		return next.RoundTrip(req)
	})
}

// about returns the requests whose method and path have one of the texts in them.
func (a *asked) about(texts ...string) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(a.requests), func(request string) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(request, text) })
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (r roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return r(req) }

// generatorUser is as whom policies write that name nobody.
var generatorUser = "system:serviceaccount:" + operatorNamespace + ":" + generate.DefaultServiceAccount

// startGenerating runs the reconciler of GeneratingPolicies until stop is called.
func startGenerating(ctx context.Context) (stop func(), requests *asked) {
	GinkgoHelper()
	requests = &asked{}
	cfg := cluster.ConfigAs(operatorUser, "system:masters", "system:authenticated")
	cfg.QPS = -1
	cfg.WrapTransport = transport.Wrappers(cfg.WrapTransport, requests.over)
	var records *record.Cache
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:     scheme,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: ctrlconfig.Controller{SkipNameValidation: new(true)},
		NewCache: func(cfg *rest.Config, opts cache.Options) (_ cache.Cache, err error) {
			records, err = record.NewCache(cfg, opts, recordevents.NoteOf, nil)
			return records, err
		},
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(record.Index(ctx, mgr.GetFieldIndexer())).To(Succeed())
	discovered, err := discovery.NewDiscoveryClientForConfig(cfg)
	Expect(err).NotTo(HaveOccurred())
	Expect((&generatingcontroller.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Discovery: discovered, Events: mgr.GetEventRecorder("kausality"),
		Records: record.NewStore(record.Config{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), OperatorNamespace: operatorNamespace, All: records.All}),
		Clock:   clock.RealClock{}, DefaultAccount: generatorUser, Namespace: operatorNamespace, Asked: askedName, Retry: time.Second, Interval: 50 * time.Millisecond,
	}).SetupWithManager(mgr)).To(Succeed())
	return run(ctx, mgr), requests
}

// letWrite gives a service account rights to ConfigMaps, and takes them back after the spec or container.
func letWrite(ctx context.Context, user string, verbs ...string) {
	GinkgoHelper()
	letDo(ctx, user, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: verbs})
}

// letDo gives somebody rights, and takes them back after the spec or container.
func letDo(ctx context.Context, user string, rules ...rbacv1.PolicyRule) {
	GinkgoHelper()
	name := fmt.Sprintf("spec-%s-%s", strings.ReplaceAll(user, ":", "-"), rules[0].Resources[0])
	apply(ctx,
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
		})
}

// generating returns a policy for the ConfigMaps of a namespace with the label make, for which it
// wants the ConfigMap "made": with their value, or as a clone of "source".
func generating(namespace string, synchronize, clone bool) *v1alpha1.GeneratingPolicy {
	GinkgoHelper()
	wanted := `{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'made'}, 'data': {'key': object.data.key}}`
	if clone {
		wanted = `variables.source == null ? null : variables.source.setField('metadata.name', 'made')`
	}
	text := fmt.Sprintf(`
metadata: {name: %[1]s}
spec:
  evaluation: {synchronize: %[2]t}
  matchConstraints:
    objectSelector: {matchLabels: {make: "yes"}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]
  matchConditions: [{name: here, expression: object.metadata.namespace == '%[1]s'}]
  variables: [{name: source, expression: "resource.Get('v1', 'configmaps', '%[1]s', 'source')"}]
  generate: [{expression: "generator.ApplyAll('%[1]s', %[3]s)"}]`, namespace, synchronize, wanted)
	p := &v1alpha1.GeneratingPolicy{}
	Expect(yaml.UnmarshalStrict([]byte(text), p)).To(Succeed())
	return p
}

func newConfigMap(namespace, name, value string, labels map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}, Data: map[string]string{"key": value}}
}

// configMapIs returns what to poll: the value of a ConfigMap, or that it is gone.
func configMapIs(ctx context.Context, namespace, name string) func() string {
	return func() string {
		found := &corev1.ConfigMap{}
		if err := k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, found); err != nil {
			Expect(client.IgnoreNotFound(err)).To(Succeed())
			return "gone"
		}
		return found.Data["key"]
	}
}

// expectGone returns when a policy has ended, which takes a moment after its deletion.
func expectGone(ctx context.Context, p *v1alpha1.GeneratingPolicy) {
	GinkgoHelper()
	Eventually(func() bool {
		return apierrors.IsNotFound(k8s.Get(ctx, client.ObjectKeyFromObject(p), &v1alpha1.GeneratingPolicy{}))
	}).Should(BeTrue(), "GeneratingPolicy %s is still there", p.Name)
}

// kausality runs the plugin of kubectl, and returns what it prints.
func kausality(ctx context.Context, namespace string, args ...string) string {
	GinkgoHelper()
	out, err := kausalityFails(ctx, namespace, args...)
	Expect(err).NotTo(HaveOccurred())
	return out
}

// kausalityFails is kausality for what may fail.
func kausalityFails(ctx context.Context, namespace string, args ...string) (string, error) {
	GinkgoHelper()
	var out, errors strings.Builder
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errors}
	args = append([]string{
		"kubectl-kausality", "--kubeconfig=" + cluster.Kubeconfig(), "--cache-dir=" + GinkgoT().TempDir(), "--namespace=" + namespace,
	}, args...)
	err := cli.Run(ctx, streams, args)
	if err != nil {
		GinkgoWriter.Println(errors.String())
	}
	return out.String(), err
}

// refuseAsUncaused has the API server refuse ConfigMaps of a namespace for which an expression is false, in the
// words in which AllowancePolicies are enforced, until allow is called, at the latest until the end of the spec.
func refuseAsUncaused(ctx context.Context, namespace string, operation admissionregistrationv1.OperationType, expression string) (allow func(context.Context)) {
	GinkgoHelper()
	denying := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{operation},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
				}}},
			},
			Validations: []admissionregistrationv1.Validation{{
				Expression: expression,
				Message:    `admission webhook "verdict.kausality.io" denied the request: it is for others`,
			}},
		},
	}
	Expect(k8s.Create(ctx, denying)).To(Succeed())
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: namespace, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
	Expect(k8s.Create(ctx, binding)).To(Succeed())
	allow = func(ctx context.Context) {
		Expect(client.IgnoreNotFound(k8s.Delete(ctx, binding))).To(Succeed())
		Expect(client.IgnoreNotFound(k8s.Delete(ctx, denying))).To(Succeed())
	}
	DeferCleanup(allow)
	return allow
}

func patchConfigMap(ctx context.Context, namespace, name, patch string) {
	GinkgoHelper()
	Expect(k8s.Patch(ctx, newConfigMap(namespace, name, "", nil), client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner("somebody"))).To(Succeed())
}

// applyPolicy creates a policy, and deletes it after the spec, while an operator runs that lets it go.
func applyPolicy(ctx context.Context, p *v1alpha1.GeneratingPolicy) {
	GinkgoHelper()
	Expect(k8s.Create(ctx, p)).To(Succeed())
	endAfterwards(p)
}

// endAfterwards deletes a policy after the spec. Call it once the operator runs that lets the policy go,
// as cleanups run last come, first served: a policy that nobody lets go is in the way of other specs.
func endAfterwards(p *v1alpha1.GeneratingPolicy) {
	DeferCleanup(func(ctx context.Context) {
		Expect(client.IgnoreNotFound(k8s.Delete(ctx, p))).To(Succeed())
		expectGone(ctx, p)
	})
}

// generatingStatus returns what to poll: the status of a policy.
func generatingStatus(ctx context.Context, name string) func(Gomega) v1alpha1.GeneratingPolicyStatus {
	return func(g Gomega) v1alpha1.GeneratingPolicyStatus {
		p := &v1alpha1.GeneratingPolicy{}
		g.Expect(k8s.Get(ctx, client.ObjectKey{Name: name}, p)).To(Succeed())
		return p.Status
	}
}

func generatingCondition(kind, reason string) OmegaMatcher {
	return HaveField("Conditions", ContainElement(And(HaveField("Type", kind), HaveField("Reason", reason))))
}

// trigger labels make a ConfigMap a trigger.
var triggerLabels = map[string]string{"make": "yes"}

var _ = Describe("A GeneratingPolicy", Ordered, func() {
	var stop func()
	var requests *asked
	BeforeAll(func(ctx SpecContext) {
		letWrite(ctx, generatorUser, "create", "delete", "get", "list", "patch", "watch")
		stop, requests = startGenerating(ctx)
	})

	JustAfterEach(func(ctx SpecContext) {
		policies := &v1alpha1.GeneratingPolicyList{}
		Expect(k8s.List(ctx, policies)).To(Succeed())
		for i := range policies.Items {
			text, err := yaml.Marshal(policies.Items[i].Status)
			Expect(err).NotTo(HaveOccurred())
			GinkgoWriter.Printf("%s:\n%s\n", policies.Items[i].Name, text)
		}
	})

	It("costs nothing where there is none", func() {
		Eventually(func() []string { return requests.about("/generatingpolicies") }).ShouldNot(BeEmpty())
		Consistently(func() []string {
			return requests.about("/configmaps", "/namespaces", "/secrets", "accessreviews", "GET /apis ", "PATCH", "POST", "PUT", "DELETE")
		}, "300ms").Should(BeEmpty())
	})

	type row struct {
		// synchronize and clone are of the policy, orphan too.
		synchronize, clone, orphan bool
		act                        func(ctx context.Context, namespace string)
		becomes                    string
	}
	deleted := func(name string) func(context.Context, string) {
		return func(ctx context.Context, namespace string) {
			Expect(k8s.Delete(ctx, newConfigMap(namespace, name, "", nil))).To(Succeed())
		}
	}
	changed := func(name, patch string) func(context.Context, string) {
		return func(ctx context.Context, namespace string) { patchConfigMap(ctx, namespace, name, patch) }
	}
	policyDeleted := func(ctx context.Context, namespace string) {
		Expect(k8s.Delete(ctx, &v1alpha1.GeneratingPolicy{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
	}
	policyChanged := func(ctx context.Context, namespace string) {
		p := &v1alpha1.GeneratingPolicy{}
		Expect(k8s.Get(ctx, client.ObjectKey{Name: namespace}, p)).To(Succeed())
		before := p.DeepCopy()
		p.Spec.Generate[0].Expression = fmt.Sprintf(
			`generator.ApplyAll('%s', {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'made'}, 'data': {'key': 'policy'}})`, namespace)
		Expect(k8s.Patch(ctx, p, client.MergeFrom(before))).To(Succeed())
	}
	const other = `{"data": {"key": "other"}}`
	DescribeTable("does what the synchronization tables say", func(ctx SpecContext, r row) {
		namespace := newNamespace(ctx)
		p := generating(namespace, r.synchronize, r.clone)
		p.Spec.Evaluation.OrphanDownstreamOnPolicyDelete = r.orphan
		applyPolicy(ctx, p)
		Eventually(generatingStatus(ctx, p.Name)).Should(generatingCondition(v1alpha1.ConditionAccepted, v1alpha1.ReasonAccepted))
		apply(ctx, newConfigMap(namespace, "source", "source", nil), newConfigMap(namespace, "trigger", "trigger", triggerLabels))
		before := "trigger"
		if r.clone {
			before = "source"
		}
		Eventually(configMapIs(ctx, namespace, "made")).Should(Equal(before))
		Eventually(generatingStatus(ctx, p.Name)).Should(generatingCondition(v1alpha1.ConditionEnforced, v1alpha1.ReasonEnforced))
		r.act(ctx, namespace)
		Eventually(configMapIs(ctx, namespace, "made")).Should(Equal(r.becomes))
		Consistently(configMapIs(ctx, namespace, "made"), "200ms").Should(Equal(r.becomes))
	},
		Entry("data, sync: Delete Downstream", row{synchronize: true, act: deleted("made"), becomes: "trigger"}),
		Entry("data, sync: Delete Policy, retaining", row{synchronize: true, orphan: true, act: policyDeleted, becomes: "trigger"}),
		Entry("data, sync: Delete Policy", row{synchronize: true, act: policyDeleted, becomes: "gone"}),
		Entry("data, sync: Delete Trigger", row{synchronize: true, act: deleted("trigger"), becomes: "gone"}),
		Entry("data, sync: Modify Downstream", row{synchronize: true, act: changed("made", other), becomes: "trigger"}),
		Entry("data, sync: Modify Policy", row{synchronize: true, act: policyChanged, becomes: "policy"}),
		Entry("data, sync: Modify Trigger, which matches still", row{synchronize: true, act: changed("trigger", other), becomes: "other"}),
		Entry("data, sync: Modify Trigger, which does not match any more", row{synchronize: true, act: changed("trigger", `{"metadata": {"labels": null}}`), becomes: "gone"}),
		Entry("data, no sync: Delete Downstream", row{act: deleted("made"), becomes: "gone"}),
		Entry("data, no sync: Delete Policy", row{act: policyDeleted, becomes: "trigger"}),
		Entry("data, no sync: Delete Trigger", row{act: deleted("trigger"), becomes: "trigger"}),
		Entry("data, no sync: Modify Downstream", row{act: changed("made", other), becomes: "other"}),
		Entry("data, no sync: Modify Policy", row{act: policyChanged, becomes: "trigger"}),
		Entry("data, no sync: Modify Trigger", row{act: changed("trigger", other), becomes: "trigger"}),
		Entry("clone, sync: Delete Downstream", row{synchronize: true, clone: true, act: deleted("made"), becomes: "source"}),
		Entry("clone, sync: Delete Policy", row{synchronize: true, clone: true, act: policyDeleted, becomes: "source"}),
		Entry("clone, sync: Delete Source", row{synchronize: true, clone: true, act: deleted("source"), becomes: "gone"}),
		Entry("clone, sync: Delete Trigger", row{synchronize: true, clone: true, act: deleted("trigger"), becomes: "gone"}),
		Entry("clone, sync: Modify Downstream", row{synchronize: true, clone: true, act: changed("made", other), becomes: "source"}),
		Entry("clone, sync: Modify Source", row{synchronize: true, clone: true, act: changed("source", other), becomes: "other"}),
		Entry("clone, no sync: Delete Source", row{clone: true, act: deleted("source"), becomes: "source"}),
		Entry("clone, no sync: Modify Source", row{clone: true, act: changed("source", other), becomes: "source"}),
		Entry("clone, no sync: Delete Trigger", row{clone: true, act: deleted("trigger"), becomes: "source"}),
	)

	It("does not act on triggers from before it, unless it says so, or they are written", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		apply(ctx, newConfigMap(namespace, "trigger", "before", triggerLabels))
		p := generating(namespace, true, false)
		applyPolicy(ctx, p)
		Eventually(generatingStatus(ctx, p.Name)).Should(generatingCondition(v1alpha1.ConditionEnforced, v1alpha1.ReasonEnforced))
		Expect(configMapIs(ctx, namespace, "made")()).To(Equal("gone"))
		before := p.DeepCopy()
		p.Spec.Evaluation.GenerateExisting = true
		Expect(k8s.Patch(ctx, p, client.MergeFrom(before))).To(Succeed())
		Eventually(configMapIs(ctx, namespace, "made")).Should(Equal("before"))
		before = p.DeepCopy()
		p.Spec.Evaluation.GenerateExisting = false
		Expect(k8s.Patch(ctx, p, client.MergeFrom(before))).To(Succeed())
		Consistently(configMapIs(ctx, namespace, "made"), "200ms").Should(Equal("before"), "what was made stays")
	})

	It("leaves nothing behind when it is deleted in the middle of what it makes", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		for i := range 150 {
			apply(ctx, newConfigMap(namespace, fmt.Sprintf("trigger-%d", i), "trigger", triggerLabels))
		}
		p := generating(namespace, true, false)
		p.Spec.Evaluation.GenerateExisting = true
		p.Spec.Generate[0].Expression = fmt.Sprintf(
			`generator.ApplyAll('%s', {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'made-' + object.metadata.name}})`, namespace)
		applyPolicy(ctx, p)
		made := func(g Gomega) int {
			found := &corev1.ConfigMapList{}
			g.Expect(k8s.List(ctx, found, client.InNamespace(namespace), client.HasLabels{v1alpha1.LabelGeneratedBy})).To(Succeed())
			return len(found.Items)
		}
		Eventually(made).WithPolling(time.Millisecond).Should(BeNumerically(">", 20))
		Expect(k8s.Delete(ctx, p)).To(Succeed())
		expectGone(ctx, p)
		Consistently(made, "300ms").Should(BeZero())
	})

	It("leaves alone what it did not make, and gives way to an older policy", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		apply(ctx, newConfigMap(namespace, "made", "somebody's", nil))
		p := generating(namespace, true, false)
		applyPolicy(ctx, p)
		Eventually(generatingStatus(ctx, p.Name)).Should(generatingCondition(v1alpha1.ConditionAccepted, v1alpha1.ReasonAccepted))
		trigger := newConfigMap(namespace, "trigger", "trigger", triggerLabels)
		apply(ctx, trigger)
		Eventually(generatingStatus(ctx, p.Name)).Should(And(
			generatingCondition(v1alpha1.ConditionEnforced, v1alpha1.ReasonConflicted), HaveField("Objects.Conflicting", BeEquivalentTo(1)),
			HaveField("Failures", ContainElement(And(HaveField("Reason", "Conflicting"), HaveField("Object.Name", "made"))))))
		found := newConfigMap(namespace, "made", "", nil)
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(found), found)).To(Succeed())
		Expect(found.Data).To(Equal(map[string]string{"key": "somebody's"}))
		Expect(found.Annotations).To(BeEmpty())

		By("having the trigger deleted")
		Expect(k8s.Delete(ctx, trigger)).To(Succeed())
		Eventually(generatingStatus(ctx, p.Name)).Should(HaveField("Objects.Conflicting", BeEquivalentTo(0)))
		Expect(configMapIs(ctx, namespace, "made")()).To(Equal("somebody's"))
		Expect(k8s.Delete(ctx, found)).To(Succeed())

		By("having another policy want the same")
		younger := generating(namespace, true, false)
		younger.Name += "-younger"
		younger.Spec.Generate[0].Expression = strings.Replace(younger.Spec.Generate[0].Expression, "object.data.key", "'younger'", 1)
		applyPolicy(ctx, younger)
		Eventually(generatingStatus(ctx, younger.Name)).Should(generatingCondition(v1alpha1.ConditionAccepted, v1alpha1.ReasonAccepted))
		apply(ctx, newConfigMap(namespace, "trigger", "trigger", triggerLabels))
		Eventually(configMapIs(ctx, namespace, "made")).Should(Equal("trigger"))
		Eventually(generatingStatus(ctx, younger.Name)).Should(generatingCondition(v1alpha1.ConditionEnforced, v1alpha1.ReasonConflicted))
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(found), found)).To(Succeed())
		uid := found.UID
		Expect(k8s.Delete(ctx, p)).To(Succeed())
		Eventually(configMapIs(ctx, namespace, "made")).Should(Equal("younger"))
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(found), found)).To(Succeed())
		Expect(found.UID).To(Equal(uid), "it is taken over without a gap")
	})

	It("is what trace and why tell of", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		apply(ctx, newConfigMap(namespace, "source", "source", nil))
		p := generating(namespace, true, true)
		applyPolicy(ctx, p)
		Eventually(generatingStatus(ctx, p.Name)).Should(generatingCondition(v1alpha1.ConditionAccepted, v1alpha1.ReasonAccepted))
		Expect(k8s.Create(ctx, newConfigMap(namespace, "trigger", "trigger", triggerLabels), client.FieldOwner("somebody"))).To(Succeed())
		Eventually(configMapIs(ctx, namespace, "made")).Should(Equal("source"))
		Eventually(generatingStatus(ctx, p.Name)).Should(HaveField("Objects.Made", BeEquivalentTo(1)))

		Expect(kausality(ctx, namespace, "trace", "configmap/made")).To(MatchRegexp(`(?s)Made by a GeneratingPolicy, which keeps it so
├── GeneratingPolicy/%[1]s, last written by .*
├── for ConfigMap/trigger in namespace %[1]s, last written by somebody \d+s ago
└── a clone of ConfigMap/source in namespace %[1]s, last written by `, namespace))
		Expect(kausality(ctx, namespace, "trace", "configmap/trigger")).To(ContainSubstring(
			"└── ConfigMap/made in namespace %[1]s, by GeneratingPolicy/%[1]s, of which it is a trigger", namespace))
		Expect(kausality(ctx, namespace, "trace", "configmap/source")).To(ContainSubstring("of which it is a source"))
		Expect(kausality(ctx, namespace, "trace", "generatingpolicy/"+p.Name)).To(ContainSubstring("└── ConfigMap/made in namespace %s\n", namespace))

		By("having another policy want the same")
		younger := generating(namespace, true, false)
		younger.Name += "-younger"
		applyPolicy(ctx, younger)
		Eventually(generatingStatus(ctx, younger.Name)).Should(generatingCondition(v1alpha1.ConditionAccepted, v1alpha1.ReasonAccepted))
		patchConfigMap(ctx, namespace, "trigger", `{"data": {"other": "else"}}`)
		Eventually(generatingStatus(ctx, younger.Name)).Should(generatingCondition(v1alpha1.ConditionEnforced, v1alpha1.ReasonConflicted))
		for _, about := range []string{"configmap/made", "configmap/trigger", "generatingpolicy/" + younger.Name} {
			Expect(kausality(ctx, namespace, "why", about)).To(MatchRegexp(`^Conflicting  ConfigMap/made in namespace %[1]s
  wanted by   GeneratingPolicy/%[1]s-younger
  for         ConfigMap/trigger in namespace %[1]s
  because     .*%[1]s`, namespace))
		}
		Expect(kausality(ctx, namespace, "why", "configmap/source")).To(HavePrefix("Nothing was refused"))

		By("taking the policy away, while what it made stays")
		Expect(k8s.Delete(ctx, younger)).To(Succeed())
		Expect(k8s.Delete(ctx, p)).To(Succeed())
		expectGone(ctx, p)
		Expect(kausality(ctx, namespace, "trace", "configmap/made")).To(ContainSubstring("├── GeneratingPolicy/%s (gone)\n", namespace))
	})

	It("is what can tells of beforehand", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		apply(ctx, newConfigMap(namespace, "source", "source", nil), newConfigMap(namespace, "trigger", "trigger", nil))
		can := func(args ...string) string { return kausality(ctx, namespace, append([]string{"can"}, args...)...) }
		set := func(object, field, value string) string { return can(object, "--field", field, "--set", value) }
		changed := func(object any) string {
			raw, err := yaml.Marshal(object)
			Expect(err).NotTo(HaveOccurred())
			file := filepath.Join(GinkgoT().TempDir(), "changed.yaml")
			Expect(os.WriteFile(file, raw, 0o600)).To(Succeed())
			return can("-f", file)
		}
		p := generating(namespace, true, true)
		labeled := newConfigMap(namespace, "trigger", "trigger", triggerLabels)
		labeled.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
		Expect(changed(labeled)).To(HaveSuffix("It triggers no rule, so that it allows nothing below.\n"))
		applyPolicy(ctx, p)
		Eventually(generatingStatus(ctx, p.Name)).Should(generatingCondition(v1alpha1.ConditionAccepted, v1alpha1.ReasonAccepted))
		made := "ConfigMap/made in namespace " + namespace
		would := func(does, aside string) string {
			return "GeneratingPolicies would then, as far as rights and other policies let them:\n  " + does + "   " + made + "   by " + p.Name + aside + "\n"
		}

		By("creating it")
		Expect(changed(labeled)).To(HaveSuffix(would("create", "")))
		Expect(configMapIs(ctx, namespace, "made")()).To(Equal("gone"), "it was made")
		Expect(set("configmap/source", "data.key", "other")).NotTo(ContainSubstring("GeneratingPolicies"))
		patchConfigMap(ctx, namespace, "trigger", `{"metadata": {"labels": {"make": "yes"}}}`)
		Eventually(configMapIs(ctx, namespace, "made")).Should(Equal("source"))
		Eventually(generatingStatus(ctx, p.Name)).Should(HaveField("Objects.Made", BeEquivalentTo(1)))

		By("changing what is read, what was made, and the policy")
		Expect(set("configmap/source", "data.key", "other")).To(HaveSuffix(would("change", "")))
		Expect(set("configmap/trigger", "data.other", "else")).NotTo(ContainSubstring("GeneratingPolicies"))
		Expect(set("configmap/made", "data.key", "else")).To(HaveSuffix(would("change", ": put back")))
		p.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindGeneratingPolicy}
		p.ManagedFields, p.ResourceVersion = nil, ""
		p.Spec.Variables[0].Expression = strings.Replace(p.Spec.Variables[0].Expression, "'source'", "'trigger'", 1)
		Expect(changed(p)).To(HaveSuffix(would("change", "")))

		By("letting it go")
		Expect(set("configmap/trigger", "metadata.labels.make", "none")).To(HaveSuffix(would("delete", "")))
		Expect(configMapIs(ctx, namespace, "made")()).To(Equal("source"))

		By("leaving what somebody has")
		taken := newNamespace(ctx)
		apply(ctx, newConfigMap(taken, "source", "source", nil), newConfigMap(taken, "made", "mine", nil))
		applyPolicy(ctx, generating(taken, true, true))
		labeled.Namespace = taken
		Expect(changed(labeled)).To(MatchRegexp(`  leave   ConfigMap/made in namespace %[1]s   by %[1]s: it is there, and no\s+GeneratingPolicy made it\n$`, taken))
	})

	It("takes over what another generator made, where somebody says so", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		takeover := func(args ...string) string {
			return kausality(ctx, namespace, append([]string{"takeover", namespace}, args...)...)
		}
		kyvernos := map[string]string{"app.kubernetes.io/managed-by": "kyverno", "generate.kyverno.io/policy-name": "registry", "own": "label"}
		made := newConfigMap(namespace, "made", "older", kyvernos)
		apply(ctx, newConfigMap(namespace, "source", "source", nil), newConfigMap(namespace, "trigger", "trigger", triggerLabels), made)
		p := generating(namespace, true, true)
		p.Spec.Evaluation.GenerateExisting = true
		applyPolicy(ctx, p)
		Eventually(generatingStatus(ctx, p.Name)).Should(generatingCondition(v1alpha1.ConditionEnforced, v1alpha1.ReasonConflicted))

		By("showing it")
		Expect(takeover("--dry-run")).To(Equal("ConfigMap/made in namespace " + namespace + "   to be taken over, and changed by the policy\n"))
		Expect(configMapIs(ctx, namespace, "made")()).To(Equal("older"))

		By("not promising what is refused")
		// As AllowancePolicies that bound the object refuse the marks.
		allow := refuseAsUncaused(ctx, namespace, admissionregistrationv1.Update,
			"!has(object.metadata.annotations) || !('kausality.io/generated-from' in object.metadata.annotations)")
		would := func(flag, says string) func(Gomega) {
			return func(g Gomega) {
				out, err := kausalityFails(ctx, namespace, "takeover", namespace, flag)
				g.Expect(err).To(MatchError(says))
				g.Expect(strings.Join(strings.Fields(out), " ")).To(ContainSubstring("Run this as that account by --as"))
			}
		}
		Eventually(would("--dry-run", "1 of 1 objects cannot be taken over")).Should(Succeed())
		Eventually(would("--yes", "1 of 1 objects were not taken over")).Should(Succeed())
		Expect(configMapIs(ctx, namespace, "made")()).To(Equal("older"))
		allow(ctx)
		Eventually(func() string {
			out, _ := kausalityFails(ctx, namespace, "takeover", namespace, "--dry-run")
			return out
		}).
			Should(HaveSuffix("   to be taken over, and changed by the policy\n"))

		By("doing it")
		Expect(takeover("--yes")).To(ContainSubstring("   taken over, and changed by the policy"))
		Eventually(configMapIs(ctx, namespace, "made")).Should(Equal("source"))
		Eventually(generatingStatus(ctx, p.Name)).Should(generatingCondition(v1alpha1.ConditionEnforced, v1alpha1.ReasonEnforced))
		is := &corev1.ConfigMap{}
		Expect(k8s.Get(ctx, client.ObjectKeyFromObject(made), is)).To(Succeed())
		Expect(is.UID).To(Equal(made.UID), "it was made again")
		Expect(is.Labels).To(Equal(map[string]string{"own": "label", v1alpha1.LabelGeneratedBy: namespace}))
		Expect(takeover("--yes")).To(HavePrefix("There is nothing that GeneratingPolicy %s wants and somebody else has made.", namespace))

		By("leaving alone what another tool keeps")
		other := newNamespace(ctx)
		apply(ctx, newConfigMap(other, "source", "source", nil), newConfigMap(other, "trigger", "trigger", triggerLabels),
			newConfigMap(other, "made", "source", map[string]string{"app.kubernetes.io/managed-by": "Helm"}))
		p = generating(other, true, true)
		p.Spec.Evaluation.GenerateExisting = true
		applyPolicy(ctx, p)
		Expect(kausality(ctx, other, "takeover", other, "--yes")).To(MatchRegexp(`left alone: who wrote app.kubernetes.io/managed-by keeps\s+it`))
		Eventually(generatingStatus(ctx, p.Name)).Should(generatingCondition(v1alpha1.ConditionEnforced, v1alpha1.ReasonConflicted))

		By("leaving as it is what is right")
		same := newNamespace(ctx)
		right := newConfigMap(same, "made", "source", kyvernos)
		apply(ctx, newConfigMap(same, "source", "source", nil), newConfigMap(same, "trigger", "trigger", triggerLabels), right)
		p = generating(same, true, true)
		p.Spec.Evaluation.GenerateExisting = true
		applyPolicy(ctx, p)
		Expect(kausality(ctx, same, "takeover", same, "--dry-run")).To(HaveSuffix("   to be taken over\n"))

		By("letting it go with its trigger")
		Expect(k8s.Delete(ctx, newConfigMap(namespace, "trigger", "", nil))).To(Succeed())
		Eventually(configMapIs(ctx, namespace, "made")).Should(Equal("gone"))
	})

	It("deletes nothing where it cannot be evaluated", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		p := generating(namespace, true, false)
		applyPolicy(ctx, p)
		Eventually(generatingStatus(ctx, p.Name)).Should(generatingCondition(v1alpha1.ConditionAccepted, v1alpha1.ReasonAccepted))
		apply(ctx, newConfigMap(namespace, "trigger", "trigger", triggerLabels))
		Eventually(configMapIs(ctx, namespace, "made")).Should(Equal("trigger"))
		before := p.DeepCopy()
		p.Spec.Generate[0].Expression = fmt.Sprintf(
			`generator.ApplyAll('%s', {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': object.data.nothing + 'x'}})`, namespace)
		Expect(k8s.Patch(ctx, p, client.MergeFrom(before))).To(Succeed())
		Eventually(generatingStatus(ctx, p.Name)).Should(And(
			generatingCondition(v1alpha1.ConditionEnforced, v1alpha1.ReasonGeneratingFailed), HaveField("Triggers.Failed", BeEquivalentTo(1)),
			HaveField("Failures", ContainElement(HaveField("Trigger.Name", "trigger")))))
		Consistently(configMapIs(ctx, namespace, "made"), "200ms").Should(Equal("trigger"))
	})

	It("writes as its service account, says which right is missing, and goes on with it", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		user := "system:serviceaccount:" + namespace + ":few"
		p := generating(namespace, true, false)
		p.Spec.ServiceAccount = user
		applyPolicy(ctx, p)
		Eventually(generatingStatus(ctx, p.Name)).Should(generatingCondition(v1alpha1.ConditionAccepted, v1alpha1.ReasonAccepted))
		apply(ctx, newConfigMap(namespace, "trigger", "trigger", triggerLabels))
		Eventually(generatingStatus(ctx, p.Name)).Should(And(
			generatingCondition(v1alpha1.ConditionEnforced, v1alpha1.ReasonGeneratingFailed),
			HaveField("Failures", ContainElement(And(HaveField("Reason", v1alpha1.ReasonForbidden), HaveField("Message", ContainSubstring("may not get configmaps")))))))
		letWrite(ctx, user, "get", "list")
		Eventually(generatingStatus(ctx, p.Name)).Should(And(
			generatingCondition(v1alpha1.ConditionEnforced, v1alpha1.ReasonForbidden),
			HaveField("Failures", ContainElement(And(HaveField("Reason", v1alpha1.ReasonForbidden), HaveField("Message", ContainSubstring("verbs [create, patch, delete]")))))))
		Expect(configMapIs(ctx, namespace, "made")()).To(Equal("gone"))
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "spec-" + strings.ReplaceAll(user, ":", "-") + "-configmaps"}}
		Expect(k8s.Patch(ctx, role, client.RawPatch(types.JSONPatchType,
			[]byte(`[{"op": "replace", "path": "/rules/0/verbs", "value": ["create", "delete", "get", "list", "patch"]}]`)))).To(Succeed())
		Eventually(configMapIs(ctx, namespace, "made")).Should(Equal("trigger"))
		Eventually(generatingStatus(ctx, p.Name)).Should(generatingCondition(v1alpha1.ConditionEnforced, v1alpha1.ReasonEnforced))
		Expect(k8s.Delete(ctx, p)).To(Succeed())
		Eventually(configMapIs(ctx, namespace, "made")).Should(Equal("gone"))
	})

	It("tries again what AllowancePolicies refuse, once one of them is another one", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		p := generating(namespace, true, false)
		applyPolicy(ctx, p)
		Eventually(generatingStatus(ctx, p.Name)).Should(generatingCondition(v1alpha1.ConditionAccepted, v1alpha1.ReasonAccepted))
		apply(ctx, newConfigMap(namespace, "trigger", "trigger", triggerLabels))
		Eventually(configMapIs(ctx, namespace, "made")).Should(Equal("trigger"))
		bounds := &v1alpha1.AllowancePolicy{ObjectMeta: metav1.ObjectMeta{Name: namespace}, Spec: v1alpha1.AllowancePolicySpec{
			For: v1alpha1.ParentKind{APIVersion: "v1", Kind: "ConfigMap"},
		}}
		apply(ctx, bounds)
		allow := refuseAsUncaused(ctx, namespace, admissionregistrationv1.Update, "object.metadata.name != 'made' || object.data.key == 'trigger'")
		other := func() error {
			made := newConfigMap(namespace, "made", "other", nil)
			return k8s.Patch(ctx, made, client.RawPatch(types.MergePatchType, []byte(`{"data":{"key":"other"}}`)), client.DryRunAll)
		}
		Eventually(other).Should(MatchError(ContainSubstring("it is for others")))
		patchConfigMap(ctx, namespace, "trigger", `{"data":{"key":"other"}}`)
		Eventually(generatingStatus(ctx, p.Name)).Should(And(
			generatingCondition(v1alpha1.ConditionEnforced, v1alpha1.ReasonForbidden), HaveField("Objects.Refused", BeEquivalentTo(1)),
			HaveField("Objects.Made", BeEquivalentTo(1))))

		By("changing a policy: nobody looks again for 20 seconds otherwise")
		allow(ctx)
		Eventually(other).Should(Succeed())
		bounds.Spec.FailurePolicy = v1alpha1.FailurePolicyFail
		Expect(k8s.Update(ctx, bounds)).To(Succeed())
		Eventually(configMapIs(ctx, namespace, "made")).WithTimeout(10 * time.Second).Should(Equal("other"))
	})

	It("says what it waits for while it is being deleted, and goes on as soon as that changes", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		p := generating(namespace, true, false)
		applyPolicy(ctx, p)
		Eventually(generatingStatus(ctx, p.Name)).Should(generatingCondition(v1alpha1.ConditionAccepted, v1alpha1.ReasonAccepted))
		apply(ctx, newConfigMap(namespace, "trigger", "trigger", triggerLabels))
		Eventually(configMapIs(ctx, namespace, "made")).Should(Equal("trigger"))
		denying := &admissionregistrationv1.ValidatingAdmissionPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: namespace},
			Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
				MatchConstraints: &admissionregistrationv1.MatchResources{
					NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
					ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
						Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Delete},
						Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
					}}},
				},
				// As the verdict is told, by which a policy is refused whose trigger has something withheld.
				Validations: []admissionregistrationv1.Validation{{
					Expression: "oldObject.metadata.name != 'made'",
					Message:    `admission webhook "verdict.kausality.io" denied the request: approve the trigger`,
				}},
			},
		}
		Expect(k8s.Create(ctx, denying)).To(Succeed())
		binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: namespace},
			Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: namespace, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			},
		}
		Expect(k8s.Create(ctx, binding)).To(Succeed())
		allow := func(ctx context.Context) {
			Expect(client.IgnoreNotFound(k8s.Delete(ctx, binding))).To(Succeed())
			Expect(client.IgnoreNotFound(k8s.Delete(ctx, denying))).To(Succeed())
		}
		DeferCleanup(allow)
		made := newConfigMap(namespace, "made", "", nil)
		Eventually(func() error { return k8s.Delete(ctx, made, client.DryRunAll) }).Should(MatchError(ContainSubstring("approve the trigger")))

		Expect(k8s.Delete(ctx, p)).To(Succeed())
		Eventually(generatingStatus(ctx, p.Name)).Should(And(
			HaveField("Conditions", ContainElement(And(
				HaveField("Type", v1alpha1.ConditionAccepted), HaveField("Reason", v1alpha1.ReasonDeleting), HaveField("ObservedGeneration", int64(2)),
				HaveField("Message", ContainSubstring("It is being deleted, and waits for 1 objects that it made and that cannot be deleted: ConfigMap "+namespace+"/made: approve the trigger")),
			))),
			generatingCondition(v1alpha1.ConditionEnforced, v1alpha1.ReasonDeleting),
			HaveField("Failures", ConsistOf(And(HaveField("Trigger.Name", "trigger"), HaveField("Object.Name", "made"), HaveField("Message", "approve the trigger"))))))
		for _, about := range []string{"configmap/made", "configmap/trigger", "generatingpolicy/" + p.Name} {
			Expect(kausality(ctx, namespace, "why", about)).To(MatchRegexp(
				`Refused  ConfigMap/made in namespace %[1]s\n  to go with +GeneratingPolicy/%[1]s, which is being deleted and waits for it\n`, namespace))
		}

		By("changing the trigger, once it may be deleted: nobody looks again for 20 seconds otherwise")
		allow(ctx)
		Eventually(func() error { return k8s.Delete(ctx, made, client.DryRunAll) }).Should(Succeed())
		patchConfigMap(ctx, namespace, "trigger", `{"metadata": {"annotations": {"approved": "yes"}}}`)
		Eventually(configMapIs(ctx, namespace, "made")).WithTimeout(10 * time.Second).Should(Equal("gone"))
		expectGone(ctx, p)
	})

	It("reads nothing for a service account that may not read it, and nothing is deleted for that", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		user := "system:serviceaccount:" + namespace + ":triggers"
		letDo(ctx, user,
			rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}, ResourceNames: []string{"trigger", "source"}},
			rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create", "patch"}})
		p := generating(namespace, true, true)
		p.Spec.ServiceAccount = user
		applyPolicy(ctx, p)
		Eventually(generatingStatus(ctx, p.Name)).Should(generatingCondition(v1alpha1.ConditionAccepted, v1alpha1.ReasonAccepted))
		apply(ctx, newConfigMap(namespace, "source", "source", nil), newConfigMap(namespace, "hidden", "hidden", nil), newConfigMap(namespace, "trigger", "trigger", triggerLabels))
		Eventually(configMapIs(ctx, namespace, "made")).Should(Equal("source"))
		before := p.DeepCopy()
		p.Spec.Variables[0].Expression = strings.Replace(p.Spec.Variables[0].Expression, "'source'", "'hidden'", 1)
		Expect(k8s.Patch(ctx, p, client.MergeFrom(before))).To(Succeed())
		Eventually(generatingStatus(ctx, p.Name)).Should(HaveField("Failures", ContainElement(And(
			HaveField("Reason", v1alpha1.ReasonForbidden), HaveField("Message", ContainSubstring("may not get configmaps"))))))
		Consistently(configMapIs(ctx, namespace, "made"), "200ms").Should(Equal("source"))
	})

	It("is what the samples say", func(ctx SpecContext) {
		team := newNamespace(ctx)
		letDo(ctx, generatorUser,
			rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces", "secrets", "resourcequotas"}, Verbs: []string{"get", "list", "create", "patch", "delete"}},
			rbacv1.PolicyRule{APIGroups: []string{"networking.k8s.io"}, Resources: []string{"networkpolicies"}, Verbs: []string{"create", "patch", "delete"}},
			rbacv1.PolicyRule{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"rolebindings"}, Verbs: []string{"create", "patch", "delete"}},
			rbacv1.PolicyRule{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterroles"}, Verbs: []string{"bind"}})
		apply(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "registry"}, Data: map[string][]byte{"password": []byte("x")}})
		paths, err := filepath.Glob(filepath.Join("..", "..", "config", "samples", "generating", "kausality_*.yaml"))
		Expect(err).NotTo(HaveOccurred())
		Expect(paths).To(HaveLen(5))
		for _, path := range paths {
			text, err := os.ReadFile(path)
			Expect(err).NotTo(HaveOccurred())
			p := &v1alpha1.GeneratingPolicy{}
			Expect(yaml.UnmarshalStrict(text, p)).To(Succeed())
			applyPolicy(ctx, p)
			Eventually(generatingStatus(ctx, p.Name)).Should(generatingCondition(v1alpha1.ConditionAccepted, v1alpha1.ReasonAccepted))
		}
		const requests = `{"namespace-creator":{"userInfo":{"username":"bob"}}}`
		trigger := &corev1.Namespace{}
		Expect(k8s.Get(ctx, client.ObjectKey{Name: team}, trigger)).To(Succeed())
		trigger.Labels["team"], trigger.Labels["size"] = "shop", "large"
		trigger.Annotations = map[string]string{ // as the webhook writes them
			"example.org/owner": "anna", v1alpha1.AnnotationRequests: requests,
			v1alpha1.AnnotationNoted: generate.Notary{}.Sign(generate.ID{Kind: "Namespace", Name: team}, trigger, "", requests, time.Now()),
		}
		Expect(k8s.Update(ctx, trigger)).To(Succeed())
		Eventually(func(g Gomega) {
			key := func(name string) client.ObjectKey { return client.ObjectKey{Namespace: team, Name: name} }
			quota, binding, secret := &corev1.ResourceQuota{}, &rbacv1.RoleBinding{}, &corev1.Secret{}
			g.Expect(k8s.Get(ctx, key("team"), quota)).To(Succeed())
			g.Expect(quota.Spec.Hard.Pods().Value()).To(BeEquivalentTo(100))
			g.Expect(k8s.Get(ctx, key("owner"), binding)).To(Succeed())
			g.Expect(binding.Subjects).To(HaveExactElements(HaveField("Name", "anna")))
			g.Expect(k8s.Get(ctx, key("creator"), binding)).To(Succeed())
			g.Expect(binding.Subjects).To(HaveExactElements(HaveField("Name", "bob")))
			g.Expect(k8s.Get(ctx, key("registry"), secret)).To(Succeed())
			g.Expect(secret.Data).To(HaveKey("password"))
			g.Expect(k8s.Get(ctx, key("default-deny"), &networkingv1.NetworkPolicy{})).To(Succeed())
		}).Should(Succeed())
	})

	It("is refused where it cannot work, and to who may not act as its service account", func(ctx SpecContext) {
		validator := &webhookv1alpha1.GeneratingPolicyValidator{Client: k8s, DefaultAccount: generatorUser}
		as := func(user string) context.Context {
			return admission.NewContextWithRequest(ctx, admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				UserInfo: authenticationv1.UserInfo{Username: user, Groups: []string{"system:authenticated"}},
			}})
		}
		const author = "spec-author"
		p := generating(operatorNamespace, true, false)
		_, err := validator.ValidateCreate(as(author), p)
		Expect(err).To(MatchError(And(ContainSubstring("spec.serviceAccount"), ContainSubstring("impersonate"), ContainSubstring(generatorUser))))
		named := p.DeepCopy()
		named.Spec.ServiceAccount = "system:serviceaccount:kube-system:strong"
		_, err = validator.ValidateUpdate(as(author), p, named)
		Expect(err).To(MatchError(ContainSubstring("system:serviceaccount:kube-system:strong")))
		changed := named.DeepCopy()
		changed.Spec.Generate[0].Name = "changed"
		_, err = validator.ValidateUpdate(as(author), named, changed)
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "who writes the spec decides what the account does, whoever named it: %v", err)
		_, err = validator.ValidateUpdate(as(author), named, named)
		Expect(err).NotTo(HaveOccurred(), "what stays as it is was judged before")

		letDo(ctx, author, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, Verbs: []string{"impersonate"}, ResourceNames: []string{"strong"}})
		Eventually(func() error { _, err := validator.ValidateCreate(as(author), named); return err }).Should(Succeed())

		named.Spec.Generate[0].Expression = "no CEL"
		_, err = validator.ValidateCreate(as(author), named)
		Expect(apierrors.IsInvalid(err)).To(BeTrue())
		Expect(err).To(MatchError(ContainSubstring("spec.generate[0].expression")))
		named = p.DeepCopy()
		named.Spec.ServiceAccount = "system:serviceaccount:kube-system:strong"
		named.Spec.MatchConstraints.ResourceRules[0].Resources = []string{"configmaps", "configmaps/*"}
		warnings, err := validator.ValidateCreate(as(author), named)
		Expect(err).NotTo(HaveOccurred())
		Expect(warnings).To(ContainElement(ContainSubstring("spec.matchConstraints.resourceRules")))
	})

	It("catches up with what happened while it was away, and writes nothing where nothing did", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		p := generating(namespace, true, false)
		p.Spec.Generate[0].Expression = fmt.Sprintf(
			`generator.ApplyAll('%s', {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'made-' + object.metadata.name}, 'data': {'key': object.data.key}})`, namespace)
		apply(ctx, p)
		Eventually(generatingStatus(ctx, p.Name)).Should(generatingCondition(v1alpha1.ConditionAccepted, v1alpha1.ReasonAccepted))
		for _, name := range []string{"still", "goes", "changes", "modified"} {
			apply(ctx, newConfigMap(namespace, name, "before", triggerLabels))
			Eventually(configMapIs(ctx, namespace, "made-"+name)).Should(Equal("before"))
		}
		Eventually(generatingStatus(ctx, p.Name)).Should(And(
			generatingCondition(v1alpha1.ConditionEnforced, v1alpha1.ReasonEnforced), HaveField("Objects.Made", BeEquivalentTo(4))))

		By("being started again with all in place")
		stop()
		stop, requests = startGenerating(ctx)
		Eventually(func() []string { return requests.about("POST /apis/authorization.k8s.io/v1/subjectaccessreviews") }).ShouldNot(BeEmpty())
		writing := func() []string { return requests.about("PATCH ", "DELETE ", "/configmaps/made", "PUT ") }
		Consistently(writing, "1s").Should(BeEmpty())
		Expect(requests.about("GET /api/v1/configmaps")).To(HaveLen(1), "triggers and what was made are read by one watch")

		By("being away while things change")
		stop()
		apply(ctx, newConfigMap(namespace, "new", "new", triggerLabels))
		Expect(k8s.Delete(ctx, newConfigMap(namespace, "goes", "", nil))).To(Succeed())
		patchConfigMap(ctx, namespace, "changes", other)
		patchConfigMap(ctx, namespace, "made-modified", other)
		stop, requests = startGenerating(ctx)
		endAfterwards(p)
		for name, value := range map[string]string{"new": "new", "goes": "gone", "changes": "other", "modified": "before", "still": "before"} {
			Eventually(configMapIs(ctx, namespace, "made-"+name)).Should(Equal(value), name)
		}
		Expect(requests.about("made-still")).To(BeEmpty(), "what is as it should be is not written")
	})

	It("looks at a trigger once for what it writes itself", func(ctx SpecContext) {
		stop()
		stop, requests = startGenerating(ctx)
		namespace := newNamespace(ctx)
		p := generating(namespace, true, true)
		p.Spec.Generate[0].Expression = strings.Replace(p.Spec.Generate[0].Expression, "'made'", "'made-' + object.metadata.name", 1)
		apply(ctx, newConfigMap(namespace, "source", "before", nil))
		applyPolicy(ctx, p)
		Eventually(generatingStatus(ctx, p.Name)).Should(generatingCondition(v1alpha1.ConditionAccepted, v1alpha1.ReasonAccepted))
		const triggers = 20
		name := func(i int) string { return fmt.Sprintf("trigger-%d", i) }
		allAre := func(value string) {
			GinkgoHelper()
			for i := range triggers {
				Eventually(configMapIs(ctx, namespace, "made-"+name(i))).Should(Equal(value))
			}
			Eventually(generatingStatus(ctx, p.Name)).Should(And(HaveField("Objects.Made", BeEquivalentTo(triggers)), HaveField("Triggers.Pending", BeZero())))
		}
		for i := range triggers {
			apply(ctx, newConfigMap(namespace, name(i), "", triggerLabels))
		}
		allAre("before")
		looks := func() float64 {
			return metric("kausality_generating_evaluations_total", map[string]string{"generatingpolicy": p.Name, "result": "matched"})
		}
		before := looks()
		Consistently(looks, "1s").Should(Equal(before), "all is quiet")

		By("changing the source")
		patchConfigMap(ctx, namespace, "source", other)
		allAre("other")
		Consistently(func() float64 { return looks() - before }, "1s").Should(BeEquivalentTo(triggers))

		By("changing what it wrote, which somebody else does")
		patchConfigMap(ctx, namespace, "made-"+name(0), `{"data": {"key": "modified"}}`)
		allAre("other")
		Consistently(func() float64 { return looks() - before }, "1s").Should(BeEquivalentTo(triggers + 1))
	})

	It("does not try again and again to make what somebody has, and many triggers want", func(ctx SpecContext) {
		stop()
		stop, requests = startGenerating(ctx)
		namespace := newNamespace(ctx)
		apply(ctx, newConfigMap(namespace, "made", "mine", nil))
		p := generating(namespace, true, false)
		p.Spec.Evaluation.GenerateExisting = true
		p.Spec.Generate[0].Expression = strings.Replace(p.Spec.Generate[0].Expression, "object.data.key", "'wanted'", 1)
		for i := range 20 {
			apply(ctx, newConfigMap(namespace, fmt.Sprintf("trigger-%d", i), "", triggerLabels))
		}
		tries := func() int { return len(requests.about("PATCH /api/v1/namespaces/" + namespace + "/configmaps/made")) }
		applyPolicy(ctx, p)
		Eventually(generatingStatus(ctx, p.Name)).Should(And(HaveField("Objects.Conflicting", BeEquivalentTo(1)), HaveField("Triggers.Pending", BeZero())))
		// What becomes known of other triggers meanwhile has each be tried a few times.
		Consistently(tries, "1s").Should(BeNumerically("<", 5*20))

		By("looking at a trigger that does not want it any more")
		before := tries()
		patchConfigMap(ctx, namespace, "trigger-0", `{"metadata": {"labels": {"make": "no"}}}`)
		Eventually(generatingStatus(ctx, p.Name)).Should(HaveField("Triggers.Matching", BeEquivalentTo(19)))
		patchConfigMap(ctx, namespace, "trigger-0", other)
		Consistently(tries, "1s").Should(Equal(before))
		Expect(configMapIs(ctx, namespace, "made")()).To(Equal("mine"))
	})

	It("does not make what an older policy made once, and somebody deleted", func(ctx SpecContext) {
		stop()
		stop, requests = startGenerating(ctx)
		namespace := newNamespace(ctx)
		older := generating(namespace, false, false)
		older.Spec.Generate[0].Expression = strings.Replace(older.Spec.Generate[0].Expression, "'made'", "'made-' + object.metadata.name", 1)
		applyPolicy(ctx, older)
		Eventually(generatingStatus(ctx, older.Name)).Should(generatingCondition(v1alpha1.ConditionAccepted, v1alpha1.ReasonAccepted))
		younger := older.DeepCopy()
		younger.ObjectMeta = metav1.ObjectMeta{Name: older.Name + "-younger"}
		younger.Spec.Evaluation.Synchronize = true
		applyPolicy(ctx, younger)
		Eventually(generatingStatus(ctx, younger.Name)).Should(generatingCondition(v1alpha1.ConditionAccepted, v1alpha1.ReasonAccepted))

		// Who looks first differs from one to the next.
		var names []string
		for i := range 20 {
			names = append(names, fmt.Sprintf("trigger-%d", i))
			apply(ctx, newConfigMap(namespace, names[i], "older", triggerLabels))
		}
		all := func(what any) {
			GinkgoHelper()
			Eventually(generatingStatus(ctx, younger.Name)).Should(HaveField("Objects", what))
			Eventually(generatingStatus(ctx, older.Name)).Should(HaveField("Triggers.Pending", BeZero()))
		}
		overruled := And(HaveField("Conflicting", BeEquivalentTo(len(names))), HaveField("Made", BeZero()))
		all(overruled)
		made := func() []string {
			list := &corev1.ConfigMapList{}
			Expect(k8s.List(ctx, list, client.InNamespace(namespace), client.HasLabels{v1alpha1.LabelGeneratedBy})).To(Succeed())
			var out []string
			for i := range list.Items {
				out = append(out, list.Items[i].Labels[v1alpha1.LabelGeneratedBy])
			}
			slices.Sort(out)
			return slices.Compact(out)
		}
		Expect(made()).To(Equal([]string{older.Name}))

		By("having what was made deleted while nobody is there")
		stop()
		for _, name := range names {
			Expect(k8s.Delete(ctx, newConfigMap(namespace, "made-"+name, "", nil))).To(Succeed())
		}
		stop, requests = startGenerating(ctx)
		endAfterwards(older)
		endAfterwards(younger)
		Eventually(func() []string { return requests.about("POST /apis/authorization.k8s.io/v1/subjectaccessreviews") }).ShouldNot(BeEmpty())
		all(overruled)
		Consistently(made, "500ms").Should(BeEmpty())

		By("having both begin to want it at the same moment")
		for _, labels := range []string{`{"make": null}`, `{"make": "yes"}`} {
			for _, name := range names {
				patchConfigMap(ctx, namespace, name, `{"metadata": {"labels": `+labels+`}}`)
			}
			if labels == `{"make": null}` {
				all(HaveField("Conflicting", BeZero()))
			}
		}
		all(overruled)
		Consistently(made, "500ms").Should(BeEmpty())
	})
})
