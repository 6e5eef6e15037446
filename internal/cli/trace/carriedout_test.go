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

package trace

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/text"
)

// What was withheld and carried out is one cause, which tells both.
func TestTraceOfWhatWasCarriedOut(t *testing.T) {
	now := time.Now()
	withheld := v1alpha1.HistoryEntry{
		Time: metav1.NewTime(now.Add(-time.Hour)), Event: v1alpha1.EventWithheld, User: "mallory", Paths: []string{"spec.template"},
		Trace: []v1alpha1.TraceHop{{Kind: "Deployment", Name: "web", Generation: 2, Field: "spec.template"}},
	}
	released := withheld
	released.Time, released.Event, released.Reason = metav1.NewTime(now), v1alpha1.EventReleased, v1alpha1.ReasonCarriedOut
	rec := v1alpha1.AllowanceRecord{
		Spec:   v1alpha1.AllowanceRecordSpec{TargetRef: v1alpha1.TargetReference{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: "web", UID: "web"}},
		Status: v1alpha1.AllowanceRecordStatus{History: []v1alpha1.HistoryEntry{released, withheld}},
	}
	links := linksOf(&rec)
	causes := grow(links, links)
	if len(causes) != 1 {
		t.Fatalf("%d causes, want one", len(causes))
	}
	if page := (drawing{terminal: text.Terminal{Width: text.DefaultWidth}, namespace: "shop", now: now}).cause(causes[0]); !strings.Contains(page, "withheld, and carried out although nobody approved it") {
		t.Error(page)
	}
	if page := renderLately(latest("shop", []v1alpha1.AllowanceRecord{rec}, -1), text.Terminal{Width: text.DefaultWidth}, now); !strings.Contains(page, "not told: it was carried") || strings.Contains(page, "nothing") {
		t.Error(page)
	}
}
