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

package crossplane

import (
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"kausality.io/operator/internal/gate"
)

// PassAnnotation implements gate.Driver. Runtimes from 2.3 on answer in
// status.lastHandledReconcileAt; for older ones a changed annotation is reason enough
// to look.
func (Driver) PassAnnotation() string { return meta.AnnotationKeyReconcileRequestedAt }

// PauseAnnotation implements gate.Driver.
func (Driver) PauseAnnotation() string { return PausedAnnotation }

// inUseLabel is on what a Usage or ClusterUsage of Crossplane protects. A webhook of Crossplane's refuses its deletion.
const inUseLabel = "crossplane.io/in-use"

// InUse implements gate.Driver.
func (Driver) InUse(obj *unstructured.Unstructured) string {
	if obj.GetLabels()[inUseLabel] != "true" {
		return ""
	}
	return " Its label " + inUseLabel + " says that a Usage or ClusterUsage of Crossplane protects it: while that is there, Crossplane's own webhook refuses the deletion."
}

// ComputeOrphan implements gate.Driver. A provider that may not delete lets go of what
// is being deleted without looking.
func (d Driver) ComputeOrphan(obj *unstructured.Unstructured, kind gate.Kind) gate.Setting {
	state := gate.ReadState(obj.GetAnnotations())
	state.Held = nil
	set := d.Runtimes[kind.Provider].closed(sets.New(actionObserve))
	return gate.Setting{Switch: listOf(set), State: state}
}

// ComputeRelease implements gate.Driver.
func (d Driver) ComputeRelease(obj *unstructured.Unstructured) gate.Setting {
	ceiling := gate.ReadState(obj.GetAnnotations()).Ceiling
	if ceiling == nil {
		ceiling = []string{actionAll}
	}
	return gate.Setting{Switch: ceiling}
}
