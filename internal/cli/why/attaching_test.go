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

package why

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/text"
	"kausality.io/operator/internal/decision"
)

// TestParentThatIsNotGiven tells of what an object was refused that it would have become a child of another: only its own
// record has that.
func TestParentThatIsNotGiven(t *testing.T) {
	refused := v1alpha1.HistoryEntry{
		Time: before(time.Minute), Event: v1alpha1.EventRefused, User: "system:serviceaccount:crossplane-system:crossplane", Operation: operationUpdate,
		Policies: []string{"own"}, Message: decision.GivesParent("ReplicaSet free", "Deployment web") + ": Group platform-team",
	}
	free := recordOf("free", v1alpha1.AllowanceRecordStatus{History: []v1alpha1.HistoryEntry{refused}})
	free.Spec.TargetRef.Kind = "ReplicaSet"
	for name, want := range map[string]bool{"web": true, "we": false, "web2": false} {
		report := collect([]v1alpha1.AllowanceRecord{free}, scene{
			look: func(v1alpha1.TargetReference) live { return live{} },
		}, &cluster.Target{GVK: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Namespace: "shop", Name: name})
		page := render(report, text.Terminal{Width: text.DefaultWidth}, false, now)
		if got := strings.Contains(page, "update of ReplicaSet/free") && strings.Contains(page, "giving ReplicaSet free"); got != want {
			t.Errorf("of %s it is told: %t, want %t:\n%s", name, got, want, page)
		}
	}
}

// TestBelowRefusesItself tells above an object that its own policies have refused something to a controller.
func TestBelowRefusesItself(t *testing.T) {
	const controller = "system:serviceaccount:crossplane-system:crossplane"
	at := func(event v1alpha1.HistoryEvent, user string) v1alpha1.HistoryEntry {
		return v1alpha1.HistoryEntry{Time: before(time.Minute), Event: event, User: user, Operation: operationUpdate, Paths: []string{"spec.size"}}
	}
	for name, tc := range map[string]struct {
		history []v1alpha1.HistoryEntry
		want    string
	}{
		"a controller":                        {history: []v1alpha1.HistoryEntry{at(v1alpha1.EventRefused, controller)}, want: "refused update of Deployment/a to " + controller + ", 60s ago, by its own policies"},
		"a person":                            {history: []v1alpha1.HistoryEntry{at(v1alpha1.EventRefused, "mallory")}},
		"a controller that has changed it":    {history: []v1alpha1.HistoryEntry{at(v1alpha1.EventGranted, controller), at(v1alpha1.EventRefused, controller)}},
		"a controller, and others changed it": {history: []v1alpha1.HistoryEntry{at(v1alpha1.EventGranted, "alice"), at(v1alpha1.EventRefused, controller)}, want: "refused update of Deployment/a to " + controller + ", 60s ago, by its own policies"},
	} {
		t.Run(name, func(t *testing.T) {
			rec := recordOf("a", v1alpha1.AllowanceRecordStatus{History: tc.history})
			got := ""
			if b := belowIn(&rec); b != nil {
				page := strings.Join(strings.Fields(renderBelow(*b, text.Terminal{Width: text.DefaultWidth}, now)), " ")
				_, page, _ = strings.Cut(page, "Deployment/a ")
				got, _, _ = strings.Cut(page, " command ")
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("below (-want +got):\n%s", diff)
			}
		})
	}
}
