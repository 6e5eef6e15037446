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

package crossplane

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"kausality.io/operator/test/controlplane"
)

// FunctionName is what a Composition calls the function.
const FunctionName = "compose"

// functionRevision is the revision of it in manifests/function.yaml.
const functionRevision = "compose-1"

// functionRevisions tell Crossplane where functions are.
var functionRevisions = schema.GroupVersionResource{Group: "pkg.crossplane.io", Version: "v1", Resource: "functionrevisions"}

// startFunction starts the function and tells Crossplane where it is. That is the
// package manager's business, which the annotation on the function keeps away.
func (in *installation) startFunction(ctx context.Context) error {
	in.Progress("starting " + Function)
	endpoint, err := in.launchFunction(ctx, Function)
	if err != nil {
		return err
	}
	if err := in.apply(ctx, "function.yaml"); err != nil {
		return err
	}
	return in.tellEndpoint(ctx, functionRevision, endpoint)
}

// FunctionVersion is a revision of a function of its own.
type FunctionVersion struct {
	// Name of the function, and Number of the revision.
	Name   string
	Number int
	// Active is true of the revision that Crossplane asks.
	Active bool
	// Also is what it adds to each managed resource, such as
	// "spec.forProvider.backupWindow=03:00-04:00".
	Also string
}

// Revision returns the name of its FunctionRevision.
func (v FunctionVersion) Revision() string { return fmt.Sprintf("%s-%d", v.Name, v.Number) }

// Package returns its package.
func (v FunctionVersion) Package() string { return fmt.Sprintf("example.org/%s:v%d", v.Name, v.Number) }

// StartFunction starts a version of a function beside others, and tells Crossplane where it is.
func StartFunction(ctx context.Context, cp *controlplane.ControlPlane, v FunctionVersion) error {
	in := &installation{Options: Options{BinDir: defaultBinDir(cp)}, cp: cp}
	endpoint, err := in.launchFunction(ctx, v.Revision(), "--also="+v.Also)
	if err != nil {
		return err
	}
	objects, err := manifest("function.yaml")
	if err != nil {
		return err
	}
	state := "Inactive"
	if v.Active {
		state = "Active"
	}
	for _, object := range objects {
		fields := map[string]any{"package": v.Package()}
		object.SetName(v.Name)
		if object.GetKind() == "FunctionRevision" {
			object.SetName(v.Revision())
			object.SetLabels(map[string]string{"pkg.crossplane.io/package": v.Name})
			fields = map[string]any{"desiredState": state, "image": v.Package(), "revision": int64(v.Number)}
		}
		object.Object["spec"] = fields
	}
	if err := cp.Apply(ctx, objects); err != nil {
		return err
	}
	return in.tellEndpoint(ctx, v.Revision(), endpoint)
}

// launchFunction starts a process of the function, and returns where it serves.
func (in *installation) launchFunction(ctx context.Context, name string, flags ...string) (endpoint string, err error) {
	_, cert, key := in.cp.ServingFiles()
	var port int
	err = in.cp.Launch(ctx, 2, func(ports []int) (controlplane.Program, error) {
		port = ports[0]
		health := controlplane.HostPort(ports[1])
		return controlplane.Program{
			Name: name,
			Path: in.binary(Function),
			Args: append([]string{
				"--address=" + controlplane.HostPort(port),
				"--health-address=" + health,
				"--client-ca-file=" + in.certs(clientCAFile),
				"--cert-file=" + cert,
				"--key-file=" + key,
			}, flags...),
			ReadyURL: "http://" + health,
		}, nil
	})
	return "localhost:" + strconv.Itoa(port), err
}

// tellEndpoint writes where a revision of a function serves, as the package manager does.
func (in *installation) tellEndpoint(ctx context.Context, revision, endpoint string) error {
	client, err := dynamic.NewForConfig(in.cp.AdminConfig())
	if err != nil {
		return err
	}
	status, err := json.Marshal(map[string]any{"status": map[string]any{
		"endpoint":     endpoint,
		"capabilities": []string{"composition"},
	}})
	if err != nil {
		return err
	}
	_, err = client.Resource(functionRevisions).Patch(ctx, revision, types.MergePatchType, status, metav1.PatchOptions{}, "status")
	return err
}
