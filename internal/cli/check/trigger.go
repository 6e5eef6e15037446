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

package check

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/sets"

	"kausality.io/operator/internal/cli/offline"
	"kausality.io/operator/internal/cli/source"
	"kausality.io/operator/internal/generate"
	"kausality.io/operator/internal/policy"
)

// Trigger is an object, by its name among the objects or in full.
type Trigger struct {
	// Name is KIND/NAME or KIND/NAMESPACE/NAME.
	Name string
	// Object is the object itself.
	Object map[string]any
}

var _ json.Unmarshaler = (*Trigger)(nil)

// UnmarshalJSON implements json.Unmarshaler.
func (t *Trigger) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, &t.Name); err == nil {
		return nil
	}
	if err := utiljson.Unmarshal(text, &t.Object); err != nil {
		return errors.New("a trigger is the name of an object, such as Namespace/shop, or the object itself")
	}
	return nil
}

// generate evaluates the policies for the trigger of a case.
func (c *checker) generate(ctx context.Context, policies []*generate.Policy, test *loaded, one *Case) ([]Difference, *fault) {
	if field := one.Expect.ofRequests(); field != "" {
		return nil, faulty("expect."+field, "a case with a trigger has none: it shows what is generated")
	}
	if field := one.ofRequests(); field != "" {
		return nil, faulty(field, "a case with a trigger has none: give the trigger as it is")
	}
	world := &offline.World{Kinds: c.kinds, Policies: policy.NewIndex(nil), GlassBreakers: sets.New[string]()}
	if wrong := furnish(world, &test.PolicyTest, one); wrong != nil {
		return nil, wrong
	}
	trigger, wrong := triggerOf(world, one)
	if wrong != nil {
		return nil, wrong
	}
	if wrong := requested(world, one, trigger); wrong != nil {
		return nil, wrong
	}
	outcome, err := evaluate(ctx, policies, trigger, offline.Snapshot{World: world})
	if err != nil {
		return nil, &fault{err: err}
	}
	for _, read := range outcome.reads {
		// What is not known is not there, which says nothing about a cluster.
		if _, known := c.kinds.KindFor(read.Resource); !known {
			c.report.Unknown = append(c.report.Unknown, read.Resource.GroupResource().String())
		}
	}
	c.report.Unknown = append(c.report.Unknown, outcome.notServed...)
	return outcome.differences(&one.Expect)
}

// ofRequests returns a field of a case that only those without a trigger can have.
func (c *Case) ofRequests() string {
	switch {
	case c.MayBreakGlass:
		return "mayBreakGlass"
	case c.Ledgers != nil:
		return "ledgers"
	case c.Object != "":
		return "object"
	case c.New != nil:
		return "new"
	case c.Set != nil:
		return "set"
	case c.Unset != nil:
		return "unset"
	case c.Replicas != nil:
		return "replicas"
	}
	return ""
}

// triggerOf makes the trigger of a case.
func triggerOf(world *offline.World, c *Case) (*generate.Trigger, *fault) {
	if c.Trigger.Object != nil {
		if err := exist(world, c.Trigger.Object); err != nil {
			return nil, faulty("trigger", "%w", err)
		}
		c.Trigger.Name = nameIn(world, c.Trigger.Object)
	}
	object, err := named(world, c.Trigger.Name)
	if err != nil {
		return nil, faulty("trigger", "%w", err)
	}
	trigger, err := world.Trigger(object)
	if err != nil {
		return nil, faulty("trigger", "%w", err)
	}
	return trigger, nil
}

// requested has the request of a case be the one by which its trigger came to be as it is, or the trigger
// itself.
func requested(world *offline.World, c *Case, trigger *generate.Trigger) *fault {
	if c.User == "" {
		if c.Groups != nil || c.Old != nil || c.Operation != "" {
			return faulty("user", "who makes the request?")
		}
		return nil
	}
	object := &unstructured.Unstructured{Object: trigger.Object}
	kind, resource := metav1.GroupVersionKind(object.GroupVersionKind()), metav1.GroupVersionResource(trigger.Resource)
	req := &admissionv1.AdmissionRequest{
		Kind: kind, RequestKind: &kind, Resource: resource, RequestResource: &resource,
		Name: object.GetName(), Namespace: object.GetNamespace(), Operation: admissionv1.Create,
		UserInfo: authenticationv1.UserInfo{Username: c.User, Groups: c.Groups}, DryRun: new(false),
	}
	if c.Old != nil {
		before, err := complete(world, c.Old)
		if err != nil {
			return faulty("old", "%w", err)
		}
		req.Operation, trigger.OldObject = admissionv1.Update, before.Object
	}
	switch c.Operation {
	case "":
	case offline.Delete:
		req.Operation, trigger.Operation = admissionv1.Delete, admissionregistrationv1.Delete
		trigger.Object, trigger.OldObject = nil, trigger.Object
	case offline.Evict:
		req.SubResource, trigger.Subresource, trigger.Operation = evictionSubresource, evictionSubresource, admissionregistrationv1.Create
		trigger.Object, trigger.OldObject = evictionOf(object), nil
	default:
		return faulty("operation", "%s is not one of a case with a trigger: leave it out for a trigger that is there, or give Delete or Evict", c.Operation)
	}
	if c.Operation != "" && c.Old != nil {
		return faulty("old", "the trigger is what there was before")
	}
	request, err := generate.RequestOf(req)
	if err != nil {
		return faulty("user", "%w", err)
	}
	trigger.Request = request
	return nil
}

// evictionSubresource is what Pods are evicted by.
const evictionSubresource = "eviction"

// evictionOf returns what is asked for a Pod to be evicted.
func evictionOf(pod *unstructured.Unstructured) map[string]any {
	out := &unstructured.Unstructured{Object: map[string]any{}}
	out.SetGroupVersionKind(policyv1.SchemeGroupVersion.WithKind("Eviction"))
	out.SetNamespace(pod.GetNamespace())
	out.SetName(pod.GetName())
	return out.Object
}

// takes reports whether a policy may want objects for a trigger: it does not ask about requests, or takes
// the one of the case.
func takes(ctx context.Context, p *generate.Policy, trigger *generate.Trigger) bool {
	return !p.NeedsRequest() || trigger.Request == nil || p.TakesRequest(ctx, trigger)
}

// nameIn returns the name of an object that exists, with its namespace.
func nameIn(world *offline.World, content map[string]any) string {
	obj, err := complete(world, content)
	if err != nil {
		return ""
	}
	return strings.Join(slices.DeleteFunc([]string{obj.GetKind(), obj.GetNamespace(), obj.GetName()}, func(s string) bool { return s == "" }), "/")
}

// outcome collects what all policies want for a trigger.
type outcome struct {
	objects map[generate.ID]generate.Wanted
	leftOut map[generate.LeftOut]int
	// reads lists what the policies read.
	reads []generate.Read
	// notServed are the kinds of what they apply that are not known.
	notServed []string
	// reason and message say why there is none.
	reason, message string
}

// reasonConflicting is the reason where two policies want the same object. In a cluster the older
// policy decides.
const reasonConflicting = "Conflicting"

// evaluate asks all policies. The error says that the time was over.
func evaluate(ctx context.Context, policies []*generate.Policy, trigger *generate.Trigger, from generate.Snapshot) (*outcome, error) {
	out := &outcome{objects: map[generate.ID]generate.Wanted{}, leftOut: map[generate.LeftOut]int{}}
	by := map[generate.ID]string{}
	for _, p := range policies {
		if !takes(ctx, p, trigger) {
			continue
		}
		result, err := p.Evaluate(ctx, trigger, from)
		if failure, ok := errors.AsType[*generate.Error](err); ok {
			out.reason, out.message = string(failure.Reason), fmt.Sprintf("%s: %v", p.Name, failure)
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		out.reads = append(out.reads, result.Reads...)
		for _, kind := range result.NotServed {
			out.notServed = append(out.notServed, kind.GroupKind().String())
		}
		for reason, n := range result.LeftOut {
			out.leftOut[reason] += n
		}
		for _, wanted := range result.Objects {
			if other, twice := by[wanted.ID]; twice {
				out.reason, out.message = reasonConflicting, fmt.Sprintf("%s is wanted by %s and by %s: the older of the two decides", wanted.ID, other, p.Name)
				return out, nil
			}
			by[wanted.ID], out.objects[wanted.ID] = p.Name, wanted
		}
	}
	return out, nil
}

// differences compares what is wanted with what is expected.
func (o *outcome) differences(e *Expectation) ([]Difference, *fault) {
	if o.reason != e.Reason {
		got := "none"
		if o.reason != "" {
			got = fmt.Sprintf("%s: %s", o.reason, o.message)
		}
		return []Difference{{Of: "reason", Want: []string{cmp.Or(e.Reason, "none")}, Got: []string{got}}}, nil
	}
	var out []Difference
	if !strings.Contains(o.message, e.Message) {
		out = append(out, Difference{Of: "message", Want: []string{e.Message}, Got: []string{cmp.Or(o.message, "nothing")}})
	}
	if e.Generated != nil {
		out = append(out, compareGenerated(*e.Generated, o.sorted())...)
	}
	present, err := o.among(e.Absent)
	if err != nil {
		return nil, faulty("expect.absent", "%w", err)
	}
	if len(present) > 0 {
		out = append(out, Difference{Of: "absent", Got: present})
	}
	if e.LeftOut != nil && !maps.Equal(*e.LeftOut, o.leftOut) {
		out = append(out, Difference{Of: "leftOut", Want: []string{counts(*e.LeftOut)}, Got: []string{counts(o.leftOut)}})
	}
	return out, nil
}

// sorted returns what is wanted, in order.
func (o *outcome) sorted() []map[string]any {
	out := make([]map[string]any, 0, len(o.objects))
	for _, id := range slices.SortedFunc(maps.Keys(o.objects), generate.ID.Compare) {
		out = append(out, o.objects[id].Content)
	}
	return out
}

// among returns the names that are names of what is wanted.
func (o *outcome) among(names []string) ([]string, error) {
	var out []string
	for _, name := range names {
		parts := strings.Split(name, "/")
		if len(parts) != 2 && len(parts) != 3 {
			return nil, fmt.Errorf("%q names no object: give KIND/NAME or KIND/NAMESPACE/NAME", name)
		}
		for id := range o.objects {
			if strings.EqualFold(id.Kind, parts[0]) && id.Name == parts[len(parts)-1] && (len(parts) == 2 || id.Namespace == parts[1]) {
				out = append(out, name)
				break
			}
		}
	}
	return out, nil
}

// compareGenerated pairs each object that is expected with one that is wanted.
func compareGenerated(want, got []map[string]any) []Difference {
	extra := slices.Clone(got)
	d := Difference{Of: "generated"}
	for _, w := range want {
		i := slices.IndexFunc(extra, func(g map[string]any) bool { return within(runtime.DeepCopyJSON(w), g) })
		if i < 0 {
			d.Want = append(d.Want, inLine(w))
			continue
		}
		extra = slices.Delete(extra, i, i+1)
	}
	for _, g := range extra {
		d.Got = append(d.Got, inLine(g))
	}
	if len(d.Want)+len(d.Got) == 0 {
		return nil
	}
	return []Difference{d}
}

// inLine returns an object as a test would have it.
func inLine(object map[string]any) string {
	line, err := source.Line(object)
	if err != nil {
		return fmt.Sprint(object["kind"])
	}
	return line
}

// counts returns what was left out as a test would have it.
func counts(of map[generate.LeftOut]int) string {
	line, err := source.Line(of)
	if err != nil || len(of) == 0 {
		return "nothing"
	}
	return line
}
