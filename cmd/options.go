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
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/certs"
	gatecontroller "kausality.io/operator/internal/controller/gate"
	generatingcontroller "kausality.io/operator/internal/controller/generating"
	holdercontroller "kausality.io/operator/internal/controller/holder"
	krocontroller "kausality.io/operator/internal/controller/kro"
	retentioncontroller "kausality.io/operator/internal/controller/retention"
	upgradecontroller "kausality.io/operator/internal/controller/upgrade"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/derive/kro"
	"kausality.io/operator/internal/interception"
	"kausality.io/operator/internal/webhook/entry"
)

// minKeyLifetime leaves replicas and API servers a second at least for each step of a
// renewal.
const minKeyLifetime = 4 * time.Second

// options are the flags of the operator.
type options struct {
	namespace               string
	serviceAccount          string
	leaderElect             bool
	healthAddress           string
	metricsAddress          string
	pprofAddress            string
	webhookHost             string
	webhookPort             int
	webhookTimeout          int
	webhookKeyLifetime      time.Duration
	webhookClientCA         string
	webhookClientNames      string
	serviceName             string
	certDir                 string
	certMode                string
	certSecret              string
	platformUsers           string
	extraPlatformUsers      string
	crossplaneUsers         string
	crossplaneProviderUsers string
	crossplaneProviders     string
	crossplaneRuntimes      string
	recordAge               time.Duration
	recordCount             int
	targetStatusRate        float64
	generatingRate          float64
	quietTimes              holdercontroller.QuietTimes
	upgradeQuietTime        time.Duration
	ledgerRestTime          time.Duration
	gateSettleTime          time.Duration
	protectRecords          bool
	kroAccount              string
	kroInitiators           string
	kroActions              string
	kroRecreate             bool
	// webhookClients are who may call the webhooks, once the flags are valid.
	webhookClients entry.Clients
	// kroSettings are what the flags say of kro, once they are valid.
	kroSettings krocontroller.Settings
}

func (o *options) bind(flags *flag.FlagSet) {
	flags.StringVar(&o.namespace, "namespace", "kausality-system",
		"The namespace that the operator runs in. Records of cluster-scoped objects are kept there.")
	flags.StringVar(&o.serviceAccount, "service-account", "kausality-controller-manager",
		"The service account that the operator runs under; requests by it are its own.")
	flags.BoolVar(&o.leaderElect, "leader-elect", false,
		"Elect one of several replicas to reconcile. All of them answer webhooks.")
	flags.StringVar(&o.healthAddress, "health-probe-bind-address", ":8081", "The address of /healthz and /readyz.")
	flags.StringVar(&o.metricsAddress, "metrics-bind-address", "0", "The address of /metrics, over HTTPS; 0 turns it off.")
	flags.StringVar(&o.pprofAddress, "pprof-bind-address", "0", "The address of /debug/pprof, over HTTP and open to whoever reaches it; 0 turns it off.")
	flags.StringVar(&o.webhookHost, "webhook-host", "", "The address that the webhooks listen on; all if empty.")
	flags.IntVar(&o.webhookPort, "webhook-port", 9443, "The port of the webhooks.")
	flags.IntVar(&o.webhookTimeout, "webhook-timeout-seconds", int(interception.DefaultTimeoutSeconds),
		"How long the API server waits for an answer of a webhook, in seconds from 1 to 30.")
	flags.DurationVar(&o.webhookKeyLifetime, "webhook-key-lifetime", time.Hour,
		"For how long the API server is told one key to show in the path of the webhooks, before it is told another.")
	flags.StringVar(&o.webhookClientCA, "webhook-client-ca-file", "",
		"The authorities, PEM-encoded, one of which has to have signed the client certificate of whoever calls a webhook; no certificate is asked for if empty.")
	flags.StringVar(&o.webhookClientNames, "webhook-client-names", "",
		"Comma-separated common names of such certificates; all that the authorities have signed if empty.")
	flags.StringVar(&o.serviceName, "service-name", "kausality-webhook-service",
		"The Service of the webhooks, which a self-managed certificate is for, where no ValidatingWebhookConfiguration for AllowancePolicies is installed yet that names one.")
	flags.StringVar(&o.certDir, "cert-dir", "/tmp/k8s-webhook-server/serving-certs",
		"The directory of the serving certificate (tls.crt, tls.key, ca.crt).")
	flags.StringVar(&o.certMode, "cert-mode", string(certs.ModeSelfManaged),
		"Who makes the serving certificate: self-managed, or mounted where something else puts it into cert-dir.")
	flags.StringVar(&o.certSecret, "cert-secret", "kausality-webhook-server-cert",
		"The Secret that keeps a self-managed certificate.")
	flags.StringVar(&o.platformUsers, "platform-users", strings.Join(decision.DefaultPlatform, ","),
		"Comma-separated user names that keep the cluster alive; what they do is never caused by a parent.")
	flags.DurationVar(&o.recordAge, "record-retention", 30*24*time.Hour,
		"How long the AllowanceRecord of an object stays after the object is gone; 0 is for ever.")
	flags.IntVar(&o.recordCount, "record-retention-count", 1000,
		"How many AllowanceRecords of objects that are gone stay in each namespace, the latest; 0 is all.")
	flags.BoolVar(&o.protectRecords, "protect-records", false,
		"Keep the ValidatingAdmissionPolicy kausality-record-protection, for installers that cannot install one, such as OLM.")
	flags.Float64Var(&o.targetStatusRate, "target-status-rate", 150,
		"How many objects a second may be made to show which policies are in effect for them; 0 for none.")
	flags.Float64Var(&o.generatingRate, "generating-rate", generatingcontroller.DefaultRate,
		"How many objects a second all GeneratingPolicies together may create, change and delete, and twice as many at once.")
	flags.DurationVar(&o.quietTimes.Status, "status-quiet-time", holdercontroller.DefaultQuietTimes.Status,
		"How long the spec of an object must stay unchanged, and its allowances unused, before it is taken to have settled, for "+
			"kinds whose status may lag behind the spec; longer than a controller takes to start with a change.")
	flags.DurationVar(&o.quietTimes.Composition, "composite-quiet-time", holdercontroller.DefaultQuietTimes.Composition,
		"How long neither the spec of a Crossplane composite resource may change nor an allowance of it be used before it is "+
			"taken to have settled; longer than one run of the functions of any composition.")
	flags.DurationVar(&o.upgradeQuietTime, "upgrade-quiet-time", upgradecontroller.DefaultQuietTime,
		"For how long nothing has to be let through for an object as part of an upgrade, and the object has to have settled, before "+
			"its upgrade is over; longer than a new version takes between two writes for one object.")
	flags.DurationVar(&o.ledgerRestTime, "ledger-rest-time", holdercontroller.DefaultLedgerRestTime,
		"For how long all of the ledger of a custom resource has to be used up before the operator writes the object to take it "+
			"out, where nobody else has written it meanwhile; 0 is never.")
	flags.DurationVar(&o.gateSettleTime, "gate-settle-time", gatecontroller.DefaultSettle,
		"How long a gate stays open after its provider reports success where nothing in the object's status shows the change: "+
			"longer than providers work in the background without saying so.")
	flags.StringVar(&o.crossplaneUsers, "crossplane-users", "system:serviceaccount:crossplane-system:crossplane",
		"Comma-separated names of the users that Crossplane itself runs under, which are no providers.")
	flags.StringVar(&o.crossplaneProviderUsers, "crossplane-provider-users", "system:serviceaccount:crossplane-system:*",
		"Comma-separated patterns of the names of service accounts of Crossplane's providers: what these fill in of managed resources needs no cause.")
	flags.StringVar(&o.crossplaneProviders, "crossplane-providers", "",
		"Comma-separated group=provider pairs, for managed resources whose kinds no Provider package has installed; the group may be a pattern.")
	flags.StringVar(&o.crossplaneRuntimes, "crossplane-runtimes", "",
		"Comma-separated provider=version pairs, for providers that are built with a crossplane-runtime older than v1.20.")
	flags.StringVar(&o.kroAccount, "kro-service-account", kro.DefaultAccount,
		"The service account that kro runs under, as NAMESPACE/NAME, for policies that are derived from its graphs.")
	flags.StringVar(&o.kroInitiators, "kro-initiators", "",
		"Comma-separated user:NAME, group:NAME and serviceaccount:NAMESPACE/NAME of who may change instances of kro's graphs; without any, derived "+
			"policies are in effect for nobody. The annotation kausality.io/initiators of a graph replaces it.")
	flags.StringVar(&o.kroActions, "kro-validation-actions", string(v1alpha1.ActionDeny),
		"Comma-separated validationActions of policies that are derived from kro's graphs: Deny, Warn, Audit. The annotation "+
			"kausality.io/validation-actions of a graph replaces it.")
	flags.BoolVar(&o.kroRecreate, "kro-recreate", false,
		"Let kro make children again that were lost, and with them those that an edited graph adds. The annotation kausality.io/recreate of a graph replaces it.")
	flags.StringVar(&o.extraPlatformUsers, "extra-platform-users", "", "Further user names, in addition to platform-users.")
}

func (o *options) validate() error {
	var errs []error
	if o.namespace == "" {
		errs = append(errs, errors.New("--namespace is empty: name the namespace that the operator runs in"))
	}
	if o.webhookTimeout < 1 || o.webhookTimeout > 30 {
		errs = append(errs, fmt.Errorf("--webhook-timeout-seconds=%d: the API server takes 1 to 30", o.webhookTimeout))
	}
	if o.webhookKeyLifetime < minKeyLifetime {
		errs = append(errs, fmt.Errorf("--webhook-key-lifetime=%s: replicas and API servers take some time to hear of another key; name %s or more",
			o.webhookKeyLifetime, minKeyLifetime))
	}
	errs = append(errs, o.readWebhookClients())
	if o.recordAge != 0 && o.recordAge < retentioncontroller.MinRetention {
		errs = append(errs, fmt.Errorf("--record-retention=%s: what is deleted along with an object needs its record for %s, or 0 for ever",
			o.recordAge, retentioncontroller.MinRetention))
	}
	if o.recordCount < 0 {
		errs = append(errs, fmt.Errorf("--record-retention-count=%d: it is a number of records, or 0 for all", o.recordCount))
	}
	if o.targetStatusRate < 0 {
		errs = append(errs, fmt.Errorf("--target-status-rate=%g: name how many objects a second, or 0 for none", o.targetStatusRate))
	}
	if o.generatingRate < 1 {
		errs = append(errs, fmt.Errorf("--generating-rate=%g: name how many objects a second, 1 or more", o.generatingRate))
	}
	if o.quietTimes.Status < 0 {
		errs = append(errs, fmt.Errorf("--status-quiet-time=%s: a time cannot be negative", o.quietTimes.Status))
	}
	if o.quietTimes.Composition < 0 {
		errs = append(errs, fmt.Errorf("--composite-quiet-time=%s: a time cannot be negative", o.quietTimes.Composition))
	}
	if o.upgradeQuietTime < 0 {
		errs = append(errs, fmt.Errorf("--upgrade-quiet-time=%s: a time cannot be negative", o.upgradeQuietTime))
	}
	if o.ledgerRestTime < 0 {
		errs = append(errs, fmt.Errorf("--ledger-rest-time=%s: a time cannot be negative; 0 is never", o.ledgerRestTime))
	}
	var err error
	if o.kroSettings, err = krocontroller.ParseSettings(o.kroAccount, o.kroInitiators, o.kroActions, o.kroRecreate); err != nil {
		errs = append(errs, fmt.Errorf("--kro-service-account, --kro-initiators, --kro-validation-actions: %w", err))
	}
	return errors.Join(errs...)
}

// readWebhookClients reads who may call the webhooks. Whatever is wrong here would have the API
// server refused, and most requests pass unjudged.
func (o *options) readWebhookClients() error {
	o.webhookClients = entry.Clients{Names: splitList(o.webhookClientNames)}
	if o.webhookClientCA == "" {
		if o.webhookClientNames != "" {
			return errors.New("--webhook-client-names says nothing without --webhook-client-ca-file")
		}
		return nil
	}
	if o.webhookClientNames != "" && len(o.webhookClients.Names) == 0 {
		return fmt.Errorf("--webhook-client-names=%q names nobody: leave the flag out where all may ask that the authorities have signed", o.webhookClientNames)
	}
	var err error
	if o.webhookClients.Authorities, err = entry.ReadAuthorities(o.webhookClientCA); err != nil {
		return fmt.Errorf("--webhook-client-ca-file: %w; check that the Secret or ConfigMap with it is mounted there", err)
	}
	return nil
}

// user returns the name under which the operator makes its requests.
func (o *options) user() string {
	return "system:serviceaccount:" + o.namespace + ":" + o.serviceAccount
}

// platform returns the users that keep the cluster alive.
func (o *options) platform() decision.Platform {
	return append(splitList(o.platformUsers), splitList(o.extraPlatformUsers)...)
}

// splitList returns the items of a comma-separated list.
func splitList(list string) []string {
	var out []string
	for item := range strings.SplitSeq(list, ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}
