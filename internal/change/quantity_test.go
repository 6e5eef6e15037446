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

package change

import "testing"

func TestFindComparesQuantitiesByValue(t *testing.T) {
	tests := map[string]struct {
		old, new string
		same     bool
	}{
		"requests":                         {`spec: {resources: {requests: {cpu: "0.5"}}}`, `spec: {resources: {requests: {cpu: 500m}}}`, true},
		"limits of other formats":          {`spec: {limits: {memory: 1Gi}}`, `spec: {limits: {memory: "1073741824"}}`, true},
		"a number":                         {`spec: {limits: {cpu: 2}}`, `spec: {limits: {cpu: "2"}}`, true},
		"a number with a fraction":         {`spec: {limits: {cpu: 0.5}}`, `spec: {limits: {cpu: 500m}}`, true},
		"an extended resource":             {`spec: {limits: {nvidia.com/gpu: "1"}}`, `spec: {limits: {nvidia.com/gpu: "1.0"}}`, true},
		"huge pages":                       {`spec: {limits: {hugepages-2Mi: 1Gi}}`, `spec: {limits: {hugepages-2Mi: 1024Mi}}`, true},
		"a quota":                          {`spec: {hard: {limits.cpu: "1"}}`, `spec: {hard: {limits.cpu: 1000m}}`, true},
		"a size limit":                     {`spec: {sizeLimit: 1Gi}`, `spec: {sizeLimit: 1024Mi}`, true},
		"another value":                    {`spec: {limits: {cpu: "1"}}`, `spec: {limits: {cpu: "2"}}`, false},
		"text in place of a quantity":      {`spec: {limits: {cpu: much}}`, `spec: {limits: {cpu: "2"}}`, false},
		"a boolean in place of a quantity": {`spec: {limits: {cpu: true}}`, `spec: {limits: {cpu: "1"}}`, false},
		"a quantity in place of text":      {`spec: {limits: {cpu: "2"}}`, `spec: {limits: {cpu: much}}`, false},
		"a version":                        {`spec: {version: "1.10"}`, `spec: {version: "1.1"}`, false},
		"a version among limits":           {`spec: {limits: {version: "1.10"}}`, `spec: {limits: {version: "1.1"}}`, false},
		"a file":                           {`data: {cpu: "1.10"}`, `data: {cpu: "1.1"}`, false},
		"an item of a list":                {`spec: {limits: ["1.10"]}`, `spec: {limits: ["1.1"]}`, false},
		"an exponent that takes seconds":   {`spec: {limits: {cpu: 1e-9999999}}`, `spec: {limits: {cpu: "1e-9999998"}}`, false},
		"a number of many digits":          {`spec: {limits: {cpu: "0.00000000000000000000000000000000000000000000000000000000000000000"}}`, `spec: {limits: {cpu: "0"}}`, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			before, after := object(t, tc.old), object(t, tc.new)
			if got := len(Find(before, after, Options{})) == 0; got != tc.same {
				t.Errorf("Find says equal: %v, want %v", got, tc.same)
			}
			if got := HashOfCounted(before) == HashOfCounted(after); got != tc.same {
				t.Errorf("HashOfCounted says equal: %v, want %v", got, tc.same)
			}
		})
	}
}
