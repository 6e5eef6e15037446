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
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestBuiltVersion(t *testing.T) {
	if got := builtVersion(); got == "" {
		t.Error("a program that nobody gave a version has none")
	}
	version = "v1.2.3"
	t.Cleanup(func() { version = "" })
	if got := builtVersion(); got != "v1.2.3" {
		t.Errorf("built as v1.2.3, it says that it is %s", got)
	}
}

// The name that is set by the linker is in no reach of the compiler.
func TestImageSetsVersion(t *testing.T) {
	dockerfile, err := os.ReadFile("../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`-X main\.version=\$\{VERSION\}" -o /manager ./cmd`).Match(dockerfile) {
		t.Error("the Dockerfile does not build the operator with its version")
	}
	if strings.Count(string(dockerfile), "org.opencontainers.image.version=${VERSION}") != 2 {
		t.Error("not both images have a label with their version")
	}
}
