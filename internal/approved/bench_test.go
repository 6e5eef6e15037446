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

package approved

import (
	"fmt"
	"testing"
)

// deployment returns a Deployment of a usual size.
func deployment(b *testing.B) map[string]any {
	b.Helper()
	obj := object(b, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {app: web, team: shop}, annotations: {jira: SHOP-1}}
spec:
  replicas: 3
  progressDeadlineSeconds: 600
  revisionHistoryLimit: 10
  selector: {matchLabels: {app: web}}
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 25%}}
  template:
    metadata: {labels: {app: web}, annotations: {prometheus.io/scrape: "true"}}
    spec:
      dnsPolicy: ClusterFirst
      restartPolicy: Always
      schedulerName: default-scheduler
      securityContext: {runAsNonRoot: true}
      terminationGracePeriodSeconds: 30
      serviceAccountName: web
      volumes: [{name: config, configMap: {name: web, defaultMode: 420}}, {name: tmp, emptyDir: {}}]
      tolerations: [{key: dedicated, operator: Equal, value: shop, effect: NoSchedule}]
status: {replicas: 3, observedGeneration: 1}
`)
	var containers []any
	for i := range 3 {
		var env []any
		for j := range 10 {
			env = append(env, map[string]any{"name": fmt.Sprintf("VARIABLE_%d", j), "value": fmt.Sprintf("value-%d-%d", i, j)})
		}
		containers = append(containers, map[string]any{
			"name": fmt.Sprintf("c%d", i), "image": fmt.Sprintf("registry.example.com/shop/web-%d:1.2.3", i), "imagePullPolicy": "IfNotPresent",
			"args": []any{"--port=8080", "--verbose"}, "env": env,
			"ports":                    []any{map[string]any{"containerPort": int64(8080), "name": "http", "protocol": "TCP"}},
			"resources":                map[string]any{"limits": map[string]any{"cpu": "1", "memory": "512Mi"}, "requests": map[string]any{"cpu": "100m", "memory": "128Mi"}},
			"livenessProbe":            map[string]any{"httpGet": map[string]any{"path": "/healthz", "port": "http", "scheme": "HTTP"}, "periodSeconds": int64(10)},
			"volumeMounts":             []any{map[string]any{"name": "config", "mountPath": "/etc/web"}, map[string]any{"name": "tmp", "mountPath": "/tmp"}},
			"terminationMessagePath":   "/dev/termination-log",
			"terminationMessagePolicy": "File",
		})
	}
	if err := path(b, "spec.template.spec.containers").Set(obj, containers); err != nil {
		b.Fatal(err)
	}
	return obj
}

// changed returns a Deployment of which one image is withheld.
func changed(b *testing.B) *holder {
	b.Helper()
	h := newHolder(b, deployment(b))
	h.object.Metadata = patterns(b, "metadata.labels", "metadata.annotations[jira]")
	h.object.Triggers = triggers(patterns(b, "spec.replicas", "spec.template.spec.containers[*].image", "metadata.annotations[jira]"))
	h.write("mallory", with(b, h.object.Fields, "spec.template.spec.containers[1].image", "evil"), never, nil)
	if len(h.now().Withheld()) != 1 {
		b.Fatalf("withheld: %v", told(h.now()))
	}
	return h
}

func BenchmarkNow(b *testing.B) {
	b.Run("nothing withheld", func(b *testing.B) {
		h := newHolder(b, deployment(b))
		b.ReportAllocs()
		for b.Loop() {
			if st := h.now(); len(st.Differences) != 0 {
				b.Fatal("something is withheld")
			}
		}
	})
	b.Run("an image withheld", func(b *testing.B) {
		h := changed(b)
		b.ReportAllocs()
		for b.Loop() {
			if st := h.now(); len(st.Differences) != 1 {
				b.Fatal("not one change is withheld")
			}
		}
	})
}

func BenchmarkAfter(b *testing.B) {
	h := changed(b)
	st := h.now()
	next := h.object
	next.Fields = with(b, next.Fields, "spec.replicas", int64(5))
	b.ReportAllocs()
	for b.Loop() {
		if after := st.After(Request{New: next, User: alice}); len(after.Differences) != 1 {
			b.Fatal("not one change is withheld")
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	h := changed(b)
	s := h.now().State()
	b.ReportAllocs()
	for b.Loop() {
		if s.Encode(uid) == "" {
			b.Fatal("no text")
		}
	}
	b.ReportMetric(float64(len(s.Encode(uid))), "bytes")
}
