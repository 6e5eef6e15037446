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

// Package profiles takes profiles of the processes of a control plane, for the tools that
// measure them.
package profiles

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Fetch asks the process that serves its profiles at address, a host and a port, for one
// of them, such as heap?gc=1. It waits for as long as the profile takes.
func Fetch(ctx context.Context, address, what string) (_ []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/debug/pprof/"+what, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // All of it was read.
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("asking %s for %s: it answers %s", address, what, resp.Status)
	}
	return io.ReadAll(resp.Body)
}

// Processor has the processor profiled for some seconds in the API server of admin, and in
// the operator where it serves profiles at the address operator, and keeps what comes of it
// in folder, in files named after the process and what.
func Processor(ctx context.Context, admin *rest.Config, operator, folder, what string, seconds int) error {
	clients, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		raw, err := clients.RESTClient().Get().AbsPath("/debug/pprof/profile").Param("seconds", strconv.Itoa(seconds)).DoRaw(ctx)
		if err != nil {
			return fmt.Errorf("profiling the API server: %w", err)
		}
		return Keep(folder, "kube-apiserver-"+what, raw)
	})
	if operator != "" {
		group.Go(func() error {
			raw, err := Fetch(ctx, operator, "profile?seconds="+strconv.Itoa(seconds))
			if err != nil {
				return fmt.Errorf("profiling the operator: %w", err)
			}
			return Keep(folder, "operator-"+what, raw)
		})
	}
	return group.Wait()
}

// During has Processor called while fn runs, where folder names one.
func During(ctx context.Context, admin *rest.Config, operator, folder, what string, seconds int, fn func(context.Context) error) error {
	if folder == "" {
		return fn(ctx)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return Processor(ctx, admin, operator, folder, what, seconds) })
	group.Go(func() error { return fn(ctx) })
	return group.Wait()
}

// Keep writes a profile to a file of that name in folder, which it makes where there is
// none.
func Keep(folder, name string, profile []byte) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, name+".pb.gz"), profile, 0o600)
}
