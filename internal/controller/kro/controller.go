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

// Package kro keeps the AllowancePolicies of kro's graphs: it derives one when kro has accepted a
// graph, keeps it in step with the graph that kro serves, and lets it go with that. What somebody
// else keeps it leaves alone, and says how that differs. What follows from a graph is decided in
// internal/derive/kro.
package kro

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	krov1alpha1 "github.com/kubernetes-sigs/kro/api/v1alpha1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/controller/updates"
	"kausality.io/operator/internal/derive/kro"
	"kausality.io/operator/internal/discovery"
	"kausality.io/operator/internal/interception"
)

// +kubebuilder:rbac:groups=kro.run,resources=resourcegraphdefinitions,verbs=get;list;watch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get;list;watch
// +kubebuilder:rbac:groups=kausality.io,resources=allowancepolicies,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=kausality.io,resources=allowancepolicies/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

const (
	graphKind       = "ResourceGraphDefinition"
	graphDefinition = "resourcegraphdefinitions.kro.run"

	// again is when to look again for what kro, or the garbage collector, is about to do.
	again = 2 * time.Second

	// offInterval is how often is looked whether the operator is installed again.
	offInterval = 10 * time.Second
)

// request is the name of a graph; empty, it is about whether there can be graphs at all.
type request struct{ graph string }

// Reconciler keeps the policies of graphs.
type Reconciler struct {
	// Client writes policies, and reads them from its cache.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// Cache watches graphs while kro is installed.
	Cache cache.Cache
	// Mapper knows the resources of the children's kinds.
	Mapper apimeta.RESTMapper
	// Events are told on graphs.
	Events events.EventRecorder
	// Settings of all graphs that say nothing else.
	Settings Settings

	controller controller.TypedController[request]
	// watching is true while graphs are watched.
	watching bool
	said     said
}

// SetupWithManager has the manager run it. Graphs are watched as soon as their kind is defined;
// without kro it costs nothing.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	ofDefinition := handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, definition client.Object) []request {
		if definition.GetName() != graphDefinition {
			return nil
		}
		return []request{{}}
	})
	ofPolicy := handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, p client.Object) []request {
		if name := p.GetAnnotations()[v1alpha1.AnnotationDerivedFrom]; name != "" {
			return []request{{name}}
		}
		// One that is in the way may go.
		if name, ok := strings.CutPrefix(p.GetName(), kro.PolicyName("")); ok {
			return []request{{name}}
		}
		return nil
	})
	// What policies report changes with each object, and nothing follows from it.
	written := predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return updates.IsOfSpec(e.ObjectOld, e.ObjectNew) ||
			!maps.Equal(e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations()) ||
			!equality.Semantic.DeepEqual(e.ObjectOld.GetOwnerReferences(), e.ObjectNew.GetOwnerReferences())
	}}
	definition, ok := discovery.Definition().(*metav1.PartialObjectMetadata)
	if !ok {
		return errors.New("definitions are not watched by their metadata")
	}
	c, err := controller.NewTyped("kro", mgr, controller.TypedOptions[request]{
		Reconciler: r, MaxConcurrentReconciles: 1,
	})
	if err != nil {
		return fmt.Errorf("making the controller of derived policies: %w", err)
	}
	r.controller = c
	return errors.Join(
		c.Watch(source.TypedKind[client.Object](r.Cache, definition, ofDefinition)),
		c.Watch(source.TypedKind[client.Object](r.Cache, &v1alpha1.AllowancePolicy{}, ofPolicy, written)),
	)
}

// Reconcile keeps the policy of one graph.
func (r *Reconciler) Reconcile(ctx context.Context, req request) (ctrl.Result, error) {
	if req.graph == "" {
		return ctrl.Result{}, r.watch(ctx)
	}
	if !r.watching {
		return ctrl.Result{}, nil
	}
	if on, err := r.switchedOn(ctx); err != nil || !on {
		return ctrl.Result{RequeueAfter: offInterval}, err
	}
	graph, err := r.read(ctx, req.graph)
	if err != nil {
		return ctrl.Result{}, err
	}
	there, err := r.policy(ctx, req.graph)
	if err != nil {
		return ctrl.Result{}, err
	}
	if graph == nil || graph.DeletionTimestamp != nil {
		r.said.forget(req.graph)
		if graph == nil && there != nil && ownedBy(there, req.graph) == "" && there.Annotations[v1alpha1.AnnotationDerivedFrom] == req.graph {
			return ctrl.Result{}, r.forget(ctx, there)
		}
		return ctrl.Result{}, nil
	}
	served, revisions, pending, err := r.served(ctx, graph)
	if err != nil {
		return ctrl.Result{}, err
	}
	result := ctrl.Result{}
	if pending {
		result.RequeueAfter = again
	}
	if served == nil {
		return result, nil
	}
	standing := standingOf(graph, there)
	if standing == leftBehind {
		return ctrl.Result{RequeueAfter: again}, nil
	}
	former, err := r.former(ctx, served, revisions, there)
	if err != nil {
		return ctrl.Result{}, err
	}
	return result, r.keep(ctx, graph, served, former, there, standing)
}

// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations,verbs=list;watch

// switchedOn reports whether the operator is installed, as its master switch says. While it is
// not, somebody may be removing it, policies included.
func (r *Reconciler) switchedOn(ctx context.Context) (bool, error) {
	var configurations admissionregistrationv1.ValidatingWebhookConfigurationList
	if err := r.Client.List(ctx, &configurations); err != nil {
		return false, fmt.Errorf("looking whether the operator is installed: %w", err)
	}
	return interception.FindInstalled(configurations.Items) != nil, nil
}

// keep derives the policy of a graph, and writes it where it may.
func (r *Reconciler) keep(
	ctx context.Context, graph, served *krov1alpha1.ResourceGraphDefinition, former []schema.GroupVersionResource,
	there *v1alpha1.AllowancePolicy, whose standing,
) error {
	settings, err := r.Settings.of(graph.Annotations)
	if err != nil {
		return r.report(ctx, graph, there, whose == ours, failed(graph.Name, err))
	}
	d, err := kro.Derive(served, kro.Options{
		Subjects: kro.Subjects(settings.Account, settings.Initiators), ResourceFor: r.resourceFor, Maintained: settings.Recreate,
		Former: former,
	})
	if err != nil {
		return r.report(ctx, graph, there, whose == ours, failed(graph.Name, err))
	}
	d.Policy.Spec.ValidationActions = settings.Actions

	switch whose {
	case takenOver:
		if err := r.release(ctx, graph, there); err != nil {
			return err
		}
		return r.report(ctx, graph, there, true, kept(d, there, graph.Name,
			fmt.Sprintf("somebody took it over by the annotation %s=false; without that it is again", v1alpha1.AnnotationManaged)))
	case others:
		return r.report(ctx, graph, there, false, kept(d, there, graph.Name,
			fmt.Sprintf("it was there before; the annotation %s=true has it kept", v1alpha1.AnnotationManaged)))
	default:
	}

	err = r.apply(ctx, graph, d.Policy, whose == given)
	if conflict := (conflictError{}); errors.As(err, &conflict) {
		return r.report(ctx, graph, there, true, kept(d, there, graph.Name,
			fmt.Sprintf("others have set some of it (%s), and the annotation %s=true has that overwritten", conflict.who, v1alpha1.AnnotationManaged)))
	}
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
		return errors.Join(r.report(ctx, graph, there, there != nil, refused(graph.Name, err)), err)
	}
	if err != nil {
		return fmt.Errorf("applying AllowancePolicy %s: %w", d.Policy.Name, err)
	}
	if there, err = r.livePolicy(ctx, d.Policy.Name); err != nil || there == nil {
		return err
	}
	if added := additions(d.Policy, there); len(added) > 0 {
		if whose != given {
			return r.report(ctx, graph, there, true, addedTo(d, there, graph.Name, added))
		}
		if err := r.takeOut(ctx, there, added); err != nil {
			return err
		}
	}
	return r.report(ctx, graph, there, true, derived(d, graph.Name, initiators(there)))
}

// initiators returns how many subjects of a policy may initiate.
func initiators(p *v1alpha1.AllowancePolicy) int {
	n := 0
	for _, s := range p.Spec.Subjects {
		if s.MayInitiate {
			n++
		}
	}
	return n
}

// watch begins to watch graphs, or ends it, as their kind comes and goes.
func (r *Reconciler) watch(ctx context.Context) error {
	graphs := &metav1.PartialObjectMetadata{}
	graphs.SetGroupVersionKind(krov1alpha1.GroupVersion.WithKind(graphKind))
	definition := discovery.Definition()
	err := r.Client.Get(ctx, types.NamespacedName{Name: graphDefinition}, definition)
	switch there := err == nil && definition.GetDeletionTimestamp() == nil; {
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("looking whether kro is installed: %w", err)
	case there && !r.watching:
		enqueue := handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, graph client.Object) []request {
			return []request{{graph.GetName()}}
		})
		if err := r.controller.Watch(source.TypedKind[client.Object](r.Cache, graphs, enqueue)); err != nil {
			return fmt.Errorf("beginning to watch the graphs of kro: %w", err)
		}
		r.watching = true
	case !there && r.watching:
		if err := r.Cache.RemoveInformer(ctx, graphs); err != nil {
			return fmt.Errorf("ending to watch the graphs of kro: %w", err)
		}
		r.watching = false
	}
	return nil
}

// read reads a graph, nil where there is none.
func (r *Reconciler) read(ctx context.Context, name string) (*krov1alpha1.ResourceGraphDefinition, error) {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(krov1alpha1.GroupVersion.WithKind(graphKind))
	switch err := r.Live.Get(ctx, types.NamespacedName{Name: name}, obj); {
	case apierrors.IsNotFound(err) || apimeta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading graph %s: %w", name, err)
	}
	graph := &krov1alpha1.ResourceGraphDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, graph); err != nil {
		return nil, fmt.Errorf("decoding graph %s: %w", name, err)
	}
	return graph, nil
}

// policy reads the policy that has the name of a graph's, nil where there is none.
func (r *Reconciler) policy(ctx context.Context, graph string) (*v1alpha1.AllowancePolicy, error) {
	return r.livePolicy(ctx, kro.PolicyName(graph))
}

func (r *Reconciler) livePolicy(ctx context.Context, name string) (*v1alpha1.AllowancePolicy, error) {
	there := &v1alpha1.AllowancePolicy{}
	switch err := r.Live.Get(ctx, types.NamespacedName{Name: name}, there); {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading AllowancePolicy %s: %w", name, err)
	}
	return there, nil
}

// resourceFor returns the resource of a kind, and whether it is served.
func (r *Reconciler) resourceFor(kind schema.GroupVersionKind) (schema.GroupVersionResource, bool) {
	mapping, err := r.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return schema.GroupVersionResource{}, false
	}
	return mapping.Resource, true
}

// said is what was last told of each graph.
type said struct {
	mu sync.Mutex
	of map[string]string
}

// isNews reports whether something else was last told of a graph, and takes note of it.
func (s *said) isNews(graph string, condition metav1.Condition) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := condition.Reason + ": " + condition.Message
	if s.of == nil {
		s.of = map[string]string{}
	}
	news := s.of[graph] != text
	s.of[graph] = text
	return news
}

func (s *said) forget(graph string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, graph)
}
