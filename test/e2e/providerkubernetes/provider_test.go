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

package providerkubernetes

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/test/controlplane"
	"kausality.io/operator/test/crossplane"
	"kausality.io/operator/test/stage"
)

// provider is the name of the provider: of its process, its package and its service
// account.
const provider = "provider-kubernetes"

// outside is the namespace of the service account by which the provider reaches what it
// manages, and the name of the Secret that says so.
const outside = "outside"

// outsider is that service account's user name. It is another one than that under which
// the provider works in the cluster.
var outsider = serviceaccount.MakeUsername(outside, provider)

// Where the provider listens: its flags take no ports.
const (
	conversionURL = "https://localhost:9443/convert"
	metricsURL    = "http://127.0.0.1:9444/metrics"
)

// peers returns the folder with the provider and its definitions.
func peers() string { return filepath.Join(filepath.Dir(members.BinDir()), "peers") }

// installProvider installs the provider as the package manager does. It does not run yet.
func (w *world) installProvider(ctx context.Context) {
	GinkgoHelper()
	Expect(filepath.Join(peers(), provider)).To(BeARegularFile(), `run "make e2e-provider-kubernetes", which builds it`)
	Expect(members.Apply(ctx, decode(testdata("provider.yaml", group)))).To(Succeed())
	revision := &unstructured.Unstructured{}
	revision.SetGroupVersionKind(schema.GroupVersionKind{Group: "pkg.crossplane.io", Version: "v1", Kind: "ProviderRevision"})
	Expect(w.Get(ctx, client.ObjectKey{Name: provider + "-1"}, revision)).To(Succeed())

	authority, _, _ := members.ServingFiles()
	trusted, err := os.ReadFile(authority)
	Expect(err).NotTo(HaveOccurred())
	files, err := filepath.Glob(filepath.Join(peers(), provider+"-crds", "*.yaml"))
	Expect(err).NotTo(HaveOccurred())
	Expect(files).NotTo(BeEmpty())
	var definitions []*unstructured.Unstructured
	for _, file := range files {
		text, err := os.ReadFile(file)
		Expect(err).NotTo(HaveOccurred())
		definitions = append(definitions, decode(string(text))...)
	}
	for _, definition := range definitions {
		definition.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(revision, revision.GroupVersionKind())})
		webhook := []string{"spec", "conversion", "webhook", "clientConfig"}
		if _, converts, _ := unstructured.NestedMap(definition.Object, webhook...); converts {
			Expect(unstructured.SetNestedMap(definition.Object, map[string]any{"url": conversionURL}, webhook...)).To(Succeed())
			Expect(unstructured.SetNestedField(definition.Object, encoded(trusted), append(webhook, "caBundle")...)).To(Succeed())
		}
	}
	Expect(members.Apply(ctx, definitions)).To(Succeed())

	kubeconfig := filepath.Join(members.Dir(), outside+".kubeconfig")
	Expect(members.WriteKubeconfigFor(ctx, outside, provider, kubeconfig)).To(Succeed())
	content, err := os.ReadFile(kubeconfig)
	Expect(err).NotTo(HaveOccurred())
	Expect(w.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: crossplane.Namespace, Name: outside},
		Data:       map[string][]byte{"kubeconfig": content},
	})).To(Succeed())
	Expect(members.Apply(ctx, decode(testdata("configs.yaml", group)))).To(Succeed())
}

// running are the flags of the provider that runs.
var running []string

// provide has the provider run with the given flags, which say how it compares and
// changes what it manages.
func provide(ctx context.Context, flags ...string) {
	GinkgoHelper()
	flags = append([]string{"--debug", "--poll=" + poll.String()}, flags...)
	if slices.Equal(flags, running) {
		return
	}
	Expect(members.Remove(provider)).To(Succeed())
	kubeconfig := filepath.Join(members.Dir(), provider+".kubeconfig")
	Expect(members.WriteKubeconfigFor(ctx, crossplane.Namespace, provider, kubeconfig)).To(Succeed())
	certs := filepath.Join(members.Dir(), provider+"-certs")
	Expect(os.MkdirAll(certs, 0o700)).To(Succeed())
	_, cert, key := members.ServingFiles()
	for name, file := range map[string]string{corev1.TLSCertKey: cert, corev1.TLSPrivateKeyKey: key} {
		content, err := os.ReadFile(file)
		Expect(err).NotTo(HaveOccurred())
		Expect(os.WriteFile(filepath.Join(certs, name), content, 0o600)).To(Succeed())
	}
	Expect(members.Launch(ctx, 0, func([]int) (controlplane.Program, error) {
		return controlplane.Program{
			Name:     provider,
			Path:     filepath.Join(peers(), provider),
			Args:     flags,
			Env:      []string{clientcmd.RecommendedConfigPathEnvVar + "=" + kubeconfig, "TLS_SERVER_CERTS_DIR=" + certs},
			ReadyURL: metricsURL,
		}, nil
	})).To(Succeed())
	running = flags
}

// What the provider asks for outside.
const (
	create = "Create"
	update = "Update"
	remove = "Delete"
)

// mutations returns what the provider asked to be changed in a namespace, refused or not.
// What it asks for as a dry run, to compare, is none.
func mutations(audit stage.Witness, namespace string) []string {
	GinkgoHelper()
	var out []string
	for _, event := range audit.Writes(controlplane.ByUser(outsider), controlplane.InNamespace(namespace)) {
		out = append(out, mutation(&event))
	}
	return out
}

// mutation says what a request would change. Server-side apply creates by patches.
func mutation(event *auditv1.Event) string {
	switch {
	case event.Verb == "create", event.Verb == "patch" && stage.CodeOf(event) == http.StatusCreated:
		return create
	case event.Verb == "delete":
		return remove
	default:
		return update
	}
}

// looks returns how often the provider looked at what there is in a namespace.
func looks(audit stage.Witness, namespace string) int {
	GinkgoHelper()
	return len(audit.Requests(controlplane.ByUser(outsider), controlplane.InNamespace(namespace), controlplane.ByVerb("get")))
}
