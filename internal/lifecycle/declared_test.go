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

package lifecycle

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
)

// TestDeclared shows kinds whose status is read as it is declared.
func TestDeclared(t *testing.T) {
	rollout := func(status string) string {
		return "{apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: {generation: 4}, status: " + status + "}"
	}
	prometheus := func(status string) string {
		return "{apiVersion: monitoring.coreos.com/v1, kind: Prometheus, metadata: {generation: 4}, status: " + status + "}"
	}
	runJudgements(t, map[string]judgement{
		"a Rollout that is healthy":       {object: rollout(`{observedGeneration: "4", phase: Healthy}`), want: settledVerdict(whyDeclared, true)},
		"a Rollout that waits":            {object: rollout(`{observedGeneration: "4", phase: Paused}`), want: workingVerdict(whyUndeclared)},
		"a Rollout that was healthy":      {object: rollout(`{observedGeneration: "3", phase: Healthy}`), want: workingVerdict(whyBehind)},
		"a Rollout that nobody has seen":  {object: rollout(`{}`), want: timedVerdict(whyNoGeneration)},
		"a Rollout with something else":   {object: rollout(`{observedGeneration: "latest", phase: Healthy}`), want: timedVerdict(whyNoGeneration)},
		"a Prometheus that is reconciled": {object: prometheus(`{conditions: [{type: Available, status: "True", observedGeneration: 4}, {type: Reconciled, status: "True", observedGeneration: 4}]}`), want: settledVerdict(whyDeclared, true)},
		"a Prometheus that stalls":        {object: prometheus(`{conditions: [{type: Available, status: "True", observedGeneration: 4}, {type: Reconciled, status: "True", observedGeneration: 4}, {type: Stalled, status: "True"}]}`), want: workingVerdict(whyFailed)},
		"a Prometheus that goes on":       {object: prometheus(`{conditions: [{type: Available, status: "True", observedGeneration: 4}, {type: Reconciled, status: "True", observedGeneration: 4}, {type: Reconciling, status: "True"}]}`), want: workingVerdict(whyWorking)},
		"a Prometheus that is only there": {object: prometheus(`{conditions: [{type: Available, status: "True", observedGeneration: 4}]}`), want: workingVerdict(whyUndeclared)},
		"a Prometheus that was":           {object: prometheus(`{conditions: [{type: Available, status: "True", observedGeneration: 3}, {type: Reconciled, status: "True", observedGeneration: 4}]}`), want: workingVerdict(whyUndeclared)},
		"a Prometheus without generation": {object: prometheus(`{conditions: [{type: Available, status: "True"}, {type: Reconciled, status: "True"}]}`), want: timedVerdict(whyNoGeneration)},
	})
}

// TestKro shows instances of kro's graphs, whose authors may say what they like.
func TestKro(t *testing.T) {
	p := widgetPolicy(t, "")
	p[0].Categorize(func(schema.GroupKind) []string { return []string{"kro.run/owned"} })
	for name, tc := range map[string]struct {
		status        string
		settled, time bool
	}{
		"ready":                               {status: `{state: ACTIVE, conditions: [{type: Ready, status: "True", observedGeneration: 4}]}`, settled: true},
		"written, and not looked at again":    {status: `{state: ACTIVE, conditions: [{type: ResourcesReady, status: "False", observedGeneration: 4}, {type: Ready, status: "False", observedGeneration: 4}]}`},
		"Ready by its author, and not by kro": {status: `{state: IN_PROGRESS, conditions: [{type: Ready, status: "True", observedGeneration: 4}]}`},
		"refused":                             {status: `{state: ERROR, conditions: [{type: Ready, status: "False", observedGeneration: 4}]}`},
		"ready, before it was changed":        {status: `{state: ACTIVE, conditions: [{type: Ready, status: "True", observedGeneration: 3}]}`},
		"nothing said":                        {status: `{}`, time: true},
		"a state that is of no generation":    {status: `{state: ACTIVE}`, time: true},
	} {
		t.Run(name, func(t *testing.T) {
			got := Of(parse(t, "{apiVersion: example.org/v1, kind: Widget, metadata: {generation: 4}, status: "+tc.status+"}"), p)
			if got.Settled != tc.settled || got.Timed != tc.time {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestKroOfAnAuthor shows when what a policy says of instances is believed.
func TestKroOfAnAuthor(t *testing.T) {
	p := widgetPolicy(t, `, consumption: {when: "object.status.state == 'ACTIVE'"}`)
	p[0].Categorize(func(schema.GroupKind) []string { return []string{"kro.run/owned"} })
	for name, tc := range map[string]struct {
		conditions string
		unquiet    bool
	}{
		"kro's own":    {conditions: `[{type: ResourcesReady, status: "True", observedGeneration: 4}]`, unquiet: true},
		"its author's": {conditions: `[{type: Ready, status: "True", observedGeneration: 4}]`},
	} {
		t.Run(name, func(t *testing.T) {
			obj := parse(t, "{apiVersion: example.org/v1, kind: Widget, metadata: {generation: 4}, status: {state: ACTIVE, conditions: "+tc.conditions+"}}")
			e := ledger.NewEntry(v1alpha1.Allowance{Generation: 4})
			if got := Consumed(t.Context(), obj, p, Unknown)(e); got != tc.unquiet {
				t.Errorf("consumed at once: %t", got)
			}
			if !Consumed(t.Context(), obj, p, always)(e) {
				t.Error("not consumed when it is quiet")
			}
		})
	}
}

// TestLag shows whose status is believed at once.
func TestLag(t *testing.T) {
	const ready = "conditions: [{type: Ready, status: \"True\", observedGeneration: 4}]"
	for name, tc := range map[string]struct {
		object string
		spec   string
		want   Lag
		// immediately is true where allowances end without a quiet time although the status may lag.
		immediately bool
	}{
		"a kind of which nothing is known": {object: "apiVersion: example.org/v1, kind: Widget", want: StatusLag},
		"one of which a policy says where the generation is": {
			object: "apiVersion: example.org/v1, kind: Widget", spec: ", knowledge: {settled: {generation: status.observedGeneration}}", want: StatusLag,
		},
		"one of which a policy says what settles it": {
			object: "apiVersion: example.org/v1, kind: Widget", spec: ", knowledge: {settled: {conditions: [{type: Ready}]}}", want: NoLag,
		},
		"one of which a policy says that, and that it lags": {
			object: "apiVersion: example.org/v1, kind: Widget", spec: ", knowledge: {settled: {conditions: [{type: Ready}], quiet: true}}", want: StatusLag,
		},
		"one with its own condition in a policy": {
			object: "apiVersion: example.org/v1, kind: Widget", spec: ", consumption: {when: \"true\"}", want: StatusLag, immediately: true,
		},
		"one that lags, with its own condition in a policy": {
			object: "apiVersion: example.org/v1, kind: Widget", spec: ", knowledge: {settled: {quiet: true}}, consumption: {when: \"true\"}", want: StatusLag,
		},
		"a Certificate":   {object: "apiVersion: cert-manager.io/v1, kind: Certificate", want: StatusLag},
		"a Prometheus":    {object: "apiVersion: monitoring.coreos.com/v1, kind: Prometheus", want: StatusLag},
		"an Alertmanager": {object: "apiVersion: monitoring.coreos.com/v1, kind: Alertmanager", want: StatusLag},
		"a Rollout":       {object: "apiVersion: argoproj.io/v1alpha1, kind: Rollout", want: NoLag},
		"a Deployment":    {object: "apiVersion: apps/v1, kind: Deployment", want: NoLag},
		"a claim of Crossplane": {
			object: "apiVersion: example.org/v1, kind: Claim, spec: {compositionRef: {name: a}}", want: NoLag,
		},
	} {
		t.Run(name, func(t *testing.T) {
			obj := parse(t, "{"+tc.object+", metadata: {generation: 4}, status: {observedGeneration: 4, "+ready+"}}")
			policies := widgetPolicy(t, tc.spec)
			if got := LagOf(obj, policies); got != tc.want {
				t.Errorf("LagOf() = %d, want %d", got, tc.want)
			}
			consumed := Consumed(t.Context(), obj, policies, Unknown)
			if got := consumed(ledger.NewEntry(v1alpha1.Allowance{Generation: 4})); tc.want == StatusLag && got != tc.immediately {
				t.Errorf("consumed before it is quiet: %t", got)
			}
			created := ledger.NewEntry(v1alpha1.Allowance{Generation: 1, Trace: []v1alpha1.TraceHop{{Field: v1alpha1.FieldCreated}}})
			if tc.want == StatusLag && strings.Contains(tc.object, "Widget") && !strings.Contains(tc.spec, "when") && !consumed(created) {
				t.Error("initializing after it was ready")
			}
		})
	}
}

func widgetPolicy(t *testing.T, spec string) []*policy.Policy {
	t.Helper()
	p := &v1alpha1.AllowancePolicy{ObjectMeta: metav1.ObjectMeta{Name: "widgets"}}
	if err := yaml.UnmarshalStrict([]byte("{for: {apiGroup: example.org, apiVersion: v1, kind: Widget}"+spec+"}"), &p.Spec); err != nil {
		t.Fatal(err)
	}
	compiled, errs := policy.Compile(p, func(schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
		return schema.GroupVersionKind{}, false
	})
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	return []*policy.Policy{compiled}
}

// TestConvention shows a kind that is read as one of Kubernetes.
func TestConvention(t *testing.T) {
	policies := widgetPolicy(t, ", knowledge: {settled: {convention: StatefulSet}, proves: [spec.template]}")
	const done = `{apiVersion: example.org/v1, kind: Widget, metadata: {generation: 4}, spec: {replicas: 2},
status: {observedGeneration: 4, replicas: 2, readyReplicas: 2, currentReplicas: 2, updatedReplicas: 2, currentRevision: a, updateRevision: a}}`
	obj := parse(t, done)
	if got := Of(obj, policies); !got.Settled || len(Proven(obj, policies)) != 1 {
		t.Errorf("it has not settled: %+v", got)
	}
	if obj.GetKind() != "Widget" {
		t.Error("it was made another kind")
	}
	if got := Of(obj, nil); got.Settled {
		t.Errorf("without a declaration it has: %+v", got)
	}
}

// TestBlind shows which objects tell whether they are new.
func TestBlind(t *testing.T) {
	created := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	widget := func(status string) string {
		return `{apiVersion: example.org/v1, kind: Widget, metadata: {generation: 1, creationTimestamp: "2026-01-01T12:00:00Z"}` + status + "}"
	}
	tests := map[string]struct {
		object, policy string
		after          time.Duration
		want           bool
	}{
		"Ready at a generation":              {object: widget(`, status: {observedGeneration: 1, conditions: [{type: Ready, status: "False"}]}`)},
		"Ready at none":                      {object: widget(`, status: {conditions: [{type: Ready, status: "True"}]}`), want: true},
		"nothing that is known":              {object: widget(`, status: {phase: Done}`), want: true},
		"nothing, and a policy knows when":   {object: widget(`, status: {phase: Done}`), policy: ", consumption: {when: 'object.status.phase == \"Done\"'}"},
		"nothing, and a policy knows a time": {object: widget(`, status: {phase: Done}`), policy: ", knowledge: {settled: {created: status.at}}"},
		"no status yet":                      {object: widget(""), after: time.Second},
		"no status for long":                 {object: widget(""), after: time.Minute, want: true},
		"a kind without generations":         {object: `{apiVersion: v1, kind: ConfigMap, metadata: {creationTimestamp: "2026-01-01T12:00:00Z"}}`, want: true},
		"a CronJob":                          {object: `{apiVersion: batch/v1, kind: CronJob, metadata: {generation: 1}, status: {}}`, after: time.Hour},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Blind(parse(t, tc.object), widgetPolicy(t, tc.policy), created.Add(tc.after)); got != tc.want {
				t.Errorf("nothing tells: %v, want %v", got, tc.want)
			}
		})
	}
}
