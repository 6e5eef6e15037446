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

package trace

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/generate/plan"
)

// generatingKind is the kind of the policies that make objects.
var generatingKind = schema.GroupKind{Group: v1alpha1.GroupVersion.Group, Kind: v1alpha1.KindGeneratingPolicy}

// Origin says by what a GeneratingPolicy made an object (D21).
type Origin struct {
	// Policy that made it.
	Policy Step `json:"policy"`
	// Triggers that it was made for, the one that decides its content first.
	Triggers []Step `json:"triggers"`
	// Source that it is a clone of.
	Source *Step `json:"source,omitempty"`
	// Others are further objects that it was made from and that somebody changed: what was read for it,
	// and what a trigger was made from that is gone.
	Others []Step `json:"others,omitempty"`
	// Synchronized is true where the policy keeps it so.
	Synchronized bool `json:"synchronized"`
}

// Step is an object that a generated one follows from.
type Step struct {
	// Object that it is.
	Object v1alpha1.GeneratingReference `json:"object"`
	// Gone is true where it does not exist any more.
	Gone bool `json:"gone"`
	// Changed says what wrote it last, its status apart.
	Changed *Changed `json:"changed,omitempty"`
	// Causes are the chains that lead to it.
	Causes []*Cause `json:"causes,omitempty"`
	// Origin is where it comes from itself, if a policy made it.
	Origin *Origin `json:"origin,omitempty"`
	// Note says why nothing can be told of it.
	Note string `json:"note,omitempty"`
}

// Changed is the last write of an object, or the one that led to what was made from it.
type Changed struct {
	// User who changed it, where that was noted.
	User string `json:"user,omitempty"`
	// Manager of the fields that were written: by what, and not by whom. Of writes within one second
	// nobody can tell which was the last.
	Manager string `json:"manager,omitempty"`
	// Time of the write, if the object says.
	Time *metav1.Time `json:"time,omitempty"`
}

// steps reads what generated objects follow from.
type steps struct {
	cluster *cluster.Cluster
	// depth bounds how many policies are followed upwards.
	depth int
	// causes are whose changes the object goes back to of which the steps are.
	causes []plan.Cause
}

// originOf returns by what an object was made, nil where no policy made it.
func (r steps) originOf(ctx context.Context, obj *unstructured.Unstructured) *Origin {
	marks, _ := plan.MarksOf(generate.IDOf(obj.Object), obj.Object)
	if marks == nil || r.depth == 0 {
		return nil
	}
	r.depth--
	r.causes = plan.CausesOn(generate.IDOf(obj.Object), obj.Object)
	out := &Origin{
		Policy:       r.step(ctx, generate.ID{Group: generatingKind.Group, Kind: generatingKind.Kind, Name: marks.Policy.Name}, marks.Policy.UID),
		Synchronized: marks.Synchronized,
	}
	for _, trigger := range marks.Triggers {
		out.Triggers = append(out.Triggers, r.step(ctx, trigger, ""))
	}
	if marks.Source != nil {
		source := r.step(ctx, *marks.Source, "")
		out.Source = &source
	}
	told := out.objects()
	for _, c := range r.causes {
		if !slices.Contains(told, referenceTo(c.Object)) {
			out.Others = append(out.Others, Step{Object: referenceTo(c.Object), Changed: changedBy(c)})
		}
	}
	return out
}

// objects returns the objects that an origin tells of, further up included.
func (o *Origin) objects() []v1alpha1.GeneratingReference {
	if o == nil {
		return nil
	}
	var out []v1alpha1.GeneratingReference
	for _, s := range slices.Concat([]Step{o.Policy}, o.Triggers, o.Others) {
		out = append(append(out, s.Object), s.Origin.objects()...)
	}
	if o.Source != nil {
		out = append(append(out, o.Source.Object), o.Source.Origin.objects()...)
	}
	return out
}

func referenceTo(id generate.ID) v1alpha1.GeneratingReference {
	return v1alpha1.GeneratingReference(id)
}

func changedBy(c plan.Cause) *Changed { return &Changed{User: c.User, Time: c.Time} }

// step reads what is known of an object. An uid is that of the one that is meant.
func (r steps) step(ctx context.Context, id generate.ID, uid types.UID) Step {
	out := Step{Object: referenceTo(id)}
	if i := slices.IndexFunc(r.causes, func(c plan.Cause) bool { return c.Object == id }); i >= 0 {
		out.Changed = changedBy(r.causes[i])
	}
	target, err := r.cluster.Named(id.GroupKind(), id.Namespace, id.Name)
	if err != nil {
		out.Note = err.Error()
		return out
	}
	obj, err := r.cluster.Read(ctx, target)
	switch {
	case apierrors.IsNotFound(err), err == nil && uid != "" && obj.GetUID() != uid:
		out.Gone = true
		return out
	case err != nil:
		out.Note = fmt.Sprintf("It cannot be read: %v", err)
		return out
	}
	if out.Changed == nil {
		out.Changed = changed(obj)
	}
	out.Origin = r.originOf(ctx, obj)
	seen, err := readCauses(ctx, r.cluster, target, obj)
	if err != nil {
		out.Note = fmt.Sprintf("Who changed it cannot be told: %v", err)
		return out
	}
	report, err := build(seen)
	if err != nil {
		return out // It has gone since.
	}
	out.Causes = report.Causes
	return out
}

// changed returns by which field manager an object was last written, and when. It does not tell who that was:
// only the operator knows whether admission has noted a user. Writes of sub-resources, such as the status, and
// writes of finalizers alone are left out, as nothing is made because of them.
func changed(obj *unstructured.Unstructured) *Changed {
	fields := slices.DeleteFunc(slices.Clone(obj.GetManagedFields()), func(m metav1.ManagedFieldsEntry) bool { return m.Subresource != "" || isOfFinalizers(m) })
	if len(fields) == 0 {
		return nil
	}
	last := slices.MaxFunc(fields, func(a, b metav1.ManagedFieldsEntry) int { return timeOf(a).Compare(timeOf(b).Time) })
	var managers []string
	for _, m := range fields {
		if timeOf(m).Compare(timeOf(last).Time) == 0 {
			managers = append(managers, m.Manager)
		}
	}
	slices.Sort(managers)
	return &Changed{Manager: strings.Join(slices.Compact(managers), " or "), Time: last.Time}
}

// isOfFinalizers reports whether an entry has finalizers, and nothing else.
func isOfFinalizers(m metav1.ManagedFieldsEntry) bool {
	var fields map[string]map[string]any
	if m.FieldsV1 == nil || json.Unmarshal(m.FieldsV1.GetRawBytes(), &fields) != nil || len(fields) != 1 || len(fields["f:metadata"]) != 1 {
		return false
	}
	_, ok := fields["f:metadata"]["f:finalizers"]
	return ok
}

func timeOf(m metav1.ManagedFieldsEntry) metav1.Time {
	if m.Time == nil {
		return metav1.Time{}
	}
	return *m.Time
}
