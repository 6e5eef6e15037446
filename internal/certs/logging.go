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

package certs

import (
	"slices"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// rotationLogger is what the rotator calls its logger.
const rotationLogger = "cert-rotation"

// Logger returns a logger for the operator in which conflicts of the rotator are no errors. It reads the
// Secret from a cache, and fills it when it starts and when it hears of it: at a fresh start one of both
// writes comes second, and is tried again.
func Logger(log logr.Logger) logr.Logger { return log.WithSink(rootSink{log.GetSink()}) }

// rootSink is the sink of a logger without a name, of which the rotator makes its own.
type rootSink struct{ logr.LogSink }

// WithName implements logr.LogSink.
func (s rootSink) WithName(name string) logr.LogSink {
	named := s.LogSink.WithName(name)
	if name != rotationLogger {
		return named
	}
	if deeper, ok := named.(logr.CallDepthLogSink); ok {
		named = deeper.WithCallDepth(1)
	}
	return rotationSink{named}
}

// rotationSink is the sink of the rotator's logger.
type rotationSink struct{ logr.LogSink }

// Info implements logr.LogSink. It is as deep in calls as Error.
func (s rotationSink) Info(level int, message string, keysAndValues ...any) {
	s.LogSink.Info(level, message, keysAndValues...)
}

// Error implements logr.LogSink.
func (s rotationSink) Error(err error, message string, keysAndValues ...any) {
	const level = 1
	switch {
	case !apierrors.IsConflict(err):
		s.LogSink.Error(err, message, keysAndValues...)
	case s.Enabled(level):
		s.LogSink.Info(level, message+"; it is tried again", append(slices.Clip(keysAndValues), "reason", err.Error())...)
	}
}
