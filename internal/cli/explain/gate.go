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

package explain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/cli/text"
	"kausality.io/operator/internal/controller/conditions"
	"kausality.io/operator/internal/gate"
	"kausality.io/operator/internal/gate/crossplane"
	"kausality.io/operator/internal/kubectl"
	"kausality.io/operator/internal/ledger"
)

// drivers read the gates of objects. Which of them an object's kind has does not
// matter here: State is the same for all, and so is what is asked of a driver.
var drivers = gate.Drivers{crossplane.Driver{}}

// gateOf returns what is known of an object's gate, nil where it has none.
func gateOf(s *sight) *Gate {
	obj := s.obj.obj
	state := gate.ReadState(obj.GetAnnotations())
	condition := gateCondition(obj)
	if !state.Adopted() && state.Held == nil && condition == nil {
		return nil
	}
	g := &Gate{Lets: []string{}, Openers: []Opener{}}
	if condition != nil {
		g.Message, g.Reason, g.Since = condition.Message, condition.Reason, &condition.LastTransitionTime
	}
	stored, _ := ledger.Decode(ledger.Annotation(obj, ledger.NameAllowances)) // unreadable: the obstacles say so
	seen := s.obj.holderSeen()
	for _, e := range stored {
		if hop, ok := e.LastHop(); ok && e.IsGate() {
			g.Openers = append(g.Openers, Opener{
				Verbs: e.Mutations, Field: hop.Field, Generation: e.Generation, Initiator: e.Initiator, Since: seen[e.ID()],
			})
		}
	}
	for _, driver := range drivers {
		g.Lets = append(g.Lets, driver.Lets(obj)...)
		if len(g.Lets) > 0 && len(g.Openers) > 0 {
			g.Waits = driver.Progress(obj, gate.ChangeOf(stored, state)).Describe()
		}
	}
	if state.Held == nil && obj.GetDeletionTimestamp() != nil {
		g.Waits = keptBy(obj)
	}
	if held := state.Held; held != nil {
		g.Held = &Held{User: held.User, Initiator: held.Initiator, Allowed: held.Allowed}
		if obj.GetDeletionTimestamp() == nil {
			g.Held.Refused = gate.Undeleted + crossplane.Driver{}.InUse(obj)
		}
		g.Held.Command = orphanCommand(s.objects())
	}
	return g
}

// keptBy says which finalizers keep an object whose deletion goes on: by those of its system it is waited for what is
// outside, and by others for whoever has set them. It is empty where there are none.
func keptBy(obj *unstructured.Unstructured) string {
	var systems, others []string
	for _, finalizer := range obj.GetFinalizers() {
		if slices.ContainsFunc(drivers, func(d gate.Driver) bool { return d.Finalizer() == finalizer }) {
			systems = append(systems, finalizer)
		} else {
			others = append(others, finalizer)
		}
	}
	var out []string
	if len(systems) > 0 {
		out = append(out, "It is being deleted, and its provider has still to do with what it stands for outside.")
	}
	if len(others) > 0 {
		out = append(out, fmt.Sprintf("It is being deleted, and stays until whoever has set these finalizers takes them off: %s.", strings.Join(others, ", ")))
	}
	return strings.Join(out, " ")
}

func (at standing) holderSeen() map[string]*metav1.Time {
	return (&holder{standing: at}).firstSeen()
}

// orphanCommand lets an object go without what it stands for.
func orphanCommand(of kubectl.Objects) string {
	return "kubectl annotate" + kubectl.NamespaceFlag(of.Namespace) + " " + of.Slashed() + " " + v1alpha1.AnnotationOrphan + "=true"
}

func gateCondition(obj *unstructured.Unstructured) *metav1.Condition {
	fields := conditions.Of(obj, v1alpha1.ConditionGate)
	if fields == nil {
		return nil
	}
	c := &metav1.Condition{Type: v1alpha1.ConditionGate}
	c.Reason, _ = fields["reason"].(string)
	c.Message, _ = fields["message"].(string)
	since, _ := fields["lastTransitionTime"].(string)
	if err := c.LastTransitionTime.UnmarshalQueryParameter(since); err != nil {
		c.LastTransitionTime = metav1.Time{}
	}
	return c
}

// gate says what the gate of the object lets through.
func (p *page) gate(g *Gate) {
	if g == nil {
		return
	}
	p.section("ITS GATE")
	state := "Closed: nothing changes outside the cluster."
	if len(g.Lets) > 0 {
		state = "Open for " + strings.Join(g.Lets, " and ") + "."
	}
	p.put(p.terminal.Wrap(indent, state))
	if len(g.Openers) > 0 {
		var table text.Table
		table.Header("ALLOWED", "FOR", "BY", "SINCE")
		for _, o := range g.Openers {
			since := "generation " + strconv.FormatInt(o.Generation, 10)
			if o.Since != nil {
				since += ", " + phrase.Ago(o.Since.Time, p.now)
			}
			table.Row(strings.Join(o.Verbs, ", "), o.Field, o.Initiator, since)
		}
		p.put(table.Render(p.terminal, indent))
	}
	if g.Held != nil {
		p.held(g)
		return
	}
	isClosed := g.Reason == v1alpha1.ReasonGateClosed
	switch {
	// A closed gate that has something to wait for says so; that of an open one is of
	// before.
	case g.Message != "" && (!isClosed || len(g.Lets) == 0 && (len(g.Openers) > 0 || waits(g.Message))):
		p.put(p.terminal.Wrap(indent, g.Reason+", "+phrase.Ago(g.Since.Time, p.now)+": "+g.Message))
	case g.Waits != "":
		p.put(p.terminal.Wrap(indent, g.Waits))
	}
}

// waits reports whether a gate that nobody has opened waits for somebody all the same.
func waits(message string) bool {
	return strings.Contains(message, gate.WasOfProvider) || strings.Contains(message, gate.Lost) || strings.Contains(message, gate.NotOutside)
}

// held says what a deletion that is held back waits for.
func (p *page) held(g *Gate) {
	h := g.Held
	by := h.User
	if h.Initiator != "" && h.Initiator != h.User {
		by += ", caused by " + h.Initiator + ","
	}
	if h.Refused != "" {
		p.put(p.terminal.Wrap(indent, "Its deletion by "+by+" has not come. "+h.Refused+" Within a minute the object goes on."))
		return
	}
	if h.Allowed {
		p.put(p.terminal.Wrap(indent, "Its deletion by "+by+" is allowed, and waits for the operator."))
		return
	}
	if g.Reason == v1alpha1.ReasonGateHeld && g.Message != "" {
		p.put(p.terminal.Wrap(indent, "Its deletion by "+by+" waits. "+g.Message))
	} else {
		p.put(p.terminal.Wrap(indent, "Its deletion by "+by+" waits."))
	}
	p.put(p.terminal.Wrap(indent, "Whoever may initiate on it or above it lets it go, and what it stands for outside stays:"))
	p.put(indent + indent + h.Command + "\n")
}
