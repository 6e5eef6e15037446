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

package generate

// DefaultServiceAccount is the name, in the operator's namespace, of the service account of a policy
// that names none.
const DefaultServiceAccount = "kausality-generator"

// The limits of a policy, and of one evaluation. Past one of an evaluation, its trigger is
// reported, and what there is for it is left as it is.
const (
	// MaxConditions is how many matchConditions a policy may have.
	MaxConditions = 64
	// MaxVariables is how many variables it may have.
	MaxVariables = 64
	// MaxGenerations is how many generate expressions it may have.
	MaxGenerations = 64
	// MaxExpression is the length of one expression, in bytes.
	MaxExpression = 64 << 10
	// MaxObjects is how many objects one trigger may want.
	MaxObjects = 1000
	// MaxApplied is how often objects may be applied for one trigger, those that are left
	// out included: a list for each of n namespaces, applied to each of them, is n².
	MaxApplied = 100_000
	// MaxObjectBytes is the size of one object as JSON. The API server takes 1.5 MiB with
	// what it adds.
	MaxObjectBytes = 1 << 20
	// MaxTotalBytes is the size of all that one trigger wants.
	MaxTotalBytes = 16 << 20
	// MaxReads is how often one evaluation may call resource.Get and resource.List; the
	// same call counts once.
	MaxReads = 100
	// MaxObjectsRead is how many objects these may find.
	MaxObjectsRead = 10_000
	// MaxNesting is how deep lists of what is applied may be nested.
	MaxNesting = 8
	// MaxRequestBytes is the size of the requests that one object keeps, as JSON.
	MaxRequestBytes = 32 << 10
	// MaxAbove is how many policies may be above a trigger: one that made it, one that made
	// the trigger of that one, and so on.
	MaxAbove = 8
)
