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

package inputs

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Value is one bad value.
type Value struct {
	// Name says what is bad about it.
	Name string
	// JSON is the value.
	JSON json.RawMessage
	// Long tells that it is a long list. For a custom resource with a schema the API server
	// compares each error with each other, and takes ten seconds and more where each item is
	// one: that is nobody's fault here.
	Long bool
}

const (
	// annotationLimit is what all annotations of an object may take.
	annotationLimit = 256 << 10
	// expressionLimit is how long an expression of a policy may be.
	expressionLimit = 4096
)

// Many is more items than anybody has.
const Many = 10_000

// Values returns all bad values, whatever the field is for: those of other types, the
// extremes of each type, lists of that many items, and texts.
func Values(many int) []Value {
	values := []Value{
		{Name: "texts", Long: true, JSON: items(many, `"text-%d"`)},
		{Name: "texts alike", Long: true, JSON: alike(many, "text")},
		{Name: "objects", Long: true, JSON: items(many, `{"name":"n-%d"}`)},
		{Name: "owners", Long: true, JSON: items(many, `{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":"%d"}`)},
		{Name: "keys", Long: true, JSON: raw("{" + strings.Join(numbered(many, `"key-%d":"value"`), ",") + "}")},
	}
	for i := range values {
		values[i].Name = fmt.Sprintf("%d %s", many, values[i].Name)
	}
	values = append(values, wrong()...)
	for _, t := range append(texts(), expressions()...) {
		quoted, err := json.Marshal(t.text)
		if err != nil {
			panic(err) // Texts can be encoded.
		}
		values = append(values, Value{Name: t.name, JSON: quoted})
	}
	return values
}

// wrong returns values of each type, most of which are not the field's.
func wrong() []Value {
	return []Value{
		{Name: "null", JSON: raw("null")},
		{Name: "true", JSON: raw("true")},
		{Name: "zero", JSON: raw("0")},
		{Name: "a negative number", JSON: raw("-1")},
		{Name: "the largest integer", JSON: raw("9223372036854775807")},
		{Name: "the smallest integer", JSON: raw("-9223372036854775808")},
		{Name: "more than an integer holds", JSON: raw("18446744073709551616")},
		{Name: "a fraction", JSON: raw("0.1")},
		{Name: "a large number", JSON: raw("1e308")},
		{Name: "more than a number holds", JSON: raw("1e999")},
		{Name: "an empty list", JSON: raw("[]")},
		{Name: "an empty object", JSON: raw("{}")},
		{Name: "a list with nothing in it", JSON: raw("[null]")},
		{Name: "an object with another field", JSON: raw(`{"nobody":{"knows":"this"}}`)},
		{Name: "lists in lists", JSON: nested(300, "[", "]")},
		{Name: "lists deep in lists", JSON: nested(1000, "[", "]")},
		{Name: "objects in objects", JSON: nested(300, `{"a":`, "}")},
		{Name: "objects deep in objects", JSON: nested(1000, `{"a":`, "}")},
		{Name: "16 costly conditions", JSON: alike(16, costly)},
	}
}

type text struct{ name, text string }

// texts returns bad as names, paths, patterns, ledgers and lists of paths.
func texts() []text {
	return []text{
		{"no text", ""},
		{"a space", " "},
		{"an asterisk", "*"},
		{"as large as annotations may be", strings.Repeat("x", annotationLimit)},
		{"almost as large as annotations may be", strings.Repeat("é", annotationLimit/2-1024)},
		{"512 characters", strings.Repeat("a.", 256)},
		{"scripts, emoji and marks", "ñ漢字\u202egnp.exe\u200d👩‍👩‍👧‍👦" + strings.Repeat("\u0301", 100)},
		{"no characters", "\x00\x01\x1b[31m\r\n\t\ufffd\u2028"},
		{"verbs of formats", "%s%n%v%!d(MISSING)"},
		{"a script", "$(reboot)`reboot`; DROP TABLE allowances; --<script>"},
		{"a way out", "../../../../etc/passwd"},
		{"a path of indices", "spec" + strings.Repeat("[*]", 169)},
		{"a path of keys", "spec" + strings.Repeat("[a]", 169)},
		{"a path that does not end", strings.Repeat("spec[", 100)},
		{"a path that begins in the middle", "].spec..a[[*"},
		{"a path with a quoted key", `metadata.annotations["a.b/c\"]"][\`},
		{"a path of an index that is none", "spec.list[99999999999999999999]"},
		{"20,000 paths", strings.Join(numbered(20_000, "spec.a%d"), ",")},
		{"a pattern that backtracks", "(a+)+$"},
		{"a large repetition", "(((a{1000}){1000}){1000})"},
		{"a ledger of another type", `{"kind":"Pod"}`},
		{"a ledger that does not end", `[{"kind":"Pod","mutation":"*"`},
		{"a ledger of everything", `[{"kind":"*","mutation":"*","generation":9223372036854775807,"initiator":"alice","trace":[{"kind":"Thing"}]}]`},
		{"a ledger of 2,000 entries", string(items(2000, `{"kind":"Pod","mutation":"p%d","generation":1}`))},
		{"a ledger of a negative generation", `[{"kind":"Pod","mutation":"*","generation":-9223372036854775808}]`},
		{"a ledger with a long trace", `[{"kind":"Pod","mutation":"*","generation":1,"trace":` + string(items(2000, `{"kind":"Pod","name":"p%d"}`)) + "}]"},
		{"a ledger of lists", string(nested(20_000, "[", "]"))},
		{"a ledger of aliases", "a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c]"},
		{"a list of operations", `["Observe","Create","Update","Delete","*","\u0000"]`},
		{"a deletion that is held back for nobody", `{"user":"","initiator":null}`},
	}
}

// costly is an expression that takes as much as one may.
const costly = "object.spec.items.all(a, object.spec.items.all(b, object.spec.items.all(c, a == b || b == c || a != c)))"

// expressions returns CEL that explodes: in what it makes, in what it costs, or in depth.
func expressions() []text {
	list, product := "[1,2,3,4,5,6,7,8,9,10]", "a0"
	for depth := range 8 {
		product = fmt.Sprintf("%s.map(a%d, %s)", list, 7-depth, product)
	}
	doubled := "'x'"
	for range 7 {
		doubled = "(" + doubled + "+" + doubled + ")"
	}
	return []text{
		{"an expression of lists of lists", product + ".size() > 0"},
		{"an expression that doubles a text", doubled + ".size() > 0"},
		{"an expression that doubles a text again and again", "[" + doubled + "].map(a, [a+a+a+a].map(b, [b+b+b+b].map(c, [c+c+c+c].map(d, d+d+d+d)))).size() > 0"},
		{"an expression that costs the third power", costly},
		{"an expression with a pattern that backtracks", "object.spec.config.matches('^(([a-z])+.)+[A-Z]([a-z])+$')"},
		{"an expression with a pattern of the object", "object.spec.config.matches(object.spec.config)"},
		{"an expression in parentheses", strings.Repeat("(", expressionLimit/2-2) + "true" + strings.Repeat(")", expressionLimit/2-2)},
		{"an expression of negations", strings.Repeat("!", expressionLimit-4) + "true"},
		{"an expression of fields", "object" + strings.Repeat(".a", expressionLimit/2-8) + " == 1"},
		{"an expression of indices", "object" + strings.Repeat("[0]", expressionLimit/3-8) + " == 1"},
		{"an expression of alternatives", strings.TrimSuffix(strings.Repeat("true||", expressionLimit/6), "||")},
		{"an expression of sums", strings.TrimSuffix(strings.Repeat("1+", expressionLimit/2-8), "+") + " > 0"},
		{"an expression of conditions", strings.Repeat("true?", 350) + "true" + strings.Repeat(":false", 350)},
		{"an expression of lists in lists", strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + " == []"},
		{"an expression that divides by zero", "1/0 == 1"},
		{"an expression that is a text", "'true'"},
		{"an expression of what is not there", "request.object.nobody(42) && oldObject.x"},
		{"an expression that does not end", "object.spec.items.all(a,"},
		{"an expression of what it defines itself", "object.spec.items.all(object, object.all(object, object))"},
	}
}

func raw(text string) json.RawMessage { return json.RawMessage(text) }

func nested(depth int, begin, end string) json.RawMessage {
	return raw(strings.Repeat(begin, depth) + "1" + strings.Repeat(end, depth))
}

func numbered(n int, format string) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf(format, i)
	}
	return out
}

func items(n int, format string) json.RawMessage {
	return raw("[" + strings.Join(numbered(n, format), ",") + "]")
}

// alike returns a list of the same text.
func alike(n int, text string) json.RawMessage {
	return raw("[" + strings.TrimSuffix(strings.Repeat(fmt.Sprintf("%q,", text), n), ",") + "]")
}
