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

// Command manager is the Kausality operator.
package main

import (
	"flag"
	"fmt"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"kausality.io/operator/internal/certs"
	"kausality.io/operator/internal/leftover"
	"kausality.io/operator/internal/valuefree"
)

// usage is the code with which package flag ends, too, where flags are wrong.
const usage = 2

func main() {
	opts := options{}
	opts.bind(flag.CommandLine)
	logging := zap.Options{}
	logging.BindFlags(flag.CommandLine)
	flag.Parse()
	if err := leftover.Check(os.Args[1:], flag.Args()); err != nil {
		fmt.Fprintf(os.Stderr, "kausality: %v\n", err)
		os.Exit(usage)
	}
	ctrl.SetLogger(certs.Logger(valuefree.Logger(zap.New(zap.UseFlagOptions(&logging)))))
	ctrl.Log.WithName("setup").Info("Starting Kausality", "version", builtVersion())

	if err := run(ctrl.SetupSignalHandler(), opts); err != nil {
		fmt.Fprintf(os.Stderr, "kausality: %v\n", err)
		os.Exit(1)
	}
}
