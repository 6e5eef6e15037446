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
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/internal/interception"
	"kausality.io/operator/internal/pathkey"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/stage"
)

const (
	// burst is how many requests are made at once: more than the connections that an API
	// server keeps, so that it makes new ones all the time.
	burst = 40
	// burstInterval is how often.
	burstInterval = 250 * time.Millisecond
	// slowest is how far an API server may be behind with what webhook configurations say.
	slowest = 2 * time.Second
	// handedOver is how long the handover to another authority takes at most.
	handedOver = 90 * time.Second
)

// The installed webhook configurations.
const (
	ownConfiguration   = "kausality-validating-webhook-configuration"
	stampConfiguration = "kausality-mutating-webhook-configuration"
)

// The certificate that the API server trusts, and the key that it shows, change while it
// asks. Each request is counted: one that nobody judged passes under Ignore, and one that
// somebody could not be asked about fails.
var _ = Describe("Two replicas", Ordered, func() {
	var (
		c   *cluster
		cp  *controlplane.ControlPlane
		svc *service
	)
	BeforeAll(func(ctx SpecContext) {
		cp = startControlPlane(ctx, controlplane.Options{})
		quick := []string{"--webhook-key-lifetime=8s"}
		svc = startReplicas(ctx, cp, (*service).byConnection, controlplane.OperatorOptions{ExtraFlags: quick}, controlplane.OperatorOptions{ExtraFlags: quick})
		c = connect(cp)
		c.applySamplePolicies(ctx)
	}, NodeTimeout(startTimeout))

	DescribeTable("under load, no request is refused or passes unjudged when another authority is made",
		func(ctx SpecContext, change func(*corev1.Secret)) {
			load, probe := c.startLoad(ctx), c.startProbing(svc)
			key := client.ObjectKey{Namespace: controlplane.OperatorNamespace, Name: "kausality-webhook-server-cert"}
			secret := &corev1.Secret{}
			Expect(c.Get(ctx, key, secret)).To(Succeed())
			change(secret)
			Expect(c.Update(ctx, secret)).To(Succeed())
			var authority []byte
			Eventually(ctx, func(g Gomega) {
				g.Expect(c.Get(ctx, key, secret)).To(Succeed())
				authority = secret.Data["ca.crt"]
				g.Expect(secret.Data).To(HaveKey("ca.key"))
			}).Should(Succeed())

			By("all replicas serving with what the other authority has signed")
			Eventually(ctx, func(g Gomega) {
				for _, address := range svc.addresses() {
					g.Expect(reach(ctx, address, authority)).To(Succeed())
				}
			}).WithTimeout(handedOver).Should(Succeed())
			Consistently(ctx, probe.failures, 2*slowest).Should(BeEmpty())
			probe.end()
			Expect(probe.failures()).To(BeEmpty())
			Expect(probe.done).To(BeNumerically(">", len(svc.addresses())), "nobody tried to connect")
			load.end(ctx)
		},
		Entry("as the Secret was emptied", func(s *corev1.Secret) { s.Data = nil }, stage.Long, SpecTimeout(2*specTimeout)),
		Entry("as the key of the last one is lost", func(s *corev1.Secret) { delete(s.Data, "ca.key") }, SpecTimeout(2*specTimeout)),
	)

	It("under load, no request is refused or passes unjudged when the key in the path is renewed", func(ctx SpecContext) {
		load, keys := c.startLoad(ctx), map[string]bool{}
		Eventually(ctx, func(g Gomega) {
			secret := &corev1.Secret{}
			g.Expect(c.Get(ctx, client.ObjectKey{Namespace: controlplane.OperatorNamespace, Name: pathkey.SecretName}, secret)).To(Succeed())
			keys[string(secret.Data["current"])] = true
			g.Expect(len(keys)).To(BeNumerically(">", 3))
		}).Should(Succeed())
		load.end(ctx)
	}, SpecTimeout(specTimeout))

	It("leave bounded what one of them has judged while none led", func(ctx SpecContext) {
		c.succeeds(ctx, svc)
	}, SpecTimeout(2*specTimeout))

	It("adopt what was made while neither answered, and withhold what was changed, whatever one of them answers before it leads", func(ctx SpecContext) {
		c.comeBack(ctx, svc)
	}, SpecTimeout(2*specTimeout))
})

// load is requests that the operator has to refuse, and some about its own kind that it has
// to let pass, all of them dry runs.
type load struct {
	cancel context.CancelFunc
	ended  sync.WaitGroup

	mu     sync.Mutex
	judged int
	wrong  []string
}

// startLoad begins to make requests, which ends with the spec.
func (c *cluster) startLoad(ctx context.Context) *load {
	GinkgoHelper()
	ns := c.newNamespace(ctx)
	rs := c.newestReplicaSet(ctx, c.alice().deploy(ctx, builders.MakeDeployment(ns, "web").Replicas(2)))
	stranger, admin := c.mallory(), c.as("admin", "system:masters")
	Eventually(ctx, func() error { return stranger.try(ctx, rs.DeepCopy(), replicas(9), client.DryRunAll) }).Should(MatchError(denied, "denied"))
	policy := thingPolicy("load.example.org", "load")
	// The spec says when it ends, not the node that starts it.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l := &load{cancel: cancel}
	l.ended.Go(func() {
		ticker := time.NewTicker(burstInterval)
		defer ticker.Stop()
		for ctx.Err() == nil {
			var all sync.WaitGroup
			for range burst {
				all.Go(func() { l.note(ctx, "a stranger's", strange(ctx, stranger, rs)) })
			}
			all.Go(func() {
				l.note(ctx, "a policy's", admin.Create(ctx, policy.DeepCopy(), client.DryRunAll))
			})
			all.Wait()
			select {
			case <-ticker.C:
			case <-ctx.Done():
			}
		}
	})
	DeferCleanup(func() {
		cancel()
		l.ended.Wait()
	})
	return l
}

// strange scales a ReplicaSet, and returns an error if that is not refused.
func strange(ctx context.Context, who *actor, rs *appsv1.ReplicaSet) error {
	err := who.Patch(ctx, rs.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(replicas(9))), client.DryRunAll)
	switch {
	case err == nil:
		return errors.New("passed unjudged")
	case denied(err):
		return nil
	}
	return err
}

func (l *load) note(ctx context.Context, whose string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		l.judged++
	case ctx.Err() == nil:
		l.wrong = append(l.wrong, fmt.Sprintf("%s %s: %v", time.Now().Format(time.RFC3339Nano), whose, err))
	}
}

// end ends the requests, and checks that each was judged.
func (l *load) end(context.Context) {
	GinkgoHelper()
	l.cancel()
	l.ended.Wait()
	GinkgoWriter.Println(l.judged, "requests were judged,", len(l.wrong), "were not")
	Expect(l.wrong).To(BeEmpty())
	Expect(l.judged).To(BeNumerically(">", burst))
}

// probing connects to each replica as any API server would that trusts what the webhook
// configurations say, or what they said a while ago.
type probing struct {
	cancel context.CancelFunc
	ended  sync.WaitGroup

	mu     sync.Mutex
	done   int
	failed []string
}

// startProbing begins to connect, which ends with the spec.
func (c *cluster) startProbing(svc *service) *probing {
	ctx, cancel := context.WithCancel(context.Background())
	p := &probing{cancel: cancel}
	type said struct {
		at     time.Time
		bundle []byte
	}
	var all []said
	p.ended.Go(func() {
		for ctx.Err() == nil {
			bundles, err := c.trusted(ctx)
			if err != nil {
				p.note(ctx, err)
				continue
			}
			now := time.Now()
			for _, bundle := range bundles {
				all = append(all, said{now, bundle})
			}
			all = slices.DeleteFunc(all, func(s said) bool { return now.Sub(s.at) > slowest })
			unique := map[string]bool{}
			for _, s := range all {
				unique[string(s.bundle)] = true
			}
			for bundle := range unique {
				for _, address := range svc.addresses() {
					p.note(ctx, reach(ctx, address, []byte(bundle)))
				}
			}
		}
	})
	DeferCleanup(p.end)
	return p
}

func (p *probing) note(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	if err == nil {
		return
	}
	p.failed = append(p.failed, time.Now().Format(time.RFC3339Nano)+" "+err.Error())
}

func (p *probing) failures() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.failed[:min(len(p.failed), 10)])
}

func (p *probing) end() {
	p.cancel()
	p.ended.Wait()
}

// trusted returns the bundles of authorities by which the API server trusts the webhooks.
func (c *cluster) trusted(ctx context.Context) ([][]byte, error) {
	own, verdicts := &admissionregistrationv1.ValidatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}
	grants, stamps := &admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.MutatingWebhookConfiguration{}
	for name, obj := range map[string]client.Object{ownConfiguration: own, stampConfiguration: stamps} {
		if err := c.Get(ctx, client.ObjectKey{Name: name}, obj); err != nil {
			return nil, err
		}
	}
	for _, obj := range []client.Object{verdicts, grants} {
		if err := c.Get(ctx, client.ObjectKey{Name: interception.DefaultName}, obj); err != nil {
			return nil, err
		}
	}
	var out [][]byte
	for _, w := range append(own.Webhooks, verdicts.Webhooks...) {
		out = append(out, w.ClientConfig.CABundle)
	}
	for _, w := range append(stamps.Webhooks, grants.Webhooks...) {
		out = append(out, w.ClientConfig.CABundle)
	}
	return out, nil
}

// reach makes a connection to a replica, as somebody who trusts a bundle of authorities.
func reach(ctx context.Context, address string, bundle []byte) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	dialer := tls.Dialer{
		NetDialer: &net.Dialer{Timeout: slowest},
		Config:    &tls.Config{RootCAs: roots, ServerName: "localhost", MinVersion: tls.VersionTLS12},
	}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("connecting to %s: %w", address, err)
	}
	return conn.Close()
}
