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

package change

import (
	"regexp"
	"strings"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Quantities compare by value (D7): 0.5 and 500m CPU are the same. But nothing in
// a string says that it is a quantity, and taking any string for one that looks
// like one would hide changes: 1.10 and 1.1 are two versions. So, apart from what a
// schema declares, only the places count that Kubernetes' own APIs use for
// quantities, and that other kinds copy.
// The API server itself rewrites the quantities of its own kinds.
var (
	// resourceLists are maps from the name of a resource to a quantity.
	resourceLists = sets.New("requests", "limits", "capacity", "allocatable", "hard",
		"overhead", "podFixed", "minAllowed", "maxAllowed")
	// resourceNames are the resources without a prefix. Others have a domain
	// (nvidia.com/gpu), are page sizes (hugepages-2Mi) or quotas (limits.cpu).
	resourceNames = sets.New("cpu", "memory", "storage", "ephemeral-storage", "pods")
	// quantityFields hold a quantity wherever they occur.
	quantityFields = sets.New("sizeLimit", "divisor", "storage", "averageValue")

	// steepExponent is an exponent of three or more digits. To read 1e-9999999
	// takes seconds, and no quantity reaches that far: the largest is 2^63-1, the
	// smallest 1e-9.
	steepExponent = regexp.MustCompile(`[eE][+-]?\d{3}`)
)

// maxQuantity limits the length of a text that is read as a quantity.
const maxQuantity = 64

// place is where in an object a value is, as far as that tells whether it is a
// quantity: the field that holds it, and the one that holds that field's map. The
// zero place is one of which nothing is known, and any directly in a list.
type place struct {
	parent, name string
}

func (p place) field(name string) place {
	return place{parent: p.name, name: name}
}

// placeOf returns the place that a path leads to.
func placeOf(path Path) place {
	var at place
	for _, s := range path[max(0, len(path)-2):] {
		if s.Type == fieldpath.SegmentField {
			at = at.field(s.Field)
		} else {
			at = place{}
		}
	}
	return at
}

func (p place) holdsQuantity() bool {
	return quantityFields.Has(p.name) || resourceLists.Has(p.parent) && isResourceName(p.name)
}

func isResourceName(name string) bool {
	return resourceNames.Has(name) || strings.Contains(name, "/") || strings.HasPrefix(name, "hugepages-") ||
		strings.HasPrefix(name, "requests.") || strings.HasPrefix(name, "limits.")
}

// SameQuantity reports whether two values are the same quantity at a path where
// Kubernetes holds one: its API server writes 1000m as 1.
func SameQuantity(path Path, a, b any) bool {
	return equalQuantities(placeOf(path), a, b)
}

func equalQuantities(at place, a, b any) bool {
	return at.holdsQuantity() && sameQuantity(a, b)
}

func sameQuantity(a, b any) bool {
	x, ok := quantityOf(a)
	if !ok {
		return false
	}
	y, ok := quantityOf(b)
	return ok && x == y
}

// quantityOf returns the canonical text of the quantity that v is, if it is one.
// Quantities of equal value have equal texts. Numbers are quantities too: kinds
// may allow both forms.
func quantityOf(v any) (string, bool) {
	text, ok := v.(string)
	if !ok {
		n, isNumber := numberOf(v)
		if !isNumber {
			return "", false
		}
		text = n.String()
	}
	if len(text) > maxQuantity || steepExponent.MatchString(text) {
		return "", false
	}
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return "", false
	}
	// Built anew, as a parsed quantity keeps the format that it was written in.
	return resource.NewDecimalQuantity(*q.AsDec(), resource.DecimalSI).String(), true
}
