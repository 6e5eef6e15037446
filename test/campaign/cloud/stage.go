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
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/campaign/operators"
	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/crossplane"
	"kausality.io/operator/test/crossplane/cloud"
	"kausality.io/operator/test/crossplane/provider/apis/cluster"
	"kausality.io/operator/test/crossplane/provider/apis/namespaced"
)

//go:embed policies.yaml
var policies []byte

// namespace is where all databases are.
const namespace = "campaign"

// The people.
const (
	initiator = "alice"
	stranger  = "mallory"
)

const (
	// poll is how often the provider looks at what the cloud has.
	poll = 10 * time.Second
	// settleTime is how long a gate stays open where the provider does not show what it
	// has done. It is longer than anything takes here, and shorter than by default, for
	// there is a lot to do.
	settleTime = 5 * time.Second
	// setTimeout bounds what is waited for before anything happens.
	setTimeout = 2 * time.Minute
)

// stage is a cluster with Crossplane, the operator, and a cloud.
type stage struct {
	cp        *controlplane.ControlPlane
	operators *operators.Group
	cloud     cloud.Client
	// admin, alice and mallory may do all that RBAC knows of.
	admin, alice, mallory client.Client
	// seen is what is there, for those who look often.
	seen cache.Cache
}

// set starts everything. Logs are in the folder, if one is named.
func set(ctx context.Context, dir string) (_ *stage, err error) {
	s := &stage{}
	s.cp, err = controlplane.Start(ctx, controlplane.Options{
		Dir: dir, Progress: tell, ExtraAPIServerFlags: []string{operators.CompactionFlag},
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if err := crossplane.Start(ctx, s.cp, crossplane.Options{Poll: poll, Progress: tell}); err != nil {
		return nil, err
	}
	s.cloud = cloud.Client{URL: crossplane.CloudURL(s.cp)}
	s.operators, err = operators.New(ctx, s.cp, operators.Options{
		Binary: *binary, Overlay: filepath.Join(*root, "config", "dev"),
		ExtraFlags: []string{"--gate-settle-time=" + settleTime.String()},
	})
	if err != nil {
		return nil, err
	}
	if err := s.operators.Start(ctx); err != nil {
		return nil, err
	}
	if err := s.employ(); err != nil {
		return nil, err
	}
	if err := s.admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return nil, err
	}
	if err := s.watch(ctx); err != nil {
		return nil, err
	}
	err = s.govern(ctx)
	return s, err
}

// close ends everything.
func (s *stage) close() error {
	var err error
	if s.operators != nil {
		err = s.operators.Close()
	}
	return errors.Join(err, s.cp.Stop())
}

func tell(line string) { _, _ = fmt.Fprintln(os.Stderr, line) }

// scheme has the kinds that are read as Go types.
var scheme = controlplane.NewScheme()

// employ makes the clients of the people.
func (s *stage) employ() error {
	for who, config := range map[*client.Client]*rest.Config{
		&s.admin:   s.cp.AdminConfig(),
		&s.alice:   s.cp.ConfigAs(initiator, "platform-team", "system:masters"),
		&s.mallory: s.cp.ConfigAs(stranger, "system:masters"),
	} {
		config.WarningHandler = rest.NoWarnings{}
		made, err := client.New(config, client.Options{Scheme: scheme})
		if err != nil {
			return err
		}
		*who = made
	}
	return nil
}

// watch has what is there be seen until the context ends, without a request to the API
// server each time that somebody looks.
func (s *stage) watch(ctx context.Context) error {
	var err error
	if s.seen, err = cache.New(s.cp.AdminConfig(), cache.Options{Scheme: scheme}); err != nil {
		return err
	}
	if _, err := s.seen.GetInformer(ctx, &v1alpha1.AllowanceRecord{}, cache.BlockUntilSynced(false)); err != nil {
		return err
	}
	for _, gvk := range kinds {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(gvk)
		if _, err := s.seen.GetInformer(ctx, object, cache.BlockUntilSynced(false)); err != nil {
			return err
		}
	}
	go func() {
		if err := s.seen.Start(ctx); err != nil {
			tell(fmt.Sprintf("watching: %v", err))
		}
	}()
	if !s.seen.WaitForCacheSync(ctx) {
		return errors.New("nobody can see what is there")
	}
	return nil
}

// kinds are those of databases, and of what they consist of.
var kinds = []schema.GroupVersionKind{
	{Group: crossplane.DatabaseGroup, Version: "v1alpha1", Kind: "DatabaseClaim"},
	{Group: crossplane.DatabaseGroup, Version: "v1alpha1", Kind: "XDatabase"},
	{Group: crossplane.DatabaseGroup, Version: "v1alpha1", Kind: "Database"},
	cluster.GroupVersion.WithKind("RDSInstance"),
	namespaced.GroupVersion.WithKind("RDSInstance"),
}

// steady tells why something may be done to an object that only its creation allows; nil
// once nothing may.
func (s *stage) steady(ctx context.Context, object *unstructured.Unstructured) error {
	var records v1alpha1.AllowanceRecordList
	err := s.seen.List(ctx, &records, client.MatchingLabels{recordedLabel: string(object.GetUID())})
	if err != nil {
		return err
	}
	for _, r := range records.Items {
		if r.Status.Phase == v1alpha1.PhaseSteady {
			return nil
		}
	}
	return fmt.Errorf("%s %s is not steady", object.GetKind(), object.GetName())
}

// recordedLabel names the object of a record, by its UID.
const recordedLabel = v1alpha1.AnnotationPrefix + "target-uid"

// govern applies the policies, and returns when they are in effect.
func (s *stage) govern(ctx context.Context) error {
	objects, err := controlplane.Decode(policies)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := s.admin.Create(ctx, object); err != nil {
			return fmt.Errorf("applying policy %s: %w", object.GetName(), err)
		}
	}
	return until(ctx, setTimeout, "the policies", func(ctx context.Context) error {
		var list v1alpha1.AllowancePolicyList
		if err := s.admin.List(ctx, &list); err != nil {
			return err
		}
		for _, p := range list.Items {
			if !apimeta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionEnforced) {
				return errors.New("policy " + p.Name + " is not enforced")
			}
		}
		return nil
	})
}

// folder returns where the logs of a seed are kept; "" for nowhere.
func folder(seed uint64) string {
	if *keep == "" {
		return ""
	}
	return filepath.Join(*keep, "seed-"+strconv.FormatUint(seed, 10))
}
