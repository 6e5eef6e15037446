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

package controlplane

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kausality.io/operator/test/controlplane/internal/fakeoperator"
)

// deploymentController is who the built-in deployment controller acts as.
const deploymentController = "system:serviceaccount:kube-system:deployment-controller"

// webName is the deployment that the tests roll.
const webName = "web"

func TestMain(m *testing.M) {
	if fakeoperator.Asked() {
		os.Exit(fakeoperator.Main())
	}
	os.Exit(m.Run())
}

// startCluster starts a control plane that ends with the test, and checks that
// nothing of it is left then.
func startCluster(t *testing.T, opts Options) *ControlPlane {
	t.Helper()
	opts.Dir = t.TempDir()
	opts.Progress = func(line string) { t.Log(line) }
	cp, err := Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cp.Stop(); err != nil {
			t.Error(err)
		}
		mustHaveNoProcesses(t, cp.Dir())
	})
	return cp
}

// mustHaveNoProcesses looks for processes by the folder that is in all their
// command lines.
func mustHaveNoProcesses(t *testing.T, dir string) {
	t.Helper()
	out, err := exec.CommandContext(context.Background(), "ps", "-A", "-ww", "-o", "args=").Output() //nolint:usetesting // Cleanups run after the context of the test.
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, dir) {
			t.Errorf("left running: %s", line)
		}
	}
}

func clientFor(t *testing.T, cfg *rest.Config) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func whoAmI(t *testing.T, cfg *rest.Config) authenticationv1.UserInfo {
	t.Helper()
	review, err := clientFor(t, cfg).AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return review.Status.UserInfo
}

// deployment returns the deployment web with three replicas of an image.
func deployment(image string) *appsv1.Deployment {
	labels := map[string]string{"app": webName}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: webName},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(3)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}},
			},
		},
	}
}

// waitRolledOut returns when all pods of the deployment web are of its present
// template and available.
func waitRolledOut(t *testing.T, client kubernetes.Interface) *appsv1.Deployment {
	t.Helper()
	var got *appsv1.Deployment
	eventually(t, "the deployment is rolled out", func() bool {
		var err error
		got, err = client.AppsV1().Deployments(metav1.NamespaceDefault).Get(t.Context(), webName, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s := got.Status
		return s.ObservedGeneration == got.Generation && s.UpdatedReplicas == 3 && s.AvailableReplicas == 3 && s.Replicas == 3
	})
	return got
}

// setImage rolls the deployment web to an image.
func setImage(t *testing.T, client kubernetes.Interface, image string) {
	t.Helper()
	patch := `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"` + image + `"}]}}}}`
	_, err := client.AppsV1().Deployments(metav1.NamespaceDefault).Patch(t.Context(), webName, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// TestWorkloads runs what the real controllers, the scheduler and kwok do
// together.
func TestWorkloads(t *testing.T) {
	begin := time.Now()
	cp := startCluster(t, Options{})
	client := clientFor(t, cp.AdminConfig())
	deployments := client.AppsV1().Deployments(metav1.NamespaceDefault)

	t.Run("a deployment becomes available and rolls", func(t *testing.T) {
		if _, err := deployments.Create(t.Context(), deployment("web:1"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		waitRolledOut(t, client)
		setImage(t, client, "web:2")
		got := waitRolledOut(t, client)
		if diff := cmp.Diff("2", got.Annotations["deployment.kubernetes.io/revision"]); diff != "" {
			t.Errorf("revision (-want +got):\n%s", diff)
		}
	})

	t.Run("an image that is never ready holds a rollout", func(t *testing.T) {
		setImage(t, client, "example.org/web:never-ready")
		var pod corev1.Pod
		eventually(t, "a new pod has started", func() bool {
			pods, err := client.CoreV1().Pods(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, pod = range pods.Items {
				if pod.Spec.Containers[0].Image == "example.org/web:never-ready" && pod.Status.Phase == corev1.PodRunning {
					return true
				}
			}
			return false
		})
		if pod.Status.ContainerStatuses[0].Ready || pod.Status.ContainerStatuses[0].State.Running == nil {
			t.Errorf("got container status %v, want it running and not ready", pod.Status.ContainerStatuses[0])
		}
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodReady && condition.Status != corev1.ConditionFalse {
				t.Errorf("the pod is ready")
			}
		}
		// The deployment controller has seen it, and waits.
		eventually(t, "the status counts the new pod", func() bool {
			got, err := deployments.Get(t.Context(), webName, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return got.Status.UpdatedReplicas == 1 && got.Status.AvailableReplicas == 3 && got.Status.UnavailableReplicas == 1
		})
		setImage(t, client, "web:3")
		waitRolledOut(t, client)
	})

	t.Run("a service account has a kubeconfig", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "kubeconfig")
		if err := cp.WriteKubeconfigFor(t.Context(), metav1.NamespaceDefault, "default", path); err != nil {
			t.Fatal(err)
		}
		cfg, err := clientcmd.BuildConfigFromFlags("", path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff("system:serviceaccount:default:default", whoAmI(t, cfg).Username); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})

	t.Run("a person is impersonated", func(t *testing.T) {
		got := whoAmI(t, cp.ConfigAs("alice", "developers"))
		want := authenticationv1.UserInfo{Username: "alice", Groups: []string{"developers", "system:authenticated"}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})

	t.Run("mutating admission policies are served", func(t *testing.T) {
		_, err := client.AdmissionregistrationV1().MutatingAdmissionPolicies().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Error(err)
		}
	})

	t.Run("kubectl uses nobody's home", func(t *testing.T) {
		t.Setenv("HOME", t.TempDir())
		t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "elsewhere"))
		out, err := cp.Kubectl(t.Context(), "get", "nodes", "-o", "name").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if diff := cmp.Diff("node/node-1\nnode/node-2\n", string(out)); diff != "" {
			t.Errorf("nodes (-want +got):\n%s", diff)
		}
		entries, err := os.ReadDir(os.Getenv("HOME"))
		if err != nil || len(entries) > 0 {
			t.Errorf("in the home: %v, error %v", entries, err)
		}
	})

	t.Run("the audit log tells who wrote", func(t *testing.T) {
		events, err := ReadAudit(cp.AuditLog())
		if err != nil {
			t.Fatal(err)
		}
		created := events.Where(Since(begin), Writes, Succeeded,
			OfResource("apps", "replicasets"), OfSubresource(""), ByVerb("create"), ByUser(deploymentController))
		if len(created) != 4 {
			t.Errorf("the deployment controller created %d ReplicaSets, want one for each of 4 images", len(created))
		}
		for i := range created {
			if created[i].RequestObject == nil || created[i].ResponseObject == nil {
				t.Errorf("event %s lacks the object", created[i].AuditID)
			}
		}
		if got := events.Where(ByUser(kwokUser), Writes, Succeeded, OfResource("", "pods"), OfSubresource("status")); len(got) < 3+3+1+3 {
			t.Errorf("kwok wrote %d pod statuses as a node, want one for each pod of the four images at least", len(got))
		}
		if got := events.Where(OfResource("coordination.k8s.io", "leases")); len(got) > 0 {
			t.Errorf("%d requests for leases are in the log", len(got))
		}
	})

	t.Run("survives the death of etcd and of the API server", func(t *testing.T) {
		for _, component := range []Component{Etcd, APIServer} {
			if err := cp.Kill(string(component)); err != nil {
				t.Fatal(err)
			}
			if err := cp.Restart(t.Context(), string(component)); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, "the image can be set", func() bool {
			_, err := deployments.Get(t.Context(), webName, metav1.GetOptions{})
			return err == nil
		})
		setImage(t, client, "web:4")
		waitRolledOut(t, client)
	})
}

func TestInstallOperator(t *testing.T) {
	t.Setenv(fakeoperator.Env, fakeoperator.Serve)
	cp := startCluster(t, Options{Components: StorageOnly()})
	opts := OperatorOptions{Binary: os.Args[0], Overlay: fakeoperator.Overlay()}

	operator, err := InstallOperator(t.Context(), cp, opts)
	if err != nil {
		t.Fatal(err)
	}
	client := clientFor(t, cp.AdminConfig())
	create := func(name string) error {
		_, err := client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(t.Context(),
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		return err
	}
	// The API server learns of the webhook, and of its certificate, by a watch.
	eventually(t, "the webhook refuses", func() bool {
		err := create(fakeoperator.Refused)
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), fakeoperator.Refusal)
	})
	if err := create("allowed"); err != nil {
		t.Errorf("the webhook does not allow: %v", err)
	}

	if err := operator.Kill(); err != nil {
		t.Fatal(err)
	}
	mustContain(t, create("nobody-answers"), "failed calling webhook")
	if err := operator.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the webhook answers again", func() bool { return create("again") == nil })

	if err := operator.Stop(); err != nil {
		t.Fatal(err)
	}
	t.Setenv(fakeoperator.Env, fakeoperator.Fail)
	_, err = InstallOperator(t.Context(), cp, opts)
	mustContain(t, err, DefaultOperatorName, fakeoperator.Complaint, operator.Log())

	events, err := ReadAudit(cp.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	resource := OfResource("admissionregistration.k8s.io", "validatingwebhookconfigurations")
	if got := events.Where(resource, Writes, Succeeded, ByUser(OperatorUser)); len(got) != 2 {
		t.Errorf("the operator wrote %d times under its own account, want at both starts", len(got))
	}
}

// A detached control plane, found by another program; with one identity for all
// controllers.
func TestDetached(t *testing.T) {
	dir := t.TempDir()
	started, err := Start(t.Context(), Options{Dir: dir, Detach: true, SharedControllerIdentity: true})
	if err != nil {
		t.Fatal(err)
	}
	cp, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cp.Stop(); err != nil {
			t.Error(err)
		}
		mustHaveNoProcesses(t, dir)
	})
	if !cp.Complete() {
		t.Error("not complete")
	}
	if diff := cmp.Diff(started.Status(), cp.Status()); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	_, err = Start(t.Context(), Options{Dir: dir})
	mustContain(t, err, "runs in "+dir+" already")

	if err := cp.Kill(string(Kwok)); err != nil {
		t.Fatal(err)
	}
	if err := cp.Restart(t.Context(), string(Kwok)); err != nil {
		t.Fatal(err)
	}
	client := clientFor(t, cp.AdminConfig())
	if _, err := client.AppsV1().Deployments(metav1.NamespaceDefault).Create(t.Context(), deployment("web:1"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	waitRolledOut(t, client)
	events, err := ReadAudit(cp.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	byManager := events.Where(Writes, OfResource("apps", "replicasets"), ByVerb("create"), ByUser("system:kube-controller-manager"))
	if len(byManager) != 1 {
		t.Errorf("the controller manager created %d ReplicaSets under its own name, want 1", len(byManager))
	}
}

func TestStartThatFails(t *testing.T) {
	cases := map[string]struct {
		opts Options
		want []string
	}{
		"a flag that a component does not know": {
			opts: Options{ExtraAPIServerFlags: []string{"--no-such-flag"}},
			want: []string{string(APIServer), "exit status 1", "unknown flag: --no-such-flag"},
		},
		"binaries that are not built": {
			opts: Options{BinDir: "/nonexistent"},
			want: []string{string(Etcd), "make controlplane-binaries"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.opts.Dir = t.TempDir()
			_, err := Start(t.Context(), tc.opts)
			mustContain(t, err, tc.want...)
			mustHaveNoProcesses(t, tc.opts.Dir)
		})
	}
}

func TestStartThatIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	dir := t.TempDir()
	_, err := Start(ctx, Options{Dir: dir, Detach: true, Progress: func(line string) {
		if strings.Contains(line, string(APIServer)) {
			cancel()
		}
	}})
	mustContain(t, err, string(APIServer))
	mustHaveNoProcesses(t, dir)
	if _, err := os.Stat(filepath.Join(dir, stateFile)); !os.IsNotExist(err) {
		t.Errorf("the state file is still there: %v", err)
	}
}

func TestTemporaryDir(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	cp, err := Start(t.Context(), Options{Components: StorageOnly()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cp.Stop(); err != nil {
			t.Error(err)
		}
	}()
	// Nobody makes service accounts here, and pods can be created all the same.
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: deployment("web:1").Spec.Template.Spec}
	if _, err := clientFor(t, cp.AdminConfig()).CoreV1().Pods(metav1.NamespaceDefault).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	if err := cp.Stop(); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, error %v", entries, err)
	}
}
