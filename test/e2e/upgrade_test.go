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
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/stage"
)

// upgradedParents is how many parents a controller upgrades; the third is withheld meanwhile.
var upgradedParents = flag.Int("parents", 6, "how many parents a controller upgrades, at least 6")

// upgradeTimeout bounds specs that wait for an upgrade to be over, which takes more than half a
// minute after its last write.
const upgradeTimeout = 8 * time.Minute

// versioned is a controller of Things in one of its versions. It acts with the token of a Pod
// that has the image of the version; no container runs in these Pods.
type versioned struct {
	thingController
	// format is what this version adds to each ConfigMap, and extra what else it adds.
	format, extra string
	// serves is true for a version that makes a Service, and has no use for the one that others make.
	serves bool
}

// formerly returns the Service that versions make which do not serve.
func (c *versioned) formerly(thing *unstructured.Unstructured) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: thing.GetName() + "-old"}}
}

// reconcileAs brings the children of a Thing in line with what the version makes of it.
func (c *versioned) reconcileAs(ctx context.Context, thing *unstructured.Unstructured) error {
	if err := c.Get(ctx, client.ObjectKeyFromObject(thing), thing); err != nil {
		return err
	}
	wanted, _, _ := unstructured.NestedString(thing.Object, "spec", "config")
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: thing.GetName()}}
	err := c.have(ctx, thing, config, func() error {
		config.Data = map[string]string{"config": wanted}
		if c.format != "" {
			config.Data["format"] = c.format
		}
		if c.extra != "" {
			config.Data["extra"] = c.extra
		}
		return nil
	})
	service := c.formerly(thing)
	if c.serves {
		err = errors.Join(err, client.IgnoreNotFound(c.Delete(ctx, service)))
		service = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: thing.GetName()}}
	}
	err = errors.Join(err, c.have(ctx, thing, service, func() error {
		service.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: 80}}
		return nil
	}))
	return errors.Join(err, reportObserved(ctx, c.actor, thing))
}

// runVersion makes a Pod of the image, in another second than those that are there, and acts with a
// token that is bound to it.
func (c *cluster) runVersion(ctx context.Context, ns, pod, image string) *versioned {
	GinkgoHelper()
	var before corev1.PodList
	Expect(c.List(ctx, &before, client.InNamespace(ns))).To(Succeed())
	for _, other := range before.Items {
		Eventually(ctx, time.Now).Should(BeTemporally(">", other.CreationTimestamp.Add(time.Second)))
	}
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: pod},
		Spec:       corev1.PodSpec{ServiceAccountName: "controller", Containers: []corev1.Container{{Name: "manager", Image: image}}},
	}
	Expect(c.Create(ctx, p)).To(Succeed())
	return &versioned{thingController: thingController{actor: c.withToken(ctx, ns, &authenticationv1.BoundObjectReference{
		Kind: "Pod", APIVersion: "v1", Name: p.Name, UID: p.UID,
	}), namespace: ns}}
}

// withToken acts with a token of the controller's service account.
func (c *cluster) withToken(ctx context.Context, ns string, bound *authenticationv1.BoundObjectReference) *actor {
	GinkgoHelper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: bound}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "controller"}}
	Expect(c.SubResource("token").Create(ctx, account, request)).To(Succeed())
	return c.withCredential(func(config *rest.Config) { config.BearerToken = request.Status.Token })
}

// withCredential acts with what a function adds to a configuration that has no credential.
func (c *cluster) withCredential(add func(*rest.Config)) *actor {
	GinkgoHelper()
	config := rest.AnonymousClientConfig(c.Config)
	config.QPS = -1
	add(config)
	direct, err := client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	return &actor{Actor: &stage.Actor{Client: direct}, cluster: c}
}

// makeController makes the service account of a controller of Things, which RBAC lets do anything
// in a namespace.
func (c *cluster) makeController(ctx context.Context, ns string) (user string) {
	GinkgoHelper()
	Expect(c.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "controller"}})).To(Succeed())
	Expect(c.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "controller"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: ns, Name: "controller"}},
	})).To(Succeed())
	return serviceaccount.MakeUsername(ns, "controller")
}

// governController applies the policies of Things, which name the controller of a namespace.
func (c *cluster) governController(ctx context.Context, group, ns string) {
	GinkgoHelper()
	policies := thingPolicies(group)
	policies[0].Spec.Subjects[1].Namespace, policies[0].Spec.Subjects[1].Name = ns, "controller"
	c.apply(ctx, policies...)
}

// madeBy creates as many Things as are to be upgraded, and returns when a version of the controller has
// made their children.
func (c *cluster) madeBy(ctx context.Context, version *versioned, group string) []*unstructured.Unstructured {
	GinkgoHelper()
	var things []*unstructured.Unstructured
	for i := range *upgradedParents {
		thing := builders.MakeThing(group, version.namespace, fmt.Sprintf("app-%d", i))
		thing.Object["spec"] = map[string]any{"config": "a"}
		Expect(c.as(alice, platformTeam, "system:masters").Create(ctx, thing)).To(Succeed())
		Eventually(ctx, func() error { return version.reconcileAs(ctx, thing) }).Should(Succeed())
		c.over(ctx, thing)
		things = append(things, thing)
	}
	return things
}

// upgradeOf returns what greta agrees to for the controller: a format, and other Services.
func upgradeOf(user string) *v1alpha1.UpgradeAllowance {
	return &v1alpha1.UpgradeAllowance{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "upgrade-"},
		Spec: v1alpha1.UpgradeAllowanceSpec{
			ServiceAccount: user,
			Policies: []v1alpha1.PolicyEntry{{
				Target: v1alpha1.Target{APIVersion: "v1", Resource: "configmaps"}, Relation: v1alpha1.RelationControllerChild,
				Mutations: []v1alpha1.FieldMutation{{JSONPath: "data[format]"}},
			}, {
				Target: v1alpha1.Target{APIVersion: "v1", Resource: "services"}, Relation: v1alpha1.RelationControllerChild,
				Verbs: []string{"Create", "Delete"},
			}},
		},
	}
}

// suggestionOf returns what would have let a version through for the first Thing.
func suggestionOf(user, version string) v1alpha1.UpgradeAllowanceSpec {
	spec := upgradeOf(user).Spec
	spec.Versions = []string{version}
	spec.Triggers = []v1alpha1.UpgradeTrigger{v1alpha1.UpgradeOfController}
	for i := range spec.Policies {
		spec.Policies[i].Target.APIGroup = new("")
	}
	return spec
}

// A new version of a controller brings the children of each parent in line once, as somebody has
// agreed to, and does nothing else that nobody caused.
var _ = Describe("An upgrade of a controller", func() {
	const v1, v2 = "example.org/controller:v1", "example.org/controller:v2"

	It("goes through once for each parent, as it was agreed to", func(ctx SpecContext) {
		group := defineThings(ctx)
		ns := shared.newNamespace(ctx)
		user := shared.makeController(ctx, ns)
		shared.governController(ctx, group, ns)
		owner, greta, stranger := shared.as(alice, platformTeam, "system:masters"), shared.as("greta", "system:masters"), shared.as(mallory, "system:masters")

		By("version 1 making the children")
		first := shared.runVersion(ctx, ns, "controller-1", v1)
		things := shared.madeBy(ctx, first, group)
		for _, thing := range things {
			Eventually(ctx, func(g Gomega) []v1alpha1.ControllerVersion { return shared.record(ctx, g, thing).Status.Versions }).
				Should(ConsistOf(SatisfyAll(HaveField("User", user), HaveField("Image", v1), HaveField("MovedAt", Not(BeNil())))))
		}
		image := func(thing *unstructured.Unstructured) (image string, over bool) {
			versions := shared.recorded(ctx, thing).Status.Versions
			Expect(versions).To(HaveLen(1))
			return versions[0].Image, versions[0].MovedAt != nil
		}

		By("version 1 being denied what nobody caused")
		rogue := *first
		rogue.format, rogue.extra = "1", "x"
		Expect(rogue.reconcileAs(ctx, things[0].DeepCopy())).To(MatchError(denied, "denied"))

		By("version 2 being denied what nobody has agreed to")
		second := shared.runVersion(ctx, ns, "controller-2", v2)
		second.format, second.serves = "2", true
		err := second.reconcileAs(ctx, things[0].DeepCopy())
		Expect(err).To(MatchError(denied, "denied"))
		Expect(err).To(MatchError(ContainSubstring("an UpgradeAllowance with spec.serviceAccount " + user)))

		By("agreeing to what would have let it through, as the plugin writes it")
		stranger.setThing(ctx, things[2], `{"config":"theirs"}`)
		agreed, reader := &v1alpha1.UpgradeAllowance{}, shared.as("reader", "system:masters")
		Eventually(ctx, func(g Gomega) {
			out, err := reader.kausality(ctx, ns, "upgrade", "suggest", ns+"/controller")
			g.Expect(err).NotTo(HaveOccurred(), out)
			g.Expect(out).To(SatisfyAll(HavePrefix("# What would have let refusals through."), ContainSubstring("for Thing/app-0\n"),
				ContainSubstring("# Not in it: what "+v1+" was refused 1 times: ")))
			g.Expect(yaml.UnmarshalStrict([]byte(out), agreed)).To(Succeed(), out)
			g.Expect(agreed.Spec).To(Equal(suggestionOf(user, v2)))
		}).Should(Succeed())
		agreed.Name += "-" + ns
		Expect(greta.Create(ctx, agreed)).To(Succeed())
		DeferCleanup(func(ctx context.Context) error { return client.IgnoreNotFound(shared.Delete(ctx, agreed)) })
		Expect(agreed.Annotations).To(HaveKeyWithValue(v1alpha1.AnnotationChangedBy, "greta"))
		shared.expectAccepted(ctx, agreed)

		By("nobody writing anything as long as nothing is upgraded")
		upgraded := slices.Concat(things[:2], things[3:])
		shared.watchQuietly(ctx, ns, func(audit witness) {
			for _, thing := range upgraded {
				Expect(first.reconcileAs(ctx, thing)).To(Succeed())
			}
			audit.UntilQuiet(ctx, quietMoment)
			Expect(audit.writes(notBy(user))).To(BeEmpty())
		})

		By("version 1 going on to be denied what it was")
		rogue.extra = ""
		Expect(rogue.reconcileAs(ctx, things[0].DeepCopy())).To(MatchError(denied, "denied"))

		By("version 2 upgrading each parent over several writes")
		audit := shared.watch(ns)
		for _, thing := range upgraded {
			Eventually(ctx, func() error { return second.reconcileAs(ctx, thing) }).Should(Succeed())
			now, over := image(thing)
			Expect(now).To(Equal(v2))
			Expect(over).To(BeFalse())
		}

		By("telling so while it goes on")
		through := "UpgradeAllowance/" + agreed.Name + "  agrees to an upgrade"
		for _, child := range []string{"configmap/app-0", "service/app-0", "service/app-0-old"} {
			reader.reads(ctx, ns, lines("greta", through, "Thing/app-0  is upgraded"), "trace", child)
		}
		reader.reads(ctx, ns, ContainSubstring("it is being upgraded to image "+v2), "explain", "things."+group+"/app-0")
		reader.reads(ctx, ns, SatisfyAll(ContainSubstring("UpgradeAllowance "+agreed.Name+" by greta, for what "+ns+"/controller does"),
			ContainSubstring("would let through: create and delete Service")), "explain", "things."+group)

		By("doing nothing about what a stranger has changed")
		err = second.reconcileAs(ctx, things[2].DeepCopy())
		Expect(err).To(MatchError(denied, "denied"))
		Expect(err).To(MatchError(ContainSubstring("by mallory is withheld")))

		By("denying what was not agreed to")
		wild := *second
		wild.extra = "x"
		err = wild.reconcileAs(ctx, things[0].DeepCopy())
		Expect(err).To(MatchError(denied, "denied"))
		Expect(err).To(MatchError(ContainSubstring("UpgradeAllowance " + agreed.Name + " does not let it through: spec.policies does not cover it")))

		reader.reads(ctx, ns, WithTransform(unwrapped, SatisfyAll(
			ContainSubstring("UpgradeAllowance "+agreed.Name+" does not let it through: spec.policies does not cover it"),
			ContainSubstring("image "+v2+" (being upgraded to it, by UpgradeAllowance "+agreed.Name+")"),
		)), "why", "things."+group+"/app-0")

		By("denying version 1, which is still there, to put it back")
		Expect(first.reconcileAs(ctx, things[0].DeepCopy())).To(MatchError(denied, "denied"))

		By("being over once nothing more passes")
		for _, thing := range upgraded {
			Eventually(ctx, func() bool {
				_, over := image(thing)
				return over
			}).WithTimeout(2 * time.Minute).Should(BeTrue())
		}
		again := *second
		again.format = "3"
		err = again.reconcileAs(ctx, things[0].DeepCopy())
		Expect(err).To(MatchError(denied, "denied"))
		Expect(err).To(MatchError(ContainSubstring("the parent was upgraded to image " + v2)))
		Eventually(ctx, func(g Gomega) {
			g.Expect(shared.Get(ctx, client.ObjectKeyFromObject(agreed), agreed)).To(Succeed())
			g.Expect(agreed.Status).To(SatisfyAll(HaveField("Moved", int32(len(upgraded))), HaveField("Moving", int32(0)),
				HaveField("RanBefore", ConsistOf(v1, v2)), HaveField("Runs", ConsistOf(v1, v2))))
		}).Should(Succeed())

		By("having let each write through once, and no other")
		audit.expectUpgraded(user, "greta", agreed.Name, upgraded...)
		AddReportEntry("upgraded", ReportEntryVisibilityAlways, audit.costOf(upgraded))
		reader.reads(ctx, ns, SatisfyAll(
			HavePrefix("UpgradeAllowance/"+agreed.Name+" of "+user+", by greta\n"),
			MatchRegexp(`Blocked +\S+ ago +`+ns+` +Thing/app-0 +image `+v2+` +update of`),
			MatchRegexp(`Waits +\S+ ago +`+ns+` +Thing/app-2 +image `+v1+` +spec.config by mallory`),
			ContainSubstring("kubectl kausality upgrade suggest "+ns+"/controller\n"),
		), "upgrade", agreed.Name)

		By("saying so to who goes by the runbook")
		steps := stage.Commands(filepath.Join(root, "docs", "upgrading.md"), "Your own controller")
		for i, says := range []string{"spec:", v1, agreed.Name + " of " + user} {
			Expect(shared.RunShell(ctx, ns, strings.NewReplacer("NAMESPACE/SERVICEACCOUNT", ns+"/controller", "NAME", agreed.Name,
				"KIND/PARENT", "things."+group+"/app-0").Replace(steps[i]))).To(ContainSubstring(says))
		}
		Expect(steps).To(HaveLen(3))

		By("going on to do what was caused")
		audit = shared.watch(ns)
		owner.setThing(ctx, things[1], `{"config":"b"}`)
		Eventually(ctx, func() error { return second.reconcileAs(ctx, things[1]) }).Should(Succeed())
		expectCaused(audit.writes(controlplane.ByUser(user), controlplane.ByVerb("update"), controlplane.Succeeded, func(e *auditv1.Event) bool {
			return e.ObjectRef.Resource == "configmaps"
		}), "Covered", alice, "Thing/app-1 spec.config")

		By("upgrading the third once it is approved")
		Expect(owner.Patch(ctx, things[2], client.RawPatch(types.MergePatchType, []byte(approve("spec.config"))))).To(Succeed())
		Eventually(ctx, func() error { return second.reconcileAs(ctx, things[2]) }).Should(Succeed())
	}, SpecTimeout(upgradeTimeout))

	It("goes through to the versions that are named, and back where that is agreed to", func(ctx SpecContext) {
		group := defineThings(ctx)
		ns := shared.newNamespace(ctx)
		user := shared.makeController(ctx, ns)
		owner, greta := shared.as(alice, platformTeam, "system:masters"), shared.as("greta", "system:masters")
		first := shared.runVersion(ctx, ns, "controller-1", v1)
		have := func(name string) *unstructured.Unstructured {
			GinkgoHelper()
			thing := builders.MakeThing(group, ns, name)
			thing.Object["spec"] = map[string]any{"config": "a"}
			Expect(owner.Create(ctx, thing)).To(Succeed())
			Eventually(ctx, func() error { return first.reconcileAs(ctx, thing) }).Should(Succeed())
			return thing
		}
		untold := have("untold")
		shared.governController(ctx, group, ns)
		made := have("made")
		shared.over(ctx, made)
		remembered := func(thing *unstructured.Unstructured) []v1alpha1.ControllerVersion {
			return shared.recorded(ctx, thing).Status.Versions
		}
		Eventually(ctx, remembered).WithArguments(made).Should(ConsistOf(HaveField("Image", v1)))
		second := shared.runVersion(ctx, ns, "controller-2", v2)
		second.format, second.serves = "2", true
		agree := func(versions string) *v1alpha1.UpgradeAllowance {
			GinkgoHelper()
			agreed := upgradeOf(user)
			agreed.Spec.Versions = []string{versions}
			Expect(greta.Create(ctx, agreed)).To(Succeed())
			DeferCleanup(func(ctx context.Context) error { return client.IgnoreNotFound(shared.Delete(ctx, agreed)) })
			shared.expectAccepted(ctx, agreed)
			return agreed
		}

		By("agreeing to one of them, which runs already")
		forth := agree("*/controller:v2*")
		third := shared.runVersion(ctx, ns, "controller-3", "example.org/controller:v3")
		third.format = "3"
		Expect(third.reconcileAs(ctx, made.DeepCopy())).To(MatchError(ContainSubstring(
			"UpgradeAllowance " + forth.Name + " does not let it through: image example.org/controller:v3 is none of its versions")))
		for _, thing := range []*unstructured.Unstructured{untold, made} {
			Eventually(ctx, func() error { return second.reconcileAs(ctx, thing) }).Should(Succeed())
			Expect(remembered(thing)).To(ConsistOf(SatisfyAll(HaveField("Image", v2), HaveField("UpgradeAllowance", forth.Name))), thing.GetName())
		}

		By("going back, in a younger Pod")
		back := shared.runVersion(ctx, ns, "controller-4", v1)
		Expect(back.reconcileAs(ctx, made.DeepCopy())).To(MatchError(ContainSubstring("image " + v1 + " is none of its versions")))
		again := agree("*/controller:v1*")
		Eventually(ctx, func() error { return back.reconcileAs(ctx, made) }).Should(Succeed())
		now := remembered(made)
		Expect(now).To(ConsistOf(SatisfyAll(HaveField("Image", v1), HaveField("UpgradeAllowance", again.Name))))
		Expect(second.reconcileAs(ctx, made.DeepCopy())).To(MatchError(ContainSubstring("image " + v2 + " is in an older Pod than image " + v1)))

		By("being the same where its image is built again")
		rebuilt := shared.runVersion(ctx, ns, "controller-5", v1+".1")
		rebuilt.format = "1"
		Expect(rebuilt.reconcileAs(ctx, made)).To(Succeed())
		Expect(remembered(made)).To(HaveEach(SatisfyAll(HaveField("Image", v1), HaveField("Since", now[0].Since))))
	}, SpecTimeout(specTimeout))

	It("goes by what is agreed to now where that is edited in the middle", func(ctx SpecContext) {
		group := defineThings(ctx)
		ns := shared.newNamespace(ctx)
		user := shared.makeController(ctx, ns)
		shared.governController(ctx, group, ns)
		first := shared.runVersion(ctx, ns, "controller-1", v1)
		thing := builders.MakeThing(group, ns, "app")
		thing.Object["spec"] = map[string]any{"config": "a"}
		Expect(shared.as(alice, platformTeam, "system:masters").Create(ctx, thing)).To(Succeed())
		Eventually(ctx, func() error { return first.reconcileAs(ctx, thing) }).Should(Succeed())
		shared.over(ctx, thing)
		agreed := upgradeOf(user)
		Expect(shared.as("greta", "system:masters").Create(ctx, agreed)).To(Succeed())
		DeferCleanup(func(ctx context.Context) error { return client.IgnoreNotFound(shared.Delete(ctx, agreed)) })
		shared.expectAccepted(ctx, agreed)
		second := shared.runVersion(ctx, ns, "controller-2", v2)
		second.format = "2"
		Eventually(ctx, func() error { return second.reconcileAs(ctx, thing) }).Should(Succeed())
		second.serves = true
		begun := shared.recorded(ctx, thing).Status.Versions
		Expect(begun).To(ConsistOf(HaveField("Image", v2)))

		hans := shared.as("hans", "system:masters")
		edit := func(change func(*v1alpha1.UpgradeAllowanceSpec)) {
			GinkgoHelper()
			Expect(hans.Get(ctx, client.ObjectKeyFromObject(agreed), agreed)).To(Succeed())
			before := agreed.DeepCopy()
			change(&agreed.Spec)
			Expect(hans.Patch(ctx, agreed, client.MergeFrom(before))).To(Succeed())
		}
		all := agreed.Spec.Policies

		By("taking the Services out")
		edit(func(spec *v1alpha1.UpgradeAllowanceSpec) { spec.Policies = all[:1] })
		Eventually(ctx, func() error { return second.reconcileAs(ctx, thing.DeepCopy()) }).Should(MatchError(ContainSubstring("app-old")))

		By("naming another version")
		edit(func(spec *v1alpha1.UpgradeAllowanceSpec) {
			spec.Policies, spec.Versions = all, []string{"*/controller:v3*"}
		})
		Eventually(ctx, func() error { return second.reconcileAs(ctx, thing.DeepCopy()) }).Should(MatchError(
			ContainSubstring("image " + v2 + " is none of its versions")))

		By("agreeing to the rest after all, which leads to who did")
		audit := shared.watch(ns)
		edit(func(spec *v1alpha1.UpgradeAllowanceSpec) { spec.Versions = nil })
		Eventually(ctx, func() error { return second.reconcileAs(ctx, thing) }).Should(Succeed())
		Expect(shared.recorded(ctx, thing).Status.Versions).To(ConsistOf(SatisfyAll(HaveField("Image", v2), HaveField("Since", begun[0].Since))))
		Expect(audit.writes(controlplane.ByUser(user), throughUpgrade)).To(HaveEach(WithTransform(
			func(event auditv1.Event) string { return causeOf(&event) }, HavePrefix("Upgrade: hans -> UpgradeAllowance/"+agreed.Name))))
	}, SpecTimeout(specTimeout))
})

// watchQuietly watches a namespace while something is done, from when nobody writes any more.
func (c *cluster) watchQuietly(ctx context.Context, ns string, do func(witness)) {
	GinkgoHelper()
	c.watch(ns).UntilQuiet(ctx, quietMoment)
	do(c.watch(ns))
}

// notBy wants requests of everybody else.
func notBy(user string) controlplane.AuditFilter {
	by := controlplane.ByUser(user)
	return func(event *auditv1.Event) bool { return !by(event) }
}

// throughUpgrade wants what an upgrade has let through.
func throughUpgrade(event *auditv1.Event) bool {
	return controlplane.Succeeded(event) && event.Annotations[auditReason] == string(decision.ReasonUpgrade)
}

// expectUpgraded expects that each child of the parents was brought in line by one write, which leads
// to who has agreed to that, and that nothing else was let through.
func (w witness) expectUpgraded(user, by, agreed string, parents ...*unstructured.Unstructured) {
	GinkgoHelper()
	want, got := map[string]string{}, map[string]string{}
	for _, parent := range parents {
		trace := by + " -> UpgradeAllowance/" + agreed + " (upgrade) -> Thing/" + parent.GetName() + " (upgrade)"
		for _, write := range []string{"update configmaps/%s", "create services/%s", "delete services/%s-old"} {
			want[fmt.Sprintf(write, parent.GetName())] = "Upgrade: " + trace
		}
	}
	for _, event := range w.writes(controlplane.ByUser(user), throughUpgrade) {
		write := event.Verb + " " + event.ObjectRef.Resource + "/" + event.ObjectRef.Name
		Expect(got).NotTo(HaveKey(write), "twice")
		got[write] = causeOf(&event)
	}
	Expect(got).To(Equal(want))
}

// costOf counts what the operator has written for an upgrade of these parents.
func (w witness) costOf(parents []*unstructured.Unstructured) string {
	GinkgoHelper()
	counts := map[string]int{}
	for _, event := range w.writes(controlplane.ByUser(operatorUser)) {
		counts[strings.TrimSuffix(event.Verb+" "+event.ObjectRef.Resource+"/"+event.ObjectRef.Subresource, "/")]++
	}
	return fmt.Sprintf("%d parents by %d writes; written by the operator: %v", len(parents), len(w.writes(throughUpgrade)), counts)
}

// What is agreed to is somebody's, and makes sense.
var _ = Describe("An UpgradeAllowance", func() {
	const account = "system:serviceaccount:web-system:controller"

	DescribeTable("is refused", func(ctx SpecContext, change func(*v1alpha1.UpgradeAllowance), says string) {
		u := upgradeOf(account)
		change(u)
		Expect(shared.Create(ctx, u, client.DryRunAll)).To(MatchError(ContainSubstring(says)))
	},
		Entry("for a user who is no service account", func(u *v1alpha1.UpgradeAllowance) { u.Spec.ServiceAccount = "hans" },
			"spec.serviceAccount", SpecTimeout(specTimeout)),
		Entry("for a user without Pods", func(u *v1alpha1.UpgradeAllowance) { u.Spec.ServiceAccount = "system:kube-controller-manager" },
			"detection Declared is for others", SpecTimeout(specTimeout)),
		Entry("with versions of what is declared", func(u *v1alpha1.UpgradeAllowance) {
			u.Spec.Detection, u.Spec.Versions = v1alpha1.DetectionDeclared, []string{"*:v2"}
		}, "versions are of images", SpecTimeout(specTimeout)),
		Entry("with a pattern of all images", func(u *v1alpha1.UpgradeAllowance) { u.Spec.Versions = []string{"*"} },
			"it matches all images", SpecTimeout(specTimeout)),
		Entry("of something that does not exist", func(u *v1alpha1.UpgradeAllowance) { u.Spec.Triggers = []v1alpha1.UpgradeTrigger{"Weather"} },
			"spec.triggers", SpecTimeout(specTimeout)),
		Entry("that is declared, and is of no controller", func(u *v1alpha1.UpgradeAllowance) {
			u.Spec.Detection, u.Spec.Triggers = v1alpha1.DetectionDeclared, []v1alpha1.UpgradeTrigger{v1alpha1.UpgradeOfComposition}
		}, "Declared is about versions of controllers", SpecTimeout(specTimeout)),
		Entry("that allows nothing", func(u *v1alpha1.UpgradeAllowance) { u.Spec.Policies = nil },
			"spec.policies", SpecTimeout(specTimeout)),
		Entry("that deletes what is outside", func(u *v1alpha1.UpgradeAllowance) {
			u.Spec.Policies = []v1alpha1.PolicyEntry{{
				Target: v1alpha1.Target{External: map[string]string{"provider": "aws"}}, Relation: v1alpha1.RelationExternal, Verbs: []string{"Delete"},
			}}
		}, "no upgrade deletes what is outside the cluster", SpecTimeout(specTimeout)),
		Entry("with a path that is none", func(u *v1alpha1.UpgradeAllowance) { u.Spec.Policies[0].Mutations[0].JSONPath = "data[" },
			"spec.policies[0].mutations[0].jsonPath", SpecTimeout(specTimeout)),
	)

	It("says who last changed its spec, whatever requests say", func(ctx SpecContext) {
		greta, stranger := shared.as("greta", "system:masters"), shared.as(mallory, "system:masters")
		u := upgradeOf(account)
		u.Annotations = map[string]string{v1alpha1.AnnotationChangedBy: alice}
		Expect(greta.Create(ctx, u)).To(Succeed())
		DeferCleanup(func(ctx context.Context) error { return client.IgnoreNotFound(shared.Delete(ctx, u)) })
		Expect(greta.warned.take()).To(ContainSubstring(account + " does not exist"))
		by := func() string { return u.Annotations[v1alpha1.AnnotationChangedBy] }
		Expect(by()).To(Equal("greta"))
		for _, forged := range []string{`{"metadata":{"annotations":{"kausality.io/changed-by":"alice"}}}`, `{"metadata":{"annotations":null}}`, `{"metadata":{"labels":{"a":"b"}}}`} {
			Expect(stranger.Patch(ctx, u, client.RawPatch(types.MergePatchType, []byte(forged)))).To(Succeed())
			Expect(by()).To(Equal("greta"), forged)
		}
		Expect(stranger.Patch(ctx, u, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"versions":["*:v2"]},"metadata":{"annotations":{"kausality.io/changed-by":"alice"}}}`)))).To(Succeed())
		Expect(by()).To(Equal(mallory))
		Expect(greta.Patch(ctx, u, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"serviceAccount":"system:serviceaccount:a:b"}}`)))).
			To(MatchError(ContainSubstring("serviceAccount is immutable")))
		Eventually(ctx, func(g Gomega) {
			out, err := shared.kubectl(ctx, "get", "upa", u.Name, "-o", "wide")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(out).To(SatisfyAll(MatchRegexp(account+` +True +False`), ContainSubstring(mallory)), "nothing runs as it")
		}).Should(Succeed())
	}, SpecTimeout(specTimeout))

	It("is explained, and there are samples", func(ctx SpecContext) {
		out, err := shared.kubectl(ctx, "explain", "upgradeallowance.spec", "--recursive")
		Expect(err).NotTo(HaveOccurred())
		Expect(out).To(ContainSubstring("namespaceSelector"))
		out, err = shared.kubectl(ctx, "apply", "--dry-run=server", "-k", filepath.Join(samples, "upgrades"))
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(strings.Count(out, "created (server dry run)")).To(Equal(4), out)
	}, SpecTimeout(specTimeout))

	It("upgrades each parent once where nobody can tell versions apart", func(ctx SpecContext) {
		group := defineThings(ctx)
		ns := shared.newNamespace(ctx)
		user := shared.makeController(ctx, ns)
		shared.governController(ctx, group, ns)
		owner := shared.as(alice, platformTeam, "system:masters")
		controller := &versioned{thingController: thingController{actor: shared.withToken(ctx, ns, nil), namespace: ns}}
		inside, outside := builders.MakeThing(group, ns, "inside"), builders.MakeThing(group, ns, "outside")
		inside.SetLabels(map[string]string{"stage": "canary"})
		for _, thing := range []*unstructured.Unstructured{inside, outside} {
			thing.Object["spec"] = map[string]any{"config": "a"}
			Expect(owner.Create(ctx, thing)).To(Succeed())
			Eventually(ctx, func() error { return controller.reconcileAs(ctx, thing) }).Should(Succeed())
			shared.over(ctx, thing)
		}
		agreed := upgradeOf(user)
		steps := stage.Commands(filepath.Join(root, "docs", "upgrading.md"), "The control plane")
		Expect(steps).To(HaveLen(3))
		run := func(commands string) string {
			GinkgoHelper()
			return shared.RunShell(ctx, ns, strings.NewReplacer("kube-system/deployment-controller", ns+"/controller", "control-plane", agreed.Name).Replace(commands))
		}

		By("being told what it takes")
		controller.format = "2"
		Expect(controller.reconcileAs(ctx, inside.DeepCopy())).To(MatchError(denied, "denied"))
		Eventually(ctx, func(g Gomega) []v1alpha1.HistoryEntry { return shared.record(ctx, g, inside).Status.History }).
			Should(ContainElement(HaveField("Event", v1alpha1.EventDenied)))
		Expect(run(steps[0])).To(ContainSubstring("data[format]"))

		By("being agreed to")
		agreed.Spec.Detection = v1alpha1.DetectionDeclared
		agreed.Spec.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"stage": "canary"}}
		Expect(owner.Create(ctx, agreed)).To(Succeed())
		DeferCleanup(func(ctx context.Context) error { return client.IgnoreNotFound(shared.Delete(ctx, agreed)) })
		shared.expectAccepted(ctx, agreed)
		Expect(run(steps[1])).To(ContainSubstring(agreed.Name + " of " + user))

		Eventually(ctx, func() error { return controller.reconcileAs(ctx, inside) }).Should(Succeed())
		Expect(controller.reconcileAs(ctx, outside.DeepCopy())).To(MatchError(ContainSubstring("it does not select Thing outside")))

		By("being withdrawn before that is over")
		run(steps[2])
		Eventually(ctx, func() error {
			controller.format += "." // What has been let through by then is no change any more.
			return controller.reconcileAs(ctx, inside.DeepCopy())
		}).Should(MatchError(denied, "denied"))
		config := &corev1.ConfigMap{}
		Expect(shared.Get(ctx, client.ObjectKey{Namespace: ns, Name: "inside"}, config)).To(Succeed())
		Expect(config.Data).To(HaveKey("format"), "what has passed stays")
	}, SpecTimeout(specTimeout))
})

// expectAccepted returns once an UpgradeAllowance lets something through.
func (c *cluster) expectAccepted(ctx context.Context, u *v1alpha1.UpgradeAllowance) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(c.Get(ctx, client.ObjectKeyFromObject(u), u)).To(Succeed())
		for _, kind := range []string{v1alpha1.ConditionAccepted, v1alpha1.ConditionEnforced} {
			g.Expect(u.Status.Conditions).To(ContainElement(SatisfyAll(
				HaveField("Type", kind), HaveField("Status", metav1.ConditionTrue), HaveField("ObservedGeneration", u.Generation),
			)), "%s", kind)
		}
	}).Should(Succeed())
}
