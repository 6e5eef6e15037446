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

package admission

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kausality.io/operator/internal/decision"
	"kausality.io/operator/internal/kubectl"
)

// hook is what differs between the two webhooks, step by step.
type hook interface {
	// name is what the webhook is called.
	name() string
	// receive decodes a request. It returns errNothingToJudge where the webhook has nothing to
	// say about it.
	receive(ctx context.Context, req admission.Request) (*request, error)
	// rule hears whoever else has a say in what was decided, and finds what else stands in the
	// way. It writes nothing.
	rule(ctx context.Context, r *request, o *outcome) (*ruling, error)
	// commit writes what the answer cannot carry, and has people hear of the request. It
	// returns errTaken, before anything else is written, where another request has got what
	// this one was decided by.
	commit(ctx context.Context, r *request, ru *ruling) error
	// answer answers a request that passes.
	answer(ctx context.Context, r *request, ru *ruling) admission.Response
	// count counts an answer, and returns the outcome by which its duration is measured. The
	// ruling is nil where there is none; nothing but the outcome counts of dry runs.
	count(req admission.Request, ru *ruling, resp admission.Response, dryRun bool) (outcome string)
}

// ruling is what becomes of a request.
type ruling struct {
	// outcome is by the parent by which the chain of the object goes on.
	*outcome
	// others are by the other parents of the object, as far as they were heard.
	others []hearing
	// again is true where the mutating webhook was asked about the request before.
	again bool
	// deputy is what the object has done to another one; nil where that is nothing.
	deputy *delegation
	// wouldWait is true where the gate would be closed if policies said Deny.
	wouldWait bool
	// staysOutside is true where a deletion leaves what the object stands for outside, which might go as well.
	staysOutside bool
	// refusal is the answer to a request that does not pass, nil to one that does.
	refusal *admission.Response
	// refusedBy says who stands in the way then.
	refusedBy refuser
}

// hearing is what becomes of a request as far as one of several parents has a say.
type hearing struct {
	r *request
	*outcome
}

// refuser is who stands in the way of a request, which decides who hears of it.
type refuser int

const (
	// refusedByParent: the verdict of a parent, which its record has.
	refusedByParent refuser = iota
	// refusedByOwn: the policies of the object itself.
	refusedByOwn
	// refusedByProof: those as well, where a status would prove what is withheld.
	refusedByProof
	// refusedByTarget: the policies of another object, which this one would scale.
	refusedByTarget
	// refusedByState: nobody; the object would be stored wrong, or there is no room.
	refusedByState
)

func (ru *ruling) refuse(by refuser, resp admission.Response) *ruling {
	ru.refusal, ru.refusedBy = &resp, by
	return ru
}

// errNothingToJudge says that a webhook has nothing to say about a request.
var errNothingToJudge = errors.New("nothing to judge")

// errTaken says that another request has got what only one can have, since this one was
// decided: it is decided again.
var errTaken = errors.New("other requests for children of the same parent were faster")

// maxAttempts is how often a request is decided before its requester has to try again.
const maxAttempts = 4

// handle takes a request through the steps of a webhook.
func (g *Gatherer) handle(ctx context.Context, h hook, req admission.Request) admission.Response {
	watch := startWatch(h.name())
	r, ru, err := g.judge(ctx, h, req)
	var resp admission.Response
	switch {
	case err != nil:
		ru, resp = nil, g.unjudged(ctx, req, err)
	case ru.refusal != nil:
		resp = *ru.refusal
	default:
		resp = h.answer(ctx, r, ru)
	}
	if r != nil && r.validating {
		resp.Warnings = append(resp.Warnings, r.lossWarnings()...)
	}
	visible(&resp)
	watch.stop(h.count(req, ru, resp, dryRun(req) || r != nil && r.dryRun))
	return resp
}

// visible makes what people are told one line that hides nothing: names of objects and users are
// in it, and a terminal shows it as it is.
func visible(resp *admission.Response) {
	if resp.Result != nil {
		resp.Result.Message = kubectl.Printable(resp.Result.Message)
	}
	for i, text := range resp.Warnings {
		resp.Warnings[i] = kubectl.Printable(text)
	}
}

// judge decodes a request, decides what becomes of it, and commits that. What it decides by
// is gathered anew where somebody was faster.
func (g *Gatherer) judge(ctx context.Context, h hook, req admission.Request) (*request, *ruling, error) {
	r, err := h.receive(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	for range maxAttempts {
		var o *outcome
		if o, err = g.decideAsAsked(ctx, r); err != nil {
			return r, nil, err
		}
		ru, err := h.rule(ctx, r, o)
		if err == nil && ru.refusal == nil {
			err = r.unread // What is refused without what the request loses is refused with it.
		}
		if err != nil {
			return r, nil, err
		}
		err = h.commit(ctx, r, ru)
		if !errors.Is(err, errTaken) {
			return r, ru, err
		}
	}
	return r, nil, lostError{errTaken}
}

// unjudged answers a request that has no ruling.
func (g *Gatherer) unjudged(ctx context.Context, req admission.Request, err error) admission.Response {
	var elsewhere targetError
	switch {
	case errors.Is(err, errNothingToJudge):
		return admission.Allowed("")
	case errors.As(err, new(lostError)):
		return lost(ctx, req, err)
	case errors.As(err, &elsewhere):
		return g.failedAbout(ctx, req, elsewhere.kind, elsewhere.error)
	default:
		return g.failed(ctx, req, err)
	}
}

// noteWithdrawn remembers what was withheld of the parents when the request was decided.
func (g *Gatherer) noteWithdrawn(ru *ruling) {
	g.withdrawn.note(ru.parent.UID, ru.withheldOfParent...)
	for _, other := range ru.others {
		g.withdrawn.note(other.parent.UID, other.withheldOfParent...)
	}
}

// grantOf returns what the object's ledger gets by a request that passes.
func (ru *ruling) grantOf() decision.Grant {
	if ru == nil || ru.refusal != nil {
		return decision.Grant{}
	}
	return ru.grant
}
