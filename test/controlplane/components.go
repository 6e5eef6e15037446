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
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
)

var (
	//go:embed manifests/audit-policy.yaml
	auditPolicy []byte
	//go:embed manifests/pod-never-ready.yaml
	podNeverReady []byte
)

// serviceAccountIssuer is who service account tokens are said to be from.
const serviceAccountIssuer = "https://kubernetes.default.svc"

// startComponents starts the components in the order in which they depend on
// each other.
func (cp *ControlPlane) startComponents(ctx context.Context) error {
	etcd, err := cp.startEtcd(ctx)
	if err != nil {
		return err
	}
	if err := cp.startAPIServer(ctx, etcd); err != nil {
		return err
	}
	if err := cp.bootstrap(ctx); err != nil {
		return err
	}
	if err := cp.startMoreAPIServers(ctx, etcd); err != nil {
		return err
	}
	// These depend on the API server only.
	group, groupCtx := errgroup.WithContext(ctx)
	for _, client := range []struct {
		component Component
		start     func(context.Context) error
	}{
		{ControllerManager, cp.startControllerManager},
		{Scheduler, cp.startScheduler},
		{Kwok, cp.startKwok},
	} {
		if cp.runs(client.component) {
			cp.opts.Progress("starting " + string(client.component))
			group.Go(func() error { return client.start(groupCtx) })
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return cp.waitUsable(ctx)
}

// startEtcd returns the URL that etcd serves at.
func (cp *ControlPlane) startEtcd(ctx context.Context) (url string, err error) {
	cp.opts.Progress("starting " + string(Etcd))
	err = cp.launchWithPort(ctx, func(port int) Program {
		url = "https://" + HostPort(port)
		return Program{
			Name: string(Etcd),
			Path: cp.binary(string(Etcd)),
			Env:  seldomCollected(),
			Args: []string{
				"--name=controlplane",
				"--data-dir=" + cp.path(etcdDataDir),
				// The data is worth nothing after a crash of the machine.
				"--unsafe-no-fsync",
				"--listen-client-urls=" + url,
				"--advertise-client-urls=" + url,
				"--cert-file=" + cp.pki.path(certFile(servingName)),
				"--key-file=" + cp.pki.path(keyFile(servingName)),
				"--trusted-ca-file=" + cp.pki.path(clusterCAFile),
				"--client-cert-auth",
				// It has no peers; any port does.
				"--listen-peer-urls=http://" + HostPort(0),
				// It elects itself after this time, 1 s by default.
				"--heartbeat-interval=10",
				"--election-timeout=100",
				"--log-level=warn",
			},
			ReadyURL: url + "/readyz",
		}
	})
	return url, err
}

// startAPIServer starts kube-apiserver on the etcd at the given URL, which the administrator uses.
func (cp *ControlPlane) startAPIServer(ctx context.Context, etcd string) error {
	if err := os.WriteFile(cp.auditPolicy(), auditPolicy, 0o600); err != nil {
		return err
	}
	cp.opts.Progress("starting " + string(APIServer))
	return cp.launchWithPort(ctx, func(port int) Program {
		cp.admin.Host = "https://" + HostPort(port)
		cp.hosts = []string{HostPort(port)}
		return cp.apiServer(string(APIServer), etcd, port)
	})
}

func (cp *ControlPlane) auditPolicy() string { return cp.path(configDir, "audit-policy.yaml") }

// apiServer is a kube-apiserver on the etcd at a URL. All of them append to one audit log.
func (cp *ControlPlane) apiServer(name, etcd string, port int) Program {
	args := []string{
		"--bind-address=" + loopback,
		"--advertise-address=" + loopback,
		"--secure-port=" + strconv.Itoa(port),
		"--tls-cert-file=" + cp.pki.path(certFile(servingName)),
		"--tls-private-key-file=" + cp.pki.path(keyFile(servingName)),
		"--client-ca-file=" + cp.pki.path(clusterCAFile),
		"--etcd-servers=" + etcd,
		"--etcd-cafile=" + cp.pki.path(clusterCAFile),
		"--etcd-certfile=" + cp.pki.path(certFile(servingName)),
		"--etcd-keyfile=" + cp.pki.path(keyFile(servingName)),
		"--authorization-mode=RBAC",
		"--service-account-issuer=" + serviceAccountIssuer,
		"--service-account-key-file=" + cp.pki.path(serviceAccountKeyFile),
		"--service-account-signing-key-file=" + cp.pki.path(serviceAccountKeyFile),
		"--service-cluster-ip-range=10.0.0.0/16",
		// A loopback address may not be an endpoint of a Service.
		"--endpoint-reconciler-type=none",
		"--allow-privileged",
		"--audit-policy-file=" + cp.auditPolicy(),
		"--audit-log-path=" + cp.opts.AuditLog,
		// One file, never rotated: readers want all of it.
		"--audit-log-maxsize=0",
		// For extension API servers, should one be registered.
		"--requestheader-client-ca-file=" + cp.pki.path(frontProxyCAFile),
		"--requestheader-allowed-names=" + frontProxyName,
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-username-headers=X-Remote-User",
		"--proxy-client-cert-file=" + cp.pki.path(certFile(frontProxyName)),
		"--proxy-client-key-file=" + cp.pki.path(keyFile(frontProxyName)),
	}
	if !cp.runs(ControllerManager) {
		// It insists on service accounts that nobody creates.
		args = append(args, "--disable-admission-plugins=ServiceAccount")
	}
	return Program{
		Name:     name,
		Path:     cp.binary(string(APIServer)),
		Env:      seldomCollected(),
		Args:     append(args, cp.opts.ExtraAPIServerFlags...),
		ReadyURL: "https://" + HostPort(port) + "/readyz",
	}
}

// seldomCollected returns the environment of what has memory to spend and no time: in a test,
// collecting garbage is a quarter of what an API server does.
func seldomCollected() []string { return []string{"GOGC=400", "GOMEMLIMIT=3GiB"} }

func (cp *ControlPlane) startControllerManager(ctx context.Context) error {
	kubeconfig, err := cp.componentKubeconfig(ControllerManager, controllerManagerUser)
	if err != nil {
		return err
	}
	return cp.launchWithPort(ctx, func(port int) Program {
		args := append(cp.controllerFlags(kubeconfig, port),
			"--use-service-account-credentials="+strconv.FormatBool(!cp.opts.SharedControllerIdentity),
			"--service-account-private-key-file="+cp.pki.path(serviceAccountKeyFile),
			"--root-ca-file="+cp.pki.path(clusterCAFile),
			"--cluster-signing-cert-file="+cp.pki.path(clusterCAFile),
			"--cluster-signing-key-file="+cp.pki.path(clusterKeyFile),
			// By default it takes five seconds over the service accounts of its
			// own controllers.
			"--kube-api-qps=100",
			"--kube-api-burst=200",
			// The nodes of kwok are there for as long as the cluster is, and send no
			// heartbeats: their Pods must not be lost for it.
			"--node-monitor-grace-period=24h",
		)
		return Program{
			Name:     string(ControllerManager),
			Path:     cp.binary(string(ControllerManager)),
			Env:      seldomCollected(),
			Args:     append(args, cp.opts.ExtraControllerManagerFlags...),
			ReadyURL: "https://" + HostPort(port) + "/healthz",
		}
	})
}

func (cp *ControlPlane) startScheduler(ctx context.Context) error {
	kubeconfig, err := cp.componentKubeconfig(Scheduler, "system:kube-scheduler")
	if err != nil {
		return err
	}
	return cp.launchWithPort(ctx, func(port int) Program {
		return Program{
			Name:     string(Scheduler),
			Path:     cp.binary(string(Scheduler)),
			Args:     cp.controllerFlags(kubeconfig, port),
			ReadyURL: "https://" + HostPort(port) + "/readyz",
		}
	})
}

// controllerFlags returns what kube-controller-manager and kube-scheduler have in
// common.
func (cp *ControlPlane) controllerFlags(kubeconfig string, port int) []string {
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=" + loopback,
		"--secure-port=" + strconv.Itoa(port),
		"--tls-cert-file=" + cp.pki.path(certFile(servingName)),
		"--tls-private-key-file=" + cp.pki.path(keyFile(servingName)),
		// There is only one.
		"--leader-elect=false",
	}
}

func (cp *ControlPlane) startKwok(ctx context.Context) error {
	kubeconfig, err := cp.componentKubeconfig(Kwok, kwokUser, nodesGroup)
	if err != nil {
		return err
	}
	neverReady := cp.path(configDir, "pod-never-ready.yaml")
	if err := os.WriteFile(neverReady, podNeverReady, 0o600); err != nil {
		return err
	}
	stages, err := filepath.Glob(cp.binary("stages/*.yaml"))
	if err != nil {
		return err
	}
	if len(stages) == 0 {
		return fmt.Errorf("no stages for kwok in %s: run \"make controlplane-binaries\" first", cp.binary("stages"))
	}
	return cp.launchWithPort(ctx, func(port int) Program {
		args := []string{
			"--kubeconfig=" + kubeconfig,
			"--manage-nodes-with-annotation-selector=" + kwokNodeAnnotation + "=" + kwokNodeFake,
			"--server-address=" + HostPort(port),
			"--tls-cert-file=" + cp.pki.path(certFile(servingName)),
			"--tls-private-key-file=" + cp.pki.path(keyFile(servingName)),
			// So that "kubectl logs" gets an answer.
			"--node-ip=" + loopback,
			"--node-port=" + strconv.Itoa(port),
		}
		for _, stage := range append(stages, neverReady) {
			args = append(args, "--config="+stage)
		}
		return Program{
			Name:     string(Kwok),
			Path:     cp.binary(string(Kwok)),
			Args:     args,
			ReadyURL: "https://" + HostPort(port) + "/healthz",
		}
	})
}

// componentKubeconfig writes the kubeconfig by which a component reaches the
// API server as the given user, and returns its path.
func (cp *ControlPlane) componentKubeconfig(component Component, user string, groups ...string) (string, error) {
	cert, key, err := cp.pki.client(user, groups...)
	if err != nil {
		return "", fmt.Errorf("issuing the certificate of %s: %w", component, err)
	}
	host := cp.hosts[0]
	if component == ControllerManager {
		host = cp.hosts[len(cp.hosts)-1]
	}
	path := cp.path(configDir, string(component)+".kubeconfig")
	return path, writeKubeconfig(path, &rest.Config{
		Host: "https://" + host,
		TLSClientConfig: rest.TLSClientConfig{
			CAData:   cp.admin.CAData,
			CertData: cert,
			KeyData:  key,
		},
	})
}
