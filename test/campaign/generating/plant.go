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
	"math"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/campaign/generating/checker"
	"kausality.io/operator/test/campaign/generating/model"
	"kausality.io/operator/test/campaign/generating/plan"
)

// planted is a fault: something that the campaign does as the policies' account, and that the operator
// never may.
type planted struct {
	// atRest is true where it is done while nothing is written, else it is done after that.
	atRest bool
	// finds is the promise that it breaks; where there is none, things are not as they should be.
	finds checker.Promise
	do    func(context.Context, *stage) error
}

var faults = map[string]planted{
	"remake":   {finds: checker.Kept, do: remake},
	"restless": {atRest: true, finds: checker.Quiet, do: touchHeld},
	"uncaused": {finds: checker.Caused, do: touchHeld},
	"foreign":  {finds: checker.Others, do: changeForeign},
	"lost":     {atRest: true, do: loseLeft},
}

// isDue reports whether it is time to plant the fault.
func (s *stage) isDue() bool { return s.planted.IsZero() && s.rests >= max(1, *acts / *every / 2) }

// plant plants the fault, unless there is nothing to do it to.
func (s *stage) plant(ctx context.Context) error {
	at := time.Now()
	err := faults[*fault].do(ctx, s)
	if errors.Is(err, errNothing) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("planting %s: %w", *fault, err)
	}
	s.planted = at
	return nil
}

// live returns one of some objects as it is.
func (s *stage) live(ctx context.Context, all []model.ID) (*unstructured.Unstructured, error) {
	id, err := pickOf(all, int(s.seed))
	if err != nil {
		return nil, err
	}
	object := objectOf(id)
	sayf("planting %s: %s", *fault, id)
	return object, s.admin.Get(ctx, client.ObjectKeyFromObject(object), object)
}

// remake deletes a wanted object, and makes it anew.
func remake(ctx context.Context, s *stage) error {
	object, err := s.live(ctx, s.model.Held())
	if err != nil {
		return err
	}
	again := object.DeepCopy()
	again.SetResourceVersion("")
	again.SetUID("")
	again.SetManagedFields(nil)
	if err := s.account.Delete(ctx, object); err != nil {
		return err
	}
	if err := s.account.Create(ctx, again); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}

// touchHeld writes an object for nothing.
func touchHeld(ctx context.Context, s *stage) error {
	object, err := s.live(ctx, s.model.Held())
	if err != nil {
		return err
	}
	return s.account.Patch(ctx, object, labels(map[string]string{"written": "for-nothing"}))
}

// changeForeign changes what no policy made.
func changeForeign(ctx context.Context, s *stage) error {
	all := s.model.MayBe(func(seen model.Seen) bool { return seen.There && seen.Owner == "" })
	if len(all) == 0 {
		if err := s.perform(ctx, plan.Act{N: math.MaxInt16, Do: plan.MakeObject, Pick: [4]int{int(s.seed)}}); err != nil {
			return err
		}
		return errNothing // At the next rest there is.
	}
	object, err := s.live(ctx, all)
	if err != nil {
		return err
	}
	return s.account.Patch(ctx, object, merge(map[string]any{dataOf[object.GetKind()]: map[string]string{"value": "taken"}}))
}

// loseLeft deletes what was made once and is left alone.
func loseLeft(ctx context.Context, s *stage) error {
	object, err := s.live(ctx, s.model.Left())
	if err != nil {
		return err
	}
	return s.account.Delete(ctx, object)
}

// differenceError says that things are not as they should be.
type differenceError struct{ error }

// verdictOnPlant says whether the fault was found that was planted.
func (s *stage) verdictOnPlant(playErr error, report checker.Report) error {
	if s.planted.IsZero() {
		return errors.Join(playErr, fmt.Errorf("nothing was there to plant %s upon", *fault))
	}
	finds := faults[*fault].finds
	found := slices.ContainsFunc(report.Findings, func(f checker.Finding) bool { return f.Promise == finds && !f.At.Before(s.planted) })
	if finds == "" {
		_, found = errors.AsType[differenceError](playErr)
	}
	if !found {
		return errors.Join(playErr, fmt.Errorf("%s was planted and not found", *fault))
	}
	sayf("%s was found", *fault)
	return nil
}
