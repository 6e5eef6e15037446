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

package process

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// tailBytes bounds how much of a log Tail reads.
const tailBytes = 64 << 10

// Tail returns the last lines that the process wrote to its log, at most n,
// for a message that explains why it ended. What an earlier process wrote to
// the same file is not part of it.
func (p *Process) Tail(n int) string {
	lines, err := tail(p.Spec.Log, p.logStart, n)
	if err != nil {
		return fmt.Sprintf("(the log cannot be read: %v)", err)
	}
	return strings.Join(lines, "\n")
}

// tail returns the last n lines of the file at path, from offset start on.
func tail(path string, start int64, n int) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // Only read from.
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	from := max(start, info.Size()-tailBytes)
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, tailBytes))
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return lines[max(0, len(lines)-n):], nil
}
