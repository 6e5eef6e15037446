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

package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	genericevent "sigs.k8s.io/controller-runtime/pkg/event"

	"kausality.io/operator/test/crossplane/cloud"
	"kausality.io/operator/test/crossplane/provider/apis/instance"
)

// lateDiscovery is how long a provider takes to find out that it was wrong with
// saying that all is up to date.
const lateDiscovery = time.Second

// connector makes the clients of one kind.
type connector struct {
	cloud cloud.Client
	kind  string
	kube  client.Client
	// again takes resources that are to be looked at again.
	again chan<- genericevent.GenericEvent
	// work is what the provider has begun and does not wait for.
	work *work
}

// Connect implements managed.ExternalConnector.
func (c *connector) Connect(_ context.Context, mg resource.Managed) (managed.ExternalClient, error) {
	object, ok := mg.(Instance)
	if !ok {
		return nil, fmt.Errorf("%T is no instance", mg)
	}
	connected := *c
	connected.cloud.By = fmt.Sprintf("%s %s/%s", c.kind, mg.GetNamespace(), mg.GetName())
	return &external{connector: &connected, object: object}, nil
}

// external brings about one instance.
type external struct {
	*connector

	object Instance
}

// Observe implements managed.ExternalClient.
func (e *external) Observe(ctx context.Context, _ resource.Managed) (managed.ExternalObservation, error) {
	if e.work.running(e.object) {
		if instance.Has(e.object, instance.Async) {
			e.object.SetConditions(ongoing(e.object))
		}
		return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}, nil
	}
	has, err := e.cloud.Do(ctx, cloud.Observe, meta.GetExternalName(e.object), nil)
	if errors.Is(err, cloud.ErrNotFound) {
		return managed.ExternalObservation{}, nil
	}
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	if err := e.observed(has); err != nil {
		return managed.ExternalObservation{}, err
	}
	wanted, err := encode(e.object.Desired())
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	e.object.SetConditions(xpv2.Available().WithObservedGeneration(e.object.GetGeneration()))
	return managed.ExternalObservation{
		ResourceExists:          true,
		ResourceUpToDate:        contains(has.Parameters, wanted) || e.hasty(),
		ResourceLateInitialized: e.lateInitialize(),
	}, nil
}

// observed puts into the status what the cloud has.
func (e *external) observed(has cloud.Instance) error {
	if instance.Has(e.object, instance.NoObservation) {
		return nil
	}
	return decode(has.Parameters, e.object.Observed())
}

// hasty tells, once for each generation of a resource with that trait, that it is up
// to date whatever the cloud has.
func (e *external) hasty() bool {
	if !instance.Has(e.object, instance.SyncedEarly) || !e.work.firstLook(e.object) {
		return false
	}
	e.lookAgain(e.object, lateDiscovery)
	return true
}

// lateInitialize fills in what the cloud has chosen, and tells whether it did.
func (e *external) lateInitialize() bool {
	wanted := e.object.Desired()
	if !instance.Has(e.object, instance.LateInit) || wanted.BackupWindow != nil {
		return false
	}
	wanted.BackupWindow = e.object.Observed().BackupWindow
	return wanted.BackupWindow != nil
}

// Create implements managed.ExternalClient.
func (e *external) Create(ctx context.Context, _ resource.Managed) (managed.ExternalCreation, error) {
	return managed.ExternalCreation{}, e.change(ctx, cloud.Create)
}

// Update implements managed.ExternalClient.
func (e *external) Update(ctx context.Context, _ resource.Managed) (managed.ExternalUpdate, error) {
	return managed.ExternalUpdate{}, e.change(ctx, cloud.Update)
}

// Delete implements managed.ExternalClient.
func (e *external) Delete(ctx context.Context, _ resource.Managed) (managed.ExternalDelete, error) {
	e.object.SetConditions(xpv2.Deleting())
	return managed.ExternalDelete{}, e.change(ctx, cloud.Delete)
}

// Disconnect implements managed.ExternalClient.
func (*external) Disconnect(context.Context) error { return nil }

// change asks the cloud for a change, and waits for it unless the resource's traits
// say otherwise.
func (e *external) change(ctx context.Context, verb cloud.Verb) error {
	var wanted cloud.Parameters
	if verb != cloud.Delete {
		var err error
		if wanted, err = encode(e.object.Desired()); err != nil {
			return err
		}
	}
	name := meta.GetExternalName(e.object)
	if instance.Has(e.object, instance.Async, instance.AsyncLate, instance.AsyncSilent) {
		return e.begin(verb, name, wanted)
	}
	has, err := e.cloud.Do(ctx, verb, name, wanted)
	if err != nil {
		return err
	}
	return e.observed(has)
}

// lookAgain has an object reconciled after a while.
func (c *connector) lookAgain(object client.Object, after time.Duration) {
	time.AfterFunc(after, func() { c.again <- genericevent.GenericEvent{Object: object} })
}

// encode returns parameters as the cloud takes them.
func encode(parameters *instance.Parameters) (cloud.Parameters, error) {
	content, err := json.Marshal(parameters)
	if err != nil {
		return nil, err
	}
	var out cloud.Parameters
	if err := json.Unmarshal(content, &out); err != nil {
		return nil, err
	}
	return out, nil
}

// decode fills parameters with what the cloud has.
func decode(has cloud.Parameters, into *instance.Parameters) error {
	content, err := json.Marshal(has)
	if err != nil {
		return err
	}
	*into = instance.Parameters{}
	return json.Unmarshal(content, into)
}

// contains reports whether the cloud has all that is wanted.
func contains(has, wanted cloud.Parameters) bool {
	both := maps.Clone(has)
	maps.Copy(both, wanted)
	return equality.Semantic.DeepEqual(both, has)
}
