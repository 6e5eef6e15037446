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
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pageSize is that of lists by kubectl and client-go.
const pageSize = 500

// listing is how long the API server takes to hand out the holders and their records to
// somebody who decodes nothing, in seconds.
type listing struct {
	// Pages is in lists of pageSize objects.
	Pages float64 `json:"pages"`
	// Stream is in watches that begin with what there is.
	Stream float64 `json:"stream"`
}

// listAll lists the holders and their records, one after the other. The API server has
// them in its own caches by then: it fills these anew whenever the definition of a kind
// changes, which is not what an operator that starts meets.
func (s *stage) listAll(ctx context.Context) (l listing, err error) {
	paths := []string{holdersPath, recordsPath}
	both := func(read func(context.Context, string) error) (seconds float64, err error) {
		began := time.Now()
		for _, path := range paths {
			if err := read(ctx, path); err != nil {
				return 0, fmt.Errorf("listing %s: %w", path, err)
			}
		}
		return time.Since(began).Seconds(), nil
	}
	if _, err = both(s.stream); err != nil {
		return l, err
	}
	if l.Stream, err = both(s.stream); err != nil {
		return l, err
	}
	l.Pages, err = both(s.pages)
	return l, err
}

// pages lists all objects in pages.
func (s *stage) pages(ctx context.Context, path string) error {
	for token, n := "", 0; ; n++ {
		raw, err := s.raw.Get().AbsPath(path).Param("limit", strconv.Itoa(pageSize)).Param("continue", token).DoRaw(ctx)
		if err != nil {
			return err
		}
		if token = nextPage(raw); token != "" {
			continue
		}
		if (n+1)*pageSize < s.made {
			return fmt.Errorf("%d pages of %d are less than the %d there are", n+1, pageSize, s.made)
		}
		return nil
	}
}

// nextPage finds where the next page of a list begins, which it says behind its items,
// with the rest of its metadata.
func nextPage(list []byte) string {
	_, rest, found := bytes.Cut(list[max(0, len(list)-4096):], []byte(`"continue":"`))
	if !found {
		return ""
	}
	token, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(token)
}

// stream watches from the beginning, until there is nothing but what will be new.
func (s *stage) stream(ctx context.Context, path string) (err error) {
	body, err := s.raw.Get().AbsPath(path).
		Param("watch", "true").Param("sendInitialEvents", "true").Param("allowWatchBookmarks", "true").
		Param("resourceVersionMatch", string(metav1.ResourceVersionMatchNotOlderThan)).Stream(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	events := bufio.NewReaderSize(body, 1<<20)
	for n := 0; ; n++ {
		event, err := events.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF):
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		case bytes.Contains(event, []byte(metav1.InitialEventsAnnotationKey)):
			if n < s.made {
				return fmt.Errorf("%d events are less than the %d objects there are", n, s.made)
			}
			return nil
		}
	}
}
