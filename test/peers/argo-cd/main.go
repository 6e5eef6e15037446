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

// Command argo-cd compares manifests with a cluster, and applies and prunes them, by the engine with
// which the application controller of Argo CD does so. A folder is what is in Git, once:
//
//	argo-cd -application=shop -namespace=team compare|sync FOLDER
//
// "compare" prints a line for each object that is out of sync, and nothing if none is. The cluster is that
// of $KUBECONFIG.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/argoproj/gitops-engine/pkg/cache"
	"github.com/argoproj/gitops-engine/pkg/diff"
	"github.com/argoproj/gitops-engine/pkg/engine"
	"github.com/argoproj/gitops-engine/pkg/sync"
	"github.com/argoproj/gitops-engine/pkg/sync/common"
	"github.com/argoproj/gitops-engine/pkg/utils/kube"
	"github.com/argoproj/gitops-engine/pkg/utils/tracing"
	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

const (
	// tracking is the annotation by which Argo CD knows what belongs to an Application.
	tracking = "argocd.argoproj.io/tracking-id"
	// manager is as whom Argo CD applies in the API server.
	manager = "argocd-controller"
	// revision is what the folder is called where there has to be a commit.
	revision = "HEAD"
	// queries are how many requests there may be in a second.
	queries = 500
)

// application is what an Application of Argo CD says.
type application struct {
	name, namespace string
	// serverSide is ServerSideApply=true and ServerSideDiff=true.
	serverSide bool
	// webhooks is IncludeMutationWebhook=true: what webhooks change of what is applied counts as well.
	webhooks bool
}

func main() {
	var a application
	flag.StringVar(&a.name, "application", "", "name of the Application")
	flag.StringVar(&a.namespace, "namespace", "default", "namespace of its destination")
	flag.BoolVar(&a.serverSide, "server-side", false, "apply in the API server, and compare with what it would make of that")
	flag.BoolVar(&a.webhooks, "include-webhooks", false, "compare with what webhooks would make of it, too; only with -server-side")
	flag.Parse()
	// What is printed is what differs.
	klog.SetLogger(logr.Discard())
	if err := a.run(context.Background(), flag.Arg(0), flag.Arg(1)); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "argo-cd:", err)
		os.Exit(1)
	}
}

// run does what the command line says with the manifests of a folder.
func (a application) run(ctx context.Context, verb, folder string) error {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		clientcmd.NewDefaultClientConfigLoadingRules(), &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return err
	}
	// It asks for everything at once.
	config.QPS, config.Burst, config.WarningHandler = queries, queries, rest.NoWarnings{}
	targets, err := a.read(folder)
	if err != nil {
		return err
	}
	live := cache.NewClusterCache(config, cache.SetLogr(logr.Discard()), cache.SetPopulateResourceInfoHandler(
		func(object *unstructured.Unstructured, _ bool) (any, bool) {
			owned := object.GetAnnotations()[tracking] == a.id(object)
			return owned, owned
		}))
	defer live.Invalidate()
	if err := live.EnsureSynced(); err != nil {
		return fmt.Errorf("reading the cluster: %w", err)
	}
	// Kustomize puts a namespace into cluster-scoped kinds that it does not know. It would differ from what
	// is there for ever.
	for _, target := range targets {
		if namespaced, err := live.IsNamespaced(target.GroupVersionKind().GroupKind()); err == nil && !namespaced {
			target.SetNamespace("")
		}
	}
	switch verb {
	case "compare":
		return a.compare(config, live, targets)
	case "sync":
		return a.sync(ctx, config, live, targets)
	}
	return errors.New(`the first argument is "compare" or "sync", and the second one a folder`)
}

// read returns the manifests of a folder, and says in them whose they are, as Argo CD's repository
// server does.
func (a application) read(folder string) ([]*unstructured.Unstructured, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		objects, err := kube.SplitYAML(text)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		all = append(all, objects...)
	}
	for _, object := range all {
		if kube.IsCRD(object) {
			continue
		}
		annotations := object.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[tracking] = a.id(object)
		object.SetAnnotations(annotations)
	}
	return all, nil
}

// id returns what the annotation of an object says that belongs to the Application. A copy of the
// annotation on another object, such as that of a Deployment on a ReplicaSet, is not what it would be there.
func (a application) id(object *unstructured.Unstructured) string {
	kind, namespace := object.GroupVersionKind(), object.GetNamespace()
	if namespace == "" {
		namespace = a.namespace
	}
	return fmt.Sprintf("%s:%s/%s:%s/%s", a.name, kind.Group, kind.Kind, namespace, object.GetName())
}

// belongs reports whether an object belongs to the Application, so that it is pruned when it is no longer in Git.
func belongs(object *cache.Resource) bool {
	yes, _ := object.Info.(bool)
	return yes
}

// compare prints what is out of sync.
func (a application) compare(config *rest.Config, live cache.ClusterCache, targets []*unstructured.Unstructured) error {
	managed, err := live.GetManagedLiveObjs(targets, belongs)
	if err != nil {
		return fmt.Errorf("looking for what is there: %w", err)
	}
	both := sync.Reconcile(targets, managed, a.namespace, live)
	options := []diff.Option{diff.WithLogr(logr.Discard())}
	if a.serverSide {
		operations, cleanup, err := kube.ManageServerSideDiffDryRuns(config, live.GetOpenAPISchema(), tracing.NopTracer{}, logr.Discard(), nil)
		if err != nil {
			return fmt.Errorf("preparing dry runs: %w", err)
		}
		defer cleanup()
		options = append(options, diff.WithServerSideDiff(true), diff.WithManager(manager), diff.WithGVKParser(live.GetGVKParser()),
			diff.WithServerSideDryRunner(diff.NewK8sServerSideDryRunner(operations)), diff.WithIgnoreMutationWebhook(!a.webhooks))
	}
	compared, err := diff.DiffArray(both.Target, both.Live, options...)
	if err != nil {
		return fmt.Errorf("comparing: %w", err)
	}
	for i, result := range compared.Diffs {
		target, there := both.Target[i], both.Live[i]
		switch {
		case there == nil:
			fmt.Printf("%s is missing\n", kube.GetResourceKey(target))
		case target == nil:
			fmt.Printf("%s is not in Git\n", kube.GetResourceKey(there))
		case result.Modified:
			patch, err := jsonpatch.CreateMergePatch(result.NormalizedLive, result.PredictedLive)
			if err != nil {
				return err
			}
			fmt.Printf("%s would change by %s\n", kube.GetResourceKey(target), patch)
		}
	}
	return nil
}

// sync applies everything, and deletes what belongs to the Application and is not in Git.
func (a application) sync(ctx context.Context, config *rest.Config, live cache.ClusterCache, targets []*unstructured.Unstructured) error {
	results, err := engine.NewEngine(config, live, engine.WithLogr(logr.Discard())).Sync(ctx, targets, belongs, revision, a.namespace,
		sync.WithLogr(logr.Discard()), sync.WithPrune(true),
		sync.WithServerSideApply(a.serverSide), sync.WithServerSideApplyManager(manager))
	if err != nil {
		return err
	}
	for _, result := range results {
		fmt.Printf("%s %s: %s\n", result.Status, result.ResourceKey, result.Message)
		if result.Status == common.ResultCodeSyncFailed {
			err = errors.Join(err, fmt.Errorf("%s: %s", result.ResourceKey, result.Message))
		}
	}
	return err
}
