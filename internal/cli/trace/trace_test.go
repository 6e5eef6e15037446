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

package trace

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/output"
	"kausality.io/operator/internal/cli/text"
	"kausality.io/operator/internal/record"
)

var now = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func before(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

// recordOf returns the record of an object whose uid is its name.
func recordOf(kind, name, parent string, status v1alpha1.AllowanceRecordStatus) v1alpha1.AllowanceRecord {
	rec := v1alpha1.AllowanceRecord{
		ObjectMeta: metav1.ObjectMeta{CreationTimestamp: before(time.Hour)},
		Spec: v1alpha1.AllowanceRecordSpec{TargetRef: v1alpha1.TargetReference{
			Group: "apps", Version: "v1", Kind: kind, Namespace: "shop", Name: name, UID: types.UID(name),
		}},
		Status: status,
	}
	if parent != "" {
		rec.Labels = map[string]string{record.LabelParentUID: parent}
	}
	return rec
}

// tried is the record of a Deployment web that mallory was let create, and that was not stored.
func tried(uid types.UID, status v1alpha1.AllowanceRecordStatus) v1alpha1.AllowanceRecord {
	status.History = []v1alpha1.HistoryEntry{{
		Time: before(time.Minute), Event: v1alpha1.EventGranted, User: "mallory", Operation: "Create", Initiator: "mallory",
		Trace: []v1alpha1.TraceHop{hop("Deployment", "web", "(created)", 1)},
	}}
	rec := recordOf("Deployment", "web", "", status)
	rec.CreationTimestamp, rec.Spec.TargetRef.UID = before(time.Minute), uid
	return rec
}

func target(group, kind, name string) cluster.Target {
	return cluster.Target{GVK: schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind}, Namespace: "shop", Name: name}
}

func history(entries ...v1alpha1.HistoryEntry) v1alpha1.AllowanceRecordStatus {
	return v1alpha1.AllowanceRecordStatus{Phase: v1alpha1.PhaseSteady, History: entries}
}

func granted(age time.Duration, initiator string, trace ...v1alpha1.TraceHop) v1alpha1.HistoryEntry {
	return v1alpha1.HistoryEntry{Time: before(age), Event: v1alpha1.EventGranted, Initiator: initiator, Trace: trace}
}

// folded has an entry tell of several fields of its write.
func folded(e v1alpha1.HistoryEntry, paths ...string) v1alpha1.HistoryEntry {
	e.Paths = paths
	return e
}

func pods(age time.Duration, operation, initiator string, trace []v1alpha1.TraceHop, names ...string) v1alpha1.HistoryEntry {
	return v1alpha1.HistoryEntry{
		Time: before(age), Event: v1alpha1.EventExercised, Operation: operation, Kind: "Pod", Names: names,
		Initiator: initiator, Trace: trace, User: "replicaset-controller",
	}
}

// created is that a ReplicaSet was let be created.
func created(name, initiator string, trace ...v1alpha1.TraceHop) v1alpha1.HistoryEntry {
	e := pods(time.Minute, "Create", initiator, trace, name)
	e.Kind = "ReplicaSet"
	return e
}

func hop(kind, name, field string, generation int64) v1alpha1.TraceHop {
	return v1alpha1.TraceHop{Kind: kind, Name: name, Field: field, Generation: generation}
}

func TestTrace(t *testing.T) {
	image := hop("Deployment", "web", "spec.template.spec.containers[0].image", 3)
	image.Attestations = map[string]string{"metadata.annotations[ticket]": "OPS-1"}
	scaled := hop("Deployment", "web", "spec.replicas", 2)
	rollout := func(generation int64) []v1alpha1.TraceHop {
		return []v1alpha1.TraceHop{image, hop("ReplicaSet", "web-1", "spec.replicas", generation)}
	}
	deployment := recordOf("Deployment", "web", "", history(
		v1alpha1.HistoryEntry{
			Time: before(time.Minute), Event: v1alpha1.EventExercised, Operation: "Update", Kind: "ReplicaSet",
			Names: []string{"web-1"}, Paths: []string{"spec.replicas"}, Initiator: "alice", Trace: []v1alpha1.TraceHop{image},
		},
		granted(2*time.Minute, "alice", image),
		granted(time.Hour, "autoscaler", scaled),
	))
	replicaSet := recordOf("ReplicaSet", "web-1", "web", history(
		pods(time.Minute, "Create", "alice", rollout(3), "web-1-c"),
		pods(time.Minute, "Create", "alice", rollout(2), "web-1-b", "web-1-a"),
		granted(time.Minute, "alice", rollout(3)...),
		granted(time.Minute, "alice", rollout(2)...),
		v1alpha1.HistoryEntry{
			Time: before(30 * time.Minute), Event: v1alpha1.EventAllowed, Reason: "Maintaining", Operation: "Create",
			Kind: "Pod", Names: []string{"web-1-z"}, User: "replicaset-controller",
		},
		v1alpha1.HistoryEntry{Time: before(0), Event: v1alpha1.EventDenied, Operation: "Create", Kind: "Pod", User: "mallory"},
	))
	// What became of web-1-a is in a chain, and web-1-b is gone.
	replaced := recordOf("ReplicaSet", "web-1", "web", history(
		pods(time.Minute, "Create", "alice", rollout(2), "web-1-a"),
		v1alpha1.HistoryEntry{
			Time: before(20 * time.Minute), Event: v1alpha1.EventAllowed, Reason: "Platform", Operation: "Update",
			Kind: "Pod", Names: []string{"web-1-a", "web-1-z"}, Paths: []string{"metadata.labels[x]"}, User: "kube-scheduler",
		},
		v1alpha1.HistoryEntry{
			Time: before(30 * time.Minute), Event: v1alpha1.EventAllowed, Reason: "Maintaining", Operation: "Create",
			Kind: "Pod", Names: []string{"web-1-b", "web-1-z"}, User: "replicaset-controller",
		},
	))
	stranger := recordOf("ReplicaSet", "api-1", "api", history(granted(0, "bob", hop("Deployment", "web", "spec.other", 1))))
	crowd := recordOf("ReplicaSet", "web-1", "web", history(
		pods(time.Minute, "Create", "alice", rollout(2), "a", "b", "c", "d", "e", "f", "g"),
	))
	ended := recordOf("Deployment", "web", "", v1alpha1.AllowanceRecordStatus{
		Phase: v1alpha1.PhaseDeleting,
		Deletion: &v1alpha1.Deletion{
			Time: before(5 * time.Minute), User: "carol", Initiator: "carol",
			Trace: []v1alpha1.TraceHop{hop("Deployment", "web", "(deleted)", 0)},
		},
	})
	agreed := []v1alpha1.TraceHop{hop("UpgradeAllowance", "v2", "(upgrade)", 2), hop("Deployment", "web", "(upgrade)", 3)}
	upgraded := recordOf("Deployment", "web", "", history(v1alpha1.HistoryEntry{
		Time: before(time.Minute), Event: v1alpha1.EventExercised, Operation: "Update", Kind: "ReplicaSet",
		Names: []string{"web-1"}, Paths: []string{"spec.replicas"}, Initiator: "greta", Trace: agreed,
	}))
	gone := recordOf("Deployment", "web", "", v1alpha1.AllowanceRecordStatus{
		Phase:    v1alpha1.PhaseDeleting,
		Deletion: &v1alpha1.Deletion{Time: before(5 * time.Minute), User: "controller", Initiator: "greta", Trace: agreed},
	})
	older := recordOf("Deployment", "web", "", history(granted(0, "older", image)))
	older.CreationTimestamp, older.Spec.TargetRef.UID = before(24*time.Hour), "older"

	source := hop("Secret", "registry", "data[key]", 0)
	settings := recordOf("Secret", "registry", "", history(granted(time.Minute, "alice", source)))
	settings.Spec.TargetRef.Namespace = "settings"
	source.Namespace = "settings" // as what is in another namespace says
	clone := recordOf("Secret", "registry", "", history(granted(time.Minute, "alice", source, hop("Secret", "registry", "data[key]", 0))))
	clone.Spec.TargetRef.UID = "clone"
	clone.Labels = map[string]string{record.LabelParentUID: "registry"}
	ofSource := target("", "Secret", "registry")
	ofSource.Namespace = "settings"

	tests := map[string]struct {
		sight sight
		wide  bool
		want  string
	}{
		"what an upgrade changed": {
			sight: sight{
				target: target("apps", "ReplicaSet", "web-1"), uid: "web-1", parent: "web",
				records: []v1alpha1.AllowanceRecord{upgraded},
			},
			want: `ReplicaSet/web-1 in namespace shop

greta, 60s ago
└── UpgradeAllowance/v2  agrees to an upgrade, generation 2
    └── Deployment/web  is upgraded, generation 3
        └── ReplicaSet/web-1  changed spec.replicas
`,
		},
		"what an upgrade deleted": {
			sight: sight{target: target("apps", "Deployment", "web"), uid: "web", records: []v1alpha1.AllowanceRecord{gone}},
			want: `Deployment/web in namespace shop, Deleting
Deleted 5m ago by controller: greta → UpgradeAllowance/v2 agrees to an upgrade → Deployment/web is upgraded

greta, 5m ago
└── UpgradeAllowance/v2  agrees to an upgrade, generation 2
    └── Deployment/web  is upgraded, generation 3
`,
		},
		"a root and what came of its changes": {
			sight: sight{
				target: target("apps", "Deployment", "web"), uid: "web",
				records: []v1alpha1.AllowanceRecord{deployment, replicaSet, stranger},
				listed:  []string{"ReplicaSet", "Pod"},
				below:   []Child{{Kind: "ReplicaSet", Name: "web-1"}, {Kind: "Pod", Name: "web-1-a"}, {Kind: "Pod", Name: "web-1-c"}, {Kind: "Pod", Name: "web-1-y"}},
			},
			want: `Deployment/web in namespace shop, Steady

alice, 2m ago
└── Deployment/web  spec.template.spec.containers[0].image, generation 3
    ├── attested: metadata.annotations[ticket] = OPS-1
    └── ReplicaSet/web-1  spec.replicas, generations 2 to 3
        ├── Pod/web-1-a  created
        ├── Pod/web-1-c  created
        └── Pod/web-1-b  created (gone, or never there)

autoscaler, 60m ago
└── Deployment/web  spec.replicas, generation 2

Below it, of unknown cause
└── Pod/web-1-y
`,
		},
		"a root with what was replaced below it": {
			sight: sight{
				target: target("apps", "Deployment", "web"), uid: "web",
				records: []v1alpha1.AllowanceRecord{deployment, replaced},
				listed:  []string{"ReplicaSet", "Pod"},
				below:   []Child{{Kind: "ReplicaSet", Name: "web-1"}, {Kind: "Pod", Name: "web-1-a"}, {Kind: "Pod", Name: "web-1-y"}, {Kind: "Pod", Name: "web-1-z"}},
			},
			want: `Deployment/web in namespace shop, Steady

alice, 2m ago
└── Deployment/web  spec.template.spec.containers[0].image, generation 3
    ├── attested: metadata.annotations[ticket] = OPS-1
    └── ReplicaSet/web-1  spec.replicas, generation 2
        └── Pod/web-1-a  created

kube-scheduler (Platform), 20m ago
└── ReplicaSet/web-1
    └── Pod/web-1-z  changed metadata.labels[x]

replicaset-controller (Maintaining), 30m ago
└── ReplicaSet/web-1
    └── Pod/web-1-z  created

autoscaler, 60m ago
└── Deployment/web  spec.replicas, generation 2

Below it, of unknown cause
└── Pod/web-1-y
`,
		},
		"an object in the middle, with what no chain led to": {
			sight: sight{
				target: target("apps", "ReplicaSet", "web-1"), uid: "web-1", parent: "web",
				records: []v1alpha1.AllowanceRecord{deployment, replicaSet, stranger},
			},
			want: `ReplicaSet/web-1 in namespace shop, Steady

alice, 2m ago
└── Deployment/web  spec.template.spec.containers[0].image, generation 3
    ├── attested: metadata.annotations[ticket] = OPS-1
    └── ReplicaSet/web-1  spec.replicas, generations 2 to 3
        ├── Pod/web-1-a  created
        ├── Pod/web-1-b  created
        └── Pod/web-1-c  created

replicaset-controller (Maintaining), 30m ago
└── ReplicaSet/web-1
    └── Pod/web-1-z  created
`,
		},
		"a leaf, which has no record": {
			sight: sight{
				target: target("", "Pod", "web-1-b"), uid: "pod", parent: "web-1",
				records: []v1alpha1.AllowanceRecord{deployment, replicaSet, stranger},
			},
			want: `Pod/web-1-b in namespace shop

alice, 2m ago
└── Deployment/web  spec.template.spec.containers[0].image, generation 3
    ├── attested: metadata.annotations[ticket] = OPS-1
    └── ReplicaSet/web-1  spec.replicas, generation 2
        └── Pod/web-1-b  created
`,
		},
		"a leaf that is gone": {
			sight: sight{
				target: target("", "Pod", "web-1-z"), gone: true,
				records: []v1alpha1.AllowanceRecord{deployment, replicaSet, stranger},
			},
			want: `Pod/web-1-z in namespace shop, gone

replicaset-controller (Maintaining), 30m ago
└── ReplicaSet/web-1
    └── Pod/web-1-z  created (gone, or never there)
`,
		},
		"many alike are not listed": {
			sight: sight{
				target: target("apps", "ReplicaSet", "web-1"), uid: "web-1",
				records: []v1alpha1.AllowanceRecord{crowd},
			},
			want: `ReplicaSet/web-1 in namespace shop, Steady

alice, 60s ago
└── Deployment/web  spec.template.spec.containers[0].image, generation 3
    ├── attested: metadata.annotations[ticket] = OPS-1
    └── ReplicaSet/web-1  spec.replicas, generation 2
        ├── Pod/a  created
        ├── Pod/b  created
        ├── Pod/c  created
        ├── Pod/d  created
        └── and 3 more of kind Pod created (-o wide lists them)
`,
		},
		"many alike, at length": {
			sight: sight{
				target: target("", "Pod", "f"), uid: "pod", parent: "web-1",
				records: []v1alpha1.AllowanceRecord{crowd},
				below:   []Child{{Kind: "Thing", Name: "a"}, {Kind: "Thing", Name: "b"}, {Kind: "Thing", Name: "c"}, {Kind: "Thing", Name: "d"}, {Kind: "Thing", Name: "e"}, {Kind: "Thing", Name: "g"}},
			},
			wide: true,
			want: `Pod/f in namespace shop

alice, 60s ago
└── Deployment/web  spec.template.spec.containers[0].image, generation 3
    ├── attested: metadata.annotations[ticket] = OPS-1
    └── ReplicaSet/web-1  spec.replicas, generation 2
        └── Pod/f  created

Below it, of unknown cause
├── Thing/a
├── Thing/b
├── Thing/c
├── Thing/d
├── Thing/e
└── Thing/g
`,
		},
		"a child whose root was deleted": {
			sight: sight{
				target: target("apps", "ReplicaSet", "web-1"), gone: true,
				records: []v1alpha1.AllowanceRecord{ended, recordOf("ReplicaSet", "web-1", "web", history())},
			},
			want: `ReplicaSet/web-1 in namespace shop, gone
Deleted 5m ago by carol: carol → Deployment/web (deleted)
`,
		},
		"what has the name of its parent, in another namespace": {
			sight: sight{
				target: target("", "Secret", "registry"), uid: "clone", listed: []string{"Secret"}, listedIn: "shop",
				records: []v1alpha1.AllowanceRecord{settings, clone},
			},
			want: `Secret/registry in namespace shop, Steady

alice, 60s ago
└── Secret/registry in namespace settings  data[key]
    └── Secret/registry  data[key]
`,
		},
		"what is made of it in another namespace": {
			sight: sight{
				target: ofSource, uid: "registry", listed: []string{"Secret"}, listedIn: "settings",
				records: []v1alpha1.AllowanceRecord{settings, clone},
			},
			want: `Secret/registry in namespace settings, Steady

alice, 60s ago
└── Secret/registry  data[key]
    └── Secret/registry in namespace shop  data[key]
`,
		},
		"nothing is known": {
			sight: sight{target: target("apps", "ReplicaSet", "web-1"), uid: "web-1"},
			want: `ReplicaSet/web-1 in namespace shop

No ledger and no AllowanceRecord tells what caused it: it may be older than the policies, or no
policy is for what owns it (kubectl kausality explain -n shop replicaset/web-1). Records are written
up to two seconds late: if it has just happened, ask again.
`,
		},
		"a chain that begins below": {
			sight: sight{
				target: target("batch", "CronJob", "nightly"), uid: "nightly", listed: []string{"Pod"}, below: []Child{{Kind: "Pod", Name: "now-1"}},
				records: []v1alpha1.AllowanceRecord{
					recordOf("CronJob", "nightly", "", v1alpha1.AllowanceRecordStatus{}),
					recordOf("Job", "now", "nightly", v1alpha1.AllowanceRecordStatus{History: []v1alpha1.HistoryEntry{{
						Time: before(time.Minute), Event: v1alpha1.EventExercised, User: "job-controller", Operation: "Create",
						Kind: "Pod", Names: []string{"now-1"}, Paths: []string{"create"}, Initiator: "alice", Trace: []v1alpha1.TraceHop{hop("Job", "now", "(created)", 1)},
					}}}),
				},
			},
			want: `CronJob/nightly in namespace shop

alice, 60s ago
└── Job/now  (created), generation 1
    └── Pod/now-1  created
`,
		},
		"one that was there, and not those that others tried to create": {
			sight: sight{
				target: target("apps", "Deployment", "web"), gone: true,
				records: []v1alpha1.AllowanceRecord{
					ended, tried("7", v1alpha1.AllowanceRecordStatus{}),
					tried("8", v1alpha1.AllowanceRecordStatus{Phase: v1alpha1.PhaseDeleting, EndedAt: &metav1.Time{Time: before(time.Second).Time}}),
				},
			},
			want: `Deployment/web in namespace shop, gone
Deleted 5m ago by carol: carol → Deployment/web (deleted)

carol, 5m ago
└── Deployment/web  (deleted) (gone)

2 objects had that name; this is about the last. All: kubectl get allowancerecords -n shop
`,
		},
		"the last of several that are gone": {
			sight: sight{
				target: target("apps", "Deployment", "web"), gone: true,
				records: []v1alpha1.AllowanceRecord{older, ended},
			},
			want: `Deployment/web in namespace shop, gone
Deleted 5m ago by carol: carol → Deployment/web (deleted)

carol, 5m ago
└── Deployment/web  (deleted) (gone)

2 objects had that name; this is about the last. All: kubectl get allowancerecords -n shop
`,
		},
		"what was replaced under its name, and what was not": {
			sight: sight{
				target: target("apps", "Deployment", "web"), uid: "web", listed: []string{"Pod"}, listedIn: "shop",
				below: []Child{{Kind: "Pod", Name: "db-0"}, {Kind: "Pod", Name: "db-1"}},
				records: []v1alpha1.AllowanceRecord{recordOf("Deployment", "web", "", history(
					pods(time.Minute, "Create", "alice", []v1alpha1.TraceHop{scaled}, "db-0"), pods(2*time.Minute, "Delete", "alice", []v1alpha1.TraceHop{scaled}, "db-1", "db-0"),
					pods(3*time.Minute, "Create", "alice", []v1alpha1.TraceHop{scaled}, "db-2", "db-1"), pods(time.Minute, "Delete", "alice", []v1alpha1.TraceHop{scaled}, "db-2"),
				))},
			},
			want: `Deployment/web in namespace shop, Steady

alice, 3m ago
└── Deployment/web  spec.replicas, generation 2
    ├── Pod/db-0  created
    ├── Pod/db-1  created
    ├── Pod/db-2  created (gone)
    ├── Pod/db-0  deleted, and made again
    ├── Pod/db-1  deleted
    └── Pod/db-2  deleted (gone)
`,
		},
		"what a quota refused after it was let through": {
			sight: sight{
				target: target("apps", "Deployment", "web"), uid: "web", listed: []string{"Pod", "ReplicaSet"}, listedIn: "shop",
				below: []Child{{Kind: "Pod", Name: "z-1", Namespace: "shop"}},
				records: []v1alpha1.AllowanceRecord{
					recordOf("Deployment", "web", "", history(
						pods(time.Minute, "Create", "alice", []v1alpha1.TraceHop{scaled}, "z-1", "a-6", "a-5", "a-4", "a-3", "a-2", "a-1", "y-1"),
						pods(2*time.Minute, "Delete", "alice", []v1alpha1.TraceHop{scaled}, "y-1"),
						created("web-known", "alice", scaled), created("web-tried", "alice", scaled), created("web-untold", "alice", scaled),
					)),
					recordOf("ReplicaSet", "web-known", "web", history()),
					recordOf("ReplicaSet", "web-tried", "web", v1alpha1.AllowanceRecordStatus{}),
				},
			},
			want: `Deployment/web in namespace shop, Steady

alice, 2m ago
└── Deployment/web  spec.replicas, generation 2
    ├── Pod/y-1  created (gone)
    ├── Pod/z-1  created
    ├── Pod/a-1  created (gone, or never there)
    ├── Pod/a-2  created (gone, or never there)
    ├── and 4 more of kind Pod created (-o wide lists them)
    ├── Pod/y-1  deleted (gone)
    ├── ReplicaSet/web-known  created (gone)
    ├── ReplicaSet/web-tried  created (gone, or never there)
    └── ReplicaSet/web-untold  created (gone, or never there)
`,
		},
		"what is open, and what is withheld": {
			sight: sight{
				target: target("apps", "Deployment", "web"), uid: "web",
				records: []v1alpha1.AllowanceRecord{recordOf("Deployment", "web", "", v1alpha1.AllowanceRecordStatus{
					Active: []v1alpha1.Allowance{
						{Kind: "ReplicaSet", Mutation: "create", Initiator: "alice", Trace: []v1alpha1.TraceHop{scaled}},
						{Relation: v1alpha1.RelationWithheld, Mutation: "spec.paused", Initiator: "mallory", Generation: 4},
						{Relation: v1alpha1.RelationWithheld, Mutation: "spec.template", Generation: 5},
					},
				})},
			},
			want: `Deployment/web in namespace shop

alice
└── Deployment/web  spec.replicas, generation 2, active

mallory (may not initiate it)
└── Deployment/web  spec.paused, generation 4, withheld

somebody, while Kausality was away or not asked, or right before it ended (withheld)
└── Deployment/web  spec.template, generation 5, withheld
`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			report, err := build(&tc.sight)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, render(report, text.Terminal{Width: text.DefaultWidth}, tc.wide, now)); diff != "" {
				t.Errorf("trace: -want, +got:\n%s", diff)
			}
		})
	}
}

func TestTraceOfNothing(t *testing.T) {
	_, err := build(&sight{target: target("apps", "Deployment", "web"), gone: true})
	want := "Deployment/web in namespace shop does not exist, and no AllowanceRecord tells of it: see whether the namespace is right, " +
		"or which records there are (kubectl get allowancerecords -A)"
	if err == nil || err.Error() != want {
		t.Errorf("build: %v, want %s", err, want)
	}
}

// Of a child that is gone, and that has no record, the record of its parent tells, which is in the namespace of the operator
// where that is cluster-scoped. That of an object in another namespace is about another child of that name.
func TestTraceOfAGoneChildOfAClusterScopedObject(t *testing.T) {
	of := func(kind, name, namespace, user string) v1alpha1.AllowanceRecord {
		rec := recordOf(kind, name, "", history(v1alpha1.HistoryEntry{
			Time: before(time.Minute), Event: v1alpha1.EventExercised, Operation: "Delete", Kind: "Animal", Names: []string{"a"},
			Initiator: user, Trace: []v1alpha1.TraceHop{hop(kind, name, "spec.size", 2)},
		}))
		rec.Namespace, rec.Spec.TargetRef.Namespace = "kausality-system", namespace
		return rec
	}
	report, err := build(&sight{
		target: target("apps", "Animal", "a"), gone: true,
		records: []v1alpha1.AllowanceRecord{of("Farm", "f", "", "alice"), of("Stable", "s", "elsewhere", "mallory")},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `Animal/a in namespace shop, gone

alice, 60s ago
└── Farm/f  spec.size, generation 2
    └── Animal/a  deleted (gone)

Farm/f is cluster-scoped, and its record does not tell in which namespace a child was: that may be
another Animal a.
`
	if diff := cmp.Diff(want, render(report, text.Terminal{Width: text.DefaultWidth}, false, now)); diff != "" {
		t.Errorf("trace: -want, +got:\n%s", diff)
	}
}

// Two objects of one name in two namespaces, of one parent, are told apart.
func TestTraceOfOneOfTwoNamespaces(t *testing.T) {
	happened := func(operation, namespace string) v1alpha1.HistoryEntry {
		return v1alpha1.HistoryEntry{
			Time: before(time.Minute), Event: v1alpha1.EventExercised, Operation: operation, Kind: "Animal", Names: []string{"a"}, Namespace: namespace,
			Initiator: "alice", Trace: []v1alpha1.TraceHop{hop("Farm", "f", "spec.size", 2)},
		}
	}
	rec := recordOf("Farm", "f", "", history(happened("Delete", "other"), happened("Create", "shop")))
	rec.Namespace, rec.Spec.TargetRef.Namespace = "kausality-system", ""
	animal := target("apps", "Animal", "a")
	for name, tc := range map[string]struct {
		sight sight
		want  string
	}{
		"the one that is there": {
			sight: sight{target: animal, uid: "a", parent: rec.Spec.TargetRef.UID},
			want:  "Animal/a in namespace shop\n\nalice, 60s ago\n└── Farm/f  spec.size, generation 2\n    └── Animal/a  created\n",
		},
		"one that is gone": {
			sight: sight{target: animal, gone: true},
			want:  "Animal/a in namespace shop, gone\n\nalice, 60s ago\n└── Farm/f  spec.size, generation 2\n    └── Animal/a  created (gone, or never there)\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.sight.records = []v1alpha1.AllowanceRecord{rec}
			report, err := build(&tc.sight)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, render(report, text.Terminal{Width: text.DefaultWidth}, false, now)); diff != "" {
				t.Errorf("trace: -want, +got:\n%s", diff)
			}
		})
	}
}

func TestLately(t *testing.T) {
	image := hop("Deployment", "web", "spec.template.spec.containers[0].image", 3)
	below := []v1alpha1.TraceHop{image, hop("ReplicaSet", "web-1", "spec.replicas", 2)}
	scaled := hop("Deployment", "api", "spec.replicas", 2)
	denied := v1alpha1.HistoryEntry{Time: before(0), Event: v1alpha1.EventDenied, Operation: "Create", Kind: "Pod", User: "mallory"}
	scale := hop("Deployment", "web", "spec.replicas", 3)
	often := pods(time.Minute, "Create", "alice", below, "a", "b")
	first := before(3 * time.Minute)
	often.FirstTime = &first
	records := []v1alpha1.AllowanceRecord{
		recordOf("Deployment", "web", "", v1alpha1.AllowanceRecordStatus{
			Active: []v1alpha1.Allowance{{Relation: v1alpha1.RelationWithheld, Mutation: "spec.paused", Initiator: "mallory", Generation: 4}},
			History: []v1alpha1.HistoryEntry{
				denied,
				{Time: before(time.Minute), Event: v1alpha1.EventWithheld, User: "mallory", Trace: []v1alpha1.TraceHop{hop("Deployment", "web", "spec.paused", 4)}},
				granted(4*time.Minute, "alice", image),
			},
		}),
		recordOf("ReplicaSet", "web-1", "web", history(often, granted(2*time.Minute, "alice", below...))),
		recordOf("Deployment", "api", "", history(granted(2*time.Minute, "bob", scaled))),
		recordOf("ReplicaSet", "api-1", "api", history(
			pods(time.Second, "Delete", "bob", []v1alpha1.TraceHop{scaled, hop("ReplicaSet", "api-1", "spec.replicas", 2)}, "c"),
		)),
	}
	for name, tc := range map[string]struct {
		records []v1alpha1.AllowanceRecord
		most    output.Limit
		want    string
	}{
		"one write of several fields, told as one": {[]v1alpha1.AllowanceRecord{
			recordOf("Deployment", "web", "", history(folded(granted(3*time.Minute, "alice", scale), "spec.replicas", image.Field))),
			recordOf("ReplicaSet", "web-1", "web", history(pods(time.Second, "Create", "alice", below, "a"))),
		}, 9, `WHEN     WHO     OBJECT           CHANGE                                   TOUCHED
3m ago   alice   Deployment/web   spec.replicas                            nothing
3m ago   alice   Deployment/web   spec.template.spec.containers[0].image   1 ReplicaSet, 1 Pod
`},
		"the latest first": {records, 9, `WHEN      WHO                             OBJECT           CHANGE                                   TOUCHED
60s ago   mallory (may not initiate it)   Deployment/web   spec.paused                              nothing
2m ago    bob                             Deployment/api   spec.replicas                            1 ReplicaSet, 1 Pod
4m ago    alice                           Deployment/web   spec.template.spec.containers[0].image   1 ReplicaSet, 2 Pod
`},
		"not all": {records, 1, `WHEN      WHO                             OBJECT           CHANGE        TOUCHED
60s ago   mallory (may not initiate it)   Deployment/web   spec.paused   nothing

There are 2 more (--limit).
`},
		"none": {nil, 9, "The AllowanceRecords of namespace shop tell of no change.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got := renderLately(latest("shop", tc.records, tc.most), text.Terminal{Width: text.DefaultWidth}, now)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}
