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
	"strings"

	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/policylog"
)

// checkAttachments looks for objects that got a parent which bounds them, by who may not begin anything with
// them: the phase, the allowances and the initiators of that parent would count for what is somebody else's.
// Whoever carries out what the parent says takes what it selects, and that is a stray.
func (c *checker) checkAttachments() {
	for _, l := range c.all {
		if controllers[l.First().Kind] == "" {
			continue
		}
		for _, v := range l.Versions[1:] {
			if v.Deleting || slices.ContainsFunc(v.Writers(), carriesOut) || c.excused(v.By, l) {
				continue
			}
			for _, o := range v.Owners {
				if slices.ContainsFunc(v.Before.Owners, func(was audit.Owner) bool { return was.UID == o.UID }) || !c.bounds(c.lives[o.UID], v.By) {
					continue
				}
				if !c.saysWho(l, v) || slices.ContainsFunc(v.Writers(), func(w *audit.Write) bool { return c.initiatesOn(l, w) }) {
					continue
				}
				c.findf(Attached, v.By.Received, l, c.lives[o.UID], "%s gives it the parent %s", v.By, c.lives[o.UID])
			}
		}
	}
}

// saysWho reports whether policies that surely were in effect for an object say who may begin something with it.
func (c *checker) saysWho(l *audit.Life, v *audit.Version) bool {
	from, to := v.By.Received.Add(-lag), v.By.Answered
	return !c.disturbed(l, from.Add(-policylog.Moment), to) &&
		slices.ContainsFunc(c.rulesOf(l).During(v.Kind, v.Before.Controller() != nil, from, to), (*policylog.Policy).Initiates)
}

// carriesOut reports whether a request is by a controller.
func carriesOut(w *audit.Write) bool { return strings.HasPrefix(w.User, serviceAccounts) }
