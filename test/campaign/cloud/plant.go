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
	"maps"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/campaign/cloud/plan"
	"kausality.io/operator/test/crossplane/cloud"
	"kausality.io/operator/test/crossplane/provider/apis/namespaced"
)

// faults are what the checker has to find, each with what brings it about once the
// campaign is over.
var faults = map[string]func(*campaign, context.Context, *database) error{
	"":         func(*campaign, context.Context, *database) error { return nil },
	"mutation": (*campaign).disobey,
	"gate":     (*campaign).force,
	"change":   (*campaign).swallow,
}

func faultNames() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(faults)), func(n string) bool { return n == "" })
}

// plant brings a fault about, upon a database of its own.
func (c *campaign) plant(ctx context.Context, name string) error {
	fault, known := faults[name]
	if !known {
		return fmt.Errorf("it is none of %v", faultNames())
	}
	if name == "" {
		return nil
	}
	d := &database{campaign: c, Database: plan.Database{}, number: len(c.plan.Databases)}
	if err := d.create(ctx, "db.planted"); err != nil {
		return err
	}
	return fault(c, ctx, d)
}

// disobey asks the cloud for a change as a provider does that does not look at gates.
func (c *campaign) disobey(ctx context.Context, d *database) error {
	provider := cloud.Client{
		URL: c.cloud.URL, By: fmt.Sprintf("RDSInstance.%s %s/%s", namespaced.GroupVersion.Group, d.instance.GetNamespace(), d.instance.GetName()),
	}
	_, err := provider.Do(ctx, cloud.Update, d.instance.GetName(), cloud.Parameters{"instanceClass": "db.nobodys"})
	return err
}

// force opens a gate while the operator is away, and nothing in the API server keeps
// it as it is. The cloud has drifted, so that the provider uses it.
func (c *campaign) force(ctx context.Context, d *database) error {
	for _, name := range c.operators.Names() {
		if err := c.cp.Remove(name); err != nil {
			return err
		}
	}
	for _, all := range []client.Object{
		&admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{},
		&admissionregistrationv1.MutatingAdmissionPolicyBinding{},
	} {
		if err := c.admin.DeleteAllOf(ctx, all); err != nil {
			return err
		}
	}
	if err := c.cloud.Drift(ctx, d.instance.GetName(), cloud.Parameters{"instanceClass": "db.drifted"}); err != nil {
		return err
	}
	return d.until(ctx, func(ctx context.Context) error {
		if err := c.merge(ctx, d.instance, `{"spec":{"managementPolicies":["*"]}}`); err != nil {
			return err
		}
		if has, err := c.cloud.Peek(ctx, d.instance.GetName()); err != nil || has["instanceClass"] == "db.drifted" {
			return errors.Join(errors.New("the provider has not put the cloud right"), err)
		}
		return nil
	})
}

// swallow has an approved change not go on: somebody has paused the composite
// resource.
func (c *campaign) swallow(ctx context.Context, d *database) error {
	if err := c.merge(ctx, d.composite, `{"metadata":{"annotations":{"crossplane.io/paused":"true"}}}`); err != nil {
		return err
	}
	return d.approved(ctx, "db.swallowed")
}

func (c *campaign) merge(ctx context.Context, object *unstructured.Unstructured, text string) error {
	return c.admin.Patch(ctx, object.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(text)))
}
