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
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/util/version"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"kausality.io/operator/internal/nullsafe"
)

// The variables of CEL expressions.
const (
	varObject    = "object"
	varOldObject = "oldObject"
	varRequest   = "request"
	varAllowance = "allowance"
)

// scope is the set of variables that an expression may use. Its environment is
// made once per process, when first needed: that takes milliseconds.
type scope func() (*cel.Env, error)

var (
	// changeScope is for conditions of rules and maintaining entries.
	changeScope scope = sync.OnceValues(func() (*cel.Env, error) {
		return newEnv(
			cel.Variable(varObject, cel.DynType),
			cel.Variable(varOldObject, cel.DynType),
			cel.Variable(varRequest, requestType.CelType()),
		)
	})
	// initializingScope is for initializing.when.
	initializingScope scope = sync.OnceValues(func() (*cel.Env, error) {
		return newEnv(cel.Variable(varObject, cel.DynType))
	})
	// consumptionScope is for consumption.when.
	consumptionScope scope = sync.OnceValues(func() (*cel.Env, error) {
		return newEnv(
			cel.Variable(varObject, cel.DynType),
			cel.Variable(varAllowance, cel.DynType),
		)
	})
)

// requestType declares request, so that a misspelled field of it is a compile
// error. Objects have no such type: their schema may come and go.
var requestType = apiservercel.NewObjectType("kausality.Request", map[string]*apiservercel.DeclField{
	"user":      apiservercel.NewDeclField("user", userType, true, nil, nil),
	"operation": apiservercel.NewDeclField("operation", apiservercel.StringType, true, nil, nil),
	"namespace": apiservercel.NewDeclField("namespace", apiservercel.StringType, true, nil, nil),
	"name":      apiservercel.NewDeclField("name", apiservercel.StringType, true, nil, nil),
})

var userType = apiservercel.NewObjectType("kausality.User", map[string]*apiservercel.DeclField{
	"username": apiservercel.NewDeclField("username", apiservercel.StringType, true, nil, nil),
	"groups": apiservercel.NewDeclField("groups",
		apiservercel.NewListType(apiservercel.StringType, -1), true, nil, nil),
})

// newEnv returns the environment that Kubernetes itself uses for expressions,
// with its libraries, cost limit and cost tracking, plus these variables and
// null-safe selections.
func newEnv(variables ...cel.EnvOption) (*cel.Env, error) {
	set, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions:        append(nullsafe.Options(), variables...),
		DeclTypes:         []*apiservercel.DeclType{requestType},
	})
	if err != nil {
		return nil, fmt.Errorf("preparing the CEL environment: %w", err)
	}
	return set.StoredExpressionsEnv(), nil
}
