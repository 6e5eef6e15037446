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

package metrics

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// validSeconds is how long the token of a Scraper is valid.
	validSeconds = 24 * 60 * 60
	// allowedWithin is how long RBAC may take to hear of a Scraper.
	allowedWithin = time.Minute
	poll          = 100 * time.Millisecond
)

// Scraper reads what an operator says of itself, with the token of a service account.
type Scraper struct {
	url, token string
	http       *http.Client
	// Binding lets the service account read metrics. It is of the whole cluster, and whoever
	// does not leave that deletes it.
	Binding *rbacv1.ClusterRoleBinding
}

// NewScraper makes a service account in a namespace that may read what the operator serves
// at url, and returns once it can.
func NewScraper(ctx context.Context, admin client.Client, url, namespace string) (*Scraper, error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "scraper"}}
	s := &Scraper{
		url: url,
		http: &http.Client{Transport: &http.Transport{
			// The endpoint makes its certificate at each start.
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		}},
		Binding: &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "scraper-" + namespace},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "kausality-metrics-reader"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account.Name}},
		},
	}
	for _, obj := range []client.Object{account, s.Binding} {
		if err := admin.Create(ctx, obj); err != nil {
			return nil, err
		}
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(validSeconds))}}
	if err := admin.SubResource("token").Create(ctx, account, request); err != nil {
		return nil, err
	}
	s.token = request.Status.Token
	var refused error
	err := wait.PollUntilContextTimeout(ctx, poll, allowedWithin, true, func(ctx context.Context) (bool, error) {
		_, refused = s.Scrape(ctx)
		return refused == nil, nil
	})
	if err != nil {
		return nil, fmt.Errorf("the metrics of the operator cannot be read: %w", refused)
	}
	return s, nil
}

// Scrape reads all metrics.
func (s *Scraper) Scrape(ctx context.Context) (Families, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	resp, err := s.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // It is read to its end.
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the operator answers %s when asked for its metrics", resp.Status)
	}
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	return Parse(raw)
}
