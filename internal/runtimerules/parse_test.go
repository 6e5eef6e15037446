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

package runtimerules

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// example is the example of the specification, as it stands there.
const example = `
- method: /runtime.v1.RuntimeService/ListContainers
  action: allow
  filters:
    - field: Containers
      filterField: PodSandboxId
      operator: equals
      source: podSandboxIdFromPID
`

// mustParse compiles rules that a test takes for good.
func mustParse(tb testing.TB, text string) *Rules {
	tb.Helper()
	rules, err := Parse("rules.yaml", []byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return rules
}

func TestParseGood(t *testing.T) {
	for name, text := range map[string]string{
		"the specification's example": example,
		"a list under rules":          "rules:\n" + example,
		"no rule on purpose":          "rules: []",
		"all of a service":            `[{method: /runtime.v1.ImageService/*, action: allow}]`,
		"all of all services":         `[{method: "/*/*", action: allow}]`,
		"a field by its Go name":      conditions(`{field: Filter.PodSandboxId, operator: equals, source: podSandboxIdFromPID}`),
		"a field by its own name":     conditions(`{field: filter.pod_sandbox_id, operator: equals, source: podSandboxIdFromPID}`),
		"a field by its JSON name":    conditions(`{field: filter.podSandboxId, operator: equals, source: podSandboxIdFromPID}`),
		"an enum by name":             conditions(`{field: Filter.State.State, operator: equals, value: CONTAINER_RUNNING}`),
		"an empty string":             conditions(`{field: Filter.Id, operator: equals, value: ""}`),
		"messages of a stream": `
- method: /runtime.v1.RuntimeService/GetContainerEvents
  action: allow
  filters: [{field: ., filterField: PodSandboxStatus.Id, operator: equals, source: podSandboxIdFromPID}]`,
		"a list within a message": `
- method: /runtime.v1.RuntimeService/PodSandboxStats
  action: allow
  filters: [{field: Stats.Linux.Containers, filterField: Attributes.Id, operator: belongsToPod, source: podSandboxIdFromPID}]`,
	} {
		t.Run(name, func(t *testing.T) { mustParse(t, text) })
	}
}

// conditions returns a rule for ListContainers with a condition.
func conditions(condition string) string {
	return "- method: /runtime.v1.RuntimeService/ListContainers\n  action: allow\n  conditions:\n  - " + condition
}

// onExec returns the same for Exec.
func onExec(condition string) string {
	return "- method: /runtime.v1.RuntimeService/Exec\n  action: allow\n  conditions:\n  - " + condition
}

// filtering returns a rule for ListContainers with a filter.
func filtering(filter string) string {
	return "- method: /runtime.v1.RuntimeService/ListContainers\n  action: allow\n  filters:\n  - " + filter
}

func TestParseBad(t *testing.T) {
	const version = "/runtime.v1.RuntimeService/Version"
	for name, c := range map[string]struct {
		text string
		want string
	}{
		"nothing":         {"", `rules.yaml:1: the file is empty: write a list of rules; "rules: []" refuses every call`},
		"a comment":       {"# rules\n", `rules.yaml:1: the file is empty: write a list of rules; "rules: []" refuses every call`},
		"an empty object": {"{}", `rules.yaml:1: the file has no rules: write a list of rules, or one under "rules:"; "rules: []" refuses every call`},
		"a word":          {"allow", `rules.yaml:1: rules is a list: begin each entry with "- "`},
		"not YAML":        {"- method: [\n", "rules.yaml:1: not YAML: did not find expected node content"},
		"two documents": {example + "---\n" + example,
			`rules.yaml:9: a file has one document: remove the "---" and what follows`},
		"an alias": {"- &a {method: " + version + ", action: allow}\n- *a",
			"rules.yaml:1: aliases and anchors are not read here: write the value out"},
		"a tag": {"- {method: !!str " + version + ", action: allow}",
			"rules.yaml:1: the tag !!str is not read here: leave it out"},
		"no mapping":      {"- allow", "rules.yaml:1: a rule is a mapping with the keys [method action conditions filters]"},
		"an unknown key":  {"- method: " + version + "\n  action: allow\n  condition: []", `rules.yaml:3: a rule has no key "condition": did you mean conditions?`},
		"a key twice":     {"- method: " + version + "\n  action: allow\n  action: deny", `rules.yaml:3: the key "action" is there twice`},
		"no action":       {"- method: " + version, `rules.yaml:1: a rule needs "action"`},
		"no method":       {"- action: deny", `rules.yaml:1: a rule needs "method"`},
		"another action":  {"- method: " + version + "\n  action: Allow", `rules.yaml:2: unknown action "Allow": use allow or deny`},
		"a method's kind": {"- method: 7\n  action: allow", "rules.yaml:1: method is a text that is not empty"},
		"a misspelled method": {"- method: /runtime.v1.RuntimeService/ListContainer\n  action: allow",
			`rules.yaml:1: "/runtime.v1.RuntimeService/ListContainer" is no method of runtime.v1: did you mean /runtime.v1.RuntimeService/ListContainers?`},
		"a method that was published and never was": {"- method: /runtime.v1.RuntimeService/UpdatePodSandbox\n  action: allow",
			`rules.yaml:1: "/runtime.v1.RuntimeService/UpdatePodSandbox" is no method of runtime.v1: did you mean /runtime.v1.RuntimeService/UpdatePodSandboxResources?`},
		"a method without its service": {"- method: ExecSync\n  action: allow",
			`rules.yaml:1: "ExecSync" is no method of runtime.v1: did you mean /runtime.v1.RuntimeService/ExecSync?`},
		"a pattern across segments": {"- method: /*\n  action: allow",
			`rules.yaml:1: "/*" matches no method of runtime.v1; a "*" stands for characters of one segment: methods look like /runtime.v1.ImageService/ImageFsInfo`},
		"a pattern of another version": {"- method: /runtime.v1alpha2.RuntimeService/*\n  action: allow",
			`rules.yaml:1: "/runtime.v1alpha2.RuntimeService/*" matches no method of runtime.v1; a "*" stands for characters of one segment: did you mean /runtime.v1.RuntimeService/Exec?`},
		"conditions under deny": {"- method: " + version + "\n  action: deny\n  conditions: []",
			"rules.yaml:3: conditions under deny: a rule that denies does so always; allow what shall pass above it"},
		"filters under deny": {"- method: " + version + "\n  action: deny\n  filters: []",
			"rules.yaml:3: filters under deny: a rule that denies does so always; allow what shall pass above it"},
		"an unknown operator": {conditions(`{field: Filter.Id, operator: in, value: a}`),
			`rules.yaml:4: unknown operator "in": use equals or belongsToPod`},
		"an unknown source": {conditions(`{field: Filter.Id, operator: equals, source: pid}`),
			`rules.yaml:4: unknown source "pid": use podSandboxIdFromPID`},
		"a value beside a source": {conditions(`{field: Filter.Id, operator: equals, source: podSandboxIdFromPID, value: a}`),
			"rules.yaml:4: a condition has a value or a source, and not both"},
		"neither value nor source": {conditions(`{field: Filter.Id, operator: equals}`),
			"rules.yaml:4: a condition needs a value, or the source podSandboxIdFromPID"},
		"a value for belongsToPod": {conditions(`{field: Filter.Id, operator: belongsToPod, value: a}`),
			`rules.yaml:4: belongsToPod asks about the Pod of a source: write "source: podSandboxIdFromPID" in place of the value`},
		"a list as a value": {conditions(`{field: Filter.Id, operator: equals, value: [a]}`),
			"rules.yaml:4: a value is a string, a number, true or false"},
		"null as a value": {conditions(`{field: Filter.Id, operator: equals, value: null}`),
			"rules.yaml:4: a value is a string, a number, true or false"},
		"a field that does not exist": {onExec(`{field: ContainerID, operator: equals, value: a}`),
			`rules.yaml:4: condition of /runtime.v1.RuntimeService/Exec: ExecRequest has no field "ContainerID": did you mean ContainerId?`},
		"a field below one that has none": {onExec(`{field: ContainerId.Id, operator: equals, value: a}`),
			"rules.yaml:4: condition of /runtime.v1.RuntimeService/Exec: ContainerId of ExecRequest has no fields below it"},
		"a list as a field": {onExec(`{field: Cmd, operator: equals, value: ls}`),
			"rules.yaml:4: condition of /runtime.v1.RuntimeService/Exec: Cmd is a list, and only single values are compared"},
		"a message as a field": {conditions(`{field: Filter.State, operator: equals, value: ls}`),
			"rules.yaml:4: condition of /runtime.v1.RuntimeService/ListContainers: Filter.State is a message: name one of its fields, which are State"},
		"a path through a list": {
			"- method: /runtime.v1.RuntimeService/CreateContainer\n  action: allow\n  conditions:\n  - {field: Config.Mounts.HostPath, operator: equals, value: a}",
			"rules.yaml:4: condition of /runtime.v1.RuntimeService/CreateContainer: Mounts of ContainerConfig is a list or a map, and a path leads through single messages"},
		"a path through a map": {conditions(`{field: Filter.LabelSelector.app, operator: equals, value: a}`),
			"rules.yaml:4: condition of /runtime.v1.RuntimeService/ListContainers: LabelSelector of ContainerFilter is a list or a map, and a path leads through single messages"},
		"a number for a string": {onExec(`{field: ContainerId, operator: equals, value: 12}`),
			`rules.yaml:4: condition of /runtime.v1.RuntimeService/Exec: the value is not one that ContainerId has: it is a string: write "12" in quotes`},
		"a string for a boolean": {onExec(`{field: Tty, operator: equals, value: "false"}`),
			"rules.yaml:4: condition of /runtime.v1.RuntimeService/Exec: the value is not one that Tty has: it is true or false, without quotes"},
		"a source for a boolean": {onExec(`{field: Tty, operator: equals, source: podSandboxIdFromPID}`),
			"rules.yaml:4: condition of /runtime.v1.RuntimeService/Exec: Tty is no string, and the id of a Pod or container is one"},
		"an enum by number": {conditions(`{field: Filter.State.State, operator: equals, value: 1}`),
			`rules.yaml:4: condition of /runtime.v1.RuntimeService/ListContainers: the value is not one that Filter.State.State has: it is one of CONTAINER_CREATED, CONTAINER_RUNNING, CONTAINER_EXITED, CONTAINER_UNKNOWN, and not "1"`},
		"a condition that one method of several cannot have": {
			"- method: /runtime.v1.RuntimeService/Exec*\n  action: allow\n  conditions:\n  - {field: Tty, operator: equals, value: false}",
			`rules.yaml:4: condition of /runtime.v1.RuntimeService/ExecSync: ExecSyncRequest has no field "Tty": there are ContainerId, Cmd, Timeout`},
		"a filter without a source": {filtering(`{field: Containers, filterField: Id, operator: equals}`),
			`rules.yaml:4: a filter needs "source"`},
		"a filter with a value": {filtering(`{field: Containers, filterField: Id, operator: equals, source: podSandboxIdFromPID, value: a}`),
			`rules.yaml:4: a filter has no key "value": there are field, filterField, operator, source`},
		"a filter of what is no list": {
			"- method: /runtime.v1.RuntimeService/Version\n  action: allow\n  filters:\n  - {field: Version, filterField: Id, operator: equals, source: podSandboxIdFromPID}",
			"rules.yaml:4: filter of /runtime.v1.RuntimeService/Version: Version is no list of messages"},
		"a filter of what is no stream": {filtering(`{field: ., filterField: Id, operator: equals, source: podSandboxIdFromPID}`),
			"rules.yaml:4: filter of /runtime.v1.RuntimeService/ListContainers: the field . is for methods that answer with a stream; name a list of the response"},
		"a filter by a list": {filtering(`{field: Containers, filterField: Labels, operator: equals, source: podSandboxIdFromPID}`),
			"rules.yaml:4: filter of /runtime.v1.RuntimeService/ListContainers: Labels is a map, and only single values are compared"},
		"several at once, by line": {"- method: /a\n  action: deny\n- method: " + version + "\n  action: maybe\n- method: " + version,
			"rules.yaml:4: unknown action \"maybe\": use allow or deny\nrules.yaml:5: a rule needs \"action\""},
		"too large":      {strings.Repeat("#", MaxFileBytes+1), "rules.yaml:1: the file has 1048577 bytes, and may have 1048576"},
		"too many rules": {strings.Repeat("- \n", MaxRules+1), "rules.yaml:10001: the file has 10001 rules, and may have 10000"},
	} {
		t.Run(name, func(t *testing.T) {
			rules, err := Parse("rules.yaml", []byte(c.text))
			if rules != nil || err == nil {
				t.Fatal("the file was taken for good")
			}
			if _, ok := errors.AsType[*ProblemsError](err); !ok {
				t.Fatalf("an error that has no lines: %v", err)
			}
			if diff := cmp.Diff(c.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A file that is all mistakes is answered with the first of them.
func TestParseTellsSome(t *testing.T) {
	_, err := Parse("rules.yaml", []byte(strings.Repeat("- x\n", 60)))
	if err == nil || !strings.HasSuffix(err.Error(), "\nrules.yaml: and 10 more") {
		t.Error(err)
	}
}
