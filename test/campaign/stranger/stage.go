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

package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/test/builders"
	"kausality.io/operator/test/campaign/stranger/checker"
	"kausality.io/operator/test/campaign/stranger/draw"
	"kausality.io/operator/test/campaign/stranger/plan"
	"kausality.io/operator/test/controlplane"
)

var (
	//go:embed policies.yaml
	morePolicies []byte
	//go:embed definition.yaml
	definition []byte
)

const (
	// initiators are the group of those who may initiate.
	initiators = "platform-team"
	// thingGroup is that of the kind in definition.yaml.
	thingGroup = "stranger.example.org"
	// otherGroup is that of another kind of its name.
	otherGroup = "other.example.org"
	// governed is the label of namespaces by which some policies select them, and free the one of Things which no
	// policy selects.
	governed, free = "governed", "free"
	// tier is a label of Things that their policy has a rule about.
	tier = "tier"
	// poll is how often something is looked at that takes a while.
	poll = 250 * time.Millisecond
	// patience is for how long.
	patience = 2 * time.Minute
)

// kinds are the kinds by their resources.
var kinds = map[string]schema.GroupVersionKind{
	"deployments":         {Group: "apps", Version: "v1", Kind: "Deployment"},
	"replicasets":         {Group: "apps", Version: "v1", Kind: "ReplicaSet"},
	"statefulsets":        {Group: "apps", Version: "v1", Kind: "StatefulSet"},
	"daemonsets":          {Group: "apps", Version: "v1", Kind: "DaemonSet"},
	"controllerrevisions": {Group: "apps", Version: "v1", Kind: "ControllerRevision"},
	"jobs":                {Group: "batch", Version: "v1", Kind: "Job"},
	"cronjobs":            {Group: "batch", Version: "v1", Kind: "CronJob"},
	"pods":                {Version: "v1", Kind: "Pod"},
	"configmaps":          {Version: "v1", Kind: "ConfigMap"},
	"things":              {Group: thingGroup, Version: "v1", Kind: "Thing"},
	plan.Others:           {Group: otherGroup, Version: "v1", Kind: "Thing"},
	"allowancerecords":    {Group: "kausality.io", Version: "v1alpha1", Kind: "AllowanceRecord"},
}

// documents are the OpenAPI documents with the schemas of the kinds.
var documents = []string{"api/v1", "apis/apps/v1", "apis/batch/v1", "apis/" + thingGroup + "/v1", "apis/" + otherGroup + "/v1", "apis/kausality.io/v1alpha1"}

// stage is a control plane with all that is in it.
type stage struct {
	cp       *controlplane.ControlPlane
	operator *controlplane.Operator
	admin    client.Client
	people   map[plan.Who]client.Client
	// servants are the controllers that go wrong, by what they write, and impostors are accounts of their names in the namespace.
	servants, impostors map[string]client.Client
	// carrying and posing are the same by the names of the controllers.
	carrying, posing map[string]client.Client
	// thingController and otherController are those of Things and of the others of that name, by their own identities, and node the one on which Pods run.
	thingController, otherController, node client.Client
	schemas                                draw.Schemas
	policies                               []*v1alpha1.AllowancePolicy
	// namespace is where everything is, and family is whose object alone there are acts upon;
	// all by default.
	namespace, family string
	// elsewhere is the second namespace, nil where there is none; few is true for that one, in which alice has
	// less.
	elsewhere *stage
	few       bool

	mu sync.Mutex
	// begun is when each act began.
	begun []time.Time
	// upon is what each act was done to.
	upon map[int]string
}

// before returns how many acts had begun at a time.
func (s *stage) before(t time.Time) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(s.begun), t.Before))
}

var scheme = controlplane.NewScheme()

// set starts a control plane and the operator.
func set(ctx context.Context) (_ *stage, err error) {
	s := &stage{namespace: "stranger", people: map[plan.Who]client.Client{}, schemas: draw.Schemas{}}
	opts := controlplane.Options{Dir: *keep, APIServers: *servers, Progress: func(line string) { sayf("%s", line) }}
	if *keep != "" {
		if err := os.MkdirAll(*keep, 0o700); err != nil {
			return nil, err
		}
	}
	if s.cp, err = controlplane.Start(ctx, opts); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.cp.Stop())
		}
	}()
	program := *binary
	if program == "" {
		program = filepath.Join(*root, "bin", "manager")
	}
	overlay := *setup
	if overlay == "" {
		overlay = filepath.Join(*root, "config", "dev")
	}
	s.operator, err = controlplane.InstallOperator(ctx, s.cp, controlplane.OperatorOptions{Binary: program, Overlay: overlay})
	if err != nil {
		return nil, err
	}
	if s.admin, err = as(s.cp.AdminConfig()); err != nil {
		return nil, err
	}
	if err := s.define(ctx); err != nil {
		return nil, err
	}
	s.elsewhere = &stage{
		cp: s.cp, operator: s.operator, admin: s.admin, schemas: s.schemas, namespace: "elsewhere", few: true,
		people: map[plan.Who]client.Client{},
	}
	for _, one := range []*stage{s, s.elsewhere} {
		if err := one.invite(ctx); err != nil {
			return nil, err
		}
	}
	if err := s.govern(ctx); err != nil {
		return nil, err
	}
	err = s.learn()
	return s, err
}

// as returns the client of somebody; what the API server warns of is not told.
func as(config *rest.Config) (client.Client, error) {
	config.WarningHandler = rest.NoWarnings{}
	config.QPS, config.Burst = 200, 400
	return client.New(config, client.Options{Scheme: scheme})
}

// define has the API server serve the custom kinds: the second is as the first in another group.
func (s *stage) define(ctx context.Context) error {
	for _, group := range []string{thingGroup, otherGroup} {
		raw, err := yaml.YAMLToJSON(bytes.ReplaceAll(definition, []byte(thingGroup), []byte(group)))
		if err != nil {
			return err
		}
		crd := &unstructured.Unstructured{}
		if err := json.Unmarshal(raw, crd); err != nil {
			return err
		}
		if err := s.admin.Create(ctx, crd); err != nil {
			return err
		}
	}
	return wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		return s.admin.List(ctx, listOf("things")) == nil && s.admin.List(ctx, listOf(plan.Others)) == nil, nil
	})
}

func listOf(resource string) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	gvk := kinds[resource]
	gvk.Kind += "List"
	list.SetGroupVersionKind(gvk)
	return list
}

// controllerOf are who carries out what, by the resource that they write.
var controllerOf = map[string]string{
	"replicasets": "deployment-controller", "pods": "replicaset-controller", "jobs": "cronjob-controller",
	"controllerrevisions": "statefulset-controller", "configmaps": "thing-controller",
}

// invite makes the people, who may write all kinds of the namespace, and the controllers that
// go wrong.
func (s *stage) invite(ctx context.Context) error {
	if err := s.admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: s.namespace, Labels: map[string]string{governed: "yes"},
	}}); err != nil {
		return err
	}
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: s.namespace},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}},
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: s.namespace},
	}
	add := func(user string, groups ...string) (client.Client, error) {
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user})
		return as(s.cp.Spread(s.cp.ConfigAs(user, groups...)))
	}
	var err error
	for who, groups := range map[plan.Who][]string{plan.Alice: {initiators}, plan.Mallory: nil, plan.Bob: nil} {
		if s.people[who], err = add(string(who), groups...); err != nil {
			return err
		}
	}
	if _, err = add("system:serviceaccount:kube-system:other-thing-controller"); err != nil {
		return err
	}
	s.servants, s.impostors = map[string]client.Client{}, map[string]client.Client{}
	s.carrying, s.posing = map[string]client.Client{}, map[string]client.Client{}
	for _, name := range carriers {
		if s.carrying[name], err = add("system:serviceaccount:kube-system:" + name); err != nil {
			return err
		}
		if s.posing[name], err = add("system:serviceaccount:" + s.namespace + ":" + name); err != nil {
			return err
		}
	}
	for resource, name := range controllerOf {
		if s.servants[resource], err = add("system:serviceaccount:kube-system:" + name); err != nil {
			return err
		}
		if s.impostors[resource], err = add("system:serviceaccount:" + s.namespace + ":" + name); err != nil {
			return err
		}
	}
	if s.node, err = as(s.cp.ConfigAs("system:node:node-1", "system:nodes")); err != nil {
		return err
	}
	if err := s.admin.Create(ctx, role); err != nil {
		return err
	}
	if err := s.admin.Create(ctx, binding); err != nil {
		return err
	}
	if s.thingController, err = s.employ(ctx, controllerOf["configmaps"]); err != nil {
		return err
	}
	if s.otherController, err = s.employ(ctx, "other-thing-controller"); err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		err := s.admin.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: "default"}, &corev1.ServiceAccount{})
		return err == nil, client.IgnoreNotFound(err)
	})
}

// employ returns the client of a service account of kube-system, which it makes: it acts as itself.
func (s *stage) employ(ctx context.Context, name string) (client.Client, error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: name}}
	if err := s.admin.Create(ctx, account); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, err
	}
	path := filepath.Join(s.cp.Dir(), s.namespace+"-"+name+".kubeconfig")
	if err := s.cp.WriteKubeconfigFor(ctx, account.Namespace, account.Name, path); err != nil {
		return nil, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, err
	}
	return as(config)
}

// documented are the policies of a page of the documentation.
var documented = regexp.MustCompile("(?s)```yaml\n(apiVersion: kausality.io.*?)```")

// govern applies the policies of the samples, of the documentation and of the campaign.
func (s *stage) govern(ctx context.Context) error {
	var err error
	if s.policies, err = builders.SamplePolicies(*root); err != nil {
		return err
	}
	page, err := os.ReadFile(filepath.Join(*root, "docs", "allowancepolicy.md"))
	if err != nil {
		return err
	}
	texts := bytes.Split(morePolicies, []byte("\n---\n"))
	own := len(texts)
	for _, block := range documented.FindAllSubmatch(page, -1) {
		if !bytes.Contains(block[1], []byte("name: ticket")) { // It is for other Deployments.
			texts = append(texts, block[1])
		}
	}
	for i, text := range texts {
		p := &v1alpha1.AllowancePolicy{}
		if err := yaml.UnmarshalStrict(text, p); err != nil {
			return err
		}
		if i >= own && strings.Contains(p.Spec.For.APIGroup, ".") {
			continue // It is for a kind that is not here.
		}
		s.policies = append(s.policies, p)
	}
	for _, p := range s.policies {
		p.Spec.FailurePolicy = v1alpha1.FailurePolicy(*failure)
		if err := s.admin.Create(ctx, p.DeepCopy()); err != nil {
			return fmt.Errorf("AllowancePolicy %s: %w", p.Name, err)
		}
	}
	return s.untilEnforced(ctx)
}

func (s *stage) untilEnforced(ctx context.Context) error {
	var waiting []string
	err := wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		waiting = nil
		for _, p := range s.policies {
			live := &v1alpha1.AllowancePolicy{}
			if err := s.admin.Get(ctx, client.ObjectKeyFromObject(p), live); err != nil {
				return false, client.IgnoreNotFound(err)
			}
			enforced := apimeta.FindStatusCondition(live.Status.Conditions, v1alpha1.ConditionEnforced)
			if enforced == nil || enforced.Status != metav1.ConditionTrue || enforced.ObservedGeneration != live.Generation {
				waiting = append(waiting, p.Name)
			}
		}
		return len(waiting) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("AllowancePolicies %s are not enforced: %w", strings.Join(waiting, ", "), err)
	}
	return nil
}

// learn reads the schemas of the kinds.
func (s *stage) learn() error {
	dc, err := discovery.NewDiscoveryClientForConfig(s.cp.AdminConfig())
	if err != nil {
		return err
	}
	var missing []string
	err = wait.PollUntilContextTimeout(context.Background(), poll, patience, true, func(context.Context) (bool, error) {
		paths, err := dc.OpenAPIV3().Paths()
		if err != nil {
			return false, err
		}
		missing = nil
		for _, name := range documents {
			if paths[name] == nil {
				missing = append(missing, name)
				continue
			}
			raw, err := paths[name].Schema(runtime.ContentTypeJSON)
			if err != nil {
				return false, err
			}
			if err := s.schemas.Add(raw); err != nil {
				return false, err
			}
		}
		for _, gvk := range kinds {
			if _, err := s.schemas.Of(gvk); err != nil {
				missing = append(missing, gvk.String())
			}
		}
		return len(missing) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("the API server publishes no schemas of %s: %w", strings.Join(missing, ", "), err)
	}
	return nil
}

// remembered is what is kept of a campaign beside its audit log.
type remembered struct {
	Seed  uint64
	Acts  int
	Final map[string]bool
	// Until is when the objects were read: what comes after that is not judged.
	Until time.Time
}

const rememberedFile = "stranger.json"

// collect reads what is there at the end.
func (s *stage) collect(ctx context.Context) (checker.Evidence, error) {
	kept := remembered{Seed: *seed, Acts: *acts, Final: map[string]bool{}, Until: time.Now()}
	for resource := range kinds {
		list := listOf(resource)
		if err := s.admin.List(ctx, list); err != nil {
			return checker.Evidence{}, err
		}
		for i := range list.Items {
			kept.Final[string(list.Items[i].GetUID())] = true
		}
	}
	raw, err := json.Marshal(kept)
	if err != nil {
		return checker.Evidence{}, err
	}
	if err := os.WriteFile(filepath.Join(s.cp.Dir(), rememberedFile), raw, 0o600); err != nil {
		return checker.Evidence{}, err
	}
	return evidenceIn(s.cp.Dir(), &kept)
}

// evidenceIn returns what a folder has.
func evidenceIn(dir string, kept *remembered) (checker.Evidence, error) {
	file, err := os.Open(filepath.Join(dir, "audit.log"))
	if err != nil {
		return checker.Evidence{}, err
	}
	defer file.Close() //nolint:errcheck // Only read from.
	log, err := checker.Read(file)
	if err != nil {
		return checker.Evidence{}, err
	}
	if !kept.Until.IsZero() {
		log = log.Before(kept.Until)
	}
	said, err := os.ReadFile(filepath.Join(dir, "operator.log"))
	if err != nil {
		return checker.Evidence{}, err
	}
	played := map[int]bool{}
	for _, a := range plan.Make(kept.Seed, kept.Acts) {
		if a.Who == plan.Gone && !a.Impostor {
			played[a.N] = true
		}
	}
	return checker.Evidence{Log: log, Operator: controlplane.OperatorUser, Final: kept.Final, Played: played, Whole: true, Kept: true, Said: string(said)}, nil
}

// judgeAgain judges what an earlier campaign has left.
func judgeAgain(dir string) error {
	raw, err := os.ReadFile(filepath.Join(dir, rememberedFile))
	if err != nil {
		return err
	}
	var kept remembered
	if err := json.Unmarshal(raw, &kept); err != nil {
		return err
	}
	evidence, err := evidenceIn(dir, &kept)
	if err != nil {
		return err
	}
	r, err := checker.Check(evidence)
	if err != nil {
		return err
	}
	return report(r)
}
