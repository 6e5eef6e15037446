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
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"kausality.io/operator/test/controlplane"
)

const (
	// patience bounds the whole performance: longer, and something hangs.
	patience = 3 * time.Minute
	// logTail is how many lines of the operator's log are shown after a failure.
	logTail = 15
)

// errInterrupted is the end of a performance that somebody ended.
var errInterrupted = errors.New("interrupted")

// production is one performance: a cluster, the operator in it, and the story.
type production struct {
	narrator narrator
	// dir takes what belongs to the cluster; a temporary folder if empty.
	dir string
	// manager is the operator's executable.
	manager string
	// overlay is the kustomization that the operator needs in the cluster.
	overlay string
	// samples is the kustomization with the policies.
	samples string
}

// run gives the performance. When it returns, nothing of it is left.
func (p production) run(ctx context.Context) error {
	began := time.Now()
	checked, err := p.perform(ctx)
	if err != nil {
		return err
	}
	p.narrator.end(checked, time.Since(began))
	return nil
}

// perform starts a cluster, plays the story, and takes everything down again. It
// returns how many claims were checked.
func (p production) perform(ctx context.Context) (checked int, err error) {
	limited, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it takes longer than %s", patience))
	defer cancel()
	p.narrator.chapter("A cluster of its own")
	cp, err := controlplane.Start(limited, controlplane.Options{Dir: p.dir, Progress: p.narrator.aside})
	if err != nil {
		return 0, reasonFor(ctx, limited, err)
	}
	defer func() { err = errors.Join(err, cp.Stop()) }()
	p.narrator.aside("starting the operator")
	operator, err := controlplane.InstallOperator(limited, cp, controlplane.OperatorOptions{Binary: p.manager, Overlay: p.overlay})
	if err != nil {
		return 0, reasonFor(ctx, limited, err)
	}
	s, err := newStory(cp, p.narrator, p.samples)
	if err != nil {
		return 0, err
	}
	if err := s.play(limited); err != nil {
		if ctx.Err() == nil {
			p.showLog(operator)
		}
		return 0, reasonFor(ctx, limited, err)
	}
	return s.checked, nil
}

// reasonFor returns why the performance ended: err, unless it was made to.
func reasonFor(ctx, limited context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case limited.Err() != nil:
		return errors.Join(context.Cause(limited), err)
	default:
		return err
	}
}

// showLog shows the end of the operator's log: with the cluster it goes away, and
// it may say what went wrong.
func (p production) showLog(operator *controlplane.Operator) {
	log, err := os.ReadFile(operator.Log())
	if err != nil {
		return
	}
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	p.narrator.aside("\nThe operator said last:")
	p.narrator.output(strings.Join(lines[max(0, len(lines)-logTail):], "\n"))
}
