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

package takeover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/generation"
	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/generate/plan"
)

// fieldManager is as what the annotation is written.
const fieldManager = client.FieldOwner("kubectl-kausality")

// find returns what a policy could take over.
func find(ctx context.Context, c *cluster.Cluster, name string) (*Report, error) {
	p := &v1alpha1.GeneratingPolicy{}
	if err := c.Get(ctx, types.NamespacedName{Name: name}, p); err != nil {
		return nil, fmt.Errorf("reading GeneratingPolicy %s: %w", name, err)
	}
	if !p.Spec.Evaluation.Synchronize {
		return nil, fmt.Errorf("GeneratingPolicy %s does not synchronize: what it made it leaves alone from then on, so that there is nothing to take over", name)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p)
	if err != nil {
		return nil, fmt.Errorf("reading GeneratingPolicy %s: %w", name, err)
	}
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.KindGeneratingPolicy))
	steps, notes, err := generation.TakeOver(ctx, c, object)
	if err != nil {
		return nil, err
	}
	report := &Report{Policy: name, Notes: notes}
	for _, step := range steps {
		one := Object{Object: v1alpha1.GeneratingReference(step.ID), step: step}
		switch keeper := keeperOf(step.There); {
		case keeper != "":
			one.Outcome, one.Message = Left, keeper+" keeps it: take it out of there first"
		case step.Do == plan.Leave && step.Reason == plan.InPlace:
			one.Outcome = Same
		case step.Do == plan.Apply:
			one.Outcome = Changes
		default:
			one.Outcome, one.Message = Left, string(step.Reason)
		}
		report.Objects = append(report.Objects, one)
	}
	return report, nil
}

// isKyvernos reports whether a label or annotation is by what Kyverno knows what it generated.
func isKyvernos(key string, value any) bool {
	domain, _, _ := strings.Cut(key, "/")
	return domain == "kyverno.io" || strings.HasSuffix(domain, ".kyverno.io") || key == "app.kubernetes.io/managed-by" && value == "kyverno"
}

// isAnothers reports whether a label or annotation says that another tool keeps the object. What kubectl
// applied last nobody puts back, and what is of Kausality keeps nothing.
func isAnothers(key, value string) bool {
	domain, _, _ := strings.Cut(key, "/")
	switch {
	case isKyvernos(key, value), key == "kubectl.kubernetes.io/last-applied-configuration", domain == "kausality.io", strings.HasSuffix(domain, ".kausality.io"):
		return false
	default:
		return generate.IsMark(key, value)
	}
}

// keeperOf says who keeps an object that another one may not take over.
func keeperOf(object *unstructured.Unstructured) string {
	if owner := metav1.GetControllerOf(object); owner != nil {
		return owner.Kind + " " + owner.Name
	}
	for key, value := range all(object) {
		if isAnothers(key, value) {
			return "who wrote " + key
		}
	}
	return ""
}

// all returns labels and annotations, in the order of their keys.
func all(object *unstructured.Unstructured) func(func(string, string) bool) {
	return func(yield func(string, string) bool) {
		for _, of := range []map[string]string{object.GetLabels(), object.GetAnnotations()} {
			for _, key := range slices.Sorted(maps.Keys(of)) {
				if !yield(key, of[key]) {
					return
				}
			}
		}
	}
}

// takeOver marks the objects.
func (r *Report) takeOver(ctx context.Context, c *cluster.Cluster) error {
	var errs []error
	for i := range r.Objects {
		one := &r.Objects[i]
		if one.Outcome == Left {
			continue
		}
		if err := mark(ctx, c, one.step); err != nil {
			one.Outcome, one.Message = Failed, err.Error()
			errs = append(errs, fmt.Errorf("%s was not taken over: %w", one.step.ID, err))
		}
	}
	return errors.Join(errs...)
}

// mark has an object be the policy's own, if it is still as it was.
func mark(ctx context.Context, c *cluster.Cluster, step generation.Step) error {
	has := step.There
	step.Content = has.Object
	content, err := plan.Marked(step.Step, step.Above)
	if err != nil {
		return err
	}
	is := &unstructured.Unstructured{Object: content}
	patch := map[string]any{"metadata": map[string]any{
		"uid": has.GetUID(), "resourceVersion": has.GetResourceVersion(),
		"labels": without(is.GetLabels()), "annotations": without(is.GetAnnotations()),
	}}
	raw, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("writing the marks: %w", err)
	}
	err = c.Patch(ctx, has.DeepCopy(), client.RawPatch(types.MergePatchType, raw), fieldManager)
	if apierrors.IsConflict(err) {
		return errors.New("it was changed meanwhile: run the command again")
	}
	return err
}

// without returns labels or annotations for a merge patch that takes Kyverno's away.
func without(of map[string]string) map[string]any {
	out := map[string]any{}
	for key, value := range of {
		if out[key] = value; isKyvernos(key, value) {
			out[key] = nil
		}
	}
	return out
}
