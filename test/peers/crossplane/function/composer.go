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
	"fmt"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	fnv1 "github.com/crossplane/crossplane/v2/proto/fn/v1"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
)

// answerValidity is how long Crossplane may keep an answer: one minute, as real
// functions say.
const answerValidity = time.Minute

// composer composes what the input of a call spells out.
type composer struct {
	fnv1.UnimplementedFunctionRunnerServiceServer

	// also is what is set in each managed resource beside what the input says.
	also also
}

// also is a field and its value; none where the path is empty.
type also struct{ path, value string }

// addTo sets the field in a resource that has parameters for a provider.
func (a also) addTo(content map[string]any) error {
	paved := fieldpath.Pave(content)
	if _, err := paved.GetValue("spec.forProvider"); a.path == "" || fieldpath.IsNotFound(err) {
		return nil
	}
	return paved.SetValue(a.path, a.value)
}

// RunFunction implements the service that Crossplane calls.
func (c composer) RunFunction(ctx context.Context, request *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	response := &fnv1.RunFunctionResponse{
		Meta:    &fnv1.ResponseMeta{Tag: request.GetMeta().GetTag(), Ttl: durationpb.New(answerValidity)},
		Desired: request.GetDesired(),
		Context: request.GetContext(),
	}
	in, delay, err := parseInput(request.GetInput())
	if err == nil {
		err = pause(ctx, delay)
	}
	if err == nil {
		err = compose(in, c.also, request.GetObserved(), desired(response))
	}
	if err != nil {
		response.Results = append(response.Results, &fnv1.Result{Severity: fnv1.Severity_SEVERITY_FATAL, Message: err.Error()})
	}
	return response, nil
}

// desired returns the desired state of an answer, which is filled in.
func desired(response *fnv1.RunFunctionResponse) *fnv1.State {
	if response.Desired == nil {
		response.Desired = &fnv1.State{}
	}
	if response.Desired.Resources == nil {
		response.Desired.Resources = map[string]*fnv1.Resource{}
	}
	return response.GetDesired()
}

// pause returns after the given time.
func pause(ctx context.Context, delay time.Duration) error {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// compose adds the resources of an input to the desired state.
func compose(in input, adds also, observed, desired *fnv1.State) error {
	composite := fieldpath.Pave(observed.GetComposite().GetResource().AsMap())
	for _, t := range in.Resources {
		wanted, err := t.wanted(composite)
		if err != nil {
			return fmt.Errorf("resource %s: %w", t.Name, err)
		}
		if !wanted {
			continue
		}
		content, err := t.compose(composite)
		if err == nil {
			err = adds.addTo(content)
		}
		if err != nil {
			return fmt.Errorf("resource %s: %w", t.Name, err)
		}
		resource, err := structpb.NewStruct(content)
		if err != nil {
			return fmt.Errorf("resource %s: %w", t.Name, err)
		}
		desired.Resources[t.Name] = &fnv1.Resource{Resource: resource, Ready: readiness(observed.GetResources()[t.Name])}
	}
	return nil
}

// readiness tells that a resource is ready by its condition Ready, or, where its
// kind has no conditions, by its being there.
func readiness(observed *fnv1.Resource) fnv1.Ready {
	if observed == nil {
		return fnv1.Ready_READY_FALSE
	}
	content := observed.GetResource().AsMap()
	status, ok := content["status"].(map[string]any)
	if !ok {
		if _, hasSpec := content["spec"]; hasSpec {
			return fnv1.Ready_READY_FALSE
		}
		return fnv1.Ready_READY_TRUE
	}
	conditions, ok := status["conditions"].([]any)
	if !ok {
		return fnv1.Ready_READY_FALSE
	}
	for _, each := range conditions {
		if condition, ok := each.(map[string]any); ok && condition["type"] == "Ready" && condition["status"] == "True" {
			return fnv1.Ready_READY_TRUE
		}
	}
	return fnv1.Ready_READY_FALSE
}
