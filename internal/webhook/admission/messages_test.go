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

package admission

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/eventrecorder"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
	"kausality.io/operator/test/pasted"
)

// freePolicy withholds what strangers write into a map with any keys.
const freePolicy = `
metadata: {name: free}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  validationActions: [Deny]
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  rules:
  - trigger: spec
    policies:
    - target: {apiGroup: apps, apiVersion: v1, resource: replicasets}
      relation: ControllerChild
      mutations: [{jsonPath: spec}]
`

// What a message says to run approves the field that it is about, whatever that is called, and
// runs nothing else.
func TestPrintedApprovalsWork(t *testing.T) {
	for name, field := range map[string]string{
		"plain":                  "plain",
		"a command":              "$(touch${IFS}pwned)",
		"a command in backticks": "`touch pwned`",
		"quotes around one":      "'; touch pwned; '",
		"double quotes":          `"; touch pwned; "`,
		"a comma":                "a, b",
		"a comma and a path":     "a,spec.replicas,*",
		"a digest":               "a@0123456789ab",
		"an apostrophe":          "it's",
		"a number":               "0",
		"a negative number":      "-1",
		"brackets":               "[x]",
		"a star":                 "*",
		"nothing":                "",
		"blanks":                 " a  b ",
		"a backslash":            `a\b\`,
		"the end of a line":      "a\ntouch pwned\n",
		"a return":               "a\rkubectl delete namespace shop",
		"concealed text":         "\x1b[8m;touch pwned;\x1b[0m",
		"a control of 8 bits":    "\u009b2K",
		"text that runs back":    "\u202edenwp hcuot",
		"what bash remembers":    "!!",
		"a home directory":       "~",
		"another alphabet":       "größe",
	} {
		t.Run(name, func(t *testing.T) {
			path := change.Path{}.Field("spec").Field("config").Field(field)
			before, after := deployment(3), deployment(3)
			mapIn(t, before, "spec")["config"] = map[string]any{"a": "x"}
			mapIn(t, after, "spec")["config"] = map[string]any{"a": "x", field: "y"}
			mutator, validator := (&world{}).hooks(t, freePolicy)
			resp := mutator.Handle(t.Context(), asking(t, "mallory", nil, before, after))
			after.SetAnnotations(patched(t, after, resp))
			resp = validator.Handle(t.Context(), asking(t, "mallory", nil, before, after))
			if len(resp.Warnings) != 1 {
				t.Fatalf("warnings %q", resp.Warnings)
			}
			if strings.ContainsAny(resp.Warnings[0], "\n\r\x1b\u009b\u202e") {
				t.Errorf("%q is no visible line", resp.Warnings[0])
			}

			_, command, _ := strings.Cut(resp.Warnings[0], " may approve it: ")
			args, err := pasted.Arguments(t.Context(), t.TempDir(), command)
			if err != nil {
				t.Fatal(err)
			}
			setting := args[len(args)-1]
			if diff := cmp.Diff([]string{"annotate", "-n", "default", "deployment", "web"}, args[:len(args)-1]); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
			key, text, _ := strings.Cut(setting, "=")
			approvals := change.SplitPaths(text)
			named, _ := decision.ParseApproval(approvals[0])
			if diff := cmp.Diff([]string{path.String()}, []string{named}); diff != "" || len(approvals) != 1 || key != "kausality.io/approve" {
				t.Fatalf("%s names %q (-want +got):\n%s", setting, approvals, diff)
			}

			approving := annotate(after.DeepCopy(), key, text)
			resp = mutator.Handle(t.Context(), asking(t, "alice", platformTeam, after, approving))
			left := patched(t, approving, resp)
			if len(resp.Warnings) > 0 || left[approvedKey] != "" || strings.Contains(left[ledgerKey], "Withheld") {
				answer, _ := json.Marshal(left)
				t.Errorf("%s does not approve it: %s, warnings %q", setting, answer, resp.Warnings)
			}
		})
	}
}

// Where two policies are about a field, who may not approve it is not told to, nor to approve it again.
func TestApproverOfOneRuleOnly(t *testing.T) {
	const hers = `
metadata: {name: hers}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  validationActions: [Warn]
  subjects: [{kind: User, name: mallory, mayInitiate: true}]
  rules:
  - trigger: spec.replicas
    policies:
    - {target: {apiVersion: v1, resource: pods}, relation: ControllerChild, mutations: [{jsonPath: spec.args}]}
`
	w := &world{}
	mutator, validator := w.hooks(t, deploymentPolicy, hers)
	before, after := deployment(3), deployment(5)
	after.SetAnnotations(patched(t, after, mutator.Handle(t.Context(), asking(t, "mallory", nil, before, after))))
	resp := validator.Handle(t.Context(), asking(t, "mallory", nil, before, after))
	if len(resp.Warnings) == 0 || !strings.HasPrefix(resp.Warnings[0], "kausality: the change of spec.replicas of Deployment web is withheld: nothing follows from it, "+
		"as mallory may not initiate all that follows from it; Group platform-team may approve it: ") {
		t.Fatalf("warnings of the change: %q", resp.Warnings)
	}
	want := []string{"kausality: the change of spec.replicas of Deployment web stays withheld, as mallory may not initiate all that follows from it; Group platform-team may approve it"}
	for _, text := range []string{"spec.replicas", "*"} {
		resp = mutator.Handle(t.Context(), asking(t, "mallory", nil, after, annotate(after.DeepCopy(), "kausality.io/approve", text)))
		if diff := cmp.Diff(want, resp.Warnings); diff != "" {
			t.Errorf("warnings of approving %s (-want +got):\n%s", text, diff)
		}
	}
	resp = mutator.Handle(t.Context(), asking(t, "alice", platformTeam, after, annotate(after.DeepCopy(), "kausality.io/approve", "spec.replicas")))
	if len(resp.Warnings) > 0 {
		t.Errorf("warnings of alice's approval: %q", resp.Warnings)
	}
}

// Who acts through the status without being one who may, where no rule is about that, is told who may.
func TestWhoMayActThroughTheStatus(t *testing.T) {
	const want = "the change of status.promote of Deployment web was refused: mallory may not initiate it; Group platform-team may"
	for name, trigger := range map[string]string{
		"a rule of another field": "spec.replicas", "a rule of this action": "status.promote", "a rule of another action": "status.stop",
	} {
		t.Run(name, func(t *testing.T) {
			_, validator := (&world{}).hooks(t, `
metadata: {name: acting}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  validationActions: [Deny]
  subjects: [{kind: Group, name: platform-team, mayInitiate: true}]
  knowledge: {actions: [{path: status.promote}, {path: status.stop}]}
  rules:
  - trigger: `+trigger+`
    policies: [{target: {apiGroup: apps, apiVersion: v1, resource: replicasets}, relation: ControllerChild, mutations: [{jsonPath: spec.replicas}]}]
`)
			before, after := deployment(3), deployment(3)
			mapIn(t, after, "status")["promote"] = true
			req := asking(t, "mallory", nil, before, after)
			req.SubResource = subresourceStatus
			resp := validator.Handle(t.Context(), req)
			if resp.Allowed || resp.Result.Message != want {
				t.Errorf("answer %+v, want %q", resp.Result, want)
			}
		})
	}
}

// Whom the API server refuses as an object has no room for our annotations is told so; who has overfilled it knows.
func TestNoRoomForAnnotations(t *testing.T) {
	const limit, key = 256 << 10, "example.com/notes"
	for name, tc := range map[string]struct {
		size int
		want string
	}{
		"room":               {size: limit - 2000},
		"no room":            {size: limit - 10, want: "kausality: the annotations of Deployment web have no room for what is kept there: "},
		"just full":          {size: limit, want: ", of 262144 that the API server takes; remove or shorten others"},
		"no room without us": {size: limit + 1},
	} {
		t.Run(name, func(t *testing.T) {
			mutator, _ := (&world{}).hooks(t, deploymentPolicy)
			notes := strings.Repeat("x", tc.size-len(key))
			before, after := annotate(deployment(3), key, notes), annotate(deployment(5), key, notes)
			resp := mutator.Handle(t.Context(), asking(t, "alice", platformTeam, before, after))
			size := 0
			for key, value := range patched(t, after, resp) {
				size += len(key) + len(value)
			}
			warned := len(resp.Warnings) == 1 && strings.Contains(resp.Warnings[0], tc.want) && strings.Contains(resp.Warnings[0], strconv.Itoa(size))
			if !resp.Allowed || tc.want != "" && !warned || tc.want == "" && len(resp.Warnings) > 0 {
				t.Errorf("with %d bytes: allowed %t, warnings %q", size, resp.Allowed, resp.Warnings)
			}
		})
	}
}

// Of a child that the API server refuses for what Kausality keeps in its annotations, its parent's record and both
// objects are told, as its controller hears no more than that they are too long.
func TestNoRoomForAnnotationsOfAChild(t *testing.T) {
	const limit, notesKey, copied = 256 << 10, "example.com/notes", "kausality.io/allowances"
	ofWeb := key("Deployment", "web")
	for name, tc := range map[string]struct {
		// size of the notes, with their key, and of what is copied of the Deployment's ledger, without.
		size, copied int
		user         string
		dryRun       bool
		told         bool
	}{
		"room":                                 {size: limit - 5000, copied: 500, user: deployer},
		"no room for its own":                  {size: limit - 600, copied: 500, user: deployer, told: true},
		"no room for the copy":                 {size: limit - 200, copied: 500, user: deployer, told: true},
		"a person, of whom no copy is taken":   {size: limit - 600, copied: 500, user: "alice"},
		"no room, only tried":                  {size: limit - 600, copied: 500, user: deployer, dryRun: true},
		"no room without what is of Kausality": {size: limit + 1, copied: 500, user: deployer},
	} {
		t.Run(name, func(t *testing.T) {
			notes := strings.Repeat("x", tc.size-len(notesKey))
			web := annotate(deployment(5, mayScale("alice", 5)), notesKey, notes)
			w := &world{cached: map[string]*unstructured.Unstructured{ofWeb: web}, live: map[string]*unstructured.Unstructured{ofWeb: web}}
			mutator, _ := w.hooks(t, deploymentPolicy, replicaSetPolicy)
			with := func(n int64) *unstructured.Unstructured {
				return annotate(annotate(replicaSet(n), notesKey, notes), copied, strings.Repeat("y", tc.copied))
			}
			req := asking(t, tc.user, nil, replicaSet(3), with(5))
			req.DryRun = new(tc.dryRun)
			resp := mutator.Handle(t.Context(), req)
			if warned := strings.Contains(strings.Join(resp.Warnings, " "), "the annotations of ReplicaSet"); !resp.Allowed || warned != (tc.told || tc.dryRun) {
				t.Fatalf("allowed %t, warnings %q", resp.Allowed, resp.Warnings)
			}
			var records, notices int
			for _, o := range w.observed {
				if o.Decision == nil || o.Decision.Reason != v1alpha1.ReasonNoRoom {
					continue
				}
				records++
				if o.Target.Kind != "Deployment" || !o.OneOff || o.Decision.Result != record.ResultDenied || o.Decision.Kind != "ReplicaSet" ||
					!strings.Contains(o.Decision.Message, "of which the largest is "+notesKey) || !strings.Contains(o.Decision.Message, "it is copied from Deployment web") {
					t.Errorf("told the record of %+v: %+v", o.Target, o.Decision)
				}
			}
			for _, n := range w.notices {
				if n.Reason == eventrecorder.NoRoom && n.About.Kind == "Deployment" && n.Child != nil {
					notices++
				}
			}
			if want := map[bool]int{true: 1}[tc.told]; records != want || notices != want {
				t.Errorf("the record was told %d times, with %d notices, want %d", records, notices, want)
			}
		})
	}
}

// Who changes an object is warned where what a controller makes for it, with a copy of its annotations, may have no room.
func TestLittleRoomForCopiesOfAnnotations(t *testing.T) {
	const limit, key = 256 << 10, "example.com/notes"
	for name, tc := range map[string]struct {
		size, applied int
		want          bool
	}{
		"room":                            {size: limit - 3000},
		"little":                          {size: limit - 1200, want: true},
		"room without what is not copied": {size: limit - 4200, applied: 3000},
	} {
		t.Run(name, func(t *testing.T) {
			mutator, _ := (&world{}).hooks(t, deploymentPolicy)
			with := func(n int64) *unstructured.Unstructured {
				out := annotate(deployment(n), key, strings.Repeat("x", tc.size-len(key)))
				if tc.applied > 0 {
					out = annotate(out, "kubectl.kubernetes.io/last-applied-configuration", strings.Repeat("z", tc.applied))
				}
				return out
			}
			resp := mutator.Handle(t.Context(), asking(t, "alice", platformTeam, with(3), with(5)))
			if warned := strings.Contains(strings.Join(resp.Warnings, " "), "as that of Deployments does, is refused there"); !resp.Allowed || warned != tc.want {
				t.Errorf("allowed %t, warnings %q", resp.Allowed, resp.Warnings)
			}
		})
	}
}

// Who somebody is, is up to whoever authenticates them.
func TestMessagesAreVisible(t *testing.T) {
	user := "mallory\n\x1b[2Kalice"
	mutator, validator := (&world{}).hooks(t, deploymentPolicy)
	before, after := deployment(3), deployment(5)
	after.SetAnnotations(patched(t, after, mutator.Handle(t.Context(), asking(t, user, nil, before, after))))
	resp := validator.Handle(t.Context(), asking(t, user, nil, before, after))
	if len(resp.Warnings) != 1 || !strings.Contains(resp.Warnings[0], `mallory\n\x1b[2Kalice may not initiate it`) {
		t.Errorf("warnings %q", resp.Warnings)
	}
	w := &world{cached: map[string]*unstructured.Unstructured{key("Deployment", "web"): deployment(3)}}
	w.live = w.cached
	child := replicaSet(3)
	child.SetName("web\n\x1b[2K")
	changed := child.DeepCopy()
	mapIn(t, changed, "spec")["replicas"] = int64(9)
	_, validator = w.hooks(t, deploymentPolicy)
	resp = validator.Handle(t.Context(), asking(t, deployer, nil, child, changed))
	if resp.Allowed || !strings.Contains(resp.Result.Message, `ReplicaSet web\n\x1b[2K is not allowed`) || strings.ContainsAny(resp.Result.Message, "\n\x1b") {
		t.Errorf("answer %+v", resp.Result)
	}
}

// mapIn returns a map at the top of an object.
func mapIn(t *testing.T, obj *unstructured.Unstructured, name string) map[string]any {
	t.Helper()
	fields, ok := obj.Object[name].(map[string]any)
	if !ok {
		t.Fatalf("%s has no map %s", obj.GetName(), name)
	}
	return fields
}

// TestProblemsText shows that a condition which fails says why: whether the policy asks too much, or the object has
// something else than it expects.
func TestProblemsText(t *testing.T) {
	named := func(err error) decision.Problem {
		return decision.Problem{Policy: "p", Expression: "e", Path: "spec", Err: err}
	}
	for name, tc := range map[string]struct {
		problems []decision.Problem
		want     string
	}{
		"does not hold":   {[]decision.Problem{named(nil)}, `the condition "e" of AllowancePolicy p`},
		"costs too much":  {[]decision.Problem{named(&policy.EvalError{Source: "e", Why: "costs too much"})}, `the condition "e" of AllowancePolicy p (it costs too much)`},
		"fails otherwise": {[]decision.Problem{named(errors.New("a secret"))}, `the condition "e" of AllowancePolicy p (it could not be evaluated)`},
		"for two paths":   {[]decision.Problem{named(nil), named(nil)}, `the condition "e" of AllowancePolicy p`},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, problemsText(tc.problems)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What kubectl would take by itself may lose fields of the object.
func TestCommandsNameAVersion(t *testing.T) {
	f := (&Gatherer{Kinds: served{named: "v1"}}).factsBelow(&request{}, nil, &parentFacts{})
	want := "kubectl annotate -n shop thing.v1.example.org a kausality.io/approve='*'"
	if got := f.approveCommand("example.org", "Thing", "shop", "kausality.io/approve", []string{"*"}, "a"); got != want {
		t.Errorf("approveCommand() = %s, want %s", got, want)
	}
}

// TestWarningOfConditions says with the command that approves a change what has to hold before.
func TestWarningOfConditions(t *testing.T) {
	const condition = "has(object.metadata.annotations) && 'ticket' in object.metadata.annotations"
	conditional := strings.Replace(freePolicy, "  - trigger: spec\n", "  - trigger: spec\n    conditions: [\""+condition+"\"]\n", 1)
	ticketed := func(replicas int64) *unstructured.Unstructured {
		return annotate(deployment(replicas), "ticket", "T-1")
	}
	for name, tc := range map[string]struct {
		before, after *unstructured.Unstructured
		want          string
	}{
		"it holds":         {before: ticketed(3), after: ticketed(5), want: "as mallory may not initiate it; Group platform-team may approve it: "},
		"it does not hold": {before: deployment(3), after: deployment(5), want: "as mallory may not initiate it; once this holds of it, " + condition + " (AllowancePolicy free), Group platform-team may approve it: "},
	} {
		t.Run(name, func(t *testing.T) {
			mutator, validator := (&world{}).hooks(t, conditional)
			tc.after.SetAnnotations(patched(t, tc.after, mutator.Handle(t.Context(), asking(t, "mallory", nil, tc.before, tc.after))))
			resp := validator.Handle(t.Context(), asking(t, "mallory", nil, tc.before, tc.after))
			if len(resp.Warnings) != 1 || !strings.Contains(resp.Warnings[0], tc.want) {
				t.Errorf("warnings %q, want one with %q", resp.Warnings, tc.want)
			}
		})
	}
}
