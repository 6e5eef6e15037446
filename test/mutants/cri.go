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

package main

// The files of kausality-cri that are mutated.
const (
	criJudge      = "internal/runtimerules/judge.go"
	criCut        = "internal/runtimerules/cut.go"
	criCall       = "internal/cri/proxy/call.go"
	criLimits     = "internal/cri/proxy/limits.go"
	criServer     = "internal/cri/proxy/server.go"
	criStreams    = "internal/cri/proxy/streams.go"
	criConnection = "internal/cri/proxy/connection.go"
	criLookup     = "internal/cri/lookup/runtime.go"
	criPeer       = "internal/cri/caller/peer_linux.go"
	criGroups     = "internal/cri/caller/cgroup.go"
	criSocket     = "internal/cri/command/socket.go"
)

// ofCRI returns a mutant of kausality-cri. The tests of its ways are in one package.
func ofCRI(name, in string, edits []edit, ways ...string) mutant {
	return mutant{name: "cri: " + name, edits: edits, ways: ways, bypassesOf: "./internal/cri/" + in}
}

// criMutants are those of docs/cri-bypasses.md.
var criMutants = []mutant{
	ofCRI("conditions always hold", "proxy", []edit{{criJudge, "if one.truth > out.truth {", "if one.truth > out.truth && false {"}},
		"executing in another Pod's container", "an empty id", "a short id", "a Pod's id", "one's own Pod", "an id that does not exist",
		"an id in capitals", "an id with a space", "an id with a line break", "an id with a character that ends strings",
		"a pattern in place of an id", "a path in place of an id", "an id that is too long to be one",
		"a short id of one's own container and another's", "a container that was removed", "an id twice in a message",
		"a process in no container"),
	ofCRI("what no rule decides is allowed", "proxy", []edit{{criJudge, "return Verdict{Reason: refusal(obstacles)}",
		"return Verdict{Outcome: Allowed, Step: &Step{Rule: &Rule{}}, Request: request, Reason: refusal(obstacles)}"}},
		"a method that no rule is about", "ExecSync in place of Exec", "Attach in place of Exec", "PortForward in place of Exec",
		"a checkpoint in place of Exec", "a new container in one's own sandbox", "a stream in place of a list",
		"the status of another Pod", "metrics in place of stats"),
	ofCRI("nothing is held back", "proxy", []edit{{criCut, "return len(s.filters) > 0", "return len(s.filters) > 0 && false"}},
		"a list that asks for another Pod's containers", "stats of all containers", "events of another Pod"),
	ofCRI("what cannot be judged is skipped", "proxy", []edit{{criJudge,
		`			return Verdict{Outcome: Undecided, Step: step, Reason: fmt.Sprintf("%s cannot be judged: %v", step.Rule, held.err)}`, "			continue"}},
		"a caller that has ended, before a more generous rule", "a container that the runtime does not know, before a more generous rule",
		"a runtime that goes away in the middle of a judgement", "a runtime that does not answer questions"),
	ofCRI("unknown methods are passed on", "proxy", []edit{{criCall, "		c.path = unknownMethod\n		err = c.refuse(rules.Unknown(path))",
		"		c.plan = rules.Plan(\"/runtime.v1.RuntimeService/Version\")\n		err = c.answer()"}},
		"a method that runtime.v1 does not have", "a new method under a pattern", "containerd's own API", "gRPC's reflection",
		"an older version of the API", "a path in another case", "a path that is percent-encoded", "a path with a slash at its end",
		"a path with two slashes", "a path with dots", "a path with a query", "a path that is as long as headers may be"),
	ofCRI("headers may be large", "proxy", []edit{{criServer, "grpc.MaxHeaderListSize(headerBytes)", "grpc.MaxHeaderListSize(headerBytes << 8)"}},
		"headers that are larger than any may be"),
	ofCRI("short ids are sent on", "proxy", []edit{{criJudge, "if full == id {", "if full != \"\" {"}}, "a short id that becomes another's"),
	ofCRI("a call may have no message", "proxy", []edit{{criCall, "if err := c.stream.RecvMsg(request); err != nil {",
		"if err := c.stream.RecvMsg(request); err != nil && !errors.Is(err, io.EOF) {"}}, "no message"),
	ofCRI("a call may have more messages", "proxy", []edit{{criCall, "if err := c.stream.RecvMsg(&frame{}); !errors.Is(err, io.EOF) {",
		"if err := io.EOF; !errors.Is(err, io.EOF) {"}}, "two messages in one call", "two messages where the rules ask nothing"),
	ofCRI("unknown fields are left out", "proxy", []edit{{criJudge, "if hasUnknown(message.ProtoReflect()) {", "if hasUnknown(message.ProtoReflect()) && false {"}},
		"a field that nobody knows", "a field of another type"),
	ofCRI("broken messages are judged", "proxy", []edit{{criJudge, "if err := proto.Unmarshal(data, message); err != nil {",
		"if err := proto.Unmarshal(data, message); err != nil && len(data) == 0 {"}},
		"a message that is cut off", "a message that is none", "an id that is no text", "JSON in place of protocol buffers"),
	ofCRI("messages may be large", "proxy", []edit{{criServer, "grpc.MaxRecvMsgSize(options.Limits.MessageBytes)", "grpc.MaxRecvMsgSize(options.Limits.MessageBytes << 20)"}},
		"a message that is larger than any may be", "a message that claims to be larger than it is"),
	ofCRI("the innermost group counts", "proxy", []edit{{criLookup, "	for _, id := range containers {\n		switch",
		"	for i := range containers {\n		id := containers[len(containers)-1-i]\n		switch"}},
		"a control group within one's own that is named after a victim"),
	ofCRI("foreign callers are like others", "proxy", []edit{{criConnection, "if errors.Is(who.Err, caller.ErrForeign) {", "if errors.Is(who.Err, caller.ErrForeign) && false {"}},
		"a caller in another PID namespace"),
	ofCRI("streams go on under other rules", "proxy", []edit{{criStreams, "stream.end(errRulesChanged)", "_ = stream.end"}},
		"a stream that was opened under older rules"),
	ofCRI("a container has any number of connections", "proxy", []edit{{criLimits, "found.connections >= s.limits.ConnectionsPerContainer, ", ""}},
		"more connections than a container has"),
	ofCRI("containers have all connections", "proxy", []edit{{criLimits, ", s.containers >= s.limits.Connections-s.limits.Connections/4", ""}},
		"connections that leave none to the kubelet"),
	ofCRI("who says nothing stays", "proxy", []edit{{criServer, "cmp.Or(options.preface, prefaceTimeout)", "cmp.Or(options.preface, prefaceTimeout) << 8"}},
		"a connection that says nothing"),
	ofCRI("any number of requests is read", "proxy", []edit{{criLimits, "semaphore.NewWeighted(factor * int64(s.limits.RequestsPerContainer))", "semaphore.NewWeighted(1 << 40)"}},
		"requests that are never finished"),
	ofCRI("any number of responses is held", "proxy", []edit{{criLimits, "semaphore.NewWeighted(factor * int64(s.limits.ResponseBytesPerContainer))", "semaphore.NewWeighted(1 << 40)"}},
		"responses that are never read"),
	ofCRI("all containers hold any amount", "proxy", []edit{{criLimits, "semaphore.NewWeighted(int64(limits.MemoryBytes))", "semaphore.NewWeighted(1 << 40)"}},
		"requests of many containers that are never finished"),
	ofCRI("who does not read is waited for", "proxy", []edit{{criCall, "end(errUnread) })\n", "_ = errUnread })\n"}},
		"events that are never read"),
	ofCRI("a container makes any number of calls", "proxy", []edit{{criLimits, "semaphore.NewWeighted(int64(s.limits.CallsPerContainer))", "semaphore.NewWeighted(1 << 40)"}},
		"more calls than a container has"),
	ofCRI("all headers are passed on", "proxy", []edit{{criCall, "delete(sent, \"containerd-namespace\")", "delete(sent, \"containerd-name\")"}},
		"a namespace of containerd in the headers"),
	ofCRI("any number of questions is asked", "proxy", []edit{{criLimits, "semaphore.NewWeighted(factor * int64(s.limits.LookupsPerContainer))", "semaphore.NewWeighted(1 << 40)"}},
		"questions that leave none to others"),

	ofCRI("a number that is nobody's is looked at", "caller", []edit{{criPeer, "case pid < 0:", "case pid < -1:"}},
		"a process number that may be another's by now"),
	ofCRI("there is no second look", "caller", []edit{{criPeer, "gone != nil || again != pid {", "gone != nil && again == pid {"}},
		"a process that ends between two looks"),
	ofCRI("processes that end are like others", "caller", []edit{{criPeer, "if ending(string(stat)) {", "if ending(string(stat)) && false {"}},
		"a process that has ended and is not buried"),
	ofCRI("the name of a process is read as its state", "caller", []edit{{criPeer, `strings.LastIndex(stat, ")")`, `strings.Index(stat, ")")`}},
		"a process name that looks like a state"),
	ofCRI("the number of a peer is that of who uses it", "caller", []edit{{criPeer, "	return look(fd, groups)\n}", "	caller := look(fd, groups)\n	caller.PID = os.Getppid()\n	return caller\n}"}},
		"a connection that was inherited", "a connection that was passed on"),
	ofCRI("groups may disagree", "caller", []edit{{criGroups, "if !slices.Equal(ids, longest[:len(ids)]) {", "if !slices.Equal(ids, longest[:len(ids)]) && false {"}},
		"control groups of two containers"),
	ofCRI("any name may begin like a container's", "caller", []edit{{criGroups, `([0-9a-f]{64})(?:\.scope)?$`, `([0-9a-f]{64}).*$`}},
		"a control group whose name only looks like a container"),

	ofCRI("whatever is in the way is removed", "command", []edit{
		{criSocket, "case info.Mode().Type() != os.ModeSocket:", "case info.Mode().Type() == os.ModeDevice:"},
		{criSocket, "if !errors.Is(err, syscall.ECONNREFUSED) {", "if errors.Is(err, syscall.EINVAL) {"},
	}, "a link where the socket should be", "a link to nowhere where the socket should be", "a file where the socket should be"),
	ofCRI("who answers is not asked for", "command", []edit{{criSocket, "	conn, err := net.Dial(\"unix\", path) //nolint:noctx // it does not wait\n	if err == nil {",
		"	conn, err := net.Dial(\"unix\", path)\n	if err == nil && conn == nil {"}, {criSocket, "if !errors.Is(err, syscall.ECONNREFUSED) {", "if errors.Is(err, syscall.EINVAL) {"}},
		"somebody else's socket"),
	ofCRI("everybody may open the socket", "command", []edit{{criSocket, "err = os.Chmod(path, mode)", "err = os.Chmod(path, mode|0o777)"}},
		"a socket that everybody may open"),
}

// ofLibraries are ways that gRPC closes before we are asked. Their tests see that it does.
var ofLibraries = []string{
	"a content type that is not gRPC", "a message that ends early", "a message that is compressed", "a message that says it is compressed",
	"two paths in one call", "a path after other headers", "a call by another verb", "a message before its headers", "a second set of headers",
	"calls that are reset at once",
	"a path that is only the name of a method", "a path with a character that ends strings", "a path without a slash at its beginning",
}
