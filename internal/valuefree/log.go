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

package valuefree

import "github.com/go-logr/logr"

// Logger returns a logger that tells errors without what fields hold: whoever reads logs may not be who may read all
// objects.
func Logger(log logr.Logger) logr.Logger {
	to := log.GetSink()
	if deeper, ok := to.(logr.CallDepthLogSink); ok {
		to = deeper.WithCallDepth(1)
	}
	return log.WithSink(sink{to})
}

// sink is the sink of such a logger.
type sink struct{ logr.LogSink }

// Info implements logr.LogSink.
func (s sink) Info(level int, message string, keysAndValues ...any) {
	s.LogSink.Info(level, message, withoutValues(keysAndValues)...)
}

// Error implements logr.LogSink.
func (s sink) Error(err error, message string, keysAndValues ...any) {
	s.LogSink.Error(told(err), message, withoutValues(keysAndValues)...)
}

// WithValues implements logr.LogSink.
func (s sink) WithValues(keysAndValues ...any) logr.LogSink {
	return sink{s.LogSink.WithValues(withoutValues(keysAndValues)...)}
}

// WithName implements logr.LogSink.
func (s sink) WithName(name string) logr.LogSink { return sink{s.LogSink.WithName(name)} }

// WithCallDepth implements logr.CallDepthLogSink.
func (s sink) WithCallDepth(depth int) logr.LogSink {
	if deeper, ok := s.LogSink.(logr.CallDepthLogSink); ok {
		return sink{deeper.WithCallDepth(depth)}
	}
	return s
}

func withoutValues(keysAndValues []any) []any {
	out := make([]any, len(keysAndValues))
	for i, v := range keysAndValues {
		if err, ok := v.(error); ok {
			v = told(err)
		}
		out[i] = v
	}
	return out
}

// told returns an error with the text of another one.
func told(err error) error {
	if err == nil {
		return nil
	}
	return toldError{err, Text(err)}
}

// toldError is an error that is told without values.
type toldError struct {
	error

	text string
}

// Error implements error.
func (e toldError) Error() string { return e.text }

// Unwrap returns the error itself, for who decides by it.
func (e toldError) Unwrap() error { return e.error }
