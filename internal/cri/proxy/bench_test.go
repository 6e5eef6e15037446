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

package proxy

import (
	"path/filepath"
	"strconv"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// BenchmarkCalls measures what a call costs a client, of the runtime itself and by way of us.
func BenchmarkCalls(b *testing.B) {
	for name, c := range map[string]struct {
		rules, socket string
		call          func(b *testing.B, client runtimeapi.RuntimeServiceClient) error
	}{
		"version/direct":    {allowAll, "runtime", version},
		"version/proxied":   {allowAll, "a", version},
		"exec/direct":       {allowAll, "runtime", exec},
		"exec/proxied":      {allowAll, "a", exec},
		"exec/belongsToPod": {ownOnly, "a", exec},
		"list500/direct":    {allowAll, "runtime", list},
		"list500/proxied":   {allowAll, "a", list},
		"list500/filtered":  {ownOnly, "a", list},
	} {
		b.Run(name, func(b *testing.B) {
			s := newStand(b, c.rules)
			for i := range 500 {
				pod := podB
				if i%100 == 0 {
					pod = podA
				}
				s.runtime.containers["container-"+strconv.Itoa(i)] = pod
			}
			conn, err := grpc.NewClient("unix://"+filepath.Join(s.folder, c.socket+".sock"), grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			client := runtimeapi.NewRuntimeServiceClient(conn)
			b.ReportAllocs()
			for b.Loop() {
				if err := c.call(b, client); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkEvents measures what an event costs.
func BenchmarkEvents(b *testing.B) {
	const rules = `[{method: "/*/GetContainerEvents", action: allow, filters: [{field: ., filterField: PodSandboxStatus.Id, operator: equals, source: podSandboxIdFromPID}]}]`
	for name, c := range map[string]struct{ rules, socket string }{
		"direct":   {allowAll, "runtime"},
		"proxied":  {allowAll, "a"},
		"filtered": {rules, "a"},
	} {
		b.Run(name, func(b *testing.B) {
			s := newStand(b, c.rules)
			stream, err := runtimeapi.NewRuntimeServiceClient(s.dial(c.socket)).GetContainerEvents(b.Context(), &runtimeapi.GetEventsRequest{})
			if err != nil {
				b.Fatal(err)
			}
			one := event(podA)
			go func() {
				for {
					select {
					case s.runtime.events <- one:
					case <-stream.Context().Done():
						return
					}
				}
			}()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := stream.Recv(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func version(b *testing.B, client runtimeapi.RuntimeServiceClient) error {
	b.Helper()
	_, err := client.Version(b.Context(), &runtimeapi.VersionRequest{})
	return err
}

func exec(b *testing.B, client runtimeapi.RuntimeServiceClient) error {
	b.Helper()
	_, err := client.Exec(b.Context(), &runtimeapi.ExecRequest{ContainerId: inA})
	return err
}

func list(b *testing.B, client runtimeapi.RuntimeServiceClient) error {
	b.Helper()
	_, err := client.ListContainers(b.Context(), &runtimeapi.ListContainersRequest{})
	return err
}
