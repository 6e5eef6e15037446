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
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
)

// profileSeconds is how long a processor profile takes. Blocks that are shorter share
// it with what comes after.
const profileSeconds = "4"

// profile takes processor profiles of the API server, and of the operator where it
// serves them, into files named after the process and what.
func (s *stage) profile(ctx context.Context, what string) error {
	clients, err := kubernetes.NewForConfig(s.cp.AdminConfig())
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		raw, err := clients.RESTClient().Get().AbsPath("/debug/pprof/profile").Param("seconds", profileSeconds).DoRaw(ctx)
		if err != nil {
			return fmt.Errorf("profiling the API server: %w", err)
		}
		return keep("kube-apiserver-"+what, raw)
	})
	if *pprof != "" {
		group.Go(func() error {
			raw, err := s.operatorProfile(ctx)
			if err != nil {
				return fmt.Errorf("profiling the operator: %w", err)
			}
			return keep("operator-"+what, raw)
		})
	}
	return group.Wait()
}

func (s *stage) operatorProfile(ctx context.Context) (_ []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+*pprof+"/debug/pprof/profile?seconds="+profileSeconds, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := s.caller.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // All of it was read.
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answers %s", resp.Status)
	}
	return io.ReadAll(resp.Body)
}

func keep(name string, raw []byte) error {
	return os.WriteFile(filepath.Join(*profiles, name+".pb.gz"), raw, 0o600)
}
