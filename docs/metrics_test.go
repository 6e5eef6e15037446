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

package docs_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	admissionmetrics "k8s.io/apiserver/pkg/admission/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/yaml"

	// These declare all metrics.
	_ "kausality.io/operator/internal/controller/gate"
	_ "kausality.io/operator/internal/controller/generating"
	_ "kausality.io/operator/internal/controller/holder"
	_ "kausality.io/operator/internal/controller/policy"
	_ "kausality.io/operator/internal/controller/target"
	_ "kausality.io/operator/internal/controller/upgrade"
	_ "kausality.io/operator/internal/eventrecorder"
	_ "kausality.io/operator/internal/objectcache"
	_ "kausality.io/operator/internal/record"
	_ "kausality.io/operator/internal/servertime"
	_ "kausality.io/operator/internal/webhook/admission"
	_ "kausality.io/operator/internal/webhook/cause"
	_ "kausality.io/operator/internal/webhook/entry"
)

var (
	metricRow  = regexp.MustCompile("(?m)^\\| `(kausality_[a-z_]+)` \\| ([a-z]+) \\| ([^|]*) \\|")
	described  = regexp.MustCompile(`^Desc\{fqName: "(kausality_[a-z_]+)", .* variableLabels: \{([^}]*)\}`)
	queried    = regexp.MustCompile(`((?:kausality|apiserver)_[a-z_]+)(?:\{([^}]*)\})?`)
	selector   = regexp.MustCompile(`([a-z_]+)(?:=~|!~|!=|=)"`)
	grouping   = regexp.MustCompile(`by \(([^)]*)\)`)
	ofOneThing = regexp.MustCompile(`_(bucket|count|sum)$`)
)

// metric is one as docs/metrics.md has it.
type metric struct {
	kind   string
	labels []string
}

// documented returns the metrics of docs/metrics.md by name.
func documented(t *testing.T) map[string]metric {
	t.Helper()
	found := map[string]metric{}
	for _, row := range metricRow.FindAllStringSubmatch(pages(t)["metrics.md"], -1) {
		labels := strings.FieldsFunc(row[3], func(r rune) bool { return strings.ContainsRune("`, ", r) })
		slices.Sort(labels)
		found[row[1]] = metric{kind: row[2], labels: labels}
	}
	return found
}

// examples collects a sample of each metric.
type examples []prometheus.Metric

func (examples) Describe(chan<- *prometheus.Desc) {}

func (e examples) Collect(ch chan<- prometheus.Metric) {
	for _, m := range e {
		ch <- m
	}
}

// What the operator registers is what the page lists, with the same labels, and is
// called as Prometheus asks for.
func TestMetricsAreDocumented(t *testing.T) {
	registry, ok := metrics.Registry.(prometheus.Collector)
	if !ok {
		t.Fatal("the registry does not tell what is in it")
	}
	descriptions := make(chan *prometheus.Desc)
	go func() {
		registry.Describe(descriptions)
		close(descriptions)
	}()
	want := documented(t)
	got := map[string]metric{}
	var samples examples
	for desc := range descriptions {
		match := described.FindStringSubmatch(desc.String())
		if match == nil {
			continue
		}
		labels := strings.FieldsFunc(match[2], func(r rune) bool { return r == ',' })
		kind := want[match[1]].kind
		switch kind {
		case "histogram":
			samples = append(samples, prometheus.MustNewConstHistogram(desc, 0, 0, nil, labels...))
		case "counter":
			samples = append(samples, prometheus.MustNewConstMetric(desc, prometheus.CounterValue, 0, labels...))
		default:
			samples = append(samples, prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, 0, labels...))
		}
		slices.Sort(labels)
		got[match[1]] = metric{kind: kind, labels: labels}
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(metric{})); diff != "" || len(got) == 0 {
		t.Errorf("metrics (-documented +registered):\n%s", diff)
	}
	problems, err := testutil.CollectAndLint(samples)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
}

// The dashboard and the alerts ask for metrics that exist, by labels that they have.
func TestQueriesAsk(t *testing.T) {
	known := documented(t)
	maps.Copy(known, ofAPIServers(t))
	asked := map[string]bool{}
	for _, path := range []string{"../config/grafana/kausality.json", "../config/prometheus/rules.yaml"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		read := json.Unmarshal
		if strings.HasSuffix(path, ".yaml") {
			read = func(text []byte, into any) error { return yaml.Unmarshal(text, into) }
		}
		var content any
		if err := read(text, &content); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		expressions := expressionsOf(content)
		if len(expressions) == 0 {
			t.Errorf("%s asks for nothing: the test looks in the wrong place", path)
		}
		for _, expression := range expressions {
			for _, problem := range problemsOf(known, asked, expression) {
				t.Errorf("%s: %s in %s", path, problem, expression)
			}
		}
	}
	for name := range documented(t) {
		if !asked[name] {
			t.Errorf("neither the dashboard nor an alert asks for %s", name)
		}
	}
}

// ofAPIServers returns the metrics by which an API server counts what it could not ask.
func ofAPIServers(t *testing.T) map[string]metric {
	t.Helper()
	admissionmetrics.Metrics.ObserveWebhookFailOpen(t.Context(), "webhook", "validating")
	admissionmetrics.Metrics.ObserveWebhookRejection(t.Context(), "webhook", "validating", "CREATE", admissionmetrics.WebhookRejectionCallingWebhookError, 500)
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]metric{}
	for _, family := range families {
		if !strings.HasPrefix(family.GetName(), "apiserver_admission_webhook_") {
			continue
		}
		m := metric{kind: strings.ToLower(family.GetType().String())}
		for _, label := range family.GetMetric()[0].GetLabel() {
			m.labels = append(m.labels, label.GetName())
			if label.GetName() == "error_type" && label.GetValue() != "calling_webhook_error" {
				t.Errorf("an API server calls it %s", label.GetValue())
			}
		}
		found[family.GetName()] = m
	}
	return found
}

// problemsOf tells what a query asks for that is not there, and notes what it asks for.
func problemsOf(known map[string]metric, asked map[string]bool, expression string) []string {
	var problems, groups []string
	have := []string{"le"}
	for _, group := range grouping.FindAllStringSubmatch(expression, -1) {
		groups = append(groups, strings.Split(group[1], ", ")...)
	}
	for _, match := range queried.FindAllStringSubmatch(expression, -1) {
		name := match[1]
		if base := ofOneThing.ReplaceAllString(name, ""); known[base].kind == "histogram" {
			name = base
		}
		m, exists := known[name]
		if !exists {
			problems = append(problems, "no metric "+name)
		}
		asked[name] = true
		have = append(have, m.labels...)
		for _, label := range selector.FindAllStringSubmatch(match[2], -1) {
			if !slices.Contains(m.labels, label[1]) {
				problems = append(problems, fmt.Sprintf("%s has no label %s", name, label[1]))
			}
		}
	}
	for _, group := range groups {
		if !slices.Contains(have, group) {
			problems = append(problems, "nothing has the label "+group)
		}
	}
	return problems
}

// expressionsOf returns the queries in a document, at any depth.
func expressionsOf(content any) []string {
	var out []string
	switch content := content.(type) {
	case map[string]any:
		for key, value := range content {
			if text, ok := value.(string); ok && key == "expr" {
				out = append(out, text)
			}
			out = append(out, expressionsOf(value)...)
		}
	case []any:
		for _, value := range content {
			out = append(out, expressionsOf(value)...)
		}
	}
	return out
}
