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
	"slices"

	jsonpatch "github.com/evanphx/json-patch/v5"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"kausality.io/operator/test/campaign/audit"
)

// patched returns what a denied patch was to make of an object, nil where that is not certain: what is applied tells not what goes,
// and the log has not in which way a patch was to be merged.
func (c *checker) patched(w *audit.Write, found *audit.Object) *audit.Object {
	if w.Subresource != "" || len(w.Patch) == 0 || found.Content == nil {
		return nil
	}
	before, err := asJSON(found)
	if err != nil {
		return nil
	}
	if bytes.HasPrefix(bytes.TrimSpace(w.Patch), []byte("[")) {
		return c.decoded(found, func() ([]byte, error) {
			patch, err := jsonpatch.DecodePatch(w.Patch)
			if err != nil {
				return nil, err
			}
			return patch.Apply(before)
		})
	}
	fields := patchOf(w)
	if fields["apiVersion"] != nil || fields["kind"] != nil {
		return nil
	}
	if uid, named := audit.AsMap(fields["metadata"])["uid"]; named && uid != string(found.UID) {
		return nil // The API server says so itself.
	}
	merged := c.decoded(found, func() ([]byte, error) { return jsonpatch.MergePatch(before, w.Patch) })
	schema := typed[found.Kind]
	if schema == nil {
		return merged
	}
	strategic := c.decoded(found, func() ([]byte, error) { return strategicpatch.StrategicMergePatch(before, w.Patch, schema) })
	switch {
	case merged == nil || strategic == nil:
		return nil
	case slices.Contains(c.trusted(), w.User) && !w.Posing:
		return strategic // As the controllers of Kubernetes patch.
	case len(differences(merged, strategic)) > 0:
		return nil
	}
	return merged
}

// typed are those of the kinds whose lists are merged by keys.
var typed = map[string]any{
	kinds[deployments]: appsv1.Deployment{}, kinds[replicaSets]: appsv1.ReplicaSet{}, kinds[statefulSets]: appsv1.StatefulSet{},
	kinds[daemonSets]: appsv1.DaemonSet{}, kinds[revisions]: appsv1.ControllerRevision{}, kinds[jobs]: batchv1.Job{},
	kinds[cronJobs]: batchv1.CronJob{}, kinds[pods]: corev1.Pod{}, kinds[configMaps]: corev1.ConfigMap{},
}

func differences(a, b *audit.Object) []audit.Change {
	return slices.Concat(audit.ContentChanges(a, b), audit.LabelChanges(a, b), audit.OwnerChanges(a, b))
}

// asJSON returns what is known of an object as it is written.
func asJSON(o *audit.Object) ([]byte, error) {
	meta := map[string]any{"name": o.Name, "namespace": o.Namespace, "uid": o.UID}
	if len(o.Labels) > 0 {
		meta["labels"] = o.Labels
	}
	if len(o.Annotations) > 0 {
		meta["annotations"] = o.Annotations
	}
	if len(o.Owners) > 0 {
		owners := slices.Clone(o.Owners)
		for i := range owners {
			owners[i].Kind = audit.Plain(owners[i].Kind)
		}
		meta["ownerReferences"] = owners
	}
	if len(o.Finalizers) > 0 {
		meta["finalizers"] = o.Finalizers
	}
	out := map[string]any{"metadata": meta}
	for key, raw := range o.Raw {
		out[key] = raw
	}
	return json.Marshal(out)
}

// decoded returns the object that a patch makes of one, nil where it makes none.
func (c *checker) decoded(found *audit.Object, apply func() ([]byte, error)) *audit.Object {
	raw, err := apply()
	if err != nil {
		return nil
	}
	out, err := c.Log.Decode(raw)
	if err != nil {
		return nil
	}
	out.Kind, out.Revision, out.Generation, out.Deleting = found.Kind, found.Revision, found.Generation, found.Deleting
	return out
}
