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

package kubectl

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kausality.io/operator/test/pasted"
)

func TestQuoting(t *testing.T) {
	for name, tc := range map[string]struct{ text, word, quoted string }{
		"a name":                {"web-1.example.org", "web-1.example.org", "'web-1.example.org'"},
		"a path with a digest":  {"spec.replicas@0123456789ab", "spec.replicas@0123456789ab", "'spec.replicas@0123456789ab'"},
		"a service account":     {"kube-system/kro", "kube-system/kro", "'kube-system/kro'"},
		"everything":            {"*", "'*'", "'*'"},
		"an index":              {"a[0]", "'a[0]'", "'a[0]'"},
		"nothing":               {"", "''", "''"},
		"single quotes":         {"a['it']", `'a['\''it'\'']'`, `'a['\''it'\'']'`},
		"a command":             {"$(touch x)`y`;z", "'$(touch x)`y`;z'", "'$(touch x)`y`;z'"},
		"the end of a line":     {"a\nb", `'a\nb'`, `'a\nb'`},
		"an escape sequence":    {"a\x1b[8m", `'a\x1b[8m'`, `'a\x1b[8m'`},
		"a control of 8 bits":   {"a\u009b8m", `'a\u009b8m'`, `'a\u009b8m'`},
		"text that runs back":   {"a\u202eb", `'a\u202eb'`, `'a\u202eb'`},
		"no UTF-8":              {"a\xffb", `'a\xffb'`, `'a\xffb'`},
		"a replaced character":  {"a\ufffdb", "'a\ufffdb'", "'a\ufffdb'"},
		"another alphabet":      {"größe", "'größe'", "'größe'"},
		"a home directory":      {"~root", "'~root'", "'~root'"},
		"an assignment":         {"a=b", "'a=b'", "'a=b'"},
		"braces":                {"{a,b}", "'{a,b}'", "'{a,b}'"},
		"what bash remembers":   {"!!", "'!!'", "'!!'"},
		"a comment":             {"#a", "'#a'", "'#a'"},
		"a backslash":           {`a\b`, `'a\b'`, `'a\b'`},
		"a name with a newline": {"a\n", `'a\n'`, `'a\n'`},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff([]string{tc.word, tc.quoted}, []string{Word(tc.text), Quote(tc.text)}); diff != "" {
				t.Errorf("word and quoted (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnnotate(t *testing.T) {
	const key = "kausality.io/approve"
	for name, tc := range map[string]struct {
		of    Objects
		value string
		want  string
		args  []string
	}{
		"an object": {
			Objects{"apps", "Deployment", "shop", []string{"web"}, ""}, "spec.replicas@0123456789ab",
			"kubectl annotate -n shop deployment web kausality.io/approve='spec.replicas@0123456789ab'",
			[]string{"annotate", "-n", "shop", "deployment", "web", key + "=spec.replicas@0123456789ab"},
		},
		"several of another group": {
			Objects{"example.org", "Thing", "", []string{"a", "b"}, ""}, "*", "kubectl annotate thing.example.org a b kausality.io/approve='*'",
			[]string{"annotate", "thing.example.org", "a", "b", key + "=*"},
		},
		"one that kubectl would write in a version that loses something": {
			Objects{"example.org", "Thing", "shop", []string{"a"}, "v1"}, "*", "kubectl annotate -n shop thing.v1.example.org a kausality.io/approve='*'",
			[]string{"annotate", "-n", "shop", "thing.v1.example.org", "a", key + "=*"},
		},
		"a version of Kubernetes' own kinds, which kubectl does not take without a group": {
			Objects{"apps", "Deployment", "shop", []string{"web"}, "v1"}, "*", "kubectl annotate -n shop deployment web kausality.io/approve='*'",
			[]string{"annotate", "-n", "shop", "deployment", "web", key + "=*"},
		},
		"a Namespace, of which requests say that it is in itself": {
			Objects{"", "Namespace", "shop", []string{"shop"}, ""}, "*", "kubectl annotate namespace shop kausality.io/approve='*'",
			[]string{"annotate", "namespace", "shop", key + "=*"},
		},
		"another kind of that name": {
			Objects{"example.org", "Namespace", "shop", []string{"shop"}, ""}, "*", "kubectl annotate -n shop namespace.example.org shop kausality.io/approve='*'",
			[]string{"annotate", "-n", "shop", "namespace.example.org", "shop", key + "=*"},
		},
		"a name that is a command": {
			Objects{"rbac.authorization.k8s.io", "ClusterRole", "", []string{"a; touch pwned", "$(touch pwned)", "it's"}, ""}, "*",
			`kubectl annotate clusterrole.rbac.authorization.k8s.io 'a; touch pwned' '$(touch pwned)' 'it'\''s' kausality.io/approve='*'`,
			[]string{"annotate", "clusterrole.rbac.authorization.k8s.io", "a; touch pwned", "$(touch pwned)", "it's", key + "=*"},
		},
		"a name that is a flag": {
			Objects{"", "Thing", "", []string{"a", "--all"}, ""}, "*", "kubectl annotate thing/a thing/--all kausality.io/approve='*'",
			[]string{"annotate", "thing/a", "thing/--all", key + "=*"},
		},
		"a name that hides something": {
			Objects{"", "Thing", "", []string{"a\x1b[2K\rb c\n"}, ""}, "*", "kubectl annotate thing a%1B%5B2K%0Db%20c%0A kausality.io/approve='*'",
			[]string{"annotate", "thing", "a%1B%5B2K%0Db%20c%0A", key + "=*"},
		},
		"a kind that is one": {
			Objects{"", "$(touch pwned)", "", []string{"a"}, ""}, "*", "kubectl annotate '$(touch pwned)' a kausality.io/approve='*'",
			[]string{"annotate", "$(touch pwned)", "a", key + "=*"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := Annotate(tc.of, key, tc.value)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("command (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.args, run(t, got)); diff != "" {
				t.Errorf("what a shell makes of it (-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever a text is, a shell makes one word of it, and a terminal one line.
func TestAShellReadsWords(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		texts := rapid.SliceOfN(rapid.OneOf(
			rapid.String(), rapid.StringMatching(`[-'"\\$`+"`"+`(){}\[\]*?!#~;&|<>= ,\n\ta]{0,12}`), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		), 1, 20).Draw(r, "texts")
		words, want := []string{"kubectl"}, []string(nil)
		for _, text := range texts {
			words = append(words, Word(text), Quote(text))
			want = append(want, Printable(text), Printable(text))
		}
		line := strings.Join(words, " ")
		if !utf8.ValidString(line) || Printable(line) != line || strings.Contains(line, "\n") {
			r.Fatalf("%q is no visible line", line)
		}
		if diff := cmp.Diff(want, run(t, line)); diff != "" {
			r.Fatalf("%s (-want +got):\n%s", line, diff)
		}
	})
}

func run(t *testing.T, line string) []string {
	t.Helper()
	args, err := pasted.Arguments(t.Context(), t.TempDir(), line)
	if err != nil {
		t.Fatal(err)
	}
	return args
}
