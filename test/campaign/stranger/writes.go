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

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/campaign/audit"
	"kausality.io/operator/test/campaign/stranger/draw"
	"kausality.io/operator/test/campaign/stranger/plan"
)

func merge(text string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(text)) }

func (p *performance) mark() draw.Mark { return draw.Mark(p.N) }

// text returns one that tells of which act it is: alice's have no mark.
func (p *performance) text() string {
	if p.Who == plan.Alice {
		return fmt.Sprintf("alice-%d", p.N)
	}
	return p.mark().Text()
}

// write changes one thing of what is there, and sends it in one of the ways that there are. It
// returns which field that was.
func (p *performance) write(ctx context.Context) ([]string, error) {
	before := p.obj.DeepCopy()
	path, err := p.alter()
	if err != nil {
		return path, err
	}
	if p.r.IntN(4) == 0 && kinds[p.Resource].Kind == kinds["things"].Kind {
		// The other version has the same fields.
		version := kinds[p.Resource].Group + "/v1beta1"
		before.SetAPIVersion(version)
		p.obj.SetAPIVersion(version)
	}
	if p.What == plan.Status && p.r.IntN(2) == 0 {
		p.obj.Object["status"] = before.DeepCopy().Object["status"]
		p.report()
		return []string{"status: as if all was done"}, p.who.Status().Patch(ctx, p.obj, client.MergeFrom(before))
	}
	if p.What == plan.Status || len(path) > 0 && path[0] == "metadata" && p.r.IntN(4) == 0 {
		return append([]string{"status:"}, path...), p.who.Status().Patch(ctx, p.obj, client.MergeFrom(before))
	}
	return path, p.send(ctx, before, path)
}

// alter changes the object in memory.
func (p *performance) alter() ([]string, error) {
	switch p.What { //nolint:exhaustive // All others write a field.
	case plan.Owner:
		p.own()
		return draw.Path("metadata.ownerReferences"), nil
	case plan.Ours:
		key, value := p.ours()
		annotate(p.obj, key, value)
		return []string{"metadata", "annotations", key}, nil
	case plan.Finalize:
		p.obj.SetFinalizers(append(p.obj.GetFinalizers(), "stranger.example.org/"+p.mark().Text()))
		return draw.Path("metadata.finalizers"), nil
	case plan.Relabel:
		p.relabel()
		return draw.Path("metadata.labels"), nil
	case plan.Steer:
		if !p.steer() {
			return nil, errNothing
		}
		return []string{"spec"}, nil
	case plan.Undo:
		if !p.undo() {
			return nil, errNothing
		}
		return draw.Path("spec.template"), nil
	case plan.Part:
		return p.part()
	}
	node, err := p.schemas.Of(kinds[p.Resource])
	if err != nil {
		return nil, err
	}
	if p.Who == plan.Mallory && p.r.IntN(6) == 0 {
		p.breakGlass()
	}
	path, value := p.schemas.Field(p.r, node, p.obj.Object, p.What == plan.Status, p.mark())
	switch {
	case len(path) == 0:
		return nil, errNothing
	case p.What == plan.Drop:
		if !draw.Drop(p.obj.Object, path) {
			return path, errNothing
		}
	case !draw.Set(p.obj.Object, path, value):
		return path, errNothing
	}
	return path, nil
}

// report says in the status that all is carried out, as the controller of the kind would.
func (p *performance) report() {
	status := asMap(p.obj.Object["status"])
	if status == nil {
		status = map[string]any{}
		p.obj.Object["status"] = status
	}
	replicas, ok := asMap(p.obj.Object["spec"])["replicas"]
	if !ok {
		replicas = int64(1)
	}
	if wanted, ok := status["desiredNumberScheduled"]; ok {
		replicas = wanted
	}
	status["observedGeneration"] = p.obj.GetGeneration()
	for _, key := range map[string][]string{
		"deployments":  {"replicas", "updatedReplicas", "readyReplicas", "availableReplicas"},
		"replicasets":  {"replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas"},
		"statefulsets": {"replicas", "updatedReplicas", "currentReplicas", "readyReplicas", "availableReplicas"},
		"daemonsets":   {"currentNumberScheduled", "updatedNumberScheduled", "numberReady", "numberAvailable"},
	}[p.Resource] {
		status[key] = replicas
	}
	delete(status, "unavailableReplicas")
	if revision, ok := status["updateRevision"]; ok {
		status["currentRevision"] = revision
	}
}

// send writes what differs in one of the ways.
func (p *performance) send(ctx context.Context, before *unstructured.Unstructured, path []string) error {
	what := p.What
	if !slices.Contains([]plan.What{plan.Update, plan.JSONPatch, plan.Merge, plan.Strategic, plan.Apply}, what) {
		what = []plan.What{plan.Update, plan.JSONPatch, plan.Merge, plan.Strategic, plan.Apply}[p.r.IntN(5)]
	}
	switch what {
	case plan.Update:
		return p.who.Update(ctx, p.obj)
	case plan.JSONPatch:
		top := path[0]
		raw, err := json.Marshal([]map[string]any{{"op": "replace", "path": "/" + top, "value": p.obj.Object[top]}})
		if err != nil {
			return err
		}
		return p.who.Patch(ctx, p.obj, client.RawPatch(types.JSONPatchType, raw))
	case plan.Apply:
		return p.apply(ctx)
	case plan.Strategic:
		return p.strategic(ctx, before)
	default:
		return p.who.Patch(ctx, p.obj, client.MergeFrom(before))
	}
}

// apply applies all of it by force, as one that wants it to be like that.
func (p *performance) apply(ctx context.Context) error {
	wanted := p.obj.DeepCopy()
	for _, field := range []string{"managedFields", "resourceVersion", "uid", "generation", "creationTimestamp"} {
		unstructured.RemoveNestedField(wanted.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(wanted.Object, "status")
	return p.who.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), client.FieldOwner("stranger"), client.ForceOwnership)
}

// strategic merges by the keys of lists; custom kinds know none.
func (p *performance) strategic(ctx context.Context, before *unstructured.Unstructured) error {
	typed := func(u *unstructured.Unstructured) (client.Object, error) {
		made, err := scheme.New(kinds[p.Resource])
		if err != nil {
			return nil, err
		}
		obj, ok := made.(client.Object)
		if !ok {
			return nil, fmt.Errorf("%T is no object", made)
		}
		return obj, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, obj)
	}
	if kinds[p.Resource].Kind == kinds["things"].Kind || p.Resource == "allowancerecords" {
		return p.who.Patch(ctx, p.obj, client.MergeFrom(before))
	}
	from, err := typed(before)
	if err != nil {
		return err
	}
	to, err := typed(p.obj)
	if err != nil {
		return p.who.Patch(ctx, p.obj, client.MergeFrom(before)) // It is no value of that type.
	}
	return p.who.Patch(ctx, to, client.StrategicMergeFrom(from))
}

// own changes who owns the object, part by part.
func (p *performance) own() {
	owners := p.obj.GetOwnerReferences()
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: p.mark().Text(), UID: types.UID("00000000-0000-0000-0000-" + fmt.Sprintf("%012d", p.N))}
	if len(owners) == 0 || p.r.IntN(8) == 0 {
		p.obj.SetOwnerReferences(append(owners, p.anyOwner(other)))
		return
	}
	i := p.r.IntN(len(owners))
	o := &owners[i]
	switch p.r.IntN(10) {
	case 0:
		o.UID = other.UID
	case 1:
		o.Name = other.Name
	case 2:
		o.Kind = other.Kind
	case 3:
		o.APIVersion = other.APIVersion
	case 4:
		o.Controller = nil
	case 5:
		o.BlockOwnerDeletion = new(p.r.IntN(2) == 0)
	case 6:
		owners = slices.Delete(owners, i, i+1)
	case 7:
		owners = append([]metav1.OwnerReference{p.anyOwner(other)}, owners...)
	case 8:
		again := *o // A second time, otherwise.
		again.Name, again.Controller = other.Name, nil
		owners = append(owners, again)
	default:
		controls := o.Controller
		*o = p.anyOwner(other)
		o.Controller = controls
	}
	p.obj.SetOwnerReferences(owners)
}

// anyOwner returns one of the parents that are there, or one that never was.
func (p *performance) anyOwner(otherwise metav1.OwnerReference) metav1.OwnerReference {
	resource := append(slices.Clone(plan.Parents), "replicasets")[p.r.IntN(len(plan.Parents)+1)]
	list := listOf(resource)
	if p.r.IntN(5) == 0 || p.admin.List(context.Background(), list, client.InNamespace(p.namespace)) != nil || len(list.Items) == 0 {
		return otherwise
	}
	o := list.Items[p.r.IntN(len(list.Items))]
	ref := metav1.OwnerReference{APIVersion: kinds[resource].GroupVersion().String(), Kind: kinds[resource].Kind, Name: o.GetName(), UID: o.GetUID()}
	if p.r.IntN(2) == 0 {
		ref.Controller = new(true)
	}
	return ref
}

// ours returns an annotation of Kausality's, and what a forger would write there.
func (p *performance) ours() (key, value string) {
	// Mostly the key that the object has, or has with an owner.
	own := strings.ToLower(p.obj.GetKind()) + "."
	prefix := []string{"", own, own, "replicaset.", "pod.", "job.", "thing."}[p.r.IntN(7)]
	name := []string{"allowances", "approve", "approved", "break-glass", "Blocked", "derived-from", p.mark().Text()}[p.r.IntN(7)]
	forged := fmt.Sprintf(`[{"kind":"*","mutation":"*","generation":%d,"initiator":"alice","trace":[{"kind":%q,"name":%q,"generation":%d,"field":"spec"}]}]`,
		p.obj.GetGeneration()+int64(p.r.IntN(3)), p.obj.GetKind(), p.obj.GetName(), p.obj.GetGeneration())
	return prefix + "kausality.io/" + name, []string{forged, "*", "spec", p.mark().Text(), ""}[p.r.IntN(5)]
}

// ownKey returns the key of an annotation that is the object's own.
func ownKey(obj *unstructured.Unstructured, name string) string {
	var owners []audit.Owner
	for _, o := range obj.GetOwnerReferences() {
		owners = append(owners, audit.Owner{Kind: o.Kind, UID: o.UID})
	}
	return audit.KeyPrefix(obj.GetKind(), owners) + name
}

// annotate sets an annotation in memory.
func annotate(obj *unstructured.Unstructured, key, value string) {
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	obj.SetAnnotations(annotations)
}

// breakGlass gives a reason why nobody is to be asked, for whatever is changed along with it.
func (p *performance) breakGlass() {
	annotate(p.obj, ownKey(p.obj, "break-glass"), []string{"", "delete: "}[p.r.IntN(2)]+p.mark().Text())
}

// revisionLabel is what sets tell by of which revision their Pods are.
const revisionLabel = "controller-revision-hash"

// relabel changes or takes away a label, or takes the labels of something that is selected.
func (p *performance) relabel() {
	labels := p.obj.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	if kinds[p.Resource].Kind == kinds["things"].Kind && p.r.IntN(2) == 0 {
		p.crossOver()
		return
	}
	if p.Resource == "things" && p.r.IntN(2) == 0 {
		labels[tier] = p.text()
		p.obj.SetLabels(labels)
		return
	}
	switch p.r.IntN(4) {
	case 0:
		labels["app"] = p.mark().Text()
	case 1:
		delete(labels, "app")
	case 2:
		labels[revisionLabel] = p.mark().Text()
	default:
		all := slices.Concat(hers["deployments"], hers["statefulsets"], hers["daemonsets"])
		labels["app"] = all[p.r.IntN(len(all))]
	}
	p.obj.SetLabels(labels)
}

// undo writes the template of another revision of a Deployment into it, which a ReplicaSet has already: nothing has
// to be made for it.
func (p *performance) undo() bool {
	list := listOf("replicasets")
	if p.admin.List(context.Background(), list, client.InNamespace(p.obj.GetNamespace())) != nil {
		return false
	}
	present := asMap(asMap(asMap(p.obj.Object["spec"])["template"])["spec"])
	var templates []map[string]any
	for i := range list.Items {
		template := asMap(asMap(list.Items[i].Object["spec"])["template"])
		if !metav1.IsControlledBy(&list.Items[i], p.obj) || equality.Semantic.DeepEqual(asMap(template["spec"]), present) {
			continue
		}
		unstructured.RemoveNestedField(template, "metadata", "labels", appsv1.DefaultDeploymentUniqueLabelKey)
		templates = append(templates, template)
	}
	if len(templates) == 0 {
		return false
	}
	return draw.Set(p.obj.Object, draw.Path("spec.template"), templates[p.r.IntN(len(templates))])
}

// steer writes what controllers go by, with values that mean something.
func (p *performance) steer() bool {
	if p.Who == plan.Alice && kinds[p.Resource].Kind == kinds["things"].Kind && p.r.IntN(2) == 0 {
		p.crossOver()
		return true
	}
	text := p.text()
	template := map[string]any{
		"spec.template.metadata.annotations":              map[string]any{"restarted": text},
		"spec.template.spec.containers.0.env":             []any{map[string]any{"name": "VALUE", "value": text}},
		"spec.template.spec.containers.0.command":         []any{text},
		"spec.template.spec.containers.0.securityContext": map[string]any{"runAsUser": int64(p.mark())},
	}
	if p.Who != plan.Alice {
		template["spec.template.spec.containers.0.image"] = text + ":1"
		// The same in another order.
		args, _ := audit.ValueAt(p.obj.Object, "spec", "template", "spec", "containers", "0", "args").([]any)
		args = slices.Clone(args)
		slices.Reverse(args)
		template["spec.template.spec.containers.0.args"] = args
	}
	choices := map[string]map[string]any{
		"deployments": {"spec.replicas": int64(p.r.IntN(5)), "spec.paused": p.r.IntN(2) == 0, "spec.minReadySeconds": int64(p.r.IntN(2)), "spec.strategy": map[string]any{"type": "Recreate"}},
		"replicasets": {"spec.replicas": int64(p.r.IntN(5)), "spec.minReadySeconds": int64(p.r.IntN(2))},
		"statefulsets": {
			"spec.replicas": int64(p.r.IntN(5)), "spec.updateStrategy": map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"partition": int64(p.r.IntN(3))}},
			"spec.minReadySeconds": int64(p.r.IntN(2)),
		},
		"daemonsets": {
			"spec.updateStrategy":               map[string]any{"type": "OnDelete"},
			"spec.updateStrategy.rollingUpdate": map[string]any{"maxSurge": int64(1), "maxUnavailable": int64(0)},
			"spec.minReadySeconds":              int64(p.r.IntN(2)),
		},
		"jobs":       {"spec.suspend": p.r.IntN(2) == 0, "spec.parallelism": int64(p.r.IntN(4))},
		"cronjobs":   {"spec.suspend": p.r.IntN(3) == 0, "spec.jobTemplate.metadata.labels": map[string]any{"run": text}},
		"things":     {"spec.config": text, "spec.labels": map[string]any{"value": text}, "metadata.labels." + tier: text},
		plan.Others:  {"spec.config": text, "spec.labels": map[string]any{"value": text}},
		"configmaps": {"data.spec": text, "data." + text: text},
		"pods":       {"spec.containers.0.image": text + ":1", "spec.activeDeadlineSeconds": p.mark().Number()},
	}
	all := choices[p.Resource]
	if p.Resource == "jobs" && p.Who != plan.Alice {
		// Small enough for a Job to end by them.
		maps.Copy(all, map[string]any{
			"spec.activeDeadlineSeconds": int64(1 + p.r.IntN(3)), "spec.backoffLimit": int64(p.r.IntN(2)),
			"spec.ttlSecondsAfterFinished": int64(p.r.IntN(3)), "spec.completions": int64(1 + p.r.IntN(3)),
		})
	}
	if slices.Contains([]string{"deployments", "statefulsets", "daemonsets"}, p.Resource) {
		maps.Copy(all, template)
	}
	if len(all) == 0 {
		return false
	}
	keys := slices.Sorted(maps.Keys(all))
	key := keys[p.r.IntN(len(keys))]
	return draw.Set(p.obj.Object, draw.Path(key), all[key])
}

// part changes, adds or removes the map that has bob's field, often with a field in it that is not
// his, and may approve more than his field. Where his field is always his only the other one gets the mark of
// the act.
func (p *performance) part() ([]string, error) {
	above := draw.Path("spec.template.spec.containers.0.securityContext")
	his, theirs := map[string]any{"runAsUser": int64(1 + p.r.IntN(100))}, map[string]any{"runAsGroup": p.mark().Number()}
	if p.Resource == "things" {
		above = draw.Path("spec.items.0.options")
		his, theirs = map[string]any{"force": p.r.IntN(2) == 0}, map[string]any{"mode": p.mark().Text()}
	}
	var value any
	n := p.r.IntN(6)
	if p.Resource == "statefulsets" {
		his["runAsUser"] = p.mark().Number() // It is his under conditions.
		if p.r.IntN(2) == 0 {
			n = 1
		}
	}
	switch n {
	case 0: // It is removed.
	case 1:
		value = his
	case 2:
		value = theirs
	default:
		maps.Copy(his, theirs)
		value = his
	}
	if !draw.Set(p.obj.Object, above, value) {
		return nil, errNothing
	}
	if p.Resource == "statefulsets" {
		for _, key := range []string{"ticket", "reviewed"} {
			if p.r.IntN(2) == 0 {
				annotate(p.obj, key, "yes")
				continue
			}
			annotations := p.obj.GetAnnotations()
			delete(annotations, key)
			p.obj.SetAnnotations(annotations)
		}
	}
	if p.r.IntN(3) == 0 {
		approved := []string{"*", "spec", strings.Join(above[:2], "."), "spec.template.spec.containers[0].securityContext", "spec.items[0].options"}
		annotate(p.obj, ownKey(p.obj, "approve"), approved[p.r.IntN(len(approved))])
	}
	return above, nil
}

// call makes a request that is none for a field.
func (p *performance) call(ctx context.Context) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: p.obj.GetName()}}
	switch p.What {
	case plan.Copy:
		return p.copy(ctx)
	case plan.Delete:
		policy := []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan}[p.r.IntN(3)]
		return p.who.Delete(ctx, p.obj, client.PropagationPolicy(policy))
	case plan.DeleteCollection:
		opts := []client.DeleteAllOfOption{client.InNamespace(p.namespace)}
		if app := p.obj.GetLabels()["app"]; app != "" {
			opts = append(opts, client.MatchingLabels{"app": app})
		}
		return p.who.DeleteAllOf(ctx, p.obj, opts...)
	case plan.Scale:
		return p.scale(ctx)
	case plan.Evict:
		return p.who.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{})
	case plan.Bind:
		return p.who.SubResource("binding").Create(ctx, pod, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: p.mark().Text()}})
	case plan.Debug:
		raw := fmt.Sprintf(`{"spec":{"ephemeralContainers":[{"name":%q,"image":"%s:1"}]}}`, p.mark().Text(), p.mark().Text())
		return p.who.SubResource("ephemeralcontainers").Patch(ctx, pod, client.RawPatch(types.StrategicMergePatchType, []byte(raw)))
	case plan.Resize:
		raw := fmt.Sprintf(`{"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"%dm"}}}]}}`, p.mark().Number())
		return p.who.SubResource("resize").Patch(ctx, pod, client.RawPatch(types.StrategicMergePatchType, []byte(raw)))
	default:
		return p.autoscale(ctx)
	}
}

func (p *performance) scale(ctx context.Context) error {
	if !slices.Contains([]string{"deployments", "statefulsets", "replicasets"}, p.Resource) {
		return errNothing
	}
	n := p.r.IntN(5)
	if p.r.IntN(2) == 0 {
		return p.who.Patch(ctx, p.obj, merge(fmt.Sprintf(`{"spec":{"replicas":%d}}`, n)))
	}
	return p.rescale(ctx, int32(n))
}

// rescale writes the number of replicas by the scale of the object.
func (p *performance) rescale(ctx context.Context, n int32) error {
	return p.who.SubResource("scale").Update(ctx, p.obj, client.WithSubResourceBody(&autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: p.obj.GetName()}, Spec: autoscalingv1.ScaleSpec{Replicas: n},
	}))
}

// copy creates another one like it, whose owners, labels and one field may be otherwise.
func (p *performance) copy(ctx context.Context) error {
	another := &unstructured.Unstructured{Object: map[string]any{}}
	for key, value := range p.obj.Object {
		if key != "status" && key != "metadata" {
			another.Object[key] = runtime.DeepCopyJSONValue(value)
		}
	}
	another.SetNamespace(p.namespace)
	another.SetName(p.mark().Text())
	another.SetLabels(p.obj.GetLabels())
	another.SetOwnerReferences(p.obj.GetOwnerReferences())
	unstructured.RemoveNestedField(another.Object, "spec", "nodeName")
	if p.Resource == "jobs" {
		unstructured.RemoveNestedField(another.Object, "spec", "selector")
		unstructured.RemoveNestedField(another.Object, "spec", "template", "metadata", "labels")
	}
	p.obj = another
	switch p.r.IntN(4) {
	case 0:
		another.SetOwnerReferences(nil)
	case 1:
		p.own()
	case 2:
		p.relabel()
	default:
		p.steer()
	}
	return p.who.Create(ctx, another)
}
