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

// Package interception reconciles the webhook configurations and admission policies that have
// the API server ask about what policies name, and about nothing else.
package interception

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/certs"
	"kausality.io/operator/internal/controller/catalog"
	"kausality.io/operator/internal/controller/requeue"
	"kausality.io/operator/internal/controller/updates"
	"kausality.io/operator/internal/discovery"
	"kausality.io/operator/internal/interception"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations;validatingwebhookconfigurations;mutatingadmissionpolicies;mutatingadmissionpolicybindings,verbs=list;watch;create;update;delete
// +kubebuilder:rbac:groups=kausality.io,resources=allowancepolicies,verbs=get;list;watch
// +kubebuilder:rbac:groups=kausality.io,resources=generatingpolicies,verbs=list;watch

// firstRetry and lastRetry are the shortest and the longest time after which what could not be written is
// tried again: a right that is given back takes effect within half a minute.
const firstRetry, lastRetry = 5 * time.Millisecond, 20 * time.Second

// PolicySource knows the policies whose requests should reach the operator.
type PolicySource interface {
	// Known reports whether Policies are all there are, and what the API server
	// serves of what they name is known. Until then nothing is rendered: what is
	// not known must not be taken for gone.
	Known() bool
	Policies() []*policy.Policy
}

// CertificateSource knows what the API server verifies the operator with.
type CertificateSource interface {
	// Ready is closed once the operator can be called.
	Ready() <-chan struct{}
	// CABundle is PEM-encoded, and empty where the host's trust is enough.
	CABundle() []byte
}

// PathKeySource knows what the API server is to show of itself.
type PathKeySource interface {
	// Current is the key in the path of the webhooks.
	Current() string
}

// ServedResources knows how the API server serves what policies name.
// *discovery.Resolver is the one.
type ServedResources interface {
	// ByKind returns the resource of a kind, and false where it is not served.
	ByKind(schema.GroupVersionKind) (discovery.Resource, bool)
	// ByResource returns a resource by its name, and false where it is not served.
	ByResource(schema.GroupVersionResource) (discovery.Resource, bool)
}

// Reconciler keeps the webhook configurations and the admission policy equal to
// what the policies need (D10, D15): one reconciler with one request, as all of it
// is rendered at once.
type Reconciler struct {
	client.Client
	// Policies, Certificates and Served are what the rendering depends on.
	Policies     PolicySource
	Certificates CertificateSource
	Served       ServedResources
	// PathKeys is nil where callers need to show none.
	PathKeys PathKeySource
	// Gates are the kinds whose objects have one.
	Gates catalog.GateKinds
	// Changes tell that one of them has another answer.
	Changes []<-chan event.GenericEvent
	// Config is the part of the rendering that never changes. Owners and ClientConfig are
	// those of the installation.
	Config interception.Input
	// Clock is the time by which authorities expire.
	Clock clock.PassiveClock
	// OnRendered is called when the answer of Rendered may have changed.
	OnRendered func()
	// Asking is told of what is about to be rendered.
	Asking *Asking

	// protects says that the cluster serves MutatingAdmissionPolicies.
	protects bool
	rendered atomic.Pointer[rendered]
	// told has what the API server has been told of each policy by its UID, and applied what was last
	// applied of all that is rendered. Reconcile alone uses them.
	told    map[types.UID]telling
	applied *interception.Desired
}

// telling is the generation of a policy that the API server has been told of.
type telling struct {
	generation int64
	// at is the write that told it; zero where it took none.
	at record.Moment
}

// rendered is what the API server has been told.
type rendered struct {
	// installed says that there is an installation by which it may be told anything.
	installed bool
	// told is by the UIDs of policies, as another policy may take the name of one.
	told map[types.UID]telling
	// failing says what could not be written, empty where all was, and gone that something of what was
	// rendered before is not there any more, or is another one.
	failing string
	gone    bool
}

// SetupWithManager adds the reconciler to mgr. Whether the cluster serves
// MutatingAdmissionPolicies is looked up here, once.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	if r.Config.Name == "" {
		r.Config.Name = interception.DefaultName
	}
	_, err := mgr.GetRESTMapper().RESTMapping(schema.GroupKind{
		Group: admissionregistrationv1.GroupName, Kind: "MutatingAdmissionPolicy",
	}, admissionregistrationv1.SchemeGroupVersion.Version)
	if err != nil && !apimeta.IsNoMatchError(err) {
		return fmt.Errorf("looking up whether MutatingAdmissionPolicies are served: %w", err)
	}
	r.protects = err == nil

	all := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: r.Config.Name}}}
	})
	own := builder.WithPredicates(predicate.NewPredicateFuncs(func(obj client.Object) bool {
		return obj.GetName() == r.Config.Name
	}))
	b := ctrl.NewControllerManagedBy(mgr).Named("interception").
		Watches(&admissionregistrationv1.MutatingWebhookConfiguration{}, all, builder.WithPredicates(predicate.NewPredicateFuncs(func(obj client.Object) bool {
			return obj.GetName() == r.Config.Name || obj.GetName() == interception.CausesName(r.Config.Name) || interception.IsOfOwnKinds(obj)
		}))).
		Watches(&admissionregistrationv1.ValidatingWebhookConfiguration{}, all, builder.WithPredicates(r.ownOrInstalled()))
	b = b.Watches(&v1alpha1.GeneratingPolicy{}, all, builder.WithPredicates(updates.OfSpec()))
	if r.protects {
		b = b.Watches(&admissionregistrationv1.MutatingAdmissionPolicy{}, all, own).
			Watches(&admissionregistrationv1.MutatingAdmissionPolicyBinding{}, all, own)
	}
	for _, changes := range r.Changes {
		b = b.WatchesRawSource(source.Channel(changes, all))
	}
	b = b.WithOptions(controller.Options{
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
	})
	return b.Complete(r)
}

// ownOrInstalled selects what is rendered, and the configurations without which nothing is,
// those that have just ceased to be one included.
func (r *Reconciler) ownOrInstalled() predicate.Predicate {
	concerns := func(objects ...client.Object) bool {
		return slices.ContainsFunc(objects, func(obj client.Object) bool {
			c, ok := obj.(*admissionregistrationv1.ValidatingWebhookConfiguration)
			return ok && (c.Name == r.Config.Name || interception.IsInstalled(c))
		})
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return concerns(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool { return concerns(e.ObjectOld, e.ObjectNew) },
		DeleteFunc: func(e event.DeleteEvent) bool { return concerns(e.Object) },
	}
}

// Rendered says whether the API server has been told of the policy at its generation:
// what it names and is served reaches the operator. It is for the status of policies.
func (r *Reconciler) Rendered(p *policy.Policy) bool {
	rendered := r.rendered.Load()
	if rendered == nil {
		return false
	}
	t, ok := rendered.told[p.UID]
	return ok && t.generation >= p.Generation
}

// ToldAt returns the write from which on the API server asks about what a policy names, and
// the zero Moment where it took none, or another process has made it.
func (r *Reconciler) ToldAt(p *policy.Policy) record.Moment {
	if rendered := r.rendered.Load(); rendered != nil {
		return rendered.told[p.UID].at
	}
	return record.Moment{}
}

// Begun implements Rendering.
func (r *Reconciler) Begun() bool { return r.rendered.Load() != nil }

// Off implements Rendering.
func (r *Reconciler) Off() bool {
	rendered := r.rendered.Load()
	return rendered != nil && !rendered.installed
}

// Failing implements Rendering.
func (r *Reconciler) Failing() (why string, gone bool) {
	rendered := r.rendered.Load()
	if rendered == nil {
		return "", false
	}
	return rendered.failing, rendered.gone
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	var configurations admissionregistrationv1.ValidatingWebhookConfigurationList
	if err := r.List(ctx, &configurations); err != nil {
		return ctrl.Result{}, fmt.Errorf("listing ValidatingWebhookConfigurations: %w", err)
	}
	installed := interception.FindInstalled(configurations.Items)
	if installed == nil {
		return r.switchOff(ctx)
	}
	select {
	case <-r.Certificates.Ready():
	default:
		// Nobody could call us, and becoming ready is a change.
		return ctrl.Result{}, nil
	}
	if !r.Policies.Known() {
		// Becoming known is a change, too.
		return ctrl.Result{}, nil
	}
	policies := r.Policies.Policies()
	kubeSystem, err := r.selectKubeSystem(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	in := r.Config
	in.KubeSystem = kubeSystem
	in.Policies = policies
	in.Holder = r.holder
	in.Child = r.child
	in.Gated = r.gated(ctx)
	in.Outside = r.outside(ctx)
	in.Owners = installed.Owners
	in.ClientConfig = installed.ClientConfig
	in.ClientConfig.CABundle = r.authorities(installed, configurations.Items)
	if r.PathKeys != nil {
		in.PathKey = r.PathKeys.Current()
	}

	in.Triggers, in.Sources, err = r.causes(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	return r.render(ctx, interception.Render(in), policies, installed.Owners)
}

// render makes what there is equal to what is desired.
func (r *Reconciler) render(ctx context.Context, desired interception.Desired, policies []*policy.Policy, owners []metav1.OwnerReference) (ctrl.Result, error) {
	if r.Asking != nil {
		r.Asking.want(desired)
	}
	applying := r.apply(ctx, desired, policies)
	if applying == nil {
		r.applied = &desired
		r.report(rendered{installed: true, told: r.told})
	}
	err := errors.Join(applying, r.own(ctx, owners))
	if err == nil {
		err = r.applyCauses(ctx, desired)
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		// The cache does not show our own last write yet.
		return ctrl.Result{RequeueAfter: requeue.AfterConflict}, nil
	}
	if applying != nil {
		r.report(rendered{installed: true, told: r.told, failing: applying.Error(), gone: r.isGone(ctx, desired)})
	}
	return ctrl.Result{}, err
}

// switchOff takes away what was rendered. The collector does so, too, and alone where the operator
// is down; but not where somebody has orphaned it.
func (r *Reconciler) switchOff(ctx context.Context) (ctrl.Result, error) {
	if !r.Off() {
		logf.FromContext(ctx).Info("Nothing is intercepted: no ValidatingWebhookConfiguration has the API server ask about AllowancePolicies. " +
			"Apply the installation again to switch it on")
	}
	if r.Asking != nil {
		r.Asking.switchOff()
	}
	if err := errors.Join(r.apply(ctx, interception.Desired{}, nil), r.applyCauses(ctx, interception.Desired{})); err != nil {
		return ctrl.Result{}, err
	}
	r.report(rendered{})
	return ctrl.Result{}, nil
}

// authorities returns the authorities by which the API server verifies the operator: the ones that the
// operator knows itself, and where it knows none, the installed ones. Whoever installs these may
// replace them from one moment to the next, so that those before stay until they expire.
func (r *Reconciler) authorities(installed *interception.Installed, configurations []admissionregistrationv1.ValidatingWebhookConfiguration) []byte {
	if ca := r.Certificates.CABundle(); len(ca) > 0 {
		return ca
	}
	ca := installed.ClientConfig.CABundle
	for i := range configurations {
		if c := &configurations[i]; c.Name == r.Config.Name && len(c.Webhooks) > 0 {
			return certs.WithFormer(ca, c.Webhooks[0].ClientConfig.CABundle, r.Clock.Now())
		}
	}
	return ca
}

// selectKubeSystem says whether a policy asks for kube-system.
func (r *Reconciler) selectKubeSystem(ctx context.Context) (bool, error) {
	policies := &v1alpha1.AllowancePolicyList{}
	if err := r.List(ctx, policies, client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("listing AllowancePolicies: %w", err)
	}
	return slices.ContainsFunc(policies.Items, func(p v1alpha1.AllowancePolicy) bool {
		return interception.SelectsKubeSystem(p.Spec.NamespaceSelector)
	}), nil
}

// apply writes what differs. What protects ledgers comes before what grants
// them, and goes after.
func (r *Reconciler) apply(ctx context.Context, desired interception.Desired, policies []*policy.Policy) error {
	if r.protects {
		if _, err := ensure(ctx, r.Client, r.Config.Name, desired.AdmissionPolicy, func(live, want *admissionregistrationv1.MutatingAdmissionPolicy) {
			live.Spec = want.Spec
		}); err != nil {
			return err
		}
		if _, err := ensure(ctx, r.Client, r.Config.Name, desired.Binding, func(live, want *admissionregistrationv1.MutatingAdmissionPolicyBinding) {
			live.Spec = want.Spec
		}); err != nil {
			return err
		}
	}
	written, err := ensure(ctx, r.Client, r.Config.Name, desired.Mutating, func(live, want *admissionregistrationv1.MutatingWebhookConfiguration) {
		live.Webhooks = want.Webhooks
		seal(r, live, live.Webhooks)
	})
	if err != nil {
		return err
	}
	r.tell(policies, written)
	_, err = ensure(ctx, r.Client, r.Config.Name, desired.Validating, func(live, want *admissionregistrationv1.ValidatingWebhookConfiguration) {
		live.Webhooks = want.Webhooks
		seal(r, live, live.Webhooks)
	})
	return err
}

// seal has a configuration say that its webhooks are as this operator renders them.
func seal[T any](r *Reconciler, live client.Object, webhooks []T) {
	if r.Asking == nil {
		return
	}
	annotations := map[string]string{}
	maps.Copy(annotations, live.GetAnnotations())
	annotations[interception.AnnotationSeal] = interception.Seal(webhooks, r.Asking.key)
	live.SetAnnotations(annotations)
}

// tell notes by which write the API server was told of policies. written is the configuration by which
// changes get allowances, nil where it already was as it is to be.
func (r *Reconciler) tell(policies []*policy.Policy, written *admissionregistrationv1.MutatingWebhookConfiguration) {
	var at record.Moment
	if written != nil {
		at = record.WriteOf(written)
	}
	told := make(map[types.UID]telling, len(policies))
	for _, p := range policies {
		told[p.UID] = telling{generation: p.Generation, at: at}
		if before, ok := r.told[p.UID]; ok && before.generation == p.Generation {
			told[p.UID] = before
		}
	}
	r.told = told
}

// applyCauses writes what differs of what notes who causes what. It comes after everything else, which
// must not wait for it.
func (r *Reconciler) applyCauses(ctx context.Context, desired interception.Desired) error {
	_, err := ensure(ctx, r.Client, interception.CausesName(r.Config.Name), desired.Causes, func(live, want *admissionregistrationv1.MutatingWebhookConfiguration) {
		live.Webhooks = want.Webhooks
	})
	return err
}

// own has what is installed beside the master switch go with it: the webhook that stamps
// UpgradeAllowances would be one that nobody answers.
func (r *Reconciler) own(ctx context.Context, owners []metav1.OwnerReference) error {
	var list admissionregistrationv1.MutatingWebhookConfigurationList
	if err := r.List(ctx, &list); err != nil {
		return fmt.Errorf("listing MutatingWebhookConfigurations: %w", err)
	}
	for i := range list.Items {
		c := &list.Items[i]
		if !interception.IsOfOwnKinds(c) || c.DeletionTimestamp != nil || equality.Semantic.DeepEqual(c.OwnerReferences, owners) {
			continue
		}
		c = c.DeepCopy()
		c.OwnerReferences = owners
		if err := client.IgnoreNotFound(r.Update(ctx, c)); err != nil {
			return fmt.Errorf("having MutatingWebhookConfiguration %s go with what is installed: %w", c.Name, err)
		}
	}
	return nil
}

// report lets Rendered, ToldAt, Off and Failing know what has been applied.
func (r *Reconciler) report(now rendered) {
	before := r.rendered.Swap(&now)
	if r.OnRendered != nil && (before == nil || before.installed != now.installed || before.failing != now.failing ||
		before.gone != now.gone || !maps.Equal(before.told, now.told)) {
		r.OnRendered()
	}
}

// isGone reports, after something could not be written, whether something that was applied before is not as
// it was then. A process that has applied nothing yet goes by what is desired.
func (r *Reconciler) isGone(ctx context.Context, desired interception.Desired) bool {
	if r.applied != nil {
		desired = *r.applied
	}
	mutating, validating := &admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if isOther(ctx, r, desired.Mutating, mutating, func() bool { return equality.Semantic.DeepEqual(mutating.Webhooks, desired.Mutating.Webhooks) }) ||
		isOther(ctx, r, desired.Validating, validating, func() bool { return equality.Semantic.DeepEqual(validating.Webhooks, desired.Validating.Webhooks) }) {
		return true
	}
	protection, binding := &admissionregistrationv1.MutatingAdmissionPolicy{}, &admissionregistrationv1.MutatingAdmissionPolicyBinding{}
	return r.protects &&
		(isOther(ctx, r, desired.AdmissionPolicy, protection, func() bool { return equality.Semantic.DeepEqual(protection.Spec, desired.AdmissionPolicy.Spec) }) ||
			isOther(ctx, r, desired.Binding, binding, func() bool { return equality.Semantic.DeepEqual(binding.Spec, desired.Binding.Spec) }))
}

// isOther reads what there is of something that should be there, and reports whether it is gone, or
// not the same.
func isOther[T any, P interface {
	*T
	client.Object
}](ctx context.Context, r *Reconciler, want, live P, same func() bool) bool {
	if want == nil {
		return false
	}
	err := r.Get(ctx, client.ObjectKey{Name: r.Config.Name}, live)
	return apierrors.IsNotFound(err) || err == nil && !same()
}

// ensure makes the object of that name equal to want, or absent where want is nil.
// set copies what matters from want to what is there; nothing is written where
// that changes nothing. It returns the object that it wrote, nil where it wrote none.
func ensure[T any, P interface {
	*T
	client.Object
}](ctx context.Context, c client.Client, name string, want P, set func(live, want P)) (P, error) {
	live := P(new(T))
	live.SetName(name)
	gvk, err := c.GroupVersionKindFor(live)
	if err != nil {
		return nil, err
	}
	kind := gvk.Kind
	if want == nil {
		if err := c.Get(ctx, client.ObjectKeyFromObject(live), live); err != nil {
			return nil, client.IgnoreNotFound(err)
		}
		if err := client.IgnoreNotFound(c.Delete(ctx, live)); err != nil {
			return nil, fmt.Errorf("deleting %s %s, which nothing needs: %w", kind, name, err)
		}
		logf.FromContext(ctx).Info("Removed, as nothing needs it", "kind", kind, "name", name)
		return nil, nil
	}
	result, err := controllerutil.CreateOrUpdate(ctx, c, live, func() error {
		labels := map[string]string{}
		maps.Copy(labels, live.GetLabels())
		maps.Copy(labels, want.GetLabels())
		live.SetLabels(labels)
		live.SetOwnerReferences(want.GetOwnerReferences())
		set(live, want)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("keeping %s %s equal to what policies need: %w", kind, name, err)
	}
	if result == controllerutil.OperationResultNone {
		return nil, nil
	}
	logf.FromContext(ctx).Info("Applied what policies need", "kind", kind, "name", name, "operation", result)
	return live, nil
}
