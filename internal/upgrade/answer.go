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
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
)

const (
	// maxVersions is how many versions a parent remembers: as many as the record has room for.
	maxVersions = 32
	// UsedInterval is how old the time may be at which a version was last let through. It
	// spares a write for each request.
	UsedInterval = 10 * time.Second
)

// Answer is whether a request may pass as part of an upgrade of its parent.
type Answer struct {
	// Open is true where it may, as far as the entries cover it.
	Open bool
	// Note is what the parent has to remember before the request is answered; nil where it
	// does already.
	Note *v1alpha1.ControllerVersion
	// Why says why not. It holds nothing taken from objects but images.
	Why string
}

// id returns what a parent remembers a version by: what it is of, which of these, and, of what is
// declared, the UpgradeAllowance as well.
func (a *Allowance) id(of Version) string {
	if a.declares(of.About()) {
		return of.id(a.User) + "/" + string(a.UID)
	}
	return of.id(a.User)
}

// declares reports whether each request counts as one of a new version.
func (a *Allowance) declares(trigger v1alpha1.UpgradeTrigger) bool {
	return a.Declared && trigger == v1alpha1.UpgradeOfController
}

// Ask says whether a request by a version is part of an upgrade of a parent that remembers
// these. It is the same for the same request however often it is asked, and by whomever.
func (a *Allowance) Ask(memory []v1alpha1.ControllerVersion, by Version, now time.Time) Answer {
	known := find(memory, a.id(by))
	switch {
	case a.declares(by.About()):
		return a.askDeclared(memory, known, now)
	case by.Unknown != "":
		return Answer{Why: "the version that makes the request is not known: " + by.Unknown}
	case !a.Names(by.name()):
		return Answer{Why: fmt.Sprintf("%s is none of its versions", by)}
	case known == nil && len(a.versions) == 0 && a.wasThere(by):
		return Answer{Why: fmt.Sprintf("%s %s when it was accepted, and spec.versions does not name it", by, ran(by))}
	case known == nil:
		return a.begin(memory, by, now)
	case a.isSame(known, by):
		return a.goOn(*known, now)
	case isOlder(known, by):
		return Answer{Why: fmt.Sprintf("%s is in an older Pod than %s, which the parent was upgraded to or made by", by, Text(known))}
	case isAsOld(known, by):
		return Answer{Why: fmt.Sprintf("%s is in a Pod of the same second as %s, which the parent was upgraded to or made by, so that nobody can tell which is the newer one: delete the Pod of the newer one, for another to take its place", by, Text(known))}
	default:
		return a.begin(memory, by, now)
	}
}

// ran returns what a version did that was there.
func ran(by Version) string {
	if by.Image == "" {
		return "was there"
	}
	return "ran"
}

func (a *Allowance) askDeclared(memory []v1alpha1.ControllerVersion, known *v1alpha1.ControllerVersion, now time.Time) Answer {
	if known == nil {
		return a.begin(memory, Version{}, now)
	}
	return a.goOn(*known, now)
}

// begin lets a version through that the parent does not remember.
func (a *Allowance) begin(memory []v1alpha1.ControllerVersion, by Version, now time.Time) Answer {
	if find(memory, a.id(by)) == nil && len(memory) >= maxVersions {
		return Answer{Why: "the record of the parent has no room for another version"}
	}
	note := v1alpha1.ControllerVersion{
		ID: a.id(by), User: a.User, Trigger: by.About(), Image: by.Image, Revision: by.Revision, Digest: by.Digest,
		UpgradeAllowance: a.Name, UpgradeAllowanceUID: a.UID,
		Since: metav1.NewTime(now), LastUsed: new(metav1.NewTime(now)),
	}
	if !by.PodCreated.IsZero() {
		note.PodCreated = new(metav1.NewTime(by.PodCreated))
	}
	return Answer{Open: true, Note: &note}
}

// goOn lets the version through that the parent is being upgraded to.
func (a *Allowance) goOn(known v1alpha1.ControllerVersion, now time.Time) Answer {
	switch {
	case !IsMoving(&known) && a.declares(known.Trigger):
		return Answer{Why: "the parent was upgraded by it"}
	case !IsMoving(&known):
		return Answer{Why: fmt.Sprintf("the parent was upgraded to %s, or made by it", Text(&known))}
	case known.LastUsed != nil && now.Sub(known.LastUsed.Time) < UsedInterval:
		return Answer{Open: true}
	default:
		known.LastUsed = new(metav1.NewTime(now))
		return Answer{Open: true, Note: &known}
	}
}

// IsMoving reports whether a parent is being upgraded to a version that it remembers.
func IsMoving(v *v1alpha1.ControllerVersion) bool { return v.MovedAt == nil }

// Moves reports whether a parent that remembers these is being upgraded by what the UpgradeAllowance is
// about. Which one the upgrade began by does not matter, as when a request is asked about.
func (a *Allowance) Moves(memory []v1alpha1.ControllerVersion) bool {
	return slices.ContainsFunc(memory, func(known v1alpha1.ControllerVersion) bool {
		if !IsMoving(&known) || known.User != a.User || !a.Has(known.Trigger) {
			return false
		}
		if a.declares(known.Trigger) {
			return known.UpgradeAllowanceUID == a.UID
		}
		return a.Names(cmp.Or(known.Image, known.Revision))
	})
}

// IsOver reports whether the upgrade of a parent to a version is over: the parent has settled,
// and nothing passed by it for the quiet time. Where it is not, it returns when to look again;
// a parent that has not settled tells of that itself.
func IsOver(v *v1alpha1.ControllerVersion, settled bool, quiet time.Duration, now time.Time) (over bool, again time.Duration) {
	used := v.Since.Time
	if v.LastUsed != nil && v.LastUsed.After(used) {
		used = v.LastUsed.Time
	}
	if left := used.Add(quiet + UsedInterval).Sub(now); left > 0 {
		return false, left
	}
	return settled, 0
}

// MadeBy returns what a parent remembers whose children a version made while it was new; nil where
// the version is not known.
func MadeBy(user string, by Version, now time.Time) *v1alpha1.ControllerVersion {
	if by.Unknown != "" {
		return nil
	}
	at := metav1.NewTime(now)
	out := &v1alpha1.ControllerVersion{
		ID: by.id(user), User: user, Trigger: by.About(), Image: by.Image, Revision: by.Revision, Digest: by.Digest,
		Since: at, MovedAt: &at,
	}
	if !by.PodCreated.IsZero() {
		out.PodCreated = new(metav1.NewTime(by.PodCreated))
	}
	return out
}

// Leaves returns what a parent remembers that is about to be made from another revision: the one
// that it leaves, so that the other one is an upgrade. It is nil where the two say the same, where
// the parent remembers as much, and where nothing was made by the one that it leaves: its choice
// was withheld, or all by it refused, and the children are still those of the one before. Whether
// anything was made, the parent remembers. A parent that remembers nothing goes by chosen, which
// is false where the choice of what it leaves is withheld.
func Leaves(memory []v1alpha1.ControllerVersion, user string, old, next Version, chosen bool, now time.Time) *v1alpha1.ControllerVersion {
	if old.Digest != "" && old.Digest == next.Digest {
		return nil
	}
	known := find(memory, old.id(user))
	switch {
	case known == nil && (!chosen || len(memory) >= maxVersions):
		return nil
	case known != nil && (known.AlsoRevision != old.Revision || saysTheSame(known, old)):
		return nil
	default:
		return MadeBy(user, old, now)
	}
}

// saysTheSame reports whether a revision is the one that a parent remembers, or says as much.
func saysTheSame(known *v1alpha1.ControllerVersion, by Version) bool {
	return known.Revision == by.Revision || known.Digest != "" && known.Digest == by.Digest
}

// Remember returns what a parent remembers with another version, which takes the place of the
// one with its id.
func Remember(memory []v1alpha1.ControllerVersion, v v1alpha1.ControllerVersion) []v1alpha1.ControllerVersion {
	memory = slices.DeleteFunc(slices.Clone(memory), func(old v1alpha1.ControllerVersion) bool { return old.ID == v.ID })
	memory = append(memory, v)
	slices.SortFunc(memory, func(x, y v1alpha1.ControllerVersion) int { return strings.Compare(x.ID, y.ID) })
	return memory
}

// RememberFirst returns a parent's memory with the version that made the parent. What the memory has
// stays as it is, but for a note that something was made by another revision as well; where it is full,
// the version is left out.
func RememberFirst(memory []v1alpha1.ControllerVersion, v v1alpha1.ControllerVersion) []v1alpha1.ControllerVersion {
	known := find(memory, v.ID)
	switch {
	case known == nil && len(memory) >= maxVersions, known != nil && !isAlso(known, v):
		return memory
	case known != nil:
		also := *known
		also.AlsoRevision = v.Revision
		return Remember(memory, also)
	default:
		return Remember(memory, v)
	}
}

// isAlso reports whether a parent has yet to note that something was made by a revision.
func isAlso(known *v1alpha1.ControllerVersion, v v1alpha1.ControllerVersion) bool {
	return v.Revision != "" && v.Revision != known.AlsoRevision && !saysTheSame(known, Version{Revision: v.Revision, Digest: v.Digest})
}

// MayAlso reports whether a parent has yet to note that something was made by a revision of that
// name, as far as the name tells: where it remembers none, there is nothing to note it beside.
func MayAlso(memory []v1alpha1.ControllerVersion, trigger v1alpha1.UpgradeTrigger, revision string) bool {
	known := find(memory, Version{Trigger: trigger}.id(""))
	return known != nil && isAlso(known, v1alpha1.ControllerVersion{Revision: revision})
}

func find(memory []v1alpha1.ControllerVersion, id string) *v1alpha1.ControllerVersion {
	i := slices.IndexFunc(memory, func(v v1alpha1.ControllerVersion) bool { return v.ID == id })
	if i < 0 {
		return nil
	}
	return &memory[i]
}
