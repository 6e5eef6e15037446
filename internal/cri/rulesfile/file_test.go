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

package rulesfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/internal/runtimerules"
)

const (
	one = "- {method: /*/Version, action: allow}\n"
	two = one + "- {method: /*/Status, action: allow}\n"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}

// seen are the numbers of rules that were used, -1 for a bad file.
type seen []int

func (s *seen) use(rules *runtimerules.Rules, err error) {
	if err != nil {
		*s = append(*s, -1)
		return
	}
	*s = append(*s, len(rules.List))
}

// A change is used when it was looked at twice.
func TestFollow(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, folder, path string){
		"in place": func(t *testing.T, _, path string) {
			t.Helper()
			write(t, path, two)
		},
		"by rename": func(t *testing.T, folder, path string) {
			t.Helper()
			write(t, filepath.Join(folder, "new"), two)
			rename(t, filepath.Join(folder, "new"), path)
		},
		"gone and there again": func(t *testing.T, _, path string) {
			t.Helper()
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			write(t, path, two)
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, "rules.yaml")
			write(t, path, one)
			file, rules, err := Open(path)
			if err != nil || len(rules.List) != 1 {
				t.Fatalf("%v, %v", rules, err)
			}
			var got seen
			file.look(got.use)
			change(t, folder, path)
			file.look(got.use)
			if len(got) != 0 {
				t.Errorf("a file is read that may be in the middle of being written: %v", got)
			}
			file.look(got.use)
			file.look(got.use)
			if diff := cmp.Diff(seen{2}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A ConfigMap is a folder of links to a folder that a link leads to, which is swapped.
func TestFollowConfigMap(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"..1": one, "..2": two} {
		if err := os.Mkdir(filepath.Join(folder, name), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(folder, name, "rules.yaml"), text)
	}
	link(t, "..1", filepath.Join(folder, "..data"))
	path := filepath.Join(folder, "rules.yaml")
	link(t, filepath.Join("..data", "rules.yaml"), path)
	file, _, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	link(t, "..2", filepath.Join(folder, "..data_tmp"))
	rename(t, filepath.Join(folder, "..data_tmp"), filepath.Join(folder, "..data"))
	var got seen
	file.look(got.use)
	file.look(got.use)
	if diff := cmp.Diff(seen{2}, got); diff != "" {
		t.Error(diff)
	}
}

// A bad file is told once, and so is one that is good again.
func TestFollowBadFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules.yaml")
	write(t, path, one)
	file, _, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var got seen
	steps := []func(){
		func() { write(t, path, two[:len(two)/2]+"  x") },
		func() { write(t, path, "") },
		func() { _ = os.Remove(path) },
		func() { write(t, path, two) },
	}
	for _, step := range steps {
		step()
		for range 4 {
			file.look(got.use)
		}
	}
	if diff := cmp.Diff(seen{-1, -1, -1, 2}, got); diff != "" {
		t.Error(diff)
	}
}

func TestOpenNothing(t *testing.T) {
	if _, _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
