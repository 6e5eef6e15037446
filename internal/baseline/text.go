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
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
)

// line is how an entry is written: one JSON object a line, compressed all together.
type line struct {
	Group      string                   `json:"group,omitempty"`
	Kind       string                   `json:"kind"`
	Namespace  string                   `json:"namespace,omitempty"`
	Name       string                   `json:"name"`
	UID        types.UID                `json:"uid"`
	Generation int64                    `json:"generation,omitempty"`
	Digests    []v1alpha1.ContentDigest `json:"digests,omitempty"`
	Parents    []string                 `json:"parents,omitempty"`
	// Policies is the creation time of its newest policy, in Unix seconds.
	Policies int64 `json:"policies,omitempty"`
}

// maxText is how much a text may have when it is decompressed: what is larger nobody of
// ours has written.
const maxText = 64 << 20

// encode writes lines in the order of their UIDs, so that the same ones give the same
// text.
func encode(lines []line) ([]byte, error) {
	slices.SortFunc(lines, func(a, b line) int { return cmp.Compare(a.UID, b.UID) })
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	encoder := json.NewEncoder(z)
	for i := range lines {
		if err := encoder.Encode(&lines[i]); err != nil {
			return nil, fmt.Errorf("writing what %s %s/%s is like: %w", lines[i].Kind, lines[i].Namespace, lines[i].Name, err)
		}
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("compressing what objects are like: %w", err)
	}
	return out.Bytes(), nil
}

// decode reads what encode has written.
func decode(text []byte) ([]line, error) {
	z, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("decompressing what objects are like: %w", err)
	}
	var out []line
	decoder := json.NewDecoder(io.LimitReader(z, maxText))
	for {
		var l line
		switch err := decoder.Decode(&l); {
		case err == io.EOF:
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("reading what objects are like, after %d: %w", len(out), err)
		}
		out = append(out, l)
	}
}

// shardOf returns which of a number of shards tells of an object; of twice as many, it is that
// one or one that is new.
func shardOf(uid types.UID, shards int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(uid)) // It never fails.
	return int(h.Sum32() % uint32(max(shards, 1)&0xffff))
}
