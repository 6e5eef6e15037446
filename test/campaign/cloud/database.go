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

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/test/campaign/cloud/plan"
	"kausality.io/operator/test/crossplane"
	"kausality.io/operator/test/crossplane/cloud"
	"kausality.io/operator/test/crossplane/provider/apis/cluster"
	"kausality.io/operator/test/crossplane/provider/apis/instance"
	"kausality.io/operator/test/crossplane/provider/apis/namespaced"
)

// look is how often somebody looks whether something has come about.
const look = 100 * time.Millisecond

// closed are the management policies of a gate that is closed.
var closed = []string{"Observe", "LateInitialize"}

// database is one of the fleet. Its steps happen one after the other.
type database struct {
	*campaign
	plan.Database

	number int
	// lives counts those that were in this one's place.
	lives int
	// root is what people change; it is composite where it is no claim.
	root, composite, instance *unstructured.Unstructured
	// size is the one that was approved last.
	size string
}

// create has an initiator create the database, and returns when it is there.
func (d *database) create(ctx context.Context, size string) error {
	kind := "Database"
	if d.Claim {
		kind = "DatabaseClaim"
	}
	d.root = &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": size, "engine": "postgres"}}}
	d.root.SetGroupVersionKind(schema.GroupVersionKind{Group: crossplane.DatabaseGroup, Version: "v1alpha1", Kind: kind})
	d.root.SetNamespace(namespace)
	d.root.SetName(fmt.Sprintf("db-%d-%d", d.number, d.lives))
	d.root.SetAnnotations(map[string]string{"ticket": "NEW", instance.TraitsAnnotation: instance.Annotation(d.Traits...)})
	if d.Goes {
		d.root.SetLabels(map[string]string{"example.org/goes": "true"})
	}
	d.lives++
	err := persist(ctx, func(ctx context.Context) error { return d.alice.Create(ctx, d.root.DeepCopy()) })
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating %s: %w", d.root.GetName(), err)
	}
	d.size = size
	if err := d.until(ctx, d.found); err != nil {
		return err
	}
	if err := d.settled(ctx); err != nil {
		return err
	}
	// What a creation allows, it allows whoever comes.
	return d.until(ctx, func(ctx context.Context) error {
		return errors.Join(d.steady(ctx, d.root), d.steady(ctx, d.composite))
	})
}

// found looks for what the database is composed of.
func (d *database) found(ctx context.Context) error {
	if err := d.seen.Get(ctx, client.ObjectKeyFromObject(d.root), d.root); err != nil {
		return err
	}
	d.composite = d.root
	gvk := namespaced.GroupVersion.WithKind("RDSInstanceList")
	if d.Claim {
		gvk = cluster.GroupVersion.WithKind("RDSInstanceList")
		name, _, _ := unstructured.NestedString(d.root.Object, "spec", "resourceRef", "name")
		d.composite = &unstructured.Unstructured{}
		d.composite.SetGroupVersionKind(d.root.GroupVersionKind().GroupVersion().WithKind("XDatabase"))
		if err := d.seen.Get(ctx, client.ObjectKey{Name: name}, d.composite); err != nil {
			return err
		}
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk)
	err := d.seen.List(ctx, list, client.InNamespace(d.composite.GetNamespace()),
		client.MatchingLabels{"crossplane.io/composite": d.composite.GetName()})
	if err != nil {
		return err
	}
	if len(list.Items) != 1 {
		return fmt.Errorf("%s has %d instances", d.root.GetName(), len(list.Items))
	}
	d.instance = &list.Items[0]
	return nil
}

// settled returns when the cloud has what was approved last, and the gate is closed.
func (d *database) settled(ctx context.Context) error { return d.until(ctx, d.atRest) }

func (d *database) atRest(ctx context.Context) error {
	if err := d.seen.Get(ctx, client.ObjectKeyFromObject(d.instance), d.instance); err != nil {
		return err
	}
	asked, _, _ := unstructured.NestedString(d.instance.Object, "spec", "forProvider", "instanceClass")
	if asked != d.size {
		return errors.New("the change has not reached the managed resource")
	}
	if gate := d.gate(); !slices.Equal(gate, closed) {
		return fmt.Errorf("the gate has %v", gate)
	}
	if _, left := d.instance.GetAnnotations()[ledger.AnnotationKey(d.instance, ledger.NameAllowances)]; left {
		return errors.New("an allowance is left")
	}
	return nil
}

// gate returns how the gate is set.
func (d *database) gate() []string {
	gate, _, _ := unstructured.NestedStringSlice(d.instance.Object, "spec", "managementPolicies")
	return gate
}

// until looks until something has come about, for as long as one has patience.
func (d *database) until(ctx context.Context, something func(context.Context) error) error {
	return until(ctx, *patience, d.root.GetName(), something)
}

func until(ctx context.Context, bound time.Duration, name string, something func(context.Context) error) error {
	last := errors.New("never asked")
	err := wait.PollUntilContextTimeout(ctx, look, bound, true, func(ctx context.Context) (bool, error) {
		if err := something(ctx); ctx.Err() == nil {
			last = err
		}
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%s: after %s: %w", name, bound, errors.Join(last, ctx.Err()))
	}
	return nil
}

// persist does something again until nobody is in the way who may be away: it returns
// what is no failure of the machinery.
func persist(ctx context.Context, do func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, look, *patience, true, func(ctx context.Context) (bool, error) {
		last = do(ctx)
		return !passing(last), nil
	})
	return errors.Join(last, err)
}

// passing reports whether an error is one of the machinery, that will be over.
func passing(err error) bool {
	return apierrors.IsInternalError(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) ||
		apierrors.IsConflict(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err) ||
		utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err)
}

// ask has somebody ask for a size.
func (d *database) ask(ctx context.Context, who client.Client, size string) error {
	return d.patch(ctx, who, d.root, fmt.Sprintf(`{"spec":{"size":%q}}`, size))
}

// approved has an initiator ask for a size, with a ticket of its own.
func (d *database) approved(ctx context.Context, size string) error {
	err := d.patch(ctx, d.alice, d.root, fmt.Sprintf(`{"metadata":{"annotations":{"ticket":%q}},"spec":{"size":%q}}`, "FOR-"+size, size))
	if err == nil {
		d.size = size
	}
	return err
}

// patch persists in a change of an object.
func (d *database) patch(ctx context.Context, who client.Client, object *unstructured.Unstructured, text string) error {
	err := persist(ctx, func(ctx context.Context) error {
		return who.Patch(ctx, object.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(text)))
	})
	if err != nil {
		return fmt.Errorf("changing %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

// fault has the cloud misbehave about the instance.
func (d *database) fault(ctx context.Context, f cloud.Fault) error {
	f.Name = d.instance.GetName()
	return d.cloud.Inject(ctx, f)
}

// refused is fine: nobody has to let a stranger do what is tried here.
func refused(err error) error {
	if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
