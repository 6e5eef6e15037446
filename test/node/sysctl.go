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

package node

import (
	"bytes"
	"errors"
	"os"
)

// kubeletSysctls are those that kubelets set, of the whole machine.
var kubeletSysctls = []string{
	"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
	"kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes",
}

// inProc is where sysctls are files.
const inProc = "/proc/sys/"

// settings are sysctls with their values.
type settings map[string][]byte

// sysctls returns the sysctls that kubelets set, as they are now.
func sysctls() (settings, error) {
	out := settings{}
	for _, name := range kubeletSysctls {
		value, err := os.ReadFile(inProc + name)
		if err != nil {
			return nil, err
		}
		out[name] = value
	}
	return out, nil
}

// restore sets those that are others now.
func (s settings) restore() error {
	now, err := sysctls()
	if err != nil {
		return err
	}
	var errs []error
	for name, value := range s {
		if !bytes.Equal(now[name], value) {
			errs = append(errs, os.WriteFile(inProc+name, value, 0o600))
		}
	}
	return errors.Join(errs...)
}
