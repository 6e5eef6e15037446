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

package stage

import (
	"context"
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
	PlatformTeam = "platform-team"
	Developers   = "Developers"
)

// People and controllers by their user names.
const (
	AliceName   = "alice"
	MalloryName = "mallory"
)

// Actor is somebody who acts in the cluster, with what the API server Warned them
// of.
type Actor struct {
	client.Client
	cluster *Cluster
	User    rest.ImpersonationConfig
	Warned  *Warnings
}

// Alice returns a person who may initiate.
func (c *Cluster) Alice() *Actor { return c.As(AliceName, PlatformTeam) }

// Mallory returns a person who may change Deployments and may not initiate.
func (c *Cluster) Mallory() *Actor { return c.As(MalloryName, Developers) }

// ServiceAccount returns a service account that no policy names, unless it is one of
// the controllers'.
func (c *Cluster) ServiceAccount(user string) *Actor {
	GinkgoHelper()
	namespace, _, err := serviceaccount.SplitUsername(user)
	Expect(err).NotTo(HaveOccurred())
	return c.As(user, serviceaccount.MakeGroupNames(namespace)...)
}

// As returns whoever is named.
func (c *Cluster) As(user string, groups ...string) *Actor {
	GinkgoHelper()
	a := &Actor{
		cluster: c,
		User:    rest.ImpersonationConfig{UserName: user, Groups: groups},
		Warned:  &Warnings{},
	}
	config := rest.CopyConfig(c.Config)
	config.Impersonate = a.User
	config.WarningHandler = a.Warned
	var err error
	a.Client, err = client.New(config, client.Options{Scheme: Scheme})
	Expect(err).NotTo(HaveOccurred())
	return a
}

// RunKubectl runs kubectl as the actor and returns what it printed, Warnings
// included.
func (a *Actor) RunKubectl(ctx context.Context, args ...string) (string, error) {
	as := []string{"--as=" + a.User.UserName}
	for _, group := range a.User.Groups {
		as = append(as, "--as-group="+group)
	}
	return a.cluster.RunKubectl(ctx, append(as, args...)...)
}

// Warnings collects what an API server warns of.
type Warnings struct {
	mu    sync.Mutex
	texts []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *Warnings) HandleWarningHeader(code int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if code == 299 && text != "" {
		w.texts = append(w.texts, text)
	}
}

// Take returns the Warnings since it was last called, one a line.
func (w *Warnings) Take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := strings.Join(slices.Clone(w.texts), "\n")
	w.texts = nil
	return text
}
