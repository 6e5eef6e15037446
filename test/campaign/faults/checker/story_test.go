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
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"kausality.io/operator/test/campaign/audit"
)

// The annotations with ledgers.
const (
	ledgerKey           = "kausality.io/allowances"
	replicaSetLedgerKey = "replicaset.kausality.io/allowances"
)

// Who acts in stories.
const (
	alice                = "alice"
	mallory              = "mallory"
	operator             = "system:serviceaccount:kausality-system:kausality-controller-manager"
	deploymentController = "system:serviceaccount:kube-system:deployment-controller"
	replicaSetController = "system:serviceaccount:kube-system:replicaset-controller"
)

// story is an audit log in the making, with the objects that are there at its end.
type story struct {
	t        *testing.T
	lines    bytes.Buffer
	now      time.Time
	revision int
	objects  map[string]map[string]any
	// forget is true where the operator does not write everything down.
	forget bool
}

// step is one request of a story, a second after the one before.
type step struct {
	by, verb, resource, sub, name string
	// change is merged into the object.
	change map[string]any
	code   int32
	// open is true where no webhook could be asked.
	open bool
	// uncovered is true where no allowance covers it and it was let through at first.
	uncovered bool
	// again is true where somebody asked for the same before.
	again bool
	// after is how much later than usual it comes.
	after time.Duration
}

func newStory(t *testing.T) *story {
	t.Helper()
	return &story{t: t, now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), revision: 100, objects: map[string]map[string]any{}}
}

// tell adds requests to the log.
func (s *story) tell(steps ...step) {
	s.t.Helper()
	for _, st := range steps {
		s.tellOne(st)
	}
}

func (s *story) tellOne(st step) {
	s.t.Helper()
	s.now = s.now.Add(time.Second + st.after)
	if !st.again {
		s.revision++
	}
	key := st.resource + "/" + st.name
	event := auditv1.Event{
		Verb: st.verb, User: authenticationv1.UserInfo{Username: st.by},
		ObjectRef:                &auditv1.ObjectReference{Resource: st.resource, Namespace: "ns", Name: st.name, Subresource: st.sub},
		RequestReceivedTimestamp: metav1.NewMicroTime(s.now), StageTimestamp: metav1.NewMicroTime(s.now.Add(10 * time.Millisecond)),
		ResponseStatus: &metav1.Status{Code: st.code}, RequestObject: &runtime.Unknown{Raw: s.encode(st.change)},
	}
	if st.by == alice {
		event.User.Groups = []string{"platform-team"}
	}
	if st.uncovered {
		event.Annotations = map[string]string{"validate.kausality.io/reason": "Initializing", "validate.kausality.io/uncovered": "deletion"}
	}
	if st.open {
		event.Annotations = map[string]string{"failed-open.validating.webhook.admission.k8s.io/round_0_index_0": "validate.kausality.io"}
	}
	if st.code == 0 {
		event.ResponseStatus.Code = 200
		s.store(key, st)
		event.ResponseObject = &runtime.Unknown{Raw: s.encode(s.answer(key, st))}
		if st.verb == audit.VerbDelete {
			delete(s.objects, key)
		}
	} else {
		event.ResponseStatus.Message = `admission webhook "validate.kausality.io" denied the request: no`
		event.Annotations = map[string]string{"validate.kausality.io/reason": denied}
	}
	s.lines.Write(append(s.encode(event), '\n'))
}

// answer returns the object that the API server answers with.
func (s *story) answer(key string, st step) obj {
	if st.sub != "scale" {
		return s.objects[key]
	}
	return obj{"kind": "Scale", "metadata": s.objects[key]["metadata"], "spec": st.change["spec"]}
}

// store makes the object what the request says.
func (s *story) store(key string, st step) {
	old := s.objects[key]
	if old == nil {
		old = map[string]any{"kind": kinds[st.resource], "metadata": map[string]any{
			"uid": fmt.Sprintf("%s-%d", key, s.revision), "namespace": "ns", "name": st.name, "generation": int64(1),
		}}
	}
	obj := merge(old, st.change)
	if m, ok := obj["metadata"].(map[string]any); ok {
		m["resourceVersion"] = strconv.Itoa(s.revision)
	}
	s.objects[key] = obj
}

func merge(into, from map[string]any) map[string]any {
	out := maps.Clone(into)
	for key, value := range from {
		below, isMap := value.(map[string]any)
		existing, wasMap := out[key].(map[string]any)
		switch {
		case value == nil:
			delete(out, key)
		case isMap && wasMap:
			out[key] = merge(existing, below)
		default:
			out[key] = value
		}
	}
	return out
}

func (s *story) encode(value any) []byte {
	s.t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		s.t.Fatal(err)
	}
	return raw
}

// uid returns the uid of an object that exists.
func (s *story) uid(key string) types.UID {
	s.t.Helper()
	m, ok := s.objects[key]["metadata"].(map[string]any)
	if !ok {
		s.t.Fatalf("there is no %s", key)
	}
	return types.UID(fmt.Sprint(m["uid"]))
}

// mirror tells how the operator writes down each ledger.
func (s *story) mirror() {
	s.t.Helper()
	for key := range maps.Clone(s.objects) {
		obj := decoded(s.t, s.encode(s.objects[key]))
		text := obj.Own("allowances")
		entries, err := parseLedger(text)
		if text == "" || err != nil && len(entries) == 0 {
			continue
		}
		s.tell(step{by: operator, verb: "patch", sub: "status", resource: records, name: strings.ReplaceAll(key, "/", "-"), change: recordOf(obj, entries)})
	}
}

// decoded returns an object as the checker reads it.
func decoded(t *testing.T, raw []byte) *audit.Object {
	t.Helper()
	log, err := audit.Read(strings.NewReader(""), kinds)
	if err != nil {
		t.Fatal(err)
	}
	obj, err := log.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

func recordOf(target *audit.Object, entries []entry) obj {
	active := []any{}
	for _, e := range entries {
		active = append(active, e)
	}
	return obj{
		"spec":   obj{"targetRef": obj{"kind": target.Kind, "name": target.Name, "uid": target.UID}},
		"status": obj{"active": active},
	}
}

// check returns what the checker finds.
func (s *story) check(killed ...Interval) *Report {
	s.t.Helper()
	log, err := audit.Read(&s.lines, kinds)
	if err != nil {
		s.t.Fatal(err)
	}
	evidence := Evidence{Log: log, Operator: operator, Killed: killed}
	for key, obj := range s.objects {
		if !strings.HasPrefix(key, policies) {
			evidence.Final = append(evidence.Final, s.encode(obj))
		}
	}
	report, err := Check(evidence)
	if err != nil {
		s.t.Fatal(err)
	}
	return report
}

// obj is short for what objects are made of.
type obj = map[string]any

// policy is one that lets changes of replicas and templates of its kind through.
func policyFor(kind, child string, initiators bool, maintaining ...string) obj {
	subjects := []any{
		obj{"kind": "ServiceAccount", "namespace": "kube-system", "name": "deployment-controller"},
		obj{"kind": "ServiceAccount", "namespace": "kube-system", "name": "replicaset-controller"},
	}
	if initiators {
		subjects = append(subjects, obj{"kind": "Group", "name": "platform-team", "mayInitiate": true})
	}
	target := obj{"target": obj{"resource": child}, "verbs": maintaining}
	return obj{
		"spec": obj{
			"for": obj{"kind": kind}, "subjects": subjects, "maintaining": obj{"policies": []any{target}},
			"rules": []any{
				obj{"trigger": "spec.replicas", "policies": []any{target}},
				obj{"trigger": "spec.template", "policies": []any{target}},
			},
		},
		"status": obj{"adopting": 2, "conditions": []any{obj{"type": "Enforced", "status": "True", "observedGeneration": 1}}},
	}
}

// ledgerOf returns an annotation; "" takes it away.
func ledgerOf(key, text string) obj {
	if text == "" {
		return obj{"metadata": obj{"annotations": obj{key: nil}}}
	}
	return obj{"metadata": obj{"annotations": obj{key: text}}}
}

// workload returns a spec.
func workload(replicas int, image string) obj {
	return obj{"spec": obj{"replicas": replicas, "template": obj{"spec": obj{"containers": []any{obj{"name": "main", "image": image}}}}}}
}

// done returns a status in which there is nothing left to do.
func done(generation, replicas int) obj {
	return obj{"status": obj{
		"observedGeneration": generation, "replicas": replicas, "updatedReplicas": replicas, "availableReplicas": replicas,
	}}
}

func generation(n int) obj { return obj{"metadata": obj{"generation": n}} }

func (s *story) ownedBy(kind, key string) obj {
	return obj{"metadata": obj{"ownerReferences": []any{obj{"kind": kind, "name": "web", "uid": s.uid(key), "controller": true}}}}
}

func all(parts ...obj) obj {
	out := obj{}
	for _, part := range parts {
		out = merge(out, part)
	}
	return out
}

// Ledgers of stories.
const (
	newDeployment = `[{"kind":"*","mutation":"*","generation":1,"initiator":"alice","trace":[{"kind":"Deployment","name":"web","generation":1,"field":"(created)"}]}]`
	newReplicaSet = `[{"kind":"*","mutation":"*","generation":1,"initiator":"alice","trace":[
		{"kind":"Deployment","name":"web","generation":1,"field":"(created)"},{"kind":"ReplicaSet","name":"web-1","generation":1,"field":"(created)"}]}]`
	mayScale = `[{"kind":"ReplicaSet","mutation":"spec.replicas","generation":2,"initiator":"alice","trace":[
		{"kind":"Deployment","name":"web","generation":2,"field":"spec.replicas"}]}]`
	mayDelete = `[{"kind":"Pod","mutation":"create","generation":2,"initiator":"alice","trace":[
		{"kind":"Deployment","name":"web","generation":2,"field":"spec.replicas"},{"kind":"ReplicaSet","name":"web-1","generation":2,"field":"spec.replicas"}]}]`
)

// begin tells how policies come, and how alice creates a Deployment of one Pod.
func (s *story) begin() {
	s.t.Helper()
	s.tell(
		step{by: alice, verb: "create", resource: policies, name: "deployment", change: policyFor("Deployment", replicaSets, true)},
		step{by: alice, verb: "create", resource: policies, name: "replicaset", change: policyFor("ReplicaSet", pods, false, "Create", "Delete")},
		step{by: alice, verb: "create", resource: deployments, name: "web", after: 10 * time.Second, change: all(workload(1, "web:1"), ledgerOf(ledgerKey, newDeployment))},
	)
	s.tell(step{by: deploymentController, verb: "create", resource: replicaSets, name: "web-1", change: all(
		workload(1, "web:1"), s.ownedBy("Deployment", "deployments/web"), ledgerOf(replicaSetLedgerKey, newReplicaSet))})
	s.pod("web-1-a")
	s.tell(
		step{by: replicaSetController, verb: "update", sub: "status", resource: replicaSets, name: "web-1", change: all(done(1, 1), ledgerOf(replicaSetLedgerKey, ""))},
		step{by: deploymentController, verb: "update", sub: "status", resource: deployments, name: "web", change: all(done(1, 1), ledgerOf(ledgerKey, ""))},
	)
	// What is said from now on is not covered by what was so before.
	s.now = s.now.Add(2 * lag)
}

// pod tells how a Pod is created below the ReplicaSet.
func (s *story) pod(name string) {
	s.t.Helper()
	s.tell(step{by: replicaSetController, verb: "create", resource: pods, name: name, change: all(
		s.ownedBy("ReplicaSet", "replicasets/web-1"), obj{"spec": obj{"containers": []any{obj{"image": "web:1"}}}})})
}

// scale tells how alice scales the Deployment to two.
func (s *story) scale() {
	s.t.Helper()
	s.tell(
		step{by: alice, verb: "patch", resource: deployments, name: "web", change: all(obj{"spec": obj{"replicas": 2}}, generation(2), ledgerOf(ledgerKey, mayScale))},
		s.scaleReplicaSet(mayDelete),
	)
	s.pod("web-1-b")
}

// scaleInVain tells how alice scales the Deployment and changes its image, and then
// somebody scales it to the number that it has, and earns an allowance.
func (s *story) scaleInVain(by string) {
	s.t.Helper()
	later := func(text string) string { return strings.ReplaceAll(text, `"generation":2`, `"generation":3`) }
	image := later(strings.ReplaceAll(mayScale, "spec.replicas", "spec.template"))
	both := func(scale string) obj { return ledgerOf(ledgerKey, strings.TrimSuffix(scale, "]")+","+image[1:]) }
	s.tell(
		step{by: alice, verb: "patch", resource: deployments, name: "web", change: all(obj{"spec": obj{"replicas": 2}}, generation(2), ledgerOf(ledgerKey, mayScale))},
		step{by: alice, verb: "patch", resource: deployments, name: "web", change: all(workload(2, "web:2"), generation(3), both(mayScale))},
		step{by: by, verb: "update", sub: "scale", resource: deployments, name: "web", change: obj{"spec": obj{"replicas": 2}}},
		step{by: operator, verb: "patch", sub: "status", resource: deployments, name: "web", change: both(strings.ReplaceAll(later(mayScale), alice, by))},
	)
}

func (s *story) scaleReplicaSet(ledger string) step {
	return step{by: deploymentController, verb: "update", resource: replicaSets, name: "web-1", change: all(
		obj{"spec": obj{"replicas": 2}}, generation(2), ledgerOf(replicaSetLedgerKey, ledger))}
}

// finish tells how what was scaled settles.
func (s *story) finish() {
	s.t.Helper()
	s.tell(
		step{by: replicaSetController, verb: "update", sub: "status", resource: replicaSets, name: "web-1", change: all(done(2, 2), ledgerOf(replicaSetLedgerKey, ""))},
		step{by: deploymentController, verb: "update", sub: "status", resource: deployments, name: "web", change: all(done(2, 2), ledgerOf(ledgerKey, ""))},
	)
}

// record tells what the operator writes down about the Deployment.
func (s *story) record(status obj) {
	s.t.Helper()
	s.tell(step{by: operator, verb: "patch", sub: "status", resource: records, name: "deployments-web", change: obj{
		"spec": obj{"targetRef": obj{"kind": "Deployment", "name": "web", "uid": s.uid("deployments/web")}}, "status": status,
	}})
}
