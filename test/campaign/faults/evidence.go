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
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/campaign/faults/checker"
	strangers "kausality.io/operator/test/campaign/stranger/checker"
	"kausality.io/operator/test/controlplane"
)

const (
	// recordsTimeout bounds how long records may be behind at the end: those of what is
	// gone are looked at once a minute.
	recordsTimeout = 2 * time.Minute
	// quiet is for how long nothing may be written down any more.
	quiet = 5 * time.Second
	// shown is how many findings of a kind are shown.
	shown = 10
)

// remembered is what is kept of a campaign beside its audit log.
type remembered struct {
	Failure v1alpha1.FailurePolicy
	Final   []json.RawMessage
	Killed  []checker.Interval
}

const (
	rememberedFile = "evidence.json"
	auditFile      = "audit.log"
)

// collect reads what is there at the end, once records say of what is gone that it is.
func (s *stage) collect(ctx context.Context) (checker.Evidence, error) {
	last, since := "", time.Now()
	err := wait.PollUntilContextTimeout(ctx, poll, recordsTimeout, true, func(ctx context.Context) (bool, error) {
		behind, state, err := s.behind(ctx)
		if state != last {
			last, since = state, time.Now()
		}
		return behind == 0 && time.Since(since) > quiet, err
	})
	if err != nil && !wait.Interrupted(err) {
		return checker.Evidence{}, err
	}
	kept := remembered{Failure: s.failure, Killed: s.killed}
	for _, list := range []client.ObjectList{
		&appsv1.DeploymentList{}, &appsv1.ReplicaSetList{}, &corev1.PodList{}, &v1alpha1.AllowanceRecordList{},
	} {
		if err := s.admin.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return checker.Evidence{}, err
		}
		raw, err := encode(list)
		if err != nil {
			return checker.Evidence{}, err
		}
		kept.Final = append(kept.Final, raw...)
	}
	raw, err := json.Marshal(kept)
	if err != nil {
		return checker.Evidence{}, err
	}
	if err := os.WriteFile(filepath.Join(s.cp.Dir(), rememberedFile), raw, 0o600); err != nil {
		return checker.Evidence{}, err
	}
	return evidenceIn(s.cp.Dir(), &kept)
}

// evidenceIn returns what a folder has, with what is remembered beside the log.
func evidenceIn(dir string, kept *remembered) (checker.Evidence, error) {
	log, err := os.Open(filepath.Join(dir, auditFile))
	if err != nil {
		return checker.Evidence{}, err
	}
	defer log.Close() //nolint:errcheck // Only read from.
	read, err := strangers.Read(log)
	return checker.Evidence{
		Log: read, Final: kept.Final, Killed: kept.Killed,
		Operator: controlplane.OperatorUser,
	}, err
}

// judgeAgain judges what an earlier campaign has left.
func judgeAgain(dir string) error {
	raw, err := os.ReadFile(filepath.Join(dir, rememberedFile))
	if err != nil {
		return err
	}
	var kept remembered
	if err := json.Unmarshal(raw, &kept); err != nil {
		return err
	}
	evidence, err := evidenceIn(dir, &kept)
	if err != nil {
		return err
	}
	findings, err := report(evidence)
	if err != nil {
		return err
	}
	return findings.verdict(kept.Failure)
}

// findings are what both judges say.
type findings struct {
	*checker.Report
	// children is what the judge of the campaign of strangers says, who tells from requests alone
	// what is allowed, withheld and adopted, and believes no ledger and no record.
	children *strangers.Report
}

// encode returns each item of a list, with its kind.
func encode(list client.ObjectList) ([]json.RawMessage, error) {
	items, err := apimeta.ExtractList(list)
	if err != nil {
		return nil, err
	}
	kinds, _, err := scheme.ObjectKinds(list)
	if err != nil {
		return nil, err
	}
	kind := schema.GroupVersionKind{Group: kinds[0].Group, Version: kinds[0].Version, Kind: strings.TrimSuffix(kinds[0].Kind, "List")}
	var out []json.RawMessage
	for _, item := range items {
		item.GetObjectKind().SetGroupVersionKind(kind)
		raw, err := json.Marshal(item)
		if err != nil {
			return nil, err
		}
		out = append(out, raw)
	}
	return out, nil
}

// behind returns how many records do not say yet that their object is gone, and the state that
// all of them are in.
func (s *stage) behind(ctx context.Context) (int, string, error) {
	there := map[string]bool{}
	for _, list := range []client.ObjectList{&appsv1.DeploymentList{}, &appsv1.ReplicaSetList{}} {
		if err := s.admin.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return 0, "", err
		}
		if err := apimeta.EachListItem(list, func(item runtime.Object) error {
			accessor, err := apimeta.Accessor(item)
			if err == nil {
				there[string(accessor.GetUID())] = true
			}
			return err
		}); err != nil {
			return 0, "", err
		}
	}
	var all v1alpha1.AllowanceRecordList
	if err := s.admin.List(ctx, &all, client.InNamespace(namespace)); err != nil {
		return 0, "", err
	}
	count := 0
	var versions []string
	for i := range all.Items {
		versions = append(versions, all.Items[i].ResourceVersion)
		if !there[string(all.Items[i].Spec.TargetRef.UID)] && all.Items[i].Status.EndedAt == nil {
			count++
		}
	}
	return count, strings.Join(versions, " "), nil
}

// report judges, and prints what was found.
func report(evidence checker.Evidence) (*findings, error) {
	r, err := checker.Check(evidence)
	if err != nil {
		return nil, err
	}
	children, err := strangers.Check(strangers.Evidence{Log: evidence.Log, Operator: evidence.Operator})
	if err != nil {
		return nil, err
	}
	sayf("%d versions of ledgers, %d grants and %d records are looked at", r.Versions, r.Grants, r.Records)
	sayf("changes of children: %v; %d with a stranger's value, %d traces; known: %v; %d refusals of what the operator could not judge", children.Children, children.Contents, children.Entries, children.Known, children.Unjudged)
	counts := map[string]int{}
	for _, f := range r.Findings {
		kind := string(f.Promise)
		if f.Excused {
			kind += ", while nobody could be asked"
		}
		counts[kind]++
		if !f.Excused && counts[kind] <= shown {
			sayf("  FOUND %s", f)
		}
	}
	for _, f := range children.Findings {
		counts[string(f.Promise)]++
		if counts[string(f.Promise)] <= shown {
			sayf("  FOUND %s\n    %s", f, strings.Join(f.Story, "\n    "))
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		sayf("  %d times: %s", counts[kind], kind)
	}
	return &findings{Report: r, children: children}, nil
}

// verdict returns what was found that nothing excuses. Where policies fail closed, nothing goes on
// while nobody can be asked.
func (f *findings) verdict(failure v1alpha1.FailurePolicy) error {
	var errs []error
	if f.Versions == 0 || f.Grants == 0 || f.Records == 0 || len(f.children.Children) == 0 || f.children.Entries == 0 {
		errs = append(errs, errors.New("nothing was there to judge"))
	}
	if found := f.Unexcused(); len(found) > 0 {
		errs = append(errs, fmt.Errorf("%d promises are not kept; the first: %s", len(found), found[0]))
	}
	if found := f.children.Findings; len(found) > 0 {
		errs = append(errs, fmt.Errorf("%d promises about children are not kept; the first: %s", len(found), found[0]))
	}
	if failure == v1alpha1.FailurePolicyFail {
		for _, found := range f.Findings {
			if found.Excused {
				errs = append(errs, fmt.Errorf("nothing goes on while nobody can be asked, but: %s", found))
				break
			}
		}
		if n := f.children.Known[strangers.Unasked]; n > 0 {
			errs = append(errs, fmt.Errorf("nothing goes on while nobody can be asked, but %d changes of children did", n))
		}
	}
	return errors.Join(errs...)
}

// judge judges a campaign.
func (s *stage) judge(evidence checker.Evidence) error {
	f, err := report(evidence)
	if err != nil {
		return err
	}
	if *plant {
		return planted(f)
	}
	return errors.Join(s.crashed(), f.verdict(s.failure))
}

// crashed says which operator ended in a way that none may.
func (s *stage) crashed() error {
	for _, name := range s.operators.Names() {
		if err := controlplane.CrashIn(s.cp.Log(name)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
