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

package decision

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/knowledge"
)

// podKind is the only kind of children that are counted.
var podKind = schema.GroupKind{Kind: "Pod"}

// WithheldCount returns how many Pods the parent has by its approved content where something
// of it is withheld and the request creates one: while fewer are alive, it heals. The
// admission webhook finds out whether that is so, and sets Parent.Short. It is false
// where the number is as approved.
func (in *Input) WithheldCount() (int64, bool) {
	if in.ParentState != ParentFound || in.Operation != Create || in.Child.GVK.GroupKind() != podKind || !in.Parent.isWithheld() {
		return 0, false
	}
	made, _ := in.Parent.Known().Child(in.Child.GVK.GroupKind())
	least, found := int64(0), false
	for _, field := range made.Counts {
		if !in.Parent.differsAt(field) {
			continue
		}
		if n, ok := in.Parent.approvedNumber(field, 1); ok && (!found || n < least) {
			least, found = n, true
		}
	}
	return least, found
}

// differsAt reports whether something is withheld of a field, or of what is above it.
func (p *Parent) differsAt(path change.Path) bool {
	for _, d := range p.Standing.Differences {
		if d.Counts && d.Path.Overlaps(path) {
			return true
		}
	}
	return false
}

// approvedValue returns what the approved content has in a field, nil for nothing. It fails
// where that is not known, as the value, or one above it, is not kept.
func (p *Parent) approvedValue(path change.Path) (any, bool) {
	content := p.Standing.Content()
	for i := range path {
		value, _ := path[:i+1].Value(content)
		_, isMap := value.(map[string]any)
		switch {
		case value == nil:
			return nil, true
		case i == len(path)-1:
			return value, true
		case !isMap:
			return nil, false
		}
	}
	return nil, false
}

// approvedNumber returns a number of the approved content, missing where it has none. It
// fails where that is not known.
func (p *Parent) approvedNumber(field change.Path, missing int64) (int64, bool) {
	value, known := p.approvedValue(field)
	switch v := value.(type) {
	case nil:
		return missing, known
	case int64:
		return v, true
	default:
		return 0, false
	}
}

// mayGoOn reports whether the approved content does not suspend the parent. Of what is
// not known nobody can tell.
func (p *Parent) mayGoOn(m knowledge.Child) bool {
	if m.Suspend == nil {
		return true
	}
	value, known := p.approvedValue(m.Suspend)
	suspended, isBool := value.(bool)
	return known && (value == nil || isBool && !suspended)
}

// carriesNothingWithheld reports whether the act is the creation of a child that the
// parent's approved content makes (D2): of the approved template, no more of them than
// were approved, and not while the parent is suspended. Of kinds of which nothing is
// known nobody can tell, nor of a child that has the template to make children of it itself.
func (in *Input) carriesNothingWithheld(act Act) bool {
	if act.Operation != Create {
		return false
	}
	m, _ := in.Parent.Known().Child(in.Child.GVK.GroupKind())
	if m.Template == nil || m.At != nil {
		return false
	}
	return !in.showsElsewhere(m) && in.isDue(m) && in.isOfApprovedTemplate(m)
}

// showsElsewhere reports whether a withheld change may show in the child in a way that
// cannot be checked.
func (in *Input) showsElsewhere(m knowledge.Child) bool {
	named := slices.Concat(m.Counts, m.Unshown, []change.Path{m.Template, change.Path{}.Field("metadata")})
	if m.Suspend != nil {
		named = append(named, m.Suspend)
	}
	return slices.ContainsFunc(in.Parent.Standing.Withheld(), func(d approved.Difference) bool {
		return !slices.ContainsFunc(named, d.Path.Overlaps)
	})
}

// isDue reports whether the approved content has room for another child.
func (in *Input) isDue(m knowledge.Child) bool {
	if !in.Parent.mayGoOn(m) || in.Parent.surges(m.Surge) {
		return false
	}
	for _, field := range m.Counts {
		if !in.Parent.differsAt(field) {
			continue
		}
		if _, ok := in.Parent.approvedNumber(field, 1); !ok || !in.Parent.Short {
			return false
		}
	}
	return (m.Ordinals == nil || in.isInOrder(m)) && (m.Completions == nil || in.isToBeCompleted(m.Completions))
}

// surges reports whether children come beside those that they replace, by an update
// strategy that is withheld.
func (p *Parent) surges(s *knowledge.Surge) bool {
	if s == nil {
		return false
	}
	switch surge, _ := s.Max.Value(p.Standing.Object.Fields); surge {
	case nil, int64(0), "0", "0%":
		return false
	default:
		return p.differsAt(s.Strategy) || p.differsAt(s.Max)
	}
}

// isToBeCompleted reports whether a child, such as a Pod of an Indexed Job, is one of those
// that the approved content completes. Pods that have ended are not alive, so that their
// number does not tell.
func (in *Input) isToBeCompleted(o *knowledge.Completions) bool {
	if !in.Parent.differsAt(o.Count) {
		return true
	}
	value, _ := change.Path{}.Field("metadata").Field("annotations").Field(o.Annotation).Value(in.Child.New)
	text, _ := value.(string)
	index, err := strconv.ParseInt(text, 10, 64)
	count, known := in.Parent.approvedNumber(o.Count, 1)
	return err == nil && known && index >= 0 && index < count
}

// isInOrder reports whether a numbered child, such as a Pod of a StatefulSet, is one of those
// that the approved content has, of the revision that its update strategy wants.
func (in *Input) isInOrder(m knowledge.Child) bool {
	p := &in.Parent
	ordinal, ok := in.ordinal()
	first, startKnown := p.approvedNumber(m.Ordinals.Start, 0)
	if !ok || !startKnown || ordinal < first {
		return false
	}
	for _, field := range m.Counts {
		if count, known := p.approvedNumber(field, 1); !known || ordinal >= first+count {
			return false
		}
	}
	if !p.differsAt(m.Ordinals.Strategy) {
		return true
	}
	switch kept, known := in.isPartitioned(m.Ordinals); {
	case !known:
		return false
	case kept:
		return in.isOf(p.CurrentRevision, m.Ordinals)
	default:
		// What is made of a withheld template has a newer revision than what was approved.
		return in.isOf(p.UpdateRevision, m.Ordinals) || p.differsAt(m.Template)
	}
}

// ordinal returns the number of a child, by its name.
func (in *Input) ordinal() (int64, bool) {
	number, ok := strings.CutPrefix(in.Child.Name, in.Parent.Name+"-")
	ordinal, err := strconv.ParseInt(number, 10, 64)
	return ordinal, ok && err == nil
}

// isPartitioned reports whether a numbered child is one of those that the approved
// partition keeps at the older revision. It fails where that is not known.
func (in *Input) isPartitioned(o *knowledge.Ordinals) (kept, known bool) {
	ordinal, ok := in.ordinal()
	first, startKnown := in.Parent.approvedNumber(o.Start, 0)
	partition, partitionKnown := in.Parent.approvedNumber(o.Partition, 0)
	return ordinal < first+partition, ok && startKnown && partitionKnown
}

// isOf reports whether the parent has made the child of a revision.
func (in *Input) isOf(revision string, o *knowledge.Ordinals) bool {
	child := in.Child.New
	if child == nil {
		child = in.Child.Old
	}
	value, _ := change.Path{}.Field("metadata").Field("labels").Field(o.Label).Value(child)
	return revision != "" && value == revision
}

// isKept reports whether the child is of the older revision of its parent, and one of those
// that the approved partition keeps at it. Where there is no older one, the present
// template, which is withheld, is that of the only revision.
func (in *Input) isKept(o *knowledge.Ordinals) bool {
	kept, known := in.isPartitioned(o)
	return kept && known && in.isOf(in.Parent.CurrentRevision, o) && in.Parent.CurrentRevision != in.Parent.UpdateRevision
}

// isOfApprovedTemplate reports whether the child is made of the parent's approved
// template: at each place where the present template differs from that, the child has
// what is approved. What it has elsewhere nobody has withheld. One of an older revision that is kept has
// nothing of what is withheld.
func (in *Input) isOfApprovedTemplate(m knowledge.Child) bool {
	if !in.Parent.differsAt(m.Template) {
		return true
	}
	approvedTemplate, _ := m.Template.Value(in.Parent.Standing.Content())
	presentTemplate, _ := m.Template.Value(in.Parent.Standing.Object.Fields)
	t := templates{
		approved: underTemplate(approvedTemplate),
		present:  underTemplate(presentTemplate),
		child:    underTemplate(metadataAndSpec(in.Child.New)),
	}
	differences := change.Find(t.approved, t.present, change.Options{})
	if m.Ordinals != nil && in.isKept(m.Ordinals) {
		// A set that had no Pods when something was withheld may have that in its older revision.
		return !slices.ContainsFunc(differences, t.has)
	}
	return !slices.ContainsFunc(differences, t.carries)
}

// underTemplate has a value under another name than metadata, so that all of it counts.
func underTemplate(v any) map[string]any { return map[string]any{"template": v} }

// underFieldOf has values under the last name of a path, as the name of a list says how its
// items are told apart. At the top some names are of fields that do not count.
func underFieldOf(path change.Path) func(any) map[string]any {
	name := path[len(path)-1].Field
	return func(v any) map[string]any { return underTemplate(map[string]any{name: v}) }
}

// templates are what is approved to make a child of, what is there to make it of, and
// what it is made of.
type templates struct {
	approved, present, child map[string]any
}

// carries reports whether the child has something else than what is approved at the place
// of a difference, apart from what was added to it: API servers, controllers and webhooks
// add to Pods. What the present template has there was not added.
func (t *templates) carries(d change.Change) bool {
	var has any
	if at, found := t.place(d); found {
		has, _ = at.Value(t.child)
	}
	under := underFieldOf(d.Path)
	child, present := under(has), under(d.New)
	return slices.ContainsFunc(change.Find(under(d.Old), child, change.Options{}), func(c change.Change) bool {
		if c.Verb != change.Insert {
			return true
		}
		at, found := change.Follow(c.Path, child, present, nil)
		_, there := at.Value(present)
		return found && there
	})
}

// place returns where the child has what a difference is about. What the present template does
// not have in a list has the index that it has in the approved one.
func (t *templates) place(d change.Change) (change.Path, bool) {
	if !removesItem(d) {
		return change.Follow(d.Path, t.present, t.child, nil)
	}
	last := len(d.Path) - 1
	list, found := change.Follow(d.Path[:last], t.present, t.approved, nil)
	if !found {
		return nil, false
	}
	return change.Follow(append(slices.Clone(list), d.Path[last]), t.approved, t.child, nil)
}
