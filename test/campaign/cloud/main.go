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

// Command cloud is a campaign: at random it changes, drifts, restarts and deletes what
// a fleet of databases of Crossplane consists of, and then compares what the cloud was
// asked for with what people had allowed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

var (
	seeds     = flag.String("seeds", "1,2,3", "a campaign for each of them")
	steps     = flag.Int("steps", 1000, "how many things happen in a campaign")
	databases = flag.Int("databases", 40, "how many databases they happen to")
	patience  = flag.Duration("patience", 2*time.Minute, "how long an approved change may take, and everything at the end")
	planted   = flag.String("plant", "", "a fault that is to be found: "+strings.Join(faultNames(), ", "))
	approve   = flag.Bool("approve", false, "have strangers' changes approved instead of taken back and overruled")
	binary    = flag.String("operator", filepath.Join("bin", "shifted", "manager"), "the operator's executable, whose clock is set")
	keep      = flag.String("keep", "", "the folder to keep all logs in")
	again     = flag.String("judge", "", "the folder with the logs of a campaign that is to be judged again, instead of a new one")
	root      = flag.String("root", ".", "the root of the repository")
	verbose   = flag.Bool("v", false, "tell of each step")
)

func main() {
	flag.Parse()
	logf.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "campaign:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if *again != "" {
		return judgeAgain(*again)
	}
	var failed []error
	for text := range strings.SplitSeq(*seeds, ",") {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return fmt.Errorf("a seed is a number: %w", err)
		}
		if err := fight(ctx, seed); err != nil {
			failed = append(failed, fmt.Errorf("seed %d: %w", seed, err))
		}
	}
	return errors.Join(failed...)
}
