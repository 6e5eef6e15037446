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
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/builders"
)

// history is a set that has rolled out, under a policy that names its Pods and not
// its revisions.
type history struct {
	ns       string
	kind     string
	revision *appsv1.ControllerRevision
}

// history makes a set, and returns it with its one revision.
func (s *scene) history(ctx context.Context, name, kind string) history {
	GinkgoHelper()
	policies := name + "-" + strings.ToLower(kind) + "-" + s.ns
	ns := shared.newNamespaceFor(ctx, policies)
	shared.apply(ctx, ownPolicy(policies, appsv1.GroupName, kind, `
  maintaining:
    policies:
    - {target: {apiGroup: "", apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create, Delete]}
  rules:
  - trigger: spec.template
    policies:
    - {target: {apiGroup: "", apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create, Delete]}
`))
	var set client.Object = builders.MakeStatefulSet(ns, "web", 2)
	if kind == "DaemonSet" {
		set = builders.MakeDaemonSet(ns, "web")
	}
	Expect(shared.alice().Create(ctx, set)).To(Succeed())
	shared.hasPods(ctx, ns, map[string]int{"web:1": 2})
	shared.ended(ctx, set)
	var revisions appsv1.ControllerRevisionList
	Expect(shared.List(ctx, &revisions, client.InNamespace(ns))).To(Succeed())
	Expect(revisions.Items).To(HaveLen(1))
	return history{ns, kind, &revisions.Items[0]}
}

// another returns a revision for the same set with another template. Its keys are sorted:
// data is compared as bytes, and a patch of anything else sorts them.
func (h history) another(name string) *appsv1.ControllerRevision {
	raw := fmt.Sprintf(`{"spec":{"template":{"$patch":"replace","metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"image":"web:rogue","name":%q}]}}}}`,
		builders.Container)
	r := &appsv1.ControllerRevision{Revision: 9}
	r.Namespace, r.Name, r.Data.Raw = h.ns, name, []byte(raw)
	r.Labels, r.OwnerReferences = h.revision.Labels, h.revision.OwnerReferences
	return r
}

// intact checks that the history, and the Pods, are as they were.
func (h history) intact(ctx context.Context) {
	GinkgoHelper()
	var revisions appsv1.ControllerRevisionList
	Expect(shared.List(ctx, &revisions, client.InNamespace(h.ns), client.MatchingLabels(h.revision.Labels))).To(Succeed())
	Expect(revisions.Items).To(HaveLen(1))
	now := revisions.Items[0]
	Expect(now.UID).To(Equal(h.revision.UID))
	Expect(now.Revision).To(Equal(h.revision.Revision))
	Expect(now.OwnerReferences).To(Equal(h.revision.OwnerReferences))
	By("losing a Pod")
	Expect(shared.serviceAccount(podCollector).Delete(ctx, shared.anyPod(ctx, h.ns))).To(Succeed())
	shared.hasPods(ctx, h.ns, map[string]int{"web:1": 2})
}

// writingHistory returns the ways to have the controller of a set make other Pods, by the
// revisions in which it keeps their templates. Their data cannot be changed, so that
// they have to be replaced.
func writingHistory() []bypass {
	replacing := func(kind string) func(context.Context, *scene) {
		return func(ctx context.Context, s *scene) {
			h := s.history(ctx, "replacing", kind)
			refuse(s.rogue.Delete(ctx, h.revision), "deletion of ControllerRevision "+h.revision.Name, kind+" web")
			refuse(s.rogue.Create(ctx, h.another(h.revision.Name)), "creation of ControllerRevision "+h.revision.Name)
			refuse(s.rogue.Create(ctx, h.another("web-rogue")), "creation of ControllerRevision web-rogue")
			h.intact(ctx)
		}
	}
	changing := func(kind string) func(context.Context, *scene) {
		return func(ctx context.Context, s *scene) {
			h := s.history(ctx, "changing", kind)
			refuse(s.rogue.Patch(ctx, h.revision.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"revision":9}`))),
				"changing revision of ControllerRevision "+h.revision.Name)
			raw := []byte(`{"data":{"spec":{"template":{"spec":{"nodeName":"rogue"}}}}}`)
			Expect(s.rogue.Patch(ctx, h.revision.DeepCopy(), client.RawPatch(types.MergePatchType, raw))).
				To(MatchError(apierrors.IsInvalid, "the API server lets it through to be judged"))
			h.intact(ctx)
		}
	}
	leaving := func(kind string) func(context.Context, *scene) {
		return func(ctx context.Context, s *scene) {
			h := s.history(ctx, "leaving", kind)
			free := h.another("free")
			free.OwnerReferences = nil
			refuse(s.rogue.Create(ctx, free.DeepCopy()), "creation of ControllerRevision free", kind+" web")
			// An owner that is no controller does not keep a set from adopting it.
			free.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: "00000000-0000-0000-0000-000000000000"}}
			refuse(s.rogue.Create(ctx, free.DeepCopy()), "creation of ControllerRevision free", kind+" web")
			free.OwnerReferences, free.Labels = nil, nil
			Expect(s.rogue.Create(ctx, free)).To(Succeed())
			refuse(s.rogue.try(ctx, free, `{"metadata":{"labels":{"app":"web"}}}`), "metadata.labels[app]")
			h.intact(ctx)
		}
	}
	return []bypass{
		{"replacing the revision of a StatefulSet", replacing("StatefulSet")},
		{"replacing the revision of a DaemonSet", replacing("DaemonSet")},
		{"changing the revision of a StatefulSet", changing("StatefulSet")},
		{"changing the revision of a DaemonSet", changing("DaemonSet")},
		{"deleting all revisions at once", func(ctx context.Context, s *scene) {
			h := s.history(ctx, "deleting", "StatefulSet")
			refuse(s.rogue.DeleteAllOf(ctx, &appsv1.ControllerRevision{}, client.InNamespace(h.ns)), "deletion of ControllerRevision "+h.revision.Name)
			h.intact(ctx)
		}},
		{"taking a revision away from its set", func(ctx context.Context, s *scene) {
			h := s.history(ctx, "taking", "StatefulSet")
			refuse(s.rogue.owners(ctx, h.revision), "metadata.ownerReferences")
			refuse(s.rogue.try(ctx, h.revision.DeepCopy(), relabeled), "metadata.labels[app]")
			h.intact(ctx)
		}},
		{"taking a revision away from its set as the controller of that", func(ctx context.Context, s *scene) {
			for kind, controller := range map[string]string{"StatefulSet": statefulSetController, "DaemonSet": daemonSetController} {
				h := s.history(ctx, "keeping", kind)
				rogue := shared.as(controller, "system:masters")
				for field, value := range map[string]any{"name": "other", "kind": "Other", "apiVersion": "other.example.org/v1", "controller": false} {
					refuse(rogue.reown(ctx, h.revision, field, value), "metadata.ownerReferences[0]."+field)
				}
				refuse(rogue.owners(ctx, h.revision), "metadata.ownerReferences")
				refuse(rogue.try(ctx, h.revision.DeepCopy(), relabeled), "metadata.labels[app]")
				h.intact(ctx)
			}
		}},
		{"giving a free revision to a set", func(ctx context.Context, s *scene) {
			h := s.history(ctx, "giving", "StatefulSet")
			free := h.another("free")
			free.Labels, free.OwnerReferences = nil, nil
			Expect(s.rogue.Create(ctx, free)).To(Succeed())
			refuse(s.rogue.owners(ctx, free, h.revision.OwnerReferences...), "metadata.ownerReferences")
			h.intact(ctx)
		}},
		{"leaving a revision for a StatefulSet to adopt", leaving("StatefulSet")},
		{"leaving a revision for a DaemonSet to adopt", leaving("DaemonSet")},
		{"relabeling the revision of a DaemonSet, so that its Pods are replaced", func(ctx context.Context, s *scene) {
			h := s.history(ctx, "relabeling", "DaemonSet")
			for _, value := range []string{`"rogue"`, "null"} {
				refuse(s.rogue.try(ctx, h.revision.DeepCopy(), patch(fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, appsv1.DefaultDaemonSetUniqueLabelKey, value))),
					"metadata.labels["+appsv1.DefaultDaemonSetUniqueLabelKey+"]")
			}
			h.intact(ctx)
		}},
	}
}
