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
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/bench/usage"
	"kausality.io/operator/test/controlplane"
)

const (
	// teamLabel and team are on the namespaces that the policy is for.
	teamLabel, team = "bench.example.org/team", "bench"
	// sourceNamespace has the Secret that is cloned. All objects have the same name.
	sourceNamespace, objectName = "bench-source", "bench"
	// sourceKey is the key of the Secret that changes.
	sourceKey = "value"
	// poll is the time between two looks at what takes long; each takes processor time from what is measured.
	poll = time.Second
	// idle is what share of a processor those use who have nothing left to do.
	idle = 0.1
)

// files returns the path of a file of this command.
func files(name string) string { return filepath.Join(*root, "test", "bench", "kyverno", name) }

// stage is a control plane with namespaces, and somebody who carries out policies.
type stage struct {
	world
	cp    *controlplane.ControlPlane
	admin client.Client
	// offset is up to where the audit log was read.
	offset int64
}

// set makes the namespaces before it installs anybody: what their creation costs is not measured.
func (w world) set(ctx context.Context) (_ *stage, err error) {
	auditPolicy, err := filepath.Abs(files("audit-policy.yaml"))
	if err != nil {
		return nil, err
	}
	opts := controlplane.Options{
		Components:          []controlplane.Component{controlplane.Etcd, controlplane.APIServer, controlplane.ControllerManager},
		Nodes:               -1,
		ExtraAPIServerFlags: []string{"--audit-policy-file=" + auditPolicy},
		// It makes a service account and a ConfigMap in each namespace.
		ExtraControllerManagerFlags: []string{"--kube-api-qps=1000", "--kube-api-burst=2000"},
		Progress:                    w.sayf,
	}
	if *keep != "" {
		opts.Dir = filepath.Join(*keep, w.name)
		if err := os.MkdirAll(opts.Dir, 0o700); err != nil {
			return nil, err
		}
	}
	s := &stage{world: w}
	if s.cp, err = controlplane.Start(ctx, opts); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.cp.Stop())
		}
	}()
	config := s.cp.AdminConfig()
	config.QPS = -1
	if s.admin, err = client.New(config, client.Options{Scheme: controlplane.NewScheme()}); err != nil {
		return nil, err
	}
	w.sayf("making the namespaces")
	if err := s.furnish(ctx); err != nil {
		return nil, fmt.Errorf("making the namespaces: %w", err)
	}
	w.sayf("starting what is measured")
	if err := w.install(ctx, s.cp); err != nil {
		return nil, err
	}
	if err := s.untilCalm(ctx, newWitness(w.users)); err != nil {
		return nil, err
	}
	return s, nil
}

// sayf says what is being done.
func (w world) sayf(line string) { fmt.Fprintf(os.Stderr, "%s: %s\n", w.name, line) }

// furnish makes the roles, the source and the namespaces, and waits until the controller manager has
// made what each namespace has.
func (s *stage) furnish(ctx context.Context) error {
	rights, err := os.ReadFile(files("rights.yaml"))
	if err != nil {
		return err
	}
	objects, err := controlplane.Decode(rights)
	if err != nil {
		return err
	}
	if err := s.cp.Apply(ctx, objects); err != nil {
		return err
	}
	if err := s.admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: sourceNamespace}}); err != nil {
		return err
	}
	err = s.admin.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: sourceNamespace, Name: objectName}, StringData: map[string]string{sourceKey: "first"},
	})
	if err != nil {
		return err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(*writers)
	for i := range *namespaces {
		group.Go(func() error {
			return s.admin.Create(groupCtx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("bench-%05d", i), Labels: map[string]string{teamLabel: team},
			}})
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for kind, name := range map[string]string{"ServiceAccount": "default", "ConfigMap": "kube-root-ca.crt"} {
		err := wait.PollUntilContextTimeout(ctx, poll, *patience, true, func(ctx context.Context) (bool, error) {
			n, err := s.count(ctx, schema.GroupVersionKind{Version: "v1", Kind: kind}, name)
			return n >= *namespaces, err
		})
		if err != nil {
			return fmt.Errorf("waiting for each namespace to have %s %s: %w", kind, name, err)
		}
	}
	return nil
}

// count returns how many objects of a kind have a name.
func (s *stage) count(ctx context.Context, kind schema.GroupVersionKind, name string) (int, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind)
	err := s.admin.List(ctx, list, client.MatchingFields{"metadata.name": name})
	return len(list.Items), err
}

// apply creates the policy, and returns when it began to.
func (s *stage) apply(ctx context.Context) (began time.Time, err error) {
	text, err := s.policy(ctx, files("policy.yaml"))
	if err != nil {
		return began, fmt.Errorf("reading the policy: %w", err)
	}
	objects, err := controlplane.Decode(text)
	if err != nil {
		return began, err
	}
	if len(objects) != 1 {
		return began, fmt.Errorf("the policy is %d objects, expected 1", len(objects))
	}
	err = wait.PollUntilContextTimeout(ctx, poll, time.Minute, true, func(ctx context.Context) (bool, error) {
		began = time.Now()
		err := s.admin.Create(ctx, objects[0].DeepCopy())
		// The API server hears of the certificate of a webhook by a watch.
		if apierrors.IsInternalError(err) {
			return false, nil
		}
		return err == nil, err
	})
	return began, err
}

// changeSource changes the source for the i-th time, and returns when it began to.
func (s *stage) changeSource(ctx context.Context, i int) (began time.Time, err error) {
	began = time.Now()
	source := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: sourceNamespace, Name: objectName}}
	return began, s.admin.Patch(ctx, source, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"stringData":{%q:"change %d"}}`, sourceKey, i)))
}

// secrets returns the source and its clones.
func (s *stage) secrets(ctx context.Context) (source *unstructured.Unstructured, clones []unstructured.Unstructured, err error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	if err := s.admin.List(ctx, list, client.MatchingFields{"metadata.name": objectName}); err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(list.Items, func(secret unstructured.Unstructured) bool { return secret.GetNamespace() == sourceNamespace })
	if i < 0 {
		return nil, nil, fmt.Errorf("there is no Secret %s/%s", sourceNamespace, objectName)
	}
	source = list.Items[i].DeepCopy()
	return source, slices.Delete(list.Items, i, i+1), nil
}

// stale counts the clones that do not have what the source has.
func (s *stage) stale(ctx context.Context) (int, error) {
	source, clones, err := s.secrets(ctx)
	if err != nil {
		return 0, err
	}
	wanted, _, err := unstructured.NestedString(source.Object, "data", sourceKey)
	if err != nil {
		return 0, err
	}
	stale := *namespaces
	for i := range clones {
		value, _, err := unstructured.NestedString(clones[i].Object, "data", sourceKey)
		if err != nil {
			return 0, err
		}
		if value == wanted {
			stale--
		}
	}
	return stale, nil
}

// read has a witness see what was asked for since the last time.
func (s *stage) read(w *witness) error {
	events, offset, err := controlplane.ReadAuditFrom(s.cp.AuditLog(), s.offset, w.wants)
	s.offset = offset
	w.see(events)
	return err
}

// untilCalm waits until nobody asks for anything any more, or works.
func (s *stage) untilCalm(ctx context.Context, w *witness) error {
	since, seen, worked := time.Now(), -1, -1.0
	err := wait.PollUntilContextTimeout(ctx, poll, *patience, true, func(context.Context) (bool, error) {
		if err := s.read(w); err != nil {
			return false, err
		}
		now, err := usage.Busy(s.cp, s.processes...)
		if err != nil {
			return false, err
		}
		if w.total != seen || now-worked > idle*poll.Seconds() {
			since = time.Now()
		}
		seen, worked = w.total, now
		return time.Since(since) > *quiet, nil
	})
	if err != nil {
		return fmt.Errorf("waiting until nothing is left to do: %w", err)
	}
	return nil
}
