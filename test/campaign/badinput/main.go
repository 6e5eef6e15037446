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

// Command badinput puts every bad value into every field and annotation that Kausality
// reads, through a real API server, for some time, and then looks whether everything still
// works. What it tries is a function of the seed.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"kausality.io/operator/test/campaign/badinput/runner"
	"kausality.io/operator/test/controlplane"
)

// namespace is where the objects are.
const namespace = "badinput"

var (
	seed   = flag.Uint64("seed", 1, "of what is tried, and in which order")
	length = flag.Duration("fuzztime", 5*time.Minute, "for how long, after each field has had its turn")
	least  = flag.Int("least", 0, "how many changes of each kind of object; by default each field has its turn once")
	items  = flag.Int("items", 2000, "how many items long lists in policies and records have; the API server takes long over more")
	memory = flag.Uint64("memory", 512, "how many MiB the operator may take at most")
	root   = flag.String("root", ".", "the root of the repository")
	keep   = flag.String("keep", "", "a folder for the logs; they go by default")
)

func main() {
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "badinput: %v\nagain with -seed=%d -fuzztime=%s\n", err, *seed, *length)
		os.Exit(1)
	}
}

func run() (err error) {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if *keep != "" {
		if err := os.MkdirAll(*keep, 0o700); err != nil {
			return err
		}
	}
	cp, err := controlplane.Start(ctx, controlplane.Options{Dir: *keep, Progress: func(line string) { sayf("%s", line) }})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cp.Stop()) }()
	operator, err := controlplane.InstallOperator(ctx, cp, controlplane.OperatorOptions{
		Binary: filepath.Join(*root, "bin", "manager"), Overlay: filepath.Join(*root, "config", "dev"),
	})
	if err != nil {
		return err
	}
	if err := furnish(ctx, cp); err != nil {
		return err
	}
	before, err := pidOf(cp, operator.Name)
	if err != nil {
		return err
	}
	sayf("trying for %s, seed %d", *length, *seed)
	report, err := (&runner.Runner{
		Admin: cp.AdminConfig(), Namespace: namespace, Group: "badinput.example.org",
		Operator: controlplane.OperatorUser,
		Seed:     *seed, Least: *least, Items: *items, Until: time.Now().Add(*length),
	}).Run(ctx)
	sayf("%d requests, %d accepted, %d refused; the longest took %s: %s",
		report.Requests, report.Accepted, report.Refused, report.Duration.Round(time.Millisecond), report.Longest)
	for _, finding := range report.Findings {
		sayf("  %s", finding)
	}
	err = errors.Join(err, tell(cp, operator, before))
	if len(report.Findings) > 0 {
		err = errors.Join(fmt.Errorf("%d answers are not as they should be", len(report.Findings)), err)
	}
	return err
}

// furnish makes the namespace, and has the sample policies in effect in it.
func furnish(ctx context.Context, cp *controlplane.ControlPlane) error {
	clients, err := kubernetes.NewForConfig(cp.AdminConfig())
	if err != nil {
		return err
	}
	_, err = clients.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	samples, err := cp.Render(ctx, filepath.Join(*root, "config", "samples"))
	if err != nil {
		return err
	}
	return cp.Apply(ctx, samples)
}

// pidOf returns the process of the operator.
func pidOf(cp *controlplane.ControlPlane, name string) (int, error) {
	for _, m := range cp.Status() {
		if m.Name == name && m.Running {
			return m.PID, nil
		}
	}
	return 0, fmt.Errorf("%s does not run", name)
}

// tell tells what became of the operator, and fails where it crashed or took too much.
func tell(cp *controlplane.ControlPlane, operator *controlplane.Operator, pid int) error {
	now, err := pidOf(cp, operator.Name)
	if err != nil || now != pid {
		return fmt.Errorf("the operator has crashed: %w", err)
	}
	proc, err := procfs.NewProc(pid)
	if err != nil {
		return err
	}
	status, err := proc.NewStatus()
	if err != nil {
		return err
	}
	sayf("the operator took %d MiB at most, and takes %d MiB", status.VmHWM>>20, status.VmRSS>>20)
	log, err := os.ReadFile(operator.Log())
	if err != nil {
		return err
	}
	if at := bytes.Index(log, []byte("panic")); at >= 0 {
		return fmt.Errorf("the operator has panicked: %.2000s", log[at:])
	}
	if most := *memory << 20; status.VmHWM > most {
		return fmt.Errorf("the operator took %d MiB, and %d MiB are the most that it may", status.VmHWM>>20, *memory)
	}
	return nil
}

// sayf tells what goes on.
func sayf(format string, args ...any) {
	fmt.Printf(time.Now().Format("15:04:05 ")+format+"\n", args...)
}
