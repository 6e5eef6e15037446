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

// Package rulesfile keeps up with a file of rules that is replaced, written in place, or
// swapped beneath a mount.
package rulesfile

import (
	"context"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"kausality.io/operator/internal/runtimerules"
)

// Interval is how often a file is looked at. One that has changed is read when it has not
// changed again by the next time: it may be in the middle of being written.
const Interval = time.Second

// state is by what a change of a file is noticed.
type state struct {
	device, inode uint64
	size          int64
	changed       syscall.Timespec
	modified      syscall.Timespec
	missing       bool
}

// File is a file of rules.
type File struct {
	path string
	read state
	seen state
}

// Open reads the file for the first time.
func Open(path string) (*File, *runtimerules.Rules, error) {
	f := &File{path: path}
	rules, err := f.load()
	return f, rules, err
}

// Follow calls use for what the file becomes, until the context ends: with rules, or with
// the reason why there are none. It tells of each change once.
func (f *File) Follow(ctx context.Context, use func(*runtimerules.Rules, error)) {
	ticker := time.NewTicker(Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			f.look(use)
		}
	}
}

// look reads the file if it has changed, and then stayed as it is for an interval.
func (f *File) look(use func(*runtimerules.Rules, error)) {
	present := stat(f.path)
	settled := present == f.seen
	f.seen = present
	if settled && present != f.read {
		use(f.load())
	}
}

// load reads the file as it is.
func (f *File) load() (*runtimerules.Rules, error) {
	f.read = stat(f.path)
	f.seen = f.read
	text, err := read(f.path)
	if err != nil {
		return nil, err
	}
	return runtimerules.Parse(f.path, text)
}

func read(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the rules cannot be read: %w", err)
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, runtimerules.MaxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("the rules cannot be read: %w", err)
	}
	return text, nil
}

// stat returns the state of what a path leads to, through links.
func stat(path string) state {
	info, err := os.Stat(path)
	if err != nil {
		return state{missing: true}
	}
	system, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return state{missing: true}
	}
	return state{
		device: system.Dev, inode: system.Ino, size: system.Size,
		changed: system.Ctim, modified: system.Mtim,
	}
}
