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

package check

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/offline"
	"kausality.io/operator/internal/generate"
)

// testKind is that of files with tests. It is no kind of the API server.
var testKind = schema.GroupVersionKind{Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version, Kind: offline.KindPolicyTest}

// PolicyTest is a file of tests: a world, and requests in it with the answers that
// they should get. It is read from files only.
type PolicyTest struct {
	metav1.TypeMeta `json:",inline"`
	// Metadata has the name of the test.
	Metadata TestMetadata `json:"metadata,omitempty"`
	// Policies are files and directories of policies, relative to this one. Left out,
	// all policies count that the command is given.
	Policies []string `json:"policies,omitempty"`
	// CRDs are files and directories of CustomResourceDefinitions, relative to this
	// one.
	CRDs []string `json:"crds,omitempty"`
	// Objects are what exists before each case. A uid may be left out, in owner
	// references too.
	Objects []map[string]any `json:"objects,omitempty"`
	// Cases are judged one by one, each in the same world.
	Cases []Case `json:"cases"`
}

// TestMetadata names a test.
type TestMetadata struct {
	// Name of the test.
	Name string `json:"name,omitempty"`
}

// Case is one request and the answer that it should get; or, with a trigger, what
// GeneratingPolicies should want for that.
type Case struct {
	// Name says what the case shows.
	Name string `json:"name"`
	// Trigger is an object for which GeneratingPolicies may want others.
	Trigger *Trigger `json:"trigger,omitempty"`
	// User and Groups are who makes the request. With a trigger, it is the request that GeneratingPolicies
	// ask about: a creation, or an update where Old is given.
	User   string   `json:"user,omitempty"`
	Groups []string `json:"groups,omitempty"`
	// MayBreakGlass gives the user the right to.
	MayBreakGlass bool `json:"mayBreakGlass,omitempty"`

	// Objects are further objects that exist, or replace those of the test.
	Objects []map[string]any `json:"objects,omitempty"`
	// Ledgers are what objects allow before the request.
	Ledgers []ObjectLedger `json:"ledgers,omitempty"`

	// Operation is Create, Update, Delete, Scale or Evict. Left out, it is what the
	// rest makes of it: an Update or a Scale where something is set, a Create where
	// there is only a new object, and else a Delete. With a trigger, a Delete or an
	// Evict of it is the trigger.
	Operation offline.Operation `json:"operation,omitempty"`
	// Object names the object of the request, as KIND/NAME, or KIND/NAMESPACE/NAME.
	Object string `json:"object,omitempty"`
	// Old is the object before the request, in place of Object. With a trigger, it is the trigger before.
	Old map[string]any `json:"old,omitempty"`
	// New is the object after it.
	New map[string]any `json:"new,omitempty"`
	// Set are fields that an Update sets, by path, in place of New.
	Set map[string]any `json:"set,omitempty"`
	// Unset are fields that an Update removes, in place of New.
	Unset []string `json:"unset,omitempty"`
	// Replicas is what a Scale sets.
	Replicas *int64 `json:"replicas,omitempty"`

	// Expect is the answer.
	Expect Expectation `json:"expect"`
}

// ObjectLedger is the ledger of an object.
type ObjectLedger struct {
	// Object names it, as Case.Object does.
	Object string `json:"object"`
	// Allowances are its entries. Those without a generation are for the one that the
	// object has, and those without a trace begin with it.
	Allowances []v1alpha1.Allowance `json:"allowances"`
}

// Expectation is what an answer should be. What is left out may be anything.
type Expectation struct {
	// Allowed is whether the write goes through.
	Allowed *bool `json:"allowed,omitempty"`
	// Reason of the verdict, such as Covered.
	Reason string `json:"reason,omitempty"`
	// Grants are all allowances that the object's ledger gets; none where the list is
	// empty. Of each only the fields that are given must agree.
	Grants *[]v1alpha1.Allowance `json:"grants,omitempty"`
	// Withheld are all paths whose change is withheld by this request.
	Withheld *[]string `json:"withheld,omitempty"`
	// Cleared are all paths whose change is no longer withheld.
	Cleared *[]string `json:"cleared,omitempty"`
	// Message is part of what the requester is told: of the refusal, or of a warning. With a
	// trigger, it is part of why the policies could not be evaluated.
	Message string `json:"message,omitempty"`

	// Generated are all objects that are wanted for the trigger; none where the list is
	// empty. Of each only the fields that are given must agree.
	Generated *[]map[string]any `json:"generated,omitempty"`
	// Absent are objects that are not wanted for it, as KIND/NAME or KIND/NAMESPACE/NAME.
	Absent []string `json:"absent,omitempty"`
	// LeftOut counts what is applied and not wanted, by why, such as SourceGone.
	LeftOut *map[generate.LeftOut]int `json:"leftOut,omitempty"`
}

// ofTriggers returns a field that is given, and that only cases with a trigger can have.
func (e *Expectation) ofTriggers() string {
	switch {
	case e.Generated != nil:
		return "generated"
	case e.Absent != nil:
		return "absent"
	case e.LeftOut != nil:
		return "leftOut"
	}
	return ""
}

// ofRequests returns a field that is given, and that only cases without a trigger can have.
func (e *Expectation) ofRequests() string {
	switch {
	case e.Allowed != nil:
		return "allowed"
	case e.Grants != nil:
		return "grants"
	case e.Withheld != nil:
		return "withheld"
	case e.Cleared != nil:
		return "cleared"
	}
	return ""
}
