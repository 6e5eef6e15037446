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

// Package operators has the operators of a campaign, as many as there are replicas, with what
// breaks them: a proxy between the API server and their webhooks, one between them and the API
// server, and a clock.
package operators

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/clockshift"
	"kausality.io/operator/test/controlplane"
)

const (
	// CallTimeout is how long the API server waits for a webhook.
	CallTimeout = 3 * time.Second
	// Compaction is how often the API server has to compact etcd, so that watches which were
	// cut have to list anew.
	Compaction = 5 * time.Second
)

// CompactionFlag is what the API server has to be told of that.
const CompactionFlag = "--etcd-compaction-interval=5s"

// Group are the operators.
type Group struct {
	cp      *controlplane.ControlPlane
	opts    Options
	calls   *callProxy
	watches *watchProxy
	clock   clockshift.Clock

	mu    sync.Mutex
	names []string
}

// Options say how to start each operator.
type Options struct {
	// Binary is the executable, and Overlay the kustomization with what it needs. A clock is set
	// only of one that was built for that ("make shifted-operator").
	Binary, Overlay string
	ExtraFlags      []string
}

// New starts what is between the operators and the API server, and no operator yet.
func New(ctx context.Context, cp *controlplane.ControlPlane, opts Options) (*Group, error) {
	g := &Group{cp: cp, opts: opts}
	var err error
	if g.clock, err = clockshift.New(cp.Dir(), "operators"); err != nil {
		return nil, err
	}
	if g.calls, err = startCallProxy(ctx, g); err != nil {
		return nil, err
	}
	if g.watches, err = startWatchProxy(cp.AdminConfig()); err != nil {
		return nil, errors.Join(err, g.calls.close())
	}
	return g, nil
}

// Close ends what is between.
func (g *Group) Close() error {
	g.watches.close()
	return g.calls.close()
}

// Names returns the names of the processes.
func (g *Group) Names() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]string(nil), g.names...)
}

// Start starts one more operator. The first one brings what is needed in the cluster.
func (g *Group) Start(ctx context.Context) error {
	name := fmt.Sprintf("operator-%d", len(g.Names())+1)
	kubeconfig := filepath.Join(g.cp.Dir(), name+".proxied")
	opts := controlplane.OperatorOptions{
		Name: name, Binary: g.opts.Binary, WebhookURL: g.calls.url, Env: []string{g.clock.Env()},
		ExtraFlags: append([]string{
			"--kubeconfig=" + kubeconfig, "--leader-elect",
			fmt.Sprintf("--webhook-timeout-seconds=%d", int(CallTimeout.Seconds())),
		}, g.opts.ExtraFlags...),
	}
	if len(g.Names()) == 0 {
		opts.Overlay = g.opts.Overlay
		if err := g.install(ctx); err != nil {
			return err
		}
	}
	if err := g.cp.WriteKubeconfigFor(ctx, controlplane.OperatorNamespace, controlplane.OperatorServiceAccount, kubeconfig); err != nil {
		return err
	}
	if err := g.watches.redirect(kubeconfig); err != nil {
		return err
	}
	g.mu.Lock()
	g.names = append(g.names, name)
	g.mu.Unlock()
	_, err := controlplane.InstallOperator(ctx, g.cp, opts)
	return err
}

// install makes the namespace and the service account, of which the first operator needs a token.
func (g *Group) install(ctx context.Context) error {
	objects, err := g.cp.Render(ctx, g.opts.Overlay)
	if err != nil {
		return err
	}
	return g.cp.Apply(ctx, objects)
}

// CutWatches cuts all that operators have open to the API server for a while; afterwards they
// have to list anew.
func (g *Group) CutWatches(ctx context.Context, long time.Duration) {
	g.watches.lose()
	pause(ctx, long+Compaction)
	g.watches.resume()
}

// DelayCalls has one in twenty calls of webhooks come too late for a while.
func (g *Group) DelayCalls(ctx context.Context, long time.Duration) {
	g.calls.delaying.Store(true)
	pause(ctx, long)
	g.calls.delaying.Store(false)
}

// Calls returns how many calls there were, and how many of them were late.
func (g *Group) Calls() (all, late int64) { return g.calls.calls.Load(), g.calls.delays.Load() }

// Reconnect has the API server connect anew, and so look at the certificate.
func (g *Group) Reconnect() { g.calls.reconnect() }

// StepClock sets the clocks of all operators ahead for a while, or back, and right again.
func (g *Group) StepClock(ctx context.Context, ahead, long time.Duration) error {
	if err := g.clock.Set(ahead); err != nil {
		return err
	}
	pause(ctx, long)
	return g.clock.Set(0)
}

// Freeze stops a process for a while; it knows nothing of that.
func (g *Group) Freeze(ctx context.Context, name string, long time.Duration) error {
	if err := g.cp.Pause(name); err != nil {
		return err
	}
	pause(ctx, long)
	return g.cp.Resume(name)
}

// usurper takes the lease from the operators.
const usurper = "somebody-else"

// Depose gives the lease to somebody else. The operator that had it ends, and somebody has to
// start it again, as a kubelet would.
func Depose(ctx context.Context, admin client.Client) error {
	lease, err := read(ctx, admin)
	if err != nil {
		return err
	}
	lease.Spec.HolderIdentity = new(usurper)
	return admin.Update(ctx, lease)
}

// Led reports whether an operator has the lease.
func Led(ctx context.Context, admin client.Client) bool {
	lease, err := read(ctx, admin)
	return err == nil && ptr.Deref(lease.Spec.HolderIdentity, "") != usurper
}

func read(ctx context.Context, admin client.Client) (*coordinationv1.Lease, error) {
	lease := &coordinationv1.Lease{}
	return lease, admin.Get(ctx, client.ObjectKey{Namespace: controlplane.OperatorNamespace, Name: "leader.kausality.io"}, lease)
}

// flag returns the value of the flag of an operator that begins so.
func (g *Group) flag(operator, prefix string) string {
	value := ""
	for _, arg := range g.cp.Args(operator) {
		if rest, found := strings.CutPrefix(arg, prefix); found {
			value = rest
		}
	}
	return value
}

// pause waits, since what is broken is to stay broken for a while.
func pause(ctx context.Context, long time.Duration) {
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
