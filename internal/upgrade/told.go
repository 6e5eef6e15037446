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

package upgrade

import (
	"fmt"
	"regexp"
	"strings"
)

// A denial says in its message what it has to do with an upgrade: which UpgradeAllowances were
// asked and why none lets it through, and which version the request comes from, where nobody agreed
// to that. Told finds it there again.
const (
	comesFrom = "The request comes from "
	details   = " Details: "
)

var saysNo = regexp.MustCompile(`UpgradeAllowance \S+ does not let it through: `)

// SaysNo says that an UpgradeAllowance does not let a request through, and why.
func SaysNo(name, why string) string {
	return fmt.Sprintf("UpgradeAllowance %s does not let it through: %s", name, why)
}

// Agree says which version a request comes from, and which one the parent was made by, and how to
// agree to that.
func Agree(by Version, parent, known, how string) string {
	return fmt.Sprintf("%s%s, and %s was made by, or upgraded to, %s: if this is an upgrade, agree to it by %s.", comesFrom, by, parent, known, how)
}

// Details ends a message, by the command that tells more.
func Details(command string) string { return details + command }

// Told returns what the message of a denial says of upgrades, empty where it says nothing.
func Told(message string) string {
	begin := strings.Index(message, comesFrom)
	if at := saysNo.FindStringIndex(message); len(at) > 0 && (begin < 0 || at[0] < begin) {
		begin = at[0]
	}
	if begin < 0 {
		return ""
	}
	told, _, _ := strings.Cut(message[begin:], details)
	return told
}

// Withheld is what Kept says of a parent of which, or of what it reads, something is withheld.
const Withheld = "something is withheld"

// kept are the clauses by which a denial says that something else is in the way, which no upgrade passes, and
// what that is.
var kept = []struct {
	clause *regexp.Regexp
	why    string
}{
	{regexp.MustCompile(` is withheld(?: of |[.,]| and )|once what is withheld is approved`), Withheld},
	{regexp.MustCompile(`as that was withheld and is gone`), "what was withheld is gone, and its controller has not heard of that"},
	{regexp.MustCompile(`(?:adopted|would adopt) .*without a cause`), "a child was adopted without a cause"},
	{regexp.MustCompile(`is being deleted and allows only`), "it is being deleted"},
	{regexp.MustCompile(`does not name it in `), "it does not name the child"},
}

// Kept returns what the message of a denial says is in the way of any upgrade of the parent, empty where it
// says nothing of that.
func Kept(message string) string {
	for _, k := range kept {
		if k.clause.MatchString(message) {
			return k.why
		}
	}
	return ""
}
