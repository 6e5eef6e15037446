//go:build linux

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

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"kausality.io/operator/internal/cli/exit"
	"kausality.io/operator/internal/cri/audit"
	"kausality.io/operator/internal/cri/proxy"
	"kausality.io/operator/internal/cri/rulesfile"
	"kausality.io/operator/internal/leftover"
	"kausality.io/operator/internal/runtimerules"
)

const serveLong = `Stand between clients and the socket of a container runtime.

Each --endpoint is a socket with a file of rules. What the file allows is passed on,
and all else is refused. A file that changes counts within five seconds; one that is
bad changes nothing, and is told of in the log and in the metrics. Without good files
at the start there are no sockets.

It has to run in the PID namespace of the host, to tell who calls.

Sockets that systemd has made and passes on are taken over, each by its path; their mode
and group are those of the unit.

Audit lines are written to the standard output, and all else to the standard error.`

const serveExamples = `  kausality-cri serve --runtime-endpoint unix:///run/containerd/containerd.sock \
    --endpoint /run/kausality-cri/own.sock=/etc/kausality-cri/own.yaml`

// serveOptions are the flags of "serve".
type serveOptions struct {
	runtime   string
	endpoints []string
	mode      uint32
	group     int
	auditAll  bool
	address   string
	limits    proxy.Limits
}

func (o *serveOptions) addTo(flags *pflag.FlagSet) {
	o.limits = proxy.DefaultLimits
	flags.StringVar(&o.runtime, "runtime-endpoint", "", "The runtime's socket, such as unix:///run/containerd/containerd.sock.")
	flags.StringArrayVar(&o.endpoints, "endpoint", nil, "SOCKET=FILE: a socket to make, and the file of its rules. It may be given several times.")
	flags.Uint32Var(&o.mode, "socket-mode", 0o660, "The mode of the sockets.")
	flags.Lookup("socket-mode").DefValue = "0660"
	flags.IntVar(&o.group, "socket-group", -1, "The number of the sockets' group; -1 is that of this process.")
	flags.BoolVar(&o.auditAll, "audit-all", false, "Write an audit line for each call, and not only for those that are refused or may change something.")
	flags.StringVar(&o.address, "health-address", "", "Where to answer /metrics, /healthz and /readyz by HTTP, such as 127.0.0.1:9477; empty for nowhere.")
	flags.IntVar(&o.limits.MessageBytes, "max-message-bytes", o.limits.MessageBytes, "How large a message may be.")
	flags.IntVar(&o.limits.Connections, "max-connections", o.limits.Connections, "How many connections a socket has at a time. A quarter is kept for processes in no container.")
	flags.IntVar(&o.limits.ConnectionsPerContainer, "max-connections-per-container", o.limits.ConnectionsPerContainer, "How many of them a container has.")
	flags.IntVar(&o.limits.CallsPerConnection, "max-calls-per-connection", o.limits.CallsPerConnection, "How many calls a connection has at a time.")
	flags.IntVar(&o.limits.CallsPerContainer, "max-calls-per-container", o.limits.CallsPerContainer, "How many calls all connections of a container have at a time.")
	flags.IntVar(&o.limits.LookupsPerContainer, "max-lookups-per-container", o.limits.LookupsPerContainer, "How many questions to the runtime are asked at a time for judging a container's calls.")
	flags.IntVar(&o.limits.RequestsPerContainer, "max-requests-per-container", o.limits.RequestsPerContainer, "How many requests of a container are read at a time.")
	flags.IntVar(&o.limits.ResponseBytesPerContainer, "max-response-bytes-per-container", o.limits.ResponseBytesPerContainer, "How much of responses is held that a container does not read.")
	flags.IntVar(&o.limits.MemoryBytes, "max-memory-bytes", o.limits.MemoryBytes, "How much all containers of a socket together hold of requests and responses.")
	flags.DurationVar(&o.limits.Lookup, "lookup-timeout", o.limits.Lookup, "How long a question to the runtime may take.")
	flags.DurationVar(&o.limits.Unread, "unread-timeout", o.limits.Unread, "How long a container may leave a message of a stream unread.")
}

// check says what is wrong with flags.
func (o *serveOptions) check() error {
	l := o.limits
	for _, limit := range []int{
		l.MessageBytes, l.Connections, l.ConnectionsPerContainer, l.CallsPerConnection, l.CallsPerContainer, l.LookupsPerContainer, l.RequestsPerContainer,
	} {
		if limit < 1 {
			return errors.New("a limit is 1 at least")
		}
	}
	switch {
	case o.runtime == "":
		return errors.New("which runtime? Name its socket: --runtime-endpoint unix:///run/containerd/containerd.sock")
	case !strings.HasPrefix(o.path(), "/"):
		return fmt.Errorf("--runtime-endpoint %q is no absolute path of a unix socket", o.runtime)
	case len(o.endpoints) == 0:
		return errors.New("which sockets? Name at least one: --endpoint SOCKET=FILE")
	case l.ResponseBytesPerContainer < l.MessageBytes:
		return errors.New("--max-response-bytes-per-container is --max-message-bytes at least")
	case l.MemoryBytes < l.MessageBytes:
		return errors.New("--max-memory-bytes is --max-message-bytes at least")
	case l.Lookup <= 0, l.Unread <= 0:
		return errors.New("--lookup-timeout and --unread-timeout are more than 0")
	}
	return nil
}

// path returns the path of the runtime's socket.
func (o *serveOptions) path() string { return strings.TrimPrefix(o.runtime, "unix://") }

// serve returns "serve".
func serve(streams genericiooptions.IOStreams) *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:     "serve --runtime-endpoint SOCKET --endpoint SOCKET=FILE",
		Short:   "Stand between clients and the socket of a container runtime",
		Long:    serveLong,
		Example: serveExamples,
		Args:    func(_ *cobra.Command, args []string) error { return leftover.Refuse(args) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return exit.With(exit.Usage, err)
			}
			return o.run(cmd.Context(), streams)
		},
	}
	o.addTo(cmd.Flags())
	return cmd
}

// served is a socket that is served.
type served struct {
	endpoint
	server *proxy.Server
	rules  *rulesfile.File
}

// run serves until the context ends, or something fails.
func (o *serveOptions) run(ctx context.Context, streams genericiooptions.IOStreams) error {
	log := slog.New(slog.NewJSONHandler(streams.ErrOut, nil))
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	metrics := proxy.NewMetrics(registry)
	all, err := o.load(streams.Out, metrics)
	if err != nil {
		return err
	}
	sockets, err := o.sockets(all)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	group, ctx := errgroup.WithContext(ctx)
	defer func() {
		// Where something below fails, what has begun is ended.
		cancel()
		_ = group.Wait()
	}()
	for i, one := range all {
		group.Go(func() error { return one.server.Serve(sockets[i]) })
		group.Go(func() error {
			<-ctx.Done()
			one.server.Stop()
			return nil
		})
		group.Go(func() error {
			one.follow(ctx, metrics, log)
			return nil
		})
		log.Info("Serving", "socket", one.socket, "rules", one.file)
	}
	if o.address != "" {
		if err := health(ctx, group, o.address, registry, all); err != nil {
			return err
		}
	}
	return group.Wait()
}

// sockets makes all sockets, or takes over those that systemd has made.
func (o *serveOptions) sockets(all []*served) (made []net.Listener, err error) {
	defer func() {
		if err != nil {
			for _, listener := range made {
				_ = listener.Close()
			}
		}
	}()
	passed, err := inherit()
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		listener, err := passed.listen(one.socket, os.FileMode(o.mode), o.group)
		if err != nil {
			return made, err
		}
		made = append(made, listener)
	}
	return made, passed.rest()
}

// load reads all files of rules before there is any socket.
func (o *serveOptions) load(lines io.Writer, metrics *proxy.Metrics) ([]*served, error) {
	all := make([]*served, 0, len(o.endpoints))
	auditLog := audit.New(lines)
	for _, text := range o.endpoints {
		named, err := endpointOf(text)
		if err != nil {
			return nil, exit.With(exit.Usage, err)
		}
		file, rules, err := rulesfile.Open(named.file)
		metrics.Loaded(named.socket, err)
		if err != nil {
			return nil, err
		}
		server, err := proxy.New(proxy.Options{
			Endpoint: named.socket, Runtime: o.path(), Rules: rules, Limits: o.limits,
			Audit: auditLog, AuditAll: o.auditAll, Metrics: metrics,
		})
		if err != nil {
			return nil, err
		}
		all = append(all, &served{endpoint: named, server: server, rules: file})
	}
	return all, nil
}

// follow takes up what the file of an endpoint becomes.
func (s *served) follow(ctx context.Context, metrics *proxy.Metrics, log *slog.Logger) {
	s.rules.Follow(ctx, func(rules *runtimerules.Rules, err error) {
		metrics.Loaded(s.socket, err)
		if err != nil {
			log.Error("The rules have changed and are bad: those from before stay in effect", "socket", s.socket, "error", err)
			return
		}
		s.server.Use(rules)
		log.Info("The rules have changed", "socket", s.socket, "rules", len(rules.List))
	})
}

// health answers by HTTP.
func health(ctx context.Context, group *errgroup.Group, address string, registry *prometheus.Registry, all []*served) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		for _, one := range all {
			if err := one.server.Ready(); err != nil {
				http.Error(w, one.socket+": "+err.Error(), http.StatusServiceUnavailable)
				return
			}
		}
		_, _ = io.WriteString(w, "ok\n")
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout, MaxHeaderBytes: 16 << 10}
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		return server.Close()
	})
	return nil
}

// headerTimeout is how long a client of /metrics may take to ask.
const headerTimeout = 10 * time.Second
