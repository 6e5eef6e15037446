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

package providerkubernetes

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/stage"
)

// Kinds of settings: what people write.
const (
	claimKind     = "SettingClaim"
	compositeKind = "XSetting"
	settingKind   = "Setting"
	// objectKind is that of the provider's managed resources, which people may also
	// write themselves.
	objectKind = "Object"
)

// group is the group of the settings whose policies are there from the beginning.
const group = "settings.example.org"

// Labels of settings. aloneLabel is on Objects that nobody composes, with the group
// whose policies are about them; what has goesLabel may be deleted outside.
const (
	aloneLabel = "example.org/alone"
	goesLabel  = "example.org/goes"
)

const (
	// quietTime is how long a composite resource has to be left alone before what it
	// says of itself is believed.
	quietTime = 5 * time.Second
	// settleTime is how long a provider is given that does not say when it is done.
	settleTime = 10 * time.Second
)

// Kinds of managed resources.
var (
	clusterObjects    = schema.GroupVersionKind{Group: "kubernetes.crossplane.io", Version: "v1alpha2", Kind: objectKind}
	namespacedObjects = schema.GroupVersionKind{Group: "kubernetes.m.crossplane.io", Version: "v1alpha1", Kind: objectKind}
)

// testdata reads a file for the settings of a group.
func testdata(file, group string) string {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	Expect(err).NotTo(HaveOccurred())
	return strings.ReplaceAll(string(text), "settings.example.org", group)
}

func decode(text string) []*unstructured.Unstructured {
	GinkgoHelper()
	objects, err := controlplane.Decode([]byte(text))
	Expect(err).NotTo(HaveOccurred())
	return objects
}

func encoded(content []byte) string { return base64.StdEncoding.EncodeToString(content) }

// policiesFor returns the policies of the settings of a group.
func policiesFor(group string) []*v1alpha1.AllowancePolicy {
	GinkgoHelper()
	policies := stage.ParsePolicies(testdata("policies.yaml", group))
	for _, p := range policies {
		p.Name += "." + group
	}
	return policies
}

// offer lets people have settings of a group.
func (w *world) offer(ctx context.Context, group string) {
	GinkgoHelper()
	for _, object := range decode(testdata("settings.yaml", group)) {
		Expect(w.Create(ctx, object)).To(Succeed())
		if object.GetKind() == "CompositeResourceDefinition" {
			w.Becomes(ctx, object, "Established")
		}
	}
	for _, kind := range []string{claimKind, compositeKind, settingKind} {
		Eventually(ctx, func() error {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: "v1alpha1", Kind: kind + "List"})
			return w.List(ctx, list)
		}).Should(Succeed())
	}
}

// initiator and stranger may change all settings, as far as RBAC goes.
func (w *world) initiator() *stage.Actor {
	return w.As(stage.AliceName, stage.PlatformTeam, user.SystemPrivilegedGroup)
}

func (w *world) stranger() *stage.Actor {
	return w.As(stage.MalloryName, stage.Developers, user.SystemPrivilegedGroup)
}

// setting is a setting with what it is composed of, down to the ConfigMap outside. Where
// people write the managed resource themselves, all are the same object.
type setting struct {
	written, composite, object *unstructured.Unstructured
	by                         *stage.Actor
	// audit has seen all of it.
	audit stage.Witness
}

// planned returns a setting that nobody has created yet.
func planned(kind, group, namespace, name string) *setting {
	s := &setting{written: &unstructured.Unstructured{Object: map[string]any{}}, by: shared.initiator()}
	s.written.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: "v1alpha1", Kind: kind})
	s.written.SetNamespace(namespace)
	s.written.SetName(name)
	if kind != objectKind {
		s.written.Object["spec"] = map[string]any{"value": first}
		return s
	}
	s.written.SetGroupVersionKind(namespacedObjects)
	s.written.SetLabels(map[string]string{aloneLabel: group})
	s.written.Object["spec"] = map[string]any{"watch": true, "forProvider": map[string]any{"manifest": map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"namespace": namespace, "name": name},
		"data":     map[string]any{"value": first},
	}}}
	return s
}

// Values of settings.
const (
	first   = "first"
	second  = "second"
	third   = "third"
	forged  = "forged"
	drifted = "drifted"
)

// create has the platform team create a setting.
func (s *setting) create(ctx context.Context) {
	GinkgoHelper()
	s.audit = shared.Watch()
	Expect(s.by.Create(ctx, s.written)).To(Succeed())
}

// comes waits until the ConfigMap of a setting is there, and the setting is ready.
func (s *setting) comes(ctx context.Context) {
	GinkgoHelper()
	s.composite = s.written
	if s.written.GetKind() == claimKind {
		s.composite = shared.CompositeOf(ctx, s.written)
	}
	s.object = s.managed(ctx)
	s.is(ctx, first)
	shared.Becomes(ctx, s.written, "Synced", "Ready")
}

// managed returns the managed resource of the setting.
func (s *setting) managed(ctx context.Context) *unstructured.Unstructured {
	GinkgoHelper()
	if s.written.GetKind() == objectKind {
		return s.written
	}
	gvk := namespacedObjects
	if s.written.GetKind() == claimKind {
		gvk = clusterObjects
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk)
	Eventually(ctx, func(g Gomega) {
		g.Expect(shared.List(ctx, list, client.InNamespace(s.composite.GetNamespace()),
			client.MatchingLabels{"crossplane.io/composite": s.composite.GetName()})).To(Succeed())
		g.Expect(list.Items).To(HaveLen(1))
	}).Should(Succeed())
	return &list.Items[0]
}

// patch returns the change that gives a setting a value.
func (s *setting) patch(value string) client.Patch {
	if s.written.GetKind() == objectKind {
		return setObject(value)
	}
	return merge(fmt.Sprintf(`{"spec":{"value":%q}}`, value))
}

// setObject returns the change that gives a managed resource a value.
func setObject(value string) client.Patch {
	return merge(fmt.Sprintf(`{"spec":{"forProvider":{"manifest":{"data":{"value":%q}}}}}`, value))
}

func merge(text string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(text)) }

// key returns the key of the ConfigMap.
func (s *setting) key() client.ObjectKey { return client.ObjectKeyFromObject(s.written) }

// value returns what the ConfigMap says.
func (s *setting) value(ctx context.Context) (string, error) {
	var there corev1.ConfigMap
	err := shared.Get(ctx, s.key(), &there)
	return there.Data["value"], err
}

// is waits until the ConfigMap says a value.
func (s *setting) is(ctx context.Context, value string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		got, err := s.value(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(got).To(Equal(value))
	}).Should(Succeed())
}

// vanished waits until the ConfigMap has gone.
func (s *setting) vanished(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func() error { _, err := s.value(ctx); return err }).Should(MatchError(apierrors.IsNotFound, "not found"))
}

// drift changes the ConfigMap behind the provider's back, what the provider remembers
// there included.
func (s *setting) drift(ctx context.Context) {
	GinkgoHelper()
	Expect(shared.stranger().Patch(ctx, s.outside(), merge(fmt.Sprintf(
		`{"metadata":{"annotations":{%q:null}},"data":{"value":%q}}`, corev1.LastAppliedConfigAnnotation, drifted)))).To(Succeed())
}
