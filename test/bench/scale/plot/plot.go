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

// Package plot draws how a cost grows along an axis, as SVG that is read in the
// documentation. Both axes are logarithmic: equal distances are equal ratios, a cost
// that does not grow is flat, and one that grows with its axis is a diagonal.
package plot

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Point is a value at a place on the axis, and the interval that it was measured with.
// Without an interval, Low and High are as Y is.
type Point struct {
	X, Y, Low, High float64
}

// Series are the points of one thing that was measured, in the order of their X.
type Series struct {
	Name   string
	Points []Point
}

// Limit is a value that is not to be exceeded.
type Limit struct {
	Name string
	Y    float64
}

// Axis says what is along one side of a chart.
type Axis struct {
	Label string
	// Unit gets a prefix in front where the numbers are large or small: with "s", 2e-6
	// is drawn as 2 µs, and with "B", 2048 as 2 KiB. It may be empty.
	Unit string
}

// Chart is what Write draws. It is drawn the same each time.
type Chart struct {
	Title  string
	X, Y   Axis
	Series []Series
	Limits []Limit
}

// Write draws the chart as SVG.
func (c Chart) Write(w io.Writer) error {
	if err := c.validate(); err != nil {
		return fmt.Errorf("the chart %q cannot be drawn: %w", c.Title, err)
	}
	var svg bytes.Buffer
	if err := c.draw(&svg); err != nil {
		return fmt.Errorf("the chart %q cannot be drawn: %w", c.Title, err)
	}
	_, err := w.Write(withFallbackFonts(svg.Bytes()))
	return err
}

// WriteFile draws the chart into a file, in a directory that is made if it is not there.
func (c Chart) WriteFile(file string) error {
	var svg bytes.Buffer
	if err := c.Write(&svg); err != nil {
		return err
	}
	const directoryMode, fileMode = 0o755, 0o644
	if err := os.MkdirAll(filepath.Dir(file), directoryMode); err != nil {
		return err
	}
	return os.WriteFile(file, svg.Bytes(), fileMode)
}

func (c Chart) validate() error {
	if len(c.Series) == 0 {
		return errors.New("it has no series")
	}
	for _, s := range c.Series {
		if len(s.Points) == 0 {
			return fmt.Errorf("the series %q has no points", s.Name)
		}
		for _, p := range s.Points {
			if p.X <= 0 || p.Low <= 0 || p.Low > p.Y || p.Y > p.High {
				return fmt.Errorf("the series %q has the point %+v: values on a logarithmic axis are positive, and a value is within its interval", s.Name, p)
			}
		}
	}
	for _, l := range c.Limits {
		if l.Y <= 0 {
			return fmt.Errorf("the limit %q is %g: values on a logarithmic axis are positive", l.Name, l.Y)
		}
	}
	return nil
}
