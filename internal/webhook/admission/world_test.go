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
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"sync/atomic"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/change"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/discovery"
	"kausality.io/operator/internal/eventrecorder"
	"kausality.io/operator/internal/gate"
	gatecrossplane "kausality.io/operator/internal/gate/crossplane"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lineage"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
	"kausality.io/operator/internal/upgrade"
)

const (
	operatorUser     = "system:serviceaccount:kausality-system:operator"
	deployer         = "system:serviceaccount:kube-system:deployment-controller"
	ledgerKey        = "kausality.io/allowances"
	replicaSetLedger = "replicaset.kausality.io/allowances"
)

const deploymentPolicy = `
metadata: {name: deployment}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: Deployment}
  validationActions: [Deny]
  subjects:
  - {kind: Group, name: platform-team, mayInitiate: true}
  - {kind: ServiceAccount, name: deployment-controller, namespace: kube-system}
  rules:
  - trigger: spec.replicas
    policies:
    - target: {apiGroup: apps, apiVersion: v1, resource: replicasets}
      relation: ControllerChild
      mutations: [{jsonPath: spec.replicas}]
`

const replicaSetPolicy = `
metadata: {name: replicaset}
spec:
  for: {apiGroup: apps, apiVersion: v1, kind: ReplicaSet}
  validationActions: [Deny]
  rules:
  - trigger: spec.replicas
    policies:
    - target: {apiVersion: v1, resource: pods}
      relation: ControllerChild
      verbs: [Create, Delete]
`

// world is everything that the webhooks read and write, as values.
type world struct {
	cached, live map[string]*unstructured.Unstructured
	records      map[types.UID]*v1alpha1.AllowanceRecord
	// liveRecords are what the API server has where the cache still has what is in records.
	liveRecords map[types.UID]*v1alpha1.AllowanceRecord
	pending     []v1alpha1.PendingGrant
	deletions   []v1alpha1.Deletion
	kept        []v1alpha1.Deletion
	observed    []record.Outcome
	notices     []eventrecorder.Notice
	liveReads   atomic.Int64
	holds       []map[string]string
	ignored     map[types.UID][]string
	broken      error
	// unlisted is why the API server lists nothing.
	unlisted  error
	unwatched bool
	// unrecorded is true where no object has a record but those that are said to have one.
	unrecorded bool
	// keptLedgers are what was void of the ledgers for which a record was made.
	keptLedgers []ledger.Ledger
	// keptCreations are the objects for which a record was made as they were created.
	keptCreations []types.UID
	// losing is how objects lose fields that are written in another version than policies name, and lacks returns
	// what that version has of one.
	losing *discovery.Losing
	lacks  func(obj *unstructured.Unstructured, version string) *unstructured.Unstructured
	// storing is what is stored of objects that are written in another version than that in which they are.
	storing *discovery.Storing
	// versionToName is the version that commands have to name.
	versionToName string
	// behindRecords is set where the cache of records is.
	behindRecords bool
}

func key(kind, name string) string { return kind + "/" + name }

func (w *world) Get(_ context.Context, gvk schema.GroupVersionKind, k types.NamespacedName) (*unstructured.Unstructured, error) {
	if obj, ok := w.cached[key(gvk.Kind, k.Name)]; ok {
		return obj, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{}, k.Name)
}

func (w *world) Live(_ context.Context, gvk schema.GroupVersionKind, k types.NamespacedName) (*unstructured.Unstructured, error) {
	w.liveReads.Add(1)
	if w.broken != nil {
		return nil, w.broken
	}
	if obj, ok := w.live[key(gvk.Kind, k.Name)]; ok {
		return obj, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{}, k.Name)
}

func (w *world) LiveIn(_ context.Context, gvk schema.GroupVersionKind, k types.NamespacedName) (*unstructured.Unstructured, error) {
	w.liveReads.Add(1)
	if w.broken != nil {
		return nil, w.broken
	}
	if obj, ok := w.live[key(gvk.Kind, k.Name)]; ok && w.lacks != nil {
		return w.lacks(obj, gvk.Version), nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{}, k.Name)
}

func (w *world) ByUID(_ context.Context, uid types.UID) (*unstructured.Unstructured, error) {
	for _, obj := range w.cached {
		if obj.GetUID() == uid {
			return obj, nil
		}
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{}, string(uid))
}

func (w *world) Ignores(_ context.Context, obj *unstructured.Unstructured, parent lineage.Ref) bool {
	return slices.Contains(w.ignored[obj.GetUID()], parent.ID())
}

func (w *world) Names(gvk schema.GroupVersionKind, namespace string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, obj := range w.cached {
			if obj.GetKind() == gvk.Kind && obj.GetNamespace() == namespace && !yield(obj.GetName()) {
				return
			}
		}
	}
}

func (w *world) List(_ context.Context, gvk schema.GroupVersionKind) iter.Seq2[*unstructured.Unstructured, error] {
	return func(yield func(*unstructured.Unstructured, error) bool) {
		for _, obj := range w.cached {
			if obj.GetKind() == gvk.Kind && !yield(obj, nil) {
				return
			}
		}
	}
}

func (w *world) ListLive(_ context.Context, gvk schema.GroupVersionKind, namespace string) ([]*unstructured.Unstructured, error) {
	w.liveReads.Add(1)
	if err := cmp.Or(w.broken, w.unlisted); err != nil {
		return nil, err
	}
	var out []*unstructured.Unstructured
	for _, obj := range w.live {
		if obj.GetKind() == gvk.Kind && (namespace == "" || obj.GetNamespace() == namespace) {
			out = append(out, obj)
		}
	}
	return out, nil
}

func (w *world) Behind(schema.GroupVersionKind) bool { return w.unwatched }

// store is the world's records.
type store struct{ *world }

func (s store) Get(_ context.Context, t v1alpha1.TargetReference) (*v1alpha1.AllowanceRecord, error) {
	rec := s.records[t.UID]
	if s.unrecorded {
		return rec, nil
	}
	if rec = rec.DeepCopy(); rec == nil {
		rec = &v1alpha1.AllowanceRecord{Spec: v1alpha1.AllowanceRecordSpec{TargetRef: t}}
	}
	rec.Spec.LedgerKnown = true
	return rec, nil
}

func (s store) Behind() bool { return s.behindRecords }

func (s store) Live(ctx context.Context, t v1alpha1.TargetReference) (*v1alpha1.AllowanceRecord, error) {
	if rec, ok := s.liveRecords[t.UID]; ok {
		return rec, s.broken
	}
	rec, _ := s.Get(ctx, t)
	return rec, s.broken
}

func (s store) KeepLedger(_ context.Context, _ v1alpha1.TargetReference, _ types.UID, void ledger.Ledger) error {
	s.keptLedgers = append(s.keptLedgers, void)
	return s.broken
}

func (s store) KeepCreation(_ context.Context, target v1alpha1.TargetReference, _ types.UID, pending ...v1alpha1.PendingGrant) error {
	s.pending = append(s.pending, pending...)
	s.keptCreations = append(s.keptCreations, target.UID)
	return s.broken
}

func (s store) AddPending(_ context.Context, _ v1alpha1.TargetReference, p v1alpha1.PendingGrant, _ *unstructured.Unstructured) error {
	s.pending = append(s.pending, p)
	return s.broken
}

func (s store) BreakGlass(_ context.Context, parent v1alpha1.TargetReference, b v1alpha1.BrokenGlass) error {
	rec := &v1alpha1.AllowanceRecord{Spec: v1alpha1.AllowanceRecordSpec{TargetRef: parent}}
	rec.Status.BrokenGlass = []v1alpha1.BrokenGlass{b}
	s.records[parent.UID] = rec
	return s.broken
}

func (s store) TakeBrokenGlass(
	_ context.Context, parent v1alpha1.TargetReference, request v1alpha1.BrokenGlass,
) (string, bool, error) {
	rec := s.records[parent.UID]
	if rec == nil || len(rec.Status.BrokenGlass) == 0 || rec.Status.BrokenGlass[0].User != request.User {
		return "", false, s.broken
	}
	reason := rec.Status.BrokenGlass[0].Reason
	rec.Status.BrokenGlass = nil
	return reason, true, s.broken
}

// MayBreakGlass lets the group glass-breakers.
func (w *world) MayBreakGlass(_ context.Context, user authenticationv1.UserInfo, _ []string) (bool, error) {
	return slices.Contains(user.Groups, glassBreakers[0]), w.broken
}

func (s store) AddStray(_ context.Context, parent v1alpha1.TargetReference, child v1alpha1.StrayChild) error {
	rec := s.records[parent.UID]
	if rec == nil {
		rec = &v1alpha1.AllowanceRecord{Spec: v1alpha1.AllowanceRecordSpec{TargetRef: parent}}
		s.records[parent.UID] = rec
	}
	rec.Status.Strays = append(rec.Status.Strays, child)
	return s.broken
}

func (s store) SetAside(_ context.Context, parent v1alpha1.TargetReference, child v1alpha1.SetAsideChild) error {
	if child.Time = metav1.Now(); child.Returned != nil {
		child.Returned.Time = child.Time
	}
	if s.records == nil {
		s.records = map[types.UID]*v1alpha1.AllowanceRecord{}
	}
	rec := s.records[parent.UID]
	if rec == nil {
		rec = &v1alpha1.AllowanceRecord{Spec: v1alpha1.AllowanceRecordSpec{TargetRef: parent}}
		s.records[parent.UID] = rec
	}
	rec.Status.SetAside = append(slices.DeleteFunc(rec.Status.SetAside, func(c v1alpha1.SetAsideChild) bool { return c.UID == child.UID }), child)
	return s.broken
}

func (s store) Return(_ context.Context, parent v1alpha1.TargetReference, child types.UID, returned v1alpha1.ReturnedChild) error {
	returned.Time = metav1.Now()
	for i, c := range s.records[parent.UID].Status.SetAside {
		if c.UID == child {
			s.records[parent.UID].Status.SetAside[i].Returned = &returned
		}
	}
	return s.broken
}

func (s store) RememberVersion(
	_ context.Context, parent v1alpha1.TargetReference, note func([]v1alpha1.ControllerVersion) *v1alpha1.ControllerVersion,
) error {
	rec := s.records[parent.UID]
	if rec == nil {
		rec = &v1alpha1.AllowanceRecord{Spec: v1alpha1.AllowanceRecordSpec{TargetRef: parent}}
	}
	if v := note(rec.Status.Versions); v != nil && s.broken == nil {
		rec.Status.Versions = upgrade.Remember(rec.Status.Versions, *v)
		s.records[parent.UID] = rec
	}
	return s.broken
}

func (s store) AcceptParents(_ context.Context, t v1alpha1.TargetReference) error {
	s.records[t.UID].Status.IgnoredParents = nil
	return s.broken
}

func (s store) RemoveStray(_ context.Context, parent v1alpha1.TargetReference, child types.UID) error {
	status := &s.records[parent.UID].Status
	status.Strays = slices.DeleteFunc(status.Strays, func(c v1alpha1.StrayChild) bool { return c.UID == child })
	return s.broken
}

func (s store) SetDeletion(_ context.Context, _ v1alpha1.TargetReference, d v1alpha1.Deletion) error {
	s.deletions = append(s.deletions, d)
	return s.broken
}

func (s store) KeepDeletion(_ context.Context, _ v1alpha1.TargetReference, d v1alpha1.Deletion) error {
	s.kept = append(s.kept, d)
	return s.broken
}

func (s store) LiveDeletion(ctx context.Context, ref v1alpha1.TargetReference) (*v1alpha1.Deletion, error) {
	rec, err := s.Live(ctx, ref)
	if rec == nil {
		return nil, err
	}
	return rec.Status.Deletion, err
}

func (s store) DeletionOf(_ context.Context, uid types.UID) (*v1alpha1.Deletion, error) {
	if rec := s.records[uid]; rec != nil {
		return rec.Status.Deletion, nil
	}
	return nil, nil
}

func (s store) StraysOf(_ context.Context, uid types.UID) ([]v1alpha1.StrayChild, error) {
	if rec := s.records[uid]; rec != nil {
		return rec.Status.Strays, nil
	}
	return nil, nil
}

func (s store) Observe(o record.Outcome) { s.observed = append(s.observed, o) }

func (w *world) Post(n eventrecorder.Notice) { w.notices = append(w.notices, n) }

// served are the kinds of the tests.
type served struct {
	losing  *discovery.Losing
	storing *discovery.Storing
	named   string
}

// VersionToName returns what the test says of all kinds.
func (s served) VersionToName(schema.GroupKind) string { return s.named }

// Losing returns what the test says of all kinds.
func (s served) Losing(resource schema.GroupVersionResource, requested string) *discovery.Losing {
	if requested == resource.Version {
		return nil
	}
	return s.losing
}

// Storing returns what the test says of all kinds.
func (s served) Storing(_ schema.GroupVersionResource, requested string) *discovery.Storing {
	if s.storing == nil || s.storing.Version == requested {
		return nil
	}
	return s.storing
}

// resources of those kinds.
var resources = map[string]string{
	"Deployment": "deployments", "ReplicaSet": "replicasets", "Pod": "pods",
	"HorizontalPodAutoscaler": "horizontalpodautoscalers", "ScaledObject": "scaledobjects",
	"StatefulSet": "statefulsets", "ControllerRevision": "controllerrevisions",
	"Database": "databases", "XDatabase": "xdatabases", "Instance": "instances", "Bucket": "buckets",
	"WebApp": "webapps", "ConfigMap": "configmaps",
}

func (served) KindFor(gvr schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
	for kind, resource := range resources {
		if resource == gvr.Resource {
			return gvr.GroupVersion().WithKind(kind), true
		}
	}
	return schema.GroupVersionKind{}, false
}
func (served) ResourceFor(kind schema.GroupVersionKind) (schema.GroupVersionResource, bool) {
	return kind.GroupVersion().WithResource(resources[kind.Kind]), resources[kind.Kind] != ""
}
func (served) Categories(kind schema.GroupKind) []string {
	return map[string][]string{"Database": {"claim"}, "XDatabase": {"composite"}, "WebApp": {"kro.run/owned"}}[kind.Kind]
}
func (served) Namespaced(schema.GroupVersionKind) bool                 { return true }
func (served) ReplicasPath(schema.GroupVersionResource, string) string { return "spec.replicas" }
func (s served) GroupKindFor(r schema.GroupVersionResource) (schema.GroupKind, bool) {
	kind, ok := s.KindFor(r)
	return kind.GroupKind(), ok && r.Version != "v1beta1"
}
func (served) Schema(schema.GroupVersionKind) change.Schema     { return nil }
func (served) Labels(context.Context, string) map[string]string { return map[string]string{} }

// cloudGates are those of the kind Bucket, whose provider is cloud.
type cloudGates struct{}

func (cloudGates) Gate(_ context.Context, kind schema.GroupVersionKind) (gate.Driver, gate.Kind, bool) {
	return gatecrossplane.Driver{}, gate.Kind{GVK: kind, Resource: "buckets", Provider: "cloud"}, kind.Kind == "Bucket"
}

func (cloudGates) IsSystem(r policy.Requester) bool   { return r.Username == provider }
func (cloudGates) IsComposer(r policy.Requester) bool { return r.Username == crossplane }

const provider = "system:serviceaccount:crossplane-system:provider-cloud"

// Hold notes what is written to hold a deletion back.
func (w *world) Hold(_ context.Context, _ *unstructured.Unstructured, annotations map[string]string) error {
	w.holds = append(w.holds, annotations)
	return w.broken
}

// hooks makes both webhooks, with the policies.
func (w *world) hooks(tb testing.TB, policies ...string) (*Mutator, *Validator) {
	tb.Helper()
	active := &policy.Active{}
	active.Set(compiled(tb, policies...))
	g := &Gatherer{
		Policies: active, Objects: w, Namespaces: served{}, Records: store{w}, Notices: w, Kinds: served{w.losing, w.storing, w.versionToName}, Access: w, Gates: cloudGates{}, Holds: w,
		OperatorUser: operatorUser, Platform: decision.DefaultPlatform,
	}
	return &Mutator{Gatherer: g}, &Validator{Gatherer: g}
}

// compiled returns policies as they are written.
func compiled(tb testing.TB, policies ...string) *policy.Index {
	tb.Helper()
	var out []*policy.Policy
	for _, text := range policies {
		p := &v1alpha1.AllowancePolicy{}
		if err := yaml.UnmarshalStrict([]byte(text), p); err != nil {
			tb.Fatal(err)
		}
		c, errs := policy.Compile(p, served{}.KindFor)
		if len(errs) > 0 {
			tb.Fatal(errs.ToAggregate())
		}
		c.Categorize(served{}.Categories)
		out = append(out, c)
	}
	return policy.NewIndex(out)
}

// deployment returns Deployment web at generation 4, settled, with a ledger.
func deployment(replicas int64, allowances ...v1alpha1.Allowance) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "web", "namespace": "default", "uid": "uid-web", "generation": int64(4)},
		"spec":     map[string]any{"replicas": replicas},
		"status": map[string]any{
			"observedGeneration": int64(4), "replicas": replicas, "updatedReplicas": replicas, "readyReplicas": replicas,
			"availableReplicas": replicas,
			"conditions":        []any{map[string]any{"type": "Available", "status": "True"}},
		},
	}}
	return holding(obj, ledgerKey, allowances...)
}

// unsettled takes the status off an object.
func unsettled(obj *unstructured.Unstructured) *unstructured.Unstructured {
	unstructured.RemoveNestedField(obj.Object, "status")
	return obj
}

// replicaSet returns ReplicaSet web-1 of that Deployment.
func replicaSet(replicas int64, allowances ...v1alpha1.Allowance) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "ReplicaSet",
		"metadata": map[string]any{
			"name": "web-1", "namespace": "default", "uid": "uid-web-1", "generation": int64(2),
			"ownerReferences": []any{map[string]any{
				"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "uid-web", "controller": true,
			}},
		},
		"spec": map[string]any{"replicas": replicas},
	}}
	return holding(obj, replicaSetLedger, allowances...)
}

func holding(obj *unstructured.Unstructured, key string, allowances ...v1alpha1.Allowance) *unstructured.Unstructured {
	if len(allowances) > 0 {
		annotate(obj, key, ledger.Ledger{}.Merge(allowances...).Encode())
	}
	return obj
}

func annotate(obj *unstructured.Unstructured, key, value string) *unstructured.Unstructured {
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	obj.SetAnnotations(annotations)
	return obj
}

func mayScale(initiator string, generation int64) v1alpha1.Allowance {
	return v1alpha1.Allowance{
		Kind: "ReplicaSet", Mutation: "spec.replicas", Generation: generation, Initiator: initiator,
		Trace: []v1alpha1.TraceHop{{Kind: "Deployment", Name: "web", Generation: generation, Field: "spec.replicas"}},
	}
}

// held returns a change of mallory's that is withheld, as ledgers told of it that came with no
// approved content: a number is the one that was approved.
func held(path, replaced string) v1alpha1.Allowance {
	return v1alpha1.Allowance{Relation: v1alpha1.RelationWithheld, Mutation: path, Initiator: "mallory", Generation: 4, Replaced: replaced}
}

// asking makes a request by a user in the groups.
func asking(tb testing.TB, user string, groups []string, before, after *unstructured.Unstructured) admission.Request {
	tb.Helper()
	req := admissionv1.AdmissionRequest{
		UID: "1", Operation: admissionv1.Update, UserInfo: authenticationv1.UserInfo{Username: user, Groups: groups},
	}
	shape := after
	switch {
	case before == nil:
		req.Operation = admissionv1.Create
	case after == nil:
		req.Operation, shape = admissionv1.Delete, before
	}
	gvk := shape.GroupVersionKind()
	req.Kind = metav1.GroupVersionKind(gvk)
	req.Resource = metav1.GroupVersionResource{
		Group: gvk.Group, Version: gvk.Version,
		Resource: resources[gvk.Kind],
	}
	req.Namespace, req.Name = shape.GetNamespace(), shape.GetName()
	req.OldObject, req.Object = encoded(tb, before), encoded(tb, after)
	return admission.Request{AdmissionRequest: req}
}

func encoded(tb testing.TB, obj *unstructured.Unstructured) runtime.RawExtension {
	tb.Helper()
	if obj == nil {
		return runtime.RawExtension{}
	}
	raw, err := json.Marshal(obj.Object)
	if err != nil {
		tb.Fatal(err)
	}
	return runtime.RawExtension{Raw: raw}
}

var (
	platformTeam  = []string{"platform-team"}
	glassBreakers = []string{"glass-breakers"}
	errAway       = errors.New("the API server is away")
)
