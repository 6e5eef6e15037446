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
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/fieldpath"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/cli/source"
	"kausality.io/operator/internal/kubectl"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// errNothing says that there is nothing to suggest.
var errNothing = errors.New("nothing to suggest")

// userOf returns the user name of a service account, which is given as NAMESPACE/NAME or as the user
// name itself.
func userOf(arg string) (string, error) {
	if strings.HasPrefix(arg, "system:") {
		return arg, nil
	}
	namespace, name, ok := strings.Cut(arg, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return "", fmt.Errorf("%q names no service account: give NAMESPACE/NAME, such as kro-system/kro", arg)
	}
	return serviceaccount.MakeUsername(namespace, name), nil
}

// suggested is an UpgradeAllowance, and where it comes from.
type suggested struct {
	upgrade *v1alpha1.UpgradeAllowance
	// from says what was refused, and notes what it does not let through.
	from, notes []string
}

func suggest(ctx context.Context, c *cluster.Cluster, user string, since time.Time) (*suggested, error) {
	records, err := c.Records(ctx, "")
	if err != nil {
		return nil, err
	}
	policies, err := c.Policies(ctx)
	if err != nil {
		return nil, err
	}
	return suggestFrom(records, policies, outsideOf(policies, c.Categories), user, since)
}

// asked is what was refused of the objects of one resource.
type asked struct {
	resource schema.GroupVersionResource
	// kind of the objects, and those of the parents.
	kind           schema.GroupKind
	parentKinds    []schema.GroupKind
	create, delete bool
	paths          []string
	parents        []string
	count          int64
}

// suggestFrom makes the UpgradeAllowance that would have let through what a user was refused, as
// records say.
func suggestFrom(records []v1alpha1.AllowanceRecord, policies cluster.Policies, outside outside, user string, since time.Time) (*suggested, error) {
	out := &suggested{}
	var entries []v1alpha1.PolicyEntry
	refused, versions := newOf(refusalsOf(records, user, since))
	all := out.byResource(refused, policies)
	for _, text := range versions.notes() {
		out.note(text)
	}
	for _, a := range all {
		e, ok := a.entry()
		if !ok {
			continue
		}
		entries = append(entries, e)
		out.from = append(out.from, fmt.Sprintf("%s: refused %d times, for %s", a.resource.Resource, a.count, phrase.Some(a.parents, 3)))
		if target := outside(a); target != nil {
			entries = append(entries, out.outside(a, target)...)
		}
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("%w: no AllowanceRecord tells that %s was refused anything since %s that an UpgradeAllowance could let through%s",
			errNothing, user, since.UTC().Format(time.RFC3339), strings.Join(append([]string{""}, out.notes...), "; "))
	}
	_, name, _ := strings.Cut(phrase.Account(user), "/")
	out.upgrade = &v1alpha1.UpgradeAllowance{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindUpgradeAllowance},
		ObjectMeta: metav1.ObjectMeta{Name: "upgrade-" + cmp.Or(name, "controller-manager")},
		Spec:       v1alpha1.UpgradeAllowanceSpec{ServiceAccount: user, Policies: entries},
	}
	versions.writeTo(&out.upgrade.Spec)
	return out, nil
}

// byResource returns what was refused, by the resource of the objects.
func (s *suggested) byResource(refused []refusal, policies cluster.Policies) (all []*asked) {
	for _, r := range refused {
		resource, kind, ok := resourceOf(policies.Named(r.Policies...), r.Kind)
		if !ok {
			s.note(fmt.Sprintf("no policy that there is names the resource of kind %s any more", r.Kind))
			continue
		}
		at := slices.IndexFunc(all, func(a *asked) bool { return a.resource == resource })
		if at < 0 {
			at, all = len(all), append(all, &asked{resource: resource, kind: kind})
		}
		all[at].add(r.HistoryEntry, r.parent, s)
	}
	slices.SortFunc(all, func(x, y *asked) int { return strings.Compare(x.resource.String(), y.resource.String()) })
	return all
}

// triggersIn returns the trigger of each version that a record remembers of a user.
func triggersIn(rec *v1alpha1.AllowanceRecord, user string) (out []v1alpha1.UpgradeTrigger) {
	for i := range rec.Status.Versions {
		if known := &rec.Status.Versions[i]; isOf(known, user) {
			out = append(out, known.Trigger)
		}
	}
	return out
}

// resourceOf finds the resource of a kind in the policies: a record has only the kind.
func resourceOf(policies []*policy.Policy, kind string) (schema.GroupVersionResource, schema.GroupKind, bool) {
	for _, p := range policies {
		for _, e := range p.Entries() {
			if e.Kind.Kind == kind && !e.IsExternal() {
				return e.Resource, e.Kind, true
			}
		}
	}
	return schema.GroupVersionResource{}, schema.GroupKind{}, false
}

func (s *suggested) note(text string) {
	if !slices.Contains(s.notes, text) {
		s.notes = append(s.notes, text)
	}
}

// add adds one refusal.
func (a *asked) add(e v1alpha1.HistoryEntry, parent v1alpha1.TargetReference, s *suggested) {
	for _, text := range e.Paths {
		switch text {
		case v1alpha1.MutationCreateObject:
			a.create = true
			continue
		case v1alpha1.MutationDeleteObject:
			a.delete = true
			continue
		}
		path, err := change.ParsePath(text)
		switch {
		case err != nil:
			s.note(fmt.Sprintf("%s of %s cannot be read", text, e.Kind))
			continue
		case lineage.IsLineage(path):
			s.note(fmt.Sprintf("whose child a %s is (%s), no UpgradeAllowance lets anybody change", e.Kind, text))
			continue
		}
		if pattern := anyItem(path); !slices.Contains(a.paths, pattern) {
			a.paths = append(a.paths, pattern)
		}
	}
	if name := phrase.Target(parent); !slices.Contains(a.parents, name) {
		a.parents = append(a.parents, name)
	}
	if kind := record.GVK(parent).GroupKind(); !slices.Contains(a.parentKinds, kind) {
		a.parentKinds = append(a.parentKinds, kind)
	}
	a.count += max(e.Count, 1)
}

// anyItem returns a path as a pattern for any item of its lists: in the next parent it is another one.
func anyItem(path change.Path) string {
	pattern := change.Pattern(slices.Clone(path))
	for i := range pattern {
		if pattern[i].Type == fieldpath.SegmentIndex {
			pattern[i] = change.Wildcard
		}
	}
	return pattern.String()
}

// entry makes the entry that lets it through, and false where none would.
func (a *asked) entry() (v1alpha1.PolicyEntry, bool) {
	group := a.resource.Group
	e := v1alpha1.PolicyEntry{
		Target:   v1alpha1.Target{APIGroup: &group, APIVersion: a.resource.Version, Resource: a.resource.Resource},
		Relation: v1alpha1.RelationControllerChild,
	}
	if a.create {
		e.Verbs = append(e.Verbs, "Create")
	}
	if a.delete {
		e.Verbs = append(e.Verbs, "Delete")
	}
	slices.Sort(a.paths)
	for _, path := range a.paths {
		e.Mutations = append(e.Mutations, v1alpha1.FieldMutation{JSONPath: path})
	}
	return e, len(e.Verbs)+len(e.Mutations) > 0
}

// written has the fields of an UpgradeAllowance that a person has to see.
type written struct {
	APIVersion string                        `json:"apiVersion"`
	Kind       string                        `json:"kind"`
	Metadata   map[string]string             `json:"metadata"`
	Spec       v1alpha1.UpgradeAllowanceSpec `json:"spec"`
}

// write encodes it as YAML, with comments. Names are in these: none of them ends a comment.
func (s *suggested) write() (string, error) {
	var out strings.Builder
	out.WriteString("# What would have let refusals through. Cut it down to what you want before you apply it.\n" +
		"# A controller may ask for more once this passes, such as to create what takes the place of what it deletes: ask again then.\n")
	for _, line := range s.from {
		out.WriteString("# " + kubectl.Printable(line) + "\n")
	}
	if len(s.upgrade.Spec.Triggers) > 1 {
		out.WriteString("# triggers: any of these may be what is new. Keep what you change.\n")
	}
	if len(s.upgrade.Spec.Versions) > 0 {
		out.WriteString("# versions: those that were refused. With a pattern, such as web-controller:v2.*, a rebuilt image passes as well.\n")
	}
	if s.upgrade.Spec.Detection == v1alpha1.DetectionDeclared {
		out.WriteString("# detection: nothing tells by which version it was refused, so each request counts as one of a new version.\n")
	}
	for _, line := range s.notes {
		out.WriteString("# Not in it: " + kubectl.Printable(line) + ".\n")
	}
	text, err := source.Block(written{s.upgrade.APIVersion, s.upgrade.Kind, map[string]string{"name": s.upgrade.Name}, s.upgrade.Spec})
	if err != nil {
		return "", err
	}
	return out.String() + text, nil
}
