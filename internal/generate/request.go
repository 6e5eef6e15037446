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

package generate

import (
	"context"
	"encoding/json"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"kausality.io/operator/api/v1alpha1"
)

// Requests are the requests that an object keeps, each without its objects, by the policy that took it.
// Admission notes them on the object, in the request itself: what is not stored leaves no note.
type Requests map[string]map[string]any

// RequestsOn returns the requests that an object says it keeps, whoever wrote that. There are none where
// nobody noted one, or where what is noted cannot be read.
func RequestsOn(object map[string]any) Requests {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	text, _ := annotations[v1alpha1.AnnotationRequests].(string)
	return decodeRequests(text)
}

func decodeRequests(text string) Requests {
	var out Requests
	if text == "" || json.Unmarshal([]byte(text), &out) != nil {
		return nil
	}
	return out
}

// Encode returns the requests as an object keeps them, empty for none. The error says that they are too
// large for that.
func (r Requests) Encode() (string, error) {
	if len(r) == 0 {
		return "", nil
	}
	text, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("encoding the requests that an object keeps: %w", err)
	}
	if len(text) > MaxRequestBytes {
		return "", fmt.Errorf("the requests that an object keeps for GeneratingPolicies would take %d bytes, and %d may be", len(text), MaxRequestBytes)
	}
	return string(text), nil
}

// RequestOf returns a request as expressions see it, without its objects.
func RequestOf(of *admissionv1.AdmissionRequest) (map[string]any, error) {
	kept := &admissionv1.AdmissionRequest{
		Kind: of.Kind, Resource: of.Resource, SubResource: of.SubResource,
		RequestKind: of.RequestKind, RequestResource: of.RequestResource, RequestSubResource: of.RequestSubResource,
		Name: of.Name, Namespace: of.Namespace, Operation: of.Operation, UserInfo: of.UserInfo, DryRun: of.DryRun,
	}
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(kept)
	if err != nil {
		return nil, fmt.Errorf("converting a request: %w", err)
	}
	for _, name := range []string{"uid", "object", "oldObject", "options"} {
		delete(out, name)
	}
	if len(of.Options.Raw) > 0 {
		options := map[string]any{}
		if err := utiljson.Unmarshal(of.Options.Raw, &options); err != nil {
			return nil, fmt.Errorf("decoding the options of a request: %w", err)
		}
		out["options"] = options
	}
	return out, nil
}

// NoteOf returns a request as the object keeps it that it has changed: without what an authenticator says
// of the user in extra, as everybody who may read the object reads the note.
func NoteOf(of *admissionv1.AdmissionRequest) (map[string]any, error) {
	known := *of
	known.UserInfo.Extra = nil
	return RequestOf(&known)
}

// TakesRequest reports whether a request makes its object a trigger of the policy: the rules name its
// operation, and no condition is false that can be told without reading anything. trigger has the
// request and both objects.
//
// Conditions that use oldObject are asked of requests only. The others are asked again whenever the
// policy is evaluated, and so are left to that where they use a Namespace of which not all is known.
func (p *Policy) TakesRequest(ctx context.Context, trigger *Trigger) bool {
	now := *trigger
	operation, _ := trigger.Request["operation"].(string)
	now.Operation = admissionregistrationv1.OperationType(operation)
	if matches, err := p.Matches(&now); err != nil || !matches {
		return err != nil
	}
	e := newEvaluation(p, trigger, nothing{})
	e.resolve = e.runner(ctx)
	matched, err := e.matched(ctx, func(x *expression) bool { return x.usesOld && !now.isRequest() || trigger.tells(x) })
	return matched || err != nil
}

// tells reports whether a request says all of a trigger that an expression may use: of the Namespace of
// another object it knows the labels.
func (t *Trigger) tells(x *expression) bool {
	return !x.usesNamespace || t.Resource.GroupResource() == namespacesResource.GroupResource()
}

// isAskedOf reports whether a condition is asked again when the policy is evaluated: those about an object
// as it was are asked of the request that changed it, unless the request is the trigger.
func (t *Trigger) isAskedOf(x *expression) bool { return !x.usesOld || t.isRequest() }
