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

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/campaign/generating/checker"
	"kausality.io/operator/test/campaign/generating/model"
	"kausality.io/operator/test/controlplane"
)

const (
	// settled is for how long nothing was written where all is done, and quiet for how long nothing is
	// looked for after that.
	settled = 3 * time.Second
	quiet   = 2 * time.Second
)

// rest waits until nothing is written any more, and compares what is there with what is to be there.
func (s *stage) rest(ctx context.Context) error {
	if err := s.revive(ctx); err != nil {
		return err
	}
	if err := s.finish(ctx); err != nil {
		return err
	}
	may := s.model.Rest()
	differ := map[model.ID]string{}
	if err := s.untilStill(ctx, func(is map[model.ID]model.Seen) bool {
		differ = model.Differ(may, is)
		return len(differ) == 0
	}); err != nil {
		if wait.Interrupted(err) && ctx.Err() == nil {
			return s.differs(differ)
		}
		return err
	}
	stretch := s.now()
	stretch.Rest = time.Now()
	if err := s.atRest(ctx); err != nil {
		return err
	}
	is, err := s.look(ctx)
	if err != nil {
		return err
	}
	stretch.To = time.Now()
	if differ := model.Differ(may, is); len(differ) > 0 {
		return s.differs(differ)
	}
	for id := range may {
		s.model.Look(id, is[id])
	}
	s.rests++
	s.compared += len(may)
	s.recent = nil
	s.stretches = append(s.stretches, checker.Stretch{From: stretch.To})
	return nil
}

// atRest is where nothing happens for a while, unless a fault is planted that is something.
func (s *stage) atRest(ctx context.Context) error {
	if *fault != "" && faults[*fault].atRest && s.isDue() {
		if err := s.plant(ctx); err != nil {
			return err
		}
	}
	timer := time.NewTimer(quiet)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// untilStill waits until what is there is as it should be, and the operator has written nothing for a
// while.
func (s *stage) untilStill(ctx context.Context, isRight func(map[model.ID]model.Seen) bool) error {
	s.wrote = time.Now()
	return wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		if err := s.attend(ctx); err != nil {
			return false, err
		}
		events, offset, err := controlplane.ReadAuditFrom(s.cp.AuditLog(), s.offset, controlplane.Writes, isOperators)
		if err != nil {
			return false, err
		}
		s.offset = offset
		if len(events) > 0 {
			s.wrote, s.writes = time.Now(), events
		}
		is, err := s.look(ctx)
		if err != nil {
			return false, err
		}
		return isRight(is) && time.Since(s.wrote) > settled, nil
	})
}

// isOperators wants what the operator wrote, as itself or as the policies' account; leases and events
// apart.
func isOperators(event *auditv1.Event) bool {
	user := event.User.Username
	if event.ImpersonatedUser != nil {
		user = event.ImpersonatedUser.Username
	}
	isOne := user == controlplane.GeneratorUser || user == controlplane.OperatorUser
	return isOne && event.ObjectRef != nil && !slices.Contains([]string{"leases", "events"}, event.ObjectRef.Resource)
}

// look reads all that policies may have made.
func (s *stage) look(ctx context.Context) (map[model.ID]model.Seen, error) {
	out := map[model.ID]model.Seen{}
	for _, kind := range kinds {
		list := listOf(kind)
		if err := s.admin.List(ctx, list); err != nil {
			return nil, err
		}
		for i := range list.Items {
			object := &list.Items[i]
			id := model.ID{Kind: kind, Namespace: object.GetNamespace(), Name: object.GetName()}
			if isMade(id) {
				out[id] = seenOf(id, object)
			}
		}
	}
	return out, nil
}

// isMade reports whether an object may be made by a policy: it is neither a trigger nor a source nor
// what Kubernetes makes in each namespace.
func isMade(id model.ID) bool {
	isTrigger := id.Kind == model.ConfigMap && slices.Contains(triggers, id.Name)
	isOurs := id.Namespace == model.Targets || slices.Contains(namespaces, id.Namespace)
	return isOurs && !isTrigger && id.Name != "kube-root-ca.crt"
}

// seenOf returns what can be seen of an object.
func seenOf(id model.ID, object *unstructured.Unstructured) model.Seen {
	fields, _, err := unstructured.NestedStringMap(object.Object, dataOf[id.Kind])
	if err != nil {
		fields = map[string]string{"broken": err.Error()}
	}
	out := model.Seen{There: true, Data: model.Data(fields).String()}
	var from struct {
		Policy struct {
			Name string `json:"name"`
		} `json:"policy"`
	}
	if json.Unmarshal([]byte(object.GetAnnotations()[v1alpha1.AnnotationGeneratedFrom]), &from) == nil {
		out.Owner = from.Policy.Name
	}
	return out
}

// differs says what is not as it should be, and what led to it.
func (s *stage) differs(differ map[model.ID]string) error {
	var errs []error
	if len(differ) == 0 {
		errs = append(errs, errors.New("all is there, and the operator goes on writing"))
		for i := range s.writes {
			w := &s.writes[i]
			sayf("WROTE %s %s %s/%s at %s", w.Verb, w.ObjectRef.Resource, w.ObjectRef.Namespace, w.ObjectRef.Name, w.StageTimestamp.Format("15:04:05.000"))
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(differ), model.ID.Compare) {
		errs = append(errs, errors.New(differ[id]))
		sayf("DIFFERS %s", differ[id])
		for _, line := range s.model.Explain(id) {
			sayf("    %s", line)
		}
	}
	return differenceError{fmt.Errorf("not as it should be: %w\nsince the last rest:\n  %s", errors.Join(errs...), strings.Join(s.recent, "\n  "))}
}
