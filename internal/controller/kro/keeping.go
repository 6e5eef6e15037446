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

package kro

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	krov1alpha1 "github.com/kubernetes-sigs/kro/api/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
)

// standing is whose a policy is that has the name of one that is derived.
type standing int

const (
	// ours is one that the operator made, and keeps but for what others set.
	ours standing = iota
	// given is one that somebody gives to the operator, with what others set.
	given
	// takenOver is one that somebody took over, and others is one that somebody else made.
	takenOver
	others
	// leftBehind is one of a graph of that name which is gone, and is about to go.
	leftBehind
)

// standingOf returns whose a policy is, nil for one that is not there.
func standingOf(graph *krov1alpha1.ResourceGraphDefinition, there *v1alpha1.AllowancePolicy) standing {
	if there == nil {
		return ours
	}
	owner := ownedBy(there, graph.Name)
	switch managed := there.Annotations[v1alpha1.AnnotationManaged]; {
	case managed == "false":
		return takenOver
	case owner != "" && owner != graph.UID:
		return leftBehind
	case managed == "true":
		return given
	case owner != "":
		return ours
	}
	return others
}

// ownedBy returns the UID of the graph of a name that owns a policy, empty where none does.
func ownedBy(p *v1alpha1.AllowancePolicy, name string) types.UID {
	i := slices.IndexFunc(p.OwnerReferences, func(o metav1.OwnerReference) bool {
		return strings.HasPrefix(o.APIVersion, krov1alpha1.GroupVersion.Group+"/") && o.Kind == graphKind && o.Name == name
	})
	if i < 0 {
		return ""
	}
	return p.OwnerReferences[i].UID
}

// fieldManager is who applies derived policies.
const fieldManager = "kausality-kro"

// forTheAdmin are the fields that whoever sets them keeps, without taking the policy over. They are
// atomic: of a field that owners share out, as a set or a map, what another one sets is merged with
// what is applied, and is no conflict.
var forTheAdmin = []string{"subjects", "validationActions"}

// conflictError is that others keep fields that would be changed.
type conflictError struct {
	error
	// who keeps them, as the API server says.
	who string
}

// Unwrap returns the answer of the API server.
func (e conflictError) Unwrap() error { return e.error }

// apply writes a policy as it is derived, but for the fields that are the admin's where
// somebody has set them. Where others have set more of it, force overwrites that.
func (r *Reconciler) apply(ctx context.Context, graph *krov1alpha1.ResourceGraphDefinition, policy *v1alpha1.AllowancePolicy, force bool) error {
	policy = policy.DeepCopy()
	policy.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: krov1alpha1.GroupVersion.String(), Kind: graphKind, Name: graph.Name, UID: graph.UID, Controller: new(true),
	}}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(policy)
	if err != nil {
		return fmt.Errorf("encoding AllowancePolicy %s: %w", policy.Name, err)
	}
	delete(fields, "status")
	unstructured.RemoveNestedField(fields, "metadata", "creationTimestamp")
	opts := []client.ApplyOption{client.FieldOwner(fieldManager)}
	err = r.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: runtime.DeepCopyJSON(fields)}), opts...)
	theirs, who := keptByOthers(err)
	if len(theirs) == 0 {
		return err
	}
	for _, field := range theirs {
		switch {
		case slices.Contains(forTheAdmin, field):
			unstructured.RemoveNestedField(fields, "spec", field)
		case !force:
			return conflictError{err, who}
		}
	}
	if force {
		opts = append(opts, client.ForceOwnership)
	}
	return r.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: fields}), opts...)
}

// keptByOthers returns the fields of the spec that others have set otherwise, by the answer to an
// apply, and what that says of them; what is not in the spec is under its whole path.
func keptByOthers(err error) (fields []string, who string) {
	var status apierrors.APIStatus
	if !apierrors.IsConflict(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return nil, ""
	}
	var said []string
	for _, cause := range status.Status().Details.Causes {
		if cause.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		field := strings.TrimPrefix(cause.Field, ".")
		if rest, ok := strings.CutPrefix(field, "spec."); ok {
			field = rest[:min(len(rest), strings.IndexAny(rest+".", ".["))]
		}
		if !slices.Contains(fields, field) {
			fields = append(fields, field)
			said = append(said, fmt.Sprintf("%s: %s", cause.Field, cause.Message))
		}
	}
	return fields, strings.Join(said, "; ")
}

// release ends what makes a policy go with its graph.
func (r *Reconciler) release(ctx context.Context, graph *krov1alpha1.ResourceGraphDefinition, there *v1alpha1.AllowancePolicy) error {
	released := there.DeepCopy()
	released.OwnerReferences = slices.DeleteFunc(released.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.Kind == graphKind && o.Name == graph.Name && strings.HasPrefix(o.APIVersion, krov1alpha1.GroupVersion.Group+"/")
	})
	if len(released.OwnerReferences) == len(there.OwnerReferences) {
		return nil
	}
	if err := r.Client.Patch(ctx, released, client.MergeFromWithOptions(there, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("giving AllowancePolicy %s to who took it over: %w", there.Name, err)
	}
	released.DeepCopyInto(there)
	return nil
}
