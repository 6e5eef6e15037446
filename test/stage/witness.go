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

package stage

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"kausality.io/operator/test/controlplane"
)

// Keys of the audit annotations of a verdict, and of a grant.
const (
	AuditReason   = "verdict.kausality.io/reason"
	AuditParent   = "verdict.kausality.io/parent"
	AuditPolicies = "verdict.kausality.io/policies"
	AuditTrace    = "verdict.kausality.io/trace"
	AuditGranted  = "grant.kausality.io/granted"
)

// Witness reads from the audit log what was written since the witness was called.
type Witness struct {
	log string
	// about is what the witness looks at, and only what is asked for of that.
	about, only []controlplane.AuditFilter
	// having are texts: only lines with one of them are decoded; all where there are none.
	having []string
	read   *reading
}

// reading is what was read of a log, each line once: a spec asks over and over again while it
// waits, and the log of a suite becomes long.
type reading struct {
	mu sync.Mutex
	// offset is where in the log the next line begins.
	offset int64
	events controlplane.AuditEvents
}

// Watch begins to look at what the filters want, such as all in a namespace.
func (c *Cluster) Watch(about ...controlplane.AuditFilter) Witness {
	GinkgoHelper()
	info, err := os.Stat(c.AuditLog)
	Expect(err).NotTo(HaveOccurred())
	w := WholeLog(c.AuditLog, about...)
	w.read.offset = wholeLine(c.AuditLog, info.Size())
	return w
}

// WatchNamespace begins to look at what is about a namespace.
func (c *Cluster) WatchNamespace(namespace string) Witness {
	GinkgoHelper()
	return c.Watch(controlplane.InNamespace(namespace)).Having(member("namespace", namespace))
}

// WholeNamespace looks at what is about a namespace, of all that is in the audit log.
func (c *Cluster) WholeNamespace(namespace string) Witness {
	return WholeLog(c.AuditLog, controlplane.InNamespace(namespace)).Having(member("namespace", namespace))
}

// member returns the text of a member of an object in JSON.
func member(name, value string) string { return fmt.Sprintf("%q:%q", name, value) }

// WatchObjects begins to look at what is about some objects.
func (c *Cluster) WatchObjects(objects ...*unstructured.Unstructured) Witness {
	GinkgoHelper()
	var names []string
	for _, object := range objects {
		names = append(names, member("name", object.GetName()))
	}
	return c.Watch(OfAny(objects...)).Having(names...)
}

// WholeLog looks at what the filters want of all that is in an audit log.
func WholeLog(log string, about ...controlplane.AuditFilter) Witness {
	return Witness{log: log, about: about, read: &reading{}}
}

// Unjudged looks at the requests in an audit log that were carried out although a webhook that should
// have been asked did not answer.
func Unjudged(log string, about ...controlplane.AuditFilter) Witness {
	return WholeLog(log, slices.Concat(about, []controlplane.AuditFilter{controlplane.FailedOpen})...).Having("failed-open.")
}

// Having returns a witness that decodes only the lines that contain one of the texts, which is much
// faster. Call it before anything is asked of the witness.
func (w Witness) Having(texts ...string) Witness {
	w.having = texts
	return w
}

// Only returns the same witness, asked for less.
func (w Witness) Only(filters ...controlplane.AuditFilter) Witness {
	w.only = slices.Concat(w.only, filters)
	return w
}

// Writes returns the writes that pass the filters, events apart: nobody acts upon
// these.
func (w Witness) Writes(filters ...controlplane.AuditFilter) controlplane.AuditEvents {
	GinkgoHelper()
	return w.Requests(slices.Concat([]controlplane.AuditFilter{controlplane.Writes, notAnEvent}, filters)...)
}

// Requests returns the requests that pass the filters, those that only read among them.
func (w Witness) Requests(filters ...controlplane.AuditFilter) controlplane.AuditEvents {
	GinkgoHelper()
	w.read.mu.Lock()
	defer w.read.mu.Unlock()
	events, offset, err := controlplane.ReadAuditHaving(w.having, w.log, w.read.offset, w.about...)
	Expect(err).NotTo(HaveOccurred())
	w.read.offset = offset
	w.read.events = append(w.read.events, events...)
	return w.read.events.Where(slices.Concat(w.only, filters)...)
}

// wholeLine returns where in a log the line begins that is cut by an offset: whoever writes it may
// not have come to its end.
func wholeLine(log string, offset int64) int64 {
	GinkgoHelper()
	f, err := os.Open(log)
	Expect(err).NotTo(HaveOccurred())
	defer f.Close() //nolint:errcheck // Only read from.
	before := make([]byte, 1)
	for ; offset > 0; offset-- {
		_, err := f.ReadAt(before, offset-1)
		Expect(err).NotTo(HaveOccurred())
		if before[0] == '\n' {
			break
		}
	}
	return offset
}

// UntilQuiet waits until there was no write for a moment.
func (w Witness) UntilQuiet(ctx context.Context, moment time.Duration) {
	GinkgoHelper()
	last := time.Now()
	Eventually(ctx, func(g Gomega) {
		events := w.Writes()
		for _, event := range events {
			if answered := event.StageTimestamp.Time; answered.After(last) {
				last = answered
			}
		}
		g.Expect(time.Since(last)).To(BeNumerically(">", moment), "%d writes", len(events))
	}).Should(Succeed())
}

// Refusals returns the writes of users with the given beginning of their name that were
// refused, other than for a conflict or for an object that has gone.
func (w Witness) Refusals(prefix string) []string {
	GinkgoHelper()
	var out []string
	for _, event := range w.Writes(func(e *auditv1.Event) bool { return strings.HasPrefix(UserOf(e), prefix) }, Failed) {
		out = append(out, DescribeEvent(&event))
	}
	return out
}

// TracesOf returns the traces that the verdicts on writes name.
func (w Witness) TracesOf(filters ...controlplane.AuditFilter) []string {
	GinkgoHelper()
	var out []string
	// Who watches may see what a write has done before the log tells of it.
	Eventually(func() []string {
		out = nil
		for _, event := range w.Writes(filters...) {
			if trace, ok := annotation(&event, AuditTrace); ok {
				out = append(out, trace)
			}
		}
		return out
	}).ShouldNot(BeEmpty(), "no write has a trace")
	return out
}

// Reasons counts the reasons of the verdicts on writes.
func (w Witness) Reasons() map[string]int {
	GinkgoHelper()
	counts := map[string]int{}
	for _, event := range w.Writes() {
		if reason, ok := annotation(&event, AuditReason); ok {
			counts[reason]++
		}
	}
	return counts
}

// OfAny wants requests about one of some objects.
func OfAny(objects ...*unstructured.Unstructured) controlplane.AuditFilter {
	var filters []controlplane.AuditFilter
	for _, object := range objects {
		filters = append(filters, controlplane.OnObject(object.GetNamespace(), object.GetName()))
	}
	return controlplane.Any(filters...)
}

func notAnEvent(event *auditv1.Event) bool {
	return event.ObjectRef.Resource != "events"
}

// Failed wants requests that were answered with an error, other than a conflict or that
// an object has gone.
func Failed(event *auditv1.Event) bool {
	code := CodeOf(event)
	return code >= http.StatusBadRequest && code != http.StatusConflict && code != http.StatusNotFound
}

// annotation returns what the operator says about a request, whichever of its webhooks was
// asked: policies that fail closed have one of their own.
func annotation(event *auditv1.Event, key string) (string, bool) {
	value, ok := event.Annotations[key]
	if !ok {
		value, ok = event.Annotations[strings.Replace(key, ".", "-fail.", 1)]
	}
	return value, ok
}

// UserOf returns who made a request, as whom it was judged.
func UserOf(event *auditv1.Event) string {
	if event.ImpersonatedUser != nil {
		return event.ImpersonatedUser.Username
	}
	return event.User.Username
}

// CodeOf returns the HTTP status of the answer to a request.
func CodeOf(event *auditv1.Event) int32 {
	if event.ResponseStatus == nil {
		return 0
	}
	return event.ResponseStatus.Code
}

// DescribeEvent says in a line who did what.
func DescribeEvent(event *auditv1.Event) string {
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
		UserOf(event), event.Verb, name, CodeOf(event), message)
}
