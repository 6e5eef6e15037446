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
	"fmt"
	"os/exec"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// tokenValidity lets a service account's kubeconfig serve as long as the
// cluster's certificates.
const tokenValidity = certValidity

// AdminConfig reaches the API server with all rights, as user kubernetes-admin.
// The caller owns the returned value.
func (cp *ControlPlane) AdminConfig() *rest.Config { return rest.CopyConfig(cp.admin) }

// ConfigAs returns AdminConfig impersonating the given user, who for the API server
// and its admission hooks is then the one who asks. A real user is in group
// system:authenticated, a service account also in system:serviceaccounts and
// that of its namespace; name them where they matter.
func (cp *ControlPlane) ConfigAs(user string, groups ...string) *rest.Config {
	cfg := cp.AdminConfig()
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	return cfg
}

// WriteKubeconfigFor writes a kubeconfig to path by which a program acts as the
// given service account, which must exist.
func (cp *ControlPlane) WriteKubeconfigFor(ctx context.Context, namespace, serviceAccount, path string) error {
	client, err := kubernetes.NewForConfig(cp.admin)
	if err != nil {
		return err
	}
	seconds := int64(tokenValidity / time.Second)
	token, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, serviceAccount, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("requesting a token for service account %s/%s: %w", namespace, serviceAccount, err)
	}
	return writeKubeconfig(path, &rest.Config{
		Host:            cp.admin.Host,
		BearerToken:     token.Status.Token,
		TLSClientConfig: rest.TLSClientConfig{CAData: cp.admin.CAData},
	})
}

// ServingFiles returns the certificate and the key with which the components serve on
// localhost, and the certificate of the authority that signed it. Whatever else
// runs beside the control plane may serve with them, too.
func (cp *ControlPlane) ServingFiles() (authority, certificate, key string) {
	return cp.path(pkiDir, clusterCAFile), cp.path(pkiDir, certFile(servingName)), cp.path(pkiDir, keyFile(servingName))
}

// Kubectl prepares a run of the control plane's own kubectl with all rights. It
// reads and writes nothing in the user's home.
func (cp *ControlPlane) Kubectl(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, cp.binary("kubectl"), args...)
	cmd.Env = cp.environment([]string{
		clientcmd.RecommendedConfigPathEnvVar + "=" + cp.Kubeconfig(),
		"KUBECTL_KUBERC=false",
	})
	return cmd
}

// writeKubeconfig stores cfg at path, self-contained.
func writeKubeconfig(path string, cfg *rest.Config) error {
	const name = "kausality"
	kubeconfig := clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{name: {
			Server:                   cfg.Host,
			CertificateAuthorityData: cfg.CAData,
		}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {
			ClientCertificateData: cfg.CertData,
			ClientKeyData:         cfg.KeyData,
			Token:                 cfg.BearerToken,
		}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	}
	if err := clientcmd.WriteToFile(kubeconfig, path); err != nil {
		return fmt.Errorf("writing kubeconfig %s: %w", path, err)
	}
	return nil
}
