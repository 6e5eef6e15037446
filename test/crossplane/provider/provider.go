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

// Package provider is a Crossplane provider for the cloud of the tests, on the
// runtime that real providers are built with. What real providers differ in, such as
// whether they wait for the cloud, is up to each managed resource: see
// instance.TraitsAnnotation.
package provider

import (
	"net/http"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlbuilder "sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	genericevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"kausality.io/operator/test/crossplane/cloud"
	"kausality.io/operator/test/crossplane/provider/apis/cluster"
	"kausality.io/operator/test/crossplane/provider/apis/instance"
	"kausality.io/operator/test/crossplane/provider/apis/namespaced"
)

// ClassLabel on a managed resource names the process that is to work on it, where
// tests run another one than the usual.
const ClassLabel = "aws.example.org/class"

// eventBacklog is how many managed resources may wait to be looked at again.
const eventBacklog = 128

// Options say how the provider works.
type Options struct {
	// Cloud is the URL of the cloud.
	Cloud string
	// Class is what resources are labeled with that this process works on; "" for
	// those without the label.
	Class string
	// Poll is how often the provider looks at what the cloud has.
	Poll time.Duration
	// CloudTimeout is how long the provider waits for the cloud.
	CloudTimeout time.Duration
	// Older makes the provider support the sets of management policies only that
	// earlier versions of Crossplane's runtime know.
	Older bool
	// Group is the API group of the one, namespaced kind that the provider works on;
	// "" for the two kinds that are its own.
	Group string
}

// kinds returns the kinds that the provider works on.
func (o Options) kinds() map[schema.GroupVersionKind]client.Object {
	if o.Group != "" {
		return map[schema.GroupVersionKind]client.Object{o.groupVersion().WithKind("RDSInstance"): &namespaced.RDSInstance{}}
	}
	return map[schema.GroupVersionKind]client.Object{
		cluster.GroupVersion.WithKind("RDSInstance"):    &cluster.RDSInstance{},
		namespaced.GroupVersion.WithKind("RDSInstance"): &namespaced.RDSInstance{},
	}
}

func (o Options) groupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: o.Group, Version: namespaced.GroupVersion.Version}
}

// AddToScheme adds the kinds that the provider works on.
func (o Options) AddToScheme(scheme *runtime.Scheme) error {
	if o.Group != "" {
		namespaced.AddToSchemeAs(scheme, o.groupVersion())
		return nil
	}
	return AddToScheme(scheme)
}

// Instance is a managed resource of either kind.
type Instance interface {
	resource.Managed
	Desired() *instance.Parameters
	Observed() *instance.Parameters
}

// AddToScheme adds the managed resources to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	if err := cluster.AddToScheme(scheme); err != nil {
		return err
	}
	return namespaced.AddToScheme(scheme)
}

// Setup adds the controllers of the provider to a manager.
func Setup(mgr ctrl.Manager, opts Options) error {
	for gvk, object := range opts.kinds() {
		if err := setup(mgr, opts, gvk, object); err != nil {
			return err
		}
	}
	return nil
}

func setup(mgr ctrl.Manager, opts Options, gvk schema.GroupVersionKind, object client.Object) error {
	name := "managed/" + gvk.GroupKind().String()
	again := make(chan genericevent.GenericEvent, eventBacklog)
	ours := predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetLabels()[ClassLabel] == opts.Class })
	r := managed.NewReconciler(mgr, resource.ManagedKind(gvk),
		managed.WithExternalConnector(managed.NewNopDisconnector(&connector{
			cloud: cloud.Client{URL: opts.Cloud, HTTP: &http.Client{Timeout: opts.CloudTimeout}},
			kind:  gvk.GroupKind().String(),
			kube:  mgr.GetClient(),
			again: again,
			work:  &work{},
		})),
		managed.WithPollInterval(opts.Poll),
		managed.WithMinPollInterval(time.Second),
		// What the cloud has, it shows at once.
		managed.WithCreationGracePeriod(0),
		managed.WithLogger(logging.NewLogrLogger(mgr.GetLogger().WithValues("controller", name))),
		managed.WithRecorder(event.NewAPIRecorder(mgr.GetEventRecorderFor(name))), //nolint:staticcheck // What Crossplane's runtime takes.
		managed.WithManagementPolicies(),
		managed.WithReconcilerSupportedManagementPolicies(policies(opts.Older)),
	)
	return ctrl.NewControllerManagedBy(mgr).
		Named(name).
		For(object, ctrlbuilder.WithPredicates(ours, resource.DesiredStateChanged())).
		WatchesRawSource(source.Channel(again, &handler.EnqueueRequestForObject{})).
		Complete(r)
}

// policies returns the sets of management policies that the provider supports. The last
// of them came with later versions of Crossplane's runtime.
func policies(older bool) []sets.Set[xpv2.ManagementAction] {
	const (
		observe    = xpv2.ManagementActionObserve
		create     = xpv2.ManagementActionCreate
		update     = xpv2.ManagementActionUpdate
		remove     = xpv2.ManagementActionDelete
		initialize = xpv2.ManagementActionLateInitialize
	)
	supported := []sets.Set[xpv2.ManagementAction]{
		sets.New[xpv2.ManagementAction](xpv2.ManagementActionAll),
		sets.New(observe, create, update, remove, initialize),
		sets.New(observe),
		sets.New[xpv2.ManagementAction](),
		sets.New(observe, create, update, remove),
		sets.New(observe, create, update, initialize),
		sets.New(observe, create, update),
		sets.New(observe, create, remove, initialize),
		sets.New(observe, create, initialize),
		sets.New(observe, create, remove),
		sets.New(observe, create),
		sets.New(observe, remove),
		sets.New(observe, update),
	}
	if older {
		return supported
	}
	return append(supported, sets.New(observe, initialize), sets.New(observe, update, initialize))
}
