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
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/cluster"
	"kausality.io/operator/internal/cli/exit"
	"kausality.io/operator/internal/cli/text"
	"kausality.io/operator/internal/derive/draft"
)

// compare says how policies in the cluster differ from what is derived. It fails where one
// does.
func compare(
	ctx context.Context, flags genericclioptions.RESTClientGetter, streams genericiooptions.IOStreams, derived []*draft.Derivation,
) error {
	reach, err := cluster.Connect(flags, streams.ErrOut)
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	terminal := text.Of(streams.Out)
	differ := false
	for _, d := range derived {
		name := d.Policy.Name
		var there v1alpha1.AllowancePolicy
		switch err := reach.Get(ctx, client.ObjectKey{Name: name}, &there); {
		case apierrors.IsNotFound(err):
			differ = true
			_, err = fmt.Fprintf(streams.Out, "AllowancePolicy %s is not in the cluster\n", name)
			if err != nil {
				return err
			}
		case err != nil:
			return exit.With(exit.Usage, fmt.Errorf("reading AllowancePolicy %s: %w", name, err))
		default:
			said, same := Diff(d.Policy, &there, terminal)
			differ = differ || !same
			if _, err := io.WriteString(streams.Out, said); err != nil {
				return fmt.Errorf("saying how AllowancePolicy %s differs: %w", name, err)
			}
		}
	}
	if differ {
		return exit.With(exit.Findings, errors.New("the cluster differs from what is derived"))
	}
	return nil
}

// Diff says what a policy allows that is not derived, by lines that begin with -, and what is
// derived that it does not allow, by lines that begin with +. Who may do it, and what happens
// to what is not allowed, is not derived, and not compared.
func Diff(derived, there *v1alpha1.AllowancePolicy, terminal text.Terminal) (said string, same bool) {
	lines := draft.Differences(derived, there)
	if len(lines) == 0 {
		return fmt.Sprintf("AllowancePolicy %s allows what is derived\n", there.Name), true
	}
	var out strings.Builder
	fmt.Fprintf(&out, "AllowancePolicy %s differs from what is derived\n", there.Name)
	for _, line := range lines {
		style := text.Good
		if line[0] == '-' {
			style = text.Bad
		}
		out.WriteString(terminal.Paint(style, line) + "\n")
	}
	return out.String(), false
}
