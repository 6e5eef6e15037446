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

package record

import (
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/objectcache/compressed"
)

// Cache is a cache for a manager in which AllowanceRecords, of which there may be very
// many, are packed.
type Cache = compressed.Cache[v1alpha1.AllowanceRecord, *v1alpha1.AllowanceRecord, *v1alpha1.AllowanceRecordList]

// NewCache makes a Cache, for manager.Options.NewCache, which notes something of each
// record, and has all watches attended; note and attend may be nil.
func NewCache(cfg *rest.Config, opts cache.Options, note func(*v1alpha1.AllowanceRecord) any, attend compressed.Attend) (*Cache, error) {
	return compressed.NewCache[v1alpha1.AllowanceRecord, *v1alpha1.AllowanceRecord, *v1alpha1.AllowanceRecordList](cfg, opts, note, attend)
}
