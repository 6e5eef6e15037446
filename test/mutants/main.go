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

// Mutants takes the checks of the operator out, one by one, and sees the tests of
// the ways around that they close fail: a test that cannot fail proves nothing.
//
// Each mutant is built from the code with some lines replaced, which leaves the
// files as they are, and is tested in a control plane of its own.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/onsi/ginkgo/v2/types"
)

// The packages of the tests.
const (
	inCluster = "test/e2e"
	inCloud   = "test/e2e/crossplane"
)

func main() {
	root := flag.String("root", ".", "the root of the repository")
	only := flag.String("only", "", "a part of the names of the mutants to try")
	verbose := flag.Bool("v", false, "print what the tests print")
	acts := flag.Int("stranger", 0, "instead of the tests, have the campaign of strangers look for each mutant, for as many acts")
	seed := flag.Uint64("seed", 1, "that of the campaign of strangers")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	var err error
	if *acts > 0 {
		err = hunt(ctx, os.Stdout, *root, *only, *verbose, *acts, *seed)
	} else {
		err = run(ctx, os.Stdout, *root, *only, *verbose)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run tries the mutants, and returns an error where one is not caught.
func run(ctx context.Context, out io.Writer, root, only string, verbose bool) error {
	t, err := begin(root, verbose)
	if err != nil {
		return err
	}
	defer t.end()
	var survivors []string
	for _, m := range slices.Concat(mutants, criMutants) {
		if !strings.Contains(m.name, only) {
			continue
		}
		passed, err := t.try(ctx, m)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		for _, way := range m.tests() {
			verdict := "caught  "
			if slices.Contains(passed, way) {
				verdict = "SURVIVED"
				survivors = append(survivors, m.name+": "+way)
			}
			_, _ = fmt.Fprintf(out, "%s  %s: %s\n", verdict, m.name, way)
		}
	}
	if len(survivors) > 0 {
		return fmt.Errorf("%d tests pass without the check that they are about:\n  %s", len(survivors), strings.Join(survivors, "\n  "))
	}
	return nil
}

// trial is what the mutants are tried with.
type trial struct {
	root, dir string
	// tests are the programs of the packages of tests that were needed.
	tests map[string]string
	out   io.Writer
}

// begin makes the folder of a trial.
func begin(root string, verbose bool) (trial, error) {
	t := trial{tests: map[string]string{}, out: io.Discard}
	if verbose {
		t.out = os.Stderr
	}
	var err error
	if t.root, err = filepath.Abs(root); err != nil {
		return t, err
	}
	t.dir, err = os.MkdirTemp("", "mutants-")
	return t, err
}

func (t trial) end() { _ = os.RemoveAll(t.dir) }

// testsOf builds the tests of a package, once.
func (t trial) testsOf(ctx context.Context, suite string) (string, error) {
	if built, ok := t.tests[suite]; ok {
		return built, nil
	}
	built := filepath.Join(t.dir, filepath.Base(suite)+".test")
	if err := t.command(ctx, t.root, "go", "test", "-c", "-o", built, "./"+suite); err != nil {
		return "", fmt.Errorf("building the tests: %w", err)
	}
	t.tests[suite] = built
	return built, nil
}

// try builds a mutant and returns which of its ways pass their tests.
func (t trial) try(ctx context.Context, m mutant) ([]string, error) {
	overlay, err := t.overlay(m)
	if err != nil {
		return nil, err
	}
	switch {
	case len(m.unit) > 0:
		return t.tryUnit(ctx, m, overlay)
	case m.bypassesOf != "":
		return t.tryBypasses(ctx, m, overlay)
	}
	var exit *exec.ExitError
	tests, err := t.testsOf(ctx, m.suite())
	if err != nil {
		return nil, err
	}
	operator, err := t.build(ctx, overlay)
	if err != nil {
		return nil, err
	}
	ways := make([]string, len(m.ways))
	for i, way := range m.ways {
		ways[i] = regexp.QuoteMeta(way)
	}
	setup, err := t.setup(m)
	if err != nil {
		return nil, err
	}
	report := filepath.Join(t.dir, "report.json")
	// The tests are expected to fail; how they did is in the report.
	err = t.command(ctx, filepath.Join(t.root, m.suite()), tests, "-operator="+operator, "-setup="+setup,
		"-ginkgo.focus=^(End to end |End to end with Crossplane )?Bypass ("+strings.Join(ways, "|")+")$", "-ginkgo.json-report="+report)
	if err != nil && !errors.As(err, &exit) {
		return nil, fmt.Errorf("testing it: %w", err)
	}
	return t.passed(report, m.ways)
}

// build builds the operator with an overlay.
func (t trial) build(ctx context.Context, overlay string) (string, error) {
	operator := filepath.Join(t.dir, "operator")
	if err := t.command(ctx, t.root, "go", "build", "-overlay="+overlay, "-o", operator, "./cmd"); err != nil {
		return "", fmt.Errorf("building it: %w", err)
	}
	return operator, nil
}

// tryUnit tries a mutant that only unit tests can tell.
func (t trial) tryUnit(ctx context.Context, m mutant, overlay string) ([]string, error) {
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-overlay=" + overlay}, m.unit...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = t.root, io.MultiWriter(&out, t.out), io.MultiWriter(&out, t.out)
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return m.tests(), nil
	case !errors.As(err, &exit):
		return nil, fmt.Errorf("testing it: %w", err)
	}
	if how := crashOf(out.String()); how != "" || !strings.Contains(out.String(), "--- FAIL: ") {
		return nil, fmt.Errorf("no test has failed, it crashed or does not compile: %s", how)
	}
	return nil, nil
}

// tryBypasses tries a mutant of kausality-cri, whose ways are parts of a unit test. All are
// run: one that none of the ways is for may fail, too.
func (t trial) tryBypasses(ctx context.Context, m mutant, overlay string) ([]string, error) {
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", "test", "-overlay="+overlay, "-count=1", "-timeout=2m", "-run=^TestBypass$", "-json", m.bypassesOf)
	cmd.Dir, cmd.Stdout, cmd.Stderr = t.root, io.MultiWriter(&out, t.out), io.MultiWriter(&out, t.out)
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, fmt.Errorf("testing it: %w", err)
	}
	if how := crashOf(out.String()); how != "" {
		return nil, fmt.Errorf("it crashed or does not compile: %s", how)
	}
	became := map[string]string{}
	for line := range strings.Lines(out.String()) {
		var event struct{ Action, Test string }
		if json.Unmarshal([]byte(line), &event) == nil {
			became[event.Test] = event.Action
		}
	}
	var passed []string
	for _, way := range m.ways {
		switch became["TestBypass/"+strings.ReplaceAll(way, " ", "_")] {
		case "pass":
			passed = append(passed, way)
		case "fail":
		default:
			return nil, fmt.Errorf("%q was not tried", way)
		}
	}
	return passed, nil
}

// crashes are what is printed where something ended by itself instead of having been judged.
var crashes = []string{"panic:", "fatal error:", "[build failed]", "[setup failed]", "connect: connection refused"}

// crashOf says by which words a text tells of a crash, or nothing.
func crashOf(text string) string {
	for _, sign := range crashes {
		if strings.Contains(text, sign) {
			return sign
		}
	}
	return ""
}

// crashed reports whether a spec has failed for another reason than what it asserts: a mutant
// whose operator is no more lets nothing pass either.
func crashed(spec types.SpecReport) bool {
	return spec.State.Is(types.SpecStatePanicked|types.SpecStateAborted|types.SpecStateInterrupted) ||
		spec.State.Is(types.SpecStateFailureStates) && crashOf(spec.Failure.Message) != ""
}

// setup returns the kustomization with what the mutant needs in the cluster: a copy where the
// mutant replaces something of it.
func (t trial) setup(m mutant) (string, error) {
	if !slices.ContainsFunc(m.edits, edit.isSetup) {
		return filepath.Join(t.root, configDir, "dev"), nil
	}
	dir, err := os.MkdirTemp(t.dir, "config-")
	if err != nil {
		return "", err
	}
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(t.root, configDir))); err != nil {
		return "", err
	}
	for _, e := range m.edits {
		if !e.isSetup() {
			continue
		}
		path := filepath.Join(dir, strings.TrimPrefix(e.file, configDir))
		raw, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		mutated, err := e.apply(string(raw))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(path, []byte(mutated), 0o600); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, "dev"), nil
}

// configDir has the kustomizations.
const configDir = "config"

// isSetup reports whether the edit is of a kustomization, and not of code.
func (e edit) isSetup() bool { return strings.HasPrefix(e.file, configDir+"/") }

// overlay writes the mutated files, and says in the go command's way what they
// replace.
func (t trial) overlay(m mutant) (string, error) {
	files := map[string]string{}
	for _, e := range m.edits {
		if e.isSetup() {
			continue
		}
		path := filepath.Join(t.root, e.file)
		code, ok := files[path]
		if !ok {
			raw, err := os.ReadFile(path)
			if err != nil {
				return "", err
			}
			code = string(raw)
		}
		mutated, err := e.apply(code)
		if err != nil {
			return "", err
		}
		files[path] = mutated
	}
	replace := map[string]string{}
	for path, code := range files {
		file := filepath.Join(t.dir, fmt.Sprintf("%d.go", len(replace)))
		if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
			return "", err
		}
		replace[path] = file
	}
	raw, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(t.dir, "overlay.json")
	return overlay, os.WriteFile(overlay, raw, 0o600)
}

// apply makes the edit.
func (e edit) apply(code string) (string, error) {
	if n := strings.Count(code, e.find); n != 1 {
		return "", fmt.Errorf("%s has the code to replace %d times, want once: %s", e.file, n, e.find)
	}
	return strings.Replace(code, e.find, e.replace, 1), nil
}

// passed reads which of the ways have passed; each has to have been tried.
func (t trial) passed(report string, ways []string) ([]string, error) {
	raw, err := os.ReadFile(report)
	if err != nil {
		return nil, err
	}
	var reports []types.Report
	if err := json.Unmarshal(raw, &reports); err != nil {
		return nil, fmt.Errorf("reading the report: %w", err)
	}
	var passed, tried []string
	for _, r := range reports {
		for _, spec := range r.SpecReports {
			switch {
			case spec.State.Is(types.SpecStateSkipped | types.SpecStatePending):
			case crashed(spec):
				return nil, fmt.Errorf("%q was not judged, it crashed: %s", spec.LeafNodeText, spec.Failure.Message)
			case spec.State.Is(types.SpecStatePassed):
				passed = append(passed, spec.LeafNodeText)
				fallthrough
			default:
				tried = append(tried, spec.LeafNodeText)
			}
		}
	}
	for _, way := range ways {
		if !slices.Contains(tried, way) {
			return nil, fmt.Errorf("%q was not tried", way)
		}
	}
	return passed, nil
}

func (t trial) command(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, t.out, t.out
	return cmd.Run()
}
