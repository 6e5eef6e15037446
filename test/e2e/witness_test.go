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
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"kausality.io/operator/test/controlplane"
)

// Keys of the audit annotations of a verdict, and of a grant.
const (
	auditReason   = "verdict.kausality.io/reason"
	auditParent   = "verdict.kausality.io/parent"
	auditPolicies = "verdict.kausality.io/policies"
	auditTrace    = "verdict.kausality.io/trace"
	auditGranted  = "grant.kausality.io/granted"
)

// witness reads from the audit log what was written in a namespace since the
// witness was called.
type witness struct {
	log       string
	offset    int64
	namespace string
}

// watch begins to look at a namespace.
func (c *cluster) watch(namespace string) witness {
	GinkgoHelper()
	info, err := os.Stat(c.AuditLog)
	Expect(err).NotTo(HaveOccurred())
	return witness{log: c.AuditLog, offset: info.Size(), namespace: namespace}
}

// writes are the writes that pass the filters, events apart: nobody acts upon
// these.
func (w witness) writes(filters ...controlplane.AuditFilter) controlplane.AuditEvents {
	GinkgoHelper()
	// The log may have been cut in the middle of a line when the witness began.
	events, _, err := controlplane.ReadAuditFrom(w.log, w.wholeLine())
	Expect(err).NotTo(HaveOccurred())
	return events.Where(slices.Concat([]controlplane.AuditFilter{
		controlplane.InNamespace(w.namespace), controlplane.Writes, notAnEvent,
	}, filters)...)
}

// wholeLine is where the first whole line after the offset begins.
func (w witness) wholeLine() int64 {
	GinkgoHelper()
	if w.offset == 0 {
		return 0
	}
	f, err := os.Open(w.log)
	Expect(err).NotTo(HaveOccurred())
	defer f.Close() //nolint:errcheck // Only read from.
	before := make([]byte, 1)
	for at := w.offset; ; at-- {
		if at == 0 {
			return 0
		}
		_, err := f.ReadAt(before, at-1)
		Expect(err).NotTo(HaveOccurred())
		if before[0] == '\n' {
			return at
		}
	}
}

// refusals are the writes of controllers that were refused, other than for a
// conflict or for an object that has gone.
func (w witness) refusals() []string {
	GinkgoHelper()
	var out []string
	for _, event := range w.writes(byControllers, failed) {
		out = append(out, describeEvent(&event))
	}
	return out
}

// tracesOf are the traces that the verdicts on writes name.
func (w witness) tracesOf(filters ...controlplane.AuditFilter) []string {
	GinkgoHelper()
	var out []string
	for _, event := range w.writes(filters...) {
		if trace, ok := event.Annotations[auditTrace]; ok {
			out = append(out, trace)
		}
	}
	Expect(out).NotTo(BeEmpty(), "no write has a trace")
	return out
}

// reasons counts the reasons of the verdicts on writes.
func (w witness) reasons() map[string]int {
	GinkgoHelper()
	counts := map[string]int{}
	for _, event := range w.writes() {
		if reason, ok := event.Annotations[auditReason]; ok {
			counts[reason]++
		}
	}
	return counts
}

func notAnEvent(event *auditv1.Event) bool {
	return event.ObjectRef.Resource != "events"
}

func byControllers(event *auditv1.Event) bool {
	return strings.HasPrefix(userOf(event), "system:serviceaccount:kube-system:")
}

func failed(event *auditv1.Event) bool {
	code := codeOf(event)
	return code >= http.StatusBadRequest && code != http.StatusConflict && code != http.StatusNotFound
}

func userOf(event *auditv1.Event) string {
	if event.ImpersonatedUser != nil {
		return event.ImpersonatedUser.Username
	}
	return event.User.Username
}

func codeOf(event *auditv1.Event) int32 {
	if event.ResponseStatus == nil {
		return 0
	}
	return event.ResponseStatus.Code
}

// describeEvent says in a line who did what.
func describeEvent(event *auditv1.Event) string {
	ref := event.ObjectRef
	name := ref.Resource + "/" + ref.Name
	if ref.Subresource != "" {
		name += "/" + ref.Subresource
	}
	message := ""
	if event.ResponseStatus != nil {
		message = event.ResponseStatus.Message
	}
	return fmt.Sprintf("%s %s %s %s: %d %s", event.RequestReceivedTimestamp.Format("15:04:05.000"),
		userOf(event), event.Verb, name, codeOf(event), message)
}

// usersOf are who made requests.
func usersOf(events controlplane.AuditEvents) []string {
	var out []string
	for _, event := range events {
		out = append(out, userOf(&event))
	}
	return out
}
