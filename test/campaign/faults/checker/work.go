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

	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/policylog"
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
		if c.final[l.UID] == nil {
			continue
		}
		want := c.wanted(l)
		got := running[l.UID]
		if got.others != "" || got.count != want.replicas || want.replicas > 0 && got.image != want.image {
			c.findf(Undone, seenAt(l), l.String(), "%d of %s are wanted, there are %d of %s%s", want.replicas, want.image, got.count, got.image, got.others)
		}
	}
}

// wanted returns what those who may have last asked for. Where no policy is in effect everybody
// may, and so may who creates something.
func (c *checker) wanted(l *audit.Life) legitimate {
	var want legitimate
	for _, v := range l.Versions {
		may := v.Before == nil || slices.ContainsFunc(v.Writers(), func(w *audit.Write) bool {
			rules := c.rules.Ever(v.Kind, w.Received.Add(-lag), w.Answered)
			return len(rules) == 0 || policylog.Knows(rules, w, true)
		})
		if !may {
			continue
		}
		for _, ch := range append(changes(v), approvedOf(v.By)...) {
			if v.Before == nil || audit.Related(ch.Path, templatePath) {
				want.image = image(v.Object)
			}
			if v.Before == nil || audit.Related(ch.Path, replicasPath) {
				want.replicas = v.Replicas()
			}
		}
	}
	return want
}

// approvedOf returns what a request approves of, as if it had changed that.
func approvedOf(w *audit.Write) []audit.Change {
	var out []audit.Change
	for _, path := range w.Approved() {
		if path == "*" {
			return []audit.Change{{}} // All of it.
		}
		out = append(out, audit.Change{Path: policylog.PathOf(path)})
	}
	return out
}

// pool are the Pods of a Deployment that are there to stay.
type pool struct {
	image  string
	count  int64
	others string
}

// running returns the Pods of Deployments at the end.
func (c *checker) running() map[types.UID]pool {
	out := map[types.UID]pool{}
	for _, obj := range c.final {
		if obj.Kind != kinds[pods] || obj.Deleting {
			continue
		}
		rs := c.final[ownerUID(obj)]
		if rs == nil {
			continue
		}
		p := out[ownerUID(rs)]
		if p.count > 0 && p.image != image(obj) {
			p.others += " and one of " + image(obj)
		} else {
			p.image = image(obj)
			p.count++
		}
		out[ownerUID(rs)] = p
	}
	return out
}

// stored returns the objects of a kind that are there at the end, in some order that stays.
func (c *checker) stored(kind string) []*audit.Object {
	var out []*audit.Object
	for _, obj := range c.final {
		if obj.Kind == kind {
			out = append(out, obj)
		}
	}
	slices.SortFunc(out, func(a, b *audit.Object) int {
		if a.UID < b.UID {
			return -1
		}
		return 1
	})
	return out
}
