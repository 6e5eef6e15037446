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

package main

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/controlplane"
)

// story is the play and where it has got to.
type story struct {
	cast
	cp       *controlplane.ControlPlane
	narrator narrator
	// api reads what the claims are about.
	api client.Client
	// witness is the API server's audit log.
	witness witness
	// samples is the kustomization with the policies.
	samples string
	// checked counts the claims that held.
	checked int
}

func newStory(cp *controlplane.ControlPlane, n narrator, samples string) (*story, error) {
	api, err := newClient(cp.AdminConfig())
	if err != nil {
		return nil, err
	}
	return &story{
		cast:     newCast(),
		cp:       cp,
		narrator: n,
		api:      api,
		witness:  witness{path: cp.AuditLog()},
		samples:  samples,
	}, nil
}

// newClient returns a client that knows the kinds of the story.
func newClient(cfg *rest.Config) (client.Client, error) {
	return client.New(cfg, client.Options{Scheme: controlplane.NewScheme()})
}

// play plays the story to its end, or to the first claim that does not hold.
func (s *story) play(ctx context.Context) error {
	chapters := []struct {
		title string
		act   func(context.Context) error
	}{
		{"The policies are applied", s.applyPolicies},
		{"Anybody may create: carol makes a Deployment", s.create},
		{"alice may initiate, and scales it", s.scale},
		{"alice changes the image", s.changeImage},
		{"A ReplicaSet is not for anybody to change", s.refuse},
		{"mallory changes the image of the Deployment", s.withhold},
		{"alice approves it", s.approve},
		{"A forged ledger grants nothing", s.forge},
	}
	for i, chapter := range chapters {
		s.narrator.chapter(fmt.Sprintf("%d. %s", i+1, chapter.title))
		if err := chapter.act(ctx); err != nil {
			return err
		}
	}
	return nil
}
