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
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/cli/text"
)

// mostFailures is how many failures a status names.
const mostFailures = 16

// about is what was asked about: an object, or everything in a namespace.
type about struct {
	namespace string
	target    *cluster.Target
}

// addGenerating adds what policies want of what was asked about, or for it, and do not get.
func (r *Report) addGenerating(policies []v1alpha1.GeneratingPolicy, a about) {
	for i := range policies {
		p := &policies[i]
		whole := a.is(v1alpha1.GeneratingReference{Group: v1alpha1.GroupVersion.Group, Kind: v1alpha1.KindGeneratingPolicy, Name: p.Name})
		accepted := apimeta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionAccepted)
		if whole && accepted != nil && accepted.Status == metav1.ConditionFalse {
			r.Generating = append(r.Generating, Generating{Policy: p.Name, GeneratingFailure: v1alpha1.GeneratingFailure{Reason: accepted.Reason, Message: accepted.Message}})
		}
		deleting := accepted != nil && accepted.Reason == v1alpha1.ReasonDeleting
		for _, f := range p.Status.Failures {
			if whole || f.Trigger != nil && a.is(*f.Trigger) || f.Object != nil && a.is(*f.Object) {
				r.Generating = append(r.Generating, Generating{Policy: p.Name, Deleting: deleting, GeneratingFailure: f})
			}
		}
		if len(p.Status.Failures) >= mostFailures {
			r.Notes = append(r.Notes, fmt.Sprintf("GeneratingPolicy %s names only the first %d of what it wants and does not get.", p.Name, mostFailures))
		}
	}
}

// is reports whether an object is what was asked about.
func (a about) is(ref v1alpha1.GeneratingReference) bool {
	ref.Request = ""
	if a.target == nil && a.namespace == metav1.NamespaceAll {
		return true
	}
	if a.target == nil {
		return ref.Namespace == a.namespace || ref == (v1alpha1.GeneratingReference{Kind: "Namespace", Name: a.namespace})
	}
	return a.target.Is(v1alpha1.TargetReference{Group: ref.Group, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name})
}

func renderGenerating(g Generating, t text.Terminal) string {
	wanted := "GeneratingPolicy/" + g.Policy
	if g.Object != nil {
		wanted = phrase.Reference(*g.Object)
	}
	var facts text.Table
	switch {
	case g.Object == nil:
	case g.Deleting:
		facts.Row("to go with", "GeneratingPolicy/"+g.Policy+", which is being deleted and waits for it")
	default:
		facts.Row("wanted by", "GeneratingPolicy/"+g.Policy)
	}
	if g.Trigger != nil {
		facts.Row("for", phrase.Reference(*g.Trigger))
	}
	facts.Row("because", g.Message)
	return t.Paint(text.Wait, g.Reason) + "  " + t.Paint(text.Strong, wanted) + "\n" + facts.Render(t, indent)
}
