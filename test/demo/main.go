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

// Command demo plays the main job of Kausality on a cluster of its own, as the
// people in it would see it: who changed what, what that allowed, what was refused
// and why, and the way from a person to each Pod. It is what "make demo" runs.
//
// Everything that it says is checked: the commands it shows are run and their
// answers held against what they have to be, and each line that begins with a
// mark is a fact that was looked up. It exits with 1 at the first one that does
// not hold. In either case, and when it is interrupted, it takes down all that it
// started.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

// exitInterrupted is what shells exit with after a control-C.
const exitInterrupted = 130

func main() {
	p := production{narrator: newNarrator(os.Stdout)}
	flag.StringVar(&p.dir, "dir", "", "folder for data and logs, which are kept then (default a temporary one)")
	flag.StringVar(&p.manager, "manager", "bin/manager", "the operator's executable")
	flag.StringVar(&p.overlay, "overlay", "config/dev", "kustomization with what the operator needs in the cluster")
	flag.StringVar(&p.samples, "samples", "config/samples", "kustomization with the policies")
	flag.Parse()
	// The API client's library complains when nobody takes its messages.
	logf.SetLogger(logr.Discard())

	// A closed terminal and a reader that has gone away ("make demo | head") must
	// not leave a cluster behind either.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	err := p.run(ctx)
	stop()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "demo:", err)
	}
	switch {
	case errors.Is(err, errInterrupted):
		os.Exit(exitInterrupted)
	case err != nil:
		os.Exit(1)
	}
}
