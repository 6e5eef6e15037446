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

package convert

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"

	"kausality.io/operator/api/v1alpha1"
)

// lengthen writes out what is written in short in a spec of Kausality: one item in
// place of a list, names in place of subjects, paths in place of mutations, and entries
// without a relation.
func (c *converter) lengthen(spec map[string]any) {
	if spec["subjects"] != nil {
		spec["subjects"] = c.subjects(list(spec["subjects"]), "spec.subjects")
	}
	for _, section := range []string{"initializing", "deleting", "maintaining"} {
		if fields, ok := spec[section].(map[string]any); ok {
			c.entries(fields, "spec."+section)
		}
	}
	lists(spec, "rules", "validationActions")
	c.each(spec, "spec", "rules", c.entries)
}

// lengthenUpgrade writes out what is written in short in the spec of an UpgradeAllowance.
func (c *converter) lengthenUpgrade(spec map[string]any) {
	lists(spec, "triggers", "versions")
	c.entries(spec, "spec")
}

// entries writes out the entries of a section or a rule, or of an UpgradeAllowance.
func (c *converter) entries(parent map[string]any, path string) {
	lists(parent, "conditions", "capture", "policies")
	c.each(parent, path, "policies", func(entry map[string]any, path string) {
		lists(entry, "verbs", "conditions", "mutations")
		if entry["subjects"] != nil {
			entry["subjects"] = c.subjects(list(entry["subjects"]), path+".subjects")
		}
		if entry["relation"] == nil {
			entry["relation"] = string(relationOf(entry["target"]))
		}
		c.mutations(entry, path)
	})
}

// relationOf returns what a target can only have.
func relationOf(target any) v1alpha1.Relation {
	if fields, ok := target.(map[string]any); ok && fields["external"] != nil {
		return v1alpha1.RelationExternal
	}
	return v1alpha1.RelationControllerChild
}

// lists makes lists of the fields that are given as one item.
func lists(m map[string]any, names ...string) {
	for _, name := range names {
		if m[name] != nil {
			m[name] = list(m[name])
		}
	}
}

// verbsOf are the verbs of what is done to a whole object.
var verbsOf = map[string]string{
	v1alpha1.MutationCreateObject: "Create",
	v1alpha1.MutationDeleteObject: "Delete",
}

// mutations writes out the mutations of an entry that are given as names: paths of
// fields, and what is done to the whole object or to an external system, which is a
// verb.
func (c *converter) mutations(entry map[string]any, path string) {
	external := entry["relation"] == string(v1alpha1.RelationExternal)
	verbs := list(entry["verbs"])
	var fields []any
	short := false
	for i, m := range list(entry["mutations"]) {
		name, isName := m.(string)
		short = short || isName
		verb := verbsOf[name]
		if external {
			verb = name
		}
		switch {
		case !isName:
			fields = append(fields, m)
		case name == "":
			c.losef(fmt.Sprintf("%s.mutations[%d]", path, i), "it names nothing")
		case verb != "":
			verbs = append(verbs, verb)
		default:
			fields = append(fields, map[string]any{"jsonPath": name})
			verbs = append(verbs, "Update")
		}
	}
	if !short {
		return
	}
	entry["mutations"], entry["verbs"] = fields, once(verbs)
	for _, name := range []string{"mutations", "verbs"} {
		if items, ok := entry[name].([]any); ok && len(items) == 0 {
			delete(entry, name)
		}
	}
}

// once leaves out what comes again.
func once(items []any) []any {
	var out []any
	for _, item := range items {
		if !slices.Contains(out, item) {
			out = append(out, item)
		}
	}
	return out
}

// groupNames are groups that a single name stands for.
var groupNames = []string{user.AllAuthenticated, user.AllUnauthenticated, user.SystemPrivilegedGroup, user.NodesGroup, user.MonitoringGroup}

// subjects writes out the subjects that are given as names.
func (c *converter) subjects(subjects []any, path string) []any {
	out := make([]any, 0, len(subjects))
	for i, s := range subjects {
		at := fmt.Sprintf("%s[%d]", path, i)
		name, isName := s.(string)
		switch {
		case !isName:
			out = append(out, s)
		case name == "":
			c.losef(at, "it names nobody")
		default:
			out = append(out, c.subject(name, at))
		}
	}
	return out
}

// subject returns the subject that a name stands for, as user names and groups are written
// in requests.
func (c *converter) subject(name, path string) map[string]any {
	if namespace, account, err := serviceaccount.SplitUsername(name); err == nil {
		out := subjectOf(v1alpha1.SubjectServiceAccount, account)
		out["namespace"] = namespace
		return out
	}
	if slices.Contains(groupNames, name) || strings.HasPrefix(name, serviceaccount.AllServiceAccountsGroup) {
		return subjectOf(v1alpha1.SubjectGroup, name)
	}
	c.notef(path, "%s is taken for a user; write it in full, with kind: Group, if it is none", name)
	return subjectOf(v1alpha1.SubjectUser, name)
}

func subjectOf(kind v1alpha1.SubjectKind, name string) map[string]any {
	return map[string]any{"kind": string(kind), "name": name}
}
