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

package trace

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/kubectl"
	"kausality.io/operator/internal/record"
)

// sight is what was read.
type sight struct {
	target cluster.Target
	// uid of the object, and of its parent; empty where it is gone, or has none.
	uid, parent types.UID
	// object as it is, nil where it is gone.
	object *unstructured.Unstructured
	// gone is true where the object does not exist.
	gone bool
	// records of the objects that may be above and below, and the ledgers of those
	// that exist, in the same form.
	records []v1alpha1.AllowanceRecord
	// below are the objects below that exist, of the listed kinds in the namespace listedIn,
	// which is empty for all. What is unlisted could not be read.
	below    []Child
	listed   []string
	listedIn string
	unlisted []schema.GroupVersionKind
	// others are existing objects of the listed kinds that are not below the object: an ancestor, or the
	// object itself, may be of the kind of a child.
	others []Child
	// unread is true where the records could not be read.
	unread bool
	// unenforced are the policies about it that are not enforced.
	unenforced []cluster.Unenforced
	notes      []string
}

// build finds the chains in what was read.
func build(s *sight) (*Report, error) {
	if s.gone {
		s.forgetNeverSeen()
	}
	of := byUID(s.records)
	report := &Report{
		Object: v1alpha1.TargetReference{
			Group: s.target.GVK.Group, Version: s.target.GVK.Version, Kind: s.target.GVK.Kind,
			Namespace: s.target.Namespace, Name: s.target.Name, UID: s.uid,
		},
		Gone:   s.gone,
		Unread: s.unread,
		Notes:  s.notes,
	}
	if s.gone {
		s.identify(report)
	}
	uid := report.Object.UID
	if rec := of[uid]; rec != nil {
		report.Phase = rec.Status.Phase
	}
	report.Deletion = deletion(of, uid)

	var links, all []link
	for i := range s.records {
		rec := &s.records[i]
		if !s.related(of, rec, uid) {
			continue
		}
		for _, l := range linksOf(rec) {
			all = append(all, l)
			through, ok := l.through(s.target.GVK.Kind, s.target.Namespace, s.target.Name)
			switch {
			case ok:
				links = append(links, through)
			case l.why == "" && uid != "" && rec.Spec.TargetRef.UID != uid && isAbove(of, uid, rec.Spec.TargetRef.UID):
				links = append(links, l) // Somebody may start a chain below it.
			}
		}
	}
	if s.gone && uid == "" {
		report.Notes = append(report.Notes, s.unsureOf(links)...)
	}
	report.Causes = grow(append(links, s.withoutChain(links, all)...), all)
	s.mark(report)
	if s.gone && uid == "" && len(report.Causes) == 0 {
		return nil, fmt.Errorf("%s does not exist, and no AllowanceRecord tells of it: see whether the namespace is right, "+
			"or which records there are (kubectl get allowancerecords -A)%s", s.target, strings.Join(append([]string{""}, s.notes...), ". "))
	}
	return report, nil
}

func byUID(records []v1alpha1.AllowanceRecord) map[types.UID]*v1alpha1.AllowanceRecord {
	out := map[types.UID]*v1alpha1.AllowanceRecord{}
	for i := range records {
		if uid := records[i].Spec.TargetRef.UID; out[uid] == nil {
			out[uid] = &records[i]
		}
	}
	return out
}

// forgetNeverSeen leaves out records of an object of that name that nobody has seen: its creation was let
// through, and was not stored, or it would be there.
func (s *sight) forgetNeverSeen() {
	s.records = slices.DeleteFunc(s.records, func(rec v1alpha1.AllowanceRecord) bool {
		return s.target.Is(rec.Spec.TargetRef) && record.NeverSeen(&rec)
	})
}

// identify takes the last object of that name that there is a record of. Earlier versions have kept
// records of objects that never existed: one that says more than that somebody was let create the object is
// the better one.
func (s *sight) identify(report *Report) {
	var last *v1alpha1.AllowanceRecord
	others := 0
	for i := range s.records {
		rec := &s.records[i]
		if !s.target.Is(rec.Spec.TargetRef) {
			continue
		}
		others++
		if last == nil || isLater(last, rec) {
			last = rec
		}
	}
	if last == nil {
		return
	}
	report.Object = last.Spec.TargetRef
	if others > 1 {
		report.Notes = append(report.Notes, fmt.Sprintf("%d objects had that name; this is about the last. "+
			"All: kubectl get allowancerecords%s", others, kubectl.NamespaceFlag(s.target.Namespace)))
	}
}

// isLater reports whether a record is rather about the object that was asked about than another one: it
// tells of what has existed, and the other does not, or it came later.
func isLater(before, rec *v1alpha1.AllowanceRecord) bool {
	if was, is := record.TellsOfTarget(before), record.TellsOfTarget(rec); was != is {
		return is
	}
	return before.CreationTimestamp.Before(&rec.CreationTimestamp)
}

// maxDepth bounds how many objects there are above another.
const maxDepth = 16

// related reports whether a record is about the object, or about one that is above or
// below it, rather than about another object of such a name. Where nothing tells its UID, that is what may be above it.
func (s *sight) related(of map[types.UID]*v1alpha1.AllowanceRecord, rec *v1alpha1.AllowanceRecord, uid types.UID) bool {
	if uid == "" {
		return mayBeOne(rec.Spec.TargetRef.Namespace, s.target.Namespace) || slices.ContainsFunc(rec.Status.History, func(e v1alpha1.HistoryEntry) bool {
			return e.Namespace != "" && e.Namespace == s.target.Namespace
		})
	}
	return isAbove(of, uid, rec.Spec.TargetRef.UID) || isAbove(of, rec.Spec.TargetRef.UID, uid) ||
		s.parent != "" && isAbove(of, rec.Spec.TargetRef.UID, s.parent)
}

// unsureOf says that the chains of what is gone may be those of another object: older entries in the records of
// cluster-scoped objects do not tell in which namespace a child was.
func (s *sight) unsureOf(links []link) []string {
	var out []string
	for _, l := range links {
		last := len(l.hops) - 1
		if s.target.Namespace == "" || l.kind != s.target.GVK.Kind || l.in != "" || last < 0 || l.hops[last].Namespace != "" {
			continue
		}
		above := Child{Kind: l.hops[last].Kind, Name: l.hops[last].Name}
		if !slices.ContainsFunc(s.records, func(rec v1alpha1.AllowanceRecord) bool {
			ref := rec.Spec.TargetRef
			return ref.Namespace == "" && ref.Kind == above.Kind && ref.Name == above.Name
		}) {
			continue
		}
		note := fmt.Sprintf("%s/%s is cluster-scoped, and its record does not tell in which namespace a child was: that may be another %s %s.",
			above.Kind, above.Name, s.target.GVK.Kind, s.target.Name)
		if !slices.Contains(out, note) {
			out = append(out, note)
		}
	}
	return out
}

// isAbove reports whether an object is another one, or above it.
func isAbove(of map[types.UID]*v1alpha1.AllowanceRecord, above, uid types.UID) bool {
	for range maxDepth {
		if uid == above {
			return true
		}
		rec := of[uid]
		if rec == nil {
			return false
		}
		uid = record.ParentOf(rec)
	}
	return false
}

// deletion returns who deleted the object, or the nearest one above it of which that is
// known.
func deletion(of map[types.UID]*v1alpha1.AllowanceRecord, uid types.UID) *v1alpha1.Deletion {
	for range maxDepth {
		rec := of[uid]
		if rec == nil {
			return nil
		}
		if rec.Status.Deletion != nil {
			return rec.Status.Deletion
		}
		uid = record.ParentOf(rec)
	}
	return nil
}

// isMissing reports whether the object of a node is not among those of its kind that exist.
func (s *sight) isMissing(n *Node) bool {
	isRead := slices.Contains(s.listed, n.Kind) && !slices.ContainsFunc(s.unlisted, func(k schema.GroupVersionKind) bool { return k.Kind == n.Kind })
	return isRead && mayBeOne(n.Namespace, s.listedIn) && !n.child().isAmong(s.below) && !n.child().isAmong(s.others)
}

// mark says of the objects which was asked about and which are gone, and finds those
// that no chain leads to.
func (s *sight) mark(report *Report) {
	var explained []Child
	proven := s.proven(report)
	for _, c := range report.Causes {
		c.First.visit(func(n *Node) {
			explained = append(explained, n.child())
			n.Asked = n.Kind == s.target.GVK.Kind && n.Name == s.target.Name && mayBeOne(n.Namespace, s.target.Namespace)
			n.Gone = n.Asked && s.gone || !n.Asked && s.isMissing(n)
			n.Unproven = n.Gone && n.onlyLetCreate() && !n.child().isAmong(proven)
		})
		c.First.visit((*Node).putUnprovenLast)
		c.First.visit((*Node).markReplaced)
	}
	for _, child := range s.below {
		if !child.isAmong(explained) {
			report.Unexplained = append(report.Unexplained, child)
		}
	}
}
