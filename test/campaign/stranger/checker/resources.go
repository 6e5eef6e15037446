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

package checker

import (
	"io"

	"kausality.io/operator/test/campaign/audit"
)

// Resources that the checker looks at.
const (
	deployments  = "deployments"
	replicaSets  = "replicasets"
	statefulSets = "statefulsets"
	daemonSets   = "daemonsets"
	revisions    = "controllerrevisions"
	jobs         = "jobs"
	cronJobs     = "cronjobs"
	pods         = "pods"
	things       = "things"
	others       = "things.other.example.org"
	autoscalers  = "horizontalpodautoscalers"
	configMaps   = "configmaps"
	policies     = "allowancepolicies"
	records      = "allowancerecords"
	events       = "events"
	namespaces   = "namespaces"

	validatingWebhooks = "validatingwebhookconfigurations"
	mutatingWebhooks   = "mutatingwebhookconfigurations"
)

// kinds are the kinds of the resources.
var kinds = audit.Kinds{
	deployments: "Deployment", replicaSets: "ReplicaSet", statefulSets: "StatefulSet", daemonSets: "DaemonSet",
	revisions: "ControllerRevision", jobs: "Job", cronJobs: "CronJob", pods: "Pod", things: "Thing", others: "Thing.other.example.org", configMaps: "ConfigMap",
	autoscalers: "HorizontalPodAutoscaler", policies: "AllowancePolicy", records: "AllowanceRecord", events: "Event", namespaces: "Namespace",
	validatingWebhooks: "ValidatingWebhookConfiguration", mutatingWebhooks: "MutatingWebhookConfiguration",
}

// Read reads an audit log.
func Read(r io.Reader) (*audit.Log, error) { return audit.Read(r, kinds) }
