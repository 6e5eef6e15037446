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
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/campaign/cloud/checker"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/crossplane"
	"kausality.io/operator/test/crossplane/provider/apis/cluster"
	"kausality.io/operator/test/crossplane/provider/apis/namespaced"
)

// rest returns when nothing is left to be done, or patience is at its end: what is left
// then is for the checker to find.
func (c *campaign) rest(ctx context.Context) {
	if err := until(ctx, *patience, "at the end", c.resting); err != nil {
		tell(err.Error())
	}
}

// resting tells what is left to be done.
func (c *campaign) resting(ctx context.Context) error {
	var records v1alpha1.AllowanceRecordList
	if err := c.seen.List(ctx, &records); err != nil {
		return err
	}
	active := map[string]bool{}
	for _, r := range records.Items {
		if len(r.Status.Active) > 0 {
			active[string(r.Spec.TargetRef.UID)] = true
		}
	}
	for _, gvk := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err := c.seen.List(ctx, list); err != nil {
			return err
		}
		for _, object := range list.Items {
			if active[string(object.GetUID())] {
				return fmt.Errorf("%s %s has active allowances", object.GetKind(), object.GetName())
			}
		}
	}
	return nil
}

// judge compares the logs of an API server and of a cloud, and says what it finds.
func judge(audit, calls string, outages []checker.Span) error {
	evidence, err := read(audit, calls)
	if err != nil {
		return err
	}
	evidence.Outages = outages
	verdict := checker.Check(evidence)
	report(verdict)
	for _, finding := range verdict.Findings {
		tell(finding.String())
	}
	if n := verdict.Counts; n.Mutations == 0 || n.Versions == 0 || n.Writes == 0 || n.Changes == 0 {
		return errors.New("nothing was there to judge")
	}
	if found := len(verdict.Findings); found > 0 {
		return fmt.Errorf("the checker has %d findings", found)
	}
	return nil
}

// judgeAgain judges by the logs that an earlier campaign has kept in a folder.
func judgeAgain(dir string) error {
	return judge(filepath.Join(dir, "audit.log"), filepath.Join(dir, "cloud-calls.log"), nil)
}

func read(audit, calls string) (checker.Evidence, error) {
	e := checker.Evidence{Patience: *patience, Users: checker.Users{
		Crossplane: userOf(crossplane.ServiceAccount), Provider: userOf(crossplane.ProviderName), Operator: controlplane.OperatorUser,
	}}
	requests, err := os.Open(audit)
	if err != nil {
		return e, err
	}
	defer requests.Close() //nolint:errcheck // Only read from.
	e.Requests, err = checker.ReadRequests(requests, crossplane.DatabaseGroup, cluster.GroupVersion.Group,
		namespaced.GroupVersion.Group, v1alpha1.GroupVersion.Group)
	if err != nil {
		return e, err
	}
	log, err := os.Open(calls)
	if err != nil {
		return e, err
	}
	defer log.Close() //nolint:errcheck // Only read from.
	if e.Calls, err = checker.ReadCalls(log); err != nil {
		return e, err
	}
	e.Policies, err = checker.ReadPolicies(policies)
	return e, err
}

// userOf returns the user name of a service account beside Crossplane.
func userOf(account string) string {
	return "system:serviceaccount:" + crossplane.Namespace + ":" + account
}

// report says how much there was, and how long gates were open for nothing.
func report(v checker.Verdict) {
	n := v.Counts
	tell(fmt.Sprintf("the cloud was asked for %d changes, %d of them by a provider whose gate had just closed; there were %d versions of managed resources",
		n.Mutations, n.InFlight, n.Versions))
	tell(fmt.Sprintf("%d writes changed, made or ended what databases consist of; %d of them carried out what had been taken back or overruled a moment ago, and so was the cloud %d times, which is not stopped",
		n.Writes, n.TakenBack, n.CarriedOut))
	tell(fmt.Sprintf("initiators made %d changes: %d arrived, %d were superseded before; strangers made %d requests",
		n.Changes, n.Arrived, n.Superseded, n.Strange))
	tell(fmt.Sprintf("%d databases went with what they were in the cloud, %d without; Crossplane found %d to change too often",
		n.Deleted, n.Preserved, n.Unresponsive))
	all := map[string][]time.Duration{}
	idle, early := 0, 0
	for _, o := range v.Openings {
		switch {
		case o.Work.IsZero():
			idle++
		case o.Work.After(o.To):
			early++
		case o.Outage:
			all["while somebody was away"] = append(all["while somebody was away"], o.Beyond())
		default:
			traits := strings.ReplaceAll(o.Traits, ",", "+")
			if traits == "" {
				traits = "waits for the cloud"
			}
			all[traits] = append(all[traits], o.Beyond())
			all["all"] = append(all["all"], o.Beyond())
		}
	}
	tell(fmt.Sprintf("gates opened %d times, %d times for nothing, and %d times they closed while the cloud was at work", len(v.Openings), idle, early))
	tell(fmt.Sprintf("%-30s %6s %8s %8s %8s", "open beyond the work", "times", "p50", "p95", "max"))
	for _, traits := range slices.Sorted(maps.Keys(all)) {
		times := all[traits]
		tell(fmt.Sprintf("%-30s %6d %8s %8s %8s", traits, len(times),
			seconds(checker.Percentile(times, 50)), seconds(checker.Percentile(times, 95)), seconds(checker.Percentile(times, 100))))
	}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2fs", d.Seconds()) }
