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

// Package instance is what both kinds of RDSInstance have in common.
// +kubebuilder:object:generate=true
package instance

import (
	"slices"
	"strings"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Parameters are what an instance is to be like.
type Parameters struct {
	// InstanceClass is how big it is, such as db.t3.medium.
	// +optional
	InstanceClass string `json:"instanceClass,omitempty"`
	// Engine is the database that it runs.
	// +optional
	Engine string `json:"engine,omitempty"`
	// AllocatedStorage is the size of its disk in GiB.
	// +optional
	AllocatedStorage *int64 `json:"allocatedStorage,omitempty"`
	// BackupWindow is when it may be slow; the cloud chooses if nobody says.
	// +optional
	BackupWindow *string `json:"backupWindow,omitempty"`
	// Tags tell what it is for.
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
}

// Status is what an instance is like, and what the provider has to say about it.
type Status struct {
	xpv2.ManagedResourceStatus `json:",inline"`

	// AtProvider is what the cloud has.
	// +optional
	AtProvider Parameters `json:"atProvider,omitempty"`
}

// TraitsAnnotation says how the provider is to treat an instance: a comma-separated
// list of traits. Without it, the provider waits for the cloud and says all that
// it knows.
const TraitsAnnotation = "aws.example.org/traits"

// Trait is a way of providers.
type Trait string

// The traits. The first three are for a provider that does not wait for the cloud,
// and observes that all is up to date while the cloud works.
const (
	// Async announces in the condition AsyncOperation that it works, and reports in
	// LastAsyncOperation what came of it.
	Async Trait = "async"
	// AsyncLate sets no condition while it works, and reports afterwards.
	AsyncLate Trait = "async-late"
	// AsyncSilent sets no condition at all.
	AsyncSilent Trait = "async-silent"
	// SyncedEarly says at first that a new generation is up to date, and finds out a
	// second later that it is not.
	SyncedEarly Trait = "synced-early"
	// NoGeneration leaves out of conditions which generation they are about.
	NoGeneration Trait = "no-generation"
	// NoObservation leaves out of the status what the cloud has.
	NoObservation Trait = "no-observation"
	// LateInit fills in the backup window that the cloud has chosen.
	LateInit Trait = "late-init"
)

// Has reports whether an object asks for one of the traits.
func Has(object metav1.Object, traits ...Trait) bool {
	asked := strings.Split(object.GetAnnotations()[TraitsAnnotation], ",")
	return slices.ContainsFunc(traits, func(t Trait) bool { return slices.Contains(asked, string(t)) })
}

// Annotation returns the value of TraitsAnnotation for traits.
func Annotation(traits ...Trait) string {
	texts := make([]string, 0, len(traits))
	for _, t := range traits {
		texts = append(texts, string(t))
	}
	return strings.Join(texts, ",")
}

// Conditions returns the conditions to be set on an object for the given ones.
func Conditions(object metav1.Object, conditions []xpv2.Condition) []xpv2.Condition {
	if !Has(object, NoGeneration) {
		return conditions
	}
	conditions = slices.Clone(conditions)
	for i := range conditions {
		conditions[i].ObservedGeneration = 0
	}
	return conditions
}
