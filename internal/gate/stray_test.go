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

package gate_test

import (
	"iter"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/gate/crossplane"
)

func bucketNamed(namespace, name, outside string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion("cloud.example.com/v1")
	obj.SetKind("Bucket")
	obj.SetNamespace(namespace)
	obj.SetName(name)
	obj.SetUID(types.UID(namespace + "/" + name))
	if outside != "" {
		obj.SetAnnotations(map[string]string{crossplane.ExternalNameAnnotation: outside})
	}
	return obj
}

// TestDescribeStray says whose thing outside a stray stands for, as far as names tell, and never the name itself.
func TestDescribeStray(t *testing.T) {
	const field = " By metadata.annotations[crossplane.io/external-name] it stands for "
	all := []*unstructured.Unstructured{
		bucketNamed("", "main", "victim"), bucketNamed("", "victim", ""), bucketNamed("shop", "other", "victim"), bucketNamed("", "own", "own"),
	}
	list := iter.Seq2[*unstructured.Unstructured, error](func(yield func(*unstructured.Unstructured, error) bool) {
		for _, obj := range all {
			if !yield(obj, nil) {
				return
			}
		}
	})
	for name, tt := range map[string]struct {
		obj  *unstructured.Unstructured
		want string
	}{
		"as it is called":  {obj: bucketNamed("", "own", "")},
		"as another does":  {obj: all[0], want: field + "the same outside as Bucket victim, Bucket shop/other: what is done to the one is done to the other."},
		"as nothing known": {obj: bucketNamed("", "main", "far"), want: field + "something outside that is not called like it: whoever made it said so, and it may be another's."},
	} {
		t.Run(name, func(t *testing.T) {
			sharing := gate.Sharing(crossplane.Driver{}, tt.obj, list)
			if diff := cmp.Diff(tt.want, gate.DescribeStray(crossplane.Driver{}, tt.obj, sharing)); diff != "" {
				t.Errorf("it says (-want +got):\n%s", diff)
			}
		})
	}
}
