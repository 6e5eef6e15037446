//go:build linux

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

package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// groupsEnv has the control groups of the program.
	groupsEnv = "KAUSALITY_NODE_CGROUPS"
	// cgroupfs is where control groups are mounted.
	cgroupfs = "/sys/fs/cgroup"
	// removal bounds how long processes may take to leave their groups.
	removal = 10 * time.Second
)

// groupList are folders of control groups, one for each hierarchy.
type groupList []string

func groupsOf(text string) groupList { return strings.Split(text, ":") }

func (g groupList) String() string { return strings.Join(g, ":") }

// hierarchies returns where each is mounted that this process is in, and its group there.
func hierarchies() (map[string]string, error) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			return nil, fmt.Errorf("/proc/self/cgroup has %q", line)
		}
		mounted := filepath.Join(cgroupfs, strings.TrimPrefix(parts[1], "name="))
		if parts[1] == "" {
			// Version 2, by itself or beside others.
			if mounted = filepath.Join(cgroupfs, "unified"); !exists(mounted) {
				mounted = cgroupfs
			}
			if !exists(filepath.Join(mounted, "cgroup.procs")) {
				continue
			}
		}
		if !exists(mounted) {
			return nil, fmt.Errorf("the control groups of %q are not mounted at %s: this starts containers, and needs them", parts[1], mounted)
		}
		out[mounted] = parts[2]
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("there are no control groups at %s: this starts containers, and needs them", cgroupfs)
	}
	return out, nil
}

// makeGroups makes a group below that of this process in each hierarchy; in version 2 by
// itself below its root, as a group with processes gives nothing to groups below it.
func makeGroups(name string) (groupList, error) {
	all, err := hierarchies()
	if err != nil {
		return nil, err
	}
	var made groupList
	for mounted, own := range all {
		parent := filepath.Join(mounted, own)
		if mounted == cgroupfs {
			parent = mounted
		}
		group := filepath.Join(parent, name)
		if err := os.Mkdir(group, 0o755); err != nil {
			return nil, errors.Join(fmt.Errorf("making a control group: %w", err), made.remove())
		}
		made = append(made, group)
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			if err := inherit(parent, group, file); err != nil {
				return nil, errors.Join(err, made.remove())
			}
		}
	}
	return made, nil
}

// inherit copies a file that version 1 leaves empty in new groups.
func inherit(parent, group, file string) error {
	value, err := os.ReadFile(filepath.Join(parent, file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(group, file), value, 0o600)
}

// join moves this process into the groups.
func (g groupList) join() error {
	for _, group := range g {
		if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte("0"), 0o600); err != nil {
			return fmt.Errorf("entering a control group: %w", err)
		}
	}
	return nil
}

// remove removes the groups with all below them. Their processes have been killed.
func (g groupList) remove() error {
	var errs []error
	for _, group := range g {
		var folders []string
		err := filepath.WalkDir(group, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				folders = append(folders, path)
			}
			return err
		})
		errs = append(errs, err)
		slices.Reverse(folders)
		for _, folder := range folders {
			errs = append(errs, removeGroup(folder))
		}
	}
	return errors.Join(errs...)
}

// removeGroup waits until nobody is in a group.
func removeGroup(folder string) error {
	var failed error
	err := wait.PollUntilContextTimeout(context.Background(), poll, removal, true, func(context.Context) (bool, error) {
		failed = os.Remove(folder)
		return !errors.Is(failed, unix.EBUSY), nil
	})
	return errors.Join(failed, err)
}

// mountGroups mounts each hierarchy anew: what is the program's group outside is the root
// within.
func mountGroups() error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	for mounted := range all {
		kind, options := "cgroup", filepath.Base(mounted)
		switch {
		case mounted == cgroupfs, filepath.Base(mounted) == "unified":
			kind, options = "cgroup2", ""
		case filepath.Base(mounted) == "systemd":
			options = "none,name=systemd"
		}
		if err := unix.Unmount(mounted, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("unmounting %s: %w", mounted, err)
		}
		if err := unix.Mount(kind, mounted, kind, 0, options); err != nil {
			return fmt.Errorf("mounting %s: %w", mounted, err)
		}
		if mounted == cgroupfs {
			if err := delegate(); err != nil {
				return err
			}
		}
	}
	return nil
}

// delegate gives all controllers of version 2 to groups below the root, which may have no
// processes then.
func delegate() error {
	leaf := filepath.Join(cgroupfs, "init")
	if err := os.Mkdir(leaf, 0o755); err != nil {
		return err
	}
	procs, err := os.ReadFile(filepath.Join(cgroupfs, "cgroup.procs"))
	if err != nil {
		return err
	}
	for pid := range strings.FieldsSeq(string(procs)) {
		if err := os.WriteFile(filepath.Join(leaf, "cgroup.procs"), []byte(pid), 0o600); err != nil {
			return err
		}
	}
	controllers, err := os.ReadFile(filepath.Join(cgroupfs, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for controller := range strings.FieldsSeq(string(controllers)) {
		if err := os.WriteFile(filepath.Join(cgroupfs, "cgroup.subtree_control"), []byte("+"+controller), 0o600); err != nil {
			return fmt.Errorf("giving the controller %s to control groups below: %w", controller, err)
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Enter moves this process into a control group of a name, as a container's is named.
func Enter(name string) error {
	mounted := filepath.Join(cgroupfs, "pids")
	if !exists(mounted) {
		mounted = cgroupfs
	}
	group := filepath.Join(mounted, name)
	if err := os.MkdirAll(group, 0o755); err != nil {
		return err
	}
	return groupList{group}.join()
}
