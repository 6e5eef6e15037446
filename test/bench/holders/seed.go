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
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/record"
)

const (
	holdersPath = "/apis/" + group + "/v1/namespaces/" + namespace + "/holders"
	recordsPath = "/apis/kausality.io/v1alpha1/namespaces/" + namespace + "/allowancerecords"
)

// pair is a holder and its record.
type pair struct {
	holder, record *unstructured.Unstructured
}

func name(i int) string { return fmt.Sprintf("holder-%06d", i) }

// holder returns a holder as an initiator would make it, with a spec of about size KiB.
func holder(i int) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group + "/v1", "kind": "Holder",
		"metadata": map[string]any{
			"namespace": namespace, "name": name(i),
			"labels": map[string]any{"app.kubernetes.io/name": "bench", "app.kubernetes.io/instance": name(i)},
		},
	}}
	fill(obj, i)
	return obj
}

// fill gives a holder the spec of the i-th.
func fill(obj *unstructured.Unstructured, i int) {
	const perItem = 64
	var items []any
	for j := range *size * 1024 / perItem {
		value := rand.Text()
		if *alike {
			value = fmt.Sprintf("value %d of %s", j, name(i))
		}
		items = append(items, map[string]any{"name": fmt.Sprintf("item-%06d", j), "value": value})
	}
	obj.Object["spec"] = map[string]any{"replicas": int64(1), "image": fmt.Sprintf("registry.example.org/app:v%d", i%100), "items": items}
}

// rawConfig is for a client that decodes nothing.
func rawConfig(cfg *rest.Config) *rest.Config {
	cfg.ContentType = runtime.ContentTypeJSON
	cfg.NegotiatedSerializer = dynamic.ConfigFor(cfg).NegotiatedSerializer
	return cfg
}

// readFirst reads the first holder and its record.
func (s *stage) readFirst(ctx context.Context, uid types.UID) (pair, error) {
	var p pair
	ref := v1alpha1.TargetReference{Kind: "Holder", Name: name(0), UID: uid}
	for path, into := range map[string]**unstructured.Unstructured{
		holdersPath + "/" + name(0):          &p.holder,
		recordsPath + "/" + record.Name(ref): &p.record,
	} {
		raw, err := s.raw.Get().AbsPath(path).DoRaw(ctx)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return p, err
		}
		*into = &unstructured.Unstructured{}
		if err := (*into).UnmarshalJSON(raw); err != nil {
			return p, err
		}
	}
	return p, nil
}

func (p pair) versions() string {
	return p.holder.GetResourceVersion() + "/" + p.record.GetResourceVersion()
}

// complete reports whether the holder has a ledger of one entry, which its record
// mirrors, and shows which policy is in effect for it.
func (p pair) complete() bool {
	_, err := allowance(p.holder)
	active, _, _ := unstructured.NestedSlice(p.record.Object, "status", "active")
	_, shows := p.holder.GetAnnotations()[v1alpha1.ConditionAffected]
	return err == nil && len(active) == 1 && shows
}

// seed makes holders until there are n, or its patience is at an end.
func (s *stage) seed(ctx context.Context, n int) error {
	began := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	var next, made atomic.Int64
	next.Store(int64(s.made))
	for range *writers {
		group.Go(func() error {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n || time.Since(began) > *patience {
					return nil
				}
				if err := s.copy(ctx, i); err != nil {
					return err
				}
				made.Add(1)
			}
			return ctx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	s.made += int(made.Load())
	return nil
}

// copy makes the i-th holder and its record after the first.
func (s *stage) copy(ctx context.Context, i int) error {
	obj := s.first.holder.DeepCopy()
	if !*alike {
		fill(obj, i)
	}
	text, err := asNew(obj)
	if err != nil {
		return err
	}
	text = strings.ReplaceAll(text, name(0), name(i))
	stored, err := post(ctx, s.operator, holdersPath, text)
	if err != nil {
		return err
	}
	was, err := allowance(s.first.holder)
	if err != nil {
		return err
	}
	is, err := allowance(stored)
	if err != nil {
		return err
	}
	if text, err = asNew(s.first.record); err != nil {
		return err
	}
	ref := v1alpha1.TargetReference{Kind: "Holder", Name: name(i), UID: stored.GetUID()}
	stored, err = post(ctx, s.operator, recordsPath, strings.NewReplacer(
		s.first.record.GetName(), record.Name(ref), string(s.first.holder.GetUID()), string(ref.UID), was, is, name(0), name(i),
	).Replace(text))
	if err != nil {
		return err
	}
	if stored.Object["status"] == nil {
		return fmt.Errorf("%s was stored without its status", stored.GetName())
	}
	return nil
}

// allowance returns the id of the one entry in the ledger of a holder, by which records name
// it.
func allowance(obj *unstructured.Unstructured) (string, error) {
	entries, err := ledger.Decode(obj.GetAnnotations()[v1alpha1.AnnotationPrefix+"allowances"])
	if err != nil {
		return "", err
	}
	if len(entries) != 1 {
		return "", fmt.Errorf("%s has a ledger of %d entries instead of one", obj.GetName(), len(entries))
	}
	return entries[0].ID(), nil
}

// asNew returns an object in JSON, without what the API server fills in.
func asNew(obj *unstructured.Unstructured) (string, error) {
	obj = obj.DeepCopy()
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"} {
		unstructured.RemoveNestedField(obj.Object, "metadata", field)
	}
	raw, err := obj.MarshalJSON()
	return string(raw), err
}

// post creates an object, and returns it as it is stored.
func post(ctx context.Context, as rest.Interface, path, text string) (*unstructured.Unstructured, error) {
	raw, err := as.Post().AbsPath(path).Body([]byte(text)).DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, raw)
	}
	stored := &unstructured.Unstructured{}
	err = stored.UnmarshalJSON(raw)
	return stored, err
}

// withWholeRecords has fn run while records can be created with their status, which saves
// a request for each.
func (s *stage) withWholeRecords(ctx context.Context, fn func() error) error {
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := s.admin.Get(ctx, client.ObjectKey{Name: "allowancerecords.kausality.io"}, definition); err != nil {
		return err
	}
	subresources := definition.Spec.Versions[0].Subresources
	set := func(subresources *apiextensionsv1.CustomResourceSubresources) error {
		before := definition.DeepCopy()
		definition.Spec.Versions[0].Subresources = subresources
		if err := s.admin.Patch(ctx, definition, client.MergeFrom(before)); err != nil {
			return err
		}
		// The API server says nothing of when it goes by what it was told.
		return wait.PollUntilContextTimeout(ctx, poll, setTimeout, true, func(ctx context.Context) (bool, error) {
			return s.servesStatus(ctx) == (subresources != nil), nil
		})
	}
	if err := set(nil); err != nil {
		return err
	}
	return errors.Join(fn(), set(subresources))
}

// servesStatus reports whether the status of records is a resource of its own.
func (s *stage) servesStatus(ctx context.Context) bool {
	return s.raw.Get().AbsPath(recordsPath, s.first.record.GetName(), "status").Do(ctx).Error() == nil
}
