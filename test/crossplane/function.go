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
	_, cert, key := in.cp.ServingFiles()
	var port int
	err := in.cp.Launch(ctx, 2, func(ports []int) (controlplane.Program, error) {
		port = ports[0]
		health := controlplane.HostPort(ports[1])
		return controlplane.Program{
			Name: Function,
			Path: in.binary(Function),
			Args: []string{
				"--address=" + controlplane.HostPort(port),
				"--health-address=" + health,
				"--client-ca-file=" + in.certs(clientCAFile),
				"--cert-file=" + cert,
				"--key-file=" + key,
			},
			ReadyURL: "http://" + health,
		}, nil
	})
	if err != nil {
		return err
	}
	if err := in.apply(ctx, "function.yaml"); err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(in.cp.AdminConfig())
	if err != nil {
		return err
	}
	status, err := json.Marshal(map[string]any{"status": map[string]any{
		"endpoint":     "localhost:" + strconv.Itoa(port),
		"capabilities": []string{"composition"},
	}})
	if err != nil {
		return err
	}
	_, err = client.Resource(functionRevisions).Patch(ctx, functionRevision, types.MergePatchType, status, metav1.PatchOptions{}, "status")
	return err
}
