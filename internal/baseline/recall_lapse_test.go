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

package baseline

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// TestLapse shows that after a time in which nobody was asked it is as before the first request.
func TestLapse(t *testing.T) {
	clock := clocktesting.NewFakeClock(noon)
	m := New(Config{Clock: clock})
	if since, young := m.Since(); !young || !since.Equal(noon) {
		t.Fatalf("at first: %s, %t", since, young)
	}
	m.NoteExplained("web")
	clock.Step(time.Hour)
	if _, young := m.Since(); young {
		t.Fatal("it is young after an hour")
	}
	m.Lapse(true)
	for range 2 {
		clock.Step(time.Hour)
		if since, young := m.Since(); !young || !since.Equal(clock.Now()) {
			t.Errorf("while nobody is asked: %s, %t", since, young)
		}
	}
	if m.IsExplained("web") {
		t.Error("what was explained before says what was changed since")
	}
	m.NoteExplained("web")
	m.Lapse(false)
	if since, young := m.Since(); !young || !since.Equal(clock.Now()) || m.IsExplained("web") {
		t.Errorf("once somebody is asked again: %s, %t", since, young)
	}
}
