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

package install

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/stage"
)

// right is one verb on one kind, the smallest part of a role.
type right struct {
	verb string
	// resource is the plural with its subresource, and group may be "".
	resource, group string
	// namespace and name bound the right, where they are not "".
	namespace, name string
}

// String returns the right as the documentation names it.
func (r right) String() string {
	return r.verb + " " + schema.GroupResource{Group: r.group, Resource: r.resource}.String()
}

// allows reports whether a request takes the right.
func (r right) allows(event *auditv1.Event) bool {
	of := event.ObjectRef
	if of == nil || wasForbidden(event) {
		return false
	}
	resource := of.Resource
	if of.Subresource != "" {
		resource += "/" + of.Subresource
	}
	return r.verb == event.Verb && r.resource == resource && r.group == of.APIGroup &&
		(r.namespace == "" || r.namespace == of.Namespace) && (r.name == "" || r.name == of.Name)
}

// wasForbidden reports whether a request was refused, and so has used nothing.
func wasForbidden(event *auditv1.Event) bool {
	return event.ResponseStatus != nil && event.ResponseStatus.Code == http.StatusForbidden
}

// rights returns all that RBAC gives the operator.
func (w *world) rights(ctx context.Context) []right {
	GinkgoHelper()
	var all []right
	add := func(ref rbacv1.RoleRef, subjects []rbacv1.Subject, namespace string) {
		if !slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool {
			return s.Kind == rbacv1.ServiceAccountKind && s.Namespace == operatorKey.Namespace && s.Name == controlplane.OperatorServiceAccount
		}) {
			return
		}
		for _, rule := range w.rulesOf(ctx, ref, namespace) {
			names := rule.ResourceNames
			if len(names) == 0 {
				names = []string{""}
			}
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						for _, name := range names {
							all = append(all, right{verb: verb, resource: resource, group: group, namespace: namespace, name: name})
						}
					}
				}
			}
		}
	}
	wide, narrow := &rbacv1.ClusterRoleBindingList{}, &rbacv1.RoleBindingList{}
	Expect(w.List(ctx, wide)).To(Succeed())
	Expect(w.List(ctx, narrow)).To(Succeed())
	for i := range wide.Items {
		add(wide.Items[i].RoleRef, wide.Items[i].Subjects, "")
	}
	for i := range narrow.Items {
		add(narrow.Items[i].RoleRef, narrow.Items[i].Subjects, narrow.Items[i].Namespace)
	}
	Expect(all).NotTo(BeEmpty())
	return all
}

// rulesOf returns the rules of a role.
func (w *world) rulesOf(ctx context.Context, ref rbacv1.RoleRef, namespace string) []rbacv1.PolicyRule {
	GinkgoHelper()
	if ref.Kind == "ClusterRole" {
		role := &rbacv1.ClusterRole{}
		Expect(w.Get(ctx, client.ObjectKey{Name: ref.Name}, role)).To(Succeed())
		return role.Rules
	}
	role := &rbacv1.Role{}
	Expect(w.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, role)).To(Succeed())
	return role.Rules
}

// unused returns the rights that no request took, each once, in order.
func unused(rights []right, asked controlplane.AuditEvents) []string {
	var out []string
	for _, r := range rights {
		if !slices.ContainsFunc(asked, func(event auditv1.Event) bool { return r.allows(&event) }) {
			out = append(out, r.String())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// explained returns the rights that docs/install.md says are used elsewhere than in this run.
func explained() []string {
	GinkgoHelper()
	page, err := os.ReadFile(filepath.Join(root, "docs", "install.md"))
	Expect(err).NotTo(HaveOccurred())
	_, text, found := strings.Cut(string(page), "\n| right | verbs | used when |\n")
	Expect(found).To(BeTrue(), "docs/install.md has no table of the rights that are used elsewhere")
	text, _, _ = strings.Cut(text, "\n\n")
	var out []string
	quoted := regexp.MustCompile("`([^`]+)`")
	for _, row := range strings.Split(text, "\n")[1:] {
		cells := strings.Split(row, "|")
		Expect(cells).To(HaveLen(5), row)
		Expect(strings.TrimSpace(cells[3])).NotTo(BeEmpty(), row)
		for _, resource := range quoted.FindAllStringSubmatch(cells[1], -1) {
			for verb := range strings.SplitSeq(cells[2], ",") {
				out = append(out, strings.TrimSpace(verb)+" "+resource[1])
			}
		}
	}
	Expect(out).NotTo(BeEmpty())
	return out
}

// usesAll waits until each right was used of which the documentation does not say when it is, and
// expects that it says so of no right that is not there.
func (w *world) usesAll(ctx context.Context, operator stage.Witness) {
	GinkgoHelper()
	rights, said := w.rights(ctx), explained()
	var given, never []string
	for _, r := range rights {
		given = append(given, r.String())
	}
	Expect(slices.DeleteFunc(slices.Clone(said), func(r string) bool { return slices.Contains(given, r) })).To(BeEmpty(),
		"rights that docs/install.md explains, and that the operator does not have")
	Eventually(ctx, func() []string {
		never = unused(rights, operator.Requests())
		return slices.DeleteFunc(slices.Clone(never), func(r string) bool { return slices.Contains(said, r) })
	}).WithTimeout(settled).WithPolling(time.Second).Should(BeEmpty(), "rights that nothing used, and of which docs/install.md does not say when they are")
	GinkgoWriter.Println("not used here:", strings.Join(never, "; "))
}
