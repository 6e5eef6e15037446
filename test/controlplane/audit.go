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

package controlplane

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// AuditEvents are requests that the API server has answered, in the order of
// its answers.
type AuditEvents []auditv1.Event

// ReadAudit returns all events of the audit log at path.
func ReadAudit(path string) (AuditEvents, error) {
	events, _, err := ReadAuditFrom(path, 0)
	return events, err
}

// ReadAuditFrom returns the events of the audit log at path that begin at the
// given offset in bytes and that all filters want, and the offset to go on from. The API server may be
// writing to the log: a last line that is not complete is left for the next
// call.
func ReadAuditFrom(path string, offset int64, filters ...AuditFilter) (AuditEvents, int64, error) {
	return ReadAuditHaving(nil, path, offset, filters...)
}

// ReadAuditHaving is ReadAuditFrom for the lines that contain one of the texts, such as
// `"namespace":"default"`, or for all lines where there are no texts. It does not decode the others:
// decoding takes by far the most time.
func ReadAuditHaving(texts []string, path string, offset int64, filters ...AuditFilter) (AuditEvents, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, offset, fmt.Errorf("reading the audit log: %w", err)
	}
	defer f.Close() //nolint:errcheck // Only read from.
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return nil, offset, fmt.Errorf("reading the audit log %s: %w", path, err)
	}
	var events AuditEvents
	for lines := bufio.NewReader(f); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return events, offset, nil
		}
		if err != nil {
			return events, offset, fmt.Errorf("reading the audit log %s: %w", path, err)
		}
		if has(line, texts) {
			var event auditv1.Event
			if err := json.Unmarshal(line, &event); err != nil {
				return events, offset, fmt.Errorf("the audit log %s does not parse at offset %d: %w", path, offset, err)
			}
			if wanted(&event, filters) {
				events = append(events, event)
			}
		}
		offset += int64(len(line))
	}
}

// has reports whether a line has one of the texts in it, or there are none.
func has(line []byte, texts []string) bool {
	return len(texts) == 0 || slices.ContainsFunc(texts, func(text string) bool { return bytes.Contains(line, []byte(text)) })
}

// AuditFilter tells whether an event is wanted.
type AuditFilter func(*auditv1.Event) bool

// Where returns the events that all filters want.
func (e AuditEvents) Where(filters ...AuditFilter) AuditEvents {
	var kept AuditEvents
	for i := range e {
		if wanted(&e[i], filters) {
			kept = append(kept, e[i])
		}
	}
	return kept
}

// wanted reports whether all filters want an event.
func wanted(event *auditv1.Event, filters []AuditFilter) bool {
	return !slices.ContainsFunc(filters, func(wants AuditFilter) bool { return !wants(event) })
}

// Writes wants requests that changed something, or would have if they had not
// been refused. Dry runs and questions in the form of a create, such as access
// reviews and token requests, are none.
func Writes(event *auditv1.Event) bool {
	if !slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, event.Verb) || dryRun(event) {
		return false
	}
	ref := event.ObjectRef
	switch {
	case ref == nil:
		return false
	case ref.APIGroup == authenticationv1.GroupName, ref.APIGroup == authorizationv1.GroupName:
		return false
	case ref.APIGroup == "" && ref.Resource == "serviceaccounts" && ref.Subresource == "token":
		return false
	}
	return true
}

// dryRun reports whether the request asked not to be carried out.
func dryRun(event *auditv1.Event) bool {
	if uri, err := url.Parse(event.RequestURI); err == nil && uri.Query().Has("dryRun") {
		return true
	}
	// A delete may say so in its body.
	if event.RequestObject == nil || !strings.HasPrefix(event.Verb, "delete") {
		return false
	}
	var options struct {
		DryRun []string `json:"dryRun"`
	}
	return json.Unmarshal(event.RequestObject.Raw, &options) == nil && len(options.DryRun) > 0
}

// FailedOpen wants requests that one of the API server's webhooks should have been asked
// about, and that were carried out without its answer.
func FailedOpen(event *auditv1.Event) bool {
	for key := range event.Annotations {
		if strings.HasPrefix(key, "failed-open.validating.webhook.admission.k8s.io/") ||
			strings.HasPrefix(key, "failed-open.mutation.webhook.admission.k8s.io/") {
			return true
		}
	}
	return false
}

// Succeeded wants requests that were carried out.
func Succeeded(event *auditv1.Event) bool {
	return event.ResponseStatus != nil && event.ResponseStatus.Code < 400
}

// Refused wants requests that were answered with the given HTTP status code.
func Refused(code int32) AuditFilter {
	return func(event *auditv1.Event) bool {
		return event.ResponseStatus != nil && event.ResponseStatus.Code == code
	}
}

// OfResource wants requests for a resource, such as "apps", "replicasets"; its
// subresources included.
func OfResource(group, resource string) AuditFilter {
	return func(event *auditv1.Event) bool {
		return event.ObjectRef != nil && event.ObjectRef.APIGroup == group && event.ObjectRef.Resource == resource
	}
}

// OfSubresource wants requests for a subresource, such as "scale"; "" wants
// those for main resources.
func OfSubresource(subresource string) AuditFilter {
	return func(event *auditv1.Event) bool {
		return event.ObjectRef != nil && event.ObjectRef.Subresource == subresource
	}
}

// OnObject wants requests for one object; the namespace of a cluster-scoped one
// is "".
func OnObject(namespace, name string) AuditFilter {
	return func(event *auditv1.Event) bool {
		return event.ObjectRef != nil && event.ObjectRef.Namespace == namespace && event.ObjectRef.Name == name
	}
}

// Any wants requests that one of the filters wants.
func Any(filters ...AuditFilter) AuditFilter {
	return func(event *auditv1.Event) bool {
		return slices.ContainsFunc(filters, func(wanted AuditFilter) bool { return wanted(event) })
	}
}

// InNamespace wants requests for objects in a namespace.
func InNamespace(namespace string) AuditFilter {
	return func(event *auditv1.Event) bool {
		return event.ObjectRef != nil && event.ObjectRef.Namespace == namespace
	}
}

// ByUser wants requests of a user, who is the impersonated one where somebody
// is impersonated.
func ByUser(name string) AuditFilter {
	return func(event *auditv1.Event) bool { return auditUser(event) == name }
}

// ByVerb wants requests with one of the given verbs.
func ByVerb(verbs ...string) AuditFilter {
	return func(event *auditv1.Event) bool { return slices.Contains(verbs, event.Verb) }
}

// Since wants requests that were received at t or later. The API server tells
// microseconds.
func Since(t time.Time) AuditFilter {
	return func(event *auditv1.Event) bool {
		return !event.RequestReceivedTimestamp.Time.Before(t.Truncate(time.Microsecond))
	}
}

// AuditKey is what requests are counted by.
type AuditKey struct {
	User, Verb, Group, Resource, Subresource string
}

// Tally counts events.
func (e AuditEvents) Tally() map[AuditKey]int {
	counts := make(map[AuditKey]int)
	for i := range e {
		key := AuditKey{User: auditUser(&e[i]), Verb: e[i].Verb}
		if ref := e[i].ObjectRef; ref != nil {
			key.Group, key.Resource, key.Subresource = ref.APIGroup, ref.Resource, ref.Subresource
		}
		counts[key]++
	}
	return counts
}

func auditUser(event *auditv1.Event) string {
	if event.ImpersonatedUser != nil {
		return event.ImpersonatedUser.Username
	}
	return event.User.Username
}
