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

package access

import (
	"context"
	"slices"
)

// Duty is what the operator does whatever policies say, with rights that come with its installation.
type Duty struct {
	// Needs are the rights that it takes.
	Needs []Need
	// Without says what is so while one of them is missing.
	Without string
	// Vital says that what policies say is not wholly enforced then.
	Vital bool
	// Urgent says that this has to be asked about each time: who would tell of it ends soon.
	Urgent bool
}

// Installation is what the rights of the operator's own depend on.
type Installation struct {
	// Namespace that the operator runs in.
	Namespace string
	// CertSecret is the Secret with a serving certificate that it makes itself, empty where it makes none.
	CertSecret string
	// DigestKeySecret and PathKeySecret are the Secrets with its keys.
	DigestKeySecret, PathKeySecret string
	// Elected says that one of several replicas leads.
	Elected bool
}

// Groups and resources that the operator has rights of its own on.
const (
	ownGroup          = "kausality.io"
	admissionGroup    = "admissionregistration.k8s.io"
	secretsResource   = "secrets"
	policiesResource  = "allowancepolicies"
	recordsResource   = "allowancerecords"
	upgradesResource  = "upgradeallowances"
	generatesResource = "generatingpolicies"
)

// Own returns what the operator does with rights of its own, the most important first. What it needs for
// systems that not every cluster has, such as Crossplane and kro, is not among it.
func Own(in Installation) []Duty {
	cluster := func(group, resource, subresource string, verbs ...string) []Need {
		out := make([]Need, 0, len(verbs))
		for _, verb := range verbs {
			out = append(out, Need{Group: group, Resource: resource, Subresource: subresource, Verb: verb})
		}
		return out
	}
	here := func(group, resource, name string, verbs ...string) []Need {
		out := make([]Need, 0, len(verbs))
		for _, verb := range verbs {
			out = append(out, Need{Group: group, Resource: resource, Verb: verb, Namespace: in.Namespace, Name: name})
		}
		return out
	}
	asking := []string{
		"mutatingwebhookconfigurations", "validatingwebhookconfigurations", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings",
	}
	seeing, intercepting := make([]Need, 0, 2*len(asking)), make([]Need, 0, 3*len(asking))
	for _, resource := range asking {
		seeing = append(seeing, cluster(admissionGroup, resource, "", "list", "watch")...)
		intercepting = append(intercepting, cluster(admissionGroup, resource, "", "create", "update", "delete")...)
	}
	duties := []Duty{
		{
			Needs: slices.Concat(cluster(ownGroup, recordsResource, "", "get", "list", "watch", "create", "patch"),
				cluster(ownGroup, recordsResource, statusSubresource, "update")),
			Vital: true,
			Without: "AllowanceRecords cannot be read or written: requests are refused of which has to be written down what they allow, such as the creation of an object, " +
				"what such a request would allow is denied, and what depends on what cannot be read may pass unjudged",
		},
		{
			Needs: cluster(ownGroup, policiesResource, "", "list", "watch"), Vital: true,
			Without: "changes of AllowancePolicies are not noticed, and are judged by as they were",
		},
		{
			Needs: cluster("", "namespaces", "", "get", "list", "watch"), Vital: true,
			Without: "the labels of namespaces are those from before, and what cannot be read of them leaves requests unjudged",
		},
		{
			Needs: cluster("apiextensions.k8s.io", "customresourcedefinitions", "", "get", "list", "watch"), Vital: true,
			Without: "what custom resources are like is known as it was, and policies for new ones may not take effect",
		},
		{
			Needs: seeing, Vital: true,
			Without: "nobody notices that the API server does not ask any more about what policies name",
		},
	}
	if in.Elected {
		duties = append(duties, Duty{
			Needs: here("coordination.k8s.io", "leases", "", "get", "update"), Vital: true, Urgent: true,
			Without: "no replica can lead: requests are judged, and nothing that ends by time or by what a status says does so, no gate is closed, and what this says is not kept up to date",
		})
	}
	// Where something of it would have to be written, policies say that they are not intercepted.
	duties = append(duties, Duty{
		Needs:   intercepting,
		Without: "the API server cannot be told to ask about what policies will name, and what somebody changes of that by which it asks is not put back",
	})
	return append(duties, ownAside(in, cluster, here)...)
}

// needing makes needs of some verbs.
type needing func(group, resource, of string, verbs ...string) []Need

// ownAside returns the duties without which policies are enforced all the same.
func ownAside(in Installation, cluster, here needing) []Duty {
	duties := []Duty{
		{
			Needs:   cluster("authorization.k8s.io", "subjectaccessreviews", "", "create"),
			Without: "nobody can break the glass, and what depends on the rights of others is refused",
		},
		{
			Needs:   cluster(ownGroup, policiesResource, statusSubresource, "patch"),
			Without: "what AllowancePolicies say in their status is as it was",
		},
		{
			Needs:   slices.Concat(cluster(ownGroup, upgradesResource, "", "list", "watch"), cluster(ownGroup, upgradesResource, statusSubresource, "patch")),
			Without: "changes of UpgradeAllowances are not noticed, or not shown in their status",
		},
		{
			Needs:   slices.Concat(cluster(ownGroup, generatesResource, "", "list", "watch", "patch"), cluster(ownGroup, generatesResource, statusSubresource, "patch")),
			Without: "changes of GeneratingPolicies are not noticed, or not shown in their status",
		},
		{
			Needs:   cluster("autoscaling", "horizontalpodautoscalers", "", "list"),
			Without: "a number of Pods that somebody else changes is withheld, and not refused, where an autoscaler goes by it",
		},
		{
			Needs:   cluster("events.k8s.io", "events", "", "create", "patch"),
			Without: "no Event tells of what is denied, withheld, or waits",
		},
		{
			Needs:   cluster(ownGroup, recordsResource, "", "delete"),
			Without: "AllowanceRecords of objects that are gone stay",
		},
		{
			Needs:   here("", "configmaps", "", "list", "create", "patch"),
			Without: "what somebody changes while no replica runs may not be found afterwards",
		},
		{
			Needs:   here("", secretsResource, in.DigestKeySecret, "get"),
			Without: "a replica that starts anew does not",
		},
		{
			Needs:   here("", secretsResource, in.PathKeySecret, "get", "list", "watch", "update"),
			Without: "the key that the API server shows is not renewed",
		},
	}
	if in.CertSecret != "" {
		duties = append(duties, Duty{
			Needs:   slices.Concat(here("", secretsResource, "", "list", "watch"), here("", secretsResource, in.CertSecret, "get", "update")),
			Without: "the serving certificate is not renewed, and the API server reaches nobody once it has expired",
		})
	}
	return duties
}

// Lack is a duty that the operator cannot do.
type Lack struct {
	// Duty that it is.
	Duty
	// Missing are the rights of it that the operator has not.
	Missing []Need
}

// Lacking returns the duty where rights of it are missing.
func Lacking(ctx context.Context, rights interface {
	Missing(ctx context.Context, needs []Need) ([]Need, error)
}, duty Duty,
) ([]Lack, error) {
	missing, err := rights.Missing(ctx, duty.Needs)
	if err != nil || len(missing) == 0 {
		return nil, err
	}
	return []Lack{{Duty: duty, Missing: missing}}, nil
}

// SameLacks reports whether the two say the same.
func SameLacks(a, b []Lack) bool {
	return slices.EqualFunc(a, b, func(a, b Lack) bool { return a.Without == b.Without && slices.Equal(a.Missing, b.Missing) })
}
