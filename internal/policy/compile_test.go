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

package policy

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
)

// TestCompileSpecification compiles each policy of the specification as it is
// printed there.
func TestCompileSpecification(t *testing.T) {
	type shape struct {
		For                    string
		Initializing, Deleting int
		When                   bool
		Triggers               []string
		External               int
		Initiators             []string
		BoundsReplicaSets      bool
	}
	want := map[string]shape{
		"deployment-policy": {
			For: "apps/v1, Kind=Deployment", Initializing: 1, Deleting: 1, External: 1,
			Triggers:          []string{"spec.replicas", "spec.template.spec.containers[*].image"},
			Initiators:        []string{"Group platform-team"},
			BoundsReplicaSets: true,
		},
		"deployment-policy-simple": {
			For: "apps/v1, Kind=Deployment", Initializing: 1, Deleting: 1,
			Triggers:          []string{"spec"},
			Initiators:        []string{"ServiceAccount kube-system/deployment-controller"},
			BoundsReplicaSets: true,
		},
		"database-claim-policy": {
			For: "example.com/v1alpha1, Kind=DatabaseClaim", Initializing: 1, Deleting: 2,
			Triggers:   []string{"spec.size", "spec.engine"},
			Initiators: []string{"Group platform-team"},
		},
		"xdatabase-policy": {
			For: "example.com/v1alpha1, Kind=XDatabase", Initializing: 2, Deleting: 2, External: 2,
			Triggers: []string{"spec.size", "spec.engine"},
		},
		"webapp-policy": {
			For: "example.com/v1alpha1, Kind=WebApp", Initializing: 2,
			Triggers: []string{"spec.name", "spec.replicas", "spec.image"},
		},
	}
	got := map[string]shape{}
	for name, text := range specPolicies(t) {
		p := compile(t, text)
		s := shape{
			For: p.For.String(), When: p.InitializingWhen != nil, Initiators: p.Initiators(),
			BoundsReplicaSets: p.Bounds(replicaSets),
		}
		if p.Initializing != nil {
			s.Initializing = len(p.Initializing.Entries)
		}
		if p.Deleting != nil {
			s.Deleting = len(p.Deleting.Entries)
		}
		for _, r := range p.Rules {
			s.Triggers = append(s.Triggers, r.Trigger.String())
			for _, e := range r.Entries {
				if e.IsExternal() {
					s.External++
				}
			}
		}
		got[name] = s
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("compiled policies (-want +got):\n%s", diff)
	}
}

func TestCompileDefaults(t *testing.T) {
	p := compile(t, forDeployments(""))
	if p.Action != v1alpha1.ActionDeny || p.Audit || p.FailurePolicy != v1alpha1.FailurePolicyIgnore ||
		p.Uncaused != v1alpha1.UncausedHold {
		t.Errorf("got %s, audit %t, %s, %s; want Deny, not audit, Ignore, Hold", p.Action, p.Audit, p.FailurePolicy, p.Uncaused)
	}
	if diff := cmp.Diff(Consumption{TTL: 10 * time.Minute, MaxOpen: 24 * time.Hour}, p.Consumption); diff != "" {
		t.Errorf("consumption (-want +got):\n%s", diff)
	}
	if p.Initializing != nil || p.Deleting != nil || p.InitializingWhen != nil {
		t.Error("omitted sections must be nil")
	}
	if !p.Selects(nil, nil) || !p.Selects(map[string]string{"a": "b"}, map[string]string{}) {
		t.Error("without selectors everything must be selected")
	}
}

func TestCompileActions(t *testing.T) {
	tests := map[string]struct {
		actions string
		want    v1alpha1.ValidationAction
		audit   bool
	}{
		"deny":           {actions: "[Deny]", want: v1alpha1.ActionDeny},
		"warn":           {actions: "[Warn]", want: v1alpha1.ActionWarn},
		"audit":          {actions: "[Audit]", want: v1alpha1.ActionAudit, audit: true},
		"audit and deny": {actions: "[Audit, Deny]", want: v1alpha1.ActionDeny, audit: true},
		"warn and audit": {actions: "[Warn, Audit]", want: v1alpha1.ActionWarn, audit: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := compile(t, forDeployments("  validationActions: "+tc.actions))
			if p.Action != tc.want || p.Audit != tc.audit {
				t.Errorf("got %s, audit %t; want %s, audit %t", p.Action, p.Audit, tc.want, tc.audit)
			}
		})
	}
}

func TestInitializingWhen(t *testing.T) {
	tests := map[string]struct {
		when string
		want bool
	}{
		"omitted":                {when: "", want: false},
		"default":                {when: "!has(object.status.observedGeneration)", want: false},
		"default, other spacing": {when: "! has( object.status.observedGeneration )\n", want: false},
		"another":                {when: "!has(object.status.readyReplicas)", want: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			source := parse(t, forDeployments("  initializing: {}"))
			source.Spec.Initializing.When = tc.when
			p, errs := Compile(source, servedKinds)
			if len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
			if got := p.InitializingWhen != nil; got != tc.want {
				t.Errorf("InitializingWhen is there: %t, want %t", got, tc.want)
			}
		})
	}
}

func TestEntryVerbsAndMutations(t *testing.T) {
	replicas := func(verb change.Verb) change.Change {
		return change.Change{Path: mustPath(t, "spec.replicas"), Verb: verb}
	}
	image := change.Change{Path: mustPath(t, "spec.template.spec.containers[0].image"), Verb: change.Mutate}
	tests := map[string]struct {
		entry                                           string
		create, remove, insert, mutate, unset, anything bool
	}{
		"any verb":                   {entry: "verbs: ['*']", create: true, remove: true, insert: true, mutate: true, unset: true, anything: true},
		"update":                     {entry: "verbs: [Update]", insert: true, mutate: true, unset: true, anything: true},
		"no verbs":                   {entry: "", insert: true, mutate: true, unset: true, anything: true},
		"create alone":               {entry: "verbs: [Create]", create: true},
		"delete alone":               {entry: "verbs: [Delete]", remove: true},
		"update with mutations":      {entry: "verbs: [Update], mutations: [{jsonPath: spec.replicas}]", insert: true, mutate: true, unset: true},
		"any verb with mutations":    {entry: "verbs: ['*'], mutations: [{jsonPath: spec.replicas}]", create: true, remove: true, insert: true, mutate: true, unset: true},
		"mutations alone":            {entry: "mutations: [{jsonPath: spec.replicas, verbs: [Mutate]}]", mutate: true},
		"create with mutations":      {entry: "verbs: [Create], mutations: [{jsonPath: '*', verbs: [Insert, Mutate]}]", create: true, insert: true, mutate: true, anything: true},
		"parent of the field":        {entry: "mutations: [{jsonPath: spec}]", insert: true, mutate: true, unset: true, anything: true},
		"wildcard":                   {entry: "mutations: [{jsonPath: 'spec.template.spec.containers[*]'}]", anything: true},
		"two mutations of one field": {entry: "mutations: [{jsonPath: spec.replicas, verbs: [Insert]}, {jsonPath: spec.replicas, verbs: [Delete]}]", insert: true, unset: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := compile(t, forDeployments(`  deleting:
    policies:
    - {target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, `+tc.entry+`}`))
			e := p.Deleting.Entries[0]
			if e.Kind != replicaSets || e.IsExternal() {
				t.Errorf("entry is about %s, external %t", e.Kind, e.IsExternal())
			}
			got := []bool{
				e.Create, e.Delete, e.AllowsField(replicas(change.Insert)), e.AllowsField(replicas(change.Mutate)),
				e.AllowsField(replicas(change.Delete)), e.AllowsField(image),
			}
			want := []bool{tc.create, tc.remove, tc.insert, tc.mutate, tc.unset, tc.anything}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("create, delete, insert, mutate and delete of spec.replicas, mutate of an image (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCompileErrors(t *testing.T) {
	const child = "target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild"
	rule := func(body string) string { return forDeployments("  rules:\n  - {" + body + "}") }
	entry := func(body string) string { return rule("trigger: spec, policies: [{" + body + "}]") }
	tests := map[string]struct {
		policy string
		want   []string // field and beginning of the type
	}{
		"kind":                                 {policy: "spec: {for: {apiGroup: apps}}", want: []string{"spec.for.apiVersion: Required", "spec.for.kind: Required"}},
		"selector operator":                    {policy: forDeployments("  objectSelector: {matchExpressions: [{key: a, operator: Like, values: [b]}]}"), want: []string{"spec.objectSelector.matchExpressions[0].operator: Invalid"}},
		"selector key":                         {policy: forDeployments("  namespaceSelector: {matchLabels: {'a b': c}}"), want: []string{"spec.namespaceSelector.matchLabels: Invalid"}},
		"unknown action":                       {policy: forDeployments("  validationActions: [Refuse]"), want: []string{"spec.validationActions[0]: Unsupported"}},
		"actions that exclude":                 {policy: forDeployments("  validationActions: [Deny, Warn]"), want: []string{"spec.validationActions: Invalid"}},
		"action twice":                         {policy: forDeployments("  validationActions: [Audit, Audit]"), want: []string{"spec.validationActions[1]: Duplicate"}},
		"failure policy":                       {policy: forDeployments("  failurePolicy: Maybe"), want: []string{"spec.failurePolicy: Unsupported"}},
		"uncaused changes":                     {policy: forDeployments("  uncausedChanges: Drop"), want: []string{"spec.uncausedChanges: Unsupported"}},
		"durations":                            {policy: forDeployments("  consumption: {ttl: 0s, maxOpen: -1h}"), want: []string{"spec.consumption.ttl: Invalid", "spec.consumption.maxOpen: Invalid"}},
		"consumption expression":               {policy: forDeployments("  consumption: {when: 'oldObject == null'}"), want: []string{"spec.consumption.when: Invalid"}},
		"initializing expression":              {policy: forDeployments("  initializing: {when: 'has(object)'}"), want: []string{"spec.initializing.when: Invalid"}},
		"subject kind":                         {policy: forDeployments("  subjects: [{kind: Robot, name: r}]"), want: []string{"spec.subjects[0].kind: Unsupported"}},
		"kind that nobody is asked about":      {policy: "spec: {for: {apiVersion: v1, kind: Node}}", want: []string{"spec.for: Invalid"}},
		"our own kind":                         {policy: "spec: {for: {apiGroup: kausality.io, apiVersion: v1alpha1, kind: AllowancePolicy}}", want: []string{"spec.for: Invalid"}},
		"GeneratingPolicies":                   {policy: "spec: {for: {apiGroup: kausality.io, apiVersion: v1alpha1, kind: GeneratingPolicy}}"},
		"subject name":                         {policy: forDeployments("  subjects: [{kind: User}]"), want: []string{"spec.subjects[0].name: Required"}},
		"service account":                      {policy: forDeployments("  subjects: [{kind: ServiceAccount, name: a}]"), want: []string{"spec.subjects[0].namespace: Required"}},
		"namespace of a user":                  {policy: forDeployments("  subjects: [{kind: User, name: a, namespace: b}]"), want: []string{"spec.subjects[0].namespace: Forbidden"}},
		"subject twice":                        {policy: forDeployments("  subjects: [{kind: User, name: a}, {kind: User, name: a, mayInitiate: true}]"), want: []string{"spec.subjects[1]: Duplicate"}},
		"no trigger":                           {policy: rule("trigger: ''"), want: []string{"spec.rules[0].trigger: Invalid"}},
		"trigger that is no path":              {policy: rule("trigger: 'spec.[a'"), want: []string{"spec.rules[0].trigger: Invalid"}},
		"trigger on status":                    {policy: rule("trigger: status.replicas"), want: []string{"spec.rules[0].trigger: Invalid"}},
		"trigger on all metadata":              {policy: rule("trigger: metadata"), want: []string{"spec.rules[0].trigger: Invalid"}},
		"trigger on any metadata":              {policy: rule("trigger: 'metadata[*]'"), want: []string{"spec.rules[0].trigger: Invalid"}},
		"trigger on generation":                {policy: rule("trigger: metadata.generation"), want: []string{"spec.rules[0].trigger: Invalid"}},
		"trigger on managed":                   {policy: rule("trigger: 'metadata.managedFields[0]'"), want: []string{"spec.rules[0].trigger: Invalid"}},
		"trigger on the kind":                  {policy: rule("trigger: kind"), want: []string{"spec.rules[0].trigger: Invalid"}},
		"capture":                              {policy: rule("trigger: spec, capture: ['a..b', x, x]"), want: []string{"spec.rules[0].capture[0]: Invalid", "spec.rules[0].capture[2]: Duplicate"}},
		"condition":                            {policy: rule("trigger: spec, conditions: ['true', 'object.']"), want: []string{"spec.rules[0].conditions[1]: Invalid"}},
		"json path":                            {policy: entry(child + ", mutations: [{jsonPath: 'a['}]"), want: []string{"spec.rules[0].policies[0].mutations[0].jsonPath: Invalid"}},
		"a field like a creation":              {policy: entry(child + ", mutations: [{jsonPath: create}, {jsonPath: delete.it}]"), want: []string{"spec.rules[0].policies[0].mutations[0].jsonPath: Invalid"}},
		"a field like a creation, in brackets": {policy: entry(child + `, mutations: [{jsonPath: "[create]"}]`), want: []string{"spec.rules[0].policies[0].mutations[0].jsonPath: Invalid"}},
		"a field like a deletion, in quotes":   {policy: entry(child + `, mutations: [{jsonPath: "['delete']"}, {jsonPath: "['delete'].it"}]`), want: []string{"spec.rules[0].policies[0].mutations[0].jsonPath: Invalid"}},
		"a field like a deletion":              {policy: entry(child + ", mutations: [{jsonPath: delete}]"), want: []string{"spec.rules[0].policies[0].mutations[0].jsonPath: Invalid"}},
		"mutation verb":                        {policy: entry(child + ", mutations: [{jsonPath: spec, verbs: [Update, Insert, Insert]}]"), want: []string{"spec.rules[0].policies[0].mutations[0].verbs[0]: Unsupported", "spec.rules[0].policies[0].mutations[0].verbs[2]: Duplicate"}},
		"verb":                                 {policy: entry(child + ", verbs: [update]"), want: []string{"spec.rules[0].policies[0].verbs[0]: Unsupported"}},
		"verb twice":                           {policy: entry(child + ", verbs: [Update, Update]"), want: []string{"spec.rules[0].policies[0].verbs[1]: Duplicate"}},
		"relation":                             {policy: entry("target: {apiVersion: v1, resource: pods}, relation: Withheld"), want: []string{"spec.rules[0].policies[0].relation: Unsupported"}},
		"no target":                            {policy: entry("target: {}, relation: ControllerChild"), want: []string{"spec.rules[0].policies[0].target.apiVersion: Required", "spec.rules[0].policies[0].target.resource: Required"}},
		"external child":                       {policy: entry("target: {external: {a: b}}, relation: ControllerChild"), want: []string{"spec.rules[0].policies[0].target.apiVersion: Required", "spec.rules[0].policies[0].target.external: Forbidden", "spec.rules[0].policies[0].target.resource: Required"}},
		"resource outside":                     {policy: entry("target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: External, verbs: [Update]"), want: []string{"spec.rules[0].policies[0].target.apiGroup: Forbidden", "spec.rules[0].policies[0].target.apiVersion: Forbidden", "spec.rules[0].policies[0].target.external: Required", "spec.rules[0].policies[0].target.resource: Forbidden"}},
		"external verbs":                       {policy: entry("target: {external: {a: b}}, relation: External"), want: []string{"spec.rules[0].policies[0].verbs: Required"}},
		"external mutations":                   {policy: entry("target: {external: {a: b}}, relation: External, verbs: ['*'], mutations: [{jsonPath: spec}]"), want: []string{"spec.rules[0].policies[0].mutations: Forbidden"}},
		"maintaining is in-house":              {policy: forDeployments("  maintaining: {policies: [{target: {external: {a: b}}, relation: External, verbs: [Update]}]}"), want: []string{"spec.maintaining.policies[0].relation: Unsupported"}},
		"maintaining subject":                  {policy: forDeployments("  maintaining: {policies: [{" + child + ", subjects: [{kind: User}]}]}"), want: []string{"spec.maintaining.policies[0].subjects[0].name: Required"}},
		"maintaining condition":                {policy: forDeployments("  maintaining: {policies: [{" + child + ", conditions: ['1']}]}"), want: []string{"spec.maintaining.policies[0].conditions[0]: Invalid"}},
		"through what":                         {policy: entry(child + ", through: {}"), want: []string{"spec.rules[0].policies[0].through.resource: Required", "spec.rules[0].policies[0].through.apiVersion: Required", "spec.rules[0].policies[0].through: Invalid"}},
		"through in two ways":                  {policy: entry(child + ", through: {apiVersion: v1, resource: pods, namedBy: [spec.a], names: [spec.b]}"), want: []string{"spec.rules[0].policies[0].through: Invalid"}},
		"through paths":                        {policy: entry(child + ", through: {apiVersion: v1, resource: pods, namedBy: ['a[']}"), want: []string{"spec.rules[0].policies[0].through.namedBy[0]: Invalid"}},
		"through many selectors":               {policy: entry(child + ", through: {apiVersion: v1, resource: pods, selectedBy: 'spec.a[*]'}"), want: []string{"spec.rules[0].policies[0].through.selectedBy: Invalid"}},
		"through namespaces alone":             {policy: entry(child + ", through: {apiVersion: v1, resource: pods, namedBy: [spec.a], namespacesSelectedBy: spec.b}"), want: []string{"spec.rules[0].policies[0].through.namespacesSelectedBy: Forbidden"}},
		"through without labels":               {policy: entry(child + ", through: {apiVersion: v1, resource: pods, selectedBy: spec.a}"), want: []string{"spec.rules: Required"}},
		"through to the outside":               {policy: entry("target: {external: {a: b}}, relation: External, verbs: ['*'], through: {apiVersion: v1, resource: pods, namedBy: [spec.a]}"), want: []string{"spec.rules[0].policies[0].through: Forbidden"}},
		"through in a section":                 {policy: forDeployments("  deleting: {policies: [{" + child + ", through: {apiVersion: v1, resource: pods, namedBy: [spec.a]}}]}"), want: []string{"spec.deleting.policies[0].through: Forbidden"}},
		"through in maintaining":               {policy: forDeployments("  maintaining: {policies: [{" + child + ", through: {apiVersion: v1, resource: pods, namedBy: [spec.a]}}]}"), want: []string{"spec.maintaining.policies[0].through: Forbidden"}},
		"metadata that can change":             {policy: rule("trigger: 'metadata.annotations[a]'")},
		"anything":                             {policy: rule("trigger: '*'")},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p, errs := Compile(parse(t, tc.policy), servedKinds)
			if p == nil {
				t.Fatal("a policy is always returned")
			}
			got := map[string]bool{}
			for _, err := range errs {
				kind, _, _ := strings.Cut(err.Type.String(), " ")
				got[err.Field+": "+kind] = true
			}
			want := map[string]bool{}
			for _, w := range tc.want {
				want[w] = true
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

// What somebody has made too long is not repeated as a whole: the condition of a policy has
// no room for it.
func TestCompileErrorsAreShort(t *testing.T) {
	const room = 32768
	p := &v1alpha1.AllowancePolicy{Spec: v1alpha1.AllowancePolicySpec{
		For: v1alpha1.ParentKind{APIGroup: "apps", APIVersion: "v1", Kind: "Deployment"},
		ObjectSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: strings.Repeat("\x01é,", 20_000), Operator: metav1.LabelSelectorOpExists},
		}},
	}}
	for range 64 {
		p.Spec.Rules = append(p.Spec.Rules, v1alpha1.Rule{Trigger: "spec", Conditions: slices.Repeat([]string{strings.Repeat("\x01", 4096)}, 16)})
	}
	_, errs := Compile(p, servedKinds)
	if len(errs) == 0 {
		t.Fatal("nothing is wrong")
	}
	told := 0
	for _, err := range errs {
		if text := err.Error(); utf8.ValidString(text) {
			told += len(text)
		} else {
			t.Errorf("%s: it is cut within a character", err.Field)
		}
	}
	if told > room-1024 {
		t.Errorf("what is wrong takes %d bytes", told)
	}
}

// TestCompileLeavesOut checks that what is wrong takes nothing else with it, and
// never allows more than was meant.
func TestCompileLeavesOut(t *testing.T) {
	p, errs := Compile(parse(t, forDeployments(`  objectSelector: {matchExpressions: [{key: a, operator: Like}]}
  subjects:
  - {kind: Robot, name: r}
  - {kind: Group, name: platform-team, mayInitiate: true}
  initializing:
    when: "has("
    policies:
    - {target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, verbs: [create]}
  deleting:
    policies:
    - {target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [delete]}
    - {target: {apiVersion: v1, resource: services}, relation: ControllerChild, verbs: [Delete]}
  maintaining:
    policies:
    - {target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create], conditions: ["object."]}
    - {target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Delete]}
  rules:
  - trigger: spec.a
    policies:
    - {target: {apiVersion: v1, resource: configmaps}, relation: ControllerChild, verbs: [Oops]}
  - trigger: spec.b
    conditions: ["oops("]
  - trigger: spec.c
`)), servedKinds)
	if len(errs) != 8 {
		t.Errorf("got %d errors, want 8: %v", len(errs), errs.ToAggregate())
	}
	if p.Selects(nil, nil) {
		t.Error("a selector that is wrong must select nothing")
	}
	if !p.NamesExercisers() {
		t.Error("a subject that is wrong must not open the policy to everybody")
	}
	if p.Initializing != nil || p.InitializingWhen != nil {
		t.Error("an initializing section with nothing left must be as if omitted")
	}
	if p.Deleting == nil || len(p.Deleting.Entries) != 1 || p.Deleting.Entries[0].Kind.Kind != "Service" {
		t.Errorf("deleting = %v, want the entry about Services", p.Deleting)
	}
	if len(p.Maintaining) != 1 || !p.Maintaining[0].Delete {
		t.Errorf("maintaining = %v, want the second entry", p.Maintaining)
	}
	if len(p.Rules) != 1 || p.Rules[0].Index != 2 {
		t.Errorf("rules = %v, want the third", p.Rules)
	}
	if p.Bounds(configMaps) {
		t.Error("a rule that is out must not bound anything")
	}
}

func TestCompileUnservedTarget(t *testing.T) {
	p := compile(t, forDeployments(`  deleting:
    policies:
    - {target: {apiGroup: example.org, apiVersion: v1, resource: widgets}, relation: ControllerChild, verbs: [Delete]}`))
	e := p.Deleting.Entries[0]
	if e.Resource.Resource != "widgets" || !e.Kind.Empty() {
		t.Errorf("got %s of kind %s, want widgets of no kind", e.Resource, e.Kind)
	}
	if p.Deleting.Names(e.Kind) || p.Bounds(e.Kind) {
		t.Error("what is not served must not be bounded")
	}
}

func TestCompileKeepsItsInput(t *testing.T) {
	source := parse(t, specPolicies(t)["deployment-policy"])
	p, _ := Compile(source, servedKinds)
	before := source.DeepCopy()
	source.Spec.Rules[1].Policies[1].Target.External["provider"] = "other"
	source.Spec.Subjects[0].Name = "others"
	source.Spec.Rules[0].Policies[0].Mutations[0].Verbs[0] = v1alpha1.MutationDelete
	again, _ := Compile(before, servedKinds)
	if diff := cmp.Diff(again.Rules[1].Entries[1].External, p.Rules[1].Entries[1].External); diff != "" {
		t.Errorf("external follows its source:\n%s", diff)
	}
	if diff := cmp.Diff(again.Initiators(), p.Initiators()); diff != "" {
		t.Errorf("subjects follow their source:\n%s", diff)
	}
	if diff := cmp.Diff(again.Rules[0].Entries[0].Fields[0].Verbs, p.Rules[0].Entries[0].Fields[0].Verbs); diff != "" {
		t.Errorf("verbs follow their source:\n%s", diff)
	}
}

func FuzzCompile(f *testing.F) {
	for _, text := range specPolicies(f) {
		data, err := json.Marshal(parse(f, text))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"spec":{"rules":[{"trigger":"*","conditions":["has(object.a['b'])"],"policies":[{}]}],"objectSelector":{}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var source v1alpha1.AllowancePolicy
		if len(data) > 8<<10 || json.Unmarshal(data, &source) != nil {
			t.Skip("not a policy of reasonable size")
		}
		before := source.DeepCopy()
		p, errs := Compile(&source, servedKinds)
		if diff := cmp.Diff(before, &source); diff != "" {
			t.Errorf("Compile() changed its input:\n%s", diff)
		}
		for _, err := range errs {
			if !strings.HasPrefix(err.Field, "spec.") {
				t.Errorf("an error names no field of the spec: %v", err)
			}
		}
		if len(errs) == 0 && len(p.Rules) != len(source.Spec.Rules) {
			t.Errorf("%d rules of %d, and no error", len(p.Rules), len(source.Spec.Rules))
		}
		for _, r := range p.Rules {
			if len(r.Entries) != len(source.Spec.Rules[r.Index].Policies) || len(r.Conditions) != len(source.Spec.Rules[r.Index].Conditions) {
				t.Errorf("rule %d allows more than was meant", r.Index)
			}
		}
		p.Selects(nil, map[string]string{"a": "b"})
		NewIndex([]*Policy{p}).InEffect([]Holder{{Kind: p.For.GroupKind()}, {Kind: deployments}})
	})
}
