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

// The command kwok, as it is published, but for one thing: it registers the types that its
// stages are about before it has several controllers. They register them when they see
// their first object, without a lock, and kwok ends with "concurrent map writes" where nodes
// and Pods are there before it, as after a restart.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/kwok/pkg/config"
	"sigs.k8s.io/kwok/pkg/kwok/cmd"
	"sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/cel"
	"sigs.k8s.io/kwok/pkg/utils/signals"
)

func main() {
	if err := run(signals.SetupSignalContext()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if err := register(); err != nil {
		return fmt.Errorf("cannot register what stages are about: %w", err)
	}
	global := pflag.NewFlagSet("global", pflag.ContinueOnError)
	global.ParseErrorsAllowlist.UnknownFlags = true
	global.Usage = func() {} // That of the command is printed.
	ctx, _ = log.InitFlags(ctx, global)
	ctx, err := config.InitFlags(ctx, global)
	if err != nil {
		return fmt.Errorf("cannot read the configuration: %w", err)
	}
	command := cmd.NewCommand(ctx)
	command.PersistentFlags().AddFlagSet(global)
	return command.ExecuteContext(ctx)
}

// register makes an environment for each kind of object that stages are about, as each stage
// does for itself later. What is registered by then is only read.
func register() error {
	for _, self := range []any{(*corev1.Node)(nil), (*corev1.Pod)(nil)} {
		_, err := cel.NewEnvironment(cel.EnvironmentConfig{
			Types:       cel.DefaultTypes,
			Conversions: cel.DefaultConversions,
			Funcs:       cel.DefaultFuncs,
			Methods:     cel.FuncsToMethods(cel.DefaultFuncs),
			Vars:        map[string]any{"self": self},
		})
		if err != nil {
			return err
		}
	}
	return nil
}
