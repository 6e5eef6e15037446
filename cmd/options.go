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

	"kausality.io/operator/internal/certs"
	"kausality.io/operator/internal/controller"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/interception"
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
	webhookURL              string
	webhookTimeout          int
	webhookKeyLifetime      time.Duration
	webhookClientCA         string
	webhookClientNames      string
	serviceName             string
	certDir                 string
	certMode                string
	certSecret              string
	ownConfiguration        string
	platformUsers           string
	extraPlatformUsers      string
	crossplaneUsers         string
	crossplaneProviderUsers string
	crossplaneProviders     string
	crossplaneRuntimes      string
	recordAge               time.Duration
	recordCount             int
	targetStatusRate        float64
	quietTime               time.Duration
	gateSettleTime          time.Duration
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
	flags.StringVar(&o.webhookURL, "webhook-url", "",
		"Where the API server reaches the webhooks, such as https://localhost:9443, if not through the Service.")
	flags.IntVar(&o.webhookTimeout, "webhook-timeout-seconds", int(interception.DefaultTimeoutSeconds),
		"How long the API server waits for an answer of a webhook, in seconds from 1 to 30.")
	flags.DurationVar(&o.webhookKeyLifetime, "webhook-key-lifetime", time.Hour,
		"For how long the API server is told one key to show in the path of the webhooks, before it is told another.")
	flags.StringVar(&o.webhookClientCA, "webhook-client-ca-file", "",
		"The authorities, PEM-encoded, one of which has to have signed the client certificate of whoever calls a webhook; no certificate is asked for if empty.")
	flags.StringVar(&o.webhookClientNames, "webhook-client-names", "",
		"Comma-separated common names of such certificates; all that the authorities have signed if empty.")
	flags.StringVar(&o.serviceName, "service-name", "kausality-webhook-service", "The Service of the webhooks.")
	flags.StringVar(&o.certDir, "cert-dir", "/tmp/k8s-webhook-server/serving-certs",
		"The directory of the serving certificate (tls.crt, tls.key, ca.crt).")
	flags.StringVar(&o.certMode, "cert-mode", string(certs.ModeSelfManaged),
		"Who makes the serving certificate: self-managed, or mounted where something else puts it into cert-dir.")
	flags.StringVar(&o.certSecret, "cert-secret", "kausality-webhook-server-cert",
		"The Secret that keeps a self-managed certificate.")
	flags.StringVar(&o.ownConfiguration, "validating-webhook-configuration", "kausality-validating-webhook-configuration",
		"The installed configuration of the webhook for AllowancePolicies, which gets the CA bundle.")
	flags.StringVar(&o.platformUsers, "platform-users", strings.Join(decision.DefaultPlatform, ","),
		"Comma-separated user names that keep the cluster alive; what they do is never caused by a parent.")
	flags.DurationVar(&o.recordAge, "record-retention", 30*24*time.Hour,
		"How long the AllowanceRecord of an object stays after the object is gone; 0 is for ever.")
	flags.IntVar(&o.recordCount, "record-retention-count", 1000,
		"How many AllowanceRecords of objects that are gone stay in each namespace, the latest; 0 is all.")
	flags.Float64Var(&o.targetStatusRate, "target-status-rate", 150,
		"How many objects a second may be made to show which policies are in effect for them; 0 for none.")
	flags.DurationVar(&o.quietTime, "composite-quiet-time", controller.DefaultQuietTime,
		"How long neither the spec of a Crossplane composite resource may change nor an allowance of it be used before it is "+
			"taken to have settled; longer than one run of the functions of any composition.")
	flags.DurationVar(&o.gateSettleTime, "gate-settle-time", controller.DefaultSettle,
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
	if o.webhookClientNames != "" && o.webhookClientCA == "" {
		errs = append(errs, errors.New("--webhook-client-names says nothing without --webhook-client-ca-file"))
	}
	if o.webhookURL != "" && !strings.HasPrefix(o.webhookURL, "https://") {
		errs = append(errs, fmt.Errorf("--webhook-url=%s: the API server only calls https", o.webhookURL))
	}
	if o.recordAge != 0 && o.recordAge < controller.MinRetention {
		errs = append(errs, fmt.Errorf("--record-retention=%s: what is deleted along with an object needs its record for %s, or 0 for ever",
			o.recordAge, controller.MinRetention))
	}
	if o.recordCount < 0 {
		errs = append(errs, fmt.Errorf("--record-retention-count=%d: it is a number of records, or 0 for all", o.recordCount))
	}
	if o.targetStatusRate < 0 {
		errs = append(errs, fmt.Errorf("--target-status-rate=%g: name how many objects a second, or 0 for none", o.targetStatusRate))
	}
	if o.quietTime < 0 {
		errs = append(errs, fmt.Errorf("--composite-quiet-time=%s: a time cannot be negative", o.quietTime))
	}
	return errors.Join(errs...)
}

// user is the name under which the operator makes its requests.
func (o *options) user() string {
	return "system:serviceaccount:" + o.namespace + ":" + o.serviceAccount
}

// platform are the users that keep the cluster alive.
func (o *options) platform() decision.Platform {
	return append(splitList(o.platformUsers), splitList(o.extraPlatformUsers)...)
}

// splitList are the items of a comma-separated list.
func splitList(list string) []string {
	var out []string
	for item := range strings.SplitSeq(list, ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}
