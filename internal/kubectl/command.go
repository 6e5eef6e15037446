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

// Package kubectl writes the commands that messages tell people to run. What is in them comes
// from objects, and so from whoever may write these: it is quoted, so that a shell takes it for
// what it is, and shown, so that a terminal hides nothing of it.
package kubectl

import (
	"net/url"
	"strings"
)

// Objects are what a command is about.
type Objects struct {
	Group, Kind string
	// Namespace is empty for cluster-scoped objects.
	Namespace string
	Names     []string
	// Version is named where it is not empty: where kubectl takes another one by itself, in which a write loses
	// fields that the object has.
	Version string
}

// Annotate returns the command that sets an annotation of objects. The value is quoted in any case.
func Annotate(of Objects, key, value string) string {
	return "kubectl annotate" + of.namespaceFlag() + " " + of.arguments() + " " + Word(key) + "=" + Quote(value)
}

// Delete returns the command that deletes objects.
func Delete(of Objects) string {
	return "kubectl delete" + of.namespaceFlag() + " " + of.arguments()
}

// Kausality returns a command of the plugin about one object.
func Kausality(command string, of Objects) string {
	return "kubectl kausality " + command + of.namespaceFlag() + " " + of.Slashed()
}

// Name returns the name of an object as an argument. One that cannot be shown has percent signs, as
// in a URL: no name has these, so that a command with it is about nothing, rather than about
// something that is called alike.
func Name(name string) string { return Word(visible(name)) }

func visible(name string) string {
	if Printable(name) == name {
		return name
	}
	return url.PathEscape(name)
}

// namespaceFlag leaves a Namespace without one: the API server says of requests for it that they are in the
// namespace of its own name.
func (o Objects) namespaceFlag() string {
	if o.Group == "" && o.Kind == "Namespace" {
		return ""
	}
	return NamespaceFlag(o.Namespace)
}

// NamespaceFlag returns how a command is told a namespace, with a space before it.
func NamespaceFlag(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " -n " + Name(namespace)
}

// arguments returns KIND NAME…, or KIND/NAME… where a name would be read as a flag: those of some
// kinds may be anything.
func (o Objects) arguments() string {
	words := []string{Word(o.kind())}
	for _, name := range o.Names {
		if strings.HasPrefix(name, "-") {
			return o.Slashed()
		}
		words = append(words, Name(name))
	}
	return strings.Join(words, " ")
}

// Slashed returns KIND/NAME of each object, as arguments.
func (o Objects) Slashed() string {
	words := make([]string, 0, len(o.Names))
	for _, name := range o.Names {
		words = append(words, Word(o.kind()+"/"+visible(name)))
	}
	return strings.Join(words, " ")
}

// kind returns how kubectl is told a kind; the groups that Kubernetes itself serves may be left out.
func (o Objects) kind() string {
	kind := strings.ToLower(o.Kind)
	switch {
	case !strings.Contains(o.Group, "."):
		return kind // Kubernetes' own lose nothing in any version.
	case o.Version != "":
		return kind + "." + o.Version + "." + o.Group
	default:
		return kind + "." + o.Group
	}
}
