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

package generating

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/generate/plan"
)

// causes returns who last changed what an object is made from: the trigger that decides what it is
// like, what was read by name or cloned, and the policy. Who that is counts when the object is written,
// and makes no difference to whether it is.
func (l *look) causes(ctx context.Context, step plan.Step) []plan.Cause {
	var out [][]plan.Cause
	accounts := l.book.accounts(l.DefaultAccount)
	add := func(id generate.ID, object *unstructured.Unstructured, err error) {
		if err == nil && object != nil {
			out = append(out, plan.CausesOf(l.Notary, id, object, accounts...))
		}
	}
	trigger := step.Marks.Triggers[0]
	if trigger.Request != "" {
		out = append(out, l.causeOf(ctx, trigger))
	} else if of, ok := l.of.resource(trigger.GroupKind()); ok {
		object, err := l.objects.get(ctx, of.gvk, trigger.Namespace, trigger.Name)
		add(trigger, object, err)
	}
	read := map[generate.ID]bool{}
	for _, r := range l.out.reads {
		of, served := l.served.byGVR[r.Resource]
		if r.Name == "" || !served {
			continue
		}
		id := generate.ID{Group: of.gvk.Group, Kind: of.gvk.Kind, Namespace: r.Namespace, Name: r.Name}
		read[id] = true
		object, err := l.objects.get(ctx, of.gvk, r.Namespace, r.Name)
		add(id, object, err)
	}
	if source := step.Marks.Source; source != nil && !read[*source] {
		for _, kind := range l.book.kindsRead(l.of) {
			if kind.GroupKind() == source.GroupKind() {
				object, err := l.objects.get(ctx, kind, source.Namespace, source.Name)
				add(*source, object, err)
				break
			}
		}
	}
	policy := &v1alpha1.GeneratingPolicy{}
	if err := l.Client.Get(ctx, nameOf(l.of.Name), policy, client.UnsafeDisableDeepCopy); err == nil {
		id := generate.ID{Group: v1alpha1.GroupVersion.Group, Kind: v1alpha1.KindGeneratingPolicy, Name: policy.Name}
		out = append(out, plan.CausesOf(l.Notary, id, policy, accounts...))
	}
	return plan.Causes(out...)
}
