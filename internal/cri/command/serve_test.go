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
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"kausality.io/operator/internal/cli/exit"
)

// runtime answers to a version only.
type runtime struct {
	runtimeapi.UnimplementedRuntimeServiceServer
}

func (runtime) Version(context.Context, *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{RuntimeName: "fake"}, nil
}

// output may be written to and read at once.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
		time.Sleep(10 * time.Millisecond) //nolint:forbidigo // a poll with a deadline
	}
}

const versionOnly = "- {method: /runtime.v1.RuntimeService/Version, action: allow}\n"

// The command as it is started: a socket, rules that change, lines, metrics and health.
func TestServe(t *testing.T) {
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	fake, err := net.Listen("unix", in("runtime.sock")) //nolint:noctx // it does not wait
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	runtimeapi.RegisterRuntimeServiceServer(server, runtime{})
	go func() { _ = server.Serve(fake) }()
	defer server.Stop()
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(in("rules.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(versionOnly)
	free, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not wait
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}

	var out, log output
	cmd := New(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &log})
	cmd.SetArgs([]string{
		"serve", "--runtime-endpoint=unix://" + in("runtime.sock"),
		"--endpoint=" + in("cri.sock") + "=" + in("rules.yaml"), "--health-address=" + address,
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()

	conn, err := grpc.NewClient("unix://"+in("cri.sock"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	client := runtimeapi.NewRuntimeServiceClient(conn)
	code := func() codes.Code {
		_, err := client.Version(t.Context(), &runtimeapi.VersionRequest{}, grpc.WaitForReady(true))
		return status.Code(err)
	}
	if got := code(); got != codes.OK {
		t.Fatal(got)
	}
	write("rules: nothing")
	eventually(t, "the bad file is told of", func() bool { return strings.Contains(log.String(), "those from before stay in effect") })
	if got := code(); got != codes.OK {
		t.Error(got)
	}
	if got := get(t, address, "/metrics"); !strings.Contains(got, `kausality_cri_rules_bad{endpoint="`+in("cri.sock")+`"} 1`) {
		t.Error(got)
	}
	write("rules: []")
	eventually(t, "the rules count", func() bool { return code() == codes.PermissionDenied })
	for _, path := range []string{"/healthz", "/readyz"} {
		if got := get(t, address, path); got != "ok\n" {
			t.Errorf("%s: %s", path, got)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	var line struct{ Method, Outcome string }
	if err := json.Unmarshal([]byte(strings.SplitN(out.String(), "\n", 2)[0]), &line); err != nil || line.Outcome != "refused" {
		t.Errorf("%+v, %v", line, err)
	}
	if _, err := os.Lstat(in("cri.sock")); !os.IsNotExist(err) {
		t.Errorf("the socket was left behind: %v", err)
	}
}

// A changed file counts within five seconds, in whatever way it was changed; and a bad one
// changes nothing.
func TestServeFollowsFiles(t *testing.T) {
	const none = "rules: []"
	folder := t.TempDir()
	in := func(parts ...string) string { return filepath.Join(append([]string{folder}, parts...)...) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func(text string, parts ...string) {
		t.Helper()
		must(os.MkdirAll(filepath.Dir(in(parts...)), 0o700))
		must(os.WriteFile(in(parts...), []byte(text), 0o600))
	}
	fake, err := net.Listen("unix", in("runtime.sock")) //nolint:noctx // it does not wait
	must(err)
	server := grpc.NewServer()
	runtimeapi.RegisterRuntimeServiceServer(server, runtime{})
	go func() { _ = server.Serve(fake) }()
	defer server.Stop()

	for _, name := range []string{"place", "rename", "bad"} {
		write(versionOnly, name, "rules.yaml")
	}
	// As a kubelet mounts a ConfigMap.
	write(versionOnly, "map", "..1", "rules.yaml")
	write(none, "map", "..2", "rules.yaml")
	must(os.Symlink("..1", in("map", "..data")))
	must(os.Symlink(filepath.Join("..data", "rules.yaml"), in("map", "rules.yaml")))
	changes := map[string]func(){
		"place": func() { write(none, "place", "rules.yaml") },
		"rename": func() {
			write(none, "rename", "new")
			must(os.Rename(in("rename", "new"), in("rename", "rules.yaml")))
		},
		"map": func() {
			must(os.Symlink("..2", in("map", "..data_tmp")))
			must(os.Rename(in("map", "..data_tmp"), in("map", "..data")))
		},
		"bad": func() { write("rules: nothing", "bad", "rules.yaml") },
	}

	args := []string{"serve", "--runtime-endpoint=" + in("runtime.sock")}
	clients := map[string]runtimeapi.RuntimeServiceClient{}
	for name := range changes {
		args = append(args, "--endpoint="+in(name+".sock")+"="+in(name, "rules.yaml"))
		conn, err := grpc.NewClient("unix://"+in(name+".sock"), grpc.WithTransportCredentials(insecure.NewCredentials()))
		must(err)
		t.Cleanup(func() { _ = conn.Close() })
		clients[name] = runtimeapi.NewRuntimeServiceClient(conn)
	}
	var out, log output
	cmd := New(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &log})
	cmd.SetArgs(args)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	code := func(name string) codes.Code {
		_, err := clients[name].Version(t.Context(), &runtimeapi.VersionRequest{}, grpc.WaitForReady(true))
		return status.Code(err)
	}
	for name := range changes {
		if got := code(name); got != codes.OK {
			t.Fatalf("%s: %s", name, got)
		}
	}
	for _, change := range changes {
		change()
	}
	changed := time.Now()
	for _, name := range []string{"place", "rename", "map"} {
		eventually(t, name, func() bool { return code(name) == codes.PermissionDenied })
		if took := time.Since(changed); took > 5*time.Second {
			t.Errorf("%s: it counts after %s", name, took)
		}
	}
	eventually(t, "the bad file is told of", func() bool { return strings.Contains(log.String(), "those from before stay in effect") })
	if got := code("bad"); got != codes.OK {
		t.Error(got)
	}
}

func get(t *testing.T, address, path string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// What cannot be served is said, and there is no socket.
func TestServeRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		rule string
		code int
		err  string
	}{
		"no runtime":           {nil, versionOnly, exit.Usage, "which runtime?"},
		"a runtime by TCP":     {[]string{"--runtime-endpoint=tcp://localhost:1"}, versionOnly, exit.Usage, "no absolute path of a unix socket"},
		"no rules":             {[]string{"--runtime-endpoint=/r.sock"}, "", exit.Findings, "the file is empty"},
		"a bad limit":          {[]string{"--runtime-endpoint=/r.sock", "--max-connections=0"}, versionOnly, exit.Usage, "a limit is 1 at least"},
		"limits that disagree": {[]string{"--runtime-endpoint=/r.sock", "--max-message-bytes=99999999"}, versionOnly, exit.Usage, "--max-message-bytes at least"},
		"a bad endpoint":       {[]string{"--runtime-endpoint=/r.sock", "--endpoint=here"}, versionOnly, exit.Usage, "write SOCKET=FILE"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			file, socket := filepath.Join(folder, "rules.yaml"), filepath.Join(folder, "cri.sock")
			if err := os.WriteFile(file, []byte(c.rule), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := New(genericiooptions.NewTestIOStreamsDiscard())
			cmd.SetArgs(append([]string{"serve", "--endpoint=" + socket + "=" + file}, c.args...))
			err := cmd.ExecuteContext(t.Context())
			if exit.Code(err) != c.code || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v", err)
			}
			if _, err := os.Lstat(socket); !os.IsNotExist(err) {
				t.Errorf("there is a socket: %v", err)
			}
		})
	}
}
