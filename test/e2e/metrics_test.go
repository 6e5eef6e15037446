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

package e2e

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// averageMemory is the use of memory per Pod, in MiB, that autoscalers aim at.
const averageMemory = 100

// metricsAPI is a metrics API as autoscalers ask it: each Pod of a namespace uses
// as much memory as was last said.
type metricsAPI struct {
	cluster *cluster

	mu    sync.Mutex
	usage map[string]int64
}

// serveMetrics serves the metrics API of the cluster until the end of the
// container. There can only be one.
func (c *cluster) serveMetrics(ctx context.Context) *metricsAPI {
	GinkgoHelper()
	api := &metricsAPI{cluster: c, usage: map[string]int64{}}
	mux := http.NewServeMux()
	version := "/apis/" + metricsv1beta1.SchemeGroupVersion.String()
	mux.HandleFunc("GET "+version, func(w http.ResponseWriter, _ *http.Request) { answer(w, metricsResources()) })
	mux.HandleFunc("GET "+version+"/namespaces/{namespace}/pods", api.list)
	server := httptest.NewUnstartedServer(mux)
	server.Config.ErrorLog = quietLog()
	server.StartTLS()
	DeferCleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	Expect(err).NotTo(HaveOccurred())
	number, err := strconv.Atoi(port)
	Expect(err).NotTo(HaveOccurred())

	// A Service cannot have endpoints on a loopback address, but be an alias of one.
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "metrics"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	}
	registration := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group":                 metricsv1beta1.SchemeGroupVersion.Group,
		"version":               metricsv1beta1.SchemeGroupVersion.Version,
		"groupPriorityMinimum":  int64(100),
		"versionPriority":       int64(100),
		"insecureSkipTLSVerify": true,
		"service": map[string]any{
			"namespace": service.Namespace, "name": service.Name, "port": int64(number),
		},
	}}}
	registration.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"})
	registration.SetName(metricsv1beta1.SchemeGroupVersion.Version + "." + metricsv1beta1.SchemeGroupVersion.Group)
	for _, obj := range []client.Object{service, registration} {
		Expect(c.Create(ctx, obj)).To(Succeed())
		DeferCleanup(func(ctx context.Context) error { return c.Delete(ctx, obj) })
	}
	return api
}

// use says how much memory each Pod of a namespace uses, in MiB.
func (m *metricsAPI) use(namespace string, mebibytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.usage[namespace] = mebibytes
}

// list answers with the metrics of the Pods that a selector selects.
func (m *metricsAPI) list(w http.ResponseWriter, r *http.Request) {
	namespace := r.PathValue("namespace")
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var pods corev1.PodList
	if err := m.cluster.List(r.Context(), &pods, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	m.mu.Lock()
	used := resource.NewQuantity(m.usage[namespace]<<20, resource.BinarySI)
	m.mu.Unlock()
	list := &metricsv1beta1.PodMetricsList{TypeMeta: metav1.TypeMeta{
		APIVersion: metricsv1beta1.SchemeGroupVersion.String(), Kind: "PodMetricsList",
	}}
	for _, pod := range pods.Items {
		list.Items = append(list.Items, metricsv1beta1.PodMetrics{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, Labels: pod.Labels},
			Timestamp:  metav1.Now(),
			Window:     metav1.Duration{Duration: time.Second},
			Containers: []metricsv1beta1.ContainerMetrics{{
				Name: pod.Spec.Containers[0].Name, Usage: corev1.ResourceList{corev1.ResourceMemory: *used},
			}},
		})
	}
	answer(w, list)
}

func metricsResources() *metav1.APIResourceList {
	return &metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"},
		GroupVersion: metricsv1beta1.SchemeGroupVersion.String(),
		APIResources: []metav1.APIResource{{Name: "pods", Namespaced: true, Kind: "PodMetrics", Verbs: metav1.Verbs{"get", "list"}}},
	}
}

// answer writes an object; a client that has gone needs none.
func answer(w http.ResponseWriter, obj any) {
	raw, err := json.Marshal(obj)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(raw)
}

// makeAutoscaler makes one that keeps the average use of memory, and acts at once.
func makeAutoscaler(namespace string, target autoscalingv2.CrossVersionObjectReference, least, most int32) *autoscalingv2.HorizontalPodAutoscaler {
	atOnce := &autoscalingv2.HPAScalingRules{
		StabilizationWindowSeconds: new(int32(0)),
		Policies: []autoscalingv2.HPAScalingPolicy{
			{Type: autoscalingv2.PercentScalingPolicy, Value: 1000, PeriodSeconds: 1},
		},
	}
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: target.Name},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: target,
			MinReplicas:    new(least),
			MaxReplicas:    most,
			Metrics: []autoscalingv2.MetricSpec{{
				Type: autoscalingv2.ResourceMetricSourceType,
				Resource: &autoscalingv2.ResourceMetricSource{
					Name: corev1.ResourceMemory,
					Target: autoscalingv2.MetricTarget{
						Type:         autoscalingv2.AverageValueMetricType,
						AverageValue: resource.NewQuantity(averageMemory<<20, resource.BinarySI),
					},
				},
			}},
			Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: atOnce, ScaleDown: atOnce},
		},
	}
}
