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
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// legitimate is what those who may have last wanted of a Deployment.
type legitimate struct {
	image    string
	replicas int64
}

// checkWork looks whether what is there at the end is what those who may have wanted.
func (c *checker) checkWork() {
	running := c.running()
	for _, l := range c.of(deployments) {
		if c.final[l.uid] == nil {
			continue
		}
		want := c.wanted(l)
		got := running[l.uid]
		if got.others != "" || got.count != want.replicas || want.replicas > 0 && got.image != want.image {
			c.findf(Undone, seenAt(l), l.name(), "%d of %s are wanted, there are %d of %s%s", want.replicas, want.image, got.count, got.image, got.others)
		}
	}
}

// wanted is what those who may have last asked for. Where no policy is in effect everybody
// may, and so may who creates something.
func (c *checker) wanted(l *life) legitimate {
	var want legitimate
	for _, v := range l.versions {
		may := v.before == nil || slices.ContainsFunc(v.writers(), func(w *write) bool {
			rules := c.rules.ever(v.Kind, w.Received.Add(-lag), w.Answered)
			return len(rules) == 0 || mayInitiate(rules, w.User, w.Groups)
		})
		if !may {
			continue
		}
		approves := v.by.Said.Annotations[approveKey] != nil
		for _, ch := range v.changes() {
			if approves || v.before == nil || related(ch.path, "spec.template") {
				want.image = v.image()
			}
			if approves || v.before == nil || related(ch.path, "spec.replicas") {
				want.replicas = v.replicas()
			}
		}
		if approves {
			want = legitimate{v.image(), v.replicas()}
		}
	}
	return want
}

// pool are the Pods of a Deployment that are there to stay.
type pool struct {
	image  string
	count  int64
	others string
}

// running are the Pods of Deployments at the end.
func (c *checker) running() map[types.UID]pool {
	out := map[types.UID]pool{}
	for _, obj := range c.final {
		if obj.Kind != kinds[pods] || obj.Metadata.DeletionTimestamp != nil {
			continue
		}
		rs := c.final[obj.ownerUID()]
		if rs == nil {
			continue
		}
		p := out[rs.ownerUID()]
		if p.count > 0 && p.image != obj.image() {
			p.others += " and one of " + obj.image()
		} else {
			p.image = obj.image()
			p.count++
		}
		out[rs.ownerUID()] = p
	}
	return out
}

// stored are the objects of a kind that are there at the end, in some order that stays.
func (c *checker) stored(kind string) []*object {
	var out []*object
	for _, obj := range c.final {
		if obj.Kind == kind {
			out = append(out, obj)
		}
	}
	slices.SortFunc(out, func(a, b *object) int {
		if a.Metadata.UID < b.Metadata.UID {
			return -1
		}
		return 1
	})
	return out
}
