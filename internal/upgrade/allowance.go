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

package upgrade

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/policy"
)

// Allowance is a compiled UpgradeAllowance. Compile makes it; it must not be changed.
type Allowance struct {
	// Name, UID and Generation are those of the UpgradeAllowance.
	Name       string
	UID        types.UID
	Generation int64
	// User is the name of the user whose new versions it is about.
	User string
	// Triggers are what upgrades are of.
	Triggers []v1alpha1.UpgradeTrigger
	// Declared is true where each request counts as one of a new version of the controller.
	Declared bool
	// ChangedBy is who last changed its spec.
	ChangedBy string
	// RanBefore are the images that ran when it was accepted.
	RanBefore []string
	// AcceptedAt is when that was; zero where it was not yet.
	AcceptedAt time.Time
	// Entries are what it lets through.
	Entries []policy.Entry

	versions          []*regexp.Regexp
	namespaceSelector labels.Selector
	objectSelector    labels.Selector
}

// Compile compiles an UpgradeAllowance. What is wrong in it is reported, and left out: entries
// one by one; with a wrong pattern or selector it lets nothing through.
func Compile(u *v1alpha1.UpgradeAllowance, kinds policy.KindResolver) (*Allowance, field.ErrorList) {
	path := field.NewPath("spec")
	out := &Allowance{
		Name:       u.Name,
		UID:        u.UID,
		Generation: u.Generation,
		User:       u.Spec.ServiceAccount,
		Triggers:   triggersOf(u),
		Declared:   u.Spec.Detection == v1alpha1.DetectionDeclared,
		ChangedBy:  u.Annotations[v1alpha1.AnnotationChangedBy],
		RanBefore:  u.Status.RanBefore,
	}
	if u.Status.AcceptedAt != nil {
		out.AcceptedAt = u.Status.AcceptedAt.Time
	}
	errs := accountErrors(u, path)
	if out.Declared && !out.Has(v1alpha1.UpgradeOfController) {
		errs = append(errs, field.Forbidden(path.Child("detection"), "Declared is about versions of controllers, which spec.triggers does not have"))
	}
	for i, pattern := range u.Spec.Versions {
		if strings.Trim(pattern, "*") == "" {
			errs = append(errs, field.Invalid(path.Child("versions").Index(i), pattern,
				"it matches all images, so that none would be a new version: leave versions out"))
		}
		out.versions = append(out.versions, glob(pattern))
	}
	var wrong field.ErrorList
	out.namespaceSelector, wrong = policy.CompileSelector(u.Spec.NamespaceSelector, path.Child("namespaceSelector"))
	errs = append(errs, wrong...)
	out.objectSelector, wrong = policy.CompileSelector(u.Spec.ObjectSelector, path.Child("objectSelector"))
	errs = append(errs, wrong...)
	out.Entries, wrong = policy.CompileEntries(u.Spec.Policies, path.Child("policies"), kinds)
	errs = append(errs, wrong...)
	for i, e := range u.Spec.Policies {
		if e.Relation == v1alpha1.RelationExternal && (slices.Contains(e.Verbs, verbDelete) || slices.Contains(e.Verbs, v1alpha1.Any)) {
			errs = append(errs, field.Invalid(path.Child("policies").Index(i).Child("verbs"), strings.Join(e.Verbs, ","),
				"no upgrade deletes what is outside the cluster: change the object that should go, or break the glass"))
		}
	}
	out.Entries = slices.DeleteFunc(out.Entries, func(e policy.Entry) bool { return e.AllowsOutside(verbDelete) })
	return out, errs
}

// triggersOf returns what an UpgradeAllowance is about: versions of controllers, if it does not say.
func triggersOf(u *v1alpha1.UpgradeAllowance) []v1alpha1.UpgradeTrigger {
	if len(u.Spec.Triggers) == 0 {
		return []v1alpha1.UpgradeTrigger{v1alpha1.UpgradeOfController}
	}
	return u.Spec.Triggers
}

// verbDelete is the verb of systems outside by which they lose something.
const verbDelete = "Delete"

func accountErrors(u *v1alpha1.UpgradeAllowance, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	declared := u.Spec.Detection == v1alpha1.DetectionDeclared
	if _, _, err := serviceaccount.SplitUsername(u.Spec.ServiceAccount); err != nil && !declared {
		errs = append(errs, field.Invalid(path.Child("serviceAccount"), u.Spec.ServiceAccount,
			"only service accounts have Pods to know them by; detection Declared is for others"))
	}
	if declared && len(u.Spec.Versions) > 0 {
		errs = append(errs, field.Forbidden(path.Child("versions"), "detection Declared looks at no images"))
	}
	return errs
}

// glob returns an expression that matches what a pattern does, in which * stands for any
// characters.
func glob(pattern string) *regexp.Regexp {
	parts := strings.Split(pattern, "*")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$")
}

// Has reports whether a trigger is one of those that it is about.
func (a *Allowance) Has(trigger v1alpha1.UpgradeTrigger) bool {
	return slices.Contains(a.Triggers, trigger)
}

// IsOfRevisions reports whether one of its triggers is about revisions, which have names and do
// not run.
func (a *Allowance) IsOfRevisions() bool {
	return a.Has(v1alpha1.UpgradeOfComposition) || a.Has(v1alpha1.UpgradeOfResourceGraph)
}

// Names reports whether an image, or a revision, may be let through: one of the versions, or
// any where there are none.
func (a *Allowance) Names(version string) bool {
	return len(a.versions) == 0 || slices.ContainsFunc(a.versions, func(v *regexp.Regexp) bool { return v.MatchString(version) })
}

// isSame reports whether a version is the one that a parent remembers: of revisions, where
// they say the same; of images, where one pattern names both.
func (a *Allowance) isSame(known *v1alpha1.ControllerVersion, by Version) bool {
	switch {
	case by.Image != "":
	case known.Digest != "" && by.Digest != "":
		return known.Digest == by.Digest
	default:
		return known.Revision == by.Revision
	}
	return known.Image == by.Image || slices.ContainsFunc(a.versions, func(v *regexp.Regexp) bool {
		return v.MatchString(known.Image) && v.MatchString(by.Image)
	})
}

// wasThere reports whether a version was there when the UpgradeAllowance was accepted.
func (a *Allowance) wasThere(by Version) bool {
	if by.Image == "" {
		return by.Created.Before(a.AcceptedAt)
	}
	return slices.Contains(a.RanBefore, by.Image)
}

// ID names one generation of it. One that is deleted and made again begins with the first one again,
// and is another one.
func (a *Allowance) ID() string { return fmt.Sprintf("%s/%d/%s", a.Name, a.Generation, a.UID) }

// IsAbout reports whether it names children of a kind.
func (a *Allowance) IsAbout(kind string) bool {
	return slices.ContainsFunc(a.Entries, func(e policy.Entry) bool { return !e.IsExternal() && e.Kind.Kind == kind })
}

// Selects reports whether a parent with these labels may be upgraded, in a namespace with
// those, nil where it has none. Unlike a policy, which bounds, an UpgradeAllowance for some
// namespaces lets nothing through for what has none.
func (a *Allowance) Selects(object, namespace map[string]string) bool {
	if namespace == nil && !a.namespaceSelector.Empty() {
		return false
	}
	return a.objectSelector.Matches(labels.Set(object)) && a.namespaceSelector.Matches(labels.Set(namespace))
}
