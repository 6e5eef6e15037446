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
	"encoding/json"
	"fmt"
	"strings"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/controlplane"
)

// Audit annotations that the operator gives to what it has judged; the name of
// its webhook stands before them.
const (
	auditReason = "/reason"
	auditTrace  = "/trace"
)

// witness reads the audit log of the API server as it grows.
type witness struct {
	path   string
	read   int64
	events controlplane.AuditEvents
}

// all returns everything that the API server has answered so far.
func (w *witness) all() (controlplane.AuditEvents, error) {
	more, read, err := controlplane.ReadAuditFrom(w.path, w.read)
	w.events, w.read = append(w.events, more...), read
	return w.events, err
}

// annotated returns the audit annotation whose key ends in suffix.
func annotated(event *auditv1.Event, suffix string) string {
	for key, value := range event.Annotations {
		if strings.HasSuffix(key, suffix) && strings.Contains(key, "kausality.io/") {
			return value
		}
	}
	return ""
}

// chain is who started something, and the way from there to it.
type chain struct {
	initiator string
	hops      []v1alpha1.TraceHop
}

// chainOf returns the chain in the audit annotations of a request.
func chainOf(event *auditv1.Event) (chain, error) {
	initiator, hops, found := strings.Cut(annotated(event, auditTrace), " ")
	if !found {
		return chain{}, fmt.Errorf("it has no trace; the reason is %q", annotated(event, auditReason))
	}
	c := chain{initiator: initiator}
	if err := json.Unmarshal([]byte(hops), &c.hops); err != nil {
		return chain{}, fmt.Errorf("its trace cannot be read: %w", err)
	}
	return c, nil
}

// podCreations returns the requests by which the given Pods were created, in
// order.
func (w *witness) podCreations(wanted func(name string) bool) ([]created, error) {
	events, err := w.all()
	if err != nil {
		return nil, err
	}
	var out []created
	for _, event := range events.Where(controlplane.OfResource("", "pods"), controlplane.OfSubresource(""),
		controlplane.ByVerb("create"), controlplane.Succeeded) {
		var pod struct {
			Metadata struct {
				Name string `json:"name"`
			} `json:"metadata"`
		}
		// The name is generated: only the answer has it.
		if err := json.Unmarshal(event.ResponseObject.Raw, &pod); err != nil {
			return nil, fmt.Errorf("a created Pod cannot be read: %w", err)
		}
		if !wanted(pod.Metadata.Name) {
			continue
		}
		c, err := chainOf(&event)
		if err != nil {
			return nil, fmt.Errorf("creation of Pod %s: %w", pod.Metadata.Name, err)
		}
		out = append(out, created{pod: pod.Metadata.Name, chain: c})
	}
	return out, nil
}

// created is a Pod and how it came to be.
type created struct {
	pod string
	chain
}
