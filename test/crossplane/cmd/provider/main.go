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

// Command provider runs the provider of the tests, which works on the cloud of the
// tests.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"kausality.io/operator/test/crossplane/provider"
)

func main() {
	var opts provider.Options
	flag.StringVar(&opts.Cloud, "cloud", "http://127.0.0.1:8090", "where the cloud is")
	flag.StringVar(&opts.Class, "class", "", "the value of the label "+provider.ClassLabel+" on what to work on")
	flag.DurationVar(&opts.Poll, "poll", time.Minute, "how often to look at what the cloud has")
	flag.DurationVar(&opts.CloudTimeout, "cloud-timeout", 2*time.Second, "how long to wait for the cloud")
	flag.BoolVar(&opts.Older, "older", false, "support only the management policies of earlier versions of Crossplane's runtime")
	flag.StringVar(&opts.Group, "group", "", "the API group of what to work on, where that is not the provider's own")
	health := flag.String("health-address", "127.0.0.1:8091", "where to tell that the provider is ready")
	flag.Parse()

	if err := run(opts, *health); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "provider:", err)
		os.Exit(1)
	}
}

// run works until it is told to end.
func run(opts provider.Options, health string) error {
	logf.SetLogger(zap.New(zap.UseDevMode(true)))
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, opts.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	// Tests must not wait for a limit on their own side.
	config.QPS = -1
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                 scheme,
		HealthProbeBindAddress: health,
		Metrics:                metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	if err := provider.Setup(mgr, opts); err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}
