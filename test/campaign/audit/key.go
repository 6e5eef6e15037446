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

package audit

import (
	"regexp"
	"strings"
)

// ours is the prefix of Kausality's annotations.
const ours = "kausality.io/"

// uid is what the UIDs of API servers begin with.
var uid = regexp.MustCompile(`^[0-9a-f]{8}`)

// KeyPrefix returns the prefix of annotations of Kausality's that are an object's own. What has an
// owner has one of its kind, as controllers copy annotations onto what they make; below an owner of
// its own kind it begins with that owner as well. What stands under another prefix is nothing of
// it.
func KeyPrefix(kind string, owners []Owner) string {
	if len(owners) == 0 {
		return ours
	}
	kind = strings.ToLower(Plain(kind))
	for _, o := range owners {
		if start := uid.FindString(string(o.UID)); strings.EqualFold(Plain(o.Kind), kind) && start != "" {
			return kind + "-" + start + "." + ours
		}
	}
	return kind + "." + ours
}

// Own returns the value of an annotation of Kausality's that is the object's own, such as
// "allowances".
func (o *Object) Own(name string) string { return o.Annotations[KeyPrefix(o.Kind, o.Owners)+name] }
