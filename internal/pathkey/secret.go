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

package pathkey

import (
	"context"
	"encoding/hex"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The fields of the Secret.
const (
	fieldCurrent  = "current"
	fieldNext     = "next"
	fieldPrevious = "previous"
	fieldChanged  = "changed"
)

func (k *Keeper) name() client.ObjectKey {
	return client.ObjectKey{Namespace: k.Namespace, Name: SecretName}
}

// read returns the Secret; where there is none, one that was not created yet.
func (k *Keeper) read(ctx context.Context) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	if err := client.IgnoreNotFound(k.Live.Get(ctx, k.name(), secret)); err != nil {
		return nil, err
	}
	return secret, nil
}

// write puts a ring into a Secret that was read.
func (k *Keeper) write(ctx context.Context, secret *corev1.Secret, ring Ring) (*corev1.Secret, error) {
	secret = secret.DeepCopy()
	secret.Data = dataOf(ring)
	if secret.ResourceVersion != "" {
		return secret, k.Client.Update(ctx, secret)
	}
	secret.ObjectMeta = metav1.ObjectMeta{
		Namespace: k.Namespace, Name: SecretName,
		Labels: map[string]string{"app.kubernetes.io/name": "kausality"},
	}
	return secret, k.Client.Create(ctx, secret)
}

// ringOf returns the ring that a Secret has. What is no key, as a person may have written it, is
// none; a time that cannot be read is one long ago.
func ringOf(secret *corev1.Secret) Ring {
	ring := Ring{
		Current:  keyIn(secret, fieldCurrent),
		Next:     keyIn(secret, fieldNext),
		Previous: keyIn(secret, fieldPrevious),
	}
	if at, err := time.Parse(time.RFC3339Nano, string(secret.Data[fieldChanged])); err == nil {
		ring.Changed = at.UTC()
	}
	return ring
}

func keyIn(secret *corev1.Secret, field string) string {
	key := string(secret.Data[field])
	if raw, err := hex.DecodeString(key); err != nil || len(raw) != size {
		return ""
	}
	return key
}

// dataOf returns what a Secret says of a ring.
func dataOf(ring Ring) map[string][]byte {
	data := map[string][]byte{
		fieldCurrent: []byte(ring.Current),
		fieldChanged: []byte(ring.Changed.UTC().Format(time.RFC3339Nano)),
	}
	if ring.Next != "" {
		data[fieldNext] = []byte(ring.Next)
	}
	if ring.Previous != "" {
		data[fieldPrevious] = []byte(ring.Previous)
	}
	return data
}
