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

package controllers

import (
	"strconv"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"kausality.io/operator/test/controlplane"
)

// Controller is a published controller.
type Controller struct {
	// Name is that of its binary, its service account, its process and its log.
	Name string
	// Namespace is where it lives.
	Namespace string
	// readyPath is where it says that it works.
	readyPath string
	// args are its arguments beside the kubeconfig, which its environment names. The
	// first port is the one where it is asked whether it is ready.
	args func(ports [2]int) []string
}

// User returns who the controller is for the API server.
func (c *Controller) User() string { return serviceaccount.MakeUsername(c.Namespace, c.Name) }

// ArgoRollouts makes ReplicaSets of Rollouts. Its ports are on all interfaces: its flags
// take no address.
var ArgoRollouts = &Controller{
	Name: "argo-rollouts", Namespace: "argo-rollouts", readyPath: "/healthz",
	args: func(ports [2]int) []string {
		return []string{
			"--healthzPort=" + strconv.Itoa(ports[0]), "--metricsPort=" + strconv.Itoa(ports[1]),
			"--leader-elect=false",
		}
	},
}

// CertManager makes Secrets of Certificates, by issuers inside the cluster.
var CertManager = &Controller{
	Name: "cert-manager", Namespace: "cert-manager", readyPath: "/",
	args: func(ports [2]int) []string { return []string{"--health-address=" + controlplane.HostPort(ports[0])} },
}

// PrometheusOperator makes StatefulSets, and their configuration, of Prometheuses.
var PrometheusOperator = &Controller{
	Name: "prometheus-operator", Namespace: "monitoring", readyPath: "/healthz",
	args: func(ports [2]int) []string {
		return []string{"--web.listen-address=" + controlplane.HostPort(ports[0]), "--kubelet-endpoints=false"}
	},
}

// KustomizeController is Flux's, which applies what is in a repository. Nobody fetches
// repositories: who needs one writes its status.
var KustomizeController = &Controller{
	Name: "kustomize-controller", Namespace: "flux-system", readyPath: "/readyz",
	args: func(ports [2]int) []string {
		return []string{
			"--health-addr=" + controlplane.HostPort(ports[0]), "--metrics-addr=" + controlplane.HostPort(ports[1]),
			"--log-level=debug", "--requeue-dependency=2s",
		}
	},
}

// KroBefore is the binary of the version of kro before the one that runs.
const KroBefore = "kro-previous"

// Kro makes what ResourceGraphDefinitions say of their instances. It lives where its
// documentation has its chart installed.
var Kro = &Controller{
	Name: "kro", Namespace: "kro-system", readyPath: "/readyz",
	args: func(ports [2]int) []string {
		return []string{
			"--health-probe-bind-address=" + controlplane.HostPort(ports[0]), "--metrics-bind-address=" + controlplane.HostPort(ports[1]),
			"--leader-elect=false",
		}
	},
}
