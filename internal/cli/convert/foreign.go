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
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
)

// noCounterpart is the message for functions that nothing here replaces.
const noCounterpart = "it has no counterpart"

// notHere are functions and variables of Kyverno that Kausality has not, by the name that
// they begin with, and why.
var notHere = map[string]string{
	"http":           "what it answers is not in the cluster, and nothing says when it changes",
	"globalContext":  "read the objects with resource.List",
	"image":          "images are not looked up",
	"json":           "read a field of an object in place of a text",
	"yaml":           "read a field of an object in place of a text",
	"time":           "what is generated may not depend on when that is",
	"random":         "what is generated would be something else each time",
	"hash":           noCounterpart,
	"sha1":           noCounterpart,
	"sha256":         noCounterpart,
	"md5":            noCounterpart,
	"math":           noCounterpart,
	"gzip":           noCounterpart,
	"x509":           noCounterpart,
	"base64":         "a Secret may have what is not encoded in stringData",
	"regex":          "matches and findAll take regular expressions",
	"transform":      noCounterpart,
	"listObjToMap":   noCounterpart,
	"exceptions":     "say what is exempt in matchConditions",
	"resource.post":  "evaluating a policy writes nothing",
	"resource.togvr": `name the version and the resource, such as resource.Get("apps/v1", "deployments", …)`,
	"cel.bind":       "use a variable",
}

// foreign says which functions of Kyverno an expression has that there are not here. It returns
// an empty text where it has none.
func (c *converter) foreign(spec map[string]any, at string) string {
	var out []string
	c.eachExpression(spec, func(fields map[string]any, path string) {
		text, _ := fields["expression"].(string)
		if path != at {
			return
		}
		w := parse(text)
		if w == nil {
			return
		}
		w.visit(func(e ast.Expr) {
			name := nameOf(e)
			first, _, _ := strings.Cut(name, ".")
			why, known := notHere[strings.ToLower(name)]
			if !known {
				why, known = notHere[first]
			}
			if said := name + " is Kyverno's: " + why; known && !slices.Contains(out, said) {
				out = append(out, said)
			}
		})
	})
	return strings.Join(out, "; ")
}

// nameOf returns the name of a function that is called, or of exceptions.
func nameOf(e ast.Expr) string {
	switch e.Kind() {
	case ast.CallKind:
		call := e.AsCall()
		if on := receiver(call); on != "" {
			return on + "." + call.FunctionName()
		}
		if !call.IsMemberFunction() {
			return call.FunctionName()
		}
	case ast.IdentKind:
		if e.AsIdent() == "exceptions" {
			return "exceptions"
		}
	default:
	}
	return ""
}
