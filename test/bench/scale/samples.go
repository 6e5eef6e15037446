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
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchproc"
)

// samples are what benchmarks printed, each value in the order of the rounds.
type samples struct {
	names benchproc.ProjectionParser
	// values are those of a benchmark with all its configuration, by their unit.
	values map[benchproc.Key]map[string][]float64
	name   *benchproc.Projection
}

func newSamples() *samples {
	s := &samples{values: map[benchproc.Key]map[string][]float64{}}
	var err error
	if s.name, err = s.names.Parse(".name,"+strings.Join(keys(), ","), nil); err != nil {
		panic("scale: a projection of constants: " + err.Error())
	}
	return s
}

const requestKey = "/request"

// keys returns what sub-benchmarks may have in their names.
func keys() []string {
	out := []string{requestKey}
	for _, c := range charts {
		if !slices.Contains(out, "/"+c.key) {
			out = append(out, "/"+c.key)
		}
	}
	return out
}

// read adds what benchmarks printed. Lines that are not about results are left out.
func (s *samples) read(text io.Reader, from string) error {
	reader := benchfmt.NewReader(text, from)
	for reader.Scan() {
		switch record := reader.Result().(type) {
		case *benchfmt.Result:
			s.add(record)
		case *benchfmt.SyntaxError:
			return fmt.Errorf("reading benchmark results: %w", record)
		}
	}
	return reader.Err()
}

func (s *samples) readFile(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return s.read(bytes.NewReader(text), file)
}

func (s *samples) add(r *benchfmt.Result) {
	key := s.name.Project(r)
	if s.values[key] == nil {
		s.values[key] = map[string][]float64{}
	}
	for _, v := range r.Values {
		s.values[key][v.Unit] = append(s.values[key][v.Unit], v.Value)
	}
}

// place is somewhere on an axis, and what was measured there in each round.
type place struct {
	x      float64
	values []float64
}

// line is what was measured along an axis, in the order of the places.
type line struct {
	name   string
	places []place
}

// along returns the lines of a benchmark on the axis of a key, one for each request or one
// altogether, in the order in which they were measured. A place times that many is its x.
func (s *samples) along(b bench, key string, times float64) ([]line, error) {
	var keys []benchproc.Key
	for k, values := range s.values {
		if s.field(k, ".name") == b.name && len(values[b.unit]) > 0 {
			keys = append(keys, k)
		}
	}
	benchproc.SortKeys(keys)
	var lines []line
	for _, k := range keys {
		n, err := strconv.ParseFloat(s.field(k, "/"+key), 64)
		if err != nil {
			return nil, fmt.Errorf("%s is not named after its place on the axis: %w", k, err)
		}
		name := strings.TrimSuffix(b.is+": "+s.field(k, requestKey), ": ")
		i := slices.IndexFunc(lines, func(l line) bool { return l.name == name })
		if i < 0 {
			i = len(lines)
			lines = append(lines, line{name: name})
		}
		lines[i].places = append(lines[i].places, place{x: n * times, values: s.values[k][b.unit]})
	}
	for _, l := range lines {
		slices.SortFunc(l.places, func(a, b place) int { return cmp.Compare(a.x, b.x) })
	}
	return lines, nil
}

// field returns one of those that keys are made of.
func (s *samples) field(k benchproc.Key, name string) string {
	i := slices.IndexFunc(s.name.FlattenedFields(), func(f *benchproc.Field) bool { return f.Name == name })
	return k.Get(s.name.FlattenedFields()[i])
}
