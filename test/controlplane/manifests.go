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
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

const (
	// manifestOwner is the field manager of what is applied.
	manifestOwner = "controlplane"
	// discoveryTimeout bounds the wait for a new kind to be told of.
	discoveryTimeout = 15 * time.Second
	// yamlBuffer is the read-ahead of the YAML decoder, which works with any.
	yamlBuffer = 4096
)

// Kinds that others depend on, and those that name webhooks.
var (
	kindNamespace         = schema.GroupKind{Kind: "Namespace"}
	kindCRD               = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
	kindMutatingWebhook   = schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}
	kindValidatingWebhook = schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}
)

// Apply makes the cluster hold the given objects by server-side apply, taking
// over fields from others. Namespaces and custom resource definitions go first;
// the rest follows once these are served.
func (cp *ControlPlane) Apply(ctx context.Context, objects []*unstructured.Unstructured) error {
	api, err := newApplier(cp.AdminConfig())
	if err != nil {
		return err
	}
	var first, others []*unstructured.Unstructured
	for _, object := range objects {
		switch object.GroupVersionKind().GroupKind() {
		case kindNamespace, kindCRD:
			first = append(first, object)
		default:
			others = append(others, object)
		}
	}
	for _, object := range first {
		if err := api.apply(ctx, object); err != nil {
			return err
		}
	}
	for _, object := range first {
		if err := api.waitCurrent(ctx, object); err != nil {
			return err
		}
	}
	for _, object := range others {
		if err := api.apply(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// applier talks to the API server about objects of any kind.
type applier struct {
	client dynamic.Interface
	mapper apimeta.ResettableRESTMapper
}

func newApplier(cfg *rest.Config) (*applier, error) {
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	disco, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, err
	}
	return &applier{
		client: client,
		mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(disco)),
	}, nil
}

func (a *applier) apply(ctx context.Context, object *unstructured.Unstructured) error {
	resource, err := a.resource(ctx, object)
	if err == nil {
		_, err = resource.Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: manifestOwner, Force: true})
	}
	if err != nil {
		return fmt.Errorf("applying %s: %w", describe(object), err)
	}
	return nil
}

// waitCurrent returns when the object does what it is for.
func (a *applier) waitCurrent(ctx context.Context, object *unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	resource, err := a.resource(ctx, object)
	if err == nil {
		err = wait.PollUntilContextCancel(ctx, usablePoll, true, func(ctx context.Context) (bool, error) {
			live, err := resource.Get(ctx, object.GetName(), metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			result, err := kstatus.Compute(live)
			return err == nil && result.Status == kstatus.CurrentStatus, err
		})
	}
	if err != nil {
		return fmt.Errorf("waiting for %s to be served: %w", describe(object), err)
	}
	return nil
}

// resource returns where the object is read and written. A kind that was defined
// just now is served a moment before the API server tells that it is.
func (a *applier) resource(ctx context.Context, object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	gvk := object.GroupVersionKind()
	var mapping *apimeta.RESTMapping
	var err error
	pollErr := wait.PollUntilContextTimeout(ctx, usablePoll, discoveryTimeout, true, func(context.Context) (bool, error) {
		if mapping, err = a.mapper.RESTMapping(gvk.GroupKind(), gvk.Version); !apimeta.IsNoMatchError(err) {
			return true, err
		}
		a.mapper.Reset()
		return false, nil
	})
	if wait.Interrupted(pollErr) {
		return nil, err
	}
	if pollErr != nil {
		return nil, pollErr
	}
	resource := a.client.Resource(mapping.Resource)
	if mapping.Scope.Name() == apimeta.RESTScopeNameRoot {
		return resource, nil
	}
	return resource.Namespace(object.GetNamespace()), nil
}

// Render returns the objects of the kustomization in the given folder.
func (cp *ControlPlane) Render(ctx context.Context, overlay string) ([]*unstructured.Unstructured, error) {
	cmd := cp.Kubectl(ctx, "kustomize", overlay)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("rendering %s: %w: %s", overlay, err, bytes.TrimSpace(stderr.Bytes()))
	}
	objects, err := Decode(out)
	if err != nil {
		return nil, fmt.Errorf("rendering %s: %w", overlay, err)
	}
	return objects, nil
}

// Decode returns the objects in a stream of YAML documents.
func Decode(stream []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(stream), yamlBuffer); ; {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// pointWebhooksAt makes every webhook that the objects name, those for
// conversion included, be called at base, whose path it keeps. A Service cannot
// reach a process on this machine.
func pointWebhooksAt(base string, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		var err error
		switch object.GroupVersionKind().GroupKind() {
		case kindMutatingWebhook, kindValidatingWebhook:
			err = pointAdmissionAt(base, object)
		case kindCRD:
			err = pointConversionAt(base, object)
		}
		if err != nil {
			return fmt.Errorf("pointing the webhooks of %s at %s: %w", describe(object), base, err)
		}
	}
	return nil
}

func pointAdmissionAt(base string, object *unstructured.Unstructured) error {
	webhooks, found, err := unstructured.NestedSlice(object.Object, "webhooks")
	if err != nil || !found {
		return err
	}
	for i := range webhooks {
		webhook, ok := webhooks[i].(map[string]any)
		if !ok {
			return fmt.Errorf("webhooks[%d] is no object", i)
		}
		if err := pointClientAt(base, webhook, "clientConfig"); err != nil {
			return fmt.Errorf("webhooks[%d]: %w", i, err)
		}
	}
	return unstructured.SetNestedSlice(object.Object, webhooks, "webhooks")
}

func pointConversionAt(base string, object *unstructured.Unstructured) error {
	path := []string{"spec", "conversion", "webhook", "clientConfig"}
	if _, found, err := unstructured.NestedMap(object.Object, path...); err != nil || !found {
		return err
	}
	return pointClientAt(base, object.Object, path...)
}

// pointClientAt replaces the Service or URL of the client configuration at
// path.
func pointClientAt(base string, object map[string]any, path ...string) error {
	config, _, err := unstructured.NestedMap(object, path...)
	if err != nil {
		return err
	}
	at, _, err := unstructured.NestedString(config, "service", "path")
	if err != nil {
		return err
	}
	if config["url"] != nil {
		given, _, err := unstructured.NestedString(config, "url")
		if err != nil {
			return err
		}
		parsed, err := url.Parse(given)
		if err != nil {
			return err
		}
		at = parsed.Path
	}
	target, err := url.JoinPath(base, at)
	if err != nil {
		return err
	}
	delete(config, "service")
	config["url"] = target
	return unstructured.SetNestedMap(object, config, path...)
}

// describe names an object in messages.
func describe(object *unstructured.Unstructured) string {
	name := object.GetName()
	if namespace := object.GetNamespace(); namespace != "" {
		name = namespace + "/" + name
	}
	return object.GetKind() + " " + name
}
