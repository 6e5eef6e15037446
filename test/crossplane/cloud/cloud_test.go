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

package cloud

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// start returns a cloud with an instance, and its log.
func start(t *testing.T) (Client, *bytes.Buffer) {
	t.Helper()
	log := &bytes.Buffer{}
	server := httptest.NewServer(NewServer(log).Handler())
	t.Cleanup(server.Close)
	client := Client{URL: server.URL, By: "a test"}
	if _, err := client.Do(t.Context(), Create, "db", Parameters{"engine": "postgres", "size": "small"}); err != nil {
		t.Fatal(err)
	}
	return client, log
}

func TestFaults(t *testing.T) {
	update := Parameters{"engine": "mysql", "size": "large"}
	tests := map[string]struct {
		fault   Fault
		verb    Verb
		outcome Outcome
		want    Parameters
	}{
		"none": {
			verb: Update, outcome: Done,
			want: Parameters{"backupWindow": defaultedValue, "engine": "mysql", "size": "large"},
		},
		"an update is refused": {
			fault: Fault{Verb: Update, Outcome: Refused}, verb: Update, outcome: Refused,
			want: Parameters{"backupWindow": defaultedValue, "engine": "postgres", "size": "small"},
		},
		"an update fails half-way": {
			fault: Fault{Name: "db", Outcome: Partial}, verb: Update, outcome: Partial,
			want: Parameters{"backupWindow": defaultedValue, "engine": "mysql", "size": "small"},
		},
		"a deletion fails half-way": {
			fault: Fault{Outcome: Partial}, verb: Delete, outcome: Partial,
			want: Parameters{"backupWindow": defaultedValue, "engine": "postgres", "size": "small"},
		},
		"a fault of another verb": {
			fault: Fault{Verb: Delete, Outcome: Refused}, verb: Update, outcome: Done,
			want: Parameters{"backupWindow": defaultedValue, "engine": "mysql", "size": "large"},
		},
		"a fault of another instance": {
			fault: Fault{Name: "other", Outcome: Refused}, verb: Update, outcome: Done,
			want: Parameters{"backupWindow": defaultedValue, "engine": "mysql", "size": "large"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			client, log := start(t)
			if tc.fault != (Fault{}) {
				if err := client.Inject(t.Context(), tc.fault); err != nil {
					t.Fatal(err)
				}
			}
			_, err := client.Do(t.Context(), tc.verb, "db", update)
			if (err == nil) != (tc.outcome == Done) {
				t.Errorf("got error %v", err)
			}
			has, err := client.Peek(t.Context(), "db")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, has); diff != "" {
				t.Errorf("the instance (-want +got):\n%s", diff)
			}
			calls, err := client.Calls(t.Context(), "db")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]Verb{Create, tc.verb}, calls.Mutations().Verbs()); diff != "" {
				t.Errorf("mutations (-want +got):\n%s", diff)
			}
			if got := calls.Of(tc.verb).With(tc.outcome); len(got) != 1 || got[0].By != "a test" {
				t.Errorf("calls: %+v, want one with outcome %s", calls, tc.outcome)
			}
			if lines := strings.Count(log.String(), "\n"); lines != 4 {
				t.Errorf("the log has %d lines, want two for each of two calls:\n%s", lines, log)
			}
		})
	}
}

func TestOnce(t *testing.T) {
	client, _ := start(t)
	if err := client.Inject(t.Context(), Fault{Verb: Observe, Times: 1, Outcome: Refused}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Do(t.Context(), Observe, "db", nil); err == nil {
		t.Error("the fault has no effect")
	}
	if _, err := client.Do(t.Context(), Observe, "db", nil); err != nil {
		t.Errorf("the fault lasts: %v", err)
	}
}

func TestBehindTheBack(t *testing.T) {
	client, _ := start(t)
	if err := client.Drift(t.Context(), "db", Parameters{"size": "tiny"}); err != nil {
		t.Fatal(err)
	}
	has, err := client.Do(t.Context(), Observe, "db", nil)
	if err != nil || has.Parameters["size"] != "tiny" {
		t.Errorf("after a drift: %v, %v", has, err)
	}
	if err := client.Lose(t.Context(), "db"); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Do(t.Context(), Observe, "db", nil); !errors.Is(err, ErrNotFound) {
		t.Errorf("after the loss: got error %v, want %v", err, ErrNotFound)
	}
	calls, err := client.Calls(t.Context(), "db")
	if err != nil || len(calls.Mutations()) != 1 || len(calls.Observations()) != 2 {
		t.Errorf("calls: %+v, %v", calls, err)
	}
	if calls, err := client.Calls(t.Context(), "other"); err != nil || len(calls) > 0 {
		t.Errorf("calls on another one: %+v, %v", calls, err)
	}
}

// A delayed call goes on when the faults are taken back.
func TestClear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(&bytes.Buffer{})
		s.instances["db"] = Parameters{}
		s.faults = []*Fault{{Name: "db", Delay: Duration(time.Hour)}}
		began := time.Now()
		done := make(chan struct{})
		ask := func(method, path string) {
			s.Handler().ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody))
		}
		go func() {
			defer close(done)
			ask(http.MethodDelete, instancesPath+"db")
		}()
		synctest.Wait()
		ask(http.MethodDelete, faultsPath+"/other")
		<-time.After(time.Minute)
		ask(http.MethodDelete, faultsPath+"/db")
		<-done
		if took := time.Since(began); took != time.Minute {
			t.Errorf("it took %s", took)
		}
		if _, exists := s.instances["db"]; exists {
			t.Error("it was not carried out")
		}
	})
}

// A call goes on when the one who called has given up.
func TestImpatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(&bytes.Buffer{})
		s.instances["db"] = Parameters{}
		s.faults = []*Fault{{Delay: Duration(time.Minute)}}
		ctx, giveUp := context.WithCancel(t.Context())
		request := httptest.NewRequestWithContext(ctx, http.MethodDelete, instancesPath+"db", http.NoBody)
		go s.Handler().ServeHTTP(httptest.NewRecorder(), request)
		synctest.Wait()
		giveUp()
		<-time.After(2 * time.Minute)
		synctest.Wait()
		if _, exists := s.instances["db"]; exists {
			t.Error("the deletion was given up, too")
		}
	})
}
