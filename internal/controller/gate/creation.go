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

package gate

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
	"kausality.io/operator/internal/upgrade"
)

// placeCreation fills in whether the parent of an object may allow by now to create what the object stands
// for. The webhook decides: this only spares requests that cannot succeed.
func (r *Reconciler) placeCreation(ctx context.Context, v *view, target gate.Target) error {
	ref, ok := ancestry.Ref(ctx, r.Holders, r.Policies.Index(), v.obj)
	if !ok {
		return nil
	}
	v.parent = ref.GVK.Kind + " " + ref.Name
	parent := ancestry.Parent(ctx, r.Holders, ref)
	if parent == nil {
		return nil
	}
	rec, err := r.Records.Get(ctx, record.TargetOf(parent))
	if err != nil {
		return err
	}
	stored, err := ledger.Decode(ledger.Annotation(parent, ledger.NameAllowances))
	if err != nil {
		stored = nil // What cannot be read allows nothing.
	}
	above := ancestry.Holder(ctx, r.Namespaces, parent)
	v.mayCreate = slices.ContainsFunc(record.Effective(rec, parent, stored), func(e ledger.Entry) bool {
		return gate.Creates(e.Mutations) && !e.IsGate() && (!e.IsExternal() || target.Matches(e.External))
	}) || slices.ContainsFunc(r.Upgrades.Selecting(above.Labels, above.NamespaceLabels), func(a *upgrade.Allowance) bool {
		return rec != nil && a.Moves(rec.Status.Versions) && slices.ContainsFunc(a.Entries, func(e policy.Entry) bool {
			return e.AllowsOutside(gate.VerbCreate) && target.Matches(e.External)
		})
	})
	return nil
}

// planCreation adds to a plan that leaves the gate as it is: where nothing allowed to create what the object
// stands for, the parent is looked at again soon, and the webhook asked once the parent may allow it.
func (v view) planCreation(p plan) plan {
	if !v.uncreated || p.setting != nil {
		return p
	}
	p.ask = v.mayCreate
	p.next = earlier(p.next, v.now.Add(uncreatedRecheck))
	return p
}

// askToCreate asks the webhook, by an empty patch, whether anything allows by now to create what an object
// stands for. If so, the webhook opens the gate in that request.
func (r *Reconciler) askToCreate(ctx context.Context, obj *unstructured.Unstructured) error {
	nothing := client.RawPatch(types.MergePatchType, []byte("{}"))
	if err := r.Patch(ctx, obj.DeepCopy(), nothing); err != nil {
		return fmt.Errorf("cannot ask the webhook whether what %s %s stands for may be created: %w", obj.GetKind(), client.ObjectKeyFromObject(obj), err)
	}
	return nil
}

// uncreatedNote says that what an object stands for was never created, and what would allow that. It is
// empty where that is not so.
func (v view) uncreatedNote() string {
	if !v.uncreated {
		return ""
	}
	how := "An initiator of the object allows it by changing, or approving, what triggers a rule with such an entry."
	if v.parent != "" {
		how = fmt.Sprintf("An initiator of %[1]s allows it by changing, or approving, what triggers a rule with such an entry. So does such an entry of the UpgradeAllowance by which %[1]s is being upgraded.", v.parent)
	}
	return fmt.Sprintf(" %s, as far as its status shows, and nothing has allowed to create it: that takes an entry with relation %s and the verb %s. %s",
		gate.NotOutside, v1alpha1.RelationExternal, gate.VerbCreate, how)
}
