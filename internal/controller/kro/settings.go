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

package kro

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/derive/draft"
)

// Settings are what no graph says. The operator's flags say it for all graphs, and annotations
// of a graph for that one.
type Settings struct {
	// Account is the service account of kro.
	Account v1alpha1.Subject
	// Initiators are who may change instances. Without any, a policy is in effect for nobody.
	Initiators []v1alpha1.Subject
	// Actions are what happens to what is not allowed.
	Actions []v1alpha1.ValidationAction
	// Recreate lets kro make children again that were lost.
	Recreate bool
}

// ParseSettings reads settings from the values of flags: a service account, and comma-separated
// initiators and actions.
func ParseSettings(account, initiators, actions string, recreate bool) (Settings, error) {
	out := Settings{Recreate: recreate}
	var err error
	if out.Account, err = draft.ParseAccount(account); err != nil {
		return out, err
	}
	if out.Initiators, err = draft.ParseInitiators(split(initiators)); err != nil {
		return out, err
	}
	out.Actions, err = parseActions(actions)
	return out, err
}

// of returns the settings for a graph with these annotations.
func (s Settings) of(annotations map[string]string) (Settings, error) {
	var err error
	if text, said := annotations[v1alpha1.AnnotationInitiators]; said {
		if s.Initiators, err = draft.ParseInitiators(split(text)); err != nil {
			return s, fmt.Errorf("annotation %s: %w", v1alpha1.AnnotationInitiators, err)
		}
	}
	if text, said := annotations[v1alpha1.AnnotationValidationActions]; said {
		if s.Actions, err = parseActions(text); err != nil {
			return s, fmt.Errorf("annotation %s: %w", v1alpha1.AnnotationValidationActions, err)
		}
	}
	if text, said := annotations[v1alpha1.AnnotationRecreate]; said {
		if s.Recreate, err = strconv.ParseBool(text); err != nil {
			return s, fmt.Errorf("annotation %s: %q is neither true nor false", v1alpha1.AnnotationRecreate, text)
		}
	}
	return s, nil
}

// knownActions are those that a policy may have.
var knownActions = []v1alpha1.ValidationAction{v1alpha1.ActionDeny, v1alpha1.ActionWarn, v1alpha1.ActionAudit}

func parseActions(text string) ([]v1alpha1.ValidationAction, error) {
	var out []v1alpha1.ValidationAction
	for _, name := range split(text) {
		action := v1alpha1.ValidationAction(name)
		if !slices.Contains(knownActions, action) {
			return nil, fmt.Errorf("%q is none of %v", name, knownActions)
		}
		if !slices.Contains(out, action) {
			out = append(out, action)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no action is named: name some of %v", knownActions)
	}
	if slices.Contains(out, v1alpha1.ActionDeny) && slices.Contains(out, v1alpha1.ActionWarn) {
		return nil, fmt.Errorf("%s and %s exclude each other", v1alpha1.ActionDeny, v1alpha1.ActionWarn)
	}
	return out, nil
}

// split returns the items of a comma-separated list, none for an empty text.
func split(text string) []string {
	var out []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}
