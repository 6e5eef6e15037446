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

// Command pod is what containers of tests run. It does nothing until it is asked to end,
// as sandboxes do, and leaves a mark where it was executed again.
package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run does what its first argument says: nothing, if there is none.
func run(args []string) error {
	if len(args) == 0 {
		wait()
		return nil
	}
	switch args[0] {
	case "mark":
		return os.WriteFile("/tmp/mark", []byte("here"), 0o600)
	case "read":
		return read(args[1:])
	case "answer":
		return answer()
	case "within":
		return within(args[1:])
	}
	return fmt.Errorf("%s is nothing that pod does", args[0])
}

// wait returns when the container is to end.
func wait() {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM, syscall.SIGINT)
	<-asked
}

// read writes files to the standard output.
func read(names []string) error {
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if _, err := os.Stdout.Write(data); err != nil {
			return err
		}
	}
	return nil
}

// answer says hello to who connects to its loopback.
func answer() error {
	listener, err := net.Listen("tcp", "127.0.0.1:8080") //nolint:noctx // it does not wait
	if err != nil {
		return err
	}
	fmt.Println("answering")
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "hello\n")
			_ = conn.Close()
		}
	}()
	wait()
	return listener.Close()
}

// within goes into control groups, and becomes the command behind "--".
func within(args []string) error {
	end := slices.Index(args, "--")
	if end < 0 || end+1 == len(args) {
		return errors.New("within needs -- and a command")
	}
	for _, group := range args[:end] {
		if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte("0"), 0o600); err != nil {
			return err
		}
	}
	return syscall.Exec(args[end+1], args[end+1:], os.Environ())
}
