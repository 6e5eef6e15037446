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

package crossplane

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/gate"
)

// instance returns a managed resource at generation 4 whose size was changed to 20.
func instance(t *testing.T, metadata, forProvider, status string) *unstructured.Unstructured {
	t.Helper()
	obj := map[string]any{
		"apiVersion": "rds.example.com/v1alpha1", "kind": "Instance",
		"metadata": parse(t, metadata), "status": parse(t, status),
		"spec": map[string]any{"forProvider": parse(t, forProvider)},
	}
	mr := &unstructured.Unstructured{Object: obj}
	mr.SetName("db")
	mr.SetGeneration(4)
	return mr
}

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	obj := map[string]any{}
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if text == "" {
		return obj
	}
	var u unstructured.Unstructured
	if err := u.UnmarshalJSON([]byte(`{"apiVersion":"v1","kind":"X","fields":` + string(raw) + `}`)); err != nil {
		t.Fatal(err)
	}
	return section(u.Object, "fields")
}

func pathsOf(t *testing.T, texts ...string) []change.Path {
	t.Helper()
	paths := make([]change.Path, 0, len(texts))
	for _, text := range texts {
		path, err := change.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

const (
	synced    = `{type: Synced, status: "True", reason: ReconcileSuccess, observedGeneration: 4}`
	syncedOld = `{type: Synced, status: "True", reason: ReconcileSuccess, observedGeneration: 3}`
	syncedAny = `{type: Synced, status: "True", reason: ReconcileSuccess}`
	available = `{type: Ready, status: "True", reason: Available}`
	notReady  = `{type: Ready, status: "False", reason: Creating}`

	begun     = `crossplane.io/external-create-pending: "2026-03-01T10:00:00Z"`
	succeeded = `crossplane.io/external-create-succeeded: "2026-03-01T10:00:00Z"`
	failedAt  = `crossplane.io/external-create-failed: "2026-03-01T10:00:00Z"`
)

func TestProgress(t *testing.T) {
	const size = "{size: 20}"
	sized := gate.Change{Paths: pathsOf(t, "spec.forProvider.size"), Unseen: []string{"spec.forProvider.size"}}
	asked, askedTwice := sized, sized
	asked.Pass, asked.Passes = "pass-4", 1
	askedTwice.Pass, askedTwice.Passes = "pass-4-2", 2
	waited := asked
	waited.Waited = true
	// before is of a field whose value the status showed already when it was changed.
	before := gate.Change{Paths: sized.Paths}
	beforeAsked, beforeWaited := asked, waited
	beforeAsked.Unseen, beforeWaited.Unseen = nil, nil
	created := gate.Change{Created: true}
	createdWaited := gate.Change{Created: true, Waited: true}

	tests := map[string]struct {
		metadata    string
		forProvider string
		status      string
		change      gate.Change
		want        gate.Stage
		reason      gate.Reason
	}{
		// crossplane-runtime, synchronous.
		"nothing said yet": {
			change: sized, want: gate.Working, reason: gate.ReasonNotReconciled,
		},
		"success at an older generation": {
			status: `{conditions: [` + syncedOld + `], atProvider: {size: 20}}`,
			change: sized, want: gate.Working, reason: gate.ReasonNotReconciled,
		},
		"success, and the cloud as it was before the call": {
			status: `{conditions: [` + synced + `], atProvider: {size: 10}}`,
			change: sized, want: gate.Confirm, reason: gate.ReasonNotObserved,
		},
		"success, and the cloud has it": {
			status: `{conditions: [` + synced + `], atProvider: {size: 20}}`,
			change: sized, want: gate.Applied, reason: gate.ReasonObserved,
		},
		"asked, and not answered": {
			status: `{conditions: [` + synced + `], atProvider: {size: 10}}`,
			change: asked, want: gate.Working, reason: gate.ReasonNotObserved,
		},
		"answered, and the cloud still has something else": {
			status: `{conditions: [` + synced + `], atProvider: {size: 10}, lastHandledReconcileAt: pass-4}`,
			change: asked, want: gate.Working, reason: gate.ReasonNotObserved,
		},
		"an error at an older generation": {
			status: `{conditions: [{type: Synced, status: "False", reason: ReconcileError, observedGeneration: 3}]}`,
			change: sized, want: gate.Working, reason: gate.ReasonNotReconciled,
		},
		"an error": {
			status: `{conditions: [{type: Synced, status: "False", reason: ReconcileError, observedGeneration: 4}], atProvider: {size: 20}}`,
			change: sized, want: gate.Failing, reason: gate.ReasonReconcileError,
		},
		"True for another reason": {
			status: `{conditions: [{type: Synced, status: "True", reason: Guessed, observedGeneration: 4}], atProvider: {size: 20}}`,
			change: sized, want: gate.Working, reason: gate.ReasonNotReconciled,
		},

		// Older runtimes, whose conditions say no generation.
		"no generation, and the cloud has it: that may have been before": {
			status: `{conditions: [` + syncedAny + `], atProvider: {size: 20}}`,
			change: sized, want: gate.Confirm, reason: gate.ReasonUnconfirmed,
		},
		"no generation, a pass answered, and the cloud has it": {
			status: `{conditions: [` + syncedAny + `], atProvider: {size: 20}, lastHandledReconcileAt: pass-4}`,
			change: asked, want: gate.Applied, reason: gate.ReasonObserved,
		},
		"no generation, a pass answered by the call itself": {
			status: `{conditions: [` + syncedAny + `], atProvider: {size: 10}, lastHandledReconcileAt: pass-4}`,
			change: asked, want: gate.Confirm, reason: gate.ReasonNotObserved,
		},
		"no generation, two passes asked for": {
			status: `{conditions: [` + syncedAny + `], atProvider: {size: 10}, lastHandledReconcileAt: pass-4-2}`,
			change: askedTwice, want: gate.Working, reason: gate.ReasonNotObserved,
		},
		"no generation, and no pass is ever answered: time tells": {
			status: `{conditions: [` + syncedAny + `], atProvider: {size: 20}}`,
			change: asked, want: gate.Settling, reason: gate.ReasonUnconfirmed,
		},
		"no generation, and time has told": {
			status: `{conditions: [` + syncedAny + `], atProvider: {size: 20}}`,
			change: waited, want: gate.Applied, reason: gate.ReasonConfirmed,
		},
		"an error without a generation": {
			status: `{conditions: [{type: Synced, status: "False", reason: ReconcileError}]}`,
			change: sized, want: gate.Failing, reason: gate.ReasonReconcileError,
		},

		// Who tells of what goes on in the background looks when it has ended.
		"not seen, by who tells of operations": {
			status: `{conditions: [` + synced + `, {type: LastAsyncOperation, status: "True", reason: Success}], atProvider: {size: 10}}`,
			change: sized, want: gate.Working, reason: gate.ReasonNotObserved,
		},
		"not seen, by who has announced one": {
			status: `{conditions: [` + synced + `, {type: AsyncOperation, status: "True", reason: Finished}], atProvider: {size: 10}}`,
			change: sized, want: gate.Working, reason: gate.ReasonNotObserved,
		},

		// Fields that no status shows.
		"not in the status": {
			forProvider: `{passwordSecretRef: {name: a}}`,
			status:      `{conditions: [` + synced + `], atProvider: {size: 20}}`,
			change:      gate.Change{Paths: pathsOf(t, "spec.forProvider.passwordSecretRef.name")},
			want:        gate.Confirm, reason: gate.ReasonUnconfirmed,
		},
		"not in the status, a pass asked for": {
			status: `{conditions: [` + synced + `], lastHandledReconcileAt: pass-3}`,
			change: asked, want: gate.Working, reason: gate.ReasonUnconfirmed,
		},
		"not in the status, a pass answered": {
			status: `{conditions: [` + synced + `], lastHandledReconcileAt: pass-4}`,
			change: asked, want: gate.Settling, reason: gate.ReasonUnconfirmed,
		},
		"not in the status, a pass answered, and time has told": {
			status: `{conditions: [` + synced + `], lastHandledReconcileAt: pass-4}`,
			change: waited, want: gate.Applied, reason: gate.ReasonConfirmed,
		},
		"not in the status, time alone": {
			status: `{conditions: [` + synced + `], lastHandledReconcileAt: pass-3}`,
			change: waited, want: gate.Working, reason: gate.ReasonUnconfirmed,
		},
		"elsewhere in the specification": {
			status: `{conditions: [` + synced + `], atProvider: {size: 20}}`,
			change: gate.Change{Paths: pathsOf(t, "spec.providerConfigRef.name")},
			want:   gate.Confirm, reason: gate.ReasonUnconfirmed,
		},
		"one field of two is not in the status": {
			forProvider: `{size: 20, secret: x}`,
			status:      `{conditions: [` + synced + `], atProvider: {size: 20}}`,
			change:      gate.Change{Paths: pathsOf(t, "spec.forProvider.size", "spec.forProvider.secret")},
			want:        gate.Confirm, reason: gate.ReasonUnconfirmed,
		},
		"one field of two has not arrived": {
			forProvider: `{size: 20, class: large}`,
			status:      `{conditions: [` + synced + `], atProvider: {size: 20, class: small}}`,
			change:      gate.Change{Paths: pathsOf(t, "spec.forProvider.size", "spec.forProvider.class"), Pass: "pass-4", Passes: 1},
			want:        gate.Working, reason: gate.ReasonNotObserved,
		},
		"what is no path": {
			status: `{conditions: [` + synced + `], atProvider: {size: 20}}`,
			change: gate.Change{Paths: []change.Path{nil}},
			want:   gate.Confirm, reason: gate.ReasonUnconfirmed,
		},

		// Changes of what was changed before, whose first value the status still shows.
		"changed back: the cloud has it, or had it": {
			status: `{conditions: [` + synced + `], atProvider: {size: 20}}`,
			change: before, want: gate.Confirm, reason: gate.ReasonSeenBefore,
		},
		"changed back, a pass asked for": {
			status: `{conditions: [` + synced + `], atProvider: {size: 20}, lastHandledReconcileAt: pass-3}`,
			change: beforeAsked, want: gate.Working, reason: gate.ReasonSeenBefore,
		},
		"changed back, a pass answered, maybe without a look": {
			status: `{conditions: [` + synced + `], atProvider: {size: 20}, lastHandledReconcileAt: pass-4}`,
			change: beforeAsked, want: gate.Settling, reason: gate.ReasonSeenBefore,
		},
		"changed back, a pass answered, and time has told": {
			status: `{conditions: [` + synced + `], atProvider: {size: 20}, lastHandledReconcileAt: pass-4}`,
			change: beforeWaited, want: gate.Applied, reason: gate.ReasonConfirmed,
		},
		"changed back, and what was begun before has come to an end": {
			status: `{conditions: [` + synced + `], atProvider: {size: 10}, lastHandledReconcileAt: pass-4}`,
			change: beforeWaited, want: gate.Working, reason: gate.ReasonNotObserved,
		},

		// Asynchronous providers that say so.
		"an operation goes on": {
			status: `{conditions: [` + synced + `, {type: AsyncOperation, status: "False", reason: Ongoing}], atProvider: {size: 10}}`,
			change: waited, want: gate.Working, reason: gate.ReasonAsyncPending,
		},
		"an operation goes on, of what was changed back": {
			status: `{conditions: [` + synced + `, {type: AsyncOperation, status: "False", reason: Ongoing}], atProvider: {size: 20}, lastHandledReconcileAt: pass-4}`,
			change: beforeWaited, want: gate.Working, reason: gate.ReasonAsyncPending,
		},
		"an operation goes on, and nothing shows its field": {
			status: `{conditions: [` + synced + `, {type: AsyncOperation, status: "False", reason: Ongoing}], lastHandledReconcileAt: pass-4}`,
			change: waited, want: gate.Working, reason: gate.ReasonAsyncPending,
		},
		"an operation goes on, and the cloud has what it was for": {
			status: `{conditions: [` + synced + `, {type: AsyncOperation, status: "False", reason: Ongoing}], atProvider: {size: 20}}`,
			change: sized, want: gate.Settling, reason: gate.ReasonAsyncForgotten,
		},
		"an operation goes on, and the cloud had what it was for all the time": {
			status: `{conditions: [` + synced + `, {type: AsyncOperation, status: "False", reason: Ongoing}], atProvider: {size: 20}}`,
			change: waited, want: gate.Applied, reason: gate.ReasonObserved,
		},
		"an operation goes on, and the cloud has what it was for, no generation": {
			status: `{conditions: [` + syncedAny + `, {type: AsyncOperation, status: "False", reason: Ongoing}], atProvider: {size: 20}}`,
			change: waited, want: gate.Working, reason: gate.ReasonAsyncPending,
		},
		"an operation that creates goes on": {
			status: `{conditions: [` + synced + `, ` + notReady + `, {type: AsyncOperation, status: "False", reason: Ongoing, lastTransitionTime: "2026-03-01T10:00:00Z"}]}`,
			change: createdWaited, want: gate.Working, reason: gate.ReasonAsyncPending,
		},
		"an operation that creates goes on, of what was ready before": {
			status: `{conditions: [` + synced + `, {type: Ready, status: "True", reason: Available, lastTransitionTime: "2026-03-01T09:00:00Z"},
				{type: AsyncOperation, status: "False", reason: Ongoing, lastTransitionTime: "2026-03-01T10:00:00Z"}]}`,
			change: createdWaited, want: gate.Working, reason: gate.ReasonAsyncPending,
		},
		"an operation that creates goes on, and it became ready since": {
			status: `{conditions: [` + synced + `, {type: Ready, status: "True", reason: Available, lastTransitionTime: "2026-03-01T11:00:00Z"},
				{type: AsyncOperation, status: "False", reason: Ongoing, lastTransitionTime: "2026-03-01T10:00:00Z"}]}`,
			change: created, want: gate.Settling, reason: gate.ReasonAsyncForgotten,
		},
		"an operation that creates went on, and it has been ready for a while": {
			status: `{conditions: [` + synced + `, {type: Ready, status: "True", reason: Available, lastTransitionTime: "2026-03-01T11:00:00Z"},
				{type: AsyncOperation, status: "False", reason: Ongoing, lastTransitionTime: "2026-03-01T10:00:00Z"}]}`,
			change: createdWaited, want: gate.Applied, reason: gate.ReasonAvailable,
		},
		"an operation of unknown state": {
			status: `{conditions: [` + synced + `, {type: AsyncOperation, status: Unknown}], atProvider: {size: 10}}`,
			change: waited, want: gate.Working, reason: gate.ReasonAsyncPending,
		},
		"an operation failed": {
			status: `{conditions: [` + synced + `, {type: AsyncOperation, status: "True", reason: Finished},
				{type: LastAsyncOperation, status: "False", reason: AsyncUpdateFailure}], atProvider: {size: 20}}`,
			change: waited, want: gate.Failing, reason: gate.ReasonAsyncFailed,
		},
		"an operation failed, as it used to be said": {
			status: `{conditions: [` + synced + `, {type: AsyncOperation, status: "False", reason: ApplyFailure}]}`,
			change: waited, want: gate.Failing, reason: gate.ReasonAsyncFailed,
		},
		"an operation succeeded, and the cloud has it": {
			status: `{conditions: [` + synced + `, {type: AsyncOperation, status: "True", reason: Finished},
				{type: LastAsyncOperation, status: "True", reason: Success}], atProvider: {size: 20}}`,
			change: asked, want: gate.Applied, reason: gate.ReasonObserved,
		},
		// Asynchronous providers that say nothing.
		"success while it works": {
			status: `{conditions: [` + synced + `], atProvider: {size: 10}, lastHandledReconcileAt: pass-4}`,
			change: waited, want: gate.Working, reason: gate.ReasonNotObserved,
		},
		"not up to date": {
			status: `{conditions: [` + synced + `, {type: UpToDate, status: "False", reason: UpdateRestricted}], atProvider: {size: 20}}`,
			change: waited, want: gate.Working, reason: gate.ReasonNotUpToDate,
		},
		"up to date": {
			status: `{conditions: [` + synced + `, {type: UpToDate, status: "True", reason: ObserveMatched}], atProvider: {size: 20}}`,
			change: sized, want: gate.Applied, reason: gate.ReasonObserved,
		},

		// Creation.
		"creation: not begun": {
			change: created, want: gate.Working, reason: gate.ReasonNotReconciled,
		},
		"creation: the call goes on": {
			metadata: `{annotations: {` + begun + `}}`,
			status:   `{conditions: [` + synced + `, ` + available + `]}`,
			change:   created, want: gate.Working, reason: gate.ReasonCreating,
		},
		"creation: the call failed": {
			metadata: `{annotations: {` + begun + `, ` + failedAt + `}}`,
			status:   `{conditions: [` + synced + `, ` + notReady + `]}`,
			change:   created, want: gate.Failing, reason: gate.ReasonCreateFailed,
		},
		"creation: called, and not ready": {
			metadata: `{annotations: {` + begun + `, ` + succeeded + `}}`,
			status:   `{conditions: [` + synced + `, ` + notReady + `]}`,
			change:   created, want: gate.Working, reason: gate.ReasonCreating,
		},
		"creation: ready, with defaults of the cloud's own": {
			metadata: `{annotations: {` + begun + `, ` + succeeded + `}}`,
			status:   `{conditions: [` + synced + `, ` + available + `], atProvider: {size: 21}}`,
			change:   created, want: gate.Applied, reason: gate.ReasonAvailable,
		},
		"creation: the provider never says ready": {
			metadata: `{annotations: {` + begun + `, ` + succeeded + `}}`,
			status:   `{conditions: [` + synced + `]}`,
			change:   created, want: gate.Confirm, reason: gate.ReasonUnconfirmed,
		},
		"creation and a change since": {
			status: `{conditions: [` + synced + `, ` + available + `], atProvider: {size: 10}}`,
			change: gate.Change{Created: true, Paths: sized.Paths},
			want:   gate.Confirm, reason: gate.ReasonNotObserved,
		},

		// What nobody carries out.
		"vanished": {
			status: `{conditions: [{type: Synced, status: "False", reason: ReconcileError, observedGeneration: 4,
				message: "observe failed: external resource does not exist"}], atProvider: {size: 20}}`,
			change: sized, want: gate.Vanished, reason: gate.ReasonNotFound,
		},
		"paused": {
			metadata: `{annotations: {crossplane.io/paused: "true"}}`,
			status:   `{conditions: [` + synced + `], atProvider: {size: 20}}`,
			change:   sized, want: gate.Paused, reason: gate.ReasonPaused,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			forProvider := size
			if test.forProvider != "" {
				forProvider = test.forProvider
			}
			got := Driver{}.Progress(instance(t, test.metadata, forProvider, test.status), test.change)
			want := gate.Progress{Stage: test.want, Reason: test.reason}
			got.Path = nil
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Progress() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProgressResourceWithoutPolicies(t *testing.T) {
	mr := instance(t, "", "{size: 20}", `{conditions: [`+synced+`], atProvider: {size: 20}}`)
	section(mr.Object, "spec")["managementPolicies"] = []any{}
	if got := (Driver{}).Progress(mr, gate.Change{}); got.Stage != gate.Paused {
		t.Errorf("a resource of which nothing is managed is %s", got.Stage)
	}
}

func TestObserved(t *testing.T) {
	tests := map[string]struct {
		path                    string
		forProvider, atProvider string
		want                    comparison
	}{
		"a number":                           {"size", `{size: 20}`, `{size: 20}`, equal},
		"another number":                     {"size", `{size: 20}`, `{size: 10}`, differs},
		"a number as a text":                 {"size", `{size: 20}`, `{size: "20"}`, equal},
		"a number with a fraction":           {"size", `{size: 20}`, `{size: 20.0}`, equal},
		"long numbers":                       {"id", `{id: 9007199254740993}`, `{id: 9007199254740992}`, differs},
		"a long number as a text":            {"id", `{id: 9007199254740993}`, `{id: "9007199254740993"}`, equal},
		"another long number as a text":      {"id", `{id: 9007199254740993}`, `{id: "9007199254740992"}`, differs},
		"a document":                         {"policy", `{policy: '{"id": 1, "of": [2]}'}`, `{policy: '{"of":[2.0],"id":1}'}`, equal},
		"a document with a long number":      {"policy", `{policy: '{"id": 9007199254740993}'}`, `{policy: '{"id":9007199254740992}'}`, differs},
		"texts that look like equal numbers": {"version", `{version: "1.10"}`, `{version: "1.1"}`, differs},
		"a truth value as a text":            {"public", `{public: false}`, `{public: "false"}`, equal},
		"a text":                             {"class", `{class: large}`, `{class: small}`, differs},
		"a list":                             {"zones", `{zones: [a, b]}`, `{zones: [a, b]}`, equal},
		"a list in another order":            {"zones", `{zones: [a, b]}`, `{zones: [b, a]}`, unknown},
		"a longer list":                      {"zones", `{zones: [a]}`, `{zones: [a, b]}`, differs},
		"a list with another item":           {"zones", `{zones: [a, b]}`, `{zones: [a, c]}`, differs},
		"items with defaults":                {"rules", `{rules: [{port: 1}]}`, `{rules: [{port: 1, proto: tcp}]}`, equal},
		"an item of a list":                  {"rules[0].port", `{rules: [{port: 1}]}`, `{rules: [{port: 2}]}`, differs},
		"an item that is not there":          {"rules[1]", `{rules: [{port: 1}, {port: 2}]}`, `{rules: [{port: 1}]}`, unknown},
		"a map with more in it":              {"tags", `{tags: {a: "1"}}`, `{tags: {a: "1", b: "2"}}`, equal},
		"a map with less in it":              {"tags", `{tags: {a: "1", b: "2"}}`, `{tags: {a: "1"}}`, unknown},
		"a map that differs":                 {"tags", `{tags: {a: "1", b: "2"}}`, `{tags: {a: "2"}}`, differs},
		"a key of a map":                     {"tags[a]", `{tags: {a: "1"}}`, `{tags: {a: "2"}}`, differs},
		"a key that was removed":             {"tags[a]", `{tags: {b: "1"}}`, `{tags: {b: "1"}}`, equal},
		"a key that is still there":          {"tags[a]", `{tags: {b: "1"}}`, `{tags: {a: "2", b: "1"}}`, unknown},
		"a field that is not mirrored":       {"secret", `{secret: x}`, `{size: 20}`, unknown},
		"a field of another shape":           {"size", `{size: 20}`, `{size: {gb: 20}}`, unknown},
		"a map as a text":                    {"size", `{size: {gb: 20}}`, `{size: "20"}`, unknown},
		"an empty value":                     {"size", `{size: 20}`, `{size: null}`, unknown},
		"nothing mirrored":                   {"size", `{size: 20}`, ``, unknown},
		"a document with a fraction": {
			"policy", `{policy: '{"a":[1,2],"b":"x"}'}`, `{policy: '{ "b": "x", "a": [1, 2] }'}`, equal,
		},
		"a quantity": {
			"requests", `{requests: {cpu: 1000m, memory: 1024Mi}}`, `{requests: {cpu: "1", memory: 1Gi}}`, equal,
		},
		"a quantity in a list": {
			"containers[0].requests.cpu", `{containers: [{requests: {cpu: 1000m}}]}`, `{containers: [{requests: {cpu: "1"}}]}`, equal,
		},
		"another document": {"policy", `{policy: '{"a":1}'}`, `{policy: '{"a":2}'}`, differs},
		"another quantity": {"requests", `{requests: {cpu: 1000m}}`, `{requests: {cpu: "2"}}`, differs},
		"no document":      {"policy", `{policy: '{a'}`, `{policy: '{b'}`, differs},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			mr := instance(t, "", test.forProvider, `{atProvider: `+test.atProvider+`}`)
			s := signalsOf(mr)
			if got := s.observed(pathsOf(t, "spec.forProvider."+test.path)[0]); got != test.want {
				t.Errorf("observed() = %d, want %d", got, test.want)
			}
		})
	}
	t.Run("all of it", func(t *testing.T) {
		s := signalsOf(instance(t, "", `{size: 20}`, `{atProvider: {size: 20, id: x}}`))
		if got := s.observed(pathsOf(t, "spec.forProvider")[0]); got != equal {
			t.Errorf("observed() = %d", got)
		}
	})
}

// alarms are what providers write while something is pending, failing or unknown.
var alarms = []string{
	`{type: Synced, status: "False", reason: ReconcileError, observedGeneration: 4}`,
	`{type: Synced, status: "False", reason: ReconcileError}`,
	`{type: Synced, status: "False", reason: ReconcilePaused}`,
	`{type: Synced, status: Unknown}`,
	syncedOld,
	`{type: AsyncOperation, status: "False", reason: Ongoing}`,
	`{type: AsyncOperation, status: "False", reason: ApplyFailure}`,
	`{type: LastAsyncOperation, status: "False", reason: AsyncCreateFailure}`,
	`{type: UpToDate, status: "False", reason: UpdateFailed}`,
	`{type: UpToDate, status: Unknown, reason: UpdateRequested}`,
}

func drawChange(t *rapid.T, paths []change.Path) gate.Change {
	c := gate.Change{
		Created: rapid.Bool().Draw(t, "created"),
		Paths:   paths[:rapid.IntRange(0, len(paths)).Draw(t, "paths")],
		Waited:  rapid.Bool().Draw(t, "waited"),
		Passes:  rapid.IntRange(0, 2).Draw(t, "passes"),
	}
	if c.Passes > 0 {
		c.Pass = "pass-4"
	}
	return c
}

// unseen has the status show none of the fields as they should be when they were
// changed.
func unseen(c gate.Change) gate.Change {
	for _, path := range c.Paths {
		c.Unseen = append(c.Unseen, path.String())
	}
	return c
}

// However sure everything else sounds, nothing is applied while something is pending
// or failing.
func TestNothingIsAppliedWhileSomethingIsPendingOrFailing(t *testing.T) {
	paths := pathsOf(t, "spec.forProvider.size", "spec.forProvider.class", "spec.forProvider.secret")
	rapid.Check(t, func(rt *rapid.T) {
		alarm := rapid.SampledFrom(alarms).Draw(rt, "alarm")
		list := []string{alarm, available}
		if !strings.Contains(alarm, "type: Synced") {
			list = append(list, synced)
		}
		mr := instance(t, "", "{size: 20, class: large, secret: x}",
			`{conditions: [`+strings.Join(list, ", ")+`], atProvider: {size: 20, class: large}, lastHandledReconcileAt: pass-4}`)
		c := drawChange(rt, paths)
		if !strings.Contains(alarm, "Ongoing") {
			c = unseen(c)
		}
		if got := (Driver{}).Progress(mr, c); got.Stage == gate.Applied {
			rt.Fatalf("%+v is applied, %s, in spite of %s", c, got.Reason, alarm)
		}
	})
}

// What is applied stays so when more becomes known that speaks for it, and when time
// goes on.
func TestProgressIsMonotone(t *testing.T) {
	paths := pathsOf(t, "spec.forProvider.size", "spec.forProvider.secret")
	rapid.Check(t, func(rt *rapid.T) {
		status := `conditions: [` + rapid.SampledFrom([]string{synced, syncedAny}).Draw(rt, "synced") + `, ` + available + `]`
		if rapid.Bool().Draw(rt, "answered") {
			status += `, lastHandledReconcileAt: pass-4`
		}
		c := drawChange(rt, paths)
		if rapid.Bool().Draw(rt, "unseen") {
			c = unseen(c)
		}
		at := func(status string) *unstructured.Unstructured {
			return instance(t, "", "{size: 20, secret: x}", `{`+status+`}`)
		}
		if (Driver{}).Progress(at(status), c).Stage != gate.Applied {
			return
		}
		more := c
		more.Waited = true
		for _, seen := range []string{"", ", atProvider: {size: 20}", ", atProvider: {size: 20, secret: x}"} {
			if got := (Driver{}).Progress(at(status+seen), more); got.Stage != gate.Applied {
				rt.Fatalf("%+v was applied with {%s}, and is %s, %s, with %s more", c, status, got.Stage, got.Reason, seen)
			}
		}
	})
}
