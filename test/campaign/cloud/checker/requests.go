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
	"encoding/json"
	"io"
	"slices"
	"time"

	"kausality.io/operator/test/campaign/audit"
)

// Request is one that the API server has carried out or refused.
type Request struct {
	// Received and Answered are when. What it asks for has become true in between.
	Received, Answered time.Time
	// User is who asked, or on whose behalf somebody asked, and Groups are the user's.
	User   string
	Groups []string
	Verb   string
	// APIGroup, Resource, Subresource, Namespace and Name say of what.
	APIGroup, Resource, Subresource, Namespace, Name string
	// Code is the answer's.
	Code int
	// Approved are the paths that it approves of, and Object what was stored; the latter is
	// nil where nothing was.
	Approved []string
	Object   *Object
}

// Succeeded reports whether the request was carried out.
func (r *Request) Succeeded() bool { return r.Code >= 200 && r.Code < 300 }

// kinds are those of what databases consist of, and of what is recorded of them.
var kinds = audit.Kinds{
	"databaseclaims": claimKind, "xdatabases": compositeKind, "databases": databaseKind, instances: "RDSInstance",
	"allowancerecords": "AllowanceRecord",
}

// ReadRequests reads the requests that were to change objects of the given API groups
// from an audit log.
func ReadRequests(log io.Reader, groups ...string) ([]Request, error) {
	var out []Request
	err := audit.Scan(log, kinds, func(w *audit.Write, answer []byte) error {
		if !slices.Contains(groups, w.Group) {
			return nil
		}
		r := Request{
			Received: w.Received, Answered: w.Answered, User: w.User, Groups: w.Groups, Verb: w.Verb,
			APIGroup: w.Group, Resource: w.Resource, Subresource: w.Subresource, Namespace: w.Namespace, Name: w.Name,
			Code: int(w.Code), Approved: w.Approved(),
		}
		if len(answer) > 0 {
			var stored Object
			if err := json.Unmarshal(answer, &stored); err != nil {
				return err
			}
			if stored.Kind == kinds[w.Resource] || stored.Kind == audit.Partial {
				r.Object = &stored
			}
		}
		out = append(out, r)
		return nil
	})
	return out, err
}
