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

package remove

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/text"
	"kausality.io/operator/internal/controller/conditions"
	"kausality.io/operator/internal/ledger"
)

// Waiting is an object whose controllers are kept from something, and do it once nothing is in their way.
type Waiting struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Withheld are the paths of the changes of it from which nothing follows yet.
	Withheld []string `json:"withheld,omitempty"`
	// Refused is what its controllers were refused last, and still want.
	Refused string `json:"refused,omitempty"`
}

// waitingOf returns what the controllers of an object are kept from, as far as it shows that, and false where
// that is nothing.
func waitingOf(k kind, obj *unstructured.Unstructured) (Waiting, bool) {
	out := Waiting{
		Group: k.gvk.Group, Kind: k.gvk.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName(), Refused: conditions.BlockedText(obj),
	}
	// One that cannot be read counts as empty, as for the operator.
	stored, _ := ledger.Decode(obj.GetAnnotations()[ledger.AnnotationKey(obj, ledger.NameAllowances)])
	for _, e := range stored {
		if e.IsWithheld() {
			out.Withheld = append(out.Withheld, e.Mutation)
		}
	}
	return out, out.Refused != "" || len(out.Withheld) > 0
}

// String says it in one line. Of a refusal it is what was refused, and not who may allow it.
func (w Waiting) String() string {
	var parts []string
	if len(w.Withheld) > 0 {
		parts = append(parts, "withheld: "+strings.Join(w.Withheld, ", "))
	}
	if w.Refused != "" {
		what, _, _ := strings.Cut(w.Refused, ": ")
		parts = append(parts, "refused last: "+strings.TrimSuffix(what, " was denied"))
	}
	return strings.Join(parts, "; ")
}

// lookAhead says what there is to take back, what follows from that, and what stays.
func (r *remover) lookAhead(ctx context.Context, c *cluster.Cluster, kinds []kind) (*Report, error) {
	ahead := &remover{client: r.client, held: r.held, dryRun: true}
	objects, err := ahead.all(ctx, kinds)
	report := &Report{DryRun: true, Objects: objects, Waiting: ahead.waiting, Incomplete: err != nil}
	// Without a policy for its kind what is left in a ledger says nothing, and nobody is in anyone's way.
	policies, unread := c.Policies(ctx)
	if unread == nil || apierrors.IsNotFound(unread) || apimeta.IsNoMatchError(unread) {
		report.Waiting = slices.DeleteFunc(report.Waiting, func(w Waiting) bool {
			return policies.Index == nil || len(policies.For(schema.GroupKind{Group: w.Group, Kind: w.Kind})) == 0
		})
	}
	report.addStaying(ctx, c)
	return report, err
}

// addStaying adds the objects of Kausality's own kinds: those that stay, and the policies that go and leave what they made.
func (r *Report) addStaying(ctx context.Context, c *cluster.Cluster) {
	for kind, to := range map[string]*[]string{v1alpha1.KindUpgradeAllowance: &r.Staying, v1alpha1.KindGeneratingPolicy: &r.Generating} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind + "List"))
		switch err := c.List(ctx, list); {
		case apierrors.IsNotFound(err), apimeta.IsNoMatchError(err):
		case err != nil:
			r.Notes = append(r.Notes, fmt.Sprintf("Whether objects of kind %s are there cannot be told: %v", kind, err))
		default:
			for i := range list.Items {
				*to = append(*to, kind+"/"+list.Items[i].Name)
			}
		}
	}
	slices.Sort(r.Notes)
}

// renderAhead says what follows once all is taken back, and what stays; nothing where there is none of it.
func renderAhead(r *Report, terminal text.Terminal) string {
	var out strings.Builder
	if len(r.Waiting) > 0 {
		out.WriteString(terminal.Wrap("", fmt.Sprintf("Kausality keeps the controllers of %d objects from carrying something out. They do it as soon as nothing "+
			"is in their way any more: what is not wanted has to be taken back before.", len(r.Waiting))))
		var table text.Table
		table.Header("OBJECT", "NAMESPACE", "WITHHELD OR REFUSED")
		for _, w := range r.Waiting {
			table.Row(schema.GroupKind{Group: w.Group, Kind: w.Kind}.String()+"/"+w.Name, w.Namespace, w.String())
		}
		out.WriteString(table.Render(terminal, "  "))
	}
	if len(r.Staying) > 0 {
		out.WriteString(terminal.Wrap("", "These stay, and do nothing without Kausality; they go with their CustomResourceDefinitions: "+
			strings.Join(r.Staying, ", ")+"."))
	}
	if len(r.Generating) > 0 {
		out.WriteString(terminal.Wrap("", "By --delete-policies these go, and what they made stays as it is: "+strings.Join(r.Generating, ", ")+
			". Deleted before, while the operator runs, they take that along."))
	}
	for _, note := range r.Notes {
		out.WriteString(terminal.Wrap("", note))
	}
	return out.String()
}
