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

package runtimerules

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"pgregory.net/rapid"
)

// The API at the version of go.mod: a new method or stream is to be looked at.
func TestMethods(t *testing.T) {
	streams := 0
	for _, m := range Methods() {
		if m.Streams {
			streams++
		}
	}
	if len(Methods()) != 43 || streams != 7 {
		t.Errorf("%d methods, %d of them streams", len(Methods()), streams)
	}
}

// A "*" is any run of characters without a slash, and all else stands for itself.
func TestMatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[/ab*.]{0,8}`).Draw(t, "pattern")
		path := rapid.StringMatching(`[/ab.]{0,8}`).Draw(t, "path")
		reference := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, "[^/]*") + "$")
		if got, want := matches(pattern, path), reference.MatchString(path); got != want {
			t.Fatalf("got %t, want %t", got, want)
		}
	})
}

// Each field has the name that Go programs know it by.
func TestGoNames(t *testing.T) {
	for _, m := range Methods() {
		for _, message := range []protoreflect.MessageType{m.request, m.response} {
			goType := reflect.TypeOf(message.Zero().Interface()).Elem()
			for _, name := range fieldNames(message.Descriptor()) {
				if _, ok := goType.FieldByName(name); !ok {
					t.Errorf("%s has no field %s", goType, name)
				}
			}
		}
	}
}

// However many rules there are, a call is judged as one would by hand: the first that
// matches and whose condition holds.
func TestOrder(t *testing.T) {
	type entry struct {
		pattern, action string
		tty             string
	}
	entries := rapid.Custom(func(t *rapid.T) entry {
		e := entry{
			pattern: rapid.SampledFrom([]string{"/*/*", "/*/Exec", "/runtime.v1.RuntimeService/Exec", "/*/Attach", "/runtime.v1.*/A*"}).Draw(t, "pattern"),
			action:  rapid.SampledFrom([]string{"allow", "deny"}).Draw(t, "action"),
		}
		if e.action == "allow" && !strings.HasSuffix(e.pattern, "*") {
			e.tty = rapid.SampledFrom([]string{"", "true", "false"}).Draw(t, "tty")
		}
		return e
	})
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		text.WriteString("rules:\n")
		list := rapid.SliceOfN(entries, 1, 12).Draw(t, "rules")
		for _, e := range list {
			fmt.Fprintf(&text, "- method: %s\n  action: %s\n", e.pattern, e.action)
			if e.tty != "" {
				fmt.Fprintf(&text, "  conditions: [{field: tty, operator: equals, value: %s}]\n", e.tty)
			}
		}
		rules, err := Parse("rules.yaml", []byte(text.String()))
		if err != nil {
			t.Fatal(err)
		}
		tty := rapid.Bool().Draw(t, "asked tty")
		got := rules.Plan(service+"Exec").Judge(&runtimeapi.ExecRequest{Tty: tty}, Facts{})
		want, by := Refused, 0
		for i, e := range list {
			if strings.Contains(e.pattern, "/A") || e.tty != "" && e.tty != strconv.FormatBool(tty) {
				continue
			}
			if by = i + 1; e.action == "allow" {
				want = Allowed
			}
			break
		}
		decided := 0
		if got.Rule() != nil {
			decided = got.Rule().Number
		}
		if got.Outcome != want || decided != by {
			t.Fatalf("%d by rule %d, want %d by rule %d:\n%s", got.Outcome, decided, want, by, text.String())
		}
	})
}

// What is allowed belongs to the caller, and what is sent on is what was judged.
func TestWhatIsSentIsOwn(t *testing.T) {
	plan := mustParse(t, onExec(ownContainer)).Plan(service + "Exec")
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		if rapid.Bool().Draw(t, "well formed") {
			id := rapid.SampledFrom([]string{own, "own", foreign, "gone", "down", ""}).Draw(t, "id")
			data, _ = proto.Marshal(&runtimeapi.ExecRequest{ContainerId: id, Cmd: []string{"ls"}})
		}
		request, err := plan.Method.Request(data)
		if err != nil {
			return
		}
		verdict := plan.Judge(request, known())
		if verdict.Outcome != Allowed {
			return
		}
		sent, err := proto.Marshal(verdict.Request)
		if err != nil {
			t.Fatal(err)
		}
		var read runtimeapi.ExecRequest
		if err := proto.Unmarshal(sent, &read); err != nil || read.ContainerId != own {
			t.Fatalf("sent on with the id %q: %v", read.ContainerId, err)
		}
	})
}

// Whatever a runtime answers, what is left of it are the caller's own, and all of them: as
// one would find by reading the message.
func TestCutIsOwn(t *testing.T) {
	step := mustParse(t, example).Plan(service + "ListContainers").Steps[0]
	rapid.Check(t, func(t *rapid.T) {
		var response, want runtimeapi.ListContainersResponse
		for _, pod := range rapid.SliceOf(rapid.SampledFrom([]string{mine, "other", ""})).Draw(t, "pods") {
			one := &runtimeapi.Container{
				Id: rapid.String().Draw(t, "id"), PodSandboxId: pod,
				Labels: rapid.MapOfN(rapid.String(), rapid.SampledFrom([]string{mine, "other"}), 0, 2).Draw(t, "labels"),
			}
			response.Containers = append(response.Containers, one)
			if pod == mine {
				want.Containers = append(want.Containers, one)
			}
		}
		data, err := proto.Marshal(&response)
		if err != nil {
			t.Fatal(err)
		}
		got := step.Cut(data, known())
		var read runtimeapi.ListContainersResponse
		if err := errors.Join(got.Err, proto.Unmarshal(got.Response, &read)); err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(&read, &want) || got.Held != len(response.Containers)-len(want.Containers) {
			t.Fatalf("%d held back, left: %v", got.Held, &read)
		}
	})
}

// FuzzCut has filters read what no runtime would answer.
func FuzzCut(f *testing.F) {
	data, err := proto.Marshal(containers(mine, "other"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	step := mustParse(f, example).Plan(service + "ListContainers").Steps[0]
	f.Fuzz(func(t *testing.T, data []byte) {
		var read, whole runtimeapi.ListContainersResponse
		got := step.Cut(data, known())
		// What cannot be read as a message at all may be anything; its reader refuses it.
		if proto.Unmarshal(data, &whole) != nil || got.Err != nil {
			return
		}
		if err := proto.Unmarshal(got.Response, &read); err != nil {
			t.Fatal(err)
		}
		for _, container := range read.GetContainers() {
			if container.GetPodSandboxId() != mine {
				t.Errorf("it shows a container of %q", container.GetPodSandboxId())
			}
		}
	})
}

// Whatever is in a file, it is read or refused with a line of the file.
func FuzzParse(f *testing.F) {
	f.Add([]byte(example))
	f.Add([]byte("rules:" + example))
	f.Add([]byte(onExec(ownContainer)))
	f.Add([]byte(filterRule("ListContainerStats", keepStats)))
	f.Add([]byte("- &a [*a]"))
	f.Add([]byte("a: {b: [c"))
	f.Fuzz(func(t *testing.T, text []byte) {
		rules, err := Parse("rules.yaml", text)
		if err != nil {
			problems, ok := errors.AsType[*ProblemsError](err)
			if !ok {
				t.Fatalf("an error that has no lines: %v", err)
			}
			for _, problem := range problems.List {
				if problem.Line < 1 || problem.Message == "" {
					t.Errorf("a problem without a line: %+v", problem)
				}
			}
			return
		}
		for _, m := range Methods() {
			plan := rules.Plan(m.Path)
			verdict := plan.Judge(m.request.New().Interface(), known())
			if verdict.Outcome == Allowed && verdict.Rule().Action != Allow {
				t.Errorf("%s is allowed by a rule that denies", m.Path)
			}
			if verdict.Outcome == Allowed {
				verdict.Step.Cut(nil, known())
			}
		}
		rules.Unknown("/a/b")
	})
}
