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

// Package pasted runs commands as somebody does who pastes them into a shell.
package pasted

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// stub is a kubectl that only tells what it was told.
const stub = "#!/bin/sh\nfor arg; do printf '%s\\0' \"$arg\"; done\n"

// Arguments has a shell run a line in an empty folder, and returns what it passes on to kubectl.
// The line has to run nothing else: what writes to the folder is an error.
func Arguments(ctx context.Context, folder, line string) ([]string, error) {
	if err := os.WriteFile(filepath.Join(folder, "kubectl"), []byte(stub), 0o700); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir, cmd.Env = folder, []string{"PATH=" + folder + ":" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", line, err, out)
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) != 1 {
		return nil, fmt.Errorf("%s left %v, %w", line, files, err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), nil
}
