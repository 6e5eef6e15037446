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

package policy

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/change"
)

// represented are, of kinds of Kubernetes, the annotations in which the API server shows fields that only another
// version of a kind has, with the fields that they stand for there. What a policy bounds
// by the older version is asked for in that, and these count like the fields (D7). That is
// how the API server converts between versions, and not what is known of a kind, which is
// the same in all versions: so it is no part of package knowledge.
var represented = map[schema.GroupVersionKind]map[string]string{
	autoscalingv1.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"): {
		"autoscaling.alpha.kubernetes.io/metrics":  "spec.metrics",
		"autoscaling.alpha.kubernetes.io/behavior": "spec.behavior",
	},
	appsv1.SchemeGroupVersion.WithKind("Deployment"): {appsv1.DeprecatedRollbackTo: rollbackTo.String()},
}

// rollbackTo is the field of older versions by which the Deployment controller replaces the
// template of a Deployment by that of a revision, in its own name.
var rollbackTo = change.MustParsePath("spec.rollbackTo")

// Command is an annotation for which the controller of an object replaces a field of that very
// object: who writes it has that done in the controller's name.
type Command struct {
	// Annotation is its path, and Field the one that it stands for.
	Annotation, Field change.Path
	// Replaces is the field that the controller replaces.
	Replaces change.Path
}

// commands lists the command of each of Kubernetes' own kinds that takes one, in whichever version.
var commands = map[schema.GroupKind]Command{
	appsv1.SchemeGroupVersion.WithKind("Deployment").GroupKind(): {
		Annotation: annotationPath(appsv1.DeprecatedRollbackTo), Field: rollbackTo, Replaces: change.MustParsePath("spec.template"),
	},
}

// CommandOf returns the command that objects of a kind take, and false where they take none.
func CommandOf(kind schema.GroupKind) (Command, bool) {
	c, ok := commands[kind]
	return c, ok
}

// Command returns the command that objects of the policy's kind take, where a rule is about what
// it has replaced.
func (p *Policy) Command() (Command, bool) {
	c, ok := CommandOf(p.For.GroupKind())
	return c, ok && p.HasRuleFor(c.Replaces)
}

// Represented returns the patterns of the annotations that stand for fields in a version of a
// kind, in order.
func Represented(kind schema.GroupVersionKind) []change.Pattern {
	out := make([]change.Pattern, 0, len(represented[kind]))
	for _, key := range slices.Sorted(maps.Keys(represented[kind])) {
		out = append(out, change.Pattern(annotationPath(key)))
	}
	return out
}

// AsField returns the change of the field that an annotation stands for in a version of a kind,
// and any other change as it is.
func AsField(kind schema.GroupVersionKind, c change.Change) change.Change {
	for key, field := range represented[kind] {
		if c.Path.String() == annotationPath(key).String() {
			c.Path = change.MustParsePath(field)
		}
	}
	return c
}

func annotationPath(key string) change.Path {
	return change.Path{}.Field("metadata").Field("annotations").Field(key)
}
