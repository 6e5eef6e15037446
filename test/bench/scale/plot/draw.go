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
	"image/color"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The measures of a chart.
const (
	width      vg.Length = 620
	height     vg.Length = 320
	margin     vg.Length = 10
	titleSize  vg.Length = 14
	labelSize  vg.Length = 11
	tickSize   vg.Length = 10
	lineWidth  vg.Length = 1.5
	glyphSize  vg.Length = 3
	capWidth   vg.Length = 4
	afterTitle vg.Length = 12
)

// The values of a chart fill its height, but noise is not drawn as if it were growth.
const (
	leastSpan = 8   // the largest value of the Y axis by its smallest, at least
	room      = 1.1 // above the largest value and below the smallest
)

var (
	sans      = font.Font{Typeface: "Liberation", Variant: "Sans"}
	gridColor = color.Gray{Y: 225}
)

func (c Chart) draw(w io.Writer) error {
	p := plot.New()
	p.Title.Text, p.Title.Padding = c.Title, afterTitle
	p.Title.TextStyle.Font = font.From(sans, titleSize)
	legend := plot.NewLegend()
	legend.Top, legend.Left, legend.Padding = true, true, glyphSize
	legend.TextStyle.Font = font.From(sans, labelSize)

	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = gridColor, gridColor
	p.Add(grid)
	for i, s := range c.Series {
		if err := s.addTo(p, &legend, i); err != nil {
			return err
		}
	}
	for _, l := range c.Limits {
		l.addTo(p, &legend)
	}
	style(&p.X, c.X, c.placesX())
	low, high := c.rangeY()
	style(&p.Y, c.Y, ticksBetween(low, high, c.Y.Unit))
	p.Y.Min, p.Y.Max = low, high

	svg := vgsvg.New(width, height)
	all := draw.New(svg)
	// The legend stands beside the plot: within, it would lie on some line or other.
	beside := legend.Rectangle(all).Size().X + 2*margin
	p.Draw(draw.Crop(all, margin, -beside, margin, -margin))
	legend.Draw(draw.Crop(all, width-beside+margin, 0, 0, -titleSize-afterTitle-margin))
	_, err := svg.WriteTo(w)
	return err
}

// addTo draws a line through the points, with a bar over the interval of each.
func (s Series) addTo(p *plot.Plot, legend *plot.Legend, i int) error {
	line, points, err := plotter.NewLinePoints(s)
	if err != nil {
		return err
	}
	bars, err := plotter.NewYErrorBars(s)
	if err != nil {
		return err
	}
	paint := plotutil.DarkColors[i%len(plotutil.DarkColors)]
	line.Color, line.Width = paint, lineWidth
	points.Color, points.Shape, points.Radius = paint, plotutil.Shape(i), glyphSize
	bars.Color, bars.CapWidth = paint, capWidth
	p.Add(line, points, bars)
	legend.Add(s.Name, line, points)
	return nil
}

// addTo draws a dashed line over the whole width.
func (l Limit) addTo(p *plot.Plot, legend *plot.Legend) {
	line := plotter.NewFunction(func(float64) float64 { return l.Y })
	line.Color, line.Width, line.Dashes = color.Black, lineWidth, plotutil.Dashes(1)
	p.Add(line)
	legend.Add(l.Name, line)
}

func style(axis *plot.Axis, as Axis, ticks []plot.Tick) {
	axis.Scale = plot.LogScale{}
	axis.Label.Text, axis.Label.TextStyle.Font = as.Label, font.From(sans, labelSize)
	axis.Tick.Marker, axis.Tick.Label.Font = plot.ConstantTicks(ticks), font.From(sans, tickSize)
}

// rangeY returns what the Y axis spans: all intervals and limits.
func (c Chart) rangeY() (low, high float64) {
	low, high = c.Series[0].Points[0].Low, c.Series[0].Points[0].High
	for _, s := range c.Series {
		for _, point := range s.Points {
			low, high = min(low, point.Low), max(high, point.High)
		}
	}
	for _, l := range c.Limits {
		low, high = min(low, l.Y), max(high, l.Y)
	}
	return widened(low/room, high*room)
}

// withFallbackFonts names what to write with where the font that the text was measured
// with is not installed; the library names that one only.
func withFallbackFonts(svg []byte) []byte {
	return bytes.ReplaceAll(svg, []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;"))
}

// Len returns how many points the series has; with XY and YError it is what the library draws.
func (s Series) Len() int { return len(s.Points) }

// XY returns where the i-th point is.
func (s Series) XY(i int) (x, y float64) { return s.Points[i].X, s.Points[i].Y }

// YError returns how far the interval of the i-th point reaches below and above it.
func (s Series) YError(i int) (low, high float64) {
	p := s.Points[i]
	return p.Low - p.Y, p.High - p.Y
}
