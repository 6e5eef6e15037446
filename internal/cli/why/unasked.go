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

package why

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/record"
)

// recordAbout returns an empty record of an object, to ask of it what is asked of others.
func recordAbout(obj *unstructured.Unstructured) *v1alpha1.AllowanceRecord {
	return &v1alpha1.AllowanceRecord{Spec: v1alpha1.AllowanceRecordSpec{TargetRef: record.TargetOf(obj)}}
}

// unasked says that the operator is not asked about changes of an object, empty where it is, or where that cannot be
// told. It asks in a dry run, by an annotation that the operator's webhook takes away from whoever brings it: it says
// nothing, and nothing is written. Who may not write the object learns nothing.
func unasked(ctx context.Context, c *cluster.Cluster, obj *unstructured.Unstructured) string {
	key := ledger.AnnotationKey(obj, ledger.NameDropped)
	patch := obj.DeepCopy()
	text := fmt.Sprintf(`{"metadata":{"annotations":{%q:""}}}`, key)
	err := c.Patch(ctx, patch, client.RawPatch(types.MergePatchType, []byte(text)), client.DryRunAll)
	target := phrase.Target(record.TargetOf(obj))
	const meanwhile = " What passes meanwhile is neither refused, nor withheld, nor recorded. See that the operator runs: kubectl get pods -n kausality-system"
	switch _, stays := patch.GetAnnotations()[key]; {
	case apierrors.IsInternalError(err) && strings.Contains(err.Error(), "failed calling webhook"):
		return fmt.Sprintf("The operator does not answer about changes of %s now, and those that it would be asked about fail.", target)
	case err == nil && stays && obj.GetAnnotations()[key] == "":
		return fmt.Sprintf("The operator is not asked about changes of %s now, or does not answer, as where it is down.", target) + meanwhile
	default:
		return ""
	}
}
