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
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kausality.io/operator/api/v1alpha1"
	"kausality.io/operator/internal/cli/phrase"
	"kausality.io/operator/internal/kubectl"
	"kausality.io/operator/internal/ledger"
	"kausality.io/operator/internal/lineage"
)

// Stray says that the parent adopted the object without a cause: no allowance covers a change of it.
type Stray struct {
	// Since when it is one.
	Since metav1.Time `json:"since"`
	// Delete and Approve are the commands that end it.
	Delete  string `json:"delete"`
	Approve string `json:"approve"`
}

// strayOf returns what there is to say of an object, which commands call so, that is a stray of its parent, nil where it is none, or where
// strays are as bounded as others.
func (h *holder) strayOf(obj *unstructured.Unstructured, of kubectl.Objects, bound Bound) *Stray {
	if h.rec == nil || h.Adopting || h.Deleting || len(bound.Policies) == 0 {
		return nil
	}
	stray := strayIn(h.rec.Status.Strays, obj.GetUID())
	if stray == nil {
		return nil
	}
	return &Stray{
		Since: stray.Time, Delete: kubectl.Delete(of), Approve: kubectl.Annotate(of, ledger.AnnotationKey(obj, ledger.NameApprove), lineage.OwnersPath),
	}
}

func strayIn(strays []v1alpha1.StrayChild, uid types.UID) *v1alpha1.StrayChild {
	for i := range strays {
		if strays[i].UID == uid {
			return &strays[i]
		}
	}
	return nil
}

// rid is all that may be done to a stray, by those whom the rules of its parent would let change it.
func (h *holder) rid(obj *unstructured.Unstructured) []Permission {
	return []Permission{{
		What: "delete or release " + obj.GetKind(),
		Because: strings.Join(append([]string{
			"it is a stray: " + phrase.Object(h.GVK.Kind, h.Name) + " adopted it without a cause, and no allowance covers a change of it",
		}, h.notForYou(obj.GroupVersionKind().GroupKind())...), ", "),
	}}
}

// straysOfIt is what an obstacle is called that is the strays of a parent.
const straysOfIt = "Strays"

// straysIn returns the obstacle that strays are for their parent.
func straysIn(strays []v1alpha1.StrayChild, ref v1alpha1.TargetReference) []Obstacle {
	if len(strays) == 0 {
		return nil
	}
	names := make([]string, 0, len(strays))
	for _, s := range strays {
		names = append(names, phrase.Object(s.Kind, s.Name))
	}
	return []Obstacle{{What: straysOfIt, Since: &strays[0].Time, Message: fmt.Sprintf(
		"%s adopted %s without a cause: no allowance covers a change of strays, and no other child of their kind is deleted for them. "+
			"Delete them, or approve that they are there", phrase.Target(ref), phrase.Some(names, mostBelow)), Command: phrase.Command("why", ref)}}
}

// stray tells of the object as a stray.
func (p *page) stray(c *Child) {
	if c.Stray == nil {
		return
	}
	became := "It became a stray " + phrase.Ago(c.Stray.Since.Time, p.now) + ". "
	if len(c.Initiators) == 0 {
		p.put(p.terminal.Wrap(indent, became+"Who may use what its parent allows may delete it:"))
		p.put(indent + indent + c.Stray.Delete + "\n")
		return
	}
	p.put(p.terminal.Wrap(indent, became+strings.Join(c.Initiators, " or ")+" may delete it, or approve that it is there:"))
	p.put(indent + indent + c.Stray.Delete + "\n" + indent + indent + c.Stray.Approve + "\n")
}
