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

package convert

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/parser"
)

// parsing is an environment that parses expressions of Kyverno. It expands no macros, so that each
// call is where it was written.
var parsing = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewCustomEnv(cel.OptionalTypes(), cel.ClearMacros())
})

// written is an expression, and where its parts are in its text.
type written struct {
	text []rune
	root ast.Expr
	info *ast.SourceInfo
}

// parse reads an expression. It returns nil where that is not possible: compiling says why.
func parse(text string) *written {
	env, err := parsing()
	if err != nil {
		return nil
	}
	parsed, issues := env.Parse(text)
	if issues.Err() != nil {
		return nil
	}
	tree := parsed.NativeRep()
	return &written{text: []rune(text), root: tree.Expr(), info: tree.SourceInfo()}
}

// at returns where an expression is: a call at its parenthesis or bracket, a selection at its dot.
func (w *written) at(e ast.Expr) (int, bool) {
	where, ok := w.info.GetOffsetRange(e.ID())
	return int(where.Start), ok && where.Start >= 0 && int(where.Start) < len(w.text)
}

// calls shows all calls.
func (w *written) calls(show func(e ast.Expr, call ast.CallExpr)) {
	w.visit(func(e ast.Expr) {
		if e.Kind() == ast.CallKind {
			show(e, e.AsCall())
		}
	})
}

func (w *written) visit(show func(ast.Expr)) {
	ast.PreOrderVisit(w.root, ast.NewExprVisitor(show))
}

// source returns the text of an expression in a form that does not depend on how it is written.
// What only changes its type is left out.
func (w *written) source(e ast.Expr) string {
	for e.Kind() == ast.CallKind && !e.AsCall().IsMemberFunction() && len(e.AsCall().Args()) == 1 &&
		slices.Contains([]string{"dyn", "string"}, e.AsCall().FunctionName()) {
		e = e.AsCall().Args()[0]
	}
	text, err := parser.Unparse(e, w.info)
	if err != nil {
		return ""
	}
	return text
}

// receiver returns the name of what a member function is called on.
func receiver(call ast.CallExpr) string {
	if !call.IsMemberFunction() || call.Target().Kind() != ast.IdentKind {
		return ""
	}
	return call.Target().AsIdent()
}

// edit inserts a text at an offset.
type edit struct {
	at   int
	text string
}

// apply returns the text with edits.
func (w *written) apply(edits []edit) string {
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.at, b.at) })
	var out strings.Builder
	from := 0
	for _, e := range edits {
		out.WriteString(string(w.text[from:e.at]) + e.text)
		from = e.at
	}
	out.WriteString(string(w.text[from:]))
	return out.String()
}

// arguments returns where the commas between the arguments of a call are, and its closing
// parenthesis, behind the opening one.
func (w *written) arguments(open int) (commas []int, closing int, ok bool) {
	depth := 0
	for i := open + 1; i < len(w.text); i++ {
		switch c := w.text[i]; {
		case c == '"' || c == '\'':
			i = w.quoted(i)
		case c == '/' && i+1 < len(w.text) && w.text[i+1] == '/':
			for i < len(w.text) && w.text[i] != '\n' {
				i++
			}
		case strings.ContainsRune("([{", c):
			depth++
		case c == ')' && depth == 0:
			return commas, i, true
		case strings.ContainsRune(")]}", c):
			depth--
		case c == ',' && depth == 0:
			commas = append(commas, i)
		}
	}
	return nil, 0, false
}

// quoted returns where the string ends that begins at a quote.
func (w *written) quoted(begin int) int {
	quote := string(w.text[begin])
	if strings.HasPrefix(string(w.text[begin:]), strings.Repeat(quote, 3)) {
		quote = strings.Repeat(quote, 3)
	}
	raw := begin > 0 && strings.ContainsRune("rR", w.text[begin-1])
	for i := begin + len(quote); i < len(w.text); i++ {
		if w.text[i] == '\\' && !raw {
			i++
			continue
		}
		if strings.HasPrefix(string(w.text[i:min(i+len(quote), len(w.text))]), quote) {
			return i + len(quote) - 1
		}
	}
	return len(w.text)
}

// expressions rewrites the expressions of a spec, where they mean something else here, or nothing.
func (c *converter) expressions(spec map[string]any) {
	var all []*written
	var places []string
	c.eachExpression(spec, func(fields map[string]any, path string) {
		text, _ := fields["expression"].(string)
		w := parse(text)
		if w == nil {
			return
		}
		fields["expression"] = c.rewritten(w, path)
		all, places = append(all, w), append(places, path)
	})
	c.elsewhere(all, places)
}

// eachExpression shows what has an expression, and the path of that.
func (c *converter) eachExpression(spec map[string]any, show func(fields map[string]any, path string)) {
	for _, name := range []string{"matchConditions", "variables", "generate"} {
		for i, item := range list(spec[name]) {
			if fields, ok := item.(map[string]any); ok {
				show(fields, fmt.Sprintf("spec.%s[%d].expression", name, i))
			}
		}
	}
}

// rewritten returns the text of an expression as it is to be here.
func (c *converter) rewritten(w *written, path string) string {
	var edits []edit
	w.calls(func(e ast.Expr, call ast.CallExpr) {
		open, ok := w.at(e)
		if !ok {
			return
		}
		if c.namespace != "" && w.text[open] == '(' {
			edits = append(edits, c.inNamespace(w, open, call, path)...)
		}
		if call.FunctionName() == "orValue" && call.IsMemberFunction() && len(call.Args()) == 1 {
			edits = append(edits, c.optional(w, call.Target(), path)...)
		}
	})
	return w.apply(edits)
}

// inNamespace gives the functions of a policy in a namespace the namespace that is implied there.
func (c *converter) inNamespace(w *written, open int, call ast.CallExpr, path string) []edit {
	commas, closing, ok := w.arguments(open)
	if !ok {
		return nil
	}
	namespace, n := strconv.Quote(c.namespace), len(call.Args())
	function := receiver(call) + "." + strings.ToLower(call.FunctionName())
	switch {
	case function == "generator.apply" && n == 1:
		return []edit{{open + 1, namespace + ", "}}
	case function == "resource.get" && n == 3, function == "resource.list" && n == 3 && len(commas) == 2:
		return []edit{{commas[1] + 1, " " + namespace + ","}}
	case function == "resource.list" && n == 2:
		return []edit{{closing, ", " + namespace}}
	case function == "generator.apply" && n == 2, function == "resource.get" && n == 4, function == "resource.list" && n == 4:
		c.losef(path, "%s.%s names a namespace, which Kyverno does not accept in a policy of one", receiver(call), call.FunctionName())
		c.unusable[path] = true
	}
	return nil
}

// optional makes optional what has orValue. Kyverno takes it of any value; CEL only of what is
// optional, such as object.?spec.
func (c *converter) optional(w *written, target ast.Expr, path string) []edit {
	if isOptional(target) {
		return nil
	}
	at, ok := w.at(target)
	selects := target.Kind() == ast.SelectKind && !isVariables(target.AsSelect().Operand()) ||
		target.Kind() == ast.CallKind && target.AsCall().FunctionName() == operators.Index
	if ok && selects && strings.ContainsRune(".[", w.text[at]) {
		return []edit{{at + 1, "?"}}
	}
	c.notef(path, "orValue is called on %s: where that is not optional, Kyverno takes its value, and here the evaluation fails", w.source(target))
	return nil
}

// isOptional reports whether an expression yields an optional value by the way it is written.
func isOptional(e ast.Expr) bool {
	switch e.Kind() {
	case ast.SelectKind:
		return isOptional(e.AsSelect().Operand())
	case ast.CallKind:
		call := e.AsCall()
		switch call.FunctionName() {
		case operators.OptSelect, operators.OptIndex, "optMap", "optFlatMap", "or", "first", "last":
			return true
		case operators.Index:
			return isOptional(call.Args()[0])
		}
		return receiver(call) == "optional"
	default:
		return false
	}
}

func isVariables(e ast.Expr) bool { return e.Kind() == ast.IdentKind && e.AsIdent() == "variables" }

// elsewhere notes the objects that say where they are, unless it is where they are applied to.
func (c *converter) elsewhere(all []*written, places []string) {
	applied := map[string]bool{}
	for _, w := range all {
		w.calls(func(_ ast.Expr, call ast.CallExpr) {
			if receiver(call) == "generator" && len(call.Args()) == 2 {
				applied[w.source(call.Args()[0])] = true
			}
		})
	}
	if c.namespace != "" {
		applied[strconv.Quote(c.namespace)] = true
	}
	for i, w := range all {
		w.visit(func(e ast.Expr) {
			namespace, ok := namespaceOf(e)
			if !ok || len(applied) == 0 || applied[`""`] || applied[w.source(namespace)] {
				return
			}
			c.notef(places[i], "an object is said to be in %s: Kyverno puts it where it is applied to instead; here it is left out where that is another namespace",
				w.source(namespace))
		})
	}
}

// namespaceOf returns the namespace in an object that is written out.
func namespaceOf(e ast.Expr) (ast.Expr, bool) {
	metadata, ok := entryOf(e, "metadata")
	if !ok {
		return nil, false
	}
	if metadata.Kind() == ast.CallKind && metadata.AsCall().FunctionName() == "dyn" && len(metadata.AsCall().Args()) == 1 {
		metadata = metadata.AsCall().Args()[0]
	}
	return entryOf(metadata, "namespace")
}

// entryOf returns the value of a key in a map that is written out.
func entryOf(e ast.Expr, key string) (ast.Expr, bool) {
	if e.Kind() != ast.MapKind {
		return nil, false
	}
	for _, entry := range e.AsMap().Entries() {
		held := entry.AsMapEntry()
		if held.Key().Kind() == ast.LiteralKind && held.Key().AsLiteral() == types.String(key) {
			return held.Value(), true
		}
	}
	return nil, false
}
