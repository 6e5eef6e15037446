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

package checker

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kausality.io/operator/test/campaign/audit"
)

// story writes an audit log, one second after the other.
type story struct {
	t        *testing.T
	lines    strings.Builder
	at       time.Time
	revision int
	objects  map[string]map[string]any
	// reason is what the operator says of each request, where it says anything.
	reason string
	// notes are the operator's other annotations of each request, message what is said to who asked, and
	// said the operator's log.
	notes         map[string]any
	message, said string
	// posing is true where admin asks in the name of the users.
	posing bool
	// kept is true where ledgers are kept.
	kept bool
	// final are the UIDs of what is there at the end, nil where nobody looks.
	final map[string]bool
}

// policiesOfStories are those of each story: Deployments may be changed by alice, ReplicaSets go
// on with that, and Things have one rule for a part of them.
const policiesOfStories = `[
	{"metadata":{"name":"deployment"},"spec":{"for":{"kind":"Deployment"},
		"subjects":[{"kind":"User","name":"alice","mayInitiate":true},{"kind":"ServiceAccount","name":"deployment-controller","namespace":"kube-system"}],
		"initializing":{"policies":[{"target":{"resource":"replicasets"},"verbs":["Create","Update"],"mutations":[{"jsonPath":"spec.replicas"}]}]},
		"deleting":{"policies":[{"target":{"resource":"replicasets"},"verbs":["Delete"]}]},
		"rules":[{"trigger":"spec.replicas","policies":[{"target":{"resource":"replicasets"},"verbs":["Update"],"mutations":[{"jsonPath":"spec.replicas"}]}]},
			{"trigger":"spec.template","policies":[{"target":{"resource":"replicasets"},"verbs":["Create","Update"],"mutations":[{"jsonPath":"spec.replicas"}]}]}]}},
	{"metadata":{"name":"replicaset"},"spec":{"for":{"kind":"ReplicaSet"},
		"subjects":[{"kind":"ServiceAccount","name":"deployment-controller","namespace":"kube-system"},{"kind":"ServiceAccount","name":"replicaset-controller","namespace":"kube-system"}],
		"initializing":{"policies":[{"target":{"resource":"pods"},"verbs":["Create","Delete"]}]},
		"deleting":{"policies":[{"target":{"resource":"pods"},"verbs":["Delete"]}]},
		"maintaining":{"policies":[{"target":{"resource":"pods"},"verbs":["Create","Delete"]}]},
		"rules":[{"trigger":"spec.replicas","policies":[{"target":{"resource":"pods"},"verbs":["Create","Delete"]}]}]}},
	{"metadata":{"name":"thing"},"spec":{"for":{"kind":"Thing"},
		"subjects":[{"kind":"User","name":"alice","mayInitiate":true},{"kind":"ServiceAccount","name":"thing-controller","namespace":"kube-system"}],
		"rules":[{"trigger":"spec","policies":[{"target":{"resource":"configmaps"},"verbs":["Update"],"mutations":[{"jsonPath":"data"}]}]}]}},
	{"metadata":{"name":"daemonset"},"spec":{"for":{"kind":"DaemonSet"},
		"subjects":[{"kind":"User","name":"alice","mayInitiate":true}],
		"maintaining":{"policies":[{"target":{"resource":"pods"},"verbs":["Create","Delete"]}]},
		"rules":[{"trigger":"spec","policies":[{"target":{"resource":"pods"},"verbs":["Create","Delete"]}]}]}},
	{"metadata":{"name":"statefulset"},"spec":{"for":{"kind":"StatefulSet"},
		"subjects":[{"kind":"User","name":"alice","mayInitiate":true},{"kind":"ServiceAccount","name":"statefulset-controller","namespace":"kube-system"}],
		"maintaining":{"policies":[{"target":{"resource":"pods"},"verbs":["Create","Delete"]}]},
		"rules":[{"trigger":"spec","policies":[{"target":{"resource":"pods"},"verbs":["Create","Delete"]}]}]}}
]`

// sharedWithBob is the policy of stories in which bob may change one field of Deployments.
const sharedWithBob = `{"metadata":{},"spec":{"for":{"kind":"Deployment"},
	"subjects":[{"kind":"User","name":"bob","mayInitiate":true}],
	"initializing":{"policies":[{"target":{"resource":"replicasets"},"verbs":["Create"]}]},
	"deleting":{"policies":[{"target":{"resource":"replicasets"},"verbs":["Delete"]}]},
	"rules":[{"trigger":"spec.template.spec.securityContext.runAsUser","policies":[{"target":{"resource":"replicasets"},"verbs":["Create","Update"]}]}]}}`

const (
	deploymentController = "system:serviceaccount:kube-system:deployment-controller"
	replicaSetController = "system:serviceaccount:kube-system:replicaset-controller"
	operatorUser         = "system:serviceaccount:kausality-system:operator"
)

// begin returns a story in which alice's Deployment of two has rolled out, a minute ago.
func begin(t *testing.T) *story {
	t.Helper()
	s := &story{t: t, at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), objects: map[string]map[string]any{}}
	var written []map[string]any
	if err := json.Unmarshal([]byte(policiesOfStories), &written); err != nil {
		t.Fatal(err)
	}
	for _, p := range written {
		name, _ := audit.AsMap(p["metadata"])["name"].(string)
		s.govern(name, p)
	}
	s.later(time.Minute)
	s.write("alice", audit.VerbCreate, deployments, "web", map[string]any{
		"metadata": map[string]any{},
		"spec": map[string]any{
			"replicas": 2, "selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}, "template": template("web:1"),
		},
	})
	s.write(deploymentController, audit.VerbCreate, replicaSets, "web-1", s.replicaSet("web:1"))
	s.write(replicaSetController, audit.VerbCreate, pods, "web-1-a", s.pod())
	s.write(replicaSetController, audit.VerbCreate, pods, "web-1-b", s.pod())
	s.settle()
	s.later(time.Minute)
	return s
}

// govern has a policy come.
func (s *story) govern(name string, p map[string]any) {
	s.t.Helper()
	s.write("admin", audit.VerbCreate, policies, name, p)
	s.write(operatorUser, audit.VerbUpdate, "allowancepolicies/status", name, map[string]any{"status": map[string]any{
		"conditions": []any{map[string]any{"type": "Enforced", "status": "True", "observedGeneration": 1}},
	}})
}

// share lets bob change one field of Deployments.
func (s *story) share() {
	s.t.Helper()
	var p map[string]any
	if err := json.Unmarshal([]byte(sharedWithBob), &p); err != nil {
		s.t.Fatal(err)
	}
	s.govern("users", p)
	s.later(time.Minute)
	s.settle() // What is there when a policy comes is taken as it is.
}

func template(image string) map[string]any {
	return map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "main", "image": image}}}}
}

func (*story) owned(kind, name string) map[string]any {
	return map[string]any{
		"labels": map[string]any{"app": "web"},
		"ownerReferences": []any{map[string]any{
			"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": "uid-" + name, "controller": true,
		}},
	}
}

// besides returns metadata with an owner of a kind, which does not control the object, beside others.
func besides(meta map[string]any, kind, name string) map[string]any {
	owners, _ := meta["ownerReferences"].([]any)
	return merged(meta, map[string]any{"ownerReferences": append(owners, map[string]any{
		"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": "uid-" + name,
	})})
}

// free is a ReplicaSet of mallory's without an owner, which has a Pod.
func (s *story) free() {
	made := s.replicaSet("zq7z:1")
	audit.AsMap(made["metadata"])["ownerReferences"] = nil
	s.write("mallory", audit.VerbCreate, replicaSets, "free", made)
	s.write(replicaSetController, audit.VerbCreate, pods, "free-a", map[string]any{"metadata": s.owned("ReplicaSet", "free"), "spec": template("zq7z:1")["spec"]})
}

func (s *story) replicaSet(image string) map[string]any {
	return map[string]any{"metadata": s.owned("Deployment", "web"), "spec": map[string]any{
		"replicas": 2, "selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}, "template": template(image),
	}}
}

func (s *story) pod() map[string]any {
	return map[string]any{"metadata": s.owned("ReplicaSet", "web-1"), "spec": template("web:1")["spec"]}
}

// settle has the controllers say that all is done.
func (s *story) settle() {
	for name, user := range map[string]string{"web-1": replicaSetController, "web": deploymentController} {
		resource := map[string]string{"web-1": replicaSets, "web": deployments}[name]
		obj := s.objects[resource+"/"+name]
		n := audit.AsMap(obj["spec"])["replicas"]
		s.write(user, audit.VerbUpdate, resource+"/status", name, map[string]any{"status": map[string]any{
			"observedGeneration": audit.AsMap(obj["metadata"])["generation"], "replicas": n, "updatedReplicas": n, "availableReplicas": n,
		}})
	}
}

// agent is a DaemonSet of alice's that has one Pod, which mallory relabels.
func (s *story) agent(key string) {
	s.write("alice", audit.VerbCreate, daemonSets, "agent", map[string]any{"metadata": map[string]any{}, "spec": map[string]any{
		"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}, "template": template("agent:1"),
	}})
	s.write(controllers[kinds[daemonSets]], audit.VerbCreate, pods, "agent-a", map[string]any{"metadata": s.owned("DaemonSet", "agent"), "spec": template("agent:1")["spec"]})
	s.write(controllers[kinds[daemonSets]], audit.VerbUpdate, "daemonsets/status", "agent", map[string]any{"status": map[string]any{"observedGeneration": 1}})
	s.later(time.Minute)
	s.write("mallory", audit.VerbPatch, pods, "agent-a", map[string]any{"metadata": map[string]any{"labels": map[string]any{key: "other"}}})
}

// set is a StatefulSet of alice's of two Pods, of which one has been let go of since mallory wants one more
// of them. Its controller makes some.
func (s *story) set(pieces ...string) {
	controller := controllers[kinds[statefulSets]]
	made := func(name string) {
		s.write(controller, audit.VerbCreate, pods, name, map[string]any{"metadata": s.owned("StatefulSet", "db"), "spec": template("db:1")["spec"]})
	}
	s.write("alice", audit.VerbCreate, statefulSets, "db", map[string]any{"metadata": map[string]any{}, "spec": map[string]any{
		"replicas": 2, "selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}, "template": template("db:1"),
	}})
	made("db-0")
	made("db-1")
	s.write(controller, audit.VerbUpdate, "statefulsets/status", "db", map[string]any{"status": map[string]any{
		"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2,
	}})
	s.later(time.Minute)
	s.write("mallory", audit.VerbPatch, statefulSets, "db", spec(map[string]any{"replicas": 3}))
	s.write("mallory", audit.VerbPatch, pods, "db-1", map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "other"}}})
	s.release(controller, pods, "db-1")
	for _, name := range pieces {
		made(name)
	}
}

// twice has mallory delete a Pod, of which one is too many as alice has scaled, and the controller too, at
// the same time or when that has been done.
func (s *story) twice(same bool) {
	s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"replicas": 1}))
	s.write(deploymentController, audit.VerbUpdate, replicaSets, "web-1", spec(map[string]any{"replicas": 1}))
	s.remove("mallory", pods, "web-1-a")
	if same {
		s.later(5*time.Millisecond - 10*time.Second)
	}
	s.remove(replicaSetController, pods, "web-1-a")
}

// lets has the controller of a set let go of a Pod that mallory has made for it.
func (s *story) lets(name string) {
	s.set()
	made := map[string]any{"metadata": s.owned("StatefulSet", "db"), "spec": template("db:1")["spec"]}
	s.write("alice", audit.VerbCreate, pods, name, made)
	s.release(controllers[kinds[statefulSets]], pods, name)
}

// release has a controller let go of a child, which the operator says.
func (s *story) release(controller, resource, name string) {
	s.reason = releasing
	s.write(controller, audit.VerbPatch, resource, name, map[string]any{"metadata": map[string]any{"ownerReferences": nil}})
	s.reason = ""
}

// renames has the controller of a Thing name the owner of its ConfigMap otherwise, for a reason.
func (s *story) renames(reason string) {
	s.thing()
	s.reason = reason
	meta := merged(audit.AsMap(s.objects["configmaps/app-config"]["metadata"]), map[string]any{"ownerReferences": []any{map[string]any{
		"apiVersion": "apps/v1", "kind": "Thing", "name": "other", "uid": "uid-app", "controller": true,
	}}})
	s.write(controllers[kinds[things]], audit.VerbPatch, configMaps, "app-config", map[string]any{"metadata": meta})
}

// keeps has the controller of a set write its history, with a reference to who owns it, or none.
func (s *story) keeps(owners any) {
	s.set()
	controller := controllers[kinds[statefulSets]]
	s.reason = "Bookkeeping"
	s.write(controller, audit.VerbCreate, revisions, "db-r", map[string]any{"metadata": s.owned("StatefulSet", "db"), "revision": 1})
	s.write(controller, audit.VerbPatch, revisions, "db-r", map[string]any{"metadata": map[string]any{"ownerReferences": owners}, "revision": 2})
}

// thing is a Thing of alice's that says that it is Ready, and whose controller changes its ConfigMap
// some times afterwards, one gap after the other.
func (s *story) thing(gaps ...time.Duration) {
	controller := controllers[kinds[things]]
	s.write("alice", audit.VerbCreate, things, "app", map[string]any{"metadata": map[string]any{}, "spec": map[string]any{"config": "a"}})
	s.write(controller, audit.VerbCreate, configMaps, "app-config", map[string]any{"metadata": s.owned("Thing", "app"), "data": map[string]any{"n": "0"}})
	s.write("alice", audit.VerbPatch, things, "app", spec(map[string]any{"config": "b"}))
	s.write(controller, audit.VerbUpdate, "things/status", "app", map[string]any{"status": map[string]any{
		"observedGeneration": 2, "conditions": []any{map[string]any{"type": "Ready", "status": "True"}},
	}})
	for i, gap := range gaps {
		s.later(gap - 10*time.Second)
		s.write(controller, audit.VerbUpdate, configMaps, "app-config", map[string]any{"data": map[string]any{"n": strconv.Itoa(i + 1)}})
	}
}

// scaling returns an autoscaler for alice's Deployment.
func scaling(least int) map[string]any {
	return map[string]any{"spec": map[string]any{
		"scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "minReplicas": least,
	}}
}

func (s *story) later(d time.Duration) { s.at = s.at.Add(d) }

// write is a request that merges something into an object, and succeeds.
func (s *story) write(user, verb, resource, name string, with map[string]any) {
	s.t.Helper()
	resource, sub, _ := strings.Cut(resource, "/")
	s.revision++
	obj := s.objects[resource+"/"+name]
	if obj == nil {
		obj = map[string]any{"kind": kinds[resource], "metadata": map[string]any{
			"namespace": "ns", "name": name, "uid": "uid-" + name, "generation": 1,
		}}
		if resource == namespaces {
			delete(audit.AsMap(obj["metadata"]), "namespace")
		}
	} else {
		meta := audit.AsMap(obj["metadata"])
		if with["spec"] != nil {
			generation, _ := meta["generation"].(int)
			meta["generation"] = generation + 1
		}
	}
	obj = merged(obj, with)
	audit.AsMap(obj["metadata"])["resourceVersion"] = strconv.Itoa(100 + s.revision)
	s.objects[resource+"/"+name] = obj
	s.event(user, verb, resource, sub, name, 200, with, obj)
}

// remove is a request that deletes an object, and succeeds.
func (s *story) remove(user, resource, name string) {
	s.t.Helper()
	s.event(user, audit.VerbDelete, resource, "", name, 200, nil, map[string]any{
		"kind": "Status", "details": map[string]any{"uid": "uid-" + name},
	})
}

func (s *story) event(user, verb, resource, sub, name string, code int, request, response map[string]any) {
	s.t.Helper()
	line := map[string]any{
		"verb": verb, "user": map[string]any{"username": user}, "requestURI": "/apis",
		"objectRef":                map[string]any{"resource": resource, "subresource": sub, "namespace": "ns", "name": name},
		"requestReceivedTimestamp": s.at.Format("2006-01-02T15:04:05.000000Z07:00"),
		"stageTimestamp":           s.at.Add(10 * time.Millisecond).Format("2006-01-02T15:04:05.000000Z07:00"),
		"responseStatus":           map[string]any{"code": code, "message": s.message},
		"requestObject":            request, "responseObject": response,
		"annotations": merged(map[string]any{"verdict.kausality.io/reason": s.reason}, s.notes),
	}
	if s.posing {
		line["impersonatedUser"], line["user"] = line["user"], map[string]any{"username": "admin"}
	}
	raw, err := json.Marshal(line)
	if err != nil {
		s.t.Fatal(err)
	}
	s.lines.Write(raw)
	s.lines.WriteByte('\n')
	s.later(10 * time.Second)
}

// merged returns one value merged into another, as a merge patch does.
func merged(into, with map[string]any) map[string]any {
	out := map[string]any{}
	maps.Copy(out, into)
	for key, value := range with {
		switch below, ok := value.(map[string]any); {
		case value == nil:
			delete(out, key)
		case ok:
			out[key] = merged(audit.AsMap(out[key]), below)
		default:
			out[key] = value
		}
	}
	return out
}

func spec(with map[string]any) map[string]any { return map[string]any{"spec": with} }

// judged returns the story as the checker sees it.
func (s *story) judged() *Report {
	s.t.Helper()
	log, err := Read(strings.NewReader(s.lines.String()))
	if err != nil {
		s.t.Fatal(err)
	}
	report, err := Check(Evidence{Log: log, Operator: operatorUser, Played: map[int]bool{9: true}, Final: s.final, Whole: true, Kept: s.kept, Said: s.said})
	if err != nil {
		s.t.Fatal(err)
	}
	return report
}

// finds checks which promises the checker says were not kept in the story, in their order.
func (s *story) finds(want []Promise) *Report {
	s.t.Helper()
	report := s.judged()
	var got []Promise
	for _, f := range report.Findings {
		got = append(got, f.Promise)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("findings (-want +got):\n%s%v", diff, report.Findings)
	}
	return report
}

// What is found, and what is not.
func TestCheck(t *testing.T) {
	approve := map[string]any{"metadata": map[string]any{"annotations": map[string]any{"kausality.io/approve": "*"}}}
	ledger := func(initiator, name string, generation int, field string) map[string]any {
		text := fmt.Sprintf(`[{"kind":"ReplicaSet","mutation":"spec.replicas","generation":%d,"initiator":%q,"trace":[{"kind":"Deployment","name":%q,"generation":%d,"field":%q}]}]`,
			generation, initiator, name, generation, field)
		return map[string]any{"metadata": map[string]any{"annotations": map[string]any{"kausality.io/allowances": text}}}
	}
	roll := func(s *story, image string) {
		s.write(deploymentController, audit.VerbCreate, replicaSets, "web-2", s.replicaSet(image))
	}
	// waiting returns a template that waits longer for its Pods to end.
	waiting := func(image string) map[string]any {
		return merged(template(image), map[string]any{"spec": map[string]any{"terminationGracePeriodSeconds": 60}})
	}
	securing := func(context map[string]any) map[string]any {
		return spec(map[string]any{"template": map[string]any{"spec": map[string]any{"securityContext": context}}})
	}
	secured := func(s *story) {
		s.write(deploymentController, audit.VerbCreate, replicaSets, "web-2", merged(s.replicaSet("web:1"), securing(map[string]any{"runAsUser": 5, "runAsGroup": 7000007})))
	}
	// unheard has the Deployment adopt a stray by a request of which the answer was lost.
	unheard := func(s *story) {
		s.settle()
		free := s.replicaSet("zq7z:1")
		audit.AsMap(free["metadata"])["ownerReferences"] = nil
		s.write("mallory", audit.VerbCreate, replicaSets, "stray", free)
		s.event(deploymentController, audit.VerbPatch, replicaSets, "", "stray", 504, map[string]any{"metadata": s.owned("Deployment", "web")}, map[string]any{"kind": "Status"})
	}
	tests := map[string]struct {
		tell func(*story)
		want []Promise
	}{
		"nothing more": {tell: func(*story) {}},
		"alice scales, and it is carried out": {tell: func(s *story) {
			s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"replicas": 3}))
			s.write(deploymentController, audit.VerbUpdate, replicaSets, "web-1", spec(map[string]any{"replicas": 3}))
			s.write(replicaSetController, audit.VerbCreate, pods, "web-1-c", s.pod())
		}},
		"alice rolls, and it is carried out": {tell: func(s *story) {
			s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("web:2")}))
			roll(s, "web:2")
		}},
		"a controller acts on nothing": {tell: func(s *story) {
			s.write(deploymentController, audit.VerbUpdate, replicaSets, "web-1", spec(map[string]any{"replicas": 3}))
		}, want: []Promise{Uncovered}},
		"a controller uses what has ended": {tell: func(s *story) {
			s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"replicas": 2}))
			s.settle()
			s.later(time.Minute)
			s.write(deploymentController, audit.VerbUpdate, replicaSets, "web-1", spec(map[string]any{"replicas": 3}))
		}, want: []Promise{Uncovered}},
		"a controller of a kind that is not known, which is not done when it says so": {tell: func(s *story) {
			s.thing(4*time.Second, 4*time.Second, 4*time.Second)
		}},
		"a controller of a kind that is not known, long after it said that it is done": {tell: func(s *story) {
			s.thing(4*time.Second, 20*time.Second)
		}, want: []Promise{Uncovered}},
		"a controller of a kind that is not known, as operators are started meanwhile": {tell: func(s *story) {
			for _, after := range []time.Duration{33 * time.Second, 42 * time.Second} {
				s.start(after)
			}
			s.thing(18 * time.Second)
		}},
		"a controller of a kind that is not known, long after an operator was started": {tell: func(s *story) {
			s.start(33 * time.Second)
			s.thing(25 * time.Second)
		}, want: []Promise{Uncovered}},
		"a controller of a kind that is not known, as an operator is started later": {tell: func(s *story) {
			s.start(42 * time.Second)
			s.thing(14 * time.Second)
		}, want: []Promise{Uncovered}},
		"a controller does more than was allowed": {tell: func(s *story) {
			s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"replicas": 3}))
			s.write(deploymentController, audit.VerbUpdate, replicaSets, "web-1", spec(map[string]any{"minReadySeconds": 3}))
		}, want: []Promise{Uncovered}},
		"a stranger uses what a controller may": {tell: func(s *story) {
			s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"replicas": 3}))
			s.write("mallory", audit.VerbUpdate, replicaSets, "web-1", spec(map[string]any{"replicas": 3}))
		}, want: []Promise{Uncovered}},
		"a stranger deletes a child": {tell: func(s *story) {
			s.remove("mallory", replicaSets, "web-1")
		}, want: []Promise{Uncovered}},
		"a stranger deletes what may be replaced": {tell: func(s *story) {
			s.remove("mallory", pods, "web-1-a")
		}, want: []Promise{Uncovered}},
		"a stranger deletes children in a collection": {tell: func(s *story) {
			s.event("mallory", audit.VerbDeleteCollection, replicaSets, "", "", 200, nil, map[string]any{
				"kind": "ReplicaSetList", "items": []any{s.objects["replicasets/web-1"]},
			})
		}, want: []Promise{Uncovered}},
		"a stranger's collection that is only tried": {tell: func(s *story) {
			s.event("mallory", audit.VerbDeleteCollection, replicaSets, "", "", 200, map[string]any{"dryRun": []string{"All"}}, map[string]any{
				"kind": "ReplicaSetList", "items": []any{s.objects["replicasets/web-1"]},
			})
		}},
		"a controller replaces what is lost": {tell: func(s *story) {
			s.remove(replicaSetController, pods, "web-1-a")
			s.write(replicaSetController, audit.VerbCreate, pods, "web-1-c", s.pod())
		}},
		"a stranger scales what was let go of, before it is taken back": {tell: func(s *story) {
			s.write("system:serviceaccount:kube-system:generic-garbage-collector", audit.VerbPatch, replicaSets, "web-1",
				map[string]any{"metadata": map[string]any{"ownerReferences": nil}})
			s.write("mallory", audit.VerbPatch, replicaSets, "web-1", spec(map[string]any{"replicas": 3}))
			s.write(replicaSetController, audit.VerbCreate, pods, "web-1-c", s.pod())
			s.write(deploymentController, audit.VerbPatch, replicaSets, "web-1", map[string]any{"metadata": s.owned("Deployment", "web")})
			s.remove(replicaSetController, pods, "web-1-a")
			s.write(replicaSetController, audit.VerbCreate, pods, "web-1-d", s.pod())
		}},
		"an eviction": {tell: func(s *story) {
			s.event("mallory", audit.VerbCreate, pods, audit.SubEviction, "web-1-a", 201, nil, map[string]any{"kind": "Status"})
		}},
		"a stranger deletes a Pod that its controller is just deleting": {tell: func(s *story) { s.twice(true) }},
		"a stranger and then nobody else deletes a Pod":                 {tell: func(s *story) { s.twice(false) }, want: []Promise{Uncovered}},
		"a stranger takes the owner away": {tell: func(s *story) {
			s.write("mallory", audit.VerbPatch, replicaSets, "web-1", map[string]any{"metadata": map[string]any{"ownerReferences": nil}})
		}, want: []Promise{Uncovered}},
		"a stranger names the owner otherwise": {tell: func(s *story) {
			meta := s.owned("Deployment", "web")
			audit.AsMap(audit.ValueAt(meta, "ownerReferences", "0"))["name"] = "other"
			s.write("mallory", audit.VerbPatch, replicaSets, "web-1", map[string]any{"metadata": meta})
		}, want: []Promise{Uncovered}},
		"a controller names itself otherwise":                     {tell: func(s *story) { s.renames("Maintaining") }, want: []Promise{Uncovered}},
		"a controller names itself otherwise, which is a release": {tell: func(s *story) { s.renames(releasing) }},
		"a stranger lets go of a child of what is going": {tell: func(s *story) {
			s.thing()
			s.write("alice", audit.VerbPatch, things, "app", map[string]any{"metadata": map[string]any{"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": []any{"a"}}})
			s.reason = "Deleting"
			s.write("mallory", audit.VerbPatch, configMaps, "app-config", map[string]any{"metadata": map[string]any{"ownerReferences": nil}})
		}},
		"a set keeps its history":      {tell: func(s *story) { s.keeps(s.owned("StatefulSet", "db")["ownerReferences"]) }},
		"a set lets go of its history": {tell: func(s *story) { s.keeps(nil) }, want: []Promise{Uncovered}},
		"a set controls its history no more": {tell: func(s *story) {
			s.keeps([]any{map[string]any{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "uid-db"}})
		}, want: []Promise{Uncovered}},
		"a set lets go of a Pod that is not named after it": {tell: func(s *story) { s.lets("zq7z") }},
		"a set lets go of a Pod of its own":                 {tell: func(s *story) { s.lets("db-00") }, want: []Promise{Uncovered}},
		"a controller lets go of what it selects": {tell: func(s *story) {
			s.write(deploymentController, audit.VerbPatch, replicaSets, "web-1", map[string]any{"metadata": map[string]any{"ownerReferences": nil}})
		}, want: []Promise{Uncovered}},
		"the collector lets go of it": {tell: func(s *story) {
			s.write("system:serviceaccount:kube-system:generic-garbage-collector", audit.VerbPatch, replicaSets, "web-1",
				map[string]any{"metadata": map[string]any{"ownerReferences": nil}})
		}},
		"a stranger names a second owner": {tell: func(s *story) {
			s.write("mallory", audit.VerbCreate, deployments, "hers", spec(map[string]any{"replicas": 1}))
			s.write("mallory", audit.VerbPatch, replicaSets, "web-1", map[string]any{"metadata": besides(s.owned("Deployment", "web"), "Deployment", "hers")})
		}, want: []Promise{Uncovered}},
		"the controller of the second owner names it": {tell: func(s *story) {
			s.write("mallory", audit.VerbCreate, deployments, "hers", spec(map[string]any{"replicas": 1}))
			s.write(deploymentController, audit.VerbPatch, replicaSets, "web-1", map[string]any{"metadata": besides(s.owned("Deployment", "web"), "Deployment", "hers")})
		}, want: []Promise{Uncovered}},
		"a stranger names a second owner that has gone": {tell: func(s *story) {
			s.write("mallory", audit.VerbCreate, deployments, "hers", spec(map[string]any{"replicas": 1}))
			s.remove("mallory", deployments, "hers")
			s.write("mallory", audit.VerbPatch, replicaSets, "web-1", map[string]any{"metadata": besides(s.owned("Deployment", "web"), "Deployment", "hers")})
		}},
		"a stranger names a second owner that nothing governs": {tell: func(s *story) {
			s.free()
			s.write("mallory", audit.VerbPatch, pods, "web-1-a", map[string]any{"metadata": besides(s.owned("ReplicaSet", "web-1"), "ReplicaSet", "free")})
		}},
		"a stranger gives what nothing bounds to a parent": {tell: func(s *story) {
			s.agent("note")
			s.free()
			s.write("mallory", audit.VerbPatch, pods, "free-a", map[string]any{"metadata": s.owned("DaemonSet", "agent")})
		}, want: []Promise{Uncovered}},
		"a stranger gives what has an owner that never was to a parent": {tell: func(s *story) {
			made := s.replicaSet("zq7z:1")
			made["metadata"] = s.owned("Deployment", "never")
			s.write("mallory", audit.VerbCreate, replicaSets, "orphan", made)
			s.write("mallory", audit.VerbPatch, replicaSets, "orphan", map[string]any{"metadata": s.owned("Deployment", "web")})
		}, want: []Promise{Uncovered}},
		"a stranger names the owner once more, otherwise": {tell: func(s *story) {
			meta := s.owned("Deployment", "web")
			owners, _ := meta["ownerReferences"].([]any)
			meta["ownerReferences"] = append(owners, map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "nobody", "uid": "uid-web"})
			s.write("mallory", audit.VerbPatch, replicaSets, "web-1", map[string]any{"metadata": meta})
		}, want: []Promise{Uncovered}},
		"a stranger names the owner once more": {tell: func(s *story) {
			meta := s.owned("Deployment", "web")
			owners, _ := meta["ownerReferences"].([]any)
			meta["ownerReferences"] = append(owners, map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "uid-web"})
			s.write("mallory", audit.VerbPatch, replicaSets, "web-1", map[string]any{"metadata": meta})
		}},
		"a stranger changes what is going": {tell: func(s *story) {
			s.write("mallory", audit.VerbPatch, pods, "web-1-a", map[string]any{
				"metadata": map[string]any{"deletionTimestamp": "2026-01-01T00:00:00Z"}, "spec": template("zq7z:1")["spec"],
			})
		}},
		"a stranger relabels a child": {tell: func(s *story) {
			s.write("mallory", audit.VerbPatch, replicaSets, "web-1", map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "other"}}})
		}, want: []Promise{Uncovered}},
		"a stranger's change is carried out": {tell: func(s *story) {
			s.write("mallory", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("zq7z:1")}))
			roll(s, "zq7z:1")
		}, want: []Promise{Uncovered, Smuggled}},
		"a stranger's change rides along": {tell: func(s *story) {
			s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"replicas": 3}))
			s.write("mallory", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("zq7z:1")}))
			s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"replicas": 4}))
			roll(s, "zq7z:1")
		}, want: []Promise{Uncovered, Smuggled}},
		"a controller goes on while something is withheld": {tell: func(s *story) {
			s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"replicas": 3}))
			s.write("mallory", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("zq7z:1")}))
			s.write(deploymentController, audit.VerbUpdate, replicaSets, "web-1", spec(map[string]any{"replicas": 3}))
		}, want: []Promise{Uncovered}},
		"it goes on once that is taken back": {tell: func(s *story) {
			s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"replicas": 3}))
			s.write("mallory", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("zq7z:1")}))
			s.write("mallory", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("web:1")}))
			s.write(deploymentController, audit.VerbUpdate, replicaSets, "web-1", spec(map[string]any{"replicas": 3}))
		}},
		"it goes on once the children are as a stranger has it": {tell: func(s *story) {
			s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"replicas": 3}))
			s.write("mallory", audit.VerbPatch, deployments, "web", spec(map[string]any{"replicas": 2}))
			s.settle()
			s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("web:2")}))
			roll(s, "web:2")
		}},
		"it goes on, as a stranger says that they are": {tell: func(s *story) {
			s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"replicas": 3}))
			s.write("mallory", audit.VerbPatch, deployments, "web", spec(map[string]any{"replicas": 2}))
			s.write("mallory", audit.VerbUpdate, "deployments/status", "web", map[string]any{"status": map[string]any{"observedGeneration": 3}})
			s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("web:2")}))
			roll(s, "web:2")
		}, want: []Promise{Uncovered}},
		"it goes on where there are no children": {tell: func(s *story) {
			s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"replicas": 0}))
			s.settle()
			s.write("mallory", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("web:0")}))
			s.settle()
			s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"replicas": 2, "template": waiting("web:0")}))
			roll(s, "web:0")
		}, want: []Promise{Uncovered}},
		"it goes on with what the children do not say": {tell: func(s *story) {
			s.write("mallory", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("zq7z:1")}))
			s.settle()
			s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": waiting("zq7z:1")}))
			roll(s, "zq7z:1")
		}, want: []Promise{Uncovered, Smuggled}},
		"it goes on once all say what none of them gets": {tell: func(s *story) {
			meta := func(with map[string]any) map[string]any {
				return spec(map[string]any{"template": map[string]any{"metadata": with}})
			}
			s.write("alice", audit.VerbPatch, deployments, "web", meta(map[string]any{"labels": map[string]any{"app": "web"}}))
			s.write("mallory", audit.VerbPatch, deployments, "web", meta(map[string]any{"managedFields": []any{map[string]any{"fieldsType": "zq7z"}}}))
			s.settle()
			s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": waiting("web:2")}))
			roll(s, "web:2")
		}},
		"a number is withheld, and carried out": {tell: func(s *story) {
			s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("web:2")}))
			s.write("mallory", audit.VerbPatch, deployments, "web", spec(map[string]any{"replicas": 5}))
			s.write(deploymentController, audit.VerbUpdate, replicaSets, "web-1", spec(map[string]any{"replicas": 5}))
		}, want: []Promise{Uncovered}},
		"a stranger's change is approved": {tell: func(s *story) {
			s.write("mallory", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("zq7z:1")}))
			s.write("alice", audit.VerbPatch, deployments, "web", approve)
			roll(s, "zq7z:1")
		}},
		"it is approved under a key that is not its own": {tell: func(s *story) {
			s.write("mallory", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("zq7z:1")}))
			s.write("alice", audit.VerbPatch, deployments, "web", map[string]any{"metadata": map[string]any{"annotations": map[string]any{"deployment.kausality.io/approve": "*"}}})
			roll(s, "zq7z:1")
		}, want: []Promise{Uncovered, Smuggled}},
		"a stranger approves it": {tell: func(s *story) {
			s.write("mallory", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("zq7z:1")}))
			s.write("mallory", audit.VerbPatch, deployments, "web", approve)
			roll(s, "zq7z:1")
		}, want: []Promise{Uncovered, Smuggled}},
		"bob changes what is his": {tell: func(s *story) {
			s.share()
			s.write("bob", audit.VerbPatch, deployments, "web", securing(map[string]any{"runAsUser": 5}))
			roll(s, "web:1")
		}},
		"and what is not, with it": {tell: func(s *story) {
			s.share()
			s.write("bob", audit.VerbPatch, deployments, "web", securing(map[string]any{"runAsUser": 5, "runAsGroup": 7000007}))
			secured(s)
		}, want: []Promise{Uncovered, Smuggled}},
		"and what is not, with it, which alice approves": {tell: func(s *story) {
			s.share()
			s.write("bob", audit.VerbPatch, deployments, "web", securing(map[string]any{"runAsUser": 5, "runAsGroup": 7000007}))
			s.write("alice", audit.VerbPatch, deployments, "web", approve)
			secured(s)
		}},
		"and what is not, with it, which he approves": {tell: func(s *story) {
			s.share()
			s.write("bob", audit.VerbPatch, deployments, "web", merged(approve, securing(map[string]any{"runAsUser": 5, "runAsGroup": 7000007})))
			secured(s)
		}, want: []Promise{Uncovered, Smuggled}},
		"bob removes what is his with what is not": {tell: func(s *story) {
			s.share()
			s.write("alice", audit.VerbPatch, deployments, "web", securing(map[string]any{"runAsUser": 5, "runAsGroup": 6}))
			roll(s, "web:1")
			s.settle()
			s.write("bob", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": map[string]any{"spec": map[string]any{"securityContext": nil}}}))
			s.write(deploymentController, audit.VerbUpdate, replicaSets, "web-2", spec(map[string]any{"replicas": 1}))
		}, want: []Promise{Uncovered}},
		"bob approves a stranger's change of what is his": {tell: func(s *story) {
			s.share()
			s.write("mallory", audit.VerbPatch, deployments, "web", securing(map[string]any{"runAsUser": 7000007}))
			s.write("bob", audit.VerbPatch, deployments, "web", approve)
			s.write(deploymentController, audit.VerbCreate, replicaSets, "web-2", merged(s.replicaSet("web:1"), securing(map[string]any{"runAsUser": 7000007})))
		}},
		"bob approves a stranger's change of what is not": {tell: func(s *story) {
			s.share()
			s.write("mallory", audit.VerbPatch, deployments, "web", securing(map[string]any{"runAsGroup": 7000007}))
			s.write("bob", audit.VerbPatch, deployments, "web", approve)
			secured(s)
		}, want: []Promise{Uncovered, Smuggled}},
		"an older value is carried out under a later cause": {tell: func(s *story) {
			s.write("mallory", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("zq7z:1")}))
			s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("web:2")}))
			roll(s, "zq7z:1")
		}, want: []Promise{Smuggled}},
		"and in the very moment": {tell: func(s *story) {
			s.write("mallory", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("zq7z:1")}))
			s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("web:2")}))
			s.later(-9 * time.Second)
			roll(s, "zq7z:1")
		}},
		"and while it is still there, as something else is changed": {tell: func(s *story) {
			s.write("mallory", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("zq7z:1")}))
			s.write("mallory", audit.VerbPatch, deployments, "web", map[string]any{"metadata": map[string]any{"annotations": map[string]any{"note": "other"}}})
			s.later(-9 * time.Second)
			roll(s, "zq7z:1")
		}, want: []Promise{Uncovered, Smuggled}},
		"a number is withheld, and a Pod that was let go of is made again": {tell: func(s *story) { s.set("again") }},
		"a number is withheld, and one Pod more is made":                   {tell: func(s *story) { s.set("again", "more") }, want: []Promise{Uncovered}},
		"what no rule is about": {tell: func(s *story) {
			s.write("mallory", audit.VerbPatch, deployments, "web", spec(map[string]any{"progressDeadlineSeconds": 7000007}))
			s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("web:2")}))
			roll(s, "web:2")
		}},
		"a number with a mark": {tell: func(s *story) {
			with := template("web:1")
			audit.AsMap(with["spec"])["activeDeadlineSeconds"] = 7000007
			s.write("mallory", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": with}))
			s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"replicas": 3}))
			child := s.replicaSet("web:1")
			audit.AsMap(child["spec"])["template"] = with
			s.write(deploymentController, audit.VerbCreate, replicaSets, "web-2", child)
		}, want: []Promise{Uncovered, Smuggled}},
		"a controller's own value": {tell: func(s *story) {
			s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("web:2")}))
			roll(s, "zq9z:1")
		}},
		"a new object is its author's": {tell: func(s *story) {
			s.write("mallory", audit.VerbCreate, deployments, "zq7z", spec(map[string]any{"replicas": 1, "template": template("zq7z:1")}))
			child := s.replicaSet("zq7z:1")
			child["metadata"] = s.owned("Deployment", "zq7z")
			s.write(deploymentController, audit.VerbCreate, replicaSets, "zq7z-1", child)
		}},
		"what has it for an owner is taken by the controller of what is new": {tell: func(s *story) {
			s.write("alice", audit.VerbCreate, deployments, "new", spec(map[string]any{
				"replicas": 1, "selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}, "template": template("web:1"),
			}))
			child := s.replicaSet("zq7z:1")
			child["metadata"] = besides(map[string]any{"labels": map[string]any{"app": "web"}}, "Deployment", "new")
			s.write("mallory", audit.VerbCreate, replicaSets, "hers", child)
			s.write(deploymentController, audit.VerbPatch, replicaSets, "hers", map[string]any{"metadata": s.owned("Deployment", "new")})
			s.write(deploymentController, audit.VerbUpdate, replicaSets, "hers", spec(map[string]any{"replicas": 1}))
		}},
		"a section for what is new does not name it": {tell: func(s *story) {
			s.write("alice", audit.VerbCreate, deployments, "new", spec(map[string]any{"replicas": 1, "template": template("web:1")}))
			child := s.replicaSet("web:1")
			child["metadata"] = s.owned("Deployment", "new")
			s.write(deploymentController, audit.VerbCreate, replicaSets, "new-1", child)
			s.remove("mallory", replicaSets, "new-1")
		}, want: []Promise{Uncovered}},
		"a section for what is going does not name it": {tell: func(s *story) {
			s.write("mallory", audit.VerbDelete, deployments, "web", map[string]any{"metadata": map[string]any{
				"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": []any{"a/b"},
			}})
			s.later(time.Minute)
			s.write(deploymentController, audit.VerbUpdate, replicaSets, "web-1", spec(map[string]any{"replicas": 0}))
		}, want: []Promise{Uncovered}},
		"it loses its children": {tell: func(s *story) {
			s.write("mallory", audit.VerbDelete, deployments, "web", map[string]any{"metadata": map[string]any{
				"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": []any{"a/b"},
			}})
			s.later(time.Minute)
			s.remove("mallory", replicaSets, "web-1")
		}},
		"the policy has gone": {tell: func(s *story) {
			s.remove("admin", policies, "deployment")
			s.remove("admin", policies, "replicaset")
			s.later(time.Minute)
			s.remove("mallory", replicaSets, "web-1")
		}},
		"a stray goes": {tell: func(s *story) {
			free := s.replicaSet("zq7z:1")
			audit.AsMap(free["metadata"])["ownerReferences"] = nil
			s.write("mallory", audit.VerbCreate, replicaSets, "stray", free)
			s.write(deploymentController, audit.VerbPatch, replicaSets, "stray", map[string]any{"metadata": s.owned("Deployment", "web")})
			s.write(deploymentController, audit.VerbUpdate, replicaSets, "stray", spec(map[string]any{"replicas": 0}))
			s.remove(deploymentController, replicaSets, "stray")
		}},
		"a stray grows": {tell: func(s *story) {
			free := s.replicaSet("zq7z:1")
			audit.AsMap(free["metadata"])["ownerReferences"] = nil
			s.write("mallory", audit.VerbCreate, replicaSets, "stray", free)
			s.write(deploymentController, audit.VerbPatch, replicaSets, "stray", map[string]any{"metadata": s.owned("Deployment", "web")})
			s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"replicas": 5}))
			s.write(deploymentController, audit.VerbUpdate, replicaSets, "stray", spec(map[string]any{"replicas": 5}))
		}, want: []Promise{Uncovered}},
		"a stray is scaled down whose adoption nobody heard of": {tell: func(s *story) {
			unheard(s)
			s.write(deploymentController, audit.VerbUpdate, replicaSets, "stray", merged(spec(map[string]any{"replicas": 0}), map[string]any{"metadata": s.owned("Deployment", "web")}))
		}},
		"a stray grows whose adoption nobody heard of": {tell: func(s *story) {
			unheard(s)
			s.write(deploymentController, audit.VerbUpdate, replicaSets, "stray", merged(spec(map[string]any{"replicas": 5}), map[string]any{"metadata": s.owned("Deployment", "web")}))
		}, want: []Promise{Uncovered}},
		"a stray of one is adopted by another that is new": {tell: func(s *story) {
			free := s.replicaSet("zq7z:1")
			audit.AsMap(free["metadata"])["ownerReferences"] = nil
			s.write("mallory", audit.VerbCreate, replicaSets, "stray", free)
			s.write(deploymentController, audit.VerbPatch, replicaSets, "stray", map[string]any{"metadata": s.owned("Deployment", "web")})
			s.write("system:serviceaccount:kube-system:generic-garbage-collector", audit.VerbPatch, replicaSets, "stray",
				map[string]any{"metadata": map[string]any{"ownerReferences": nil}})
			s.later(time.Minute)
			s.write("alice", audit.VerbCreate, deployments, "new", spec(map[string]any{"replicas": 1, "template": template("web:1")}))
			s.write(deploymentController, audit.VerbPatch, replicaSets, "stray", map[string]any{"metadata": s.owned("Deployment", "new")})
			s.write(deploymentController, audit.VerbUpdate, replicaSets, "stray", spec(map[string]any{"replicas": 5}))
		}},
		"a ledger that is true": {tell: func(s *story) {
			s.write("alice", audit.VerbPatch, deployments, "web", merged(spec(map[string]any{"replicas": 3}), ledger("alice", "web", 2, "spec.replicas")))
		}},
		"a ledger that names alice for a stranger's change": {tell: func(s *story) {
			s.write("mallory", audit.VerbPatch, deployments, "web", merged(spec(map[string]any{"replicas": 3}), ledger("alice", "web", 2, "spec.replicas")))
		}, want: []Promise{Forged}},
		"a ledger that names a stranger": {tell: func(s *story) {
			s.write("mallory", audit.VerbPatch, deployments, "web", merged(spec(map[string]any{"replicas": 3}), ledger("mallory", "web", 2, "spec.replicas")))
		}, want: []Promise{Forged}},
		"a ledger that names a stranger for what she made": {tell: func(s *story) {
			s.write("mallory", audit.VerbCreate, deployments, "hers", merged(spec(map[string]any{"replicas": 3}), ledger("mallory", "hers", 1, "(created)")))
		}},
		"a ledger that does not parse": {tell: func(s *story) {
			s.write("mallory", audit.VerbPatch, deployments, "web", map[string]any{"metadata": map[string]any{"annotations": map[string]any{"kausality.io/allowances": "{"}}})
		}, want: []Promise{Forged}},
		"a record that names who did nothing": {tell: func(s *story) {
			s.write(operatorUser, audit.VerbCreate, records, "r", map[string]any{"status": map[string]any{"history": []any{map[string]any{"event": "Denied", "user": "bob"}}}})
		}, want: []Promise{Forged}},
		"a record that a stranger writes": {tell: func(s *story) {
			s.write(operatorUser, audit.VerbCreate, records, "r", map[string]any{})
			s.write("mallory", audit.VerbPatch, "allowancerecords/status", "r", map[string]any{"status": map[string]any{"phase": "Steady"}})
		}, want: []Promise{Forged}},
		"a stranger makes a Pod, which two delete at the same time": {tell: func(s *story) {
			s.write("mallory", audit.VerbCreate, pods, "web-1-x", s.pod())
			gone := s.objects["pods/web-1-x"]
			meta := audit.AsMap(gone["metadata"])
			meta["deletionTimestamp"], meta["resourceVersion"] = "2026-01-01T00:00:00Z", "999"
			s.event("system:node:one", audit.VerbDelete, pods, "", "web-1-x", 200, nil, gone)
			// The API server answers the other one with what is stored no more.
			delete(meta, "resourceVersion")
			s.event("system:kube-scheduler", audit.VerbDelete, pods, "", "web-1-x", 200, nil, gone)
		}, want: []Promise{Uncovered}},
		"a stranger makes an autoscaler": {tell: func(s *story) {
			s.write("mallory", audit.VerbCreate, autoscalers, "scaler", scaling(2))
		}, want: []Promise{Uncovered}},
		"alice makes an autoscaler, which a stranger labels": {tell: func(s *story) {
			s.write("alice", audit.VerbCreate, autoscalers, "scaler", scaling(2))
			s.write("mallory", audit.VerbPatch, autoscalers, "scaler", map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": "b"}}})
		}},
		"alice makes an autoscaler, which a stranger changes": {tell: func(s *story) {
			s.write("alice", audit.VerbCreate, autoscalers, "scaler", scaling(2))
			s.write("mallory", audit.VerbPatch, autoscalers, "scaler", scaling(4))
		}, want: []Promise{Uncovered}},
		"who may change another field makes an autoscaler": {tell: func(s *story) {
			s.share()
			s.write("bob", audit.VerbCreate, autoscalers, "scaler", scaling(2))
		}, want: []Promise{Uncovered}},
		"a stranger makes an autoscaler, by a kind in lower case": {tell: func(s *story) {
			lower := scaling(2)
			audit.AsMap(audit.AsMap(lower["spec"])["scaleTargetRef"])["kind"] = "deployment"
			s.write("mallory", audit.VerbCreate, autoscalers, "scaler", lower)
		}, want: []Promise{Uncovered}},
		"a stranger makes an autoscaler of what is to come": {tell: func(s *story) {
			later := scaling(2)
			audit.AsMap(audit.AsMap(later["spec"])["scaleTargetRef"])["name"] = "later"
			s.write("mallory", audit.VerbCreate, autoscalers, "scaler", later)
		}, want: []Promise{Uncovered}},
		"a stranger makes an autoscaler of what no policy is for": {tell: func(s *story) {
			other := scaling(2)
			audit.AsMap(audit.AsMap(other["spec"])["scaleTargetRef"])["kind"] = "Rollout"
			s.write("mallory", audit.VerbCreate, autoscalers, "scaler", other)
		}},
		"a stranger says that the Pod of a set is of another revision": {tell: func(s *story) {
			s.agent("controller-revision-hash")
		}, want: []Promise{Uncovered}},
		"a stranger sets the Pod of a set aside": {tell: func(s *story) { s.agent("app") }},
		"a stranger labels the Pod of a set":     {tell: func(s *story) { s.agent("note") }},
		"a stranger makes an autoscaler of what is hers": {tell: func(s *story) {
			s.write("mallory", audit.VerbCreate, deployments, "hers", map[string]any{"spec": map[string]any{"replicas": 1}})
			hers := scaling(2)
			audit.AsMap(audit.AsMap(hers["spec"])["scaleTargetRef"])["name"] = "hers"
			s.write("mallory", audit.VerbCreate, autoscalers, "scaler", hers)
		}},
		"a record that a stranger deletes": {tell: func(s *story) {
			s.write(operatorUser, audit.VerbCreate, records, "r", map[string]any{})
			s.remove("mallory", records, "r")
		}, want: []Promise{Forged}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			tc.tell(s)
			report := s.finds(tc.want)
			// The beginning of each story has to have been looked at.
			if report.Children[initializing] < 3 {
				t.Errorf("changes of children that were looked at: %v", report.Children)
			}
		})
	}
}

// That nobody could tell is known, and counted, where policies have it that work goes on then.
func TestExcused(t *testing.T) {
	for failurePolicy, excused := range map[string]bool{"": true, "Ignore": true, "Fail": false} {
		s := begin(t)
		s.write("admin", audit.VerbPatch, policies, "deployment", map[string]any{"spec": map[string]any{"failurePolicy": failurePolicy}})
		s.write(operatorUser, audit.VerbUpdate, "allowancepolicies/status", "deployment", map[string]any{"status": map[string]any{
			"conditions": []any{map[string]any{"type": "Enforced", "status": "True", "observedGeneration": 2}},
		}})
		s.later(time.Minute)
		s.reason = couldNotTell
		s.write("mallory", audit.VerbPatch, replicaSets, "web-1", spec(map[string]any{"replicas": 9}))
		got := s.judged()
		if known := got.Known[Unasked] > 0; known != excused || len(got.Findings) > 0 == excused {
			t.Errorf("failurePolicy %q: known %v, findings %v", failurePolicy, got.Known, got.Findings)
		}
	}
}

// What a controller carries on of a stranger's while nobody was asked is known where policies say Ignore, and so is what is
// made of that when the operator is asked again.
func TestExcusedContent(t *testing.T) {
	for failurePolicy, want := range map[string][]Promise{"Ignore": nil, "Fail": {Uncovered, Smuggled, Smuggled}} {
		s := begin(t)
		s.write("admin", audit.VerbPatch, policies, "deployment", map[string]any{"spec": map[string]any{"failurePolicy": failurePolicy}})
		s.write(operatorUser, audit.VerbUpdate, "allowancepolicies/status", "deployment", map[string]any{"status": map[string]any{
			"conditions": []any{map[string]any{"type": "Enforced", "status": "True", "observedGeneration": 2}},
		}})
		s.later(time.Minute)
		s.settle()
		s.write("mallory", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("zq7z:1")}))
		s.reason = couldNotTell
		s.write(deploymentController, audit.VerbCreate, replicaSets, "web-2", s.replicaSet("zq7z:1"))
		s.reason = ""
		made := s.pod()
		audit.AsMap(made["metadata"])["ownerReferences"] = s.owned("ReplicaSet", "web-2")["ownerReferences"]
		made["spec"] = template("zq7z:1")["spec"]
		s.write("system:serviceaccount:kube-system:replicaset-controller", audit.VerbCreate, pods, "web-2-a", made)
		s.finds(want)
	}
}

// What was taken back a moment ago is known, and counted.
func TestKnown(t *testing.T) {
	s := begin(t)
	s.write("mallory", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("zq7z:1")}))
	s.write("alice", audit.VerbPatch, deployments, "web", spec(map[string]any{"template": template("web:2")}))
	s.later(-9 * time.Second)
	s.write(deploymentController, audit.VerbCreate, replicaSets, "web-2", s.replicaSet("zq7z:1"))
	if got := s.judged().Known; len(got) != 1 {
		t.Errorf("Known = %v", got)
	}
}

// What is gone bounds nothing, whether or not an answer tells of its end.
func TestVanished(t *testing.T) {
	going := map[string]any{"metadata": map[string]any{"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": []any{"orphan"}}}
	tests := map[string]func(*story){
		"in a collection of which another one was denied": func(s *story) {
			s.event("mallory", audit.VerbDeleteCollection, deployments, "", "", 403, nil, map[string]any{"kind": "Status"})
		},
		"in a collection that failed": func(s *story) {
			s.event("mallory", audit.VerbDeleteCollection, deployments, "", "", 500, nil, map[string]any{"kind": "Status"})
		},
		"by a request whose answer was lost": func(s *story) {
			s.event("mallory", audit.VerbDelete, deployments, "", "web", 504, nil, map[string]any{"kind": "Status"})
		},
		"without its finalizer, by a request whose answer was lost": func(s *story) {
			s.write("mallory", audit.VerbDelete, deployments, "web", going)
			s.event("system:serviceaccount:kube-system:generic-garbage-collector", audit.VerbPatch, deployments, "", "web", 504, nil, map[string]any{"kind": "Status"})
		},
		"without its finalizer, as a later request found": func(s *story) {
			s.write("mallory", audit.VerbDelete, deployments, "web", going)
			s.event("mallory", audit.VerbPatch, deployments, "", "web", 404, nil, map[string]any{"kind": "Status"})
		},
	}
	for name, tell := range tests {
		for _, there := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, there %t", name, there), func(t *testing.T) {
				s := begin(t)
				tell(s)
				s.later(time.Minute)
				s.write("mallory", audit.VerbPatch, replicaSets, "web-1", spec(map[string]any{"replicas": 9}))
				s.final = map[string]bool{"uid-web": there, "uid-web-1": true}
				if got := s.judged().Findings; (len(got) > 0) != there {
					t.Errorf("findings %v", got)
				}
			})
		}
	}
}
