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

package e2e

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"kausality.io/operator/test/builders"
)

// lossyPolicy is for Things in namespace NS.
const lossyPolicy = `
apiVersion: kausality.io/v1alpha1
kind: AllowancePolicy
metadata: {name: lossy-NS}
spec:
  for: {apiGroup: GROUP, apiVersion: v1, kind: Thing}
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NS}}
  uncausedChanges: MODE
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  - {kind: ServiceAccount, namespace: NS, name: controller}
  initializing: {policies: &all [{target: {apiVersion: v1, resource: configmaps}, relation: ControllerChild, verbs: ["*"]}]}
  rules:
  - {trigger: spec, policies: *all}
`

// The ways to write, in a version that lacks fields, what says nothing of them.
const (
	labeled = `{"metadata":{"labels":{"a":"b"}}}`
	nothing = `{}`
)

// losing returns the ways of somebody who writes in a version that lacks fields of the object, which the API server
// drops then.
func losing() []bypass {
	dropped := func(name string, drop func(ctx context.Context, who *actor, older *unstructured.Unstructured) error) func(context.Context, *scene) {
		return func(ctx context.Context, s *scene) {
			l := s.lossy(ctx, name, "Hold")
			By("having it dropped by a stranger")
			s.rogue.warned.take()
			Expect(drop(ctx, s.rogue, l.older())).To(Succeed())
			Expect(s.rogue.warned.take()).To(And(ContainSubstring("in version v1beta1 also removes spec.size, which"), ContainSubstring("the change of spec.size of Thing app is withheld")))
			Expect(l.owner.Patch(ctx, l.thing.DeepCopy(), merge(`{"spec":{"color":"blue"}}`))).To(Succeed())
			refuse(l.makes(ctx), "spec.size by mallory is withheld")
			By("putting it back")
			Expect(l.owner.Patch(ctx, l.thing.DeepCopy(), merge(`{"spec":{"size":"5"}}`))).To(Succeed())
			Eventually(ctx, l.makes).WithArguments(ctx).Should(Succeed())
			By("having it dropped by an initiator")
			l.owner.warned.take()
			Expect(drop(ctx, l.owner, l.older())).To(Succeed())
			Expect(l.owner.warned.take()).To(And(ContainSubstring("also removes spec.size"), Not(ContainSubstring("withheld"))))
			Expect(l.makes(ctx)).To(Succeed())
			By("dropping what has a default alone")
			s.rogue.warned.take()
			Expect(drop(ctx, s.rogue, l.older())).To(Succeed())
			Expect(s.rogue.warned.take()).To(BeEmpty())

			By("refusing it")
			l = s.lossy(ctx, name+"-refused", "Refuse")
			Expect(drop(ctx, s.rogue, l.older())).To(MatchError(ContainSubstring("spec.size")))
			Expect(l.owner.Patch(ctx, l.thing.DeepCopy(), merge(`{"spec":{"size":null}}`))).To(Succeed())
			Expect(drop(ctx, s.rogue, l.older())).To(Succeed())
		}
	}
	return []bypass{
		{"dropping a field by writing in a version that does not have it", dropped("labeled", func(ctx context.Context, who *actor, older *unstructured.Unstructured) error {
			return who.Patch(ctx, older, merge(labeled))
		})},
		{"dropping a field by writing nothing in such a version", dropped("nothing", func(ctx context.Context, who *actor, older *unstructured.Unstructured) error {
			return who.Patch(ctx, older, merge(nothing))
		})},
		{"dropping a field by a status in such a version", dropped("status", func(ctx context.Context, who *actor, older *unstructured.Unstructured) error {
			return who.patchStatus(ctx, older, `{"color":"gray"}`)
		})},
		{"dropping a field by a scale in such a version", func(ctx context.Context, s *scene) {
			l := s.lossy(ctx, "scaled", "Hold")
			scale := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": map[string]any{"replicas": int64(1)}}}
			err := s.rogue.SubResource("scale").Update(ctx, l.older(), client.WithSubResourceBody(scale))
			Expect(err).To(MatchError(ContainSubstring("spec.size")))
		}},
		{"dropping a field of a child in such a version", func(ctx context.Context, s *scene) {
			group := shared.defineThings(ctx, lossyVersions)
			child := builders.MakeThing(group, "", "")
			child.Object["spec"] = map[string]any{"config": "a", "size": "5"}
			s.bounded(ctx, "lossy-child", child, "{apiGroup: "+group+", apiVersion: v1, resource: things}")
			older := child.DeepCopy()
			older.SetAPIVersion(group + "/" + olderVersion)
			s.denied(ctx, older, merge(nothing), "removing spec.size of Thing child")
			By("having nothing dropped but what has a default")
			without := builders.MakeThing(group, "", "")
			without.Object["spec"] = map[string]any{"config": "a"}
			s.bounded(ctx, "lossy-default", without, "{apiGroup: "+group+", apiVersion: v1, resource: things}")
			without.SetAPIVersion(group + "/" + olderVersion)
			s.denied(ctx, without, merge(`{"spec":{"config":"rogue"}}`), "changing spec.config of Thing child")
			Expect(s.rogue.Patch(ctx, without, merge(labeled))).To(Succeed())
		}},
		{"dropping a field that a conversion webhook loses", func(ctx context.Context, s *scene) {
			child := s.converted(ctx, "forgotten", &converter{loses: true})
			child.SetAPIVersion(child.GroupVersionKind().Group + "/" + olderVersion)
			s.denied(ctx, child, merge(nothing), "removing spec.port of Thing child")
		}},
	}
}

// lossyVersions serves an older version as well, which does not have spec.size, nor spec.tier, which has a default.
func lossyVersions(definition *apiextensionsv1.CustomResourceDefinition) {
	first := &definition.Spec.Versions[0]
	older := *first.DeepCopy()
	older.Name, older.Storage = olderVersion, false
	older.Schema, first.Schema = thingSchema("config", "color"), thingSchema("config", "color", "size", "tier")
	for _, schema := range []*apiextensionsv1.CustomResourceValidation{first.Schema, older.Schema} {
		schema.OpenAPIV3Schema.Properties["spec"].Properties["replicas"] = apiextensionsv1.JSONSchemaProps{Type: "integer"}
	}
	first.Schema.OpenAPIV3Schema.Properties["spec"].Properties["tier"] = apiextensionsv1.JSONSchemaProps{
		Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"low"`)},
	}
	first.Subresources.Scale, older.Subresources.Scale = scaleAt(".spec.replicas"), scaleAt(".spec.replicas")
	definition.Spec.Versions = append(definition.Spec.Versions, older)
}

// lossy is a Thing of a kind with an older version that lacks fields of it.
type lossy struct {
	owner, controller *actor
	thing             *unstructured.Unstructured
}

func (s *scene) lossy(ctx context.Context, name, mode string) *lossy {
	GinkgoHelper()
	group := shared.defineThings(ctx, lossyVersions)
	ns := shared.newNamespaceFor(ctx, name)
	shared.apply(ctx, parsePolicies(strings.NewReplacer("NS", ns, "GROUP", group, "MODE", mode).Replace(lossyPolicy))[0])
	l := &lossy{
		owner:      shared.as(alice, platformTeam, "system:masters"),
		controller: shared.as("system:serviceaccount:"+ns+":controller", "system:masters"),
		thing:      builders.MakeThing(group, ns, "app"),
	}
	l.thing.Object["spec"] = map[string]any{"config": "a", "color": "red", "size": "5", "replicas": int64(1)}
	Expect(l.owner.Create(ctx, l.thing)).To(Succeed())
	Expect(l.makes(ctx)).To(Succeed())
	return l
}

// older returns the object as it is in the older version.
func (l *lossy) older() *unstructured.Unstructured {
	older := builders.MakeThing(l.thing.GroupVersionKind().Group, l.thing.GetNamespace(), l.thing.GetName())
	older.SetAPIVersion(l.thing.GroupVersionKind().Group + "/" + olderVersion)
	return older
}

// makes has the controller try to make a child.
func (l *lossy) makes(ctx context.Context) error {
	child := configMap(l.thing.GetNamespace(), "child", "a")
	if err := controllerutil.SetControllerReference(l.thing, child, shared.Scheme()); err != nil {
		return err
	}
	return l.controller.Create(ctx, child, client.DryRunAll)
}

func merge(patch string) client.Patch {
	return client.RawPatch(types.MergePatchType, []byte(patch))
}
