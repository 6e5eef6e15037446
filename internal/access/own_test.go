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

package access

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"
)

// rare are the rights of the installed roles for which no duty asks: they are for systems that not every cluster has, for the
// first start, or for what fails by itself and says so.
var rare = []string{
	"apiextensions.crossplane.io", "pkg.crossplane.io", "kro.run", "internal.kro.run", "keda.sh", "authentication.k8s.io",
	"selfsubjectaccessreviews", "serviceaccounts", "create allowancepolicies", "patch allowancepolicies.kausality.io", "get allowancepolicies",
	"create secrets", "create leases", "patch leases", "events.core",
}

// shipped returns the rules of the roles of the operator's own that are installed, those in its namespace apart.
func shipped(t *testing.T) (everywhere, here []rbacv1.PolicyRule) {
	t.Helper()
	for _, name := range []string{"role", "metrics_auth_role", "leader_election_role", "certificate_role", "digest_key_role", "webhook_path_role", "baseline_role"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "config", "rbac", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		var role rbacv1.ClusterRole
		if err := yaml.UnmarshalStrict(text, &role); err != nil {
			t.Fatal(err)
		}
		if role.Kind == "Role" {
			here = append(here, role.Rules...)
		} else {
			everywhere = append(everywhere, role.Rules...)
		}
	}
	return everywhere, here
}

// gives reports whether a rule gives a right, on objects of its name.
func gives(r *rbacv1.PolicyRule, need Need) bool {
	return allows([]rbacv1.PolicyRule{*r}, need) && (len(r.ResourceNames) == 0 || slices.Contains(r.ResourceNames, need.Name))
}

// Each right of the operator's own is asked about, apart from the rare ones, and none that is not installed.
func TestOwnIsWhatIsInstalled(t *testing.T) {
	everywhere, here := shipped(t)
	needs := map[Need]bool{}
	for _, duty := range Own(Installation{
		Namespace: "kausality-system", CertSecret: "kausality-webhook-server-cert", Elected: true,
		DigestKeySecret: "kausality-digest-key", PathKeySecret: "kausality-webhook-path",
	}) {
		if duty.Without == "" || strings.HasSuffix(duty.Without, ".") {
			t.Errorf("what is so without %v is no part of a sentence: %q", duty.Needs, duty.Without)
		}
		for _, need := range duty.Needs {
			needs[need] = true
			rules := everywhere
			if need.Namespace != "" {
				rules = here
			}
			if !slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool { return gives(&r, need) }) {
				t.Errorf("the right to %s is not installed, and would always be missing", need)
			}
		}
	}
	for _, rule := range slices.Concat(everywhere, here) {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					name, subresource, _ := strings.Cut(resource, "/")
					right := Need{Group: group, Resource: name, Subresource: subresource, Verb: verb}
					text := right.String()
					if group == "" && resource == "events" {
						text = "events.core"
					}
					isAsked := slices.ContainsFunc(slices.Collect(maps.Keys(needs)), func(n Need) bool {
						n.Namespace, n.Name = "", ""
						return n == right
					})
					isRare := slices.ContainsFunc(rare, func(r string) bool { return strings.Contains(text, r) })
					if !isAsked && !isRare {
						t.Errorf("nobody notices that the right to %s is taken away: have a duty ask for it", text)
					}
				}
			}
		}
	}
}

// fixedRights lacks some rights.
type fixedRights map[Need]bool

func (f fixedRights) Missing(_ context.Context, needs []Need) ([]Need, error) {
	return slices.DeleteFunc(slices.Clone(needs), func(n Need) bool { return !f[n] }), nil
}

func TestLacking(t *testing.T) {
	writing := Need{Group: ownGroup, Resource: recordsResource, Verb: "create"}
	duty := Own(Installation{})[0]
	for _, tc := range []struct {
		lacks fixedRights
		want  int
	}{{nil, 0}, {fixedRights{writing: true}, 1}, {fixedRights{{Verb: "list"}: true}, 0}} {
		got, err := Lacking(t.Context(), tc.lacks, duty)
		if err != nil || len(got) != tc.want || tc.want > 0 && (!slices.Equal(got[0].Missing, []Need{writing}) || !got[0].Vital) {
			t.Errorf("without %v: %+v, %v", tc.lacks, got, err)
		}
		if SameLacks(got, nil) != (tc.want == 0) || !SameLacks(got, got) {
			t.Errorf("without %v they are not compared by what is missing", tc.lacks)
		}
	}
}

// What is asked about always is asked about also where it was there a moment ago.
func TestReviewsAlways(t *testing.T) {
	clock := testingclock.NewFakePassiveClock(time.Now())
	need := Need{Group: "apps", Resource: "deployments", Verb: "get"}
	for _, always := range []bool{false, true} {
		r := &Reviews{Clock: clock, Always: always, answers: map[Need]answer{need: {allowed: true, at: clock.Now()}}}
		if asks := r.asks(need, clock.Now()); asks != always {
			t.Errorf("always %t: asks %t", always, asks)
		}
	}
}
