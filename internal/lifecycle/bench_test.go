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

package lifecycle

import "testing"

// The admission of every status write of a holder asks, so these show the cost
// of the common states of the busiest kinds.

func benchmarkOf(b *testing.B, object string, settled bool) {
	b.Helper()
	obj := parse(b, object)
	if got := Of(obj, nil); got.Settled != settled {
		b.Fatalf("Settled = %t, want %t (%s)", got.Settled, settled, got.Why)
	}
	b.ReportAllocs()
	for b.Loop() {
		Of(obj, nil)
	}
}

func BenchmarkDeployment(b *testing.B) {
	b.Run("behind", func(b *testing.B) {
		benchmarkOf(b, deploymentObject(3, rollingTen, deploymentStatus(2, 10, 10, 10, available+","+newRSAvailable)), false)
	})
	b.Run("in mid-rollout", func(b *testing.B) {
		benchmarkOf(b, deploymentObject(3, rollingTen, deploymentStatus(3, 13, 5, 8, available+","+rsUpdated)), false)
	})
	b.Run("settled", func(b *testing.B) {
		benchmarkOf(b, deploymentObject(3, rollingTen, deploymentStatus(3, 10, 10, 10, available+","+newRSAvailable)), true)
	})
}

func BenchmarkReplicaSet(b *testing.B) {
	b.Run("behind", func(b *testing.B) {
		benchmarkOf(b, replicaSetObject(3, 3, `{observedGeneration: 2, replicas: 3, fullyLabeledReplicas: 3, readyReplicas: 3, availableReplicas: 3}`), false)
	})
	b.Run("scaling", func(b *testing.B) {
		benchmarkOf(b, replicaSetObject(3, 5, `{observedGeneration: 3, replicas: 3, fullyLabeledReplicas: 3, readyReplicas: 3, availableReplicas: 3}`), false)
	})
	b.Run("settled", func(b *testing.B) {
		benchmarkOf(b, replicaSetObject(3, 3, `{observedGeneration: 3, replicas: 3, fullyLabeledReplicas: 3, readyReplicas: 3, availableReplicas: 3}`), true)
	})
}
