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

package identity

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"kausality.io/operator/internal/upgrade"
)

const account = "system:serviceaccount:web:controller"

var created = metav1.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)

func pod(change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "controller-0", UID: "1", CreationTimestamp: created},
		Spec:       corev1.PodSpec{ServiceAccountName: "controller", Containers: []corev1.Container{{Name: "manager", Image: "web:v1"}}},
	}
	change(p)
	return p
}

func boundUser(name, uid string) authenticationv1.UserInfo {
	return authenticationv1.UserInfo{Username: account, Extra: map[string]authenticationv1.ExtraValue{
		serviceaccount.PodNameKey: {name}, serviceaccount.PodUIDKey: {uid},
	}}
}

// unbound returns a user of whom no Pod is known, by a credential.
func unbound(credential string) authenticationv1.UserInfo {
	return authenticationv1.UserInfo{Username: account, Extra: map[string]authenticationv1.ExtraValue{user.CredentialIDKey: {credential}}}
}

func TestOf(t *testing.T) {
	as := func(*corev1.Pod) {}
	tests := map[string]struct {
		user authenticationv1.UserInfo
		pod  *corev1.Pod
		want upgrade.Version
	}{
		"the image of its Pod": {user: boundUser("controller-0", "1"), pod: pod(as), want: upgrade.Version{Image: "web:v1", PodCreated: created.Time}},
		"the container that is said to be the main one": {
			user: boundUser("controller-0", "1"),
			pod: pod(func(p *corev1.Pod) {
				p.Annotations = map[string]string{defaultContainer: "manager"}
				p.Spec.Containers = append([]corev1.Container{{Name: "injected", Image: "proxy:v7"}}, p.Spec.Containers...)
			}),
			want: upgrade.Version{Image: "web:v1", PodCreated: created.Time},
		},
		"a sidecar": {
			user: boundUser("controller-0", "1"),
			pod: pod(func(p *corev1.Pod) {
				p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "injected", Image: "proxy:v7"})
			}),
			want: upgrade.Version{Image: "web:v1", PodCreated: created.Time},
		},
		"a Pod that is gone":      {user: boundUser("controller-1", "1"), pod: pod(as), want: upgrade.Version{Unknown: "its Pod web/controller-1 is gone"}},
		"another Pod of its name": {user: boundUser("controller-0", "2"), pod: pod(as), want: upgrade.Version{Unknown: "its Pod web/controller-0 is gone"}},
		"a token without a Pod":   {user: unbound("JTI=1"), pod: pod(as), want: upgrade.Version{Unknown: "its token is bound to no Pod"}},
		"a client certificate":    {user: unbound("X509SHA256=1"), pod: pod(as), want: upgrade.Version{Unknown: "it shows a client certificate, which is bound to no Pod"}},
		"nothing but a name": {
			user: authenticationv1.UserInfo{Username: account}, pod: pod(as),
			want: upgrade.Version{Unknown: "nothing says which Pod it is: somebody impersonates it, or its token is that of a Secret"},
		},
		"a person":                   {user: authenticationv1.UserInfo{Username: "hans"}, pod: pod(as), want: upgrade.Version{Unknown: "it is no service account"}},
		"a Pod of somebody else":     {user: boundUser("controller-0", "1"), pod: pod(func(p *corev1.Pod) { p.Spec.ServiceAccountName = "other" }), want: upgrade.Version{Unknown: "its Pod web/controller-0 runs as another service account"}},
		"more Pods than a token has": {user: authenticationv1.UserInfo{Username: account, Extra: map[string]authenticationv1.ExtraValue{serviceaccount.PodNameKey: {"a", "b"}, serviceaccount.PodUIDKey: {"1"}, user.CredentialIDKey: {"JTI=1"}}}, pod: pod(as), want: upgrade.Version{Unknown: "its token is bound to no Pod"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			pods := NewPods(fake.NewClientBuilder().WithObjects(tt.pod).Build(), testingclock.NewFakeClock(created.Time))
			got, err := pods.Of(t.Context(), upgrade.Request{User: tt.user})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]upgrade.Version{tt.want}, got); diff != "" {
				t.Errorf("version (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOfRemembers reads a Pod once a minute: it may be gone by then, and its image may change.
func TestOfRemembers(t *testing.T) {
	c := fake.NewClientBuilder().WithObjects(pod(func(*corev1.Pod) {})).Build()
	now := testingclock.NewFakeClock(created.Time)
	pods := NewPods(c, now)
	image := func() string {
		t.Helper()
		v, err := pods.Of(t.Context(), upgrade.Request{User: boundUser("controller-0", "1")})
		if err != nil {
			t.Fatal(err)
		}
		return v[0].Image
	}
	image()
	changed := &corev1.Pod{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "web", Name: "controller-0"}, changed); err != nil {
		t.Fatal(err)
	}
	changed.Spec.Containers[0].Image = "web:v2"
	if err := c.Update(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	if got := image(); got != "web:v1" {
		t.Errorf("at once: %s", got)
	}
	now.Step(remembered + time.Second)
	if got := image(); got != "web:v2" {
		t.Errorf("a minute later: %s", got)
	}
}
