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

package interception

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// AnnotationSeal is the annotation of a rendered webhook configuration by which replicas know that its
// webhooks are as the operator has written them.
const AnnotationSeal = "kausality.io/rendered"

// Seal returns a digest of webhooks, with a key; empty for none.
func Seal[T any](webhooks []T, key string) string {
	if len(webhooks) == 0 {
		return ""
	}
	text, err := json.Marshal(webhooks)
	if err != nil {
		// They are made of what JSON was decoded to.
		panic("interception: webhooks that cannot be encoded: " + err.Error())
	}
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write(text)
	return hex.EncodeToString(mac.Sum(nil)[:16])
}
