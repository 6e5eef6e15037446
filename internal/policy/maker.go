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

package policy

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"

	"kausality.io/operator/internal/knowledge"
)

// Maker is what is known of whether a user makes the children of objects of a kind.
type Maker int

const (
	// NoMaker is somebody else than the controller of the kind.
	NoMaker Maker = iota
	// MaybeMaker is a service account, of a kind whose controller is not known.
	MaybeMaker
	// IsMaker is the controller of the kind.
	IsMaker
)

// MakerOf tells whether a user makes the children of objects of a kind.
func MakerOf(kind schema.GroupKind, username string) Maker {
	_, _, err := serviceaccount.SplitUsername(username)
	account, known := knowledge.ControllerOf(kind)
	switch {
	case known && (username == serviceaccount.MakeUsername(account.Namespace, account.Name) || username == user.KubeControllerManager):
		return IsMaker
	case !known && err == nil:
		return MaybeMaker
	default:
		return NoMaker
	}
}

// ToName says which policies have to name a controller that makes children of objects of a kind, and may not use what
// their policies allow: no change of an object, and no approval, helps it. It is empty where the user makes none.
func ToName(kind schema.GroupKind, username string, policies []string) string {
	if len(policies) == 0 {
		return ""
	}
	add := fmt.Sprintf("add it to spec.subjects of AllowancePolicy %s, or of one that is in effect for the children", strings.Join(policies, " or "))
	switch MakerOf(kind, username) {
	case IsMaker:
		return fmt.Sprintf("%s makes the children of a %s: %s.", AccountText(username), kind.Kind, add)
	case MaybeMaker:
		return fmt.Sprintf("If %s makes the children of a %s, %s.", AccountText(username), kind.Kind, add)
	default:
		return ""
	}
}
