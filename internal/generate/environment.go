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

package generate

import (
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"k8s.io/apimachinery/pkg/util/version"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"kausality.io/operator/internal/nullsafe"
)

// The variables of expressions.
const (
	varObject    = plugincel.ObjectVarName
	varOldObject = plugincel.OldObjectVarName
	varNamespace = plugincel.NamespaceVarName
	varRequest   = plugincel.RequestVarName
	varVariables = plugincel.VariableVarName
	varResource  = "resource"
	varGenerator = "generator"
)

// fnWhole is around each expression, so that mixed literals are allowed in it. No user can
// write its name.
const fnWhole = "@whole"

// readingEnv is for matchConditions and variables: Kubernetes' own environment, null-safe,
// with what reads the cluster. It is made once per process, which takes milliseconds.
var readingEnv = sync.OnceValues(func() (*cel.Env, error) {
	request := plugincel.BuildRequestType()
	options := append(nullsafe.Options(), functions()...)
	options = append(options,
		cel.Variable(varObject, cel.DynType),
		cel.Variable(varOldObject, cel.DynType),
		cel.Variable(varNamespace, cel.DynType),
		cel.Variable(varRequest, request.CelType()),
		cel.Variable(varResource, resourcesType),
		cel.Function(fnWhole, cel.Overload(fnWhole+"_any",
			[]*cel.Type{cel.TypeParamType("T")}, cel.TypeParamType("T"), cel.UnaryBinding(same))),
		cel.ASTValidators(mixedLiterals{}),
	)
	set, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions:        options,
		DeclTypes:         []*apiservercel.DeclType{request},
	})
	if err != nil {
		return nil, fmt.Errorf("preparing the CEL environment: %w", err)
	}
	return set.StoredExpressionsEnv(), nil
})

// mixedLiterals allows lists and maps of values of several types, which Kubernetes does not:
// there they have to be put into dyn(), one by one, and objects are mixed by nature.
type mixedLiterals struct{}

var (
	_ cel.ASTValidator           = mixedLiterals{}
	_ cel.ASTValidatorConfigurer = mixedLiterals{}
)

// Name implements cel.ASTValidator.
func (mixedLiterals) Name() string { return "kausality.mixed_literals" }

// Configure implements cel.ASTValidatorConfigurer.
func (mixedLiterals) Configure(config cel.MutableValidatorConfig) error {
	exempt, _ := config.GetOrDefault(cel.HomogeneousAggregateLiteralExemptFunctions, []string{}).([]string)
	return config.Set(cel.HomogeneousAggregateLiteralExemptFunctions, append(exempt, fnWhole))
}

// Validate implements cel.ASTValidator: there is nothing to refuse.
func (mixedLiterals) Validate(*cel.Env, cel.ValidatorConfig, *ast.AST, *cel.Issues) {}

// wrapWhole puts fnWhole around an expression that was parsed.
func wrapWhole(parsed *cel.Ast) {
	tree := parsed.NativeRep()
	fac := ast.NewExprFactory()
	whole, outer := tree.Expr(), ast.MaxID(tree)+1
	inner := fac.CopyExpr(whole)
	if where, ok := tree.SourceInfo().GetOffsetRange(whole.ID()); ok {
		tree.SourceInfo().SetOffsetRange(outer, where)
	}
	whole.SetKindCase(nil)
	whole.RenumberIDs(func(int64) int64 { return outer })
	whole.SetKindCase(fac.NewCall(outer, fnWhole, inner))
}
