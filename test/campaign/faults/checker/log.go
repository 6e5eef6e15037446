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
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// Resources that the checker looks at.
const (
	deployments = "deployments"
	replicaSets = "replicasets"
	pods        = "pods"
	policies    = "allowancepolicies"
	records     = "allowancerecords"
)

// kinds are the kinds of the resources.
var kinds = map[string]string{
	deployments: "Deployment", replicaSets: "ReplicaSet", pods: "Pod", policies: "AllowancePolicy", records: "AllowanceRecord",
}

// Verbs of requests.
const (
	verbCreate = "create"
	verbDelete = "delete"
)

// failedOpen begins the audit annotation by which the API server says that it let a
// request through without the answer of a validating webhook.
const failedOpen = "failed-open.validating.webhook.admission.k8s.io/"

// An operator that could not find out what a request depends on says so.
const (
	reasonKey = "kausality.io/reason"
	unjudged  = "Unjudged"
	denied    = "Denied"
	// What no allowance covers, and another reason lets through.
	uncoveredKey = "kausality.io/uncovered"
)

// write is a request to change one of the objects, with its answer.
type write struct {
	Verb, Resource, Subresource, Namespace, Name string

	User   string
	Groups []string
	// Received and Answered are when the request came and when it was answered. What it
	// changed was changed in between.
	Received, Answered time.Time
	Code               int32
	Message            string
	// Unasked is true where the API server could not ask a validating webhook, or the
	// operator could not judge, and the request was let through.
	Unasked bool
	// Denied is true where a validating webhook has denied it. The API server may try
	// again all the same, where it had asked with an outdated object.
	Denied bool
	// Uncovered is true where no allowance covers it: it was let through for another reason
	// when it was judged first, and maybe not when it was judged again.
	Uncovered bool
	// Said is what the request itself says of the metadata of the object.
	Said metadata
	// Object is what was stored; nil where the answer does not show it.
	Object *object
	// Scaled is the number of replicas that a request for a scale has set.
	Scaled *int64
	// UID of the object.
	UID types.UID
}

// metadata is what matters of the metadata in a request.
type metadata struct {
	Annotations     map[string]*string      `json:"annotations"`
	OwnerReferences []metav1.OwnerReference `json:"ownerReferences"`
}

func (w *write) succeeded() bool { return w.Code > 0 && w.Code < http.StatusBadRequest }

func (w *write) String() string {
	resource := w.Resource
	if w.Subresource != "" {
		resource += "/" + w.Subresource
	}
	return fmt.Sprintf("%s %s %s %s/%s: %d", w.User, w.Verb, resource, w.Namespace, w.Name, w.Code)
}

// Log is an audit log as far as the checker looks at it.
type Log struct {
	writes []*write
	specs  map[string]any
}

// Read reads an audit log.
func Read(r io.Reader) (*Log, error) {
	log := &Log{specs: map[string]any{}}
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

// aboutUs is quick, and may say yes too often: most of a log is about something else.
func aboutUs(line []byte) bool {
	head := string(line[:min(len(line), 4096)])
	for resource := range kinds {
		if strings.Contains(head, `"resource":"`+resource+`"`) {
			return true
		}
	}
	return false
}

// add keeps an event that is a request to change something.
func (l *Log) add(event *auditv1.Event) error {
	ref := event.ObjectRef
	if ref == nil || kinds[ref.Resource] == "" || !slices.Contains([]string{verbCreate, "update", "patch", verbDelete}, event.Verb) ||
		strings.Contains(event.RequestURI, "dryRun=") {
		return nil
	}
	user := event.User
	if event.ImpersonatedUser != nil {
		user = *event.ImpersonatedUser
	}
	w := &write{
		Verb: event.Verb, Resource: ref.Resource, Subresource: ref.Subresource, Namespace: ref.Namespace, Name: ref.Name,
		User: user.Username, Groups: user.Groups,
		Received: event.RequestReceivedTimestamp.Time, Answered: event.StageTimestamp.Time,
	}
	if event.ResponseStatus != nil {
		w.Code, w.Message = event.ResponseStatus.Code, event.ResponseStatus.Message
	}
	for key, value := range event.Annotations {
		reason := strings.HasSuffix(key, reasonKey)
		w.Unasked = w.Unasked || strings.HasPrefix(key, failedOpen) || reason && value == unjudged
		w.Denied = w.Denied || reason && value == denied
		w.Uncovered = w.Uncovered || strings.HasSuffix(key, uncoveredKey)
	}
	if event.RequestObject != nil {
		var said struct {
			Metadata metadata `json:"metadata"`
		}
		// A list of JSON patches says nothing here.
		if json.Unmarshal(event.RequestObject.Raw, &said) == nil {
			w.Said = said.Metadata
		}
	}
	l.writes = append(l.writes, w)
	if event.ResponseObject == nil || !w.succeeded() {
		return nil
	}
	return l.addAnswer(w, event.ResponseObject.Raw)
}

// addAnswer keeps what the answer to a write shows.
func (l *Log) addAnswer(w *write, raw []byte) error {
	var kind struct {
		Kind     string            `json:"kind"`
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     struct {
			Replicas *int64 `json:"replicas"`
		} `json:"spec"`
		Details struct {
			UID types.UID `json:"uid"`
		} `json:"details"`
	}
	if err := json.Unmarshal(raw, &kind); err != nil {
		return err
	}
	switch kind.Kind {
	case kinds[w.Resource]:
		obj, err := l.decode(raw)
		if err != nil {
			return err
		}
		w.Object, w.UID, w.Name = obj, obj.Metadata.UID, obj.Metadata.Name
	case "Scale":
		w.UID, w.Scaled = kind.Metadata.UID, new(int64)
		if kind.Spec.Replicas != nil {
			*w.Scaled = *kind.Spec.Replicas
		}
		w.Object = &object{Kind: kind.Kind, Metadata: kind.Metadata}
	case "Status":
		w.UID = kind.Details.UID
	}
	return nil
}

// decode reads an object. Most versions of an object have the same spec: it is kept once.
func (l *Log) decode(raw []byte) (*object, error) {
	obj := &object{}
	if err := json.Unmarshal(raw, obj); err != nil {
		return nil, err
	}
	key := string(obj.RawSpec)
	spec, known := l.specs[key]
	if !known && len(obj.RawSpec) > 0 {
		if err := json.Unmarshal(obj.RawSpec, &spec); err != nil {
			return nil, err
		}
		l.specs[key] = spec
	}
	obj.Spec, obj.RawSpec = spec, nil
	if obj.Kind == kinds[policies] {
		obj.RawSpec = json.RawMessage(key)
	}
	if obj.Kind == kinds[replicaSets] || obj.Kind == kinds[deployments] {
		obj.ledger, obj.ledgerErr = parseLedger(obj.Metadata.Annotations[obj.ledgerKey()])
	}
	// Nothing else of the metadata is looked at.
	obj.Metadata.Annotations, obj.Metadata.Labels, obj.Metadata.ManagedFields = nil, nil, nil
	return obj, nil
}

// revision is the order in which versions were stored.
func (o *object) revision() uint64 {
	n, err := strconv.ParseUint(o.Metadata.ResourceVersion, 10, 64)
	if err != nil {
		return 0 // There is none that small.
	}
	return n
}
