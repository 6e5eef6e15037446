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
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/internal/ancestry"
	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/policy"
	"kausality.io/operator/internal/record"
)

// gatherReferents fills in what the parent of the object reads, and what the object itself
// reads, as far as policies say that it has a bearing on the object. Hardly any policy does.
func (g *Gatherer) gatherReferents(ctx context.Context, r *request, f *facts, why doubt) error {
	var err error
	if f.ParentState == decision.ParentFound {
		if f.Referents, err = g.referents(ctx, f, f.parentObject, r.gvk.GroupKind(), why); err != nil {
			return err
		}
	}
	if r.operation == decision.Update {
		if f.OwnReferents, err = g.referents(ctx, f, r.old, r.gvk.GroupKind(), why); err != nil {
			return err
		}
	}
	return nil
}

// reads reports whether policies say that objects of the kind read what has a bearing on
// themselves.
func (f *facts) reads(kind schema.GroupKind) bool { return len(f.index.ReadBy(kind, kind)) > 0 }

// referents returns the holders that reader reads, as far as that has a bearing on objects of
// the target's kind.
func (g *Gatherer) referents(
	ctx context.Context, f *facts, reader *unstructured.Unstructured, target schema.GroupKind, why doubt,
) ([]decision.Referent, error) {
	kind := reader.GroupVersionKind().GroupKind()
	var out []decision.Referent
	var asked []schema.GroupKind
	for _, p := range f.index.ReadBy(kind, target) {
		if slices.Contains(asked, p.For.GroupKind()) {
			continue
		}
		asked = append(asked, p.For.GroupKind())
		bears := func(e policy.ThroughEntry) bool { return e.Readers.Kind == kind && e.Kind == target }
		candidates, err := g.candidates(ctx, p.For, reader, throughs(f.index.For(p.For.GroupKind()), bears), why)
		if err != nil {
			return nil, err
		}
		for _, c := range candidates {
			ref, read, err := g.referent(ctx, f, c, reader, bears)
			if err != nil {
				return nil, err
			}
			if read {
				out = append(out, ref)
			}
		}
	}
	return out, nil
}

// throughs returns the ways in which readers read, of those entries that matter.
func throughs(policies []*policy.Policy, matters func(policy.ThroughEntry) bool) []policy.Through {
	var out []policy.Through
	for _, p := range policies {
		for _, e := range p.Throughs() {
			if matters(e) {
				out = append(out, e.Readers)
			}
		}
	}
	return out
}

// candidates returns the objects of a kind that reader may read.
func (g *Gatherer) candidates(
	ctx context.Context, gvk schema.GroupVersionKind, reader *unstructured.Unstructured, ways []policy.Through, why doubt,
) ([]candidate, error) {
	if why == doubtNone && g.Objects.Behind(gvk) {
		why = doubtBehind
	}
	named := !slices.ContainsFunc(ways, func(t policy.Through) bool { return len(t.NamedBy) == 0 })
	if named {
		return g.candidatesNamed(ctx, gvk, reader, ways, why)
	}
	namespace := reader.GetNamespace()
	if slices.ContainsFunc(ways, func(t policy.Through) bool { return !t.OwnNamespace(reader) }) {
		namespace = ""
	}
	if why != doubtNone && why != doubtBlind {
		why.read()
		list, err := g.Objects.ListLive(ctx, gvk, namespace)
		if err != nil {
			return nil, fmt.Errorf("reading what %s %s/%s reads: %w", reader.GetKind(), reader.GetNamespace(), reader.GetName(), err)
		}
		out := make([]candidate, 0, len(list))
		for _, obj := range list {
			out = append(out, candidate{obj, why})
		}
		return out, nil
	}
	var out []candidate
	for obj, err := range g.cached(ctx, gvk, namespace) {
		c := candidate{obj, why}
		if err == nil && why == doubtNone {
			c, err = g.newest(ctx, gvk, obj)
		}
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, err
		default:
			out = append(out, c)
		}
	}
	return out, nil
}

// cached returns the cached holders of a kind: those of one namespace and those outside of any,
// or, where none is given, all.
func (g *Gatherer) cached(ctx context.Context, gvk schema.GroupVersionKind, namespace string) iter.Seq2[*unstructured.Unstructured, error] {
	if namespace == "" {
		return g.Objects.List(ctx, gvk)
	}
	if !g.Kinds.Namespaced(gvk) {
		namespace = ""
	}
	return func(yield func(*unstructured.Unstructured, error) bool) {
		for name := range g.Objects.Names(gvk, namespace) {
			obj, err := g.Objects.Get(ctx, gvk, types.NamespacedName{Namespace: namespace, Name: name})
			if !apierrors.IsNotFound(err) && !yield(obj, err) {
				return
			}
		}
	}
}

// candidatesNamed returns the candidates that reader names.
func (g *Gatherer) candidatesNamed(
	ctx context.Context, gvk schema.GroupVersionKind, reader *unstructured.Unstructured, ways []policy.Through, why doubt,
) ([]candidate, error) {
	names := make([]string, 0, len(ways))
	for _, t := range ways {
		names = append(names, t.NamesIn(reader)...)
	}
	namespace := reader.GetNamespace()
	if !g.Kinds.Namespaced(gvk) {
		namespace = ""
	}
	var out []candidate
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		key := types.NamespacedName{Namespace: namespace, Name: name}
		var c candidate
		var err error
		switch why {
		case doubtNone:
			c, err = g.getNewest(ctx, gvk, key)
		case doubtBlind:
			c.why = why
			c.Unstructured, err = g.Objects.Get(ctx, gvk, key)
		default:
			why.read()
			c.why = why
			c.Unstructured, err = g.Objects.Live(ctx, gvk, key)
		}
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, fmt.Errorf("reading what %s %s/%s reads: %w", reader.GetKind(), reader.GetNamespace(), reader.GetName(), err)
		default:
			out = append(out, c)
		}
	}
	return out, nil
}

// referent returns what there is to know about an object that reader may read, and false where it
// does not. While something of the object is withheld, the approved content of it counts for
// that as well: by what is withheld nobody ceases to read it.
func (g *Gatherer) referent(
	ctx context.Context, f *facts, c candidate, reader *unstructured.Unstructured, bears func(policy.ThroughEntry) bool,
) (decision.Referent, bool, error) {
	obj := c.Unstructured
	now := g.read(ctx, obj, obj.Object)
	waits := ledger.Annotation(obj, ledger.NameApproved) != ""
	if !waits && !anyReads(throughs(f.index.For(obj.GroupVersionKind().GroupKind()), bears), reader, now) {
		return decision.Referent{}, false, nil
	}
	chain := ancestry.Chain(ctx, g.Objects, g.Namespaces, f.index, obj)
	policies := f.index.InEffect(chain)
	ways := throughs(policies, bears)
	target := record.TargetOf(obj)
	stored, _ := g.ledgers.of(obj) // One that cannot be read allows nothing.
	rec, err := g.readLedgerRecord(ctx, target, c.why, stored)
	if err != nil {
		return decision.Referent{}, false, err
	}
	effective := unspent(ctx, rec, obj, stored, policies)
	out := decision.Referent{
		GVK: obj.GroupVersionKind(), Namespace: obj.GetNamespace(), Name: obj.GetName(), Generation: obj.GetGeneration(),
		ResourceVersion: obj.GetResourceVersion(),
		ApproveKey:      ledger.AnnotationKey(obj, ledger.NameApprove),
		Initiators:      f.index.InitiatorsOf(chain),
		Policies:        policies,
		Ledger:          effective,
		Standing:        g.parentStanding(ctx, obj, policies, effective, rec),
	}
	read := anyReads(ways, reader, now)
	if !read && out.IsWithheld() {
		read = anyReads(ways, reader, g.read(ctx, obj, out.Standing.Content()))
	}
	return out, read, nil
}

func anyReads(ways []policy.Through, reader *unstructured.Unstructured, o policy.Read) bool {
	return slices.ContainsFunc(ways, func(t policy.Through) bool { return t.IsRead(reader, o) })
}

// read returns an object as readers see it that has the content.
func (g *Gatherer) read(ctx context.Context, obj *unstructured.Unstructured, content map[string]any) policy.Read {
	o := policy.Read{Object: obj, Content: content}
	o.Labels, _, _ = unstructured.NestedStringMap(content, fieldMetadata, "labels") // the API server knows no others
	if namespace := obj.GetNamespace(); namespace != "" {
		o.NamespaceLabels = g.Namespaces.Labels(ctx, namespace)
	}
	return o
}

// readers returns who reads the object of a request that creates or deletes it, or after which
// somebody reads it no more.
func (g *Gatherer) readers(ctx context.Context, r *request, f *facts) ([]decision.Reader, error) {
	var ways []policy.Through
	for _, p := range f.OwnPolicies {
		for _, e := range p.Throughs() {
			ways = append(ways, e.Readers)
		}
	}
	if len(ways) == 0 || r.operation == decision.Update && r.subresource != "" {
		return nil, nil
	}
	var out []decision.Reader
	var asked []schema.GroupKind
	for _, t := range ways {
		policies := f.index.For(t.Kind)
		if len(policies) == 0 || slices.Contains(asked, t.Kind) {
			continue // Nothing bounds its children.
		}
		asked = append(asked, t.Kind)
		same := slices.DeleteFunc(slices.Clone(ways), func(o policy.Through) bool { return o.Kind != t.Kind })
		found, err := g.readersOf(ctx, r, f, policies[0].For, same)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// readersOf returns the readers of one kind.
func (g *Gatherer) readersOf(ctx context.Context, r *request, f *facts, kind schema.GroupVersionKind, ways []policy.Through) ([]decision.Reader, error) {
	if r.operation == decision.Update && !r.changesWhoReads(ways) {
		return nil, nil
	}
	namespace := r.namespace
	if slices.ContainsFunc(ways, func(t policy.Through) bool { return t.NamespacesSelectedBy != nil }) || !g.Kinds.Namespaced(kind) {
		namespace = ""
	}
	var out []decision.Reader
	for reader, err := range g.cached(ctx, kind, namespace) {
		if err != nil {
			return nil, err
		}
		if found, reads := g.reader(ctx, r, f, ways, reader); reads {
			out = append(out, found)
		}
	}
	return out, nil
}

// changesWhoReads reports whether an update may change who reads the object.
func (r *request) changesWhoReads(ways []policy.Through) bool {
	return slices.ContainsFunc(ways, func(t policy.Through) bool {
		return t.SelectedBy != nil && !maps.Equal(r.old.GetLabels(), r.new.GetLabels()) ||
			!slices.Equal(t.NamesOf(r.old.Object), t.NamesOf(r.new.Object))
	})
}

// reader reports whether somebody reads the object of a request that creates or deletes it,
// or does so no more after one that changes it. What is only read because of something that
// is withheld of it can be taken away.
func (g *Gatherer) reader(ctx context.Context, r *request, f *facts, ways []policy.Through, reader *unstructured.Unstructured) (decision.Reader, bool) {
	reads := anyReads(ways, reader, g.read(ctx, r.current(), r.current().Object))
	switch st := f.Child.Standing; {
	case r.operation == decision.Update:
		reads = anyReads(ways, reader, g.read(ctx, r.old, r.old.Object)) && !anyReads(ways, reader, g.read(ctx, r.new, r.new.Object))
	case st != nil && len(st.Withheld()) > 0:
		reads = anyReads(ways, reader, g.read(ctx, r.old, st.Content()))
	}
	return decision.Reader{Object: reader, Lost: r.operation != decision.Create}, reads
}

// keepForReaders writes down, in the records of those that read the object no more, what
// that allows them: the object cannot say so.
func (v *Validator) keepForReaders(ctx context.Context, f *facts, verdict decision.Verdict, grant decision.Grant) error {
	var errs []error
	for _, reader := range f.Readers {
		allowances := f.ForReader(reader, verdict, grant)
		if !reader.Lost || len(allowances) == 0 {
			continue
		}
		pending := record.NewPending(nil, reader.Object, allowances, nil)
		errs = append(errs, v.Records.AddPending(ctx, record.TargetOf(reader.Object), pending, nil))
	}
	return errors.Join(errs...)
}

// refusedDisturbing answers who creates or deletes what others read, and is no cause of
// anything.
func refusedDisturbing(f *facts) admission.Response {
	what := "creating"
	if f.Operation == decision.Delete {
		what = "deleting"
	}
	readers := make([]string, 0, len(f.Readers))
	for _, r := range f.Readers {
		readers = append(readers, objectText(r.Object.GetKind(), r.Object.GetName()))
	}
	message := fmt.Sprintf("%s %s is for who may initiate on it, as it is read by %s: it could not wait without all else that these read",
		what, objectText(f.Child.GVK.Kind, f.Child.Name), shortList(readers))
	if len(f.initiators) > 0 {
		message += "; " + anyOf(f.initiators) + " may"
	}
	resp := admission.Denied(message)
	resp.AuditAnnotations = map[string]string{auditReason: "Disturbing", auditPolicies: strings.Join(names(f.OwnPolicies), ",")}
	return resp
}

// shortList returns a list of at most five.
func shortList(items []string) string {
	const most = 5
	if len(items) > most {
		items = append(slices.Clone(items[:most]), fmt.Sprintf("and %d more", len(items)-most))
	}
	return strings.Join(items, ", ")
}
