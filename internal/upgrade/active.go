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
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// Active holds those UpgradeAllowances that let something through. Its zero value has none. It
// is safe for concurrent use.
type Active struct {
	byUser atomic.Pointer[map[string][]*Allowance]
	// setting has one at a time set them, and guards onCome.
	setting sync.Mutex
	onCome  []func()
}

// Any reports whether there are any. A nil Active has none.
func (a *Active) Any() bool {
	if a == nil {
		return false
	}
	byUser := a.byUser.Load()
	return byUser != nil && len(*byUser) > 0
}

// OnCome has come called whenever there is one, or a generation of one, that was not there before,
// after requests are asked about it, and at once where there are some already. A nil Active never
// calls it.
func (a *Active) OnCome(come func()) {
	if a == nil {
		return
	}
	a.setting.Lock()
	defer a.setting.Unlock()
	a.onCome = append(a.onCome, come)
	if a.Any() {
		come()
	}
}

// For returns the UpgradeAllowances for the versions of a user, by name. The slice must not be changed. A nil
// Active has none.
func (a *Active) For(user string) []*Allowance {
	if a == nil {
		return nil
	}
	if byUser := a.byUser.Load(); byUser != nil {
		return (*byUser)[user]
	}
	return nil
}

// Selecting returns those that select a parent with these labels, in a namespace with those, in
// the order of users and names.
func (a *Active) Selecting(object, namespace map[string]string) []*Allowance {
	if a == nil {
		return nil
	}
	byUser := a.byUser.Load()
	if byUser == nil {
		return nil
	}
	var out []*Allowance
	for _, user := range slices.Sorted(maps.Keys(*byUser)) {
		for _, each := range (*byUser)[user] {
			if each.Selects(object, namespace) {
				out = append(out, each)
			}
		}
	}
	return out
}

// Set replaces them for all requests that begin after it.
func (a *Active) Set(allowances []*Allowance) {
	a.setting.Lock()
	defer a.setting.Unlock()
	come := slices.ContainsFunc(allowances, func(each *Allowance) bool {
		return !slices.ContainsFunc(a.For(each.User), func(old *Allowance) bool { return old.ID() == each.ID() })
	})
	byUser := map[string][]*Allowance{}
	for _, each := range allowances {
		byUser[each.User] = append(byUser[each.User], each)
	}
	for _, each := range byUser {
		slices.SortFunc(each, func(x, y *Allowance) int { return cmp.Compare(x.Name, y.Name) })
	}
	a.byUser.Store(&byUser)
	if !come {
		return
	}
	for _, each := range a.onCome {
		each()
	}
}
