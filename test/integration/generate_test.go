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

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/generate/plan"
)

// manyKinds is a policy for objects of many kinds, with what the API server defaults, normalizes and merges.
const manyKinds = `
metadata: {name: kinds}
spec:
  evaluation: {synchronize: true}
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [namespaces]}]
  generate:
  - expression: >
      generator.ApplyAll(object.metadata.name, [
        {'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'name': 'web', 'labels': {'a': 'b'}}, 'spec': {
          'selector': {'matchLabels': {'app': 'web'}},
          'template': {'metadata': {'labels': {'app': 'web'}}, 'spec': {'containers': [
            {'name': 'app', 'image': 'app:1', 'ports': [{'containerPort': 80}], 'env': [{'name': 'A', 'value': 'b'}], 'resources': {'limits': {'cpu': '1000m'}}},
            {'name': 'side', 'image': 'side:1', 'args': ['x', 'y']}]}}}},
        {'apiVersion': 'v1', 'kind': 'Service', 'metadata': {'name': 'web'}, 'spec': {'selector': {'app': 'web'}, 'ports': [{'port': 80}]}},
        {'apiVersion': 'networking.k8s.io/v1', 'kind': 'NetworkPolicy', 'metadata': {'name': 'deny'}, 'spec': {
          'podSelector': {}, 'policyTypes': ['Ingress'], 'ingress': [{'ports': [{'port': 80}]}]}},
        {'apiVersion': 'v1', 'kind': 'ResourceQuota', 'metadata': {'name': 'quota'}, 'spec': {'hard': {'pods': 10, 'limits.memory': '1024Mi'}}},
        {'apiVersion': 'v1', 'kind': 'LimitRange', 'metadata': {'name': 'limits'}, 'spec': {'limits': [{'type': 'Container', 'default': {'cpu': '0.5'}}]}},
        {'apiVersion': 'rbac.authorization.k8s.io/v1', 'kind': 'RoleBinding', 'metadata': {'name': 'owner'},
          'roleRef': {'apiGroup': 'rbac.authorization.k8s.io', 'kind': 'ClusterRole', 'name': 'admin'},
          'subjects': [{'kind': 'User', 'name': 'anna'}]},
        {'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': 'creds', 'finalizers': ['example.org/kept']}, 'stringData': {'a': 'b'}},
        {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'config', 'labels': {}}, 'data': {'one': '1'}}
      ])`

var _ = Describe("What a GeneratingPolicy wants", func() {
	It("is applied as it is, told from what others change, and put back", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		g := newGeneration(manyKinds, namespacesResource, namespace)
		Expect(g.doWhatIsPlanned(ctx)).To(HaveEach("Create Wanted"), "at first")
		Expect(g.doWhatIsPlanned(ctx)).To(HaveEach("Leave InPlace"), "once that is done")

		for _, tt := range []struct {
			what, kind, name, patch string
			other                   bool
		}{
			{"a field of an item of a list", "Deployment", "web", `[{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "app:2"}]`, false},
			{"a list that is one value", "Deployment", "web", `[{"op": "add", "path": "/spec/template/spec/containers/1/args/-", "value": "z"}]`, false},
			{"an item that is gone", "Deployment", "web", `[{"op": "remove", "path": "/spec/template/spec/containers/1"}]`, false},
			{"an item that is gone from an item", "Deployment", "web", `[{"op": "remove", "path": "/spec/template/spec/containers/0/env"}]`, false},
			{"a quantity", "Deployment", "web", `[{"op": "replace", "path": "/spec/template/spec/containers/0/resources/limits/cpu", "value": "2"}]`, false},
			{"a label that is gone", "Deployment", "web", `[{"op": "remove", "path": "/metadata/labels"}]`, false},
			{"a rule that lets more in", "NetworkPolicy", "deny", `[{"op": "add", "path": "/spec/ingress/-", "value": {}}]`, false},
			{"a port of a rule", "NetworkPolicy", "deny", `[{"op": "add", "path": "/spec/ingress/0/ports/-", "value": {"port": 443}}]`, false},
			{"one more subject", "RoleBinding", "owner", `[{"op": "add", "path": "/subjects/-", "value": {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "bob"}}]`, false},
			{"a quota", "ResourceQuota", "quota", `[{"op": "replace", "path": "/spec/hard/pods", "value": "11"}]`, false},
			{"all of a map", "ResourceQuota", "quota", `[{"op": "remove", "path": "/spec/hard"}]`, false},
			{"data", "ConfigMap", "config", `[{"op": "replace", "path": "/data/one", "value": "2"}]`, false},
			{"data beside it", "ConfigMap", "config", `[{"op": "add", "path": "/data/two", "value": "2"}]`, false},
			{"a key of a Secret", "Secret", "creds", `[{"op": "add", "path": "/data/c", "value": "ZA=="}]`, false},
			{"a finalizer", "Secret", "creds", `[{"op": "remove", "path": "/metadata/finalizers"}]`, false},
			{"who applied it", "ConfigMap", "config", `[{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}]`, false},

			{"a field that the policy does not speak of", "Deployment", "web", `[{"op": "replace", "path": "/spec/replicas", "value": 3}]`, true},
			{"an item beside others", "Deployment", "web", `[{"op": "add", "path": "/spec/template/spec/containers/-", "value": {"name": "injected", "image": "injected:1"}}]`, true},
			{"an annotation", "NetworkPolicy", "deny", `[{"op": "add", "path": "/metadata/annotations", "value": {"note": "x"}}]`, true},
			{"a port beside others", "Service", "web", `[{"op": "replace", "path": "/spec/ports/0/name", "value": "http"}]`, true},
		} {
			By(tt.what)
			g.patch(ctx, tt.kind, tt.name, tt.patch)
			if tt.other {
				Expect(g.doWhatIsPlanned(ctx)).To(HaveEach("Leave InPlace"), tt.what)
				continue
			}
			Expect(g.doWhatIsPlanned(ctx)).To(ContainElement("Apply Modified"), tt.what)
			Expect(g.doWhatIsPlanned(ctx)).To(HaveEach("Leave InPlace"), "%s, once it was put back", tt.what)
		}
	})

	It("follows sources, triggers and the policy, in the proposal's own policies", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		for _, name := range []string{"foreach-ns-1", "foreach-ns-2"} {
			Expect(client.IgnoreAlreadyExists(k8s.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))).To(Succeed())
		}
		source := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "source-secret", Labels: map[string]string{"allowedToBeCloned": "true"}},
			Data:       map[string][]byte{"password": []byte("x")},
		}
		Expect(k8s.Create(ctx, source)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(k8s.Delete(ctx, source))).To(Succeed()) })
		trigger := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "list"}, Data: map[string]string{"namespaces": "foreach-ns-1,foreach-ns-2"}}
		Expect(k8s.Create(ctx, trigger)).To(Succeed())

		for _, name := range []string{"foreach-data", "foreach-clone", "foreach-clone-setfield", "foreach-clone-list"} {
			By(name)
			text, err := os.ReadFile(filepath.Join("..", "..", "internal", "generate", "testdata", "proposal", name+".yaml"))
			Expect(err).NotTo(HaveOccurred())
			g := newGeneration(string(text), configMapsResource, namespace+"/list")
			Expect(g.doWhatIsPlanned(ctx)).To(Equal([]string{"Create Wanted", "Create Wanted"}))
			Expect(g.doWhatIsPlanned(ctx)).To(HaveEach("Leave InPlace"))

			if name != "foreach-data" {
				source.Data["password"] = []byte(name)
				Expect(k8s.Update(ctx, source)).To(Succeed())
				Expect(g.doWhatIsPlanned(ctx)).To(Equal([]string{"Apply WantedOtherwise", "Apply WantedOtherwise"}), "the source was changed")
				clone := &corev1.Secret{}
				Expect(k8s.Get(ctx, client.ObjectKey{Namespace: "foreach-ns-1", Name: source.Name}, clone)).To(Succeed())
				Expect(clone.Data).To(Equal(source.Data))
			}
			trigger.Data["namespaces"] = "foreach-ns-2"
			Expect(k8s.Update(ctx, trigger)).To(Succeed())
			Expect(g.doWhatIsPlanned(ctx)).To(Equal([]string{"Delete NotWanted", "Leave InPlace"}), "one namespace is not in the list any more")

			g.policy.Synchronize = false
			Expect(g.doWhatIsPlanned(ctx)).To(Equal([]string{"Leave MadeOnce"}), "synchronize is switched off")
			g.policy.Synchronize, g.policy.Deleted = true, true
			steps := g.doWhatIsPlanned(ctx)
			if name == "foreach-data" {
				Expect(steps).To(Equal([]string{"Delete PolicyDeleted"}))
			} else {
				Expect(steps).To(Equal([]string{"Leave Retained"}), "clones stay when the policy goes")
				Expect(k8s.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "foreach-ns-2", Name: source.Name}})).To(Succeed())
			}
			trigger.Data["namespaces"] = "foreach-ns-1,foreach-ns-2"
			Expect(k8s.Update(ctx, trigger)).To(Succeed())
		}
	})
})

// The resources of triggers.
var (
	namespacesResource = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	configMapsResource = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
)

// generation is a policy with one trigger, of which the spec does what the plan says.
type generation struct {
	compiled *generate.Policy
	policy   plan.Policy
	// resource and trigger are what it is evaluated for, by namespace and name.
	resource schema.GroupVersionResource
	trigger  string
	made     map[generate.ID]bool
	marks    map[generate.ID]*plan.Marks
	kinds    map[generate.ID]schema.GroupVersionKind
}

func newGeneration(text string, resource schema.GroupVersionResource, trigger string) *generation {
	GinkgoHelper()
	var manifest struct {
		Metadata metav1.ObjectMeta             `json:"metadata"`
		Spec     v1alpha1.GeneratingPolicySpec `json:"spec"`
	}
	Expect(yaml.Unmarshal([]byte(text), &manifest)).To(Succeed())
	compiled, _, errs := generate.Compile(manifest.Metadata.Name, &manifest.Spec)
	Expect(errs).To(BeEmpty())
	return &generation{
		compiled: compiled, resource: resource, trigger: trigger,
		policy: plan.Policy{PolicyRef: plan.PolicyRef{Name: compiled.Name, UID: "uid"}, GeneratingEvaluation: compiled.Evaluation},
		made:   map[generate.ID]bool{}, marks: map[generate.ID]*plan.Marks{}, kinds: map[generate.ID]schema.GroupVersionKind{},
	}
}

// doWhatIsPlanned evaluates the policy, plans and carries it out. It returns what was done with
// each object, and why.
func (g *generation) doWhatIsPlanned(ctx context.Context) []string {
	GinkgoHelper()
	from := snapshot{ctx}
	namespace, name, ok := strings.Cut(g.trigger, "/")
	if !ok {
		namespace, name = "", namespace
	}
	object, err := from.Get(g.resource, namespace, name)
	Expect(err).NotTo(HaveOccurred())
	result, err := g.compiled.Evaluate(ctx, &generate.Trigger{Resource: g.resource, Object: object}, from)
	Expect(err).NotTo(HaveOccurred())
	trigger := plan.Trigger{ID: generate.ID{Kind: "Trigger", Name: g.trigger}, State: plan.Evaluated, Wanted: result.Objects, Made: g.made}
	for _, wanted := range result.Objects {
		g.kinds[wanted.ID] = (&unstructured.Unstructured{Object: wanted.Content}).GroupVersionKind()
	}
	var existing []plan.Existing
	for id, kind := range g.kinds {
		there := objectOf(id, kind)
		switch err := k8s.Get(ctx, client.ObjectKeyFromObject(there), there); {
		case apierrors.IsNotFound(err):
		default:
			Expect(err).NotTo(HaveOccurred())
			existing = append(existing, plan.Existing{ID: id, Content: there.Object, Marks: g.marks[id]})
		}
	}
	var done []string
	for _, step := range plan.For(g.policy, []plan.Trigger{trigger}, existing, nil) {
		done = append(done, fmt.Sprintf("%s %s", step.Do, step.Reason))
		switch step.Do {
		case plan.Create, plan.Apply:
			apply := client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: step.Content})
			Expect(k8s.Apply(ctx, apply, client.FieldOwner(plan.FieldManager), client.ForceOwnership)).To(Succeed(), step.ID.String())
			if len(step.Remove) > 0 {
				g.remove(ctx, step)
			}
			g.marks[step.ID] = step.Marks
		case plan.Delete:
			Expect(k8s.Delete(ctx, objectOf(step.ID, g.kinds[step.ID]))).To(Succeed())
		case plan.Leave:
		}
		for range step.MadeFor {
			g.made[step.ID] = true
		}
	}
	return done
}

// remove takes data off an object.
func (g *generation) remove(ctx context.Context, step plan.Step) {
	GinkgoHelper()
	var patch []map[string]string
	for _, path := range step.Remove {
		patch = append(patch, map[string]string{"op": "remove", "path": "/" + path[0].Field + "/" + path[1].Field})
	}
	encoded, err := json.Marshal(patch)
	Expect(err).NotTo(HaveOccurred())
	Expect(k8s.Patch(ctx, objectOf(step.ID, g.kinds[step.ID]), client.RawPatch(types.JSONPatchType, encoded))).To(Succeed())
}

// patch changes an object as somebody else does.
func (g *generation) patch(ctx context.Context, kind, name, patch string) {
	GinkgoHelper()
	for id, gvk := range g.kinds {
		if id.Kind == kind && id.Name == name {
			Expect(k8s.Patch(ctx, objectOf(id, gvk), client.RawPatch(types.JSONPatchType, []byte(patch)), client.FieldOwner("somebody"))).To(Succeed())
			return
		}
	}
	Fail("there is no " + kind + " " + name)
}

func objectOf(id generate.ID, kind schema.GroupVersionKind) *unstructured.Unstructured {
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(kind)
	out.SetNamespace(id.Namespace)
	out.SetName(id.Name)
	return out
}

// snapshot reads the API server, for one evaluation.
type snapshot struct {
	ctx context.Context //nolint:containedctx // a Snapshot is asked within one evaluation, which has that context
}

// KindOf implements generate.Snapshot.
func (snapshot) KindOf(resource schema.GroupVersionResource) (schema.GroupVersionKind, bool, error) {
	kind, err := k8s.RESTMapper().KindFor(resource)
	if apimeta.IsNoMatchError(err) {
		return kind, false, nil
	}
	return kind, err == nil, err
}

// IsNamespaced implements generate.Snapshot.
func (snapshot) IsNamespaced(kind schema.GroupVersionKind) (namespaced, served bool, err error) {
	mapping, err := k8s.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	switch {
	case apimeta.IsNoMatchError(err):
		return false, false, nil
	case err != nil:
		return false, false, err
	}
	return mapping.Scope.Name() == apimeta.RESTScopeNameNamespace, true, nil
}

// Get implements generate.Snapshot.
func (s snapshot) Get(resource schema.GroupVersionResource, namespace, name string) (map[string]any, error) {
	kind, err := k8s.RESTMapper().KindFor(resource)
	if err != nil {
		return nil, err
	}
	out := objectOf(generate.ID{Namespace: namespace, Name: name}, kind)
	if err := k8s.Get(s.ctx, client.ObjectKeyFromObject(out), out); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return out.Object, nil
}

// List implements generate.Snapshot.
func (s snapshot) List(resource schema.GroupVersionResource, namespace string, selector labels.Selector) ([]map[string]any, error) {
	kind, err := k8s.RESTMapper().KindFor(resource)
	if err != nil {
		return nil, err
	}
	listed := &unstructured.UnstructuredList{}
	listed.SetGroupVersionKind(kind)
	if err := k8s.List(s.ctx, listed, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, err
	}
	out := make([]map[string]any, 0, len(listed.Items))
	for i := range listed.Items {
		out = append(out, listed.Items[i].Object)
	}
	return out, nil
}
