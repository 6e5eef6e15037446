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
	"encoding/json"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/test/campaign/audit"
)

// mirror is what a record says of the ledger of its object, and of what it counts.
type mirror struct {
	Active        []json.RawMessage `json:"active"`
	ActiveCount   int               `json:"activeCount"`
	WithheldCount int               `json:"withheldCount"`
	Denials       int               `json:"denials"`
	LastDenial    *decision         `json:"lastDenial"`
	LastDecision  *decision         `json:"lastDecision"`
	History       []struct {
		Event string `json:"event"`
		Count int    `json:"count"`
	} `json:"history"`
	PendingGrants []struct {
		Allowances []json.RawMessage `json:"allowances"`
	} `json:"pendingGrants"`
}

// decision is one about a child.
type decision struct {
	deed
	Name string `json:"name"`
}

// checkMirror looks whether the versions of a record say of the ledger of its object what that has had, or was to get, and
// count what they list.
func (c *checker) checkMirror(record *audit.Life) {
	uid, _ := record.First().At("spec", "targetRef", "uid").(string)
	l := c.lives[types.UID(uid)]
	if l == nil || !c.Whole || l.First().Before == nil && !l.First().By.Creates() {
		return
	}
	had := map[string]bool{}
	seen, most := 0, 0
	for _, v := range record.Versions {
		var m mirror
		if len(v.RawStatus) == 0 || v.By.User != c.Operator || json.Unmarshal(v.RawStatus, &m) != nil {
			continue // What does not parse is found where stories are looked at.
		}
		for ; seen < len(l.Versions) && !l.Versions[seen].By.Received.After(v.By.Answered); seen++ {
			addEntries(had, ledgerOf(l.Versions[seen].Object))
		}
		for _, grant := range m.PendingGrants {
			for _, raw := range grant.Allowances {
				had[canonical(raw, true)] = true
			}
		}
		c.checkActive(record, v, &m, had)
		denied := 0
		for _, d := range m.History {
			if d.Event == denials {
				denied += max(1, d.Count)
			}
		}
		if m.Denials < denied || m.Denials < most {
			c.findf(Forged, v.By.Received, record, l, "it counts %d denials, and has had %d, and lists %d; written by %s", m.Denials, most, denied, v.By)
		}
		most = max(most, m.Denials)
	}
}

// checkActive looks whether each allowance that a record lists was in the ledger, and whether it counts them.
func (c *checker) checkActive(record *audit.Life, v *audit.Version, m *mirror, had map[string]bool) {
	withheld := 0
	for _, raw := range m.Active {
		c.report.Entries++
		var e entry
		if json.Unmarshal(raw, &e) == nil && e.Relation == withheldRelation {
			withheld++
		}
		// Pending ones have no generation yet.
		if !had[canonical(raw, false)] && !had[canonical(raw, true)] {
			c.findf(Forged, v.By.Received, record, nil, "it lists %s %s of %s, which the ledger of its object never had; written by %s", e.Kind, e.Mutation, e.Initiator, v.By)
		}
	}
	if m.ActiveCount != len(m.Active)-withheld || m.WithheldCount != withheld {
		c.findf(Forged, v.By.Received, record, nil, "it counts %d allowances and %d withheld changes, and lists %d and %d; written by %s",
			m.ActiveCount, m.WithheldCount, len(m.Active)-withheld, withheld, v.By)
	}
}

// addEntries adds the entries of a ledger to those that there have been.
func addEntries(had map[string]bool, text string) {
	var entries []json.RawMessage
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil || json.Unmarshal(raw, &entries) != nil {
		return // It is found where ledgers are looked at.
	}
	for _, e := range entries {
		had[canonical(e, false)] = true
	}
}

// canonical returns what matters of an entry as one text, with or without where it is.
func canonical(raw json.RawMessage, pending bool) string {
	var e entry
	if json.Unmarshal(raw, &e) != nil {
		return string(raw)
	}
	if pending {
		e.Generation, e.Content = 0, ""
		if n := len(e.Trace); n > 0 {
			e.Trace[n-1].Generation = 0
		}
	}
	text, err := json.Marshal(e)
	if err != nil {
		return string(raw)
	}
	return string(text)
}
