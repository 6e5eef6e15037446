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
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	clientdiscovery "k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/access"
	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/baseline"
	"kausality.io/operator/internal/certs"
	"kausality.io/operator/internal/composition"
	catalogcontroller "kausality.io/operator/internal/controller/catalog"
	gatecontroller "kausality.io/operator/internal/controller/gate"
	generatingcontroller "kausality.io/operator/internal/controller/generating"
	holdercontroller "kausality.io/operator/internal/controller/holder"
	interceptioncontroller "kausality.io/operator/internal/controller/interception"
	krocontroller "kausality.io/operator/internal/controller/kro"
	"kausality.io/operator/internal/controller/ownrights"
	policycontroller "kausality.io/operator/internal/controller/policy"
	"kausality.io/operator/internal/controller/recordevents"
	recordprotectioncontroller "kausality.io/operator/internal/controller/recordprotection"
	retentioncontroller "kausality.io/operator/internal/controller/retention"
	targetcontroller "kausality.io/operator/internal/controller/target"
	upgradecontroller "kausality.io/operator/internal/controller/upgrade"
	"kausality.io/operator/internal/controller/writeloop"
	"kausality.io/operator/internal/credential"
	"kausality.io/operator/internal/digestkey"
	"kausality.io/operator/internal/discovery"
	"kausality.io/operator/internal/eventrecorder"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/gate/crossplane"
	"kausality.io/operator/internal/gate/registry"
	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/identity"
	"kausality.io/operator/internal/interception"
	"kausality.io/operator/internal/objectcache"
	"kausality.io/operator/internal/pathkey"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
	"kausality.io/operator/internal/servertime"
	"kausality.io/operator/internal/storedversion"
	"kausality.io/operator/internal/upgrade"
	"kausality.io/operator/internal/watchstate"
	"kausality.io/operator/internal/webhook/admission"
	"kausality.io/operator/internal/webhook/cause"
	"kausality.io/operator/internal/webhook/entry"
	webhookv1alpha1 "kausality.io/operator/internal/webhook/v1alpha1"
)

// policyTimeout is how long the API server waits for the webhook of AllowancePolicies,
// whose configuration names no time.
const policyTimeout = 10 * time.Second

// operator is all that the parts of the operator share.
type operator struct {
	options
	manager.Manager

	// clock is the API server's, which all replicas go by.
	clock *servertime.Clock
	// credential is what the API server knows the operator by.
	credential *credential.Credential
	certs      *certs.Certs
	discovery  *clientdiscovery.DiscoveryClient
	kinds      *discovery.Resolver
	// writer writes objects that are not Kausality's own.
	writer     *storedversion.Client
	holders    *objectcache.Cache
	records    *record.Store
	cache      *record.Cache
	policies   *policy.Active
	catalog    *catalogcontroller.Catalog
	namespaces ancestry.NamespaceReader
	gates      *registry.Registry
	// pathKeys are what the API server shows of itself.
	pathKeys *pathkey.Keeper
	// digestKey keys digests of values.
	digestKey string
	// watches tells how the watches do whose objects decide requests.
	watches watchstate.Watches
	// indexed tells whether the policies are known.
	indexed healthz.Checker
	// ignoring reports whether the ignored parents are known.
	ignoring func() bool
	// baseline remembers what objects without a record are like.
	baseline *baseline.Memory
	// asking knows whether the API server asks.
	asking *interceptioncontroller.Asking
	// upgrades are the UpgradeAllowances that let something through.
	upgrades *upgrade.Active
	// pods knows which version of a controller makes a request, and revisions what Crossplane
	// composes from.
	pods      *identity.Pods
	revisions *composition.Revisions
	// current compares the indexed policies with those of the API server.
	current *catalogcontroller.Look
}

// run sets the operator up and runs it until ctx ends.
func run(ctx context.Context, opts options) error {
	if err := opts.validate(); err != nil {
		return err
	}
	o := &operator{options: opts, clock: servertime.New(), credential: credential.New()}
	for _, step := range []func(context.Context) error{
		o.setupManager, o.setupShared, o.setupControllers, o.setupWebhooks, o.setupProbes,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if err := o.Start(ctx); err != nil {
		return fmt.Errorf("running the operator: %w", err)
	}
	return nil
}

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(v1alpha1.AddToScheme(s))
	return s
}

// attend has the watch of objects attended, and end the operator where the API server has
// gone back in time.
func (o *operator) attend(lw toolscache.ListerWatcher, example runtime.Object) toolscache.ListerWatcher {
	return watchstate.Rewind{End: endAtOnce}.Over(o.watches.Attend(lw, example))
}

// endAtOnce ends the operator, which whoever runs it starts anew: what it has concluded from what
// it knew is not true any more.
func endAtOnce(why error) {
	ctrl.Log.WithName("setup").Error(why, "Ending at once, to be started anew")
	os.Exit(1)
}

// patientServer is a webhook server that waits for its certificate.
type patientServer struct {
	webhook.Server
	ready func() <-chan struct{}
}

// Start implements manager.Runnable.
func (s patientServer) Start(ctx context.Context) error {
	select {
	case <-s.ready():
		return s.Server.Start(ctx)
	case <-ctx.Done():
		return nil
	}
}

func (o *operator) setupManager(ctx context.Context) error {
	if err := watchstate.NoticeLostConnections(); err != nil {
		return err
	}
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the API server: %w", err)
	}
	// What waits for an answer of the API server is on the path of somebody's
	// request; the API server's own priority and fairness is the limit.
	cfg.QPS = -1
	cfg.Wrap(o.clock.Over)
	cfg.Wrap(o.credential.Over)
	if err := awaitDefinitions(ctx, cfg); err != nil {
		return err
	}

	namespaces, namespaceCache := ancestry.NamespaceCache(generatingcontroller.WithoutFields)
	definitions, definitionCache := discovery.DefinitionCache()
	byObject := map[client.Object]cache.ByObject{namespaces: namespaceCache, definitions: definitionCache}
	if o.protectRecords {
		maps.Copy(byObject, recordprotectioncontroller.Caches())
	}
	o.Manager, err = ctrl.NewManager(cfg, ctrl.Options{
		Scheme: scheme(),
		Cache:  cache.Options{ByObject: byObject},
		NewCache: func(cfg *rest.Config, opts cache.Options) (_ cache.Cache, err error) {
			o.cache, err = record.NewCache(cfg, opts, recordevents.NoteOf, o.attend)
			return o.cache, err
		},
		LeaderElection:                o.leaderElect,
		LeaderElectionID:              "leader.kausality.io",
		LeaderElectionNamespace:       o.namespace,
		LeaderElectionReleaseOnCancel: true,
		HealthProbeBindAddress:        o.healthAddress,
		PprofBindAddress:              o.pprofAddress,
		Metrics: metricsserver.Options{
			BindAddress:    o.metricsAddress,
			SecureServing:  true,
			FilterProvider: filters.WithAuthenticationAndAuthorization,
		},
		WebhookServer: patientServer{
			Server: entry.NewServer(o.webhookHost, o.webhookPort, func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
				return o.certs.GetCertificate(hello)
			}, o.webhookClients),
			ready: func() <-chan struct{} { return o.certs.Ready() },
		},
	})
	if err != nil {
		return fmt.Errorf("setting up the manager: %w", err)
	}
	return nil
}

// setupShared sets up what controllers and webhooks share.
func (o *operator) setupShared(ctx context.Context) error {
	var err error
	certOptions := certs.Options{
		Mode:           certs.Mode(o.certMode),
		Dir:            o.certDir,
		Namespace:      o.namespace,
		SecretName:     o.certSecret,
		Installed:      func(c client.Object) bool { return interception.IsOfOwnKinds(c) },
		Admission:      interception.DefaultName,
		LeaderElection: o.leaderElect,
	}
	var installed admissionregistrationv1.ValidatingWebhookConfigurationList
	if err := o.GetAPIReader().List(ctx, &installed); err != nil {
		return fmt.Errorf("listing ValidatingWebhookConfigurations: %w", err)
	}
	certOptions.ServiceName, certOptions.ExtraDNSNames = o.names(interception.FindInstalled(installed.Items))
	if o.certs, err = certs.Setup(ctx, o.Manager, certOptions); err != nil {
		return fmt.Errorf("setting up the serving certificate: %w", err)
	}
	o.discovery, err = clientdiscovery.NewDiscoveryClientForConfigAndClient(o.GetConfig(), o.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("setting up discovery: %w", err)
	}
	// No cache is kept of Secrets.
	if o.digestKey, err = digestkey.Ensure(ctx, o.GetAPIReader(), o.GetClient(), o.namespace); err != nil {
		return err
	}
	if err := o.setupPathKeys(ctx); err != nil {
		return err
	}
	o.asking = interceptioncontroller.NewAsking(interception.DefaultName, o.digestKey)
	if err := errors.Join(o.asking.Follow(ctx, o.GetCache()), o.Add(o.asking)); err != nil {
		return err
	}
	if err := record.Index(ctx, o.GetFieldIndexer()); err != nil {
		return err
	}
	o.kinds = discovery.New(o.discovery, discovery.Reader{Reader: o.GetAPIReader(), Metadata: o.GetClient()},
		openapi.NewClientWithContext(o.discovery.RESTClient()), o.clock)
	o.writer = &storedversion.Client{Client: o.GetClient(), Kinds: o.kinds}
	mapper := discovery.Mapper{RESTMapper: o.GetRESTMapper(), Resolver: o.kinds}
	if o.holders, err = objectcache.New(o.GetConfig(), o.GetHTTPClient(), mapper); err != nil {
		return err
	}
	// What is first asked for while somebody waits would be waited for, too.
	if _, err := o.GetCache().GetInformer(ctx, ancestry.NewNamespace(), cache.BlockUntilSynced(false)); err != nil {
		return fmt.Errorf("preparing to watch namespaces: %w", err)
	}
	o.namespaces = ancestry.NamespaceReader{Cached: o.GetCache(), Live: o.GetAPIReader(), Behind: o.behind(ancestry.NewNamespace())}
	if o.gates, err = o.gateRegistry(); err != nil {
		return err
	}
	o.policies, o.upgrades = &policy.Active{}, &upgrade.Active{}
	o.catalog = catalogcontroller.New(o.policies)
	o.current = catalogcontroller.NewLook(o.catalog, o.GetAPIReader(), o.behind(&v1alpha1.AllowancePolicy{}))
	o.pods = identity.NewPods(o.GetAPIReader(), o.clock)
	o.revisions = composition.NewRevisions(o.GetAPIReader(), func() composition.Kinds { return o.policies.Index() }, o.clock)
	o.records = record.NewStore(record.Config{
		Client:            o.GetClient(),
		Live:              o.GetAPIReader(),
		OperatorNamespace: o.namespace,
		All:               o.cache.All,
		Behind:            o.behind(&v1alpha1.AllowanceRecord{}),
		Clock:             o.clock,
	})
	if o.ignoring, err = recordevents.IgnoreParents(ctx, o.cache, o.holders.Ignore); err != nil {
		return err
	}
	return errors.Join(o.records.Follow(ctx, o.cache), o.Add(o.holders), o.Add(o.records))
}

// behind reports whether what is known of such objects may be older than what others see.
func (o *operator) behind(example client.Object) func() bool {
	return func() bool { return o.watches.Behind(example) }
}

// setupPathKeys sets up what the API server shows of itself.
func (o *operator) setupPathKeys(ctx context.Context) error {
	var err error
	if o.pathKeys, err = pathkey.Open(ctx, pathkey.Config{
		Client: o.GetClient(), Live: o.GetAPIReader(), Namespace: o.namespace, Schedule: pathkey.Every(o.webhookKeyLifetime), Clock: o.clock,
	}); err != nil {
		return err
	}
	watch, err := o.pathKeys.Watch(ctx, o.GetConfig(), cache.Options{
		HTTPClient: o.GetHTTPClient(), Scheme: o.GetScheme(), Mapper: o.GetRESTMapper(),
	})
	if err != nil {
		return err
	}
	return errors.Join(o.Add(watch), o.Add(pathkey.Renewal{Keeper: o.pathKeys}))
}

// setupControllers sets up the reconcilers.
func (o *operator) setupControllers(ctx context.Context) error {
	intercept := &interceptioncontroller.Reconciler{
		Client:       o.GetClient(),
		Policies:     o.catalog,
		Certificates: o.certs,
		Served:       o.kinds,
		PathKeys:     o.pathKeys,
		Changes:      []<-chan event.GenericEvent{o.certs.Changed(), o.catalog.Changes(), o.pathKeys.Changed()},
		OnRendered:   o.catalog.NotifyAll,
		Asking:       o.asking,
		Gates:        o.gates,
		Clock:        o.clock,
		Config: interception.Input{
			Composers:         splitList(o.crossplaneUsers),
			OperatorNamespace: o.namespace,
			OperatorUser:      o.user(),
			TimeoutSeconds:    int32(o.webhookTimeout), //nolint:gosec // validate bounds it.
		},
	}
	index := &catalogcontroller.Reconciler{
		Reader: o.GetClient(), Look: o.current, Catalog: o.catalog, Kinds: o.kinds, Holders: o.holders, Records: o.records, Gates: o.gates,
		Rights: &access.Reviews{Client: o.GetClient(), Clock: o.clock},
	}
	own := o.ownRights()
	policies := &policycontroller.Reconciler{
		Adoption:  o.adoption(),
		Client:    o.GetClient(),
		Catalog:   o.catalog,
		Kinds:     o.kinds,
		Rendering: intercept,
		OwnRights: own,
		Events:    o.GetEventRecorder("kausality"),
	}
	o.baseline = o.newBaseline()
	sign := o.newSignOfLife()
	o.asking.Notify(o.baseline.Lapse)
	o.asking.Notify(sign.Lapse)
	loops := writeloop.NewFinder()
	target := &targetcontroller.Reconciler{
		Client:     o.writer,
		Holders:    o.holders,
		Kinds:      o.kinds,
		Namespaces: o.namespaces,
		Policies:   o.policies,
		Catalog:    o.catalog,
		Rate:       o.targetStatusRate,
		Clock:      o.clock, Events: o.GetEventRecorder("kausality"), Loops: loops,
	}
	o.indexed = o.known(index.Ready)
	if err := o.AddReadyzCheck("policies", o.indexed); err != nil {
		return fmt.Errorf("adding a readiness check: %w", err)
	}
	return errors.Join(
		o.setupRecordProtection(),
		index.SetupWithManager(o.Manager),
		policies.SetupWithManager(ctx, o.Manager),
		intercept.SetupWithManager(o.Manager),
		o.holderController(sign, loops).SetupWithManager(o.Manager),
		o.gateController(loops).SetupWithManager(o.Manager),
		target.SetupWithManager(o.Manager),
		o.kroController().SetupWithManager(o.Manager),
		o.setupUpgrades(),
		o.generatingController().SetupWithManager(o.Manager),
		o.Add(heap{}),
		o.Add(sign),
		o.Add(o.baseline),
		o.Add(own),
		o.Add(o.retention()),
	)
}

// ownRights makes what finds out which rights of its own the operator lacks.
func (o *operator) ownRights() *ownrights.Reviewer {
	installation := access.Installation{
		Namespace: o.namespace, DigestKeySecret: digestkey.SecretName, PathKeySecret: pathkey.SecretName, Elected: o.leaderElect,
	}
	if certs.Mode(o.certMode) == certs.ModeSelfManaged {
		installation.CertSecret = o.certSecret
	}
	return &ownrights.Reviewer{
		Duties:  access.Own(installation),
		Rights:  &access.Reviews{Client: o.GetClient(), Clock: o.clock},
		Urgent:  &access.Reviews{Client: o.GetClient(), Clock: o.clock, Always: true},
		Changed: o.catalog.NotifyAll,
	}
}

// holderController makes the reconciler of the objects that have allowances.
func (o *operator) holderController(sign *holdercontroller.SignOfLife, loops *writeloop.Finder) *holdercontroller.Reconciler {
	return &holdercontroller.Reconciler{
		Client:         o.writer,
		Holders:        o.holders,
		Looked:         o.holders.Looked(),
		Came:           o.holders.Came,
		Drivers:        o.gates,
		Records:        o.records,
		Policies:       o.policies,
		Upgrades:       o.upgrades,
		Namespaces:     o.namespaces,
		SignOfLife:     sign,
		Baseline:       o.baseline,
		Events:         o.GetEventRecorder("kausality"),
		Clock:          o.clock,
		DigestKey:      o.digestKey,
		VersionToName:  o.kinds.VersionToName,
		Alone:          !o.leaderElect,
		QuietTimes:     o.quietTimes,
		Loops:          loops,
		LedgerRestTime: o.ledgerRestTime,
	}
}

// setupRecordProtection sets up the reconciler that protects records, where nothing that is
// installed does.
func (o *operator) setupRecordProtection() error {
	if !o.protectRecords {
		return nil
	}
	return (&recordprotectioncontroller.Reconciler{Client: o.GetClient(), User: o.user()}).SetupWithManager(o.Manager)
}

// setupUpgrades sets up the reconcilers of UpgradeAllowances.
func (o *operator) setupUpgrades() error {
	index := &upgradecontroller.Index{Client: o.GetClient(), Kinds: o.kinds, Active: o.upgrades, Changes: o.catalog.Changes()}
	status := &upgradecontroller.Reconciler{
		Client:     o.GetClient(),
		Kinds:      o.kinds,
		Policies:   o.policies,
		Records:    o.records,
		Holders:    o.holders,
		Namespaces: o.namespaces,
		Runners:    o.runners(),
		Accounts:   o.pods,
		Clock:      o.clock,
	}
	return errors.Join(
		index.SetupWithManager(o.Manager),
		status.SetupWithManager(o.Manager),
		o.Add(&upgradecontroller.Finisher{
			Holders:    o.holders,
			Looked:     o.holders.Looked(),
			Namespaces: o.namespaces,
			Policies:   o.policies,
			Records:    o.records,
			QuietTime:  o.upgradeQuietTime,
			Clock:      o.clock,
		}),
	)
}

// sources know the versions that upgrades are of.
func (o *operator) sources() upgrade.Sources {
	return upgrade.Sources{
		v1alpha1.UpgradeOfController:    o.pods,
		v1alpha1.UpgradeOfComposition:   composition.Compositions{Revisions: o.revisions},
		v1alpha1.UpgradeOfFunction:      composition.Functions{Revisions: o.revisions},
		v1alpha1.UpgradeOfResourceGraph: identity.NewGraphs(o.GetAPIReader()),
	}
}

// runners know what runs, of what does.
func (o *operator) runners() upgrade.Runners {
	return upgrade.Runners{
		v1alpha1.UpgradeOfController: o.pods,
		v1alpha1.UpgradeOfFunction:   composition.Functions{Revisions: o.revisions},
	}
}

// known fails until the policies are known, and which parents are none.
func (o *operator) known(policies healthz.Checker) healthz.Checker {
	return func(r *http.Request) error {
		if !o.ignoring() {
			return errNotSynced
		}
		return policies(r)
	}
}

// answers fails while the operator is in no state to judge: so that the API server goes by the failurePolicy.
func (o *operator) answers(r *http.Request) error {
	return errors.Join(o.credential.Check(r), o.indexed(r))
}

// kroController keeps the policies of kro's graphs.
func (o *operator) kroController() *krocontroller.Reconciler {
	return &krocontroller.Reconciler{
		Client: o.GetClient(), Live: o.GetAPIReader(), Cache: o.GetCache(), Mapper: o.GetRESTMapper(),
		Events: o.GetEventRecorder("kausality"), Settings: o.kroSettings,
	}
}

// newBaseline remembers what objects without a record are like.
func (o *operator) newBaseline() *baseline.Memory {
	return baseline.New(baseline.Config{
		Client:    o.GetClient(),
		Live:      o.GetAPIReader(),
		Namespace: o.namespace,
		Holders:   o.holders,
		Looked:    o.holders.Looked(),
		Behind:    o.records.Behind,
		Clock:     o.clock,
	})
}

// retention deletes old records.
func (o *operator) retention() *retentioncontroller.Reconciler {
	return &retentioncontroller.Reconciler{
		Client:  o.GetClient(),
		Holders: o.holders,
		Looked:  o.holders.Looked(),
		Records: o.records,
		Clock:   o.clock,
		Age:     o.recordAge,
		Count:   o.recordCount,
	}
}

// adoption finds what is in the middle of something when a policy comes.
func (o *operator) adoption() policycontroller.Adoption {
	return policycontroller.Adoption{
		Holders: o.holders, Namespaces: o.namespaces, Records: o.records, Schemas: o.kinds, DigestKey: o.digestKey,
		Writer: o.writer, Clock: o.clock,
	}
}

// setupWebhooks sets up the hooks.
func (o *operator) setupWebhooks(context.Context) error {
	gatherer := &admission.Gatherer{
		Policies:          o.policies,
		Objects:           o.holders,
		Namespaces:        o.namespaces,
		Records:           o.records,
		Notices:           eventrecorder.NewBoard(o.GetEventRecorder("kausality"), o.clock),
		Kinds:             o.kinds,
		Unserved:          &discovery.Lacking{Discovery: o.discovery, Clock: o.clock},
		OperatorNamespace: o.namespace,
		Clock:             o.clock,
		Pods:              admission.PodReader{Reader: o.GetAPIReader()},
		Access:            admission.Reviews{Client: o.GetClient()},
		OperatorUser:      o.user(),
		Platform:          o.platform(),
		Generators:        admission.Accounts{Cached: o.GetClient(), Live: o.GetAPIReader(), Default: o.generator()},
		Upgrades:          o.upgrades,
		Versions:          o.sources(),
		Gates:             o.gates,
		Holds:             admission.AnnotationWriter{Client: o.writer},
		DigestKey:         o.digestKey,
		Baseline:          o.baseline,
		Current:           o.current.Current,
	}
	o.asking.Notify(gatherer.Lapse)
	server, room := o.GetWebhookServer(), entry.NewRoom()
	timeout := time.Duration(o.webhookTimeout) * time.Second
	for path, handler := range map[string]webhook.AdmissionHandler{
		interception.MutatePath:   &admission.Mutator{Gatherer: gatherer},
		interception.ValidatePath: &admission.Validator{Gatherer: gatherer},
		interception.CausePath: &cause.Hook{
			Policies: o.GetClient(), Namespaces: o.namespaces, KindFor: o.kinds.KindFor, Clock: o.clock,
			Notary:   generate.NewNotary(o.digestKey),
			Requests: cause.Secrets{Writer: o.GetClient(), Namespace: o.namespace},
		},
	} {
		hook := room.Within(timeout, admission.SetObjectsAside(admission.Hook(handler)))
		server.Register(path+entry.KeyPattern, entry.Known(o.pathKeys, admission.WhenReady(o.answers, hook)))
	}
	// Its configuration is installed with the operator and has no key. It writes nothing.
	policies := webhookv1alpha1.AllowancePolicyHook(o.Manager, o.kinds, o.catalog.Policies)
	server.Register(interception.PolicyPath, entry.NewSmallRoom().Within(policyTimeout, policies))
	small := entry.NewSmallRoom()
	server.Register(interception.UpgradeStampPath, small.Within(policyTimeout, webhookv1alpha1.UpgradeAllowanceStamp(o.Manager)))
	server.Register(interception.UpgradePath, small.Within(policyTimeout, webhookv1alpha1.UpgradeAllowanceHook(o.Manager, o.kinds, o.policies, o.runners(), o.pods)))
	server.Register(interception.GeneratingPath, small.Within(policyTimeout, webhookv1alpha1.GeneratingPolicyHook(o.Manager, o.kinds, o.generator())))
	return nil
}

// generatingController carries out GeneratingPolicies.
func (o *operator) generatingController() *generatingcontroller.Reconciler {
	return &generatingcontroller.Reconciler{
		Client:         o.GetClient(),
		Live:           o.GetAPIReader(),
		Discovery:      o.discovery,
		Records:        o.records,
		Events:         o.GetEventRecorder("kausality"),
		Notary:         generate.NewNotary(o.digestKey),
		Clock:          o.clock,
		DefaultAccount: o.generator(),
		Namespace:      o.namespace,
		Asked:          interception.CausesName(interception.DefaultName),
		Rate:           o.generatingRate,
		Stale:          o.behind(ancestry.NewNamespace()),
	}
}

// generator returns the user name of the service account of GeneratingPolicies that name none.
func (o *operator) generator() string {
	return serviceaccount.MakeUsername(o.namespace, generate.DefaultServiceAccount)
}

// newSignOfLife tells other replicas, and those to come, that somebody looks.
func (o *operator) newSignOfLife() *holdercontroller.SignOfLife {
	return holdercontroller.NewSignOfLife(holdercontroller.SignOfLifeConfig{
		Client:     o.GetClient(),
		Live:       o.GetAPIReader(),
		Namespace:  o.namespace,
		Holders:    o.holders,
		Looked:     o.holders.Looked(),
		Records:    o.records,
		Baseline:   o.baseline,
		Policies:   o.policies,
		Namespaces: o.namespaces,
		Asking:     o.asking,
		Clock:      o.clock,
	})
}

// gateController closes gates.
func (o *operator) gateController(loops *writeloop.Finder) *gatecontroller.Reconciler {
	return &gatecontroller.Reconciler{
		Client:     o.writer,
		Holders:    o.holders,
		Drivers:    o.gates,
		Records:    o.records,
		Policies:   o.policies,
		Catalog:    o.catalog,
		Namespaces: o.namespaces,
		Upgrades:   o.upgrades,
		Events:     o.GetEventRecorder("kausality"),
		Clock:      o.clock,
		Settle:     o.gateSettleTime,
		Loops:      loops,
	}
}

// gateRegistry knows the kinds with gates.
func (o *operator) gateRegistry() (*registry.Registry, error) {
	providers, err := registry.ParseMapping(o.crossplaneProviders)
	if err != nil {
		return nil, fmt.Errorf("--crossplane-providers: %w", err)
	}
	versions, err := registry.ParseMapping(o.crossplaneRuntimes)
	if err != nil {
		return nil, fmt.Errorf("--crossplane-runtimes: %w", err)
	}
	runtimes := make(map[string]crossplane.Runtime, len(versions))
	for provider, version := range versions {
		if runtimes[provider], err = crossplane.ParseRuntime(version); err != nil {
			return nil, fmt.Errorf("--crossplane-runtimes: %w", err)
		}
	}
	return &registry.Registry{
		Drivers:     gate.Drivers{crossplane.Driver{Runtimes: runtimes}},
		Served:      o.kinds,
		Definitions: o.GetClient(),
		Providers:   providers,
		Systems:     splitList(o.crossplaneProviderUsers),
		Composers:   splitList(o.crossplaneUsers),
	}, nil
}

// setupProbes says when the operator is alive, and when it can answer.
func (o *operator) setupProbes(context.Context) error {
	caches := &syncing{wait: o.GetCache().WaitForCacheSync}
	o.credential.Ask = func(ctx context.Context) error {
		return o.discovery.RESTClient().Get().AbsPath("apis", v1alpha1.GroupVersion.Group, v1alpha1.GroupVersion.Version).Do(ctx).Error()
	}
	o.credential.Again = func() { endAtOnce(errKnownAgain) }
	return errors.Join(
		o.AddHealthzCheck("ping", healthz.Ping),
		o.AddReadyzCheck("certificate", o.certs.Healthz),
		o.AddReadyzCheck("webhooks", o.GetWebhookServer().StartedChecker()),
		o.AddReadyzCheck("caches", caches.check),
		o.AddReadyzCheck("api-server", o.current.Ready),
		o.AddReadyzCheck("credential", o.credential.Check),
		o.Add(caches),
		o.Add(o.credential),
	)
}

// names returns the names that the API server calls the operator by: the Service, or the host where it
// runs outside of the cluster.
func (o *operator) names(installed *interception.Installed) (service string, hosts []string) {
	if installed == nil {
		return o.serviceName, nil
	}
	if s := installed.ClientConfig.Service; s != nil {
		return s.Name, nil
	}
	if called, err := url.Parse(ptr.Deref(installed.ClientConfig.URL, "")); err == nil {
		hosts = append(hosts, called.Hostname())
	}
	return o.serviceName, hosts
}
