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

// Package digestkey keeps the key of digests that stand where people read them who may
// not read what they are of: in records, events and messages. Without a key, whoever can
// guess a value could tell that a digest is of it. What admission notes for
// GeneratingPolicies is signed with it, too.
package digestkey

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// SecretName is the name of the Secret with the key, in the operator's namespace.
	// The Role for the key allows it.
	SecretName = "kausality-digest-key" //nolint:gosec // its name, and not what is in it
	// field is where it is in the Secret.
	field = "key"
	// size is its length, in bytes.
	size = 32
)

// Ensure returns the key, which it makes where there is none: all replicas, and the
// operator after a restart, have the same. Each reads it once: where it is lost while
// replicas run, the next one that starts makes another. docs/install.md says what that means: digests
// from before say nothing any more, so that commands to approve which people have copied do not
// work, more counts as changed than was, and who asked for a trigger of a GeneratingPolicy is not
// known until somebody changes it.
func Ensure(ctx context.Context, reader client.Reader, writer client.Writer, namespace string) (string, error) {
	secret := &corev1.Secret{}
	name := client.ObjectKey{Namespace: namespace, Name: SecretName}
	err := reader.Get(ctx, name, secret)
	if apierrors.IsNotFound(err) {
		if secret, err = fresh(name); err != nil {
			return "", err
		}
		if err = writer.Create(ctx, secret); apierrors.IsAlreadyExists(err) {
			err = reader.Get(ctx, name, secret) // Another replica was faster.
		}
	}
	if err != nil {
		return "", fmt.Errorf("reading or making Secret %s, which has the key of digests: %w; "+
			"create it with a random text under %q, or allow the operator to", name, err, field)
	}
	if len(secret.Data[field]) == 0 {
		return "", fmt.Errorf("the Secret %s has no %q: put a random text there, or delete the Secret and restart the operator", name, field)
	}
	return string(secret.Data[field]), nil
}

func fresh(name client.ObjectKey) (*corev1.Secret, error) {
	random := make([]byte, size)
	if _, err := rand.Read(random); err != nil {
		return nil, fmt.Errorf("making the key of digests: %w", err)
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: name.Namespace, Name: name.Name,
			Labels: map[string]string{"app.kubernetes.io/name": "kausality"},
		},
		Data: map[string][]byte{field: []byte(hex.EncodeToString(random))},
	}, nil
}
