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

package admission

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/gate"
	gatecrossplane "kausality.io/operator/internal/gate/crossplane"
	"kausality.io/operator/internal/ledger"
)

const shopPolicy = `
metadata: {name: shop}
spec:
  for: {apiGroup: example.com, apiVersion: v1, kind: Shop}
  validationActions: [Deny]
  failurePolicy: Fail
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  - {kind: ServiceAccount, name: crossplane, namespace: crossplane-system}
  initializing:
    policies:
    - {target: {apiGroup: cloud.example.com, apiVersion: v1, resource: buckets}, relation: ControllerChild, verbs: [Create], mutations: [{jsonPath: spec}]}
    - {target: {external: {provider: cloud}}, relation: External, verbs: [Create]}
  deleting:
    policies:
    - {target: {apiGroup: cloud.example.com, apiVersion: v1, resource: buckets}, relation: ControllerChild, verbs: [Delete]}
    - {target: {external: {provider: cloud}}, relation: External, verbs: [Delete]}
  rules:
  - trigger: spec.size
    policies:
    - {target: {apiGroup: cloud.example.com, apiVersion: v1, resource: buckets}, relation: ControllerChild, mutations: [{jsonPath: spec.forProvider.size}]}
    - {target: {external: {provider: cloud, kind: Bucket}}, relation: External, verbs: [Update]}
`

const (
	bucketLedger = "bucket.kausality.io/allowances"
	contentKey   = v1alpha1.AnnotationGateContent
	pausedKey    = gatecrossplane.PausedAnnotation
	nameKey      = gatecrossplane.ExternalNameAnnotation
)

var (
	gateClosed   = []any{"Observe", "LateInitialize"}
	gateUpdating = []any{"Observe", "Update", "LateInitialize"}
	gateCreating = []any{"Observe", "Create", "LateInitialize"}
)

// shop returns Shop web at generation 4, with a ledger.
func shop(tb testing.TB, allowances ...v1alpha1.Allowance) *unstructured.Unstructured {
	tb.Helper()
	return parsed(tb, "{apiVersion: example.com/v1, kind: Shop, metadata: {name: web, namespace: default}, spec: {size: 2}}", allowances...)
}

// bucket returns Bucket b of that Shop, with the fields of its parameters, and management
// policies.
func bucket(tb testing.TB, fields string, policies []any, edits ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	tb.Helper()
	obj := parsed(tb, "{apiVersion: cloud.example.com/v1, kind: Bucket, metadata: {name: b, namespace: default}, spec: {forProvider: {"+fields+"}}}")
	obj.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Shop", Name: "web", UID: "uid-of-web", Controller: new(true)}})
	if err := unstructured.SetNestedField(obj.Object, policies, "spec", "managementPolicies"); err != nil {
		tb.Fatal(err)
	}
	for _, edit := range edits {
		edit(obj)
	}
	return obj
}

// under returns an object whose gate was last set for what it is with the fields.
func under(tb testing.TB, fields string) func(*unstructured.Unstructured) {
	tb.Helper()
	content := contentOf(bucket(tb, fields, nil))
	return func(obj *unstructured.Unstructured) { annotate(obj, contentKey, content) }
}

// contentOf returns what a gate says that is set for what an object is.
func contentOf(obj *unstructured.Unstructured) string {
	driver := gatecrossplane.Driver{}
	return gate.State{Content: driver.Content(obj), Name: driver.NameOf(obj)}.Annotations()[contentKey]
}

func with(key, value string) func(*unstructured.Unstructured) {
	return func(obj *unstructured.Unstructured) { annotate(obj, key, value) }
}

// saying gives an object a status.
func saying(tb testing.TB, text string) func(*unstructured.Unstructured) {
	tb.Helper()
	status := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &status); err != nil {
		tb.Fatal(err)
	}
	return func(obj *unstructured.Unstructured) { obj.Object["status"] = status }
}

func withLedger(allowances ...v1alpha1.Allowance) func(*unstructured.Unstructured) {
	return with(bucketLedger, ledger.Ledger{}.Merge(allowances...).Encode())
}

func shopHop(field string) v1alpha1.TraceHop {
	return v1alpha1.TraceHop{Kind: "Shop", Name: "web", Generation: 4, Field: field}
}

// mayChangeBucket returns the allowances of Shop web after a change of its size.
func mayChangeBucket() []v1alpha1.Allowance {
	trace := []v1alpha1.TraceHop{shopHop("spec.size")}
	return []v1alpha1.Allowance{
		{APIGroup: "cloud.example.com", Kind: "Bucket", Mutation: "spec.forProvider.size", Generation: 4, Initiator: "alice", Trace: trace},
		{
			Relation: v1alpha1.RelationExternal, External: map[string]string{"provider": "cloud", "kind": "Bucket"},
			Mutations: []string{"Update"}, Generation: 4, Initiator: "alice", Trace: trace,
		},
	}
}

// mayCreateBucket returns the allowances of Shop web after its creation.
func mayCreateBucket() []v1alpha1.Allowance {
	trace := []v1alpha1.TraceHop{shopHop(v1alpha1.FieldCreated)}
	return []v1alpha1.Allowance{
		{APIGroup: "cloud.example.com", Kind: "Bucket", Mutation: "create", Generation: 4, Initiator: "alice", Trace: trace},
		{
			Relation: v1alpha1.RelationExternal, External: map[string]string{"provider": "cloud"},
			Mutations: []string{"Create"}, Generation: 4, Initiator: "alice", Trace: trace,
		},
	}
}

// mayUpdate opens the gate of Bucket b.
func mayUpdate() v1alpha1.Allowance {
	return v1alpha1.Allowance{
		Relation: v1alpha1.RelationExternal, Mutations: []string{"Update"}, Generation: 4, Initiator: "alice",
		Trace: []v1alpha1.TraceHop{shopHop("spec.size"), {Kind: "Bucket", Name: "b", Generation: 4, Field: "spec.forProvider.size"}},
	}
}

// applied returns the object as the API server would store it after the patches.
func applied(tb testing.TB, req admission.Request, resp admission.Response) *unstructured.Unstructured {
	tb.Helper()
	if !resp.Allowed {
		tb.Fatalf("the mutating hook refuses: %s", resp.Result.Message)
	}
	ops, err := json.Marshal(resp.Patches)
	if err != nil {
		tb.Fatal(err)
	}
	patch, err := jsonpatch.DecodePatch(ops)
	if err != nil {
		tb.Fatal(err)
	}
	raw, err := patch.Apply(req.Object.Raw)
	if err != nil {
		tb.Fatal(err)
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(raw); err != nil {
		tb.Fatal(err)
	}
	return obj
}

func policiesIn(obj *unstructured.Unstructured) []any {
	list, _, _ := unstructured.NestedSlice(obj.Object, "spec", "managementPolicies")
	return list
}

// What is held when nothing is left above it can be let go by who could have started it.
func TestOrphanWhoseParentIsGone(t *testing.T) {
	for name, tt := range map[string]struct {
		user   string
		groups []string
		want   string
	}{
		"an initiator of the parent": {"alice", platformTeam, "true"},
		"a stranger":                 {"mallory", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			mutator, _ := (&world{}).hooks(t, shopPolicy)
			held := bucket(t, "size: 1", gateClosed, under(t, "size: 1"), with(pausedKey, "true"),
				with(v1alpha1.AnnotationGateHeld, gate.State{Held: &gate.Hold{User: "mallory"}}.Annotations()[v1alpha1.AnnotationGateHeld]))
			orphan := held.DeepCopy()
			annotate(orphan, v1alpha1.AnnotationOrphan, "true")
			req := asking(t, tt.user, tt.groups, held, orphan)
			resp := mutator.Handle(t.Context(), req)
			if got := applied(t, req, resp).GetAnnotations()[v1alpha1.AnnotationOrphan]; got != tt.want {
				t.Errorf("the annotation is %q, want %q", got, tt.want)
			}
			if warned := len(resp.Warnings) > 0; warned != (tt.want == "") {
				t.Errorf("warnings %q", resp.Warnings)
			}
		})
	}
}

// TestCeilingOfWhatNobodyComposes checks that an initiator has a say in the management policies of
// what nobody composes, and that anybody else is told that they have none.
func TestCeilingOfWhatNobodyComposes(t *testing.T) {
	free := func(obj *unstructured.Unstructured) { obj.SetOwnerReferences(nil) }
	wished := func(user string) func(*unstructured.Unstructured) {
		return with(v1alpha1.AnnotationGateRequested, `{"user":"`+user+`","policies":["*"]}`)
	}
	const limited = `["Observe"]`
	tests := map[string]struct {
		user     string
		groups   []string
		says     any
		edit     func(*unstructured.Unstructured)
		policies []any
		ceiling  string
		warns    string
	}{
		"an initiator":                      {user: "alice", groups: []string{"platform-team"}, says: "*", edit: free, policies: gateClosed},
		"an initiator, as noted":            {user: "alice", groups: []string{"platform-team"}, says: "Observe", edit: wished("alice"), policies: gateClosed},
		"a stranger":                        {user: "mallory", says: "*", edit: free, policies: []any{"Observe"}, ceiling: limited, warns: "of Bucket b counts for nothing, and was left as it was: Group platform-team may change it"},
		"a stranger, as noted":              {user: "mallory", says: "Observe", edit: wished("mallory"), policies: []any{"Observe"}, ceiling: limited, warns: "counts for nothing"},
		"a stranger in an initiator's name": {user: "mallory", says: "Observe", edit: wished("alice"), policies: []any{"Observe"}, ceiling: limited},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			mutator, validator := (&world{}).hooks(t, ownBucketPolicy)
			ceiling := with(v1alpha1.AnnotationGateCeiling, limited)
			before := bucket(t, "size: 1", []any{"Observe"}, under(t, "size: 1"), ceiling, free)
			req := asking(t, tt.user, tt.groups, before, bucket(t, "size: 1", []any{tt.says}, under(t, "size: 1"), ceiling, free, tt.edit))
			resp := mutator.Handle(t.Context(), req)
			got := applied(t, req, resp)
			if diff := cmp.Diff(tt.policies, policiesIn(got)); diff != "" {
				t.Errorf("management policies (-want +got):\n%s", diff)
			}
			if have := got.GetAnnotations()[v1alpha1.AnnotationGateCeiling]; have != tt.ceiling {
				t.Errorf("the ceiling is %q, want %q", have, tt.ceiling)
			}
			if noted, ok := got.GetAnnotations()[v1alpha1.AnnotationGateRequested]; ok {
				t.Errorf("it notes %q", noted)
			}
			if warned := strings.Join(resp.Warnings, "\n"); !strings.Contains(warned, tt.warns) || (tt.warns == "") != (warned == "") {
				t.Errorf("warnings %q do not say %q", warned, tt.warns)
			}
			if resp := validator.Handle(t.Context(), asking(t, tt.user, tt.groups, before, got)); !resp.Allowed {
				t.Errorf("refused: %s", resp.Result.Message)
			}
		})
	}
}

// TestCeilingIsTold checks what people are told of what a ceiling keeps back.
func TestCeilingIsTold(t *testing.T) {
	free := func(obj *unstructured.Unstructured) { obj.SetOwnerReferences(nil) }
	limitedTo := func(text string) func(*unstructured.Unstructured) {
		return with(v1alpha1.AnnotationGateCeiling, text)
	}
	under1, observes := under(t, "size: 1"), []any{"Observe"}
	limited := bucket(t, "size: 1", observes, under1, limitedTo(`["Observe"]`), free)
	tests := map[string]struct {
		before, after *unstructured.Unstructured
		user          string
		says          string
	}{
		"who sets it": {
			before: bucket(t, "size: 1", gateClosed, under1, free), after: bucket(t, "size: 1", observes, under1, free), user: "alice",
			says: "as spec.managementPolicies of Bucket b says so, nothing of Create, Delete, Update is let through to what it stands for outside, whatever is allowed, and that stays when the object is deleted",
		},
		"who creates it so": {after: bucket(t, "size: 1", []any{"Observe", "Create", "Delete"}, free), user: "alice", says: "nothing of Update is let through to what it stands for outside, whatever is allowed; leave"},
		"who changes what it keeps back": {
			before: limited, after: bucket(t, "size: 2", observes, under1, limitedTo(`["Observe"]`), free), user: "alice",
			says: "what this request allows (Update) does not get to what Bucket b stands for outside",
		},
		"who changes something else": {before: limited, after: bucket(t, "size: 1", observes, under1, limitedTo(`["Observe"]`), free, with("a", "b")), user: "alice"},
		"who changes what it lets through": {
			before: bucket(t, "size: 1", observes, under1, limitedTo(`["Observe","Update"]`), free),
			after:  bucket(t, "size: 2", observes, under1, limitedTo(`["Observe","Update"]`), free), user: "alice",
		},
		"who composes it": {after: bucket(t, "size: 1", observes), user: "alice"},
		"who deletes it": {
			before: limited, user: "alice", says: "Bucket b is deleted, and what it stands for outside stays, though it might be deleted as well: the ceiling that its author has set (kausality.io/gate-ceiling)",
		},
		"who may not delete what it stands for": {before: limited, user: "mallory"},
		"who deletes both":                      {before: bucket(t, "size: 1", gateClosed, under1, free), user: "alice"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			mutator, validator := (&world{}).hooks(t, ownBucketPolicy)
			groups := map[string][]string{"alice": {"platform-team"}}[tt.user]
			hook := admission.Handler(mutator)
			if tt.after == nil {
				hook = validator
			}
			warned := strings.Join(hook.Handle(t.Context(), asking(t, tt.user, groups, tt.before, tt.after)).Warnings, "\n")
			if !strings.Contains(warned, tt.says) || (tt.says == "") != (warned == "") {
				t.Errorf("warnings %q do not say %q", warned, tt.says)
			}
		})
	}
}

func TestGateIsSetInEachWrite(t *testing.T) {
	closedUnder := func(fields, approved string, edits ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
		return bucket(t, fields, gateClosed, append(edits, under(t, approved))...)
	}
	held := gate.State{Held: &gate.Hold{User: "alice"}}.Annotations()[v1alpha1.AnnotationGateHeld]
	looked := saying(t, "{conditions: [{type: Synced, status: 'True', reason: ReconcileSuccess}]}")
	namedOther := with(contentKey, contentOf(bucket(t, "size: 1", nil, with(nameKey, "other"))))
	tests := map[string]struct {
		user          string
		groups        []string
		parent        []v1alpha1.Allowance
		before, after *unstructured.Unstructured
		// manager is the field manager of the request.
		manager string
		// policies are the management policies after it, opened the entry that opens
		// the gate, and content the fields that it was granted for.
		policies []any
		opened   string
		content  string
		// named is what it is named outside.
		named string
		// annotations are further ones after the request, absent where empty.
		annotations map[string]string
		reason      string
		liveReads   int64
		warns       string
	}{
		"a covered change opens": {
			user: crossplane, parent: mayChangeBucket(),
			before: closedUnder("size: 1", "size: 1"), after: closedUnder("size: 2", "size: 1"),
			policies: gateUpdating, opened: "Update by alice: spec.size, spec.forProvider.size", content: "size: 2", reason: "Covered",
		},
		"another name outside that is allowed opens, although nothing else changes": {
			user: crossplane, parent: append(mayChangeBucket()[1:], v1alpha1.Allowance{
				APIGroup: "cloud.example.com", Kind: "Bucket", Mutation: "metadata.annotations[crossplane.io/external-name]",
				Generation: 4, Initiator: "alice", Trace: []v1alpha1.TraceHop{shopHop("spec.name")},
			}),
			before: closedUnder("size: 1", "size: 1"), after: closedUnder("size: 1", "size: 1", with(nameKey, "other")),
			policies: gateUpdating, opened: "Update by alice: spec.size, metadata.annotations[crossplane.io/external-name]",
			content: "size: 1", named: "other", reason: "Covered",
		},
		"the name outside taken away by a stranger, where it is another": {
			user: "mallory", parent: mayChangeBucket(),
			before: bucket(t, "size: 1", gateClosed, with(nameKey, "other"), namedOther), after: bucket(t, "size: 1", gateClosed, namedOther),
			policies: []any{"Observe"}, content: "size: 1", named: "other", reason: "Denied", liveReads: 1,
		},
		"another name outside by a stranger": {
			user: "mallory", parent: mayChangeBucket(),
			before: closedUnder("size: 1", "size: 1"), after: closedUnder("size: 1", "size: 1", with(nameKey, "other")),
			policies: []any{"Observe"}, content: "size: 1", reason: "Denied", liveReads: 1,
		},
		"another name outside by the provider": {
			user: provider, before: closedUnder("size: 1", "size: 1"), after: closedUnder("size: 1", "size: 1", with(nameKey, "other")),
			policies: gateClosed, content: "size: 1", named: "other", reason: "Unchanged", liveReads: 1,
		},
		"a creation opens": {
			user: crossplane, parent: mayCreateBucket(), after: bucket(t, "size: 1", []any{"*"}),
			policies: gateCreating, opened: "Create by alice: (created), (created)", content: "size: 1", reason: "Initializing",
		},
		"what the parent allowed a moment ago": {
			user: crossplane, parent: nil,
			before: closedUnder("size: 1", "size: 1"), after: closedUnder("size: 2", "size: 1"),
			policies: gateClosed, content: "size: 1", reason: "Denied", liveReads: 1,
		},
		"a stranger": {
			user: "mallory", parent: mayChangeBucket(),
			before: closedUnder("size: 1", "size: 1"), after: bucket(t, "size: 2", []any{"*"}, under(t, "size: 2")),
			policies: gateClosed, content: "size: 1", reason: "Denied", liveReads: 1,
		},
		"a stranger opens the switch alone": {
			user: "mallory", before: closedUnder("size: 1", "size: 1"), after: bucket(t, "size: 1", []any{"*"}, under(t, "size: 1")),
			policies: gateClosed, content: "size: 1", reason: "Unchanged",
		},
		"a stranger forges everything": {
			user: "mallory", before: closedUnder("size: 1", "size: 1"),
			after: bucket(t, "size: 1", gateUpdating, withLedger(mayUpdate()), with(contentKey, "forged"),
				with(v1alpha1.AnnotationGateCeiling, "[]"), with(v1alpha1.AnnotationGateHeld, "{}"), with(v1alpha1.AnnotationOrphan, "true")),
			policies: gateClosed, content: "size: 1", reason: "Unchanged",
			annotations: map[string]string{v1alpha1.AnnotationGateCeiling: "", v1alpha1.AnnotationGateHeld: "", v1alpha1.AnnotationOrphan: ""},
			warns:       "kausality.io/orphan",
		},
		"an initiator lets what is outside be": {
			user: "alice", groups: platformTeam, before: closedUnder("size: 1", "size: 1"),
			after:    closedUnder("size: 1", "size: 1", with(v1alpha1.AnnotationOrphan, "true")),
			policies: gateClosed, content: "size: 1", reason: "Unchanged", annotations: map[string]string{v1alpha1.AnnotationOrphan: "true"},
		},
		"an initiator who says something else of what is outside": {
			user: "alice", groups: platformTeam, before: closedUnder("size: 1", "size: 1"),
			after:    closedUnder("size: 1", "size: 1", with(v1alpha1.AnnotationOrphan, "True")),
			policies: gateClosed, content: "size: 1", reason: "Unchanged", annotations: map[string]string{v1alpha1.AnnotationOrphan: "True"},
			warns: `kausality.io/orphan has another value than "true"`,
		},
		"an initiator who frees with another value": {
			user: "alice", groups: platformTeam, before: closedUnder("size: 1", "size: 1"),
			after:    closedUnder("size: 1", "size: 1", with(v1alpha1.AnnotationReleaseGate, "yes")),
			policies: gateClosed, content: "size: 1", reason: "Unchanged", annotations: map[string]string{v1alpha1.AnnotationReleaseGate: ""},
			warns: `no value but "true" counts`,
		},
		"late initialization": {
			user:     provider,
			before:   bucket(t, "size: 2", gateUpdating, under(t, "size: 2"), withLedger(mayUpdate())),
			after:    bucket(t, "size: 2, zone: a", gateUpdating, under(t, "size: 2"), withLedger(mayUpdate())),
			policies: gateUpdating, opened: "Update by alice: spec.size, spec.forProvider.size", content: "size: 2, zone: a", reason: "Bookkeeping",
		},
		"an empty struct of a provider's own types": {
			user: provider, before: closedUnder("size: 1", "size: 1"), after: closedUnder("size: 1, readiness: {}", "size: 1"),
			policies: gateClosed, content: "size: 1", reason: "Bookkeeping",
		},
		"an empty struct that a provider's own types drop": {
			user: provider, before: closedUnder("size: 1, readiness: {}", "size: 1"), after: closedUnder("size: 1", "size: 1"),
			policies: gateClosed, content: "size: 1", reason: "Bookkeeping",
		},
		"an empty struct of a provider's own types in an open gate": {
			user:     provider,
			before:   bucket(t, "size: 2", gateUpdating, under(t, "size: 2"), withLedger(mayUpdate())),
			after:    bucket(t, "size: 2, readiness: {}", gateUpdating, under(t, "size: 2"), withLedger(mayUpdate())),
			policies: gateUpdating, opened: "Update by alice: spec.size, spec.forProvider.size", content: "size: 2", reason: "Bookkeeping",
		},
		"an empty struct of a stranger": {
			user: "mallory", parent: mayChangeBucket(),
			before: closedUnder("size: 1", "size: 1"), after: closedUnder("size: 1, readiness: {}", "size: 1"),
			policies: gateClosed, content: "size: 1", reason: "Denied", liveReads: 1,
		},
		"a provider that changes what is there": {
			user: provider, before: closedUnder("size: 1", "size: 1"), after: closedUnder("size: 2", "size: 1"),
			policies: gateClosed, content: "size: 1", reason: "Denied", liveReads: 1,
		},
		"the template's own policies are the ceiling": {
			user: crossplane, manager: composedManager + "x", parent: mayChangeBucket(),
			before: closedUnder("size: 1", "size: 1"),
			after: bucket(t, "size: 2", []any{"Observe", "Update"}, under(t, "size: 1"), func(obj *unstructured.Unstructured) {
				obj.SetManagedFields([]metav1.ManagedFieldsEntry{{
					Manager: composedManager + "x", Operation: metav1.ManagedFieldsOperationApply,
					FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:managementPolicies":{}}}`),
				}})
			}),
			policies: []any{"Observe", "Update"}, opened: "Update by alice: spec.size, spec.forProvider.size", content: "size: 2", reason: "Covered",
			annotations: map[string]string{v1alpha1.AnnotationGateCeiling: `["Observe","Update"]`},
		},
		"the pause of a hold": {
			user: "mallory", before: closedUnder("size: 1", "size: 1", with(v1alpha1.AnnotationGateHeld, held), with(pausedKey, "true")),
			after:    closedUnder("size: 1", "size: 1", with(pausedKey, "false")),
			policies: gateClosed, content: "size: 1", reason: "Unchanged",
			annotations: map[string]string{v1alpha1.AnnotationGateHeld: held, pausedKey: "true"},
		},
		"the controller closes and takes the entry out": {
			user: operatorUser, before: bucket(t, "size: 2", gateUpdating, under(t, "size: 2"), withLedger(mayUpdate())),
			after:    bucket(t, "size: 2", gateClosed, under(t, "size: 2")),
			policies: gateClosed, content: "size: 2", reason: "Own",
		},
		"the controller asks, and what was never there may be created by now": {
			user: operatorUser, parent: mayCreateBucket(), before: closedUnder("size: 1", "size: 1", looked), after: closedUnder("size: 1", "size: 1", looked),
			policies: gateCreating, opened: "Create by alice: (created), (created)", content: "size: 1", reason: "Own", liveReads: 1,
		},
		"the controller asks, and what was changed since may be created by now": {
			user: operatorUser, parent: mayCreateBucket(), before: closedUnder("size: 2", "size: 1", looked), after: closedUnder("size: 2", "size: 1", looked),
			policies: gateCreating, opened: "Create by alice: (created), (created)", content: "size: 2", reason: "Own", liveReads: 1,
		},
		"the controller asks, and nothing may be created": {
			user: operatorUser, parent: mayChangeBucket(), before: closedUnder("size: 1", "size: 1", looked), after: closedUnder("size: 1", "size: 1", looked),
			policies: gateClosed, content: "size: 1", reason: "Own", liveReads: 1,
		},
		"the controller asks for what was lost": {
			user: operatorUser, parent: mayCreateBucket(),
			before:   closedUnder("size: 1", "size: 1", looked, with("crossplane.io/external-create-succeeded", "2026-03-01T10:00:00Z")),
			after:    closedUnder("size: 1", "size: 1", looked, with("crossplane.io/external-create-succeeded", "2026-03-01T10:00:00Z")),
			policies: gateClosed, content: "size: 1", reason: "Own",
		},
		"somebody else asks": {
			user: crossplane, parent: mayCreateBucket(), before: closedUnder("size: 1", "size: 1", looked), after: closedUnder("size: 1", "size: 1", looked),
			policies: gateClosed, content: "size: 1", reason: "Unchanged",
		},
		"the controller cannot put one in": {
			user: operatorUser, before: closedUnder("size: 2", "size: 2"), after: closedUnder("size: 2", "size: 2", withLedger(mayUpdate())),
			policies: gateClosed, content: "size: 2", reason: "Own",
		},
		"what was there before its policy is left alone": {
			user: "mallory", before: bucket(t, "size: 1", []any{"*"}), after: bucket(t, "size: 1", []any{"*"}, with(contentKey, "forged")),
			policies: []any{"*"}, reason: "Unchanged",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := &world{cached: map[string]*unstructured.Unstructured{"Shop/web": shop(t, tt.parent...)}}
			w.live = w.cached
			mutator, validator := w.hooks(t, shopPolicy)
			req := asking(t, tt.user, tt.groups, tt.before, tt.after)
			if tt.manager != "" {
				req.Options = runtime.RawExtension{Raw: []byte(`{"fieldManager":"` + tt.manager + `"}`)}
			}
			resp := mutator.Handle(t.Context(), req)
			got := applied(t, req, resp)

			reads := w.liveReads.Load()
			again := askAgain(t, mutator, req, resp)
			if diff := cmp.Diff(policiesIn(got), policiesIn(again)); diff != "" {
				t.Errorf("management policies, asked again (-first +again):\n%s", diff)
			}

			if diff := cmp.Diff(tt.policies, policiesIn(got)); diff != "" {
				t.Errorf("management policies (-want +got):\n%s", diff)
			}
			content := ""
			if tt.content != "" {
				want := bucket(t, tt.content, nil)
				if tt.named != "" {
					annotate(want, nameKey, tt.named)
				}
				content = contentOf(want)
			}
			if diff := cmp.Diff(content, got.GetAnnotations()[contentKey]); diff != "" {
				t.Errorf("content (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.opened, openedBy(t, got)); diff != "" {
				t.Errorf("what opens the gate (-want +got):\n%s", diff)
			}
			for key, want := range tt.annotations {
				if have := got.GetAnnotations()[key]; have != want {
					t.Errorf("annotation %s is %q, want %q", key, have, want)
				}
			}
			if warned := strings.Join(resp.Warnings, "\n"); tt.warns != "" && !strings.Contains(warned, tt.warns) {
				t.Errorf("warnings %q do not say %q", warned, tt.warns)
			}
			if got := reads; got > tt.liveReads {
				t.Errorf("%d live reads", got)
			}

			got.SetGeneration(1)
			if tt.before != nil {
				got.SetGeneration(5)
			}
			verdict := asking(t, tt.user, tt.groups, tt.before, got)
			verdict.Options = req.Options
			if reason := validator.Handle(t.Context(), verdict).AuditAnnotations[auditReason]; reason != tt.reason {
				t.Errorf("reason %q, want %q", reason, tt.reason)
			}
		})
	}
}

// openedBy returns what opens the gate of an object, in short.
func openedBy(tb testing.TB, obj *unstructured.Unstructured) string {
	tb.Helper()
	l, err := ledger.Decode(obj.GetAnnotations()[bucketLedger])
	if err != nil {
		tb.Fatal(err)
	}
	var out []string
	for _, e := range l {
		if !e.IsGate() {
			continue
		}
		fields := make([]string, 0, len(e.Trace))
		for _, hop := range e.Trace {
			fields = append(fields, hop.Field)
		}
		out = append(out, strings.Join(e.Mutations, "+")+" by "+e.Initiator+": "+strings.Join(fields, ", "))
	}
	return strings.Join(out, "; ")
}

func TestSoftPoliciesOnlyReport(t *testing.T) {
	before := bucket(t, "size: 1", []any{"*"})
	tests := map[string]struct {
		action string
		user   string
		parent []v1alpha1.Allowance
		after  *unstructured.Unstructured
		audit  string
	}{
		"what would wait is warned of":        {action: "Warn", user: crossplane, parent: mayChangeBucket()[:1], after: bucket(t, "size: 2", []any{"*"}), audit: "would wait: shop"},
		"what has a cause is not":             {action: "Warn", user: crossplane, parent: mayChangeBucket(), after: bucket(t, "size: 2", []any{"*"})},
		"what the verdict warns of already":   {action: "Warn", user: "mallory", after: bucket(t, "size: 2", []any{"*"})},
		"what changes nothing outside":        {action: "Warn", user: "mallory", after: bucket(t, "size: 1", []any{"*"}, with("a", "b"))},
		"what a provider does":                {action: "Warn", user: provider, after: bucket(t, "size: 2", []any{"*"})},
		"what would wait is in the audit log": {action: "Audit", user: crossplane, parent: mayChangeBucket()[:1], after: bucket(t, "size: 2", []any{"*"}), audit: "would wait: shop"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := &world{cached: map[string]*unstructured.Unstructured{"Shop/web": shop(t, tt.parent...)}}
			w.live = w.cached
			mutator, _ := w.hooks(t, strings.Replace(shopPolicy, "[Deny]", "["+tt.action+"]", 1))
			req := asking(t, tt.user, nil, before, tt.after)
			resp := mutator.Handle(t.Context(), req)
			if diff := cmp.Diff([]any{"*"}, policiesIn(applied(t, req, resp))); diff != "" {
				t.Errorf("management policies (-want +got):\n%s", diff)
			}
			if got := resp.AuditAnnotations[auditGate]; got != tt.audit {
				t.Errorf("audit annotation %q, want %q", got, tt.audit)
			}
			warned := strings.Contains(strings.Join(resp.Warnings, "\n"), "it would wait if AllowancePolicy shop said Deny")
			if want := tt.audit != "" && tt.action == "Warn"; warned != want {
				t.Errorf("warned = %t: %q", warned, resp.Warnings)
			}
		})
	}
}

func TestGateThatIsNotSetRightIsRefused(t *testing.T) {
	tests := map[string]struct {
		user   string
		parent []v1alpha1.Allowance
		before *unstructured.Unstructured
		after  *unstructured.Unstructured
		says   string
	}{
		"another webhook has opened it": {
			user: crossplane, before: bucket(t, "size: 1", gateClosed, under(t, "size: 1")),
			after: bucket(t, "size: 1", []any{"*"}, under(t, "size: 1")), says: "let Create through",
		},
		"another webhook has allowed it": {
			user: crossplane, before: bucket(t, "size: 1", gateClosed, under(t, "size: 1")),
			after: bucket(t, "size: 1", gateClosed, under(t, "size: 1"), withLedger(mayUpdate())), says: "what nobody allowed",
		},
		"what it was opened for was changed afterwards": {
			user: crossplane, before: bucket(t, "size: 1", gateClosed, under(t, "size: 1")),
			after: bucket(t, "size: 1", gateClosed, under(t, "size: 3")), says: "would not be known",
		},
		"ours was not asked": {
			user: crossplane, parent: mayChangeBucket(), before: bucket(t, "size: 1", gateClosed, under(t, "size: 1")),
			after: bucket(t, "size: 2", gateClosed, under(t, "size: 1")), says: "lack what was allowed",
		},
		"a creation that ours was not asked about": {
			user: crossplane, parent: mayCreateBucket()[:1], after: bucket(t, "size: 1", []any{"*"}), says: "would not be known",
		},
		"a provider is not stopped": {
			user: provider, before: bucket(t, "size: 1", gateUpdating, under(t, "size: 1"), withLedger(mayUpdate())),
			after: bucket(t, "size: 1, zone: a", gateUpdating, under(t, "size: 1"), withLedger(mayUpdate())),
		},
		"nor the controller": {
			user: operatorUser, before: bucket(t, "size: 1", gateClosed, under(t, "size: 1")), after: bucket(t, "size: 1", []any{"*"}),
		},
		"nor what nobody has adopted": {
			user: "mallory", before: bucket(t, "size: 1", []any{"*"}, with(pausedKey, "true")), after: bucket(t, "size: 1", []any{"*"}),
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := &world{cached: map[string]*unstructured.Unstructured{"Shop/web": shop(t, tt.parent...)}}
			w.live = w.cached
			_, validator := w.hooks(t, shopPolicy)
			if tt.before != nil {
				tt.after.SetGeneration(5)
			}
			resp := validator.Handle(t.Context(), asking(t, tt.user, nil, tt.before, tt.after))
			if resp.Allowed != (tt.says == "") {
				t.Fatalf("allowed = %t: %s", resp.Allowed, resp.Result.Message)
			}
			if !resp.Allowed && (resp.Result.Code != http.StatusConflict || !strings.Contains(resp.Result.Message, tt.says)) {
				t.Errorf("code %d, message %q, want one that says %q", resp.Result.Code, resp.Result.Message, tt.says)
			}
		})
	}
}

// ownBucketPolicy is for buckets that nobody composes.
const ownBucketPolicy = `
metadata: {name: bucket}
spec:
  for: {apiGroup: cloud.example.com, apiVersion: v1, kind: Bucket}
  subjects: [{kind: Group, name: platform-team, mayInitiate: true}]
  deleting:
    policies:
    - {target: {external: {kind: Bucket}}, relation: External, verbs: [Delete]}
  rules:
  - trigger: spec.forProvider.size
    policies:
    - {target: {external: {kind: Bucket}}, relation: External, verbs: [Update]}
`

func TestDeletionIsHeld(t *testing.T) {
	going := func(obj *unstructured.Unstructured) {
		now := metav1.Unix(1_700_000_000, 0)
		obj.SetDeletionTimestamp(&now)
	}
	parentGoing := func() *unstructured.Unstructured {
		parent := shop(t)
		going(parent)
		return parent
	}
	deletion := &v1alpha1.Deletion{User: "alice", Initiator: "alice", Trace: []v1alpha1.TraceHop{shopHop("(deleted)")}, Policies: []string{"shop"}}
	gone := &v1alpha1.AllowanceRecord{Status: v1alpha1.AllowanceRecordStatus{Deletion: deletion}}
	straying := gone.DeepCopy()
	straying.Spec.TargetRef.UID = "uid-of-web"
	straying.Status.Strays = []v1alpha1.StrayChild{{UID: "uid-of-b"}}
	aStray := func(obj *unstructured.Unstructured) { obj.SetUID("uid-of-b") }
	inherited := &v1alpha1.AllowanceRecord{Status: v1alpha1.AllowanceRecordStatus{Deletion: &v1alpha1.Deletion{User: "alice", Initiator: "alice"}}}
	heldFor := func(user string) func(*unstructured.Unstructured) {
		return with(v1alpha1.AnnotationGateHeld, gate.State{Held: &gate.Hold{User: user}}.Annotations()[v1alpha1.AnnotationGateHeld])
	}
	free := func(obj *unstructured.Unstructured) { obj.SetOwnerReferences(nil) }
	const collector = "system:serviceaccount:kube-system:generic-garbage-collector"
	tests := map[string]struct {
		user   string
		groups []string
		// policies beside those for Shops.
		policies []string
		// live is the record of the parent as the API server has it, where that is another one.
		live   *v1alpha1.AllowanceRecord
		parent *unstructured.Unstructured
		record *v1alpha1.AllowanceRecord
		object *unstructured.Unstructured
		dryRun bool
		broken error
		want   *gate.Hold
		code   int32
	}{
		"the collector follows a parent that is gone": {
			user: collector, record: gone, object: bucket(t, "size: 1", gateClosed, under(t, "size: 1")),
			want: &gate.Hold{User: collector, Initiator: "alice", Allowed: true},
		},
		"a stray of a parent that is gone": {
			user: collector, record: straying, object: bucket(t, "size: 1", gateClosed, under(t, "size: 1"), aStray),
			want: &gate.Hold{User: collector, Initiator: "alice"},
		},
		"a stray of a parent that goes": {
			user: crossplane, parent: parentGoing(), record: straying, object: bucket(t, "size: 1", gateClosed, under(t, "size: 1"), aStray),
			want: &gate.Hold{User: crossplane, Initiator: "alice"},
		},
		"the same, and nobody knows who deleted the parent": {
			user: collector, object: bucket(t, "size: 1", gateClosed, under(t, "size: 1")),
			want: &gate.Hold{User: collector, Initiator: collector},
		},
		"the parent goes": {
			user: crossplane, parent: parentGoing(), record: gone, object: bucket(t, "size: 1", gateClosed, under(t, "size: 1")),
			want: &gate.Hold{User: crossplane, Initiator: "alice", Allowed: true},
		},
		"the collector, of a parent that stays": {
			user: collector, parent: shop(t), object: bucket(t, "size: 1", gateClosed, under(t, "size: 1")),
			want: &gate.Hold{User: collector, Initiator: collector},
		},
		"what was there before its policy": {
			user: collector, parent: shop(t), object: bucket(t, "size: 1", []any{"*"}),
			want: &gate.Hold{User: collector, Initiator: collector},
		},
		"a pause of somebody else's": {
			user: collector, parent: shop(t), object: bucket(t, "size: 1", gateClosed, under(t, "size: 1"), with(pausedKey, "true")),
			want: &gate.Hold{User: collector, Initiator: collector, Paused: true},
		},
		"a dry run": {
			user: collector, parent: shop(t), object: bucket(t, "size: 1", gateClosed, under(t, "size: 1")), dryRun: true,
		},
		"the collector follows a parent that is gone with what was above it": {
			user: collector, record: inherited, live: gone, object: bucket(t, "size: 1", gateClosed, under(t, "size: 1")),
			want: &gate.Hold{User: collector, Initiator: "alice", Allowed: true},
		},
		"once more, by the same": {
			user: "mallory", object: bucket(t, "size: 1", gateClosed, under(t, "size: 1"), going, heldFor("mallory"), with(pausedKey, "true")),
			policies: []string{ownBucketPolicy},
		},
		"once more, by who may initiate": {
			user: "alice", groups: []string{"platform-team"}, policies: []string{ownBucketPolicy},
			object: bucket(t, "size: 1", gateClosed, under(t, "size: 1"), going, heldFor("mallory"), with(pausedKey, "true"), free),
			want:   &gate.Hold{User: "alice", Initiator: "alice", Allowed: true},
		},
		"once more, while the first goes on": {
			user: "alice", groups: []string{"platform-team"}, policies: []string{ownBucketPolicy},
			object: bucket(t, "size: 1", gateClosed, under(t, "size: 1"), going, with(v1alpha1.AnnotationGateHeld, `{"user":"bob","allowed":true}`), free),
		},
		"what is being deleted": {
			user: collector, parent: shop(t), object: bucket(t, "size: 1", gateClosed, under(t, "size: 1"), going),
		},
		"a stranger, who is refused": {
			user: "mallory", parent: shop(t), object: bucket(t, "size: 1", gateClosed, under(t, "size: 1")), code: http.StatusForbidden,
		},
		"the API server is away": {
			user: collector, object: bucket(t, "size: 1", gateClosed, under(t, "size: 1")), broken: errAway, code: http.StatusInternalServerError,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := &world{cached: map[string]*unstructured.Unstructured{}, records: map[types.UID]*v1alpha1.AllowanceRecord{}, broken: tt.broken}
			if tt.parent != nil {
				w.cached["Shop/web"] = tt.parent
			}
			if tt.record != nil {
				w.records["uid-of-web"] = tt.record
			}
			if tt.live != nil {
				w.liveRecords = map[types.UID]*v1alpha1.AllowanceRecord{"uid-of-web": tt.live}
			}
			w.live = w.cached
			_, validator := w.hooks(t, append([]string{shopPolicy}, tt.policies...)...)
			req := asking(t, tt.user, tt.groups, tt.object, nil)
			req.DryRun = &tt.dryRun
			resp := validator.Handle(t.Context(), req)
			if resp.Allowed != (tt.code == 0) || !resp.Allowed && resp.Result.Code != tt.code {
				t.Fatalf("allowed = %t, %v", resp.Allowed, resp.Result)
			}
			var got *gate.Hold
			if len(w.holds) > 0 && tt.code == 0 {
				if w.holds[0][pausedKey] != "true" {
					t.Errorf("held without a pause: %v", w.holds[0])
				}
				got = gate.ReadState(w.holds[0]).Held
				got.Trace = nil
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("hold (-want +got):\n%s", diff)
			}

			// The API server asks again where the write got in between.
			if got == nil {
				return
			}
			for key, value := range w.holds[0] {
				annotate(tt.object, key, value)
			}
			if resp := validator.Handle(t.Context(), asking(t, tt.user, tt.groups, tt.object, nil)); !resp.Allowed || len(w.holds) > 1 {
				t.Errorf("allowed = %t, %d writes", resp.Allowed, len(w.holds))
			}
		})
	}
}

// With a namespace the records in it go: who deletes what has something outside that
// may go along is kept elsewhere.
func TestDeletionWithNamespaceIsKept(t *testing.T) {
	const namespaces = "system:serviceaccount:kube-system:namespace-controller"
	for name, tt := range map[string]struct {
		user   string
		groups []string
		policy string
		want   int
	}{
		"by the namespace controller":               {user: namespaces, policy: shopPolicy, want: 1},
		"by a person":                               {user: "alice", groups: platformTeam, policy: shopPolicy},
		"where nothing outside may go, by the same": {user: namespaces, policy: strings.ReplaceAll(shopPolicy, "Delete]", "Update]")},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{cached: map[string]*unstructured.Unstructured{"Shop/web": shop(t)}, records: map[types.UID]*v1alpha1.AllowanceRecord{}}
			w.live = w.cached
			_, validator := w.hooks(t, tt.policy)
			if resp := validator.Handle(t.Context(), asking(t, tt.user, tt.groups, shop(t), nil)); !resp.Allowed {
				t.Fatalf("refused: %v", resp.Result)
			}
			if len(w.kept) != tt.want || len(w.kept)+len(w.deletions) > 1 {
				t.Errorf("kept %v, recorded %v", w.kept, w.deletions)
			}
			for _, d := range w.kept {
				if d.User != namespaces || len(d.Policies) != 1 || len(d.Trace) != 1 {
					t.Errorf("kept %+v", d)
				}
			}
		})
	}
}
