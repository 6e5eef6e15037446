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

// Command rollouts measures what Kausality costs rollouts, and what its records cost: all
// Deployments of a namespace are rolled at once, in turn without Kausality and with it,
// in one cluster of real controllers.
package main

import (
	"flag"
	"os"

	"kausality.io/operator/test/bench/command"
)

var (
	deployments = flag.Int("deployments", 50, "how many Deployments are rolled at once")
	replicas    = flag.Int("replicas", 10, "how many Pods each of them has")
	blocks      = flag.Int("blocks", 7, "how often they are rolled in each world, beside once to warm up")
	seed        = flag.Uint64("seed", 1, "of the order in a block, and of the bootstrap")
	pprof       = flag.String("pprof", "", "where the operator serves its profiles meanwhile, as 127.0.0.1:6060; nowhere by default")
	folder      = flag.String("profiles", "", "the directory to keep a processor profile of each block in, of the API server and with -pprof of the operator; they make it slower")
	root        = flag.String("root", ".", "the root of the repository")
	out         = flag.String("out", "", "the file to write all that was measured to, as JSON")
)

func main() {
	flag.Parse()
	os.Exit(command.Run("rollouts", measure))
}
