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

// Package admission holds the webhooks that gate changes of children and write
// ledgers: a mutating one that grants, and a validating one that gives the
// verdict. They decode a request, gather what the decision depends on, ask
// package decision, and answer.
package admission

import (
	"context"
	"encoding/json"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

const (
	subresourceStatus   = "status"
	subresourceScale    = "scale"
	subresourceEviction = "eviction"
)

// request is a decoded admission request for one object. A scale and an eviction
// have been turned into what they do to the object behind them.
type request struct {
	gvk         schema.GroupVersionKind
	resource    schema.GroupVersionResource
	subresource string
	namespace   string
	name        string
	operation   decision.Operation
	requester   policy.Requester
	// fieldManager is that of the request, where it has one.
	fieldManager string
	user         authenticationv1.UserInfo
	dryRun       bool
	// rawOld and rawNew are their texts, with the managed fields.
	rawOld, rawNew []byte
	// old and new are the object before and after; old is nil on create, new on
	// delete.
	old, new *unstructured.Unstructured
	// validating is true in the validating hook: the API server has counted up the
	// generation of the new object by then.
	validating bool
	// brokenGlass is the reason that the mutating hook noted, once it is taken.
	brokenGlass string
	// noteTaken is true where such a note is not for the request, as another one has got it.
	noteTaken bool
	// lost are the fields that the object has, and loses by a request in a version that does not have them.
	lost []change.Change
	// version is that version.
	version string
	// uncounted is true where the API server sees nothing but that, and counts up no generation.
	uncounted bool
	// countedAnyway is true where it counts one up by a change of which it stores nothing.
	countedAnyway bool
	// unread is why the object could not be read as it is.
	unread error
	// scale is what a scale sets.
	scale *record.Content
	// by is the parent that is heard, where it is not the one by which the chain of the
	// object goes on.
	by *lineage.Ref
	// madeFor is the parent that is heard, of those of an object that a GeneratingPolicy made.
	madeFor *lineage.Ref
	// account is the user as which that policy writes, empty where none made the object, and generator
	// says whether the policy is there.
	account   string
	generator PolicyState
	// again is what the mutating hook has made of the request already; nil where it is asked for the first time.
	again *round
	// ledgers reads those that the objects carry.
	ledgers *ledgers
	// driver is of the system behind objects of the kind, nil where there is none, and
	// gateKind what it goes by.
	driver   gate.Driver
	gateKind gate.Kind
}

func dryRun(req admission.Request) bool { return req.DryRun != nil && *req.DryRun }

// decode reads the objects of a request.
func (g *Gatherer) decode(ctx context.Context, req admission.Request, validating bool) (*request, error) {
	r := &request{
		gvk:          schema.GroupVersionKind(req.Kind),
		resource:     schema.GroupVersionResource(req.Resource),
		subresource:  req.SubResource,
		namespace:    req.Namespace,
		name:         req.Name,
		operation:    decision.Operation(req.Operation),
		dryRun:       dryRun(req),
		validating:   validating,
		ledgers:      &g.ledgers,
		user:         req.UserInfo,
		fieldManager: fieldManager(req),
		rawOld:       req.OldObject.Raw,
		rawNew:       req.Object.Raw,
		requester: policy.Requester{
			Username: req.UserInfo.Username,
			Groups:   req.UserInfo.Groups,
			UID:      req.UserInfo.UID,
		},
	}
	switch req.Operation {
	case admissionv1.Create, admissionv1.Update, admissionv1.Delete:
	default:
		return nil, fmt.Errorf("%.32q requests to %s are not for this webhook", req.Operation, req.Resource.Resource)
	}
	// A status may come in another version, where only that has one.
	otherVersion := false
	if named := g.named(r.resource); r.subresource == subresourceStatus && named != r.resource {
		if gvk, ok := g.Kinds.KindFor(named); ok {
			r.resource, r.gvk, otherVersion = named, gvk, true
		}
	}
	var gated bool
	r.driver, r.gateKind, gated = g.Gates.Gate(ctx, r.gvk)
	var err error
	// Whose value a gate has is in the managed fields.
	r.old, r.new, err = decoder{withManagedFields: gated}.objects(req.OldObject, req.Object)
	if err != nil {
		return nil, fmt.Errorf("%s %s/%s: %w", req.Kind.Kind, req.Namespace, req.Name, err)
	}
	if !r.complete() {
		return nil, fmt.Errorf("%s of %s %s/%s lacks an object that such a request has", req.Operation, req.Kind.Kind, req.Namespace, req.Name)
	}
	sent, written := r.old, r.new
	if otherVersion {
		err = g.behindStatus(ctx, r, requestedVersion(req))
	} else if requested := requestedVersion(req); requested != r.resource.Version {
		err = g.findLost(ctx, r, requested)
	}
	if err != nil {
		return nil, err
	}
	if r.subresource != subresourceScale {
		g.leaveOutUnstored(r, requestedVersion(req), sent, written)
	}
	return r, nil
}

// complete reports whether the request has the objects that its operation is about.
func (r *request) complete() bool {
	switch r.operation {
	case decision.Create:
		return r.new != nil
	case decision.Update:
		return r.old != nil && r.new != nil
	default:
		return r.old != nil
	}
}

// current returns the object as it is before the request, or, on create, as it will
// be.
func (r *request) current() *unstructured.Unstructured {
	if r.old != nil {
		return r.old
	}
	return r.new
}

// objectName returns the name of the object; a deletecollection has none in its
// request, a generated name is not known before the validating hook.
func (r *request) objectName() string {
	if name := r.current().GetName(); name != "" {
		return name
	}
	return r.name
}

// target names the object for its record.
func (r *request) target() v1alpha1.TargetReference {
	return record.TargetOf(r.current())
}

// fieldManager returns the name of the request's field manager, where it has one.
func fieldManager(req admission.Request) string {
	var options metav1.PatchOptions // Create and update options have the field too.
	if err := json.Unmarshal(req.Options.Raw, &options); err != nil {
		return ""
	}
	return options.FieldManager
}
