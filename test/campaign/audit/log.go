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

package audit

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"kausality.io/operator/test/campaign/marks"
)

// Verbs of requests.
const (
	VerbCreate           = "create"
	VerbUpdate           = "update"
	VerbPatch            = "patch"
	VerbDelete           = "delete"
	VerbDeleteCollection = "deletecollection"
)

// Sub-resources that change an object without showing it.
const (
	SubScale    = "scale"
	SubEviction = "eviction"
)

// failedOpen begins the annotation by which the API server says that it let a request through
// without the answer of a webhook.
const failedOpen = "failed-open.validating.webhook.admission.k8s.io/"

// These end the annotations with what the operator says that let a request through, and with
// what no allowance covers of it.
const (
	reasonKey    = "kausality.io/reason"
	uncoveredKey = "kausality.io/uncovered"
)

// approval is the name of the annotation by which something is approved.
const approval = "approve"

// Write is a request to change something, with its answer.
type Write struct {
	Verb, Group, Resource, Subresource, Namespace, Name string

	User   string
	Groups []string
	// What a request changed was changed between these.
	Received, Answered time.Time
	Code               int32
	// Unasked is true where the API server went on without the answer of a webhook.
	Unasked bool
	// Reasons are what the operator says about it, each time that it was asked, and Uncovered is
	// true where it says that no allowance covers it.
	Reasons   []string
	Uncovered bool
	// Notes are all annotations that the operator left in the log, and Message is what who asked was
	// told where the request was not carried out.
	Notes   map[string]string
	Message string
	// Named are the acts whose marks the request has where something is named, and Valued those whose
	// marks it has as values.
	Named, Valued []int
	// Posing is true where somebody asked in the name of another.
	Posing bool
	// Refused is the object that was to be stored, where the request was denied.
	Refused json.RawMessage
	// Patch is what was asked for by a patch that was denied.
	Patch json.RawMessage
	// Said is what the request itself says of the metadata of the object.
	Said Metadata
	// Object is what was stored, nil where the answer does not show it; Items are what a
	// collection deleted, and Scaled is the number of replicas that a scale has set.
	Object *Object
	Items  []*Object
	Scaled *int64
	// Tried are the acts whose marks are in texts of the request, where it was denied.
	Tried []int
	// UID of the object.
	UID types.UID
}

// Metadata is what matters of the metadata in a request.
type Metadata struct {
	Annotations map[string]*string `json:"annotations"`
	Owners      []Owner            `json:"ownerReferences"`
}

// Succeeded reports whether the request was carried out.
func (w *Write) Succeeded() bool { return w.Code > 0 && w.Code < http.StatusBadRequest }

// Creates reports whether the request made the Object: applying does, too.
func (w *Write) Creates() bool { return w.Verb == VerbCreate || w.Code == http.StatusCreated }

// Removes reports whether the request asks for the end of something.
func (w *Write) Removes() bool {
	return w.Verb == VerbDelete || w.Verb == VerbDeleteCollection || w.Subresource == SubEviction
}

func (w *Write) String() string {
	resource := w.Resource
	if w.Subresource != "" {
		resource += "/" + w.Subresource
	}
	return fmt.Sprintf("%s %s by %s: %s %s/%s: %d", w.Received.Format(Clock), w.Verb, w.User, resource, w.Namespace, w.Name, w.Code)
}

// Clock is how times are told.
const Clock = "15:04:05.000"

// Log is an audit log, as far as it is looked at.
type Log struct {
	// Writes are the requests, in the order in which they were answered.
	Writes []*Write
	kinds  Kinds
	// contents are the contents of objects by their text: most versions share one.
	contents map[string]*Content
}

// Kinds are those that somebody looks at, by their resources. Of two of one name both have the group of one behind a
// dot: what is known as "things.example.org" is a "Thing.example.org".
type Kinds map[string]string

// Resource returns what a resource of a group is known as.
func (k Kinds) Resource(group, resource string) string {
	if full := resource + "." + group; k[full] != "" {
		return full
	}
	return resource
}

// Kind returns what a kind of a group is known as.
func (k Kinds) Kind(group, kind string) string {
	full := kind + "." + group
	for _, known := range k {
		if known == full {
			return full
		}
	}
	return kind
}

// Plain returns a kind as the API server calls it.
func Plain(kind string) string {
	plain, _, _ := strings.Cut(kind, ".")
	return plain
}

// name has references name the kinds as they are known.
func (k Kinds) name(owners []Owner) {
	for i := range owners {
		owners[i].Kind = k.Kind(groupOf(owners[i].APIVersion), owners[i].Kind)
	}
}

// Read reads an audit log. A last line that is not whole was being written.
func Read(r io.Reader, kinds Kinds) (*Log, error) {
	log := &Log{kinds: kinds, contents: map[string]*Content{}}
	return log, Scan(r, kinds, func(w *Write, answer []byte) error {
		log.Writes = append(log.Writes, w)
		return log.addAnswer(w, answer)
	})
}

// In returns the log of one namespace, and of what is in none.
func (l *Log) In(namespace string) *Log {
	out := *l
	out.Writes = slices.DeleteFunc(slices.Clone(l.Writes), func(w *Write) bool { return w.Namespace != "" && w.Namespace != namespace })
	return &out
}

// Before returns the log with what was asked for before a time.
func (l *Log) Before(t time.Time) *Log {
	out := *l
	out.Writes = slices.DeleteFunc(slices.Clone(l.Writes), func(w *Write) bool { return !w.Received.Before(t) })
	return &out
}

// Scan reads the requests to change one of the kinds that an audit log has, one after the other,
// each with the object that it was answered with where it was carried out.
func Scan(r io.Reader, kinds Kinds, each func(w *Write, answer []byte) error) error {
	lines := bufio.NewReaderSize(r, 1<<20)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !aboutUs(line) {
			continue
		}
		var event auditv1.Event
		if err := json.Unmarshal(line, &event); err != nil {
			return fmt.Errorf("line %d of the audit log does not parse: %w", number, err)
		}
		w := writeOf(&event, kinds)
		if w == nil {
			continue
		}
		var answer []byte
		if event.ResponseObject != nil && w.Succeeded() {
			answer = event.ResponseObject.Raw
		}
		if err := each(w, answer); err != nil {
			return fmt.Errorf("line %d of the audit log: %w", number, err)
		}
	}
}

// aboutUs is quick, and may say yes too often: most of a log are reads.
func aboutUs(line []byte) bool {
	head := string(line[:min(len(line), 4096)])
	for _, verb := range []string{VerbCreate, VerbUpdate, VerbPatch, VerbDelete, VerbDeleteCollection} {
		if strings.Contains(head, `"verb":"`+verb+`"`) {
			return true
		}
	}
	return false
}

// writeOf returns the request that an event is about, nil if it changes none of the kinds.
func writeOf(event *auditv1.Event, kinds Kinds) *Write {
	ref := event.ObjectRef
	if ref == nil || dryRun(event) {
		return nil
	}
	resource := kinds.Resource(ref.APIGroup, ref.Resource)
	if kinds[resource] == "" {
		return nil
	}
	user := event.User
	if event.ImpersonatedUser != nil {
		user = *event.ImpersonatedUser
	}
	w := &Write{
		Verb: event.Verb, Group: ref.APIGroup, Resource: resource, Subresource: ref.Subresource, Namespace: ref.Namespace, Name: ref.Name,
		User: user.Username, Groups: user.Groups,
		Received: event.RequestReceivedTimestamp.Time, Answered: event.StageTimestamp.Time,
		Posing: event.ImpersonatedUser != nil,
	}
	if event.ResponseStatus != nil {
		w.Code, w.Message = event.ResponseStatus.Code, event.ResponseStatus.Message
	}
	for key, value := range event.Annotations {
		if strings.HasSuffix(key, reasonKey) {
			w.Reasons = append(w.Reasons, value)
		}
		w.Unasked = w.Unasked || strings.HasPrefix(key, failedOpen)
		w.Uncovered = w.Uncovered || strings.HasSuffix(key, uncoveredKey)
		if webhook, _, _ := strings.Cut(key, "/"); strings.HasSuffix(webhook, "."+strings.TrimSuffix(ours, "/")) {
			if w.Notes == nil {
				w.Notes = map[string]string{}
			}
			w.Notes[key] = value
		}
	}
	if event.RequestObject != nil {
		w.Named, w.Valued = marks.Used(event.RequestObject.Raw)
		if w.Code == http.StatusForbidden && (w.Verb == VerbCreate || w.Verb == VerbUpdate) {
			w.Refused = event.RequestObject.Raw
		}
		if w.Code == http.StatusForbidden && w.Verb == VerbPatch {
			w.Patch = event.RequestObject.Raw
		}
		var said struct {
			Metadata Metadata `json:"metadata"`
		}
		// A list of JSON patches says nothing here.
		if json.Unmarshal(event.RequestObject.Raw, &said) == nil {
			w.Said = said.Metadata
			kinds.name(w.Said.Owners)
		}
	}
	slices.Sort(w.Reasons) // Annotations come in any order.
	if w.Code == http.StatusForbidden && event.RequestObject != nil {
		w.Tried = marks.Texts(string(event.RequestObject.Raw))
	}
	return w
}

// dryRun reports whether a request was only tried. A delete may say so in its body.
func dryRun(event *auditv1.Event) bool {
	if strings.Contains(event.RequestURI, "dryRun=") {
		return true
	}
	if event.RequestObject == nil || !slices.Contains([]string{VerbDelete, VerbDeleteCollection}, event.Verb) {
		return false
	}
	var options struct {
		DryRun []string `json:"dryRun"`
	}
	return json.Unmarshal(event.RequestObject.Raw, &options) == nil && len(options.DryRun) > 0
}

// Approved returns the paths of which the request approves, whatever object the annotation is for.
func (w *Write) Approved() []string {
	return w.approvedUnder(func(key string) bool { return strings.HasSuffix(key, ours+approval) })
}

func (w *Write) approvedUnder(isKey func(string) bool) []string {
	var out []string
	for key, value := range w.Said.Annotations {
		if isKey(key) && value != nil && *value != "" {
			out = append(out, strings.Split(*value, ",")...)
		}
	}
	return out
}

// addAnswer keeps what the answer to a write shows.
func (l *Log) addAnswer(w *Write, raw []byte) error {
	if len(raw) == 0 {
		return nil
	}
	var head struct {
		Kind     string `json:"kind"`
		Metadata struct {
			UID             types.UID `json:"uid"`
			ResourceVersion string    `json:"resourceVersion"`
		} `json:"metadata"`
		Spec struct {
			Replicas *int64 `json:"replicas"`
		} `json:"spec"`
		Details struct {
			UID types.UID `json:"uid"`
		} `json:"details"`
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		// The spec of something else, whose replicas are no number.
		head.Kind = kindOf(raw)
	}
	kind := l.kinds[w.Resource]
	switch head.Kind {
	case Plain(kind):
		obj, err := l.Decode(raw)
		if err != nil {
			return err
		}
		obj.Kind = kind
		w.Object, w.UID, w.Name = obj, obj.UID, obj.Name
	case Partial:
		obj, err := l.Decode(raw)
		if err != nil {
			return err
		}
		obj.Content, obj.Kind = nil, Partial
		w.Object, w.UID, w.Name = obj, obj.UID, obj.Name
	case Plain(kind) + "List":
		for _, item := range head.Items {
			obj, err := l.Decode(item)
			if err != nil {
				return err
			}
			obj.Kind = kind
			w.Items = append(w.Items, obj)
		}
	case "Scale":
		w.UID, w.Scaled = head.Metadata.UID, new(int64)
		if head.Spec.Replicas != nil {
			*w.Scaled = *head.Spec.Replicas
		}
		w.Object = &Object{Kind: head.Kind, UID: head.Metadata.UID, Revision: number(head.Metadata.ResourceVersion)}
	case "Status":
		w.UID = head.Details.UID
	}
	return nil
}

// Partial is the kind of an answer that shows the metadata of an object and nothing else: the
// garbage collector asks for no more.
const Partial = "PartialObjectMetadata"

func kindOf(raw []byte) string {
	var head struct {
		Kind string `json:"kind"`
	}
	if json.Unmarshal(raw, &head) != nil {
		return ""
	}
	return head.Kind
}
