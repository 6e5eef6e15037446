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

// Command devcluster runs a cluster with the operator on this machine for
// development, and is what "make up" and "make down" call. The cluster outlives
// the command; everything that belongs to it is in one folder.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

// cluster is a development cluster, which may or may not be running.
type cluster struct {
	// dir takes everything that belongs to it.
	dir string
	// manager is the operator's executable.
	manager string
	// overlay is the kustomization that the operator needs in the cluster.
	overlay string
	// binDir holds the control plane's executables; found by default.
	binDir string
	// with is what runs beside the operator, of the names in companions; "" for
	// nothing.
	with string
	// out is what a person reads.
	out io.Writer
}

func main() {
	c := cluster{out: os.Stdout}
	flag.StringVar(&c.dir, "dir", "bin/dev", "folder for everything that belongs to the cluster")
	flag.StringVar(&c.manager, "manager", "bin/manager", "the operator's executable")
	flag.StringVar(&c.overlay, "overlay", "config/dev", "kustomization with what the operator needs in the cluster")
	flag.StringVar(&c.binDir, "bin-dir", "", "folder with the control plane's executables (default $KUBEBUILDER_ASSETS, else bin/controlplane)")
	flag.StringVar(&c.with, "with", "", "what to start beside the operator: crossplane, kro, or nothing")
	flag.Usage = func() {
		_, _ = fmt.Fprint(flag.CommandLine.Output(), "Usage: devcluster [flags] up|down\n\n"+
			"up    starts a cluster and the operator, or what is missing of them\n"+
			"down  ends what up has started, and keeps the logs\n\n")
		flag.PrintDefaults()
	}
	flag.Parse()

	// Control-C while the cluster starts takes down what has been started.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := c.run(ctx, flag.Args())
	stop()
	if errors.Is(err, errUsage) {
		flag.Usage()
		os.Exit(2)
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "devcluster:", err)
		os.Exit(1)
	}
}

// errUsage says that the command line makes no sense.
var errUsage = errors.New("one of \"up\" and \"down\" is needed")

func (c cluster) run(ctx context.Context, args []string) (err error) {
	if len(args) != 1 {
		return errUsage
	}
	command := map[string]func(context.Context) error{"up": c.up, "down": c.down}[args[0]]
	if command == nil {
		return errUsage
	}
	unlock, err := c.lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return command(ctx)
}

// lock makes sure that only one command works on the cluster at a time. The
// lock goes with the process, however that ends.
func (c cluster) lock() (unlock func() error, err error) {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(c.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another command is at work on the cluster in %s: %w", c.dir, err), file.Close())
	}
	return file.Close, nil
}

// sayf writes a line for the person who runs the command.
func (c cluster) sayf(format string, args ...any) {
	_, _ = fmt.Fprintf(c.out, format+"\n", args...)
}
