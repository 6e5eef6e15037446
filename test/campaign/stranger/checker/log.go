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

package checker

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
)

// Verbs of requests.
const (
	verbCreate           = "create"
	verbUpdate           = "update"
	verbPatch            = "patch"
	verbDelete           = "delete"
	verbDeleteCollection = "deletecollection"
)

// Sub-resources that change an object without showing it.
const (
	subScale    = "scale"
	subEviction = "eviction"
)

// failedOpen begins the annotation by which the API server says that it let a request through
// without the answer of a webhook.
const failedOpen = "failed-open.validating.webhook.admission.k8s.io/"

// reasonKey ends the annotation with what the operator says that let a request through.
const reasonKey = "kausality.io/reason"

// approveSuffix ends the annotations by which something is approved.
const approveSuffix = "kausality.io/approve"

// write is a request to change something, with its answer.
type write struct {
	verb, resource, sub, namespace, name string

	user   string
	groups []string
	// What a request changed was changed between these.
	received, answered time.Time
	code               int32
	// unasked is true where the API server went on without the answer of a webhook.
	unasked bool
	// reason is what the operator says about it. It is told in stories, and is no evidence.
	reason string
	// approves is true where the request sets an annotation by which something is approved.
	approves bool
	// object is what was stored, items are what a collection deleted, and scaled is the
	// number of replicas that a scale has set.
	object *object
	items  []*object
	scaled *int64
	uid    types.UID
}

func (w *write) succeeded() bool { return w.code > 0 && w.code < http.StatusBadRequest }

// creates reports whether the request made the object: applying does, too.
func (w *write) creates() bool { return w.verb == verbCreate || w.code == http.StatusCreated }

// removes reports whether the request asks for the end of something.
func (w *write) removes() bool {
	return w.verb == verbDelete || w.verb == verbDeleteCollection || w.sub == subEviction
}

func (w *write) String() string {
	resource := w.resource
	if w.sub != "" {
		resource += "/" + w.sub
	}
	return fmt.Sprintf("%s %s by %s: %s %s/%s: %d", w.received.Format(clock), w.verb, w.user, resource, w.namespace, w.name, w.code)
}

// clock is how times are told.
const clock = "15:04:05.000"

// Log is an audit log, as far as it is looked at.
type Log struct {
	writes []*write
	// contents are the contents of objects by their text: most versions share one.
	contents map[string]*content
}

// Read reads an audit log.
func Read(r io.Reader) (*Log, error) {
	log := &Log{contents: map[string]*content{}}
	lines := bufio.NewReaderSize(r, 1<<20)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return log, nil
		}
		if err != nil {
			return nil, err
		}
		if !aboutUs(line) {
			continue
		}
		var event auditv1.Event
		if err := json.Unmarshal(line, &event); err != nil {
			return nil, fmt.Errorf("line %d of the audit log does not parse: %w", number, err)
		}
		if err := log.add(&event); err != nil {
			return nil, fmt.Errorf("line %d of the audit log: %w", number, err)
		}
	}
}

// aboutUs is quick, and may say yes too often: most of a log are reads.
func aboutUs(line []byte) bool {
	head := string(line[:min(len(line), 4096)])
	for _, verb := range []string{verbCreate, verbUpdate, verbPatch, verbDelete, verbDeleteCollection} {
		if strings.Contains(head, `"verb":"`+verb+`"`) {
			return true
		}
	}
	return false
}

// add keeps an event that is a request to change one of the kinds.
func (l *Log) add(event *auditv1.Event) error {
	ref := event.ObjectRef
	if ref == nil || kinds[ref.Resource] == "" || dryRun(event) {
		return nil
	}
	user := event.User
	if event.ImpersonatedUser != nil {
		user = *event.ImpersonatedUser
	}
	w := &write{
		verb: event.Verb, resource: ref.Resource, sub: ref.Subresource, namespace: ref.Namespace, name: ref.Name,
		user: user.Username, groups: user.Groups,
		received: event.RequestReceivedTimestamp.Time, answered: event.StageTimestamp.Time,
	}
	if event.ResponseStatus != nil {
		w.code = event.ResponseStatus.Code
	}
	for key, value := range event.Annotations {
		if strings.HasSuffix(key, reasonKey) {
			w.reason = value
		}
		w.unasked = w.unasked || strings.HasPrefix(key, failedOpen)
	}
	if event.RequestObject != nil {
		w.approves = approves(event.RequestObject.Raw)
	}
	l.writes = append(l.writes, w)
	if event.ResponseObject == nil || !w.succeeded() {
		return nil
	}
	return l.addAnswer(w, event.ResponseObject.Raw)
}

// dryRun reports whether a request was only tried. A delete may say so in its body.
func dryRun(event *auditv1.Event) bool {
	if strings.Contains(event.RequestURI, "dryRun=") {
		return true
	}
	if event.RequestObject == nil || !slices.Contains([]string{verbDelete, verbDeleteCollection}, event.Verb) {
		return false
	}
	var options struct {
		DryRun []string `json:"dryRun"`
	}
	return json.Unmarshal(event.RequestObject.Raw, &options) == nil && len(options.DryRun) > 0
}

// approves reports whether a request says that something is approved.
func approves(raw []byte) bool {
	var said struct {
		Metadata struct {
			Annotations map[string]*string `json:"annotations"`
		} `json:"metadata"`
	}
	if json.Unmarshal(raw, &said) != nil {
		return false // A list of JSON patches.
	}
	for key, value := range said.Metadata.Annotations {
		if strings.HasSuffix(key, approveSuffix) && value != nil && *value != "" {
			return true
		}
	}
	return false
}

// addAnswer keeps what the answer to a write shows.
func (l *Log) addAnswer(w *write, raw []byte) error {
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
	switch head.Kind {
	case kinds[w.resource]:
		obj, err := l.decode(raw)
		if err != nil {
			return err
		}
		w.object, w.uid, w.name = obj, obj.uid, obj.name
	case partial:
		obj, err := l.decode(raw)
		if err != nil {
			return err
		}
		obj.content, obj.kind = nil, partial
		w.object, w.uid, w.name = obj, obj.uid, obj.name
	case kinds[w.resource] + "List":
		for _, item := range head.Items {
			obj, err := l.decode(item)
			if err != nil {
				return err
			}
			obj.kind = kinds[w.resource]
			w.items = append(w.items, obj)
		}
	case "Scale":
		w.uid, w.scaled = head.Metadata.UID, new(int64)
		if head.Spec.Replicas != nil {
			*w.scaled = *head.Spec.Replicas
		}
		w.object = &object{kind: head.Kind, uid: head.Metadata.UID, revision: number(head.Metadata.ResourceVersion)}
	case "Status":
		w.uid = head.Details.UID
	}
	return nil
}

// partial is the kind of an answer that shows the metadata of an object and nothing else: the
// garbage collector asks for no more.
const partial = "PartialObjectMetadata"

func kindOf(raw []byte) string {
	var head struct {
		Kind string `json:"kind"`
	}
	if json.Unmarshal(raw, &head) != nil {
		return ""
	}
	return head.Kind
}
