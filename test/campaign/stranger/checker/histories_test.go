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
	"testing"
	"time"

	"kausality.io/operator/test/campaign/audit"
)

// A history goes on from the one before.
func TestHistories(t *testing.T) {
	type fields = map[string]any
	begun := time.Date(2026, 1, 1, 0, 2, 0, 0, time.UTC)
	entry := func(event string, after int, more ...fields) fields {
		out := fields{"event": event, "user": "", "time": begun.Add(time.Duration(after) * time.Second).Format(time.RFC3339)}
		for _, m := range more {
			out = merged(out, m)
		}
		return out
	}
	again := func(count int) fields { return fields{"firstTime": begun.Format(time.RFC3339), "count": count} }
	denied, granted := entry("Denied", 0), entry("Granted", 2)
	tests := map[string]struct {
		told [][]any
		want []Promise
	}{
		"it goes on":                          {told: [][]any{{denied}, {granted, denied}}},
		"the newest is the last":              {told: [][]any{{denied}, {denied, granted}}, want: []Promise{Stale}},
		"what is older stays":                 {told: [][]any{{granted, denied}, {denied}}},
		"what was denied is forgotten":        {told: [][]any{{entry("Denied", 2), entry("Granted", 0)}, {entry("Granted", 0)}}, want: []Promise{Stale}},
		"what is oldest is left out":          {told: [][]any{{granted, denied}, {granted}}},
		"it is counted":                       {told: [][]any{{denied}, {entry("Denied", 2, again(2))}, {entry("Denied", 4, again(4))}}},
		"it is not counted":                   {told: [][]any{{denied}, {entry("Denied", 2, again(2))}, {entry("Denied", 4, again(2))}}, want: []Promise{Stale}},
		"it is not counted at first":          {told: [][]any{{denied}, {entry("Denied", 2, again(1))}}, want: []Promise{Stale}},
		"it is told of somebody else":         {told: [][]any{{denied, entry("Granted", -5)}, {entry("Denied", 0, fields{"operation": "Delete"}), entry("Granted", -5)}}, want: []Promise{Stale}},
		"one of two is told of once more":     {told: [][]any{{denied, denied}, {entry("Denied", 2, again(2)), denied}}},
		"what somebody tried is told no more": {told: [][]any{{entry("Deleted", 1), entry("Granted", 0)}, {entry("Granted", 0)}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			s.start(-time.Minute)
			for _, history := range tc.told {
				s.write(operatorUser, audit.VerbUpdate, records+"/status", "r", fields{
					"spec": fields{"targetRef": fields{"uid": "uid-web"}}, "status": fields{"phase": "Steady", "history": history, "denials": 9},
				})
			}
			s.finds(tc.want)
		})
	}
}
