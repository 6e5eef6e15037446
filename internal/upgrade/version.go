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
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
)

// Request is one whose versions are asked for.
type Request struct {
	// User makes it.
	User authenticationv1.UserInfo
	// Parent of the object that it is about.
	Parent *unstructured.Unstructured
	// At is when it was made; zero is now.
	At time.Time
}

// Source knows the versions that a trigger is about. There is one for each trigger.
type Source interface {
	// Of returns the versions that a request comes from: one of a controller, one of each thing
	// that the children of the parent are made from. An error says that they cannot be read
	// now; what cannot be known at all is no error, and what a trigger is not about has none.
	Of(ctx context.Context, r Request) ([]Version, error)
}

// Leaver is a Source of something that an object itself names.
type Leaver interface {
	// Named returns the name of what the object names, empty where it names nothing.
	Named(obj *unstructured.Unstructured) string
	// Left returns the version that the object names before a write of it, and the one that it
	// names afterwards; ok is false where the write changes nothing about that. What cannot be read
	// is known by its name.
	Left(ctx context.Context, before, after *unstructured.Unstructured) (left, next Version, ok bool)
}

// Sources has the Source of each trigger.
type Sources map[v1alpha1.UpgradeTrigger]Source

// Triggers returns the triggers that have a source, in order.
func (s Sources) Triggers() []v1alpha1.UpgradeTrigger { return slices.Sorted(maps.Keys(s)) }

// Runner knows what runs.
type Runner interface {
	// Running returns the images that run for a user, each once and in order.
	Running(ctx context.Context, username string) ([]string, error)
}

// Runners has the Runner of each trigger that is about images.
type Runners map[v1alpha1.UpgradeTrigger]Runner

// Running returns the images that run and that the triggers are about, each once and in order.
func (r Runners) Running(ctx context.Context, username string, triggers []v1alpha1.UpgradeTrigger) ([]string, error) {
	var all []string
	for _, trigger := range triggers {
		runner, ok := r[trigger]
		if !ok {
			continue
		}
		images, err := runner.Running(ctx, username)
		if err != nil {
			return nil, err
		}
		all = append(all, images...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// Version is what makes a request: the version of a controller, or of what it makes children
// from.
type Version struct {
	// Trigger that it is of; empty is Controller.
	Trigger v1alpha1.UpgradeTrigger
	// Of names which one it is a version of, where a parent can have several.
	Of string
	// Image of the controller's Pod, or the package of a Function.
	Image string
	// PodCreated is when the Pod was created.
	PodCreated time.Time
	// Revision is the name of what the children are made from, of triggers other than
	// Controller.
	Revision string
	// Digest identifies what the revision says, empty where that is not known.
	Digest string
	// Created is when the revision was created.
	Created time.Time
	// Unknown says why that is not known, empty where it is.
	Unknown string
}

// About returns the trigger that the version is of.
func (v Version) About() v1alpha1.UpgradeTrigger {
	return cmp.Or(v.Trigger, v1alpha1.UpgradeOfController)
}

// id returns what a parent remembers the version by: a controller by its user, anything else by
// what it is, whoever makes the requests.
func (v Version) id(user string) string {
	id := string(v.About())
	if id == string(v1alpha1.UpgradeOfController) {
		return id + "/" + user
	}
	if v.Of != "" {
		return id + "/" + v.Of
	}
	return id
}

// name returns what patterns are about.
func (v Version) name() string { return cmp.Or(v.Image, v.Revision) }

// String returns the version as messages name it, empty where nothing is known of it.
func (v Version) String() string { return text(v.About(), v.Image, v.Revision) }

// Text returns a version that a parent remembers, as messages name it.
func Text(v *v1alpha1.ControllerVersion) string { return text(v.Trigger, v.Image, v.Revision) }

func text(trigger v1alpha1.UpgradeTrigger, image, revision string) string {
	switch {
	case trigger == v1alpha1.UpgradeOfFunction && image != "":
		return "package " + image
	case image != "":
		return "image " + image
	case trigger == v1alpha1.UpgradeOfComposition:
		return "CompositionRevision " + revision
	case revision != "":
		return "revision " + revision
	default:
		return ""
	}
}

// Standing returns a version as a denial records it: what it is to a parent that remembers these, as
// far as can be told without an UpgradeAllowance.
func Standing(memory []v1alpha1.ControllerVersion, user string, by Version) v1alpha1.RequestVersion {
	out := v1alpha1.RequestVersion{Trigger: by.About(), Version: by.name()}
	if !by.PodCreated.IsZero() {
		out.PodCreated = new(metav1.NewTime(by.PodCreated))
	}
	known := find(memory, by.id(user))
	switch {
	case by.Unknown != "":
		out.Standing = v1alpha1.StandingUnknown
	case known == nil:
		out.Standing = v1alpha1.StandingFirst
	case (&Allowance{}).isSame(known, by) && IsMoving(known):
		out.Standing = v1alpha1.StandingMoving
	case (&Allowance{}).isSame(known, by):
		out.Standing = v1alpha1.StandingSame
	case isOlder(known, by):
		out.Standing = v1alpha1.StandingOlder
	default:
		out.Standing = v1alpha1.StandingNew
	}
	return out
}

// isOlder reports whether a version is still there beside the one that took its place.
func isOlder(known *v1alpha1.ControllerVersion, by Version) bool {
	return known.PodCreated != nil && by.PodCreated.Before(known.PodCreated.Time)
}

// isAsOld reports whether nobody can tell which of two versions took the other's place: Pods say to
// the second when they were created.
func isAsOld(known *v1alpha1.ControllerVersion, by Version) bool {
	return known.PodCreated != nil && by.PodCreated.Equal(known.PodCreated.Time)
}

// Replaces reports whether a version is another one than a parent remembers of the same, as far
// as can be told without an UpgradeAllowance, and what it remembers.
func Replaces(memory []v1alpha1.ControllerVersion, user string, by Version) (known *v1alpha1.ControllerVersion, is bool) {
	if by.Unknown != "" || by.name() == "" {
		return nil, false
	}
	known = find(memory, by.id(user))
	return known, known != nil && (known.Image != "" || known.Revision != "") && !(&Allowance{}).isSame(known, by)
}
