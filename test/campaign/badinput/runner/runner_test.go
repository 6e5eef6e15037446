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

package runner

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/config/crd"
	"kausality.io/operator/test/campaign/badinput/inputs"
)

func TestFault(t *testing.T) {
	const webhook = `admission webhook "vallowancepolicy.kausality.io" denied the request: `
	status := func(message string, causes ...string) metav1.Status {
		s := metav1.Status{Message: message, Details: &metav1.StatusDetails{}}
		for _, field := range causes {
			s.Details.Causes = append(s.Details.Causes, metav1.StatusCause{Field: field})
		}
		return s
	}
	for name, tc := range map[string]struct {
		answer answer
		want   string
		long   bool
	}{
		"accepted":                  {answer: answer{code: http.StatusOK}, want: ""},
		"refused":                   {answer: answer{code: http.StatusForbidden, status: status("mallory may not")}, want: ""},
		"invalid to the API server": {answer: answer{code: http.StatusUnprocessableEntity, status: status("must be a string")}, want: ""},
		"invalid, by the message":   {answer: answer{code: http.StatusUnprocessableEntity, status: status(webhook + "spec.rules[0].trigger")}, want: ""},
		"invalid, by the map":       {answer: answer{code: http.StatusUnprocessableEntity, status: status(webhook + "spec.labels")}},
		"invalid, by the causes":    {answer: answer{code: http.StatusUnprocessableEntity, status: status(webhook, "spec.rules[0].trigger")}, want: ""},
		"too large for etcd":        {answer: answer{code: http.StatusInternalServerError, status: status("etcdserver: request is too large")}, want: ""},

		"a long list, refused late":   {answer: answer{code: http.StatusUnprocessableEntity, took: time.Minute, status: status("many")}, long: true},
		"a long list, denied late":    {answer: answer{code: http.StatusUnprocessableEntity, took: time.Minute, status: status(webhook + "spec.rules[0].trigger")}, want: "it takes 1m0s", long: true},
		"a long list, never answered": {answer: answer{code: http.StatusGatewayTimeout, status: status("Timeout: request did not complete within x")}, long: true},

		"a long list, and a webhook that is late": {answer: answer{code: http.StatusInternalServerError, status: status("failed calling webhook")}, want: "the error is failed calling webhook", long: true},
		"too late":           {answer: answer{code: http.StatusOK, took: time.Minute}, want: "it takes 1m0s"},
		"without a reason":   {answer: answer{code: http.StatusForbidden}, want: "the answer 403 does not say what is wrong"},
		"endless":            {answer: answer{code: http.StatusForbidden, status: status(webhook + strings.Repeat("x", 1<<20))}, want: fmt.Sprintf("the error is %d characters long", len(webhook)+1<<20)},
		"a crash":            {answer: answer{code: http.StatusForbidden, status: status("panic: x")}, want: "the error is panic: x"},
		"a webhook is away":  {answer: answer{code: http.StatusInternalServerError, status: status("failed calling webhook")}, want: "the error is failed calling webhook"},
		"a failure":          {answer: answer{code: http.StatusInternalServerError, status: status("boom")}, want: "the answer is 500: boom"},
		"invalid, elsewhere": {answer: answer{code: http.StatusUnprocessableEntity, status: status(webhook+"no", "spec.for")}, want: "the error does not name spec.rules[0].labels.trigger: " + webhook + "no"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.answer.fault(inputs.Field{"spec", "rules", 0, "labels", "trigger"}, tc.long); got != tc.want {
				t.Errorf("the fault is %q, not %q", got, tc.want)
			}
		})
	}
}

func TestFaultBeside(t *testing.T) {
	status := func(message string) metav1.Status { return metav1.Status{Message: message} }
	timeout := answer{code: http.StatusGatewayTimeout, took: 34 * time.Second, status: status("Timeout: request did not complete within x")}
	late := answer{code: http.StatusOK, took: 12 * time.Second}
	webhook := answer{code: http.StatusInternalServerError, took: 12 * time.Second, status: status("failed calling webhook")}
	for name, tc := range map[string]struct {
		answer, beside answer
		want           string
	}{
		"neither is ever answered":             {answer: timeout, beside: timeout},
		"only the other is answered":           {answer: timeout, beside: answer{code: http.StatusCreated, took: time.Second}, want: "it takes 34s"},
		"both are accepted late":               {answer: late, beside: late},
		"only the other is accepted in time":   {answer: late, beside: answer{code: http.StatusOK, took: time.Second}, want: "it takes 12s"},
		"a webhook is late, and the other too": {answer: webhook, beside: timeout, want: "the error is failed calling webhook"},
	} {
		t.Run(name, func(t *testing.T) {
			got := tc.answer.faultBeside(tc.beside, inputs.Field{"metadata", "ownerReferences"})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("unexpected fault (-want +got):\n%s", diff)
			}
		})
	}
}

func TestForged(t *testing.T) {
	s := &stage{Runner: &Runner{}, replicaSet: "rs"}
	object := func(annotations ...string) []byte {
		m := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}}}
		for i := 0; i < len(annotations); i += 2 {
			m.Annotations[annotations[i]] = annotations[i+1]
		}
		raw, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	const ledger, approve, setLedger = v1alpha1.AnnotationAllowances, v1alpha1.AnnotationApprove, v1alpha1.ReplicaSetAnnotationPrefix + "allowances"
	for name, tc := range map[string]struct {
		path, key string
		body      []byte
		want      string
	}{
		"nothing is left":            {"web", ledger, object(), ""},
		"a ledger of another text":   {"web", ledger, object(ledger, "[]"), ""},
		"a ledger that was written":  {"web", ledger, object(ledger, "bad"), "the ledger is what the request says"},
		"a ledger of nobody's":       {"web", setLedger, object(setLedger, "bad"), ""},
		"a ledger of a ReplicaSet":   {"rs", setLedger, object(setLedger, "bad"), "the ledger is what the request says"},
		"an approval that was taken": {"web", approve, object(), ""},
		"an approval that stays":     {"web", approve, object(approve, "bad"), "the approval stays"},
	} {
		t.Run(name, func(t *testing.T) {
			change := inputs.Change{Field: inputs.Field{"metadata", "annotations", tc.key}, Value: inputs.Value{JSON: json.RawMessage(`"bad"`)}}
			got := holder{stage: s, path: tc.path}.forged(answer{code: http.StatusOK, body: tc.body}, change)
			if got != tc.want {
				t.Errorf("it finds %q, not %q", got, tc.want)
			}
		})
	}
}

// The policy that is changed has every field, so that each is met beside valid ones.
func TestPolicyHasEveryField(t *testing.T) {
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(crd.AllowancePolicies, &definition); err != nil {
		t.Fatal(err)
	}
	var policy map[string]any
	if err := yaml.Unmarshal([]byte(policyText), &policy); err != nil {
		t.Fatal(err)
	}
	spec := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	for _, f := range inputs.Fields(&spec, policy["spec"]) {
		if !has(policy["spec"], f) && !repeated(f) && !excluded(f) {
			t.Errorf("it has no %s", f)
		}
	}
}

// excluded reports whether a field cannot be there beside others that are: a convention takes the
// place of conditions and fields, and what has a history is in the cluster.
func excluded(f inputs.Field) bool {
	return slices.Contains([]string{"knowledge.settled.convention", "knowledge.history.of.external", "knowledge.history.target.external", "knowledge.scales.target.external"}, f.String())
}

// repeated reports whether a field is of a kind of entry that has it elsewhere.
func repeated(f inputs.Field) bool {
	first, _ := f[0].(string)
	return slices.Contains([]string{"initializing", "maintaining", "deleting"}, first) || slices.Contains(f, any("key"))
}

func has(in any, f inputs.Field) bool {
	for _, step := range f {
		switch step := step.(type) {
		case int:
			items, _ := in.([]any)
			if step >= len(items) {
				return false
			}
			in = items[step]
		case string:
			below, _ := in.(map[string]any)
			in = below[step]
			if in == nil {
				return false
			}
		}
	}
	return true
}

// Every annotation that the API names is tried.
func TestAnnotationsAreAll(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", "..", "..", "api", "v1alpha1", "annotations.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatal(err)
		}
		// The condition of gates is no annotation, as all kinds that have gates keep conditions.
		prefix, name, slash := strings.Cut(text, "/")
		if !slash || name == "" || prefix != "kausality.io" || text == v1alpha1.ConditionGate {
			return true
		}
		found++
		if !slices.Contains(annotations, text) {
			t.Errorf("%s is not tried", text)
		}
		return true
	})
	if found == 0 {
		t.Error("the API names no annotation")
	}
}
