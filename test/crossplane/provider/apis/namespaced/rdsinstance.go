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

// Package namespaced has the namespaced kind of RDSInstance, as providers have it since Crossplane 2.
// +kubebuilder:object:generate=true
// +groupName=rds.aws.m.crossplane.io
// +versionName=v1alpha1
package namespaced

import (
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/test/crossplane/provider/apis/instance"
)

// GroupVersion is that of the kind.
var GroupVersion = schema.GroupVersion{Group: "rds.aws.m.crossplane.io", Version: "v1alpha1"}

// AddToScheme adds the kind to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	AddToSchemeAs(scheme, GroupVersion)
	return nil
}

// AddToSchemeAs adds the kind to a scheme under another group. A scheme can have it
// under one.
func AddToSchemeAs(scheme *runtime.Scheme, gv schema.GroupVersion) {
	scheme.AddKnownTypes(gv, &RDSInstance{}, &RDSInstanceList{})
	metav1.AddToGroupVersion(scheme, gv)
}

// RDSInstance is a database in the cloud.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="SYNCED",type="string",JSONPath=".status.conditions[?(@.type=='Synced')].status"
// +kubebuilder:printcolumn:name="READY",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="CLASS",type="string",JSONPath=".spec.forProvider.instanceClass"
// +kubebuilder:printcolumn:name="POLICIES",type="string",JSONPath=".spec.managementPolicies"
// +kubebuilder:resource:scope=Namespaced,categories=managed
type RDSInstance struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   RDSInstanceSpec `json:"spec"`
	Status instance.Status `json:"status,omitempty"`
}

// RDSInstanceSpec is what the instance is to be like.
type RDSInstanceSpec struct {
	xpv2.ManagedResourceSpec `json:",inline"`

	ForProvider instance.Parameters `json:"forProvider"`
}

// RDSInstanceList is a list of them.
// +kubebuilder:object:root=true
type RDSInstanceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []RDSInstance `json:"items"`
}

// Desired returns the parameters to bring about.
func (i *RDSInstance) Desired() *instance.Parameters { return &i.Spec.ForProvider }

// Observed returns the parameters that the cloud has.
func (i *RDSInstance) Observed() *instance.Parameters { return &i.Status.AtProvider }

// SetConditions implements resource.Conditioned.
func (i *RDSInstance) SetConditions(c ...xpv2.Condition) {
	i.Status.SetConditions(instance.Conditions(i, c)...)
}

// GetCondition implements resource.Conditioned.
func (i *RDSInstance) GetCondition(t xpv2.ConditionType) xpv2.Condition {
	return i.Status.GetCondition(t)
}

// SetLastHandledReconcileAt says that somebody's wish to reconcile was heard.
func (i *RDSInstance) SetLastHandledReconcileAt(token string) {
	i.Status.SetLastHandledReconcileAt(token)
}

// GetLastHandledReconcileAt returns the last wish to reconcile that was heard.
func (i *RDSInstance) GetLastHandledReconcileAt() string {
	return i.Status.GetLastHandledReconcileAt()
}

// SetManagementPolicies implements resource.Manageable.
func (i *RDSInstance) SetManagementPolicies(p xpv2.ManagementPolicies) { i.Spec.ManagementPolicies = p }

// GetManagementPolicies implements resource.Manageable.
func (i *RDSInstance) GetManagementPolicies() xpv2.ManagementPolicies {
	return i.Spec.ManagementPolicies
}

// SetProviderConfigReference implements a reference to a ProviderConfig.
func (i *RDSInstance) SetProviderConfigReference(r *xpv2.ProviderConfigReference) {
	i.Spec.ProviderConfigReference = r
}

// GetProviderConfigReference implements a reference to a ProviderConfig.
func (i *RDSInstance) GetProviderConfigReference() *xpv2.ProviderConfigReference {
	return i.Spec.ProviderConfigReference
}

// SetWriteConnectionSecretToReference implements a writer of connection secrets.
func (i *RDSInstance) SetWriteConnectionSecretToReference(r *xpv2.LocalSecretReference) {
	i.Spec.WriteConnectionSecretToReference = r
}

// GetWriteConnectionSecretToReference implements a writer of connection secrets.
func (i *RDSInstance) GetWriteConnectionSecretToReference() *xpv2.LocalSecretReference {
	return i.Spec.WriteConnectionSecretToReference
}
