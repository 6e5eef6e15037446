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
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/campaign/faults/checker"
	"kausality.io/operator/test/campaign/faults/plan"
	"kausality.io/operator/test/campaign/operators"
	"kausality.io/operator/test/controlplane"
)

const (
	namespace = "campaign"
	// initiators are the group of those who may initiate under the sample policies.
	initiators = "platform-team"
	// poll is how often something is looked at that takes a while.
	poll = 500 * time.Millisecond
)

// stage is the control plane with all that is in it.
type stage struct {
	cp       *controlplane.ControlPlane
	admin    client.Client
	people   map[plan.Who]client.Client
	failure  v1alpha1.FailurePolicy
	policies []*v1alpha1.AllowancePolicy
	// unasked is true once changes may have been made that the operator was not asked about,
	// and work went on or policies came back.
	unasked atomic.Bool
	// whole is when it was last seen that nothing had ended by itself. One goroutine breaks
	// and revives.
	whole time.Time

	operators *operators.Group

	mu sync.Mutex
	// killed is when an operator was down.
	killed []checker.Interval
	// nudged is how often somebody had to look after a Deployment.
	nudged int
}

var scheme = controlplane.NewScheme()

// set starts a control plane and one operator, with proxies on both sides of it.
func set(ctx context.Context, failure v1alpha1.FailurePolicy) (_ *stage, err error) {
	s := &stage{people: map[plan.Who]client.Client{}, failure: failure, whole: time.Now()}
	s.unasked.Store(failure == v1alpha1.FailurePolicyIgnore)
	opts := controlplane.Options{
		Progress:            func(line string) { sayf("%s", line) },
		ExtraAPIServerFlags: []string{operators.CompactionFlag},
	}
	if *keep != "" {
		opts.Dir = filepath.Join(*keep, strings.ToLower(string(failure)))
		if err := os.MkdirAll(opts.Dir, 0o700); err != nil {
			return nil, err
		}
	}
	if s.cp, err = controlplane.Start(ctx, opts); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.admin, err = s.as(s.cp.AdminConfig()); err != nil {
		return nil, err
	}
	s.operators, err = operators.New(ctx, s.cp, operators.Options{Binary: *binary, Overlay: filepath.Join(*root, "config", "dev")})
	if err != nil {
		return nil, err
	}
	if err := s.operators.Start(ctx); err != nil {
		return nil, err
	}
	if err := s.invite(ctx); err != nil {
		return nil, err
	}
	if err := s.applyPolicies(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// as returns the client of somebody; what the API server warns of is not told.
func (s *stage) as(config *rest.Config) (client.Client, error) {
	config.WarningHandler = rest.NoWarnings{}
	return client.New(config, client.Options{Scheme: scheme})
}

func (s *stage) close() error {
	var errs []error
	if s.operators != nil {
		errs = append(errs, s.operators.Close())
	}
	return errors.Join(append(errs, s.cp.Stop())...)
}

// invite makes the people, with all rights: what refuses them is not RBAC.
func (s *stage) invite(ctx context.Context) error {
	role := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
	}
	for who, groups := range map[plan.Who][]string{plan.Alice: {initiators}, plan.Carol: {initiators}, plan.Mallory: nil} {
		role.Subjects = append(role.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: string(who)})
		c, err := s.as(s.cp.ConfigAs(string(who), groups...))
		if err != nil {
			return err
		}
		s.people[who] = c
	}
	if err := s.admin.Create(ctx, role); err != nil {
		return err
	}
	if err := s.admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, poll, time.Minute, true, func(ctx context.Context) (bool, error) {
		err := s.admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "default"}, &corev1.ServiceAccount{})
		return err == nil, client.IgnoreNotFound(err)
	})
}

// readPolicies reads the sample policies, which real Deployments roll under.
func readPolicies(failure v1alpha1.FailurePolicy) ([]*v1alpha1.AllowancePolicy, error) {
	policies, err := builders.SamplePolicies(*root)
	for _, p := range policies {
		p.Spec.FailurePolicy = failure
	}
	return policies, err
}

// applyPolicies creates the policies and waits until they are enforced.
func (s *stage) applyPolicies(ctx context.Context) error {
	var err error
	if s.policies, err = readPolicies(s.failure); err != nil {
		return err
	}
	for _, p := range s.policies {
		err := insist(ctx, func(ctx context.Context) error {
			if err := s.admin.Create(ctx, p.DeepCopy()); !apierrors.IsAlreadyExists(err) {
				return err
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return s.untilEnforced(ctx)
}

func (s *stage) untilEnforced(ctx context.Context) error {
	return insist(ctx, func(ctx context.Context) error {
		for _, p := range s.policies {
			live := &v1alpha1.AllowancePolicy{}
			if err := s.admin.Get(ctx, client.ObjectKeyFromObject(p), live); err != nil {
				return err
			}
			enforced := apimeta.FindStatusCondition(live.Status.Conditions, v1alpha1.ConditionEnforced)
			if enforced == nil || enforced.Status != metav1.ConditionTrue || enforced.ObservedGeneration != live.Generation {
				return fmt.Errorf("AllowancePolicy %s is not enforced", p.Name)
			}
		}
		return nil
	})
}

// insisting is for how long somebody tries what may fail while things are broken.
const insisting = 2 * time.Minute

// insist tries something until it works.
func insist(ctx context.Context, try func(context.Context) error) error {
	last := errors.New("never tried")
	err := wait.PollUntilContextTimeout(ctx, poll, insisting, true, func(ctx context.Context) (bool, error) {
		err := try(ctx)
		if err != nil && ctx.Err() == nil {
			last = err
		}
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%w: %w", err, last)
	}
	return nil
}
