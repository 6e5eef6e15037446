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
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Resources that the checker looks at.
const (
	deployments  = "deployments"
	replicaSets  = "replicasets"
	statefulSets = "statefulsets"
	daemonSets   = "daemonsets"
	revisions    = "controllerrevisions"
	jobs         = "jobs"
	cronJobs     = "cronjobs"
	pods         = "pods"
	things       = "things"
	configMaps   = "configmaps"
	policies     = "allowancepolicies"
	records      = "allowancerecords"
)

// kinds are the kinds of the resources.
var kinds = map[string]string{
	deployments: "Deployment", replicaSets: "ReplicaSet", statefulSets: "StatefulSet", daemonSets: "DaemonSet",
	revisions: "ControllerRevision", jobs: "Job", cronJobs: "CronJob", pods: "Pod", things: "Thing", configMaps: "ConfigMap",
	policies: "AllowancePolicy", records: "AllowanceRecord",
}

// object is what matters of one.
type object struct {
	kind, namespace, name string
	uid                   types.UID
	revision              uint64
	generation            int64
	deleting              bool
	finalizers            []string
	labels, annotations   map[string]string
	owners                []owner
	*content
	status status
}

// owner is a reference to one.
type owner struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Name       string    `json:"name"`
	UID        types.UID `json:"uid"`
	Controller bool      `json:"controller"`
}

// content is what is outside of metadata and status, with the acts whose marks are in it.
type content struct {
	fields map[string]any
	raw    map[string]json.RawMessage
	marks  []int
}

// status is what any of the kinds tells of itself.
type status struct {
	ObservedGeneration     int64 `json:"observedGeneration"`
	Replicas               int64 `json:"replicas"`
	UpdatedReplicas        int64 `json:"updatedReplicas"`
	AvailableReplicas      int64 `json:"availableReplicas"`
	DesiredNumberScheduled int64 `json:"desiredNumberScheduled"`
	UpdatedNumberScheduled int64 `json:"updatedNumberScheduled"`
	NumberAvailable        int64 `json:"numberAvailable"`
	LastScheduleTime       any   `json:"lastScheduleTime"`

	Conditions []condition    `json:"conditions"`
	History    []historyEntry `json:"history"`
}

// condition is one of a status.
type condition struct {
	Type               string `json:"type"`
	Status             string `json:"status"`
	ObservedGeneration int64  `json:"observedGeneration"`
}

// historyEntry is what a record says that happened.
type historyEntry struct {
	Event string `json:"event"`
	User  string `json:"user"`
}

// is reports whether a condition is True.
func (s *status) is(kind string) bool {
	return slices.ContainsFunc(s.Conditions, func(c condition) bool { return c.Type == kind && c.Status == "True" })
}

// controller is who controls the object.
func (o *object) controller() *owner {
	for i := range o.owners {
		if o.owners[i].Controller {
			return &o.owners[i]
		}
	}
	return nil
}

// at is the value at a path of keys of the content.
func (o *object) at(keys ...string) any {
	if o.content == nil {
		return nil
	}
	return valueAt(o.fields, keys...)
}

func valueAt(value any, keys ...string) any {
	for _, key := range keys {
		switch typed := value.(type) {
		case map[string]any:
			value = typed[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(typed) {
				return nil
			}
			value = typed[i]
		default:
			return nil
		}
	}
	return value
}

// count is a number in the spec, or what stands for it where it is absent.
func (o *object) count(field string, otherwise int64) int64 {
	n, ok := o.at("spec", field).(float64)
	if !ok {
		return otherwise
	}
	return int64(n)
}

func (o *object) replicas() int64 { return o.count("replicas", 1) }

// decode reads an object.
func (l *Log) decode(raw []byte) (*object, error) {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return nil, err
	}
	var meta struct {
		Namespace         string            `json:"namespace"`
		Name              string            `json:"name"`
		UID               types.UID         `json:"uid"`
		ResourceVersion   string            `json:"resourceVersion"`
		Generation        int64             `json:"generation"`
		DeletionTimestamp *string           `json:"deletionTimestamp"`
		Labels            map[string]string `json:"labels"`
		Annotations       map[string]string `json:"annotations"`
		OwnerReferences   []owner           `json:"ownerReferences"`
		Finalizers        []string          `json:"finalizers"`
	}
	if err := json.Unmarshal(parts["metadata"], &meta); err != nil {
		return nil, err
	}
	obj := &object{
		kind: kindOf(raw), namespace: meta.Namespace, name: meta.Name, uid: meta.UID, revision: number(meta.ResourceVersion),
		generation: meta.Generation, deleting: meta.DeletionTimestamp != nil,
		finalizers: meta.Finalizers, labels: meta.Labels, annotations: meta.Annotations, owners: meta.OwnerReferences,
	}
	if text := parts["status"]; text != nil {
		// Of a custom kind anything may be there, and then tells nothing.
		if json.Unmarshal(text, &obj.status) != nil {
			obj.status = status{}
		}
	}
	for _, key := range []string{"metadata", "status", "kind", "apiVersion"} {
		delete(parts, key)
	}
	var err error
	obj.content, err = l.content(parts)
	return obj, err
}

func (l *Log) content(parts map[string]json.RawMessage) (*content, error) {
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(parts)) {
		text.WriteString(key)
		text.Write(parts[key])
	}
	key := text.String()
	if known := l.contents[key]; known != nil {
		return known, nil
	}
	c := &content{fields: map[string]any{}, raw: parts, marks: marksIn(key)}
	for name, raw := range parts {
		var value any
		if err := json.Unmarshal(raw, &value); err != nil {
			return nil, err
		}
		c.fields[name] = value
	}
	l.contents[key] = c
	return c, nil
}

// mark is what every text and every large number of a stranger has in it: the number of the
// act.
var mark = regexp.MustCompile(`zq(\d+)z|\b7(\d{6})(?:m|Mi|s)?\b`)

// marksIn are the acts whose marks are in a text, each once.
func marksIn(text string) []int {
	var out []int
	for _, found := range mark.FindAllStringSubmatch(text, -1) {
		if n, err := strconv.Atoi(found[1] + found[2]); err == nil {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// marksOf are those in a value.
func marksOf(value any) []int {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	return marksIn(string(raw))
}

// number reads a resourceVersion.
func number(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0 // There is none that small.
	}
	return n
}
