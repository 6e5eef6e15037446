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

package derive

import (
	"fmt"

	krov1alpha1 "github.com/kubernetes-sigs/kro/api/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/offline"
	"kausality.io/operator/internal/cli/source"
	"kausality.io/operator/internal/derive/draft"
	"kausality.io/operator/internal/derive/generating"
	"kausality.io/operator/internal/derive/kro"
)

// origin derives from one document, or says what is wrong in it.
type origin func(*source.Document, *offline.Kinds) ([]*draft.Derivation, []source.Problem)

// origins returns the kinds that policies are derived from.
func (o *options) origins() (map[schema.GroupKind]origin, error) {
	account, err := draft.ParseAccount(o.account)
	if err != nil {
		return nil, fmt.Errorf("--service-account: %w", err)
	}
	initiators, err := draft.ParseInitiators(o.initiators)
	if err != nil {
		return nil, fmt.Errorf("--initiator: %w", err)
	}
	return map[schema.GroupKind]origin{
		{Group: krov1alpha1.GroupVersion.Group, Kind: "ResourceGraphDefinition"}: func(doc *source.Document, kinds *offline.Kinds) ([]*draft.Derivation, []source.Problem) {
			return fromGraph(doc, kro.Options{Subjects: kro.Subjects(account, initiators), ResourceFor: kinds.ResourceFor, Maintained: o.recreate})
		},
		{Group: v1alpha1.GroupVersion.Group, Kind: v1alpha1.KindGeneratingPolicy}: func(doc *source.Document, kinds *offline.Kinds) ([]*draft.Derivation, []source.Problem) {
			return fromGenerating(doc, generating.Options{Initiators: initiators, ResourceFor: kinds.ResourceFor, KindFor: kinds.KindFor, PutBack: o.putBack})
		},
	}, nil
}

func fromGraph(doc *source.Document, opts kro.Options) ([]*draft.Derivation, []source.Problem) {
	var rgd krov1alpha1.ResourceGraphDefinition
	if problems := doc.Decode(&rgd); len(problems) > 0 {
		return nil, problems
	}
	d, err := kro.Derive(&rgd, opts)
	if err != nil {
		return nil, []source.Problem{doc.Problem("spec", "kro would not accept the graph %s: %s", rgd.Name, err)}
	}
	return []*draft.Derivation{d}, nil
}

func fromGenerating(doc *source.Document, opts generating.Options) ([]*draft.Derivation, []source.Problem) {
	var p v1alpha1.GeneratingPolicy
	if problems := doc.Decode(&p); len(problems) > 0 {
		return nil, problems
	}
	derived, err := generating.Derive(&p, opts)
	if err != nil {
		return nil, []source.Problem{doc.Problem("spec", "nothing can be derived from GeneratingPolicy %s: %s", p.Name, err)}
	}
	return derived, nil
}
