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

var (
	podKind         = schema.GroupKind{Kind: "Pod"}
	jobKind         = schema.GroupKind{Group: "batch", Kind: "Job"}
	statefulSetKind = schema.GroupKind{Group: "apps", Kind: "StatefulSet"}
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
	{Group: "apps", Kind: "ReplicaSet"}: {
		child: podKind, template: "spec.template", counts: []string{"spec.replicas"},
		elsewhere: []string{"spec.minReadySeconds"},
	},
	{Kind: "ReplicationController"}: {
		child: podKind, template: "spec.template", counts: []string{"spec.replicas"},
		elsewhere: []string{"spec.minReadySeconds"},
	},
	statefulSetKind: {
		child: podKind, template: "spec.template", counts: []string{"spec.replicas"}, revised: true,
		elsewhere: []string{
			"spec.minReadySeconds", "spec.ordinals", "spec.persistentVolumeClaimRetentionPolicy", "spec.podManagementPolicy",
			"spec.revisionHistoryLimit", "spec.updateStrategy",
		},
	},
	{Group: "apps", Kind: "DaemonSet"}: {
		child: podKind, template: "spec.template",
		elsewhere: []string{"spec.minReadySeconds", "spec.revisionHistoryLimit", "spec.updateStrategy"},
	},
	jobKind: {
		child: podKind, template: "spec.template", counts: []string{"spec.parallelism", "spec.completions"}, suspend: "spec.suspend",
		elsewhere: []string{"spec.activeDeadlineSeconds", "spec.ttlSecondsAfterFinished"},
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

// approvedValue is what the approved content has in a field.
func (p *Parent) approvedValue(field string) any {
	path, err := change.ParsePath(field)
	if err != nil {
		return nil
	}
	value, _ := path.Value(p.Standing.Content())
	return value
}

// approvedNumber is a number of the approved content, missing where it has none. It
// fails where that is not known.
func (p *Parent) approvedNumber(field string, missing int64) (int64, bool) {
	switch v := p.approvedValue(field).(type) {
	case nil:
		return missing, true
	case int64:
		return v, true
	default:
		return 0, false
	}
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

// showsElsewhere reports whether something is withheld of which nobody can tell whether
// it shows in the child.
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
	if suspended, _ := in.Parent.approvedValue(m.suspend).(bool); suspended {
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
	return in.Parent.GVK.GroupKind() != statefulSetKind || in.isInOrder()
}

// isInOrder reports whether a Pod of a StatefulSet is one of those that the approved
// content has, of the revision that its partition wants.
func (in *Input) isInOrder() bool {
	p := &in.Parent
	number, ok := strings.CutPrefix(in.Child.Name, p.Name+"-")
	ordinal, err := strconv.ParseInt(number, 10, 64)
	first, startKnown := p.approvedNumber("spec.ordinals.start", 0)
	count, countKnown := p.approvedNumber("spec.replicas", 1)
	if !ok || err != nil || !startKnown || !countKnown || ordinal < first || ordinal >= first+count {
		return false
	}
	// What an approved partition keeps at the older revision does not get the newer one.
	return !p.differsAt("spec.updateStrategy") || p.UpdateRevision == p.CurrentRevision ||
		!in.isPartitioned() || in.revision() != p.UpdateRevision
}

// isPartitioned reports whether a Pod of a StatefulSet is one of those that the approved
// partition keeps at the older revision.
func (in *Input) isPartitioned() bool {
	number, _ := strings.CutPrefix(in.Child.Name, in.Parent.Name+"-")
	ordinal, err := strconv.ParseInt(number, 10, 64)
	first, startKnown := in.Parent.approvedNumber("spec.ordinals.start", 0)
	partition, known := in.Parent.approvedNumber("spec.updateStrategy.rollingUpdate.partition", 0)
	return err == nil && startKnown && known && ordinal < first+partition
}

// revision is the one that a StatefulSet has made the Pod of.
func (in *Input) revision() string {
	value, _ := change.Path{}.Field("metadata").Field("labels").Field("controller-revision-hash").Value(in.Child.New)
	revision, _ := value.(string)
	return revision
}

// isOfApprovedTemplate reports whether undoing what is withheld of the parent's template
// would leave the child as it is.
func (in *Input) isOfApprovedTemplate(m maker) bool {
	if !in.Parent.differsAt(m.template) {
		return true
	}
	if m.revised && in.isPartitioned() && in.revision() != "" && in.revision() == in.Parent.CurrentRevision {
		return true
	}
	path, err := change.ParsePath(m.template)
	if err != nil {
		return false
	}
	approvedTemplate, _ := path.Value(in.Parent.Standing.Content())
	presentTemplate, _ := path.Value(in.Parent.Standing.Object.Fields)
	// Under another name than metadata all of it counts.
	wrap := func(v any) map[string]any { return map[string]any{"template": v} }
	child := wrap(map[string]any{"metadata": in.Child.New["metadata"], "spec": in.Child.New["spec"]})
	present := wrap(presentTemplate)
	undone := change.Merge(child, present, wrap(approvedTemplate), nil, nil)
	return !slices.ContainsFunc(change.Find(child, undone, change.Options{}), func(c change.Change) bool {
		return !isAddedTo(c, child, present)
	})
}

// isAddedTo reports whether undoing takes out what the child has beyond its template: API
// servers, controllers and webhooks add to Pods. What the present template has was not
// added to it.
func isAddedTo(c change.Change, child, present map[string]any) bool {
	if c.Verb != change.Delete {
		return false
	}
	path, found := change.Follow(c.Path, child, present, nil)
	if !found {
		return true
	}
	_, has := path.Value(present)
	return !has
}
