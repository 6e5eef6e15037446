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

package decision

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"kausality.io/operator/internal/approved"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/policy"
)

// The kinds that make children of a template.
var (
	controllerGVK = schema.GroupVersionKind{Version: "v1", Kind: "ReplicationController"}
	daemonSetGVK  = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "DaemonSet"}
	cronJobGVK    = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "CronJob"}
)

// healingPolicy lets controllers make children again, for parents of a kind.
func healingPolicy(tb testing.TB, gvk schema.GroupVersionKind) []*policy.Policy {
	tb.Helper()
	return []*policy.Policy{compile(tb, "healing", `
for: {apiGroup: "`+gvk.Group+`", apiVersion: v1, kind: `+gvk.Kind+`}
subjects: [{kind: User, name: alice, mayInitiate: true}]
maintaining:
  policies:
  - {target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Create]}
  - {target: {apiGroup: batch, apiVersion: v1, resource: jobs}, relation: ControllerChild, verbs: [Create]}
rules:
- {trigger: spec}
- {trigger: metadata.labels}
`)}
}

const podTemplate = `
    metadata: {labels: {app: web, tier: front}, annotations: {team: a}}
    spec:
      hostname: old
      nodeSelector: {disk: ssd}
      securityContext: {}
      tolerations: [{key: k, operator: Exists}]
      volumes: [{name: data, emptyDir: {}}]
      containers:
      - name: main
        image: good
        args: [serve, --safe]
        env: [{name: A, value: a}, {name: B, value: b}, {name: C, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: spec.a}}}]
        ports: [{containerPort: 80, protocol: TCP}]
        resources: {limits: {cpu: 500m}}
        volumeMounts: [{name: data, mountPath: /data}]
      - {name: second, image: good}
`

// parents are what is approved of a parent of each kind.
var parents = map[schema.GroupVersionKind]string{
	replicaSetGVK: "spec:\n  replicas: 4\n  template:" + podTemplate,
	controllerGVK: "spec:\n  replicas: 4\n  template:" + podTemplate,
	setGVK: "spec:\n  replicas: 4\n  updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 2}}\n" +
		"  volumeClaimTemplates: [{metadata: {name: disk}}]\n  template:" + podTemplate,
	daemonSetGVK: "spec:\n  updateStrategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}\n  template:" + podTemplate,
	jobGVK:       "spec:\n  parallelism: 2\n  completions: 4\n  suspend: false\n  backoffLimit: 6\n  template:" + podTemplate,
	cronJobGVK: "spec:\n  schedule: \"0 * * * *\"\n  suspend: false\n  concurrencyPolicy: Allow\n  jobTemplate:\n" +
		"    metadata: {labels: {app: web}}\n    spec: {backoffLimit: 6, template: {spec: {containers: [{name: main, image: good, args: [serve, --safe]}]}}}\n",
}

// podMakers are the kinds among them that make Pods.
var podMakers = []schema.GroupVersionKind{replicaSetGVK, controllerGVK, setGVK, daemonSetGVK, jobGVK}

// edit changes fields of an object; nil takes one out.
func edit(tb testing.TB, obj, fields map[string]any) map[string]any {
	tb.Helper()
	out := obj
	for _, text := range slices.Sorted(maps.Keys(fields)) {
		out = holding(out, mustPath(tb, text), fields[text])
	}
	return out
}

// madeOf returns what a controller makes of the template of a parent.
func madeOf(parent map[string]any) map[string]any {
	spec, _ := parent["spec"].(map[string]any)
	for _, field := range []string{"template", "jobTemplate"} {
		if template, ok := spec[field].(map[string]any); ok {
			return runtime.DeepCopyJSON(template)
		}
	}
	return map[string]any{}
}

// injected returns a Pod with what controllers, the API server and webhooks add to what its
// template has.
func injected(tb testing.TB, pod map[string]any) map[string]any {
	tb.Helper()
	pod = edit(tb, pod, map[string]any{
		"metadata.generateName":                "web-",
		"metadata.namespace":                   "default",
		"metadata.ownerReferences":             []any{map[string]any{"kind": "Owner", "name": "web", "uid": "uid-of-web", "controller": true}},
		"metadata.labels[pod-template-hash]":   "abc",
		"metadata.annotations[sidecar/status]": "injected",
		"spec.enableServiceLinks":              true,
		"spec.priority":                        int64(0),
		"spec.schedulerName":                   "default-scheduler",
		"spec.affinity": object(tb, `{nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {
			nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [node-1]}]}]}}}`),
	})
	spec, _ := pod["spec"].(map[string]any)
	add := func(to map[string]any, list, text string) {
		before, _ := to[list].([]any)
		to[list] = append(slices.Clone(before), object(tb, text))
	}
	add(spec, "volumes", "{name: kube-api-access, projected: {defaultMode: 420}}")
	add(spec, "tolerations", "{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}")
	containers, _ := spec["containers"].([]any)
	for _, c := range containers {
		container, _ := c.(map[string]any)
		container["terminationMessagePath"] = "/dev/termination-log"
		container["imagePullPolicy"] = "Always"
		add(container, "volumeMounts", "{name: kube-api-access, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true}")
		add(container, "env", "{name: INJECTED, value: yes}")
	}
	add(spec, "containers", "{name: proxy, image: proxy, args: [run]}")
	add(spec, "initContainers", "{name: proxy-init, image: proxy}")
	return pod
}

// birth is the creation of a child while something of its parent is withheld.
type birth struct {
	parent schema.GroupVersionKind
	// changed are the fields of the parent that a stranger has changed, and approved
	// those that are approved otherwise than in parents.
	changed, approved map[string]any
	// ofPresent makes the child of the present template; else it is of the approved one.
	ofPresent bool
	// edit are changes of the child on its way.
	edit map[string]any
	// name of the child, web-0 where it is empty.
	name string
	// short is Parent.Short.
	short bool
	// current and update are the revisions of a StatefulSet.
	current, update string
}

// request of the birth.
func (b birth) request(tb testing.TB) *request {
	tb.Helper()
	content := edit(tb, object(tb, parents[b.parent]), b.approved)
	present := edit(tb, content, b.changed)
	child, name := podGVK, b.name
	if b.parent == cronJobGVK {
		child = jobGVK
	}
	if name == "" {
		name = "web-0"
	}
	r := aRequest(replicaer, Create, child, name).of(b.parent, "web", healingPolicy(tb, b.parent)).beingOf(content, present)
	r.Child.New = madeOf(content)
	if b.ofPresent {
		r.Child.New = madeOf(present)
	}
	if child == podGVK && r.Child.New["spec"] != nil {
		r.Child.New = injected(tb, r.Child.New)
	}
	r.Child.New = edit(tb, r.Child.New, b.edit)
	r.Parent.Short, r.Parent.CurrentRevision, r.Parent.UpdateRevision = b.short, b.current, b.update
	return r
}

// check checks whether the creation is let through.
func (b birth) check(t *testing.T, want bool) {
	t.Helper()
	checkHealing(t, &b.request(t).Input, want)
}

func checkHealing(t *testing.T, in *Input, want bool) {
	t.Helper()
	reason := ReasonDenied
	if want {
		reason = ReasonMaintaining
	}
	if v := Decide(t.Context(), in); v.Reason != reason {
		t.Errorf("%s while there is withheld %v, want %s", v.Reason, differences(in.Parent.Standing), reason)
	}
}

func differences(st *approved.Standing) []string {
	var out []string
	for _, d := range st.Differences {
		out = append(out, string(d.Verb)+" "+d.Path.String())
	}
	return out
}

// templateChanges returns changes of a Pod template, by name, below its path.
func templateChanges() map[string]map[string]any {
	list := func(items ...any) []any { return items }
	return map[string]map[string]any{
		"an image":                      {"spec.containers[0].image": "evil"},
		"an image of the second":        {"spec.containers[1].image": "evil"},
		"an image left out":             {"spec.containers[1].image": nil},
		"an argument":                   {"spec.containers[0].args": list("serve", "--unsafe")},
		"one argument more":             {"spec.containers[0].args": list("serve", "--safe", "--unsafe")},
		"one argument less":             {"spec.containers[0].args": list("serve")},
		"one argument less, in front":   {"spec.containers[0].args": list("--safe")},
		"arguments in another order":    {"spec.containers[0].args": list("--safe", "serve")},
		"an argument twice":             {"spec.containers[0].args": list("serve", "serve", "--safe")},
		"no arguments":                  {"spec.containers[0].args": nil},
		"a command":                     {"spec.containers[0].command": list("sh")},
		"the value of a variable":       {"spec.containers[0].env[0].value": "evil"},
		"the kind of a reference":       {"spec.containers[0].env[2].valueFrom.fieldRef.apiVersion": "v2"},
		"a reference without a version": {"spec.containers[0].env[2].valueFrom.fieldRef.apiVersion": nil},
		"a field that is called status": {"spec.containers[0].status": "evil"},
		"no metadata":                   {"metadata": nil},
		"a variable":                    {"spec.containers[0].env[3]": map[string]any{"name": "LD_PRELOAD", "value": "evil"}},
		"a variable less":               {"spec.containers[0].env": list(map[string]any{"name": "B", "value": "b"})},
		"variables in another order":    {"spec.containers[0].env": list(map[string]any{"name": "B", "value": "b"}, map[string]any{"name": "A", "value": "a"})},
		"a port":                        {"spec.containers[0].ports[0].hostPort": int64(80)},
		"a limit":                       {"spec.containers[0].resources.limits.cpu": "900m"},
		"no limits":                     {"spec.containers[0].resources": nil},
		"a container":                   {"spec.containers[2]": map[string]any{"name": "evil", "image": "evil"}},
		"an init container":             {"spec.initContainers[0]": map[string]any{"name": "evil", "image": "evil"}},
		"a container less":              {"spec.containers": list(map[string]any{"name": "second", "image": "good"})},
		"the name of a container":       {"spec.containers[1].name": "other"},
		"a privileged container":        {"spec.containers[0].securityContext": map[string]any{"privileged": true}},
		"a mount":                       {"spec.containers[0].volumeMounts[1]": map[string]any{"name": "data", "mountPath": "/etc"}},
		"the place of a mount":          {"spec.containers[0].volumeMounts[0].mountPath": "/etc"},
		"a volume":                      {"spec.volumes[1]": map[string]any{"name": "host", "hostPath": map[string]any{"path": "/"}}},
		"what a volume is":              {"spec.volumes[0]": map[string]any{"name": "data", "hostPath": map[string]any{"path": "/"}}},
		"root":                          {"spec.securityContext.runAsUser": int64(0)},
		"the host's network":            {"spec.hostNetwork": true},
		"a service account":             {"spec.serviceAccountName": "admin"},
		"an empty affinity":             {"spec.dnsConfig": map[string]any{}},
		"a host name":                   {"spec.hostname": "new"},
		"no host name":                  {"spec.hostname": nil},
		"another node":                  {"spec.nodeSelector.disk": "hdd"},
		"all nodes":                     {"spec.nodeSelector": map[string]any{}},
		"all nodes, with nothing":       {"spec.nodeSelector": nil},
		"a label":                       {"metadata.labels.extra": "evil"},
		"the value of a label":          {"metadata.labels.tier": "back"},
		"a label less":                  {"metadata.labels.tier": nil},
		"an annotation":                 {"metadata.annotations.team": "b"},
		"no annotations":                {"metadata.annotations": nil},
		"a finalizer":                   {"metadata.finalizers": list("example.com/evil")},
		"two things":                    {"spec.hostname": "new", "spec.containers[0].image": "evil"},
		"a container, and its argument": {"spec.containers[2]": map[string]any{"name": "evil"}, "spec.containers[0].args": list("evil", "--safe")},
	}
}

// below returns the fields under a path.
func below(above string, fields map[string]any) map[string]any {
	out := map[string]any{}
	for path, value := range fields {
		out[above+"."+path] = value
	}
	return out
}

// A Pod is made of the approved template or not at all, whatever a stranger has made of
// the template, and whatever was added to the Pod.
func TestHealingByTemplate(t *testing.T) {
	// Where a stranger begins a list, nobody can tell what was added to the Pod from what
	// the list had a moment ago.
	lost := map[string]bool{"an init container": true}
	for _, gvk := range podMakers {
		for name, fields := range templateChanges() {
			t.Run(gvk.Kind+"/"+name, func(t *testing.T) {
				b := birth{parent: gvk, changed: below("spec.template", fields)}
				b.check(t, !lost[name])
				b.ofPresent = true
				b.check(t, false)

				// Nothing is added.
				in := &b.request(t).Input
				in.Child.New = madeOf(in.Parent.Standing.Object.Fields)
				checkHealing(t, in, false)
				in.Child.New = madeOf(in.Parent.Standing.Content())
				checkHealing(t, in, true)
			})
		}
	}
}

// healingCase is a birth and whether it is let through.
type healingCase struct {
	birth

	want bool
}

func testHealing(t *testing.T, gvk schema.GroupVersionKind, tests map[string]healingCase) {
	t.Helper()
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.parent = gvk
			tc.check(t, tc.want)
		})
	}
}

func TestHealingOfReplicaSets(t *testing.T) {
	const image, replicas = "spec.template." + "spec.containers[0].image", "spec.replicas"
	evil, more := map[string]any{image: "evil"}, map[string]any{replicas: int64(9)}
	for _, gvk := range []schema.GroupVersionKind{replicaSetGVK, controllerGVK} {
		t.Run(gvk.Kind, func(t *testing.T) {
			testHealing(t, gvk, map[string]healingCase{
				"nothing is withheld":       {want: true},
				"in the place of another":   {birth: birth{changed: more, short: true}, want: true},
				"one more than is approved": {birth: birth{changed: more}},
				"the number of a parent that has fewer now": {
					birth: birth{changed: map[string]any{replicas: int64(2)}, short: true}, want: true,
				},
				"in the place of another, of the present template": {
					birth: birth{changed: map[string]any{replicas: int64(9), image: "evil"}, short: true, ofPresent: true},
				},
				"in the place of another, of the approved template": {
					birth: birth{changed: map[string]any{replicas: int64(9), image: "evil"}, short: true}, want: true,
				},
				"one more, of the approved template":            {birth: birth{changed: map[string]any{replicas: int64(9), image: "evil"}}},
				"a number that was left out":                    {birth: birth{changed: more, approved: map[string]any{replicas: nil}}},
				"a number that was left out, none is alive":     {birth: birth{changed: more, approved: map[string]any{replicas: nil}, short: true}, want: true},
				"a number that is left out":                     {birth: birth{changed: map[string]any{replicas: nil}}},
				"a number that is left out, and one is missing": {birth: birth{changed: map[string]any{replicas: nil}, short: true}, want: true},
				"what does not show in Pods":                    {birth: birth{changed: map[string]any{"spec.minReadySeconds": int64(9)}}, want: true},
				"a field of which nobody can tell":              {birth: birth{changed: map[string]any{"spec.selector": map[string]any{"app": "other"}}}},
				"a field that nobody knows":                     {birth: birth{changed: map[string]any{"spec.future": "x"}}},
				"a field that no rule is about":                 {birth: birth{changed: map[string]any{"future": "x"}}, want: true},
				"a label of the parent":                         {birth: birth{changed: map[string]any{"metadata.labels.a": "b"}}, want: true},
				"a webhook puts the approved value back": {
					birth: birth{changed: evil, ofPresent: true, edit: map[string]any{"spec.containers[0].image": "good"}}, want: true,
				},
				"a webhook puts one of two values back": {
					birth: birth{
						changed: map[string]any{image: "evil", "spec.template.spec.hostname": "new"}, ofPresent: true,
						edit: map[string]any{"spec.containers[0].image": "good"},
					},
				},
				"a webhook changes another field": {
					birth: birth{changed: evil, edit: map[string]any{"spec.containers[1].image": "good@sha256:0"}}, want: true,
				},
				"a webhook changes the approved value":      {birth: birth{changed: evil, edit: map[string]any{"spec.containers[0].image": "good@sha256:0"}}},
				"of a template that was there for a moment": {birth: birth{changed: evil, edit: map[string]any{"spec.containers[0].image": "evil too"}}},
				"of a template without what is approved":    {birth: birth{changed: evil, edit: map[string]any{"spec.containers[0].image": nil}}},
				"a quantity that is written otherwise":      {birth: birth{changed: map[string]any{"spec.template.spec.containers[0].resources.limits.cpu": "0.5"}, ofPresent: true}, want: true},
				"metadata where none is approved": {
					birth: birth{approved: map[string]any{"spec.template.metadata": nil}, changed: map[string]any{"spec.template.metadata.labels.a": "b"}, ofPresent: true},
				},
				"a template that is gone":                        {birth: birth{changed: map[string]any{"spec.template": nil}, ofPresent: true}},
				"a template where none is approved":              {birth: birth{changed: evil, approved: map[string]any{"spec.template": nil}, ofPresent: true}},
				"a spec where none is approved":                  {birth: birth{changed: evil, approved: map[string]any{"spec": nil}, ofPresent: true, short: true}},
				"an empty object":                                {birth: birth{changed: evil, edit: map[string]any{"spec": nil, "metadata": nil}}},
				"a suspension of a kind that has none":           {birth: birth{approved: map[string]any{"spec.suspend": true}, changed: evil}, want: true},
				"a change of a suspension of a kind without one": {birth: birth{changed: map[string]any{"spec.suspend": true}}},
			})
		})
	}
}

func TestHealingOfStatefulSets(t *testing.T) {
	const image, hash = "spec.template.spec.containers[0].image", "metadata.labels[controller-revision-hash]"
	const partition, start = "spec.updateStrategy.rollingUpdate.partition", "spec.ordinals.start"
	evil, more := map[string]any{image: "evil"}, map[string]any{"spec.replicas": int64(9)}
	raised, lowered := map[string]any{partition: int64(4)}, map[string]any{partition: int64(0)}
	onDelete := map[string]any{"spec.updateStrategy": map[string]any{"type": "OnDelete"}}
	of := func(revision string) map[string]any { return map[string]any{hash: revision} }
	// ofOld is a Pod of an approved template that came before the one that is approved now.
	ofOld := map[string]any{hash: "old", "spec.containers[0].image": "older"}
	testHealing(t, setGVK, map[string]healingCase{
		"nothing is withheld":               {want: true},
		"in the place of another":           {birth: birth{changed: more, short: true, name: "web-3"}, want: true},
		"one more than is approved":         {birth: birth{changed: more, name: "web-3"}},
		"further up":                        {birth: birth{changed: more, short: true, name: "web-4"}},
		"below zero":                        {birth: birth{changed: more, short: true, name: "web--1"}},
		"a name without a number":           {birth: birth{changed: more, short: true, name: "other"}},
		"the name of another set":           {birth: birth{changed: more, short: true, name: "web-1-0"}},
		"no name":                           {birth: birth{changed: more, short: true, name: "web-"}},
		"numbers that begin elsewhere":      {birth: birth{approved: map[string]any{start: int64(10)}, changed: more, short: true, name: "web-13"}, want: true},
		"before numbers that begin":         {birth: birth{approved: map[string]any{start: int64(10)}, changed: more, short: true, name: "web-3"}},
		"after numbers that begin":          {birth: birth{approved: map[string]any{start: int64(10)}, changed: more, short: true, name: "web-14"}},
		"numbers that begin elsewhere now":  {birth: birth{changed: map[string]any{start: int64(2)}, name: "web-4"}},
		"numbers in both":                   {birth: birth{changed: map[string]any{start: int64(2)}, name: "web-3"}, want: true},
		"numbers that began elsewhere":      {birth: birth{approved: map[string]any{start: int64(2)}, changed: map[string]any{start: nil}, name: "web-1"}},
		"numbers, where all came at once":   {birth: birth{changed: map[string]any{"spec.ordinals": map[string]any{"start": int64(2)}}, name: "web-5"}},
		"what does not show in Pods":        {birth: birth{changed: map[string]any{"spec.minReadySeconds": int64(9), "spec.podManagementPolicy": "Parallel"}}, want: true},
		"what becomes of claims":            {birth: birth{changed: map[string]any{"spec.persistentVolumeClaimRetentionPolicy.whenScaled": "Delete"}}, want: true},
		"claims":                            {birth: birth{changed: map[string]any{"spec.volumeClaimTemplates[0].metadata.name": "evil"}}},
		"a service":                         {birth: birth{changed: map[string]any{"spec.serviceName": "evil"}}},
		"further up, of something else":     {birth: birth{changed: evil, name: "web-4"}},
		"of a Pod that is no longer due":    {birth: birth{changed: map[string]any{"spec.minReadySeconds": int64(9)}, name: "web-4"}},
		"the older revision, kept":          {birth: birth{changed: evil, edit: ofOld, name: "web-1", current: "old", update: "evil"}, want: true},
		"the older revision, not kept":      {birth: birth{changed: evil, edit: ofOld, name: "web-2", current: "old", update: "evil"}},
		"the older revision, nothing older": {birth: birth{changed: evil, edit: ofOld, name: "web-1", current: "old", update: "old"}},
		"no revision":                       {birth: birth{changed: evil, edit: map[string]any{"spec.containers[0].image": "older"}, name: "web-1"}},
		"the newer revision":                {birth: birth{changed: evil, ofPresent: true, edit: of("evil"), name: "web-1", current: "old", update: "evil"}},
		"the newer revision, not kept":      {birth: birth{changed: evil, ofPresent: true, edit: of("evil"), name: "web-2", current: "old", update: "evil"}},
		"the only revision, of a set that had no Pods": {
			birth: birth{changed: evil, ofPresent: true, edit: of("evil"), name: "web-0", current: "evil", update: "evil"},
		},
		"the older revision, kept, of a set that had no Pods when something was withheld": {
			birth: birth{changed: evil, ofPresent: true, edit: of("evil"), name: "web-1", current: "evil", update: "more"},
		},
		"the same, something else is withheld too": {
			birth: birth{changed: map[string]any{image: "evil", "spec.template.spec.hostNetwork": true}, edit: map[string]any{hash: "evil", "spec.containers[0].image": "evil"}, name: "web-1", current: "evil", update: "more"},
		},
		"the older revision, kept, while something is withheld that it had not": {
			birth: birth{changed: map[string]any{"spec.template.spec.hostNetwork": true}, edit: ofOld, name: "web-1", current: "old", update: "evil"}, want: true,
		},
		"kept by numbers that begin elsewhere": {
			birth: birth{approved: map[string]any{start: int64(10)}, changed: evil, edit: ofOld, name: "web-11", current: "old", update: "evil"}, want: true,
		},
		"not kept by numbers that begin elsewhere": {
			birth: birth{approved: map[string]any{start: int64(10)}, changed: evil, edit: ofOld, name: "web-12", current: "old", update: "evil"},
		},
		"kept by the partition that a stranger has raised": {
			birth: birth{changed: map[string]any{image: "evil", partition: int64(4)}, edit: ofOld, name: "web-3", current: "old", update: "evil"},
		},
		"of the approved template, kept by the partition that a stranger has raised": {
			birth: birth{changed: map[string]any{image: "evil", partition: int64(4)}, edit: of("good"), name: "web-3", current: "good", update: "evil"}, want: true,
		},

		"a lowered partition, the older revision":          {birth: birth{changed: lowered, edit: of("old"), name: "web-1", current: "old", update: "new"}, want: true},
		"a lowered partition, the newer revision":          {birth: birth{changed: lowered, edit: of("new"), name: "web-1", current: "old", update: "new"}},
		"a lowered partition, the newer revision, beyond":  {birth: birth{changed: lowered, edit: of("new"), name: "web-2", current: "old", update: "new"}, want: true},
		"a lowered partition, the only revision":           {birth: birth{changed: lowered, edit: of("new"), name: "web-1", current: "new", update: "new"}, want: true},
		"a lowered partition, a status that is behind":     {birth: birth{changed: lowered, edit: of("new"), name: "web-1", current: "old", update: "old"}},
		"a lowered partition, no status":                   {birth: birth{changed: lowered, edit: of("new"), name: "web-1"}},
		"a lowered partition, no revision":                 {birth: birth{changed: lowered, name: "web-1"}},
		"a raised partition, the older revision":           {birth: birth{changed: raised, edit: of("old"), name: "web-3", current: "old", update: "new"}},
		"a raised partition, the newer revision":           {birth: birth{changed: raised, edit: of("new"), name: "web-3", current: "old", update: "new"}, want: true},
		"a raised partition, the older revision, kept":     {birth: birth{changed: raised, edit: of("old"), name: "web-1", current: "old", update: "new"}, want: true},
		"a lowered partition, and numbers elsewhere":       {birth: birth{approved: map[string]any{start: int64(10)}, changed: lowered, edit: of("new"), name: "web-11", current: "old", update: "new"}},
		"no partition any more":                            {birth: birth{changed: onDelete, edit: of("new"), name: "web-1", current: "old", update: "new"}},
		"a partition where updates waited for a deletion":  {birth: birth{approved: onDelete, changed: map[string]any{"spec.updateStrategy": map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"partition": int64(4)}}}, edit: of("old"), name: "web-1", current: "old", update: "new"}},
		"a new Pod where updates waited for a deletion":    {birth: birth{approved: onDelete, changed: map[string]any{"spec.updateStrategy": map[string]any{"type": "RollingUpdate"}}, edit: of("new"), name: "web-1", current: "old", update: "new"}, want: true},
		"how many may be missing":                          {birth: birth{changed: map[string]any{"spec.updateStrategy.rollingUpdate.maxUnavailable": int64(4)}, edit: of("new"), name: "web-2", current: "old", update: "new"}, want: true},
		"all of it: the count, the template and the start": {birth: birth{changed: map[string]any{image: "evil", "spec.replicas": int64(9), start: int64(1)}, short: true, name: "web-1"}, want: true},
	})
}

func TestHealingOfDaemonSets(t *testing.T) {
	const strategy = "spec.updateStrategy."
	onDelete := map[string]any{"spec.updateStrategy": map[string]any{"type": "OnDelete"}}
	surging := map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": "100%", "maxUnavailable": int64(0)}}
	testHealing(t, daemonSetGVK, map[string]healingCase{
		"nothing is withheld":        {want: true},
		"what does not show in Pods": {birth: birth{changed: map[string]any{"spec.minReadySeconds": int64(9), "spec.revisionHistoryLimit": int64(1)}}, want: true},
		"how many may be missing":    {birth: birth{changed: map[string]any{strategy + "rollingUpdate.maxUnavailable": "100%"}}, want: true},
		"updates that go on by themselves": {
			birth: birth{approved: onDelete, changed: map[string]any{"spec.updateStrategy": map[string]any{
				"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": int64(0), "maxUnavailable": int64(1)},
			}}}, want: true,
		},
		"Pods beside those that they replace":           {birth: birth{changed: map[string]any{strategy + "rollingUpdate.maxSurge": int64(1)}}},
		"all of them at once":                           {birth: birth{approved: onDelete, changed: map[string]any{"spec.updateStrategy": surging}}},
		"where that was prepared":                       {birth: birth{approved: map[string]any{"spec.updateStrategy": surging, strategy + "type": "OnDelete"}, changed: map[string]any{strategy + "type": "RollingUpdate"}}},
		"where that is approved, and something else is": {birth: birth{approved: map[string]any{"spec.updateStrategy": surging}, changed: map[string]any{"spec.minReadySeconds": int64(9)}}, want: true},
		"a selector":                      {birth: birth{changed: map[string]any{"spec.selector": map[string]any{}}}},
		"a count of a kind that has none": {birth: birth{changed: map[string]any{"spec.replicas": int64(3)}, short: true}},
	})
}

func TestHealingOfJobs(t *testing.T) {
	const image = "spec.template.spec.containers[0].image"
	index := func(i string) map[string]any {
		return map[string]any{"metadata.annotations[" + "batch.kubernetes.io/job-completion-index" + "]": i}
	}
	both := map[string]any{"spec.parallelism": int64(9), "spec.completions": int64(9)}
	goesOn := map[string]any{"spec.suspend": false}
	testHealing(t, jobGVK, map[string]healingCase{
		"nothing is withheld":                               {want: true},
		"more at a time":                                    {birth: birth{changed: map[string]any{"spec.parallelism": int64(9)}}},
		"as many at a time as approved":                     {birth: birth{changed: map[string]any{"spec.parallelism": int64(9)}, short: true}, want: true},
		"a parallelism that was left out":                   {birth: birth{approved: map[string]any{"spec.parallelism": nil}, changed: map[string]any{"spec.parallelism": int64(9)}}},
		"more completions":                                  {birth: birth{changed: both, edit: index("3")}},
		"more completions, one of the approved":             {birth: birth{changed: both, edit: index("3"), short: true}, want: true},
		"more completions, one further up":                  {birth: birth{changed: both, edit: index("4"), short: true}},
		"more completions, of which nobody knows which":     {birth: birth{changed: map[string]any{"spec.completions": int64(9)}, short: true}},
		"more completions, an index that is none":           {birth: birth{changed: both, edit: index("x"), short: true}},
		"more completions, an index below zero":             {birth: birth{changed: both, edit: index("-1"), short: true}},
		"completions where none were":                       {birth: birth{approved: map[string]any{"spec.completions": nil}, changed: both, edit: index("1"), short: true}},
		"an index while the completions are as approved":    {birth: birth{changed: map[string]any{image: "evil"}, edit: index("9")}, want: true},
		"suspended, and a stranger lets it go on":           {birth: birth{approved: map[string]any{"spec.suspend": true}, changed: goesOn}},
		"suspended, and a stranger leaves that out":         {birth: birth{approved: map[string]any{"spec.suspend": true}, changed: map[string]any{"spec.suspend": nil}}},
		"a stranger suspends it":                            {birth: birth{changed: map[string]any{"spec.suspend": true}}, want: true},
		"a stranger suspends it, that had no such field":    {birth: birth{approved: map[string]any{"spec.suspend": nil}, changed: map[string]any{"spec.suspend": true}}, want: true},
		"suspended, and something else is withheld":         {birth: birth{approved: map[string]any{"spec.suspend": true}, changed: map[string]any{image: "evil"}}},
		"what does not show in Pods":                        {birth: birth{changed: map[string]any{"spec.ttlSecondsAfterFinished": int64(9)}}, want: true},
		"how often it is tried":                             {birth: birth{changed: map[string]any{"spec.backoffLimit": int64(99)}}},
		"how often it is tried, in the place of another":    {birth: birth{changed: map[string]any{"spec.backoffLimit": int64(99)}, short: true}},
		"how long it is tried":                              {birth: birth{changed: map[string]any{"spec.activeDeadlineSeconds": int64(99)}}},
		"what becomes of failures":                          {birth: birth{changed: map[string]any{"spec.podFailurePolicy": map[string]any{"rules": []any{}}}}},
		"when Pods are replaced":                            {birth: birth{changed: map[string]any{"spec.podReplacementPolicy": "TerminatingOrFailed"}}},
		"whose Job it is":                                   {birth: birth{changed: map[string]any{"spec.managedBy": "example.com/evil"}}},
		"a template, and it is let go on":                   {birth: birth{approved: map[string]any{"spec.suspend": true}, changed: map[string]any{"spec.suspend": false, image: "evil"}, ofPresent: true}},
		"a variable that tells the index":                   {birth: birth{changed: map[string]any{image: "evil"}, edit: map[string]any{"spec.containers[0].env[5]": map[string]any{"name": "JOB_COMPLETION_INDEX"}}}, want: true},
		"both counts, one of the approved, none is missing": {birth: birth{changed: both, edit: index("0")}},
	})
}

func TestHealingOfCronJobs(t *testing.T) {
	const image, args = "spec.jobTemplate.spec.template.spec.containers[0].image", "spec.jobTemplate.spec.template.spec.containers[0].args"
	// What the API server and the controller add to a Job.
	added := map[string]any{
		"metadata.annotations[batch.kubernetes.io/cronjob-scheduled-timestamp]": "2026-11-23T07:00:00Z",
		"metadata.ownerReferences":                                     []any{map[string]any{"kind": "CronJob", "uid": "uid-of-web"}},
		"spec.completions":                                             int64(1),
		"spec.parallelism":                                             int64(1),
		"spec.selector.matchLabels.uid":                                "u",
		"spec.template.metadata.labels.uid":                            "u",
		"spec.template.spec.containers[0].imagePullPolicy":             "Always",
		"spec.template.spec.restartPolicy":                             "Never",
		"spec.template.spec.containers[0].volumeMounts[0].mountPath":   "/proxy",
		"spec.template.metadata.annotations[sidecar.example.com/mode]": "on",
	}
	with := func(fields map[string]any) map[string]any {
		out := maps.Clone(added)
		maps.Copy(out, fields)
		return out
	}
	suspended := map[string]any{"spec.suspend": true}
	testHealing(t, cronJobGVK, map[string]healingCase{
		"nothing is withheld":                       {birth: birth{edit: added}, want: true},
		"of the approved template":                  {birth: birth{changed: map[string]any{image: "evil"}, edit: added}, want: true},
		"of the present template":                   {birth: birth{changed: map[string]any{image: "evil"}, edit: added, ofPresent: true}},
		"of the present template, nothing is added": {birth: birth{changed: map[string]any{image: "evil"}, ofPresent: true}},
		"arguments":                                  {birth: birth{changed: map[string]any{args: []any{"serve", "--unsafe"}}, edit: added, ofPresent: true}},
		"approved arguments":                         {birth: birth{changed: map[string]any{args: []any{"serve", "--unsafe"}}, edit: added}, want: true},
		"a field of the Job":                         {birth: birth{changed: map[string]any{"spec.jobTemplate.spec.backoffLimit": int64(99)}, edit: added, ofPresent: true}},
		"the approved field of the Job":              {birth: birth{changed: map[string]any{"spec.jobTemplate.spec.backoffLimit": int64(99)}, edit: added}, want: true},
		"a count of the Job":                         {birth: birth{changed: map[string]any{"spec.jobTemplate.spec.parallelism": int64(99)}, edit: with(map[string]any{"spec.parallelism": int64(99)})}},
		"a label of the Job":                         {birth: birth{changed: map[string]any{"spec.jobTemplate.metadata.labels.queue": "evil"}, edit: added, ofPresent: true}},
		"the approved labels of the Job":             {birth: birth{changed: map[string]any{"spec.jobTemplate.metadata.labels.queue": "evil"}, edit: added}, want: true},
		"a schedule":                                 {birth: birth{changed: map[string]any{"spec.schedule": "* * * * *"}, edit: added}},
		"a time zone":                                {birth: birth{changed: map[string]any{"spec.timeZone": "Etc/UTC"}, edit: added}},
		"how many at a time":                         {birth: birth{changed: map[string]any{"spec.concurrencyPolicy": "Forbid"}, edit: added}},
		"how late it may begin":                      {birth: birth{changed: map[string]any{"spec.startingDeadlineSeconds": int64(9)}, edit: added}},
		"what does not show in Jobs":                 {birth: birth{changed: map[string]any{"spec.failedJobsHistoryLimit": int64(9), "spec.successfulJobsHistoryLimit": int64(9)}, edit: added}, want: true},
		"suspended, and a stranger lets it go on":    {birth: birth{approved: suspended, changed: map[string]any{"spec.suspend": false}, edit: added}},
		"suspended, and a stranger leaves that out":  {birth: birth{approved: suspended, changed: map[string]any{"spec.suspend": nil}, edit: added}},
		"a stranger suspends it":                     {birth: birth{changed: suspended, edit: added}, want: true},
		"a stranger suspends it, and changes it too": {birth: birth{changed: map[string]any{"spec.suspend": true, image: "evil"}, edit: added, ofPresent: true}},
	})
}

func TestHealingOfOtherKinds(t *testing.T) {
	evil := map[string]any{"spec.template.spec.containers[0].image": "evil"}
	tests := map[string]struct {
		birth

		with func(*Input)
		want bool
	}{
		"a kind of which nobody can tell":      {birth: birth{parent: bucketGVK, changed: map[string]any{"spec.size": int64(2)}, short: true}},
		"of such a kind, nothing is withheld":  {birth: birth{parent: bucketGVK}, want: true},
		"a kind of that name in another group": {birth: birth{parent: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "ReplicaSet"}, changed: evil, short: true}},
		"another child than such a kind makes": {birth: birth{parent: replicaSetGVK, changed: map[string]any{"spec.minReadySeconds": int64(2)}}, with: func(in *Input) { in.Child.GVK = jobGVK }},
		"a Pod of a CronJob":                   {birth: birth{parent: cronJobGVK, changed: map[string]any{"spec.failedJobsHistoryLimit": int64(2)}}, with: func(in *Input) { in.Child.GVK = podGVK }},
		"an older revision of a kind that has none": {birth: birth{
			parent: replicaSetGVK, approved: map[string]any{"spec.updateStrategy.rollingUpdate.partition": int64(2)}, changed: evil, ofPresent: true,
			edit: map[string]any{"metadata.labels[controller-revision-hash]": "old"}, current: "old", update: "new",
		}},
		"a count no rule is about, next to an image": {
			birth: birth{parent: replicaSetGVK, changed: map[string]any{"spec.replicas": int64(9), "spec.template.spec.containers[0].image": "evil"}},
			with: func(in *Input) {
				compareBy(in, func(c change.Change) bool { return strings.HasPrefix(c.Path.String(), "spec.template") })
			},
			want: true,
		},
		"an eviction": {
			birth: birth{parent: bucketGVK, changed: evil},
			with: func(in *Input) {
				in.Operation, in.Eviction = Delete, true
				in.Parent.Policies = []*policy.Policy{compile(t, "evicting", `
for: {apiGroup: cloud.example.com, apiVersion: v1, kind: Bucket}
maintaining: {policies: [{target: {apiVersion: v1, resource: pods}, relation: ControllerChild, verbs: [Delete]}]}
`)}
			}, want: true,
		},
		"a deletion": {
			birth: birth{parent: replicaSetGVK, changed: evil},
			with: func(in *Input) {
				in.Operation = Delete
				in.Parent.Policies = []*policy.Policy{compile(t, "deleting", replicaSetSpec)}
			},
		},
		"a stranger":                          {birth: birth{parent: replicaSetGVK, changed: evil}, with: func(in *Input) { in.Requester = mallory }},
		"a parent that does not know it":      {birth: birth{parent: replicaSetGVK, changed: evil}, with: func(in *Input) { in.Parent.OneSided = true }},
		"an adopting parent":                  {birth: birth{parent: replicaSetGVK, changed: evil, ofPresent: true}, with: func(in *Input) { in.Parent.Adopting = true }},
		"an adopting parent, as approved":     {birth: birth{parent: replicaSetGVK, changed: evil}, with: func(in *Input) { in.Parent.Adopting = true }, want: true},
		"what no rule in effect is about":     {birth: birth{parent: replicaSetGVK, changed: evil, ofPresent: true}, with: unruled, want: true},
		"a withheld count no rule is about":   {birth: birth{parent: replicaSetGVK, changed: map[string]any{"spec.replicas": int64(9)}}, with: unruled, want: true},
		"covered, and it would not heal":      {birth: birth{parent: replicaSetGVK, changed: evil, ofPresent: true}, with: coveringAll},
		"covered, and something else changed": {birth: birth{parent: replicaSetGVK, changed: map[string]any{"spec.future": "x"}}, with: coveringAll},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := tc.request(t)
			if tc.with != nil {
				r.with(tc.with)
			}
			checkHealing(t, &r.Input, tc.want)
		})
	}
}

// unruled compares a parent by policies of which no rule is about what differs.
func unruled(in *Input) { compareBy(in, func(change.Change) bool { return false }) }

// compareBy compares a parent anew, by other triggers.
func compareBy(in *Input, triggers func(change.Change) bool) {
	o := in.Parent.Standing.Object
	o.Triggers = triggers
	stored, _ := approved.Decode(in.Parent.Standing.State().Encode(o.UID))
	in.Parent.Standing = approved.Now(stored, approved.Pending{}, o)
}

// coveringAll gives the parent an allowance for everything.
func coveringAll(in *Input) {
	in.Parent.Ledger = in.Parent.Ledger.Merge(allowance("*", "*", "spec"))
}

// Nothing is let through by approved values that are not known, which stand for anything.
func TestHealingByValuesThatAreNotKept(t *testing.T) {
	const image, hash = "spec.template.spec.containers[0].image", "metadata.labels[controller-revision-hash]"
	now := func(gvk schema.GroupVersionKind, marks ...approved.Mark) func(*Input) {
		return func(in *Input) {
			o := in.Parent.Standing.Object
			o.Fields = object(t, parents[gvk])
			in.Parent.Standing = approved.Now(nil, approved.Pending{Withheld: marks}, o)
		}
	}
	at := func(path string) approved.Mark {
		return approved.Mark{Author: approved.Author{Path: path, User: "mallory", Generation: 7}, Unknown: true}
	}
	sealed := func(path string, value any) approved.Mark {
		return approved.Mark{Author: approved.Author{Path: path, User: "mallory", Generation: 7}, Print: approved.Print("uid-of-web", value)}
	}
	unknown := func(in *Input) {
		in.Parent.Standing = approved.Now(&approved.State{Unknown: true}, approved.Pending{}, in.Parent.Standing.Object)
	}
	tests := map[string]struct {
		birth

		with func(*Input)
		want bool
	}{
		"a count":                         {birth: birth{parent: replicaSetGVK, short: true}, with: now(replicaSetGVK, at("spec.replicas"))},
		"a sealed count":                  {birth: birth{parent: replicaSetGVK, short: true}, with: now(replicaSetGVK, sealed("spec.replicas", int64(3)))},
		"the count it has":                {birth: birth{parent: replicaSetGVK}, with: now(replicaSetGVK, sealed("spec.replicas", int64(4))), want: true},
		"an image":                        {birth: birth{parent: replicaSetGVK}, with: now(replicaSetGVK, at(image))},
		"a sealed image":                  {birth: birth{parent: replicaSetGVK}, with: now(replicaSetGVK, sealed(image, "better"))},
		"a template":                      {birth: birth{parent: replicaSetGVK}, with: now(replicaSetGVK, at("spec.template"))},
		"the whole spec":                  {birth: birth{parent: replicaSetGVK, short: true}, with: now(replicaSetGVK, at("spec"))},
		"everything":                      {birth: birth{parent: replicaSetGVK, short: true}, with: unknown},
		"a suspension":                    {birth: birth{parent: jobGVK}, with: now(jobGVK, at("spec.suspend"))},
		"a sealed one":                    {birth: birth{parent: jobGVK}, with: now(jobGVK, sealed("spec.suspend", true))},
		"a sealed one of a CronJob":       {birth: birth{parent: cronJobGVK}, with: now(cronJobGVK, sealed("spec.suspend", true))},
		"everything of a Job":             {birth: birth{parent: jobGVK, short: true}, with: unknown},
		"everything of a CronJob":         {birth: birth{parent: cronJobGVK}, with: unknown},
		"everything of a DaemonSet":       {birth: birth{parent: daemonSetGVK}, with: unknown},
		"everything of a StatefulSet":     {birth: birth{parent: setGVK, short: true, edit: map[string]any{hash: "old"}, current: "old", update: "new"}, with: unknown},
		"a parallelism":                   {birth: birth{parent: jobGVK, short: true}, with: now(jobGVK, at("spec.parallelism"))},
		"where numbers begin":             {birth: birth{parent: setGVK}, with: now(setGVK, at("spec.ordinals.start"))},
		"numbers":                         {birth: birth{parent: setGVK}, with: now(setGVK, at("spec.ordinals"))},
		"a strategy, and the new Pod":     {birth: birth{parent: setGVK, edit: map[string]any{hash: "new"}, current: "old", update: "new"}, with: now(setGVK, at("spec.updateStrategy"))},
		"a strategy, and the old Pod":     {birth: birth{parent: setGVK, edit: map[string]any{hash: "old"}, current: "old", update: "new"}, with: now(setGVK, at("spec.updateStrategy"))},
		"a partition, and the new Pod":    {birth: birth{parent: setGVK, edit: map[string]any{hash: "new"}, current: "old", update: "new"}, with: now(setGVK, at("spec.updateStrategy.rollingUpdate.partition"))},
		"a partition, and another Pod":    {birth: birth{parent: setGVK, name: "web-3", edit: map[string]any{hash: "new"}, current: "old", update: "new"}, with: now(setGVK, at("spec.updateStrategy.rollingUpdate"))},
		"a field that there was not":      {birth: birth{parent: replicaSetGVK}, with: now(replicaSetGVK, sealed("spec.template.spec.hostname", nil))},
		"one that does not show":          {birth: birth{parent: jobGVK}, with: now(jobGVK, at("spec.ttlSecondsAfterFinished")), want: true},
		"a strategy of a DaemonSet":       {birth: birth{parent: daemonSetGVK}, with: now(daemonSetGVK, at("spec.updateStrategy")), want: true},
		"an image that reads like a seal": {birth: birth{parent: replicaSetGVK, edit: map[string]any{"spec.containers[0].image": "kausality.io/sealed:"}}, with: now(replicaSetGVK, at(image))},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := tc.request(t).with(tc.with)
			if st := r.Parent.Standing; !tc.want && len(st.Withheld()) == 0 {
				t.Fatal("nothing is withheld")
			}
			checkHealing(t, &r.Input, tc.want)
		})
	}
}

func TestWithheldCount(t *testing.T) {
	four := map[string]any{"spec.replicas": int64(9)}
	tests := map[string]struct {
		birth

		with func(*Input)
		want int64
		none bool
	}{
		"a count":                   {birth: birth{changed: four}, want: 4},
		"next to something else":    {birth: birth{changed: map[string]any{"spec.replicas": int64(9), "spec.template.spec.hostname": "new"}}, want: 4},
		"left out before":           {birth: birth{approved: map[string]any{"spec.replicas": nil}, changed: four}, want: 1},
		"left out now":              {birth: birth{changed: map[string]any{"spec.replicas": nil}}, want: 4},
		"none at all":               {birth: birth{approved: map[string]any{"spec.replicas": int64(0)}, changed: four}, want: 0},
		"the lesser of two":         {birth: birth{parent: jobGVK, changed: map[string]any{"spec.parallelism": int64(9), "spec.completions": int64(9)}}, want: 2},
		"the one that is withheld":  {birth: birth{parent: jobGVK, changed: map[string]any{"spec.completions": int64(9)}}, want: 4},
		"a kind without a count":    {birth: birth{parent: daemonSetGVK, changed: four}, none: true},
		"a kind that nobody knows":  {birth: birth{parent: bucketGVK, changed: four}, none: true},
		"a number that is no count": {birth: birth{changed: map[string]any{"spec.minReadySeconds": int64(4)}}, none: true},
		"nothing is withheld":       {none: true},
		"nobody has compared":       {birth: birth{changed: four}, with: func(in *Input) { in.Parent.Standing = nil }, none: true},
		"no rule is about it":       {birth: birth{changed: four}, with: unruled, none: true},
		"a count that is not known": {
			birth: birth{changed: four}, none: true,
			with: func(in *Input) {
				in.Parent.Standing = approved.Now(&approved.State{Unknown: true}, approved.Pending{}, in.Parent.Standing.Object)
			},
		},
		"a deletion":                  {birth: birth{changed: four}, with: func(in *Input) { in.Operation = Delete }, none: true},
		"something else than a Pod":   {birth: birth{changed: four}, with: func(in *Input) { in.Child.GVK = bucketGVK }, none: true},
		"the parent is not looked up": {birth: birth{changed: four}, with: func(in *Input) { in.ParentState = ParentGone }, none: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.parent.Empty() {
				tc.parent = replicaSetGVK
			}
			r := tc.request(t)
			if tc.with != nil {
				r.with(tc.with)
			}
			if got, ok := r.WithheldCount(); got != tc.want || ok == tc.none {
				t.Errorf("%d, %t", got, ok)
			}
		})
	}
}

// Whatever a stranger makes of a template, no Pod is let through that is made of it, and
// each is that is made of the approved one.
func TestHealingIsByTheApprovedTemplate(t *testing.T) {
	base := object(t, parents[replicaSetGVK])
	rapid.Check(t, func(rt *rapid.T) {
		content, present := edit(t, base, drawTemplate(rt, "approved")), edit(t, base, drawTemplate(rt, "present"))
		r := birth{parent: replicaSetGVK}.request(t).beingOf(content, present)
		if !r.Parent.isWithheld() {
			return
		}
		add := func(pod map[string]any) map[string]any {
			if rapid.Bool().Draw(rt, "injected") {
				return injected(t, pod)
			}
			return pod
		}
		r.Child.New = add(madeOf(present))
		if v := Decide(t.Context(), &r.Input); v.Allowed {
			rt.Errorf("%s: a Pod of the present template, while there is withheld %v", v.Reason, differences(r.Parent.Standing))
		}
		r.Child.New = madeOf(content)
		if v := Decide(t.Context(), &r.Input); !v.Allowed {
			rt.Errorf("%s: a Pod of the approved template, while there is withheld %v", v.Reason, differences(r.Parent.Standing))
		}
	})
}

// drawTemplate draws fields of a Pod template.
func drawTemplate(rt *rapid.T, name string) map[string]any {
	word := rapid.SampledFrom([]string{"a", "b", "c"})
	words := rapid.SliceOfN(word, 0, 3)
	named := func(list string, most int, fields func(map[string]any)) []any {
		out := []any{}
		for _, n := range rapid.SliceOfNDistinct(word, 0, most, rapid.ID).Draw(rt, name+" "+list) {
			item := map[string]any{"name": n}
			fields(item)
			out = append(out, item)
		}
		return out
	}
	texts := func(label string) []any {
		out := []any{}
		for _, w := range words.Draw(rt, name+" "+label) {
			out = append(out, w)
		}
		return out
	}
	optional := func(label string, value any) any {
		if rapid.Bool().Draw(rt, name+" has "+label) {
			return value
		}
		return nil
	}
	return below("spec.template", map[string]any{
		"spec.containers": named("containers", 3, func(c map[string]any) {
			c["image"] = word.Draw(rt, name+" image")
			c["args"] = texts("args")
			c["env"] = named("env", 2, func(e map[string]any) { e["value"] = word.Draw(rt, name+" value") })
		}),
		"spec.hostNetwork":      optional("hostNetwork", true),
		"spec.hostname":         optional("hostname", word.Draw(rt, name+" hostname")),
		"spec.securityContext":  optional("securityContext", map[string]any{"runAsUser": int64(0)}),
		"spec.imagePullSecrets": optional("secrets", []any{map[string]any{"name": word.Draw(rt, name+" secret")}}),
		"spec.dnsConfig":        optional("dns", map[string]any{"searches": texts("searches")}),
		"metadata.labels":       map[string]any{"app": word.Draw(rt, name+" label"), word.Draw(rt, name+" key"): "x"},
		"spec.nodeSelector":     optional("nodes", map[string]any{word.Draw(rt, name+" node"): "x"}),
	})
}

// The less is withheld, the more is let through, and nothing is let through that is not
// while more is withheld but for being made of what is not approved.
func TestHealingIsMonotone(t *testing.T) {
	fields := map[string]any{
		"spec.replicas": int64(9), "spec.minReadySeconds": int64(9), "spec.suspend": false, "spec.ordinals.start": int64(1),
		"spec.template.spec.hostname": "new", "spec.template.spec.containers[0].image": "evil", "spec.parallelism": int64(9),
		"spec.backoffLimit": int64(9), "spec.updateStrategy.rollingUpdate.partition": int64(0),
	}
	paths := slices.Sorted(maps.Keys(fields))
	kinds := append(slices.Clone(podMakers), bucketGVK)
	rapid.Check(t, func(rt *rapid.T) {
		more := rapid.SliceOfDistinct(rapid.SampledFrom(paths), rapid.ID).Draw(rt, "more")
		var fewer []string
		for _, p := range more {
			if rapid.Bool().Draw(rt, "also "+p) {
				fewer = append(fewer, p)
			}
		}
		revision := rapid.SampledFrom([]string{"old", "new"}).Draw(rt, "revision")
		b := birth{
			parent: rapid.SampledFrom(kinds).Draw(rt, "parent"), short: rapid.Bool().Draw(rt, "short"),
			name: rapid.SampledFrom([]string{"web-0", "web-3", "web-4"}).Draw(rt, "name"), current: "old",
			update: rapid.SampledFrom([]string{"old", "new"}).Draw(rt, "update"),
			edit:   map[string]any{"metadata.labels[controller-revision-hash]": revision},
		}
		allowed := func(changed []string) bool {
			c := b
			c.changed = map[string]any{}
			for _, p := range changed {
				c.changed[p] = fields[p]
			}
			return Decide(t.Context(), &c.request(t).Input).Allowed
		}
		// Where the template is withheld, the older revision may be what is approved. Where it
		// is not, it is outdated.
		ofTemplate := func(path string) bool { return strings.HasPrefix(path, "spec.template.") }
		outdated := b.parent == setGVK && revision != b.update && slices.ContainsFunc(more, ofTemplate) && !slices.ContainsFunc(fewer, ofTemplate)
		if allowed(more) && !allowed(fewer) && !outdated {
			rt.Errorf("a %s lets through with %s withheld and not with %s", b.parent.Kind, strings.Join(more, ", "), strings.Join(fewer, ", "))
		}
	})
}
