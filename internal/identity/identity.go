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

// Package identity finds out which version makes a request: of a controller the image of the
// Pod that its token is bound to (D12), as nothing else that reaches a webhook tells of it; of a
// graph of kro the revision that is served.
package identity

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	authenticateduser "k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/internal/upgrade"
)

const (
	// maxPods is how many Pods are remembered.
	maxPods = 1024
	// remembered is for how long: the image of a Pod can be changed in place.
	remembered = time.Minute
	// defaultContainer is the annotation that names the main container of a Pod.
	defaultContainer = "kubectl.kubernetes.io/default-container"
	// certificateID is how the API server begins the id of a credential that is a client certificate.
	certificateID = "X509SHA256="
)

// Pods knows versions by the Pods that tokens are bound to. It is safe for concurrent use.
type Pods struct {
	reader client.Reader
	known  *utilcache.LRUExpireCache
}

// NewPods returns Pods that reads from the API server: no cache is kept of others' Pods.
func NewPods(live client.Reader, now clock.PassiveClock) *Pods {
	return &Pods{reader: live, known: utilcache.NewLRUExpireCacheWithClock(maxPods, now)}
}

// bound is the Pod that a token is bound to.
type bound struct {
	types.NamespacedName
	uid     types.UID
	account string
}

// boundTo reads it from what the API server says of a user. why says why there is none.
func boundTo(user authenticationv1.UserInfo) (pod bound, why string) {
	namespace, account, ok := split(user.Username)
	if !ok {
		return bound{}, "it is no service account"
	}
	name, uid := only(user.Extra[serviceaccount.PodNameKey]), only(user.Extra[serviceaccount.PodUIDKey])
	if name == "" || uid == "" {
		return bound{}, whyUnbound(only(user.Extra[authenticateduser.CredentialIDKey]))
	}
	return bound{types.NamespacedName{Namespace: namespace, Name: name}, types.UID(uid), account}, ""
}

// whyUnbound says why the API server names no Pod of a user, by what it says of the credential. It
// says nothing of one that is impersonated, nor of a token that a Secret holds.
func whyUnbound(credential string) string {
	switch {
	case strings.HasPrefix(credential, certificateID):
		return "it shows a client certificate, which is bound to no Pod"
	case credential != "":
		return "its token is bound to no Pod"
	default:
		return "nothing says which Pod it is: somebody impersonates it, or its token is that of a Secret"
	}
}

// split returns the namespace and the name of the service account with a user name.
func split(username string) (namespace, name string, ok bool) {
	namespace, name, err := serviceaccount.SplitUsername(username)
	return namespace, name, err == nil
}

func only(values authenticationv1.ExtraValue) string {
	if len(values) != 1 {
		return ""
	}
	return values[0]
}

// Of implements upgrade.Source: the one version is that which makes the requests of the user. A
// Pod is read once a minute at most.
func (p *Pods) Of(ctx context.Context, r upgrade.Request) ([]upgrade.Version, error) {
	v, err := p.of(ctx, r.User)
	if err != nil {
		return nil, err
	}
	return []upgrade.Version{v}, nil
}

func (p *Pods) of(ctx context.Context, user authenticationv1.UserInfo) (upgrade.Version, error) {
	by, why := boundTo(user)
	if why != "" {
		return upgrade.Version{Unknown: why}, nil
	}
	if known, ok := p.known.Get(by.uid); ok {
		if version, ok := known.(upgrade.Version); ok {
			return version, nil
		}
	}
	var pod corev1.Pod
	err := p.reader.Get(ctx, by.NamespacedName, &pod)
	switch {
	case apierrors.IsNotFound(err) || err == nil && pod.UID != by.uid:
		return upgrade.Version{Unknown: fmt.Sprintf("its Pod %s is gone", by.NamespacedName)}, nil
	case apierrors.IsForbidden(err):
		return upgrade.Version{Unknown: "Kausality may not read Pods in namespace " + by.Namespace}, nil
	case err != nil:
		return upgrade.Version{}, fmt.Errorf("reading Pod %s of %s: %w", by.NamespacedName, user.Username, err)
	case pod.Spec.ServiceAccountName != by.account:
		return upgrade.Version{Unknown: fmt.Sprintf("its Pod %s runs as another service account", by.NamespacedName)}, nil
	}
	version := upgrade.Version{Image: mainImage(&pod), PodCreated: pod.CreationTimestamp.Time}
	if version.Image == "" {
		return upgrade.Version{Unknown: fmt.Sprintf("its Pod %s has no container", by.NamespacedName)}, nil
	}
	p.known.Add(by.uid, version, remembered)
	return version, nil
}

// mainImage returns the image in the spec of the Pod's main container: what the kubelet reports is
// not there yet when the first requests are made, and what else is in the Pod may have been
// injected.
func mainImage(pod *corev1.Pod) string {
	name := pod.Annotations[defaultContainer]
	i := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == name })
	if len(pod.Spec.Containers) == 0 {
		return ""
	}
	return pod.Spec.Containers[max(i, 0)].Image
}

// Running returns the images of the Pods that run as a user now, each once and in order. There are
// none of who is no service account.
func (p *Pods) Running(ctx context.Context, username string) ([]string, error) {
	namespace, account, ok := split(username)
	if !ok {
		return nil, nil
	}
	var pods corev1.PodList
	if err := p.reader.List(ctx, &pods, client.InNamespace(namespace), client.MatchingFieldsSelector{
		Selector: fields.OneTermEqualSelector("spec.serviceAccountName", account),
	}); err != nil {
		return nil, fmt.Errorf("listing the Pods of %s: %w", username, err)
	}
	var images []string
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		if image := mainImage(pod); image != "" {
			images = append(images, image)
		}
	}
	slices.Sort(images)
	return slices.Compact(images), nil
}

// +kubebuilder:rbac:groups="",resources=serviceaccounts,verbs=get

// Exists reports whether there is the service account of a user name, and true where that
// cannot be found out.
func (p *Pods) Exists(ctx context.Context, username string) bool {
	namespace, account, ok := split(username)
	if !ok {
		return true
	}
	err := p.reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: account}, &corev1.ServiceAccount{})
	return !apierrors.IsNotFound(err)
}
