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

package install

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/controlplane"
)

// operatorKey is the Deployment of the operator, whatever has installed it.
var operatorKey = client.ObjectKey{Namespace: controlplane.OperatorNamespace, Name: "kausality-controller-manager"}

// runsElsewhere are the flags that say where a Pod is, of which a process has its own.
var runsElsewhere = []string{"--namespace", "--webhook-port", "--health-probe-bind-address", "--metrics-bind-address", "--cert-dir"}

// run starts a process as one of the Pods of the operator: with the flags of its Deployment, under
// its service account, and with the files that are mounted.
func (w *world) run(ctx context.Context, name, binary string) *controlplane.Operator {
	GinkgoHelper()
	d := &appsv1.Deployment{}
	Expect(w.Get(ctx, operatorKey, d)).To(Succeed())
	pod := d.Spec.Template.Spec
	Expect(pod.ServiceAccountName).To(Equal(controlplane.OperatorServiceAccount))
	flags := slices.DeleteFunc(slices.Clone(pod.Containers[0].Args), func(arg string) bool {
		flag, _, _ := strings.Cut(arg, "=")
		return slices.Contains(runsElsewhere, flag)
	})
	if slices.Contains(flags, "--cert-mode=mounted") {
		w.mount(ctx, pod, filepath.Join(w.cp.Dir(), name+"-certs"))
	}
	operator, err := controlplane.InstallOperator(ctx, w.cp, controlplane.OperatorOptions{Name: name, Binary: binary, ExtraFlags: flags})
	Expect(err).NotTo(HaveOccurred())
	return operator
}

// mount writes the Secret that is mounted where the operator looks for its certificate.
func (w *world) mount(ctx context.Context, pod corev1.PodSpec, dir string) {
	GinkgoHelper()
	at := "--cert-dir="
	container := pod.Containers[0]
	i := slices.IndexFunc(container.Args, func(arg string) bool { return strings.HasPrefix(arg, at) })
	Expect(i).NotTo(BeNumerically("<", 0))
	path := strings.TrimPrefix(container.Args[i], at)
	i = slices.IndexFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == path })
	Expect(i).NotTo(BeNumerically("<", 0), "nothing is mounted at %s", path)
	volume := container.VolumeMounts[i].Name
	i = slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == volume })
	Expect(i).NotTo(BeNumerically("<", 0))
	source := pod.Volumes[i].Secret
	secret := &corev1.Secret{}
	Expect(w.Get(ctx, client.ObjectKey{Namespace: operatorKey.Namespace, Name: source.SecretName}, secret)).To(Succeed())
	content := map[string][]byte{}
	for _, item := range source.Items {
		content[item.Path] = secret.Data[item.Key]
	}
	// Without a list each key is a file.
	if len(source.Items) == 0 {
		content = secret.Data
	}
	project(dir, content)
}

// projected is the link to what is mounted at present.
const projected = "..data"

// project writes files as a kubelet does: all of them change at once, by a link that becomes another.
func project(dir string, content map[string][]byte) {
	GinkgoHelper()
	Expect(os.MkdirAll(dir, 0o700)).To(Succeed())
	fresh, err := os.MkdirTemp(dir, "..")
	Expect(err).NotTo(HaveOccurred())
	for name, data := range content {
		Expect(os.WriteFile(filepath.Join(fresh, name), data, 0o600)).To(Succeed())
	}
	next := filepath.Join(dir, projected+"_tmp")
	Expect(os.Symlink(filepath.Base(fresh), next)).To(Succeed())
	Expect(os.Rename(next, filepath.Join(dir, projected))).To(Succeed())
	for name := range content {
		if err := os.Symlink(filepath.Join(projected, name), filepath.Join(dir, name)); err != nil {
			Expect(err).To(MatchError(os.ErrExist))
		}
	}
}

// runAll starts a process for each of two Pods.
func (w *world) runAll(ctx context.Context) []*controlplane.Operator {
	GinkgoHelper()
	return []*controlplane.Operator{
		w.run(ctx, controlplane.DefaultOperatorName+"-1", *operatorBin),
		w.run(ctx, controlplane.DefaultOperatorName+"-2", *operatorBin),
	}
}

// stop ends one as a kubelet ends a Pod that is deleted: by then its Service does not lead to it
// any more, for which its preStop hook waits. Connections that lead to it are there still.
func (w *world) stop(o *controlplane.Operator) {
	GinkgoHelper()
	w.left.Store(o.Name, true)
	Expect(o.Stop()).To(Succeed())
	w.left.Delete(o.Name)
}

// kill ends them as a power cut would.
func kill(operators []*controlplane.Operator) {
	GinkgoHelper()
	for _, o := range operators {
		Expect(o.Kill()).To(Succeed())
	}
}

// forget ends them, where they run, and lets others have their names.
func forget(operators []*controlplane.Operator) {
	GinkgoHelper()
	for _, o := range operators {
		Expect(o.Stop()).To(Succeed())
	}
}
