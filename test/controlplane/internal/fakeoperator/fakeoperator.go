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

// Package fakeoperator plays the operator in the tests of the control plane: it
// takes the operator's flags, acts under its service account, and serves one
// webhook. Test binaries run themselves as this program.
package fakeoperator

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	certutil "k8s.io/client-go/util/cert"
)

// Env is the environment variable that makes a test binary play the operator,
// with one of the values below.
const Env = "CONTROLPLANE_FAKE_OPERATOR"

const (
	// Serve makes it work.
	Serve = "serve"
	// Fail makes it end at once, with Complaint in its log.
	Fail = "fail"
)

// Complaint is what a failing operator says.
const Complaint = "the fake operator was told to fail"

// Refusal is what the webhook answers to the creation of a ConfigMap that is
// named Refused.
const Refusal = "refused by the fake operator"

// Refused is the name of a ConfigMap that the webhook refuses.
const Refused = "refused"

const (
	// webhookName is that of the configuration in the overlay.
	webhookName = "fake-operator"
	// webhookPath is where the overlay's webhook is served.
	webhookPath = "/validate"

	headerTimeout = 10 * time.Second
)

// Overlay returns the folder of the kustomization that the operator needs.
func Overlay() string {
	_, file, _, _ := runtime.Caller(0) //nolint:dogsled // Only the file is of interest.
	return filepath.Join(filepath.Dir(file), "overlay")
}

// Asked reports whether this process is to play the operator.
func Asked() bool { return os.Getenv(Env) != "" }

// Main plays the operator. It returns the exit code of the process when it
// cannot go on.
func Main() int {
	err := errors.New(Complaint)
	if os.Getenv(Env) == Serve {
		err = run(os.Args[1:])
	}
	_, _ = fmt.Fprintln(os.Stderr, err)
	return 1
}

func run(args []string) error {
	flags := flag.NewFlagSet("fakeoperator", flag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "")
	namespace := flags.String("namespace", "", "")
	flags.String("webhook-host", "", "")
	webhookPort := flags.Int("webhook-port", 0, "")
	health := flags.String("health-probe-bind-address", "", "")
	metrics := flags.String("metrics-bind-address", "", "")
	certDir := flags.String("cert-dir", "", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *namespace == "" || *metrics == "" {
		return errors.New("a flag is missing")
	}

	cert, key, err := certutil.GenerateSelfSignedCertKey("localhost", nil, nil)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(*certDir, 0o700); err != nil {
		return err
	}
	certFile, keyFile := filepath.Join(*certDir, "tls.crt"), filepath.Join(*certDir, "tls.key")
	if err := errors.Join(os.WriteFile(certFile, cert, 0o600), os.WriteFile(keyFile, key, 0o600)); err != nil {
		return err
	}
	if err := trust(*kubeconfig, cert); err != nil {
		return err
	}

	failed := make(chan error)
	webhooks := http.NewServeMux()
	webhooks.HandleFunc(webhookPath, validate)
	go func() {
		server := &http.Server{Addr: "127.0.0.1:" + strconv.Itoa(*webhookPort), Handler: webhooks, ReadHeaderTimeout: headerTimeout}
		failed <- server.ListenAndServeTLS(certFile, keyFile)
	}()
	ready := http.NewServeMux()
	ready.HandleFunc("/readyz", func(http.ResponseWriter, *http.Request) {})
	go func() {
		server := &http.Server{Addr: *health, Handler: ready, ReadHeaderTimeout: headerTimeout}
		failed <- server.ListenAndServe()
	}()
	return <-failed
}

// trust makes the API server trust the webhook's certificate.
func trust(kubeconfig string, cert []byte) error {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	configurations := client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	configuration, err := configurations.Get(context.Background(), webhookName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for i := range configuration.Webhooks {
		configuration.Webhooks[i].ClientConfig.CABundle = cert
	}
	_, err = configurations.Update(context.Background(), configuration, metav1.UpdateOptions{})
	return err
}

func validate(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(w, "not an admission review", http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: review.Request.Name != Refused}
	if !review.Response.Allowed {
		review.Response.Result = &metav1.Status{Code: http.StatusForbidden, Message: Refusal}
	}
	review.Request = nil
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(review); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "answering:", err)
	}
}
