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
	"context"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/rest"

	"kausality.io/operator/test/stage"
)

// Groups that people are in. The sample policies let the first one initiate.
const (
	platformTeam = stage.PlatformTeam
	developers   = stage.Developers
)

// People and controllers by their user names.
const (
	alice   = stage.AliceName
	mallory = stage.MalloryName
)

// Service accounts that the sample policies name.
var (
	deploymentController = serviceaccount.MakeUsername("kube-system", "deployment-controller")
	autoscaler           = serviceaccount.MakeUsername("kube-system", "horizontal-pod-autoscaler")
)

// actor is somebody who acts in the cluster, with what the API server warned them
// of.
type actor struct {
	*stage.Actor

	cluster *cluster
	user    rest.ImpersonationConfig
	warned  warnings
}

// warnings are what the API server warned somebody of.
type warnings struct{ *stage.Warnings }

// take returns the warnings since it was last called, one a line.
func (w warnings) take() string { return w.Take() }

// alice returns a person who may initiate.
func (c *cluster) alice() *actor { return c.actor(c.Alice()) }

// mallory returns a person who may change Deployments and may not initiate.
func (c *cluster) mallory() *actor { return c.actor(c.Mallory()) }

// serviceAccount returns a service account that no policy names, unless it is one of
// the controllers'.
func (c *cluster) serviceAccount(user string) *actor {
	GinkgoHelper()
	return c.actor(c.ServiceAccount(user))
}

func (c *cluster) as(user string, groups ...string) *actor {
	GinkgoHelper()
	return c.actor(c.As(user, groups...))
}

func (c *cluster) actor(a *stage.Actor) *actor {
	return &actor{Actor: a, cluster: c, user: a.User, warned: warnings{a.Warned}}
}

// kubectl runs kubectl as the actor and returns what it printed, warnings
// included.
func (a *actor) kubectl(ctx context.Context, args ...string) (string, error) {
	return a.RunKubectl(ctx, args...)
}

// kubectl runs kubectl with all rights, without the user's home.
func (c *cluster) kubectl(ctx context.Context, args ...string) (string, error) {
	return c.RunKubectl(ctx, args...)
}
