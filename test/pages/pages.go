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

// Package pages reads the commands of pages of docs, for specs that run them as they stand.
package pages

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

var (
	heading = regexp.MustCompile(`(?m)^#{2,3} (.+)$`)
	block   = regexp.MustCompile("(?ms)^( *)```(\\w*)\n(.*?)\n *```$")
)

// Block is a block of code of a page.
type Block struct {
	// Section is the heading that it is below.
	Section string
	// Language is the language that the page names for it, such as sh.
	Language string
	// Text is its content, without the indentation of a list.
	Text string
}

// Read returns all blocks of a page, in order.
func Read(path string) ([]Block, error) {
	page, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading a page of docs: %w", err)
	}
	return parse(string(page)), nil
}

// Section returns the blocks in a language that a section of a page has, without those of the
// sections below it. It is an error if there is none.
func Section(path, section, language string) ([]string, error) {
	all, err := Read(path)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, b := range all {
		if b.Section == section && b.Language == language {
			out = append(out, b.Text)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has no section %q with blocks of %s", path, section, language)
	}
	return out, nil
}

func parse(page string) []Block {
	var out []Block
	headings := heading.FindAllStringSubmatchIndex(page, -1)
	for _, at := range block.FindAllStringSubmatchIndex(page, -1) {
		b := Block{Language: page[at[4]:at[5]]}
		for _, h := range headings {
			if h[0] < at[0] {
				b.Section = page[h[2]:h[3]]
			}
		}
		lines := strings.Split(page[at[6]:at[7]], "\n")
		for i := range lines {
			lines[i] = strings.TrimPrefix(lines[i], page[at[2]:at[3]])
		}
		b.Text = strings.Join(lines, "\n")
		out = append(out, b)
	}
	return out
}
