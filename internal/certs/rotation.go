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

package certs

import (
	"context"
	"time"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// startInterval is the time between two attempts to start the rotation.
const startInterval = time.Second

// withPersistence is a manager that starts the rotator again when it could not begin. The rotator
// ends with an error, and the operator with it, when the Secret is deleted as it starts, or cannot
// be written: a certificate that others made is served with all the same, and may be good for months.
type withPersistence struct{ manager.Manager }

// Add implements manager.Manager.
func (m withPersistence) Add(runnable manager.Runnable) error {
	if rotation, ok := runnable.(*rotator.CertRotator); ok {
		runnable = persistent{rotation}
	}
	return m.Manager.Add(runnable)
}

// rotation is the part of rotator.CertRotator that a manager knows.
type rotation interface {
	manager.Runnable
	manager.LeaderElectionRunnable
}

// persistent starts a rotation until it runs.
type persistent struct{ rotation }

// Start implements manager.Runnable.
func (p persistent) Start(ctx context.Context) error {
	for {
		err := p.rotation.Start(ctx)
		if !couldNotBegin(err) {
			return err
		}
		logf.FromContext(ctx).WithName("certs").Error(err, "Cannot look after the serving certificate yet; it is tried again")
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(startInterval):
		}
	}
}

// couldNotBegin reports whether a rotation ended as it could not read the Secret or write it at
// first: it has started nothing, and may be started again. What ends it later is none of these.
func couldNotBegin(err error) bool {
	return apierrors.IsNotFound(err) || wait.Interrupted(err)
}
