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

package record

import (
	"slices"
	"strings"
	"unicode/utf8"

	"kausality.io/operator/api/v1alpha1"
)

// What a record says of a request is bounded, as requests are not: a path has the
// keys of maps in it, and an attestation can be anything.
const (
	// maxMessage limits the length of a message in a record, in bytes.
	maxMessage = 2048
	// maxText limits the length of a path or an attestation in a record, in bytes.
	maxText = 256
	// maxItems is how many paths, names, policies and hops are told.
	maxItems = 16
	// maxRawLedger limits the length of a raw ledger in a record, in bytes.
	maxRawLedger = 32768
)

// shortened returns an entry within the bounds.
func shortened(e v1alpha1.HistoryEntry) v1alpha1.HistoryEntry {
	e.Message = cut(e.Message, maxMessage)
	most := maxItems
	if isOfFields(e.Event) {
		most = maxFields
	}
	e.Paths, e.Names, e.Policies = shortList(e.Paths, most), shortTexts(e.Names), shortTexts(e.Policies)
	e.Trace, e.Versions = shortTrace(e.Trace), shortVersions(e.Versions)
	e.ChildInitiators, e.LettingGo = shortTexts(e.ChildInitiators), shortTexts(e.LettingGo)
	return e
}

// shortDecision returns a decision within the bounds.
func shortDecision(d v1alpha1.Decision) v1alpha1.Decision {
	d.Message = cut(d.Message, maxMessage)
	d.Paths, d.Policies = shortTexts(d.Paths), shortTexts(d.Policies)
	d.Trace, d.Versions = shortTrace(d.Trace), shortVersions(d.Versions)
	d.ChildInitiators, d.LettingGo = shortTexts(d.ChildInitiators), shortTexts(d.LettingGo)
	return d
}

// shortVersions leaves out what is too long rather than cut it: half a name names another version.
func shortVersions(versions []v1alpha1.RequestVersion) []v1alpha1.RequestVersion {
	isLong := func(v v1alpha1.RequestVersion) bool { return len(v.Version) > maxText }
	if len(versions) <= maxItems && !slices.ContainsFunc(versions, isLong) {
		return versions
	}
	out := slices.DeleteFunc(slices.Clone(versions), isLong)
	return out[:min(len(out), maxItems)]
}

func shortTexts(texts []string) []string { return shortList(texts, maxItems) }

// shortList returns at most so many of some texts, none of them too long.
func shortList(texts []string, most int) []string {
	texts = texts[:min(len(texts), most)]
	for i, text := range texts {
		if len(text) > maxText {
			out := make([]string, 0, len(texts))
			out = append(out, texts[:i]...)
			for _, long := range texts[i:] {
				out = append(out, cut(long, maxText))
			}
			return out
		}
	}
	return texts
}

// shortTrace keeps the end of a trace where it is too long, as it is nearest to
// what happened.
func shortTrace(trace []v1alpha1.TraceHop) []v1alpha1.TraceHop {
	trace = trace[max(0, len(trace)-maxItems):]
	out := make([]v1alpha1.TraceHop, 0, len(trace))
	for _, hop := range trace {
		hop = *hop.DeepCopy()
		hop.Field = cut(hop.Field, maxText)
		for path, value := range hop.Attestations {
			hop.Attestations[path] = cut(value, maxText)
		}
		out = append(out, hop)
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// Raw returns a ledger that could not be read, as a record keeps it.
func Raw(text string) string {
	return cut(strings.ToValidUTF8(text, "\uFFFD"), maxRawLedger)
}

// cut shortens a text to at most n bytes, between two characters.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
