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
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/generating/checker"
	"kausality.io/operator/test/campaign/generating/model"
	"kausality.io/operator/test/campaign/generating/plan"
	"kausality.io/operator/test/controlplane"
)

var (
	//go:embed definition.yaml
	definition []byte
	//go:embed rights.yaml
	rights []byte
)

const (
	// seedGroup is that of the kind in definition.yaml.
	seedGroup = "generating.example.org"
	// poll is how often something is looked at that takes a while.
	poll = 200 * time.Millisecond
	// patience is for how long; a right or a conflict is looked at again after 15 seconds, and what fails
	// after 20.
	patience = 90 * time.Second
)

// stage is a control plane with all that is in it, and what is known of it.
type stage struct {
	cp    *controlplane.ControlPlane
	admin client.Client
	// account acts as the policies' account, for faults that are planted.
	account client.Client
	model   *model.Model
	seed    uint64

	operator  *controlplane.Operator
	stretches []checker.Stretch
	// recent are the acts since the last rest.
	recent []string
	// done is how often what was done, and acted how often anything.
	done  map[plan.Do]int
	acted int
	// offset is up to where the audit log was looked at for writes, wrote when the last one was, and writes the last
	// ones that were seen together.
	offset int64
	wrote  time.Time
	writes controlplane.AuditEvents
	// rests is how many there were, and compared how many objects.
	rests, compared int
	// planted is when the fault was.
	planted time.Time
}

// set starts a control plane and the operator.
func set(ctx context.Context, seed uint64) (_ *stage, err error) {
	s := &stage{seed: seed, model: model.New(), done: map[plan.Do]int{}}
	opts := controlplane.Options{
		Nodes: -1, Components: []controlplane.Component{controlplane.Etcd, controlplane.APIServer, controlplane.ControllerManager},
		Progress: func(line string) { sayf("%s", line) },
	}
	if *keep != "" {
		opts.Dir = filepath.Join(*keep, fmt.Sprintf("seed-%d", seed))
		if err := os.MkdirAll(opts.Dir, 0o700); err != nil {
			return nil, err
		}
	}
	if s.cp, err = controlplane.Start(ctx, opts); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.cp.Stop())
		}
	}()
	if s.admin, err = as(s.cp.AdminConfig()); err != nil {
		return nil, err
	}
	if s.account, err = as(s.cp.ConfigAs(controlplane.GeneratorUser, "system:authenticated")); err != nil {
		return nil, err
	}
	if err := s.furnish(ctx); err != nil {
		return nil, fmt.Errorf("making what policies need: %w", err)
	}
	program := *binary
	if program == "" {
		program = filepath.Join(*root, "bin", "manager")
	}
	s.operator, err = controlplane.InstallOperator(ctx, s.cp, controlplane.OperatorOptions{Binary: program, Overlay: filepath.Join(*root, "config", "dev")})
	if err != nil {
		return nil, err
	}
	for _, kind := range kinds {
		if err := s.untilAllowed(ctx, kind, true); err != nil {
			return nil, err
		}
	}
	s.stretches = []checker.Stretch{{From: time.Now()}}
	return s, nil
}

// as returns the client of somebody; what the API server warns of is not told.
func as(config *rest.Config) (client.Client, error) {
	config.WarningHandler = rest.NoWarnings{}
	config.QPS = -1 // Its limiter says something else than that a deadline has passed.
	return client.New(config, client.Options{Scheme: controlplane.NewScheme()})
}

// furnish makes the custom kind, rights and namespaces.
func (s *stage) furnish(ctx context.Context) error {
	for _, text := range append(bytes.Split(rights, []byte("\n---\n")), definition) {
		raw, err := yaml.YAMLToJSON(text)
		if err != nil {
			return err
		}
		object := &unstructured.Unstructured{}
		if err := json.Unmarshal(raw, object); err != nil {
			return err
		}
		if err := s.admin.Create(ctx, object); err != nil {
			return err
		}
	}
	for _, kind := range kinds {
		if err := s.admin.Create(ctx, roleToWrite(kind)); err != nil {
			return err
		}
	}
	for _, name := range []string{model.Targets, model.Sources} {
		if err := s.admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return err
		}
	}
	return wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		return s.admin.List(ctx, listOf(model.Seed)) == nil, nil
	})
}

// kinds lists the kinds of which policies make objects.
var kinds = []string{model.ConfigMap, model.Seed}

// groupOf and resourceOf are what the API server calls a kind.
var (
	groupOf    = map[string]string{model.Seed: seedGroup}
	resourceOf = map[string]string{model.ConfigMap: "configmaps", model.Seed: "seeds"}
	// dataOf is the field with the content.
	dataOf = map[string]string{model.ConfigMap: "data", model.Seed: "spec"}
)

func apiVersionOf(kind string) string {
	if groupOf[kind] == "" {
		return "v1"
	}
	return groupOf[kind] + "/v1"
}

func listOf(kind string) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(apiVersionOf(kind))
	list.SetKind(kind + "List")
	return list
}

func objectOf(id model.ID) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetAPIVersion(apiVersionOf(id.Kind))
	object.SetKind(id.Kind)
	object.SetNamespace(id.Namespace)
	object.SetName(id.Name)
	return object
}

// roleToWrite lets the account write a kind.
func roleToWrite(kind string) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "campaign-writes-" + resourceOf[kind], Labels: map[string]string{"rbac.kausality.io/aggregate-to-generator": "true"}},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{groupOf[kind]}, Resources: []string{resourceOf[kind]}, Verbs: []string{"create", "patch", "delete"}}},
	}
}

// untilAllowed waits until the API server knows that the account may write a kind, or may not.
func (s *stage) untilAllowed(ctx context.Context, kind string, allowed bool) error {
	return wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		for _, verb := range []string{"create", "patch", "delete"} {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User: controlplane.GeneratorUser, Groups: []string{"system:serviceaccounts", "system:authenticated"},
				ResourceAttributes: &authorizationv1.ResourceAttributes{Group: groupOf[kind], Resource: resourceOf[kind], Verb: verb, Namespace: model.Targets},
			}}
			if err := s.admin.Create(ctx, review); err != nil || review.Status.Allowed != allowed {
				return false, client.IgnoreNotFound(err)
			}
		}
		return true, nil
	})
}

// now returns the stretch that has begun.
func (s *stage) now() *checker.Stretch { return &s.stretches[len(s.stretches)-1] }

// judge has all that was written judged.
func (s *stage) judge() (checker.Report, error) {
	file, err := os.Open(s.cp.AuditLog())
	if err != nil {
		return checker.Report{}, err
	}
	defer file.Close() //nolint:errcheck // Only read from.
	log, err := audit.Read(file, checker.Kinds)
	if err != nil {
		return checker.Report{}, err
	}
	for i := range s.stretches {
		if s.stretches[i].Rest.IsZero() { // It did not come to its end.
			s.stretches[i].Rest = time.Now()
			s.stretches[i].To = time.Now()
		}
	}
	return checker.Check(log, controlplane.GeneratorUser, s.stretches), nil
}

// tally says what was done.
func (s *stage) tally() string {
	out := []string{fmt.Sprintf("%d rests, %d objects compared", s.rests, s.compared)}
	for _, do := range slices.Sorted(maps.Keys(s.done)) {
		out = append(out, fmt.Sprintf("%d× %s", s.done[do], do))
	}
	return strings.Join(out, ", ")
}
