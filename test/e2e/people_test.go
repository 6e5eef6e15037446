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

package e2e

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Groups that people are in. The sample policies let the first one initiate.
const (
	platformTeam = "platform-team"
	developers   = "developers"
)

// People and controllers by their user names.
const (
	alice   = "alice"
	mallory = "mallory"
)

// Service accounts that the sample policies name.
var (
	deploymentController = serviceaccount.MakeUsername("kube-system", "deployment-controller")
	autoscaler           = serviceaccount.MakeUsername("kube-system", "horizontal-pod-autoscaler")
)

// actor is somebody who acts in the cluster, with what the API server warned them
// of.
type actor struct {
	client.Client
	cluster *cluster
	user    rest.ImpersonationConfig
	warned  *warnings
}

// alice is a person who may initiate.
func (c *cluster) alice() *actor { return c.as(alice, platformTeam) }

// mallory is a person who may change Deployments and may not initiate.
func (c *cluster) mallory() *actor { return c.as(mallory, developers) }

// serviceAccount is a service account that no policy names, unless it is one of
// the controllers'.
func (c *cluster) serviceAccount(user string) *actor {
	GinkgoHelper()
	namespace, _, err := serviceaccount.SplitUsername(user)
	Expect(err).NotTo(HaveOccurred())
	return c.as(user, serviceaccount.MakeGroupNames(namespace)...)
}

func (c *cluster) as(user string, groups ...string) *actor {
	GinkgoHelper()
	a := &actor{
		cluster: c,
		user:    rest.ImpersonationConfig{UserName: user, Groups: groups},
		warned:  &warnings{},
	}
	config := rest.CopyConfig(c.config)
	config.Impersonate = a.user
	config.WarningHandler = a.warned
	var err error
	a.Client, err = client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	return a
}

// kubectl runs kubectl as the actor and returns what it printed, warnings
// included.
func (a *actor) kubectl(ctx context.Context, args ...string) (string, error) {
	as := []string{"--as=" + a.user.UserName}
	for _, group := range a.user.Groups {
		as = append(as, "--as-group="+group)
	}
	return a.cluster.kubectl(ctx, append(as, args...)...)
}

// kubectl runs kubectl with all rights, without the user's home.
func (c *cluster) kubectl(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, c.Kubectl, append([]string{
		"--kubeconfig=" + c.Kubeconfig,
		"--cache-dir=" + filepath.Join(filepath.Dir(c.Kubeconfig), "kubectl"),
	}, args...)...)
	cmd.Env = []string{"KUBECTL_KUBERC=false"}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// warnings collects what an API server warns of.
type warnings struct {
	mu    sync.Mutex
	texts []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(code int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if code == 299 && text != "" {
		w.texts = append(w.texts, text)
	}
}

// take returns the warnings since it was last called, one a line.
func (w *warnings) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := strings.Join(slices.Clone(w.texts), "\n")
	w.texts = nil
	return text
}
