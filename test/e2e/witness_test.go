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
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/stage"
)

// Keys of the audit annotations of a verdict, and of a grant.
const (
	auditReason   = stage.AuditReason
	auditParent   = stage.AuditParent
	auditPolicies = stage.AuditPolicies
	auditTrace    = stage.AuditTrace
	auditGranted  = stage.AuditGranted
)

// controllers is how the user names of controllers begin.
const controllers = "system:serviceaccount:kube-system:"

// witness reads from the audit log what was written in a namespace since the
// witness was called.
type witness struct{ stage.Witness }

// watch begins to look at a namespace.
func (c *cluster) watch(namespace string) witness {
	GinkgoHelper()
	return witness{c.WatchNamespace(namespace)}
}

// writes returns the writes that pass the filters, events apart: nobody acts upon
// these.
func (w witness) writes(filters ...controlplane.AuditFilter) controlplane.AuditEvents {
	GinkgoHelper()
	return w.Writes(filters...)
}

// refusals returns the writes of controllers that were refused, other than for a
// conflict or for an object that has gone.
func (w witness) refusals() []string {
	GinkgoHelper()
	return w.Refusals(controllers)
}

// tries waits until a controller was refused something because of a parent: one that has not
// heard of a change yet leaves things as they are, too.
func (w witness) tries(ctx context.Context, user, parent string) {
	GinkgoHelper()
	Eventually(ctx, func() []string {
		var out []string
		for _, event := range w.writes(controlplane.ByUser(user), controlplane.Refused(http.StatusForbidden)) {
			out = append(out, event.ResponseStatus.Message)
		}
		return out
	}).Should(ContainElement(ContainSubstring(parent)), "the controller did not even try")
}

// tracesOf returns the traces that the verdicts on writes name.
func (w witness) tracesOf(filters ...controlplane.AuditFilter) []string {
	GinkgoHelper()
	return w.TracesOf(filters...)
}

// reasons counts the reasons of the verdicts on writes.
func (w witness) reasons() map[string]int {
	GinkgoHelper()
	return w.Reasons()
}

func byControllers(event *auditv1.Event) bool {
	return strings.HasPrefix(userOf(event), controllers)
}

func userOf(event *auditv1.Event) string { return stage.UserOf(event) }

func describeEvent(event *auditv1.Event) string { return stage.DescribeEvent(event) }

// usersOf returns who made requests.
func usersOf(events controlplane.AuditEvents) []string {
	var out []string
	for _, event := range events {
		out = append(out, userOf(&event))
	}
	return out
}
