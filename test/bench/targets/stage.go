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
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/controlplane"
)

const namespace = "bench"

// stage is a control plane with the objects, and an operator that knows no policy.
type stage struct {
	cp    *controlplane.ControlPlane
	admin client.Client
}

func set(ctx context.Context) (_ *stage, err error) {
	s := &stage{}
	s.cp, err = controlplane.Start(ctx, controlplane.Options{
		Components: controlplane.StorageOnly(), Nodes: -1, Progress: func(line string) { fmt.Fprintln(os.Stderr, line) },
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.cp.Stop())
		}
	}()
	if s.admin, err = client.New(s.cp.AdminConfig(), client.Options{Scheme: controlplane.NewScheme()}); err != nil {
		return nil, err
	}
	if err := s.fill(ctx); err != nil {
		return nil, fmt.Errorf("making the objects: %w", err)
	}
	_, err = controlplane.InstallOperator(ctx, s.cp, controlplane.OperatorOptions{
		Binary: filepath.Join(*root, *binary), Overlay: filepath.Join(*root, "config", "dev"),
		ExtraFlags: []string{fmt.Sprintf("--target-status-rate=%g", *perSec)},
	})
	return s, err
}

// fill makes the objects.
func (s *stage) fill(ctx context.Context) error {
	if err := s.admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(*writers)
	for i := range *count {
		group.Go(func() error {
			return s.admin.Create(ctx, &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("target-%06d", i)},
				Data:       map[string]string{"replicas": "1"},
			})
		})
	}
	return group.Wait()
}

// allowancePolicy is for all objects. It says something about children, as else nothing
// shows it.
func (a age) allowancePolicy() *v1alpha1.AllowancePolicy {
	return &v1alpha1.AllowancePolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "bench"},
		Spec: v1alpha1.AllowancePolicySpec{
			For:               v1alpha1.ParentKind{APIVersion: "v1", Kind: "ConfigMap"},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
			Subjects: []v1alpha1.PolicySubject{
				{Subject: v1alpha1.Subject{Kind: v1alpha1.SubjectUser, Name: "alice"}, MayInitiate: true},
			},
			Consumption:  &v1alpha1.Consumption{TTL: &metav1.Duration{Duration: a.ttl}},
			TargetStatus: v1alpha1.TargetStatusShow,
			Rules: []v1alpha1.Rule{{Trigger: "data", Policies: []v1alpha1.PolicyEntry{{
				Target:   v1alpha1.Target{APIGroup: new(string), APIVersion: "v1", Resource: "secrets"},
				Relation: v1alpha1.RelationControllerChild,
				Verbs:    []string{"Create", "Update", "Delete"},
			}}}},
		},
	}
}

// unmarked counts the objects that do not show the policy.
func (s *stage) unmarked(ctx context.Context, policy string) (int, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	if err := s.admin.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return 0, err
	}
	unmarked := *count
	for i := range list.Items {
		if list.Items[i].Annotations[v1alpha1.ConditionAffected] == policy {
			unmarked--
		}
	}
	return unmarked, nil
}

// untilOld returns when no object is newer than an allowance lasts, of which
// measurements of new ones do not have to take care.
func (a age) untilOld(ctx context.Context) error {
	if a.ttl > time.Minute {
		return nil
	}
	select {
	case <-time.After(a.ttl + time.Second): // Creation times are in whole seconds.
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
