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
	"net"
	"os"
	"path/filepath"
	"testing"
)

// TestBypass has rows of docs/cri-bypasses.md by their names.
func TestBypass(t *testing.T) {
	for name, try := range map[string]func(t *testing.T){
		"a link where the socket should be": func(t *testing.T) {
			folder := t.TempDir()
			victim, path := filepath.Join(folder, "victim.sock"), filepath.Join(folder, "cri.sock")
			abandon(t, victim)
			if err := os.Symlink(victim, path); err != nil {
				t.Fatal(err)
			}
			stays(t, path)
			if _, err := os.Lstat(victim); err != nil {
				t.Error(err)
			}
		},
		"a link to nowhere where the socket should be": func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "cri.sock")
			if err := os.Symlink("nowhere", path); err != nil {
				t.Fatal(err)
			}
			stays(t, path)
		},
		"a file where the socket should be": func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "cri.sock")
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			stays(t, path)
		},
		"somebody else's socket": func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "cri.sock")
			other, err := net.Listen("unix", path) //nolint:noctx // it does not wait
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = other.Close() }()
			stays(t, path)
		},
		"a socket that everybody may open": func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "cri.sock")
			abandon(t, path)
			listener, err := listen(path, 0o660, -1)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = listener.Close() }()
			info, err := os.Lstat(path)
			if err != nil || info.Mode() != os.ModeSocket|0o660 {
				t.Errorf("%v, %v", info, err)
			}
		},
	} {
		t.Run(name, try)
	}
}

// stays fails unless what is at a path keeps it from being listened at.
func stays(t *testing.T, path string) {
	t.Helper()
	before, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if listener, err := listen(path, 0o660, -1); err == nil {
		_ = listener.Close()
		t.Fatal("it was replaced")
	}
	after, err := os.Lstat(path)
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("what was there is gone: %v", err)
	}
}

// abandon leaves a socket behind that nobody answers.
func abandon(t *testing.T, path string) {
	t.Helper()
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
}
