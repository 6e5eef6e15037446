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
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// hunt has the campaign of strangers look for each mutant, which it knows nothing of. It is
// no error that one is not found: some cannot be by what strangers do.
func hunt(ctx context.Context, out io.Writer, root, only string, verbose bool, acts int, seed uint64) error {
	t, err := begin(root, verbose)
	if err != nil {
		return err
	}
	defer t.end()
	stranger := filepath.Join(t.dir, "stranger")
	if err := t.command(ctx, t.root, "go", "build", "-o", stranger, "./test/campaign/stranger"); err != nil {
		return fmt.Errorf("building the campaign of strangers: %w", err)
	}
	var hunted, found int
	for _, m := range mutants {
		if !strings.Contains(m.name, only) {
			continue
		}
		if why := m.unhuntable(); why != "" {
			_, _ = fmt.Fprintf(out, "| %s | not tried: %s |\n", m.name, why)
			continue
		}
		began := time.Now()
		what, err := t.hunt(ctx, stranger, m, acts, seed)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		hunted++
		if what == "" {
			what = fmt.Sprintf("not in %d acts", acts)
		} else {
			found++
		}
		_, _ = fmt.Fprintf(out, "| %s | %s | %s\n", m.name, what, time.Since(began).Round(time.Second))
	}
	_, _ = fmt.Fprintf(out, "%d of %d mutants are found\n", found, hunted)
	return nil
}

// unhuntable says why the campaign of strangers cannot find a mutant, or nothing.
func (m mutant) unhuntable() string {
	if m.cloud {
		return "it takes Crossplane"
	}
	return ""
}

// hunt has strangers look for one mutant, and returns what they found, or nothing.
func (t trial) hunt(ctx context.Context, stranger string, m mutant, acts int, seed uint64) (string, error) {
	overlay, err := t.overlay(m)
	if err != nil {
		return "", err
	}
	operator, err := t.build(ctx, overlay)
	if err != nil {
		return "", err
	}
	setup, err := t.setup(m)
	if err != nil {
		return "", err
	}
	var text bytes.Buffer
	cmd := exec.CommandContext(ctx, stranger, "-root="+t.root, "-operator="+operator, "-setup="+setup,
		"-acts="+strconv.Itoa(acts), "-seed="+strconv.FormatUint(seed, 10), "-until-found", "-stories=1")
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&text, t.out), io.MultiWriter(&text, t.out)
	err = cmd.Run()
	var exit *exec.ExitError
	switch found := foundAfter.FindStringSubmatch(text.String()); {
	case err == nil:
		return "", nil
	case !errors.As(err, &exit):
		return "", err
	case found == nil:
		return "", fmt.Errorf("the campaign ended otherwise than by a finding:\n%s", lastLines(text.String(), 10))
	default:
		return fmt.Sprintf("%s acts: %s", found[1], found[2]), nil
	}
}

// foundAfter is how the campaign tells what it found, and when.
var foundAfter = regexp.MustCompile(`found after (\d+) acts(?s:.*?)FOUND [0-9:.]+ ([^:]+):`)

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
