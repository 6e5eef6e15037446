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

package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/plot"
)

// growth returns a chart of a cost that grows, and of one that does not.
func growth() Chart {
	return Chart{
		Title: "Costs <of> something",
		X:     Axis{Label: "policies"},
		Y:     Axis{Label: "time", Unit: "s"},
		Series: []Series{
			{Name: "flat", Points: []Point{{X: 10, Y: 2e-6, Low: 1.9e-6, High: 2.2e-6}, {X: 10_000, Y: 2.1e-6, Low: 2e-6, High: 2.2e-6}}},
			{Name: "grows", Points: []Point{{X: 10, Y: 1e-6, Low: 1e-6, High: 1e-6}, {X: 10_000, Y: 1e-3, Low: 9e-4, High: 2e-3}}},
		},
		Limits: []Limit{{Name: "target", Y: 5e-6}},
	}
}

// texts returns the texts of an SVG, sorted.
func texts(t *testing.T, svg []byte) []string {
	t.Helper()
	var out []string
	decoder := xml.NewDecoder(bytes.NewReader(svg))
	inText := false
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			slices.Sort(out)
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			inText = token.Name.Local == "text"
		case xml.CharData:
			if text := strings.TrimSpace(string(token)); inText && text != "" {
				out = append(out, text)
			}
		}
	}
}

func TestWriteFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "charts", "growth.svg")
	if err := growth().WriteFile(file); err != nil {
		t.Fatal(err)
	}
	svg, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"1 ms", "1 µs", "10", "10 µs", "10,000", "100 µs", "3 µs", "30 µs", "300 µs",
		"Costs <of> something", "flat", "grows", "policies", "target", "time",
	}
	if diff := cmp.Diff(want, texts(t, svg)); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
	if strings.Contains(string(svg), "Liberation Sans;") {
		t.Error("there is text without a font to fall back to")
	}
	var again bytes.Buffer
	if err := growth().Write(&again); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(svg, again.Bytes()) {
		t.Error("the same chart is drawn in two ways")
	}
}

func TestWriteRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*Chart){
		"no series":                  func(c *Chart) { c.Series = nil },
		"no points":                  func(c *Chart) { c.Series[1].Points = nil },
		"a place that is zero":       func(c *Chart) { c.Series[0].Points[0].X = 0 },
		"an interval from below":     func(c *Chart) { c.Series[0].Points[0].Low = -1 },
		"a value below its interval": func(c *Chart) { c.Series[0].Points[0].Low = 3e-6 },
		"a value above its interval": func(c *Chart) { c.Series[0].Points[0].High = 1e-6 },
		"a limit of zero":            func(c *Chart) { c.Limits[0].Y = 0 },
		"a value beyond all":         func(c *Chart) { c.Series[0].Points[0].Y, c.Series[0].Points[0].High = math.Inf(1), math.Inf(1) },
	} {
		t.Run(name, func(t *testing.T) {
			chart := growth()
			spoil(&chart)
			var out bytes.Buffer
			if err := chart.Write(&out); err == nil || out.Len() > 0 {
				t.Errorf("Write() = %v and %d bytes, want an error and none", err, out.Len())
			}
		})
	}
}

func labels(ticks []plot.Tick) []string {
	var out []string
	for _, tick := range ticks {
		out = append(out, tick.Label)
	}
	return out
}

func TestTicksBetween(t *testing.T) {
	for name, tc := range map[string]struct {
		low, high float64
		unit      string
		want      []string
	}{
		"a ratio":             {0.6, 5, "", []string{"0.7", "1", "1.5", "2", "3", "5"}},
		"one decade of times": {90e-9, 1.1e-6, "s", []string{"100 ns", "150 ns", "200 ns", "300 ns", "500 ns", "700 ns", "1 µs"}},
		"many decades":        {5e-9, 5e-2, "s", []string{"10 ns", "100 ns", "1 µs", "10 µs", "100 µs", "1 ms", "10 ms"}},
		"counts":              {900, 110_000, "", []string{"1000", "2000", "5000", "10,000", "20,000", "50,000", "100,000"}},
		"bytes":               {20 << 20, 600 << 20, "B", []string{"32 MiB", "64 MiB", "128 MiB", "256 MiB", "512 MiB"}},
		"bytes over decades":  {1 << 10, 1 << 30, "B", []string{"1 KiB", "8 KiB", "64 KiB", "512 KiB", "4 MiB", "32 MiB", "256 MiB"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, labels(ticksBetween(tc.low, tc.high, tc.unit))); diff != "" {
				t.Errorf("ticks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPlacesX(t *testing.T) {
	series := func(places ...float64) Chart {
		var s Series
		for _, x := range places {
			s.Points = append(s.Points, Point{X: x, Y: 1, Low: 1, High: 1})
		}
		return Chart{X: Axis{Unit: "B"}, Series: []Series{s, s}}
	}
	for name, tc := range map[string]struct {
		chart Chart
		want  []string
	}{
		"what was measured":      {series(2<<10, 500<<10), []string{"2 KiB", "500 KiB"}},
		"too many to write down": {series(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 17), []string{"1 B", "2 B", "4 B", "8 B", "16 B"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, labels(tc.chart.placesX())); diff != "" {
				t.Errorf("ticks (-want +got):\n%s", diff)
			}
		})
	}
}
