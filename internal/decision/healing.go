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
)

const appsGroup = "apps"

var (
	podKind         = schema.GroupKind{Kind: "Pod"}
	jobKind         = schema.GroupKind{Group: "batch", Kind: "Job"}
	statefulSetKind = schema.GroupKind{Group: appsGroup, Kind: "StatefulSet"}
)

const (
	podTemplateField = "spec.template"
	minReadyField    = "spec.minReadySeconds"
)

// maker is what is known of a kind that makes children of a template: enough to tell,
// while something of it is withheld, whether a new child is as the approved content
// makes it.
type maker struct {
	// child is the kind that it makes, and template where what it makes it of is.
	child    schema.GroupKind
	template string
	// counts are the fields that say how many children there are; one that is left out
	// is one.
	counts []string
	// suspend is the field that stops it, empty where it has none.
	suspend string
	// revised is true where it makes some children of an older template.
	revised bool
	// elsewhere are the fields that do not show in a new child.
	elsewhere []string
}

// makers are the kinds that make children of a template.
var makers = map[schema.GroupKind]maker{
	{Group: appsGroup, Kind: "ReplicaSet"}: {
		child: podKind, template: podTemplateField, counts: []string{"spec.replicas"},
		elsewhere: []string{minReadyField},
	},
	{Kind: "ReplicationController"}: {
		child: podKind, template: podTemplateField, counts: []string{"spec.replicas"},
		elsewhere: []string{minReadyField},
	},
	statefulSetKind: {
		child: podKind, template: podTemplateField, counts: []string{"spec.replicas"}, revised: true,
		elsewhere: []string{
			minReadyField, "spec.ordinals", "spec.persistentVolumeClaimRetentionPolicy", "spec.podManagementPolicy",
			"spec.revisionHistoryLimit", "spec.updateStrategy",
		},
	},
	{Group: appsGroup, Kind: "DaemonSet"}: {
		child: podKind, template: podTemplateField,
		elsewhere: []string{minReadyField, "spec.revisionHistoryLimit", "spec.updateStrategy"},
	},
	jobKind: {
		child: podKind, template: podTemplateField, counts: []string{"spec.parallelism", "spec.completions"}, suspend: "spec.suspend",
		elsewhere: []string{"spec.ttlSecondsAfterFinished"},
	},
	{Group: "batch", Kind: "CronJob"}: {
		child: jobKind, template: "spec.jobTemplate", suspend: "spec.suspend",
		elsewhere: []string{"spec.failedJobsHistoryLimit", "spec.successfulJobsHistoryLimit"},
	},
}

// WithheldCount is how many Pods the parent has by its approved content where something
// of it is withheld and the request creates one: while fewer are alive, it heals. The
// admission webhook finds out whether that is so, and sets Parent.Short. It is false
// where the number is as approved.
func (in *Input) WithheldCount() (int64, bool) {
	if in.ParentState != ParentFound || in.Operation != Create || in.Child.GVK.GroupKind() != podKind || !in.Parent.isWithheld() {
		return 0, false
	}
	least, found := int64(0), false
	for _, field := range makers[in.Parent.GVK.GroupKind()].counts {
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
func (p *Parent) differsAt(field string) bool {
	path, err := change.ParsePath(field)
	if err != nil {
		return false
	}
	for _, d := range p.Standing.Differences {
		if d.Counts && d.Path.Overlaps(path) {
			return true
		}
	}
	return false
}

// approvedValue is what the approved content has in a field, nil for nothing. It fails
// where that is not known, as the value, or one above it, is not kept.
func (p *Parent) approvedValue(field string) (any, bool) {
	path, err := change.ParsePath(field)
	if err != nil {
		return nil, false
	}
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

// approvedNumber is a number of the approved content, missing where it has none. It
// fails where that is not known.
func (p *Parent) approvedNumber(field string, missing int64) (int64, bool) {
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
func (p *Parent) mayGoOn(m maker) bool {
	if m.suspend == "" {
		return true
	}
	value, known := p.approvedValue(m.suspend)
	suspended, isBool := value.(bool)
	return known && (value == nil || isBool && !suspended)
}

// carriesNothingWithheld reports whether the act is the creation of a child that the
// parent's approved content makes (D2): of the approved template, no more of them than
// were approved, and not while the parent is suspended. Of kinds of which nothing is
// known nobody can tell.
func (in *Input) carriesNothingWithheld(act Act) bool {
	m, known := makers[in.Parent.GVK.GroupKind()]
	if !known || act.Operation != Create || in.Child.GVK.GroupKind() != m.child {
		return false
	}
	return !in.showsElsewhere(m) && in.isDue(m) && in.isOfApprovedTemplate(m)
}

// showsElsewhere reports whether a withheld change may show in the child in a way that
// cannot be checked.
func (in *Input) showsElsewhere(m maker) bool {
	named := slices.Concat(m.counts, m.elsewhere, []string{m.template, m.suspend, "metadata"})
	return slices.ContainsFunc(in.Parent.Standing.Withheld(), func(d approved.Difference) bool {
		return !slices.ContainsFunc(named, func(field string) bool {
			path, err := change.ParsePath(field)
			return err == nil && path.Overlaps(d.Path)
		})
	})
}

// isDue reports whether the approved content has room for another child.
func (in *Input) isDue(m maker) bool {
	if !in.Parent.mayGoOn(m) || in.Parent.surges() {
		return false
	}
	for _, field := range m.counts {
		if !in.Parent.differsAt(field) {
			continue
		}
		if _, ok := in.Parent.approvedNumber(field, 1); !ok || !in.Parent.Short {
			return false
		}
	}
	switch in.Parent.GVK.GroupKind() {
	case statefulSetKind:
		return in.isInOrder()
	case jobKind:
		return in.isToBeCompleted()
	default:
		return true
	}
}

// surges reports whether Pods come beside those that they replace, by an update strategy
// that is withheld.
func (p *Parent) surges() bool {
	const field = "spec.updateStrategy.rollingUpdate.maxSurge"
	path, err := change.ParsePath(field)
	if err != nil {
		return true
	}
	switch surge, _ := path.Value(p.Standing.Object.Fields); surge {
	case nil, int64(0), "0", "0%":
		return false
	default:
		return p.differsAt("spec.updateStrategy.type") || p.differsAt(field)
	}
}

// isToBeCompleted reports whether a Pod of a Job is one of those that the approved content
// completes. Pods that have ended are not alive, so that their number does not tell.
func (in *Input) isToBeCompleted() bool {
	if !in.Parent.differsAt("spec.completions") {
		return true
	}
	value, _ := change.Path{}.Field("metadata").Field("annotations").Field(completionIndex).Value(in.Child.New)
	text, _ := value.(string)
	index, err := strconv.ParseInt(text, 10, 64)
	count, known := in.Parent.approvedNumber("spec.completions", 1)
	return err == nil && known && index >= 0 && index < count
}

// completionIndex is the annotation of a Pod of an Indexed Job that says which one it is.
const completionIndex = "batch.kubernetes.io/job-completion-index"

// isInOrder reports whether a Pod of a StatefulSet is one of those that the approved
// content has, of the revision that its update strategy wants.
func (in *Input) isInOrder() bool {
	p := &in.Parent
	ordinal, ok := in.ordinal()
	first, startKnown := p.approvedNumber("spec.ordinals.start", 0)
	count, countKnown := p.approvedNumber("spec.replicas", 1)
	if !ok || !startKnown || !countKnown || ordinal < first || ordinal >= first+count {
		return false
	}
	if !p.differsAt("spec.updateStrategy") {
		return true
	}
	switch kept, known := in.isPartitioned(); {
	case !known:
		return false
	case kept:
		return in.isOf(p.CurrentRevision)
	default:
		// What is made of a withheld template has a newer revision than what was approved.
		return in.isOf(p.UpdateRevision) || p.differsAt(podTemplateField)
	}
}

// ordinal is the number of a Pod of a StatefulSet, by its name.
func (in *Input) ordinal() (int64, bool) {
	number, ok := strings.CutPrefix(in.Child.Name, in.Parent.Name+"-")
	ordinal, err := strconv.ParseInt(number, 10, 64)
	return ordinal, ok && err == nil
}

// isPartitioned reports whether a Pod of a StatefulSet is one of those that the approved
// partition keeps at the older revision. It fails where that is not known.
func (in *Input) isPartitioned() (kept, known bool) {
	ordinal, ok := in.ordinal()
	first, startKnown := in.Parent.approvedNumber("spec.ordinals.start", 0)
	partition, partitionKnown := in.Parent.approvedNumber("spec.updateStrategy.rollingUpdate.partition", 0)
	return ordinal < first+partition, ok && startKnown && partitionKnown
}

// isOf reports whether a StatefulSet has made the Pod of a revision.
func (in *Input) isOf(revision string) bool {
	return revision != "" && in.revision() == revision
}

// isKept reports whether the Pod is of the older revision of a StatefulSet, and one of
// those that the approved partition keeps at it. Where there is no older one, the
// present template, which is withheld, is that of the only revision.
func (in *Input) isKept() bool {
	kept, known := in.isPartitioned()
	return kept && known && in.isOf(in.Parent.CurrentRevision) && in.Parent.CurrentRevision != in.Parent.UpdateRevision
}

// revision is the one that a StatefulSet has made the Pod of.
func (in *Input) revision() string {
	value, _ := change.Path{}.Field("metadata").Field("labels").Field("controller-revision-hash").Value(in.Child.New)
	revision, _ := value.(string)
	return revision
}

// isOfApprovedTemplate reports whether the child is made of the parent's approved
// template: at each place where the present template differs from that, the child has
// what is approved. What it has elsewhere nobody has withheld.
func (in *Input) isOfApprovedTemplate(m maker) bool {
	if !in.Parent.differsAt(m.template) {
		return true
	}
	if m.revised && in.isKept() {
		return true
	}
	path, err := change.ParsePath(m.template)
	if err != nil {
		return false
	}
	approvedTemplate, _ := path.Value(in.Parent.Standing.Content())
	presentTemplate, _ := path.Value(in.Parent.Standing.Object.Fields)
	t := templates{
		approved: underTemplate(approvedTemplate),
		present:  underTemplate(presentTemplate),
		child:    underTemplate(map[string]any{"metadata": in.Child.New["metadata"], "spec": in.Child.New["spec"]}),
	}
	return !slices.ContainsFunc(change.Find(t.approved, t.present, change.Options{}), t.carries)
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

// place is where the child has what a difference is about. What the present template does
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
