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

package checker

import (
	"maps"
	"slices"
	"strings"

	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/policylog"
)

// checkDeputies looks at who made autoscalers, and who changed what they do: what they scale they
// scale in their own name, which policies know, so that nobody may make them who may not scale
// that.
func (c *checker) checkDeputies() {
	for _, l := range c.all {
		if l.First().Kind != kinds[autoscalers] {
			continue
		}
		for _, v := range l.Versions {
			w := v.By
			if c.keepsAlive(w) || w.Subresource != "" || v.Before == nil && !w.Creates() {
				continue
			}
			if v.Before == nil || len(audit.ContentChanges(v.Before.Object, v.Object)) > 0 {
				c.checkDeputy(l, v)
			}
		}
	}
}

// scaledBy returns what a version of an autoscaler scales.
func scaledBy(v *audit.Version) (kind, name string) {
	kind, _ = v.At("spec", "scaleTargetRef", "kind").(string)
	if i := slices.IndexFunc(kindNames, func(known string) bool { return strings.EqualFold(known, kind) }); i >= 0 {
		kind = kindNames[i] // An autoscaler takes it in lower case, too.
	}
	name, _ = v.At("spec", "scaleTargetRef", "name").(string)
	return kind, name
}

func (c *checker) checkDeputy(l *audit.Life, v *audit.Version) {
	w := v.By
	kind, name := scaledBy(v)
	c.checkGoesOn(l, v, kind, name)
	// Of an object that is to come nobody knows what it will be like.
	mayNot := func(rules policylog.Log, target *audit.Object) bool {
		return len(rules.During(kind, false, w.Received.Add(-lag), w.Answered)) > 0 && !initiatesWith(rules.Ever(kind, w.Received.Add(-lag), w.Answered), w, target, numbers)
	}
	later := mayNot(c.rulesIn(v.Namespace), nil)
	for _, target := range c.byName[kind+"/"+v.Namespace+"/"+name] {
		if !target.GoneBefore(w.Received.Add(-lag)) && !target.First().By.Received.After(w.Answered) {
			later = false
		}
		// Who made it may while it is new.
		if target.GoneBefore(w.Received) || target.First().By.Received.After(w.Answered) ||
			slices.ContainsFunc(target.First().Writers(), func(by *audit.Write) bool { return by.User == w.User }) || !mayNot(c.rulesOf(target), target.FoundAt(w.Answered).Object) {
			continue
		}
		c.delegated(l, w, target)
	}
	if later { // It will scale what comes by that name.
		c.delegated(l, w, nil)
	}
}

// delegated notes that somebody has an autoscaler scale something who may not.
func (c *checker) delegated(l *audit.Life, w *audit.Write, target *audit.Life) {
	c.report.Children[deputy]++
	about := target
	if about == nil {
		about = l
	}
	if c.excused(w, about) {
		c.report.Known[Unasked]++
		return
	}
	c.findf(Uncovered, w.Received, l, target, "%s makes an autoscaler scale it, who may not", w.User)
}

// kindNames are the kinds that the checker knows.
var kindNames = slices.Sorted(maps.Values(kinds))

// numbers is the field that an autoscaler writes.
var numbers = []string{"spec", "replicas"}

// deputy is what autoscalers count as.
const deputy = "autoscaler"
