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

package explain

import (
	"context"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/knowledge"
	"kausality.io/operator/internal/policy"
)

// KnownKind is what Kausality knows of a kind.
type KnownKind struct {
	// Kind of the objects.
	Kind v1alpha1.ParentKind `json:"kind"`
	// Knowledge is what is known, nil for nothing.
	Knowledge *v1alpha1.Knowledge `json:"knowledge,omitempty"`
	// From are who says it, by the fields of Knowledge: "built in", or the name of a policy.
	From map[string]string `json:"from,omitempty"`
	// Upgrades are the UpgradeAllowances that would let through changes of its children.
	Upgrades []Upgrade `json:"upgrades,omitempty"`
	// Note says what could not be read.
	Note string `json:"note,omitempty"`
}

const fromBuiltIn = "built in"

// readKind reads what is known of a kind.
func readKind(ctx context.Context, c *cluster.Cluster, name string) (*KnownKind, error) {
	gvk, err := c.Kind(name)
	if err != nil {
		return nil, err
	}
	policies, err := c.Policies(ctx)
	if err != nil {
		return nil, err
	}
	all := policies.For(gvk.GroupKind())
	known := policy.Known(gvk.GroupKind(), all)
	if len(all) == 0 {
		known = knowledge.BuiltIn(gvk.GroupKind(), c.Categories(gvk.GroupKind())...)
	}
	out := knownKind(v1alpha1.ParentKind{APIGroup: gvk.Group, APIVersion: gvk.Version, Kind: gvk.Kind}, all, known)
	upgrades, err := c.Upgrades(ctx)
	if err != nil {
		out.Note = upgradesUntold(err)
	}
	out.Upgrades = upgradesFor(all, upgrades)
	return out, nil
}

// knownKind says who says what is known of a kind. policies are all for it, the oldest first.
func knownKind(kind v1alpha1.ParentKind, policies []*policy.Policy, known *knowledge.Kind) *KnownKind {
	out := &KnownKind{Kind: kind, Knowledge: known.Source(), From: map[string]string{}}
	for field := range knowledge.Said(known.Source()) {
		out.From[field] = fromBuiltIn
		if p := policy.Deciding(policies, policy.KnowledgeField(field)); p != nil {
			out.From[field] = p.Name
		}
	}
	return out
}

// text shows what is known, and which upgrades are agreed to.
func (k *KnownKind) text() string {
	text := k.knowledgeText() + upgradesText(k.Upgrades)
	if k.Note != "" {
		text += "\n" + k.Note + "\n"
	}
	return text
}

// knowledgeText shows what is known in the form of spec.knowledge, field by field, with who says it.
func (k *KnownKind) knowledgeText() string {
	name := k.Kind.Kind
	if k.Kind.APIGroup != "" {
		name += " of " + k.Kind.APIGroup
	}
	if k.Knowledge == nil {
		return fmt.Sprintf("Nothing is known of %s but what its definition says. spec.knowledge of an AllowancePolicy for it says more.\n", name)
	}
	encoded, err := yaml.Marshal(k.Knowledge)
	if err != nil {
		// It is made of strings, booleans, and lists and maps of them.
		panic("explain: knowledge that cannot be encoded: " + err.Error())
	}
	var b strings.Builder
	fmt.Fprintf(&b, "What is known of %s, as spec.knowledge of an AllowancePolicy would say it:\n\n", name)
	for line := range strings.Lines(string(encoded)) {
		field, _, isField := strings.Cut(line, ":")
		if from := k.From[field]; isField && from != "" {
			if from != fromBuiltIn {
				from = "AllowancePolicy " + from
			}
			fmt.Fprintf(&b, "# %s\n", from)
		}
		b.WriteString(line)
	}
	return b.String()
}
