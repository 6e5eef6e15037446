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

package approve

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/output"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lineage"
)

var (
	held = v1alpha1.Allowance{Relation: v1alpha1.RelationWithheld, Mutation: "spec.replicas", Generation: 2, Initiator: "mallory"}
	kind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}
)

func granted(attestations map[string]string) v1alpha1.Allowance {
	return v1alpha1.Allowance{Kind: "Pod", Mutation: "create", Generation: 2, Initiator: "alice", Trace: []v1alpha1.TraceHop{
		{Kind: "ReplicaSet", Name: "web-1", Generation: 2, Field: "spec.replicas", Attestations: attestations},
	}}
}

// world is an API server with a webhook that approves as it is told to.
type world struct {
	// withheld is what the ReplicaSet's ledger has.
	withheld []v1alpha1.Allowance
	// grants are what approving gives it, attempt by attempt, the last for good.
	grants [][]v1alpha1.Allowance
	// conflicts is how many requests that are no dry runs find another object.
	conflicts int
	// absent is true where there is no webhook, and warning is what it says.
	absent  bool
	warning string
	// stripped is true where something takes the annotations of Kausality away before its webhook is asked, and
	// its answer is not stored. record is what the object's record tells.
	stripped bool
	record   *v1alpha1.AllowanceRecord
	// parent is the record of the Deployment, and ceases is true where it tells of no stray afterwards.
	parent *v1alpha1.AllowanceRecord
	ceases bool

	said     *cluster.Warnings
	asked    []string
	requests int
}

const prefix = v1alpha1.ReplicaSetAnnotationPrefix

func (w *world) approval() *approval {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(kind)
	obj.SetNamespace("shop")
	obj.SetName("web-1")
	obj.SetGeneration(2)
	if err := unstructured.SetNestedField(obj.Object, int64(3), "spec", "replicas"); err != nil {
		panic(err)
	}
	obj.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "1", Controller: new(true)}})
	if len(w.withheld) > 0 {
		obj.SetAnnotations(map[string]string{prefix + "allowances": ledger.Ledger(nil).Merge(w.withheld...).Encode()})
	}
	w.said = &cluster.Warnings{}
	scheme := runtime.NewScheme()
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	build := fake.NewClientBuilder().WithScheme(scheme).WithObjects(obj).
		WithIndex(&v1alpha1.AllowanceRecord{}, "spec.targetRef.kind", func(o client.Object) []string { return []string{targetRef(o).Kind} }).
		WithIndex(&v1alpha1.AllowanceRecord{}, "spec.targetRef.name", func(o client.Object) []string { return []string{targetRef(o).Name} })
	for _, rec := range []*v1alpha1.AllowanceRecord{w.record, w.parent} {
		if rec != nil {
			build = build.WithObjects(rec)
		}
	}
	c := build.WithInterceptorFuncs(interceptor.Funcs{Patch: w.patch}).Build()
	return &approval{
		cluster: &cluster.Cluster{Client: c},
		target:  cluster.Target{GVK: kind, Namespace: "shop", Name: "web-1"},
		said:    w.said,
	}
}

func targetRef(o client.Object) v1alpha1.TargetReference {
	if rec, ok := o.(*v1alpha1.AllowanceRecord); ok {
		return rec.Spec.TargetRef
	}
	return v1alpha1.TargetReference{}
}

// adopting is the record of the Deployment that has the ReplicaSet for a stray.
func adopting() *v1alpha1.AllowanceRecord {
	return &v1alpha1.AllowanceRecord{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "deployment-web"},
		Spec: v1alpha1.AllowanceRecordSpec{TargetRef: v1alpha1.TargetReference{
			Group: kind.Group, Version: kind.Version, Kind: "Deployment", Namespace: "shop", Name: "web", UID: "1",
		}},
		Status: v1alpha1.AllowanceRecordStatus{Strays: []v1alpha1.StrayChild{{APIVersion: "apps/v1", Kind: kind.Kind, Namespace: "shop", Name: "web-1"}}},
	}
}

func (w *world) patch(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	raw, err := patch.Data(obj)
	if err != nil {
		return err
	}
	dryRun := slices.Contains(opts, client.PatchOption(client.DryRunAll))
	if strings.Contains(string(raw), `"`+noPath+`"`) {
		if !w.stripped {
			w.said.HandleWarningHeader(299, "", "kausality: not approved, as they are no field paths: "+noPath)
		}
		return nil
	}
	w.asked = append(w.asked, strings.TrimPrefix(string(raw), `{"metadata":`))
	if !dryRun && w.conflicts > 0 {
		w.conflicts--
		return apierrors.NewConflict(schema.GroupResource{Resource: "replicasets"}, obj.GetName(), nil)
	}
	annotations := map[string]string{}
	if w.absent {
		annotations[prefix+"approve"] = "*"
	}
	grants := w.grants[min(w.requests, len(w.grants)-1)]
	w.requests++
	if text := ledger.Ledger(nil).Merge(grants...).Encode(); text != "" {
		annotations[prefix+"allowances"] = text
	}
	obj.SetAnnotations(annotations)
	w.said.HandleWarningHeader(299, "", w.warning)
	if w.ceases && !dryRun {
		return c.Delete(ctx, w.parent)
	}
	return nil
}

// A flag may name several paths, and commas of keys are not between them.
// pending is a record with a grant that waits for its object to carry it.
func pending(grants ...v1alpha1.Allowance) *v1alpha1.AllowanceRecord {
	number := int64(3)
	return &v1alpha1.AllowanceRecord{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "replicaset-web-1"},
		Spec: v1alpha1.AllowanceRecordSpec{LedgerKnown: true, TargetRef: v1alpha1.TargetReference{
			Group: kind.Group, Version: kind.Version, Kind: kind.Kind, Namespace: "shop", Name: "web-1",
		}},
		Status: v1alpha1.AllowanceRecordStatus{PendingGrants: []v1alpha1.PendingGrant{
			{ID: "1", Path: "spec.replicas", Value: &number, Allowances: grants},
		}},
	}
}

const ineffective = "nothing is approved: spec.replicas of ReplicaSet/web-1 in namespace shop is still withheld. " +
	"The API server took the request and Kausality did not see the approval in it, " +
	"or its answer was not stored: something else takes its annotations away, such as a MutatingAdmissionPolicy or a webhook " +
	"(kubectl get mutatingadmissionpolicies,mutatingwebhookconfigurations). Have it leave annotations of kausality.io alone, and approve again"

func TestPathsOfFlags(t *testing.T) {
	tests := map[string]struct {
		flags []string
		want  string
	}{
		"none":             {nil, "spec.replicas"},
		"one":              {[]string{"--path", "spec.a@0123456789ab"}, "spec.a@0123456789ab"},
		"several":          {[]string{"--path", "spec.a, spec.b", "--path=*"}, "spec.a,spec.b,*"},
		"a comma in a key": {[]string{"--path", `spec.a['x, y'],spec.b["z"]`}, `spec.a['x, y'],spec.b["z"]`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			streams, _, _, _ := genericiooptions.NewTestIOStreams()
			cmd := Command(genericclioptions.NewConfigFlags(false), streams)
			if err := cmd.ParseFlags(tc.flags); err != nil {
				t.Fatal(err)
			}
			w := &world{withheld: []v1alpha1.Allowance{held}, grants: [][]v1alpha1.Allowance{{granted(nil)}}}
			a := w.approval()
			var err error
			if a.paths, err = cmd.Flags().GetStringArray("path"); err != nil {
				t.Fatal(err)
			}
			if _, err := a.plan(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, strings.Join(a.planned, ",")); diff != "" {
				t.Errorf("approved (-want +got):\n%s", diff)
			}
		})
	}
}

// A path that is empty is that of a variable that is not set, and does not approve all that is withheld.
func TestNoPathInFlags(t *testing.T) {
	for _, paths := range [][]string{{""}, {" "}, {","}, {"spec.a,"}, {"spec.a", ""}} {
		w := &world{withheld: []v1alpha1.Allowance{held}, grants: [][]v1alpha1.Allowance{{granted(nil)}}}
		a := w.approval()
		a.paths = paths
		if _, err := a.plan(t.Context()); err == nil || !strings.Contains(err.Error(), "--path names no field") || len(w.asked) > 0 {
			t.Errorf("approve --path %q: error %v, requests %v", paths, err, w.asked)
		}
	}
}

// What only gets another generation is there before and after.
func TestDiffering(t *testing.T) {
	older := granted(nil)
	older.Generation = 1
	gone, come := differing([]v1alpha1.Allowance{held, older}, []v1alpha1.Allowance{granted(nil), granted(map[string]string{"a": "b"})})
	if diff := cmp.Diff([]v1alpha1.Allowance{held}, gone); diff != "" {
		t.Errorf("gone (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]v1alpha1.Allowance{granted(map[string]string{"a": "b"})}, come); diff != "" {
		t.Errorf("come (-want +got):\n%s", diff)
	}
	if gone, come = differing([]v1alpha1.Allowance{older}, []v1alpha1.Allowance{granted(nil)}); len(gone) != 1 || len(come) != 1 {
		t.Errorf("where nothing else differs: %v, %v, want both", gone, come)
	}
}

func TestApprove(t *testing.T) {
	ticket := granted(map[string]string{"metadata.annotations[ticket]": "OPS-1"})
	tests := map[string]struct {
		world   world
		options options
		in      string
		want    string
		told    string
		wantErr string
	}{
		"what is withheld": {
			world:   world{withheld: []v1alpha1.Allowance{held}, grants: [][]v1alpha1.Allowance{{ticket}}},
			options: options{yes: true},
			want: `Approved spec.replicas of ReplicaSet/web-1

  -   withheld: spec.replicas   by mallory
  +   create Pod                by alice, metadata.annotations[ticket] = OPS-1
`,
		},
		"what nobody has seen changing": {
			world:   world{withheld: []v1alpha1.Allowance{{Relation: held.Relation, Mutation: "spec.x"}}, grants: [][]v1alpha1.Allowance{{ticket}}},
			options: options{yes: true},
			want: `Approved spec.x of ReplicaSet/web-1

  -   withheld: spec.x   by somebody, while Kausality was away or not asked, or right before it
                         ended
  +   create Pod         by alice, metadata.annotations[ticket] = OPS-1
`,
		},
		"asks first": {
			world: world{withheld: []v1alpha1.Allowance{held}, grants: [][]v1alpha1.Allowance{{granted(nil)}}},
			in:    "yes\n",
			told: `This approves spec.replicas of ReplicaSet/web-1

  -   withheld: spec.replicas   by mallory
  +   create Pod                by alice

Approve? [y/N] `,
			want: `Approved spec.replicas of ReplicaSet/web-1

  -   withheld: spec.replicas   by mallory
  +   create Pod                by alice
`,
		},
		"only shows what it would allow": {
			world:   world{withheld: []v1alpha1.Allowance{held}, grants: [][]v1alpha1.Allowance{{held, granted(nil)}}, warning: "kausality: not all is approved"},
			options: options{dryRun: true},
			want: `This approves spec.replicas of ReplicaSet/web-1

  +   create Pod   by alice

Warning: not all is approved
`,
		},
		"an object that its controller writes at the same time": {
			world:   world{withheld: []v1alpha1.Allowance{held}, grants: [][]v1alpha1.Allowance{{granted(nil)}}, conflicts: 2},
			options: options{yes: true},
			want: `Approved spec.replicas of ReplicaSet/web-1

  -   withheld: spec.replicas   by mallory
  +   create Pod                by alice
`,
		},
		"an object that has become another": {
			world: world{
				withheld: []v1alpha1.Allowance{held}, grants: [][]v1alpha1.Allowance{{granted(nil)}, {ticket}}, conflicts: 1,
			},
			options: options{yes: true},
			wantErr: "nothing was approved: ReplicaSet/web-1 in namespace shop has changed since it was looked at. " +
				"Run the command again to see what it would allow now",
		},
		"somebody who may not": {
			world: world{
				withheld: []v1alpha1.Allowance{held}, grants: [][]v1alpha1.Allowance{{held}},
				warning: "kausality: mallory may not approve changes of ReplicaSet web-1",
			},
			options: options{yes: true},
			wantErr: "nothing is approved: mallory may not approve changes of ReplicaSet web-1",
		},
		"a field that is not there, beside one that is": {
			world: world{
				withheld: []v1alpha1.Allowance{held}, grants: [][]v1alpha1.Allowance{{granted(nil)}},
				warning: "kausality: ReplicaSet web-1 has no field spec.replica, and nothing is withheld there: there is nothing to approve",
			},
			options: options{yes: true},
			wantErr: "nothing is approved: ReplicaSet web-1 has no field spec.replica, and nothing is withheld there: there is nothing to approve",
		},
		"nothing to approve": {
			world: world{grants: [][]v1alpha1.Allowance{nil}},
			wantErr: "nothing of ReplicaSet/web-1 in namespace shop is withheld: name what to approve with --path, " +
				"or --path '*' for every field that a policy is about; see kubectl kausality explain -n shop replicaset/web-1",
		},
		"no webhook": {
			world: world{withheld: []v1alpha1.Allowance{held}, grants: [][]v1alpha1.Allowance{{held}}, absent: true},
			wantErr: "approving changes of ReplicaSet/web-1 in namespace shop has no effect: no webhook took the request; " +
				"see whether a policy is for its kind or bounds it (kubectl get allowancepolicies), and whether the operator runs",
		},
		"something takes the approval away before the webhook": {
			world:   world{withheld: []v1alpha1.Allowance{held}, grants: [][]v1alpha1.Allowance{{held}}, stripped: true},
			options: options{yes: true},
			wantErr: ineffective,
		},
		"something takes the approval and the ledger away": {
			world:   world{withheld: []v1alpha1.Allowance{held}, grants: [][]v1alpha1.Allowance{nil}, stripped: true},
			options: options{yes: true},
			wantErr: ineffective,
		},
		"a dry run of that": {
			world:   world{withheld: []v1alpha1.Allowance{held}, grants: [][]v1alpha1.Allowance{nil}, stripped: true},
			options: options{dryRun: true},
			wantErr: ineffective,
		},
		"something takes the ledger away after the webhook, as the record tells": {
			world:   world{withheld: []v1alpha1.Allowance{held}, grants: [][]v1alpha1.Allowance{nil}, record: pending(held)},
			options: options{yes: true},
			wantErr: ineffective,
		},
		"what only the record tells": {
			world:   world{grants: [][]v1alpha1.Allowance{{ticket}}, record: pending(held)},
			options: options{dryRun: true},
			want: `This approves spec.replicas of ReplicaSet/web-1

  -   withheld: spec.replicas   by mallory
  +   create Pod                by alice, metadata.annotations[ticket] = OPS-1
`,
		},
		"what allows nothing": {
			world:   world{withheld: []v1alpha1.Allowance{held}, grants: [][]v1alpha1.Allowance{nil}},
			options: options{yes: true},
			want: `Approved spec.replicas of ReplicaSet/web-1

  -   withheld: spec.replicas   by mallory
`,
		},
		"a mark that another version calls otherwise": {
			world: world{
				withheld: []v1alpha1.Allowance{held}, warning: "kausality: not approved on ReplicaSet web-1: spec.replicas; look at it again",
				grants: [][]v1alpha1.Allowance{{{Relation: v1alpha1.RelationWithheld, Mutation: "spec", Generation: 2, Initiator: "mallory"}}},
			},
			options: options{yes: true},
			wantErr: "nothing is approved: not approved on ReplicaSet web-1: spec.replicas; look at it again. " +
				"What is withheld now: kubectl kausality approve -n shop replicaset/web-1 --path 'spec'",
		},
		"a stray": {
			world:   world{parent: adopting(), ceases: true, grants: [][]v1alpha1.Allowance{nil}},
			options: options{yes: true},
			want: `Approved metadata.ownerReferences of ReplicaSet/web-1

  -   a stray of Deployment/web
`,
		},
		"a dry run of a stray": {
			world:   world{parent: adopting(), grants: [][]v1alpha1.Allowance{nil}},
			options: options{dryRun: true},
			want: `This approves metadata.ownerReferences of ReplicaSet/web-1

  -   a stray of Deployment/web
`,
		},
		"a stray that stays one": {
			world:   world{parent: adopting(), grants: [][]v1alpha1.Allowance{nil}},
			options: options{yes: true},
			wantErr: "nothing is approved: ReplicaSet/web-1 in namespace shop is still a stray. The API server took the request and Kausality did not see the approval in it",
		},
		"a stray that is not theirs to approve": {
			world:   world{parent: adopting(), grants: [][]v1alpha1.Allowance{nil}, warning: "kausality: mallory may not approve changes of ReplicaSet web-1"},
			options: options{yes: true},
			wantErr: "nothing is approved: mallory may not approve changes of ReplicaSet web-1",
		},
		"nobody answers": {
			world: world{withheld: []v1alpha1.Allowance{held}, grants: [][]v1alpha1.Allowance{{granted(nil)}}},
			told: `This approves spec.replicas of ReplicaSet/web-1

  -   withheld: spec.replicas   by mallory
  +   create Pod                by alice

Approve? [y/N] `,
			wantErr: errNotConfirmed.Error(),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			streams, in, out, errOut := genericiooptions.NewTestIOStreams()
			in.WriteString(tc.in)
			tc.options.out = output.NewFlags()
			gotErr := ""
			if err := tc.options.run(t.Context(), tc.world.approval(), streams); err != nil {
				gotErr = err.Error()
			}
			if diff := cmp.Diff([]string{tc.want, tc.told, tc.wantErr}, []string{out.String(), errOut.String(), gotErr}); diff != "" {
				t.Errorf("output, prompt and error: -want, +got:\n%s", diff)
			}
			path := held.Mutation
			if len(tc.world.withheld) > 0 {
				path = tc.world.withheld[0].Mutation
			} else if tc.world.parent != nil {
				path = lineage.OwnersPath
			}
			for _, asked := range tc.world.asked {
				if want := `{"annotations":{"` + prefix + `approve":"` + path + `"},"resourceVersion":"999"}}`; asked != want {
					t.Errorf("the request was %s, want %s", asked, want)
				}
			}
		})
	}
}
