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

// Package source reads the files that a command is given, and knows on which line
// each of their fields is.
package source

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kausality.io/operator/internal/cli/exit"
	"kausality.io/operator/internal/kubectl"
)

const (
	// Stdin is the name by which the standard input is asked for.
	Stdin = "-"
	// StdinName is the name that what is read of it has.
	StdinName = "<stdin>"
)

// extensions are those of the files that are read of a directory.
var extensions = []string{".json", ".yaml", ".yml"}

// ByFlag lets a command have no arguments: the files that it reads are named by a flag.
func ByFlag(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return exit.With(exit.Usage, fmt.Errorf("%s takes no arguments, and there is %s: name files with -f: -f %s", cmd.Name(), args[0], kubectl.Word(args[0])))
}

// Read reads the documents of files, of all files of directories, and, where a name is
// Stdin, of the standard input. What is malformed in a file is a Problem, and the rest
// of it is read all the same; the error says which file cannot be read at all.
func Read(names []string, stdin io.Reader) ([]*Document, []Problem, error) {
	var docs []*Document
	var problems []Problem
	for _, name := range names {
		files, err := expand(name)
		if err != nil {
			return nil, nil, err
		}
		for _, file := range files {
			text, err := load(file, stdin)
			if err != nil {
				return nil, nil, err
			}
			found, wrong := split(file, text)
			docs, problems = append(docs, found...), append(problems, wrong...)
		}
	}
	return docs, problems, nil
}

// expand lists the files of a directory, with those of the directories in it.
func expand(name string) ([]string, error) {
	if name == Stdin {
		return []string{name}, nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, cannotRead(name, err)
	}
	if !info.IsDir() {
		return []string{name}, nil
	}
	var files []string
	err = filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && slices.Contains(extensions, filepath.Ext(path)) {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		return nil, cannotRead(name, err)
	}
	return files, nil
}

func load(file string, stdin io.Reader) (string, error) {
	if file == Stdin {
		text, err := io.ReadAll(stdin)
		if err != nil {
			return "", cannotRead("the standard input", err)
		}
		return string(text), nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", cannotRead(file, err)
	}
	return string(text), nil
}

func cannotRead(name string, err error) error {
	if detail, ok := errors.AsType[*fs.PathError](err); ok {
		err = detail.Err
	}
	return fmt.Errorf("%s cannot be read: %w", name, err)
}

// split reads the documents of a file, which lines of three dashes part.
func split(file, text string) ([]*Document, []Problem) {
	if file == Stdin {
		file = StdinName
	}
	var docs []*Document
	var problems []Problem
	begin := 0
	lines := strings.SplitAfter(text, "\n")
	for i := 0; i <= len(lines); i++ {
		if i < len(lines) && !separates(lines[i]) {
			continue
		}
		doc, problem := parse(file, begin, strings.Join(lines[begin:i], ""))
		switch {
		case problem != nil:
			problems = append(problems, *problem)
		case doc != nil:
			docs = append(docs, doc.items()...)
		}
		begin = i + 1
	}
	return docs, problems
}

func separates(line string) bool {
	rest, ok := strings.CutPrefix(line, "---")
	return ok && (strings.TrimSpace(rest) == "" || strings.HasPrefix(strings.TrimSpace(rest), "#"))
}
