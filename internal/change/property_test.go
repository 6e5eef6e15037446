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

package change

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"
)

var (
	anyName = rapid.OneOf(
		rapid.SampledFrom([]string{"a", "b", "name", "containers", "ports", "containerPort", "protocol", "mountPath", "data", "labels"}),
		rapid.String(),
	)
	anyScalar = rapid.OneOf(
		rapid.Just[any](nil),
		rapid.SampledFrom([]any{"", "a", "b", "c", int64(0), int64(1), 0.5, true, false}),
		rapid.Map(rapid.String(), func(s string) any { return s }),
		rapid.Map(rapid.Int64(), func(i int64) any { return i }),
	)
	// anyEmpty is a value that is empty, or null.
	anyEmpty = rapid.Custom(func(t *rapid.T) any {
		switch rapid.IntRange(0, 4).Draw(t, "empty") {
		case 0:
			return nil
		case 1:
			return []any{}
		case 2:
			return map[string]any{"a": map[string]any{}}
		case 3:
			return map[string]any{"a": nil}
		default:
			return map[string]any{}
		}
	})
	// anyOptions are strict, or tolerate empty values.
	anyOptions = rapid.Map(rapid.Bool(), func(tolerate bool) Options { return Options{TolerateEmpty: tolerate} })
	anyPath    = rapid.Custom(func(t *rapid.T) Path {
		p := Path{fieldSegment(anyName.Draw(t, "top"))}
		return append(p, rapid.SliceOfN(rapid.OneOf(
			rapid.Map(anyName, fieldSegment),
			rapid.Map(rapid.IntRange(0, 3), indexSegment),
			rapid.Map(rapid.Uint32(), func(i uint32) Segment { return indexSegment(int(i)) }),
		), 0, 4).Draw(t, "rest")...)
	})
	anyPattern = rapid.Custom(func(t *rapid.T) Pattern {
		p := Pattern(anyPath.Draw(t, "path"))
		for i := range p {
			if rapid.Bool().Draw(t, "wildcard") {
				p[i] = wildcard
			}
		}
		return p
	})
)

// anyValue returns JSON of some depth. Items of lists often have keys.
func anyValue(depth int) *rapid.Generator[any] {
	if depth == 0 {
		return anyScalar
	}
	below := rapid.Deferred(func() *rapid.Generator[any] { return anyValue(depth - 1) })
	keyed := rapid.Custom(func(t *rapid.T) any {
		m := rapid.MapOfN(anyName, below, 0, 3).Draw(t, "item")
		for _, key := range []string{"name", "containerPort", "protocol"} {
			m[key] = rapid.SampledFrom([]any{"a", "b", "c", "d"}).Draw(t, key)
		}
		return m
	})
	return rapid.OneOf(
		anyScalar,
		rapid.Map(rapid.MapOfN(anyName, below, 0, 4), func(m map[string]any) any { return m }),
		rapid.Map(rapid.SliceOfN(below, 0, 4), func(l []any) any { return l }),
		rapid.Map(rapid.SliceOfN(keyed, 0, 4), func(l []any) any { return l }),
		rapid.Map(rapid.SliceOfNDistinct(keyed, 0, 4, func(v any) any {
			return mapOrNil(v)["name"]
		}), func(l []any) any { return l }),
	)
}

// versions are two versions of an object that have much in common.
var versions = rapid.Custom(func(t *rapid.T) [2]map[string]any {
	before := map[string]any{"spec": anyValue(4).Draw(t, "spec"), "data": anyValue(2).Draw(t, "data")}
	after, _ := edited(t, before).(map[string]any)
	return [2]map[string]any{before, after}
})

// edited returns a copy of v in which a few things differ.
func edited(t *rapid.T, v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for name, held := range v {
			switch rapid.IntRange(0, 9).Draw(t, "edit") {
			case 0:
			case 1:
				m[name] = anyValue(2).Draw(t, "value")
			case 2:
				m[name] = anyEmpty.Draw(t, "empty value")
			default:
				m[name] = edited(t, held)
			}
		}
		if rapid.IntRange(0, 9).Draw(t, "add") == 0 {
			m[anyName.Draw(t, "added")] = anyEmpty.Draw(t, "empty value")
		}
		return m
	case []any:
		l := []any{}
		for _, item := range v {
			switch rapid.IntRange(0, 9).Draw(t, "edit") {
			case 0:
			case 1:
				l = append(l, edited(t, item), anyValue(2).Draw(t, "item"))
			case 2:
				l = append(l, anyEmpty.Draw(t, "empty item"))
			default:
				l = append(l, edited(t, item))
			}
		}
		if rapid.IntRange(0, 9).Draw(t, "shuffle") == 0 {
			l = rapid.Permutation(l).Draw(t, "shuffled")
		}
		return l
	}
	return v
}

func TestPropertyChangesMakeTheNewObject(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, opts := versions.Draw(t, "versions"), anyOptions.Draw(t, "options")
		got := apply(v[0], Find(v[0], v[1], opts))
		if diff := cmp.Diff(prune(v[1], opts), prune(got, opts)); diff != "" {
			t.Fatalf("changes applied to the old object (-new +got):\n%s", diff)
		}
	})
}

func TestPropertyNothingDiffersFromItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, opts := versions.Draw(t, "versions")[0], anyOptions.Draw(t, "options")
		pruned, _ := prune(v, opts).(map[string]any)
		for name, same := range map[string]map[string]any{"itself": v, "without what is as good as absent": pruned} {
			if got := Find(v, same, opts); len(got) > 0 {
				t.Fatalf("Find on an object and %s = %v", name, got)
			}
		}
	})
}

func TestPropertyOnlyNullIsAsGoodAsAbsent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := versions.Draw(t, "versions")
		same := cmp.Equal(prune(counted(v[0]), Options{}), prune(counted(v[1]), Options{}))
		if got := Find(v[0], v[1], Options{}); same != (len(got) == 0) {
			t.Fatalf("equal but for nulls: %v, Find() = %v", same, got)
		}
	})
}

func TestPropertyStrictFindsAllThatTolerantFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := versions.Draw(t, "versions")
		strict, tolerant := Find(v[0], v[1], Options{}), Find(v[0], v[1], Options{TolerateEmpty: true})
		for _, c := range tolerant {
			if !slices.ContainsFunc(strict, func(s Change) bool { return Pattern(c.Path).Covers(s.Path) || Pattern(s.Path).Covers(c.Path) }) {
				t.Fatalf("%s %s is not among the strict changes %v", c.Verb, c.Path, strict)
			}
		}
	})
}

// sharing returns the new version of two with all in it that the old one has too: the very
// same maps and lists, as where both were decoded together.
func sharing(before, after any) any {
	if cmp.Equal(before, after) {
		return before
	}
	b, a := mapOrNil(before), mapOrNil(after)
	if b == nil || a == nil {
		return after
	}
	out := map[string]any{}
	for name, held := range a {
		out[name] = held
		if was, ok := b[name]; ok {
			out[name] = sharing(was, held)
		}
	}
	return out
}

func TestPropertySharingChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, opts := versions.Draw(t, "versions"), anyOptions.Draw(t, "options")
		shared := mapOrNil(sharing(v[0], v[1]))
		if diff := cmp.Diff(Find(v[0], v[1], opts), Find(v[0], shared, opts)); diff != "" {
			t.Fatalf("Find() (-apart +sharing):\n%s", diff)
		}
	})
}

func TestPropertyFindIsDeterministic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, opts := versions.Draw(t, "versions"), anyOptions.Draw(t, "options")
		first := Find(v[0], v[1], opts)
		if diff := cmp.Diff(first, Find(v[0], v[1], opts)); diff != "" {
			t.Fatalf("Find() (-first +second):\n%s", diff)
		}
		for i := 1; i < len(first); i++ {
			a, b := first[i-1], first[i]
			if c := a.Path.Compare(b.Path); c > 0 || c == 0 && a.Verb >= b.Verb {
				t.Fatalf("%s %s comes before %s %s", a.Verb, a.Path, b.Verb, b.Path)
			}
		}
	})
}

func TestPropertyChangesHoldTheirValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, opts := versions.Draw(t, "versions"), anyOptions.Draw(t, "options")
		isAbsent := comparison{tolerateEmpty: opts.TolerateEmpty}.isAbsent
		for _, c := range Find(v[0], v[1], opts) {
			isItem := c.Path[len(c.Path)-1].Type == indexSegment(0).Type
			if !isItem && (c.Verb == Delete && isAbsent(c.Old) || c.Verb == Insert && isAbsent(c.New)) {
				t.Fatalf("%s %s: what was or is there is as good as absent", c.Verb, c.Path)
			}
			if c.Verb == Delete {
				continue // Its path is one in the old list, perhaps in an item that moved.
			}
			if got, ok := c.Path.Value(v[1]); !ok && c.New != nil || !cmp.Equal(got, c.New) {
				t.Fatalf("%s %s: New is %v, the new object has %v", c.Verb, c.Path, c.New, got)
			}
		}
	})
}

func TestPropertyHashesAreEqualWhereNothingDiffers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, opts := versions.Draw(t, "versions"), anyOptions.Draw(t, "options")
		same := len(Find(v[0], v[1], opts)) == 0
		if got := hashOf(v[0], opts) == hashOf(v[1], opts); got != same {
			t.Fatalf("hashes are equal: %v, nothing differs: %v", got, same)
		}
	})
}

// hashOf returns the hash of what counts that is as strict as Find with the options.
func hashOf(obj map[string]any, opts Options) string {
	if opts.TolerateEmpty {
		return HashOfCounted(obj)
	}
	return StrictHash(counted(obj))
}

func TestPropertyPathsSurviveTheirText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPath.Draw(t, "path")
		got, err := ParsePath(p.String())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(p, got); diff != "" {
			t.Fatalf("ParsePath(%s) (-want +got):\n%s", p, diff)
		}
	})
}

func TestPropertyPatternsSurviveTheirText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPattern.Draw(t, "pattern")
		got, err := ParsePattern(p.String())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(p, got); diff != "" {
			t.Fatalf("ParsePattern(%s) (-want +got):\n%s", p, diff)
		}
	})
}

// patternFor returns a pattern that often covers the path, or is below it.
func patternFor(t *rapid.T, p Path) Pattern {
	pattern := Pattern(slices.Clone(p))
	for i := range pattern {
		if rapid.Bool().Draw(t, "wildcard") {
			pattern[i] = wildcard
		}
	}
	pattern = pattern[:rapid.IntRange(1, len(pattern)).Draw(t, "length")]
	if rapid.Bool().Draw(t, "extend") {
		pattern = append(pattern, anyPattern.Draw(t, "more")...)
	}
	return pattern
}

func TestPropertyCoversWhatIsBelow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, rest := anyPath.Draw(t, "path"), anyPath.Draw(t, "rest")
		pattern := patternFor(t, p)
		if pattern.Covers(p) && !pattern.Covers(p.below(rest...)) {
			t.Fatalf("%s covers %s, but not %s", pattern, p, p.below(rest...))
		}
		if pattern.Covers(p) && !pattern.Touches(p) {
			t.Fatalf("%s covers %s, but does not touch it", pattern, p)
		}
	})
}

func TestPropertyMatchesWhatItCovers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, opts := versions.Draw(t, "versions"), anyOptions.Draw(t, "options")
		for _, c := range Find(v[0], v[1], opts) {
			pattern := patternFor(t, c.Path)
			at, matches := pattern.Matches(c, nil)
			switch {
			case pattern.Covers(c.Path) && (!matches || !cmp.Equal(at, c.Path)):
				t.Fatalf("%s covers %s, but matches %v at %s", pattern, c.Path, matches, at)
			case matches && !pattern.Covers(at):
				t.Fatalf("%s matches %s, but does not cover %s", pattern, c.Path, at)
			case matches && !pattern.Touches(c.Path):
				t.Fatalf("%s matches %s, but does not touch it", pattern, c.Path)
			}
		}
	})
}

func TestPropertyExpandsToWhatItCovers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		obj := versions.Draw(t, "versions")[0]
		pattern := anyPattern.Draw(t, "pattern")
		for _, at := range pattern.Expand(obj) {
			if !pattern.Covers(at) || len(at) != len(pattern) {
				t.Fatalf("%s expands to %s", pattern, at)
			}
			if v, ok := at.Value(obj); !ok || v == nil {
				t.Fatalf("%s expands to %s, which has no value", pattern, at)
			}
		}
	})
}

func TestPropertySetIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		obj, p := map[string]any{}, anyPath.Draw(t, "path")
		if err := p.Set(obj, "x"); err != nil {
			return
		}
		if got, ok := p.Value(obj); !ok || got != "x" {
			t.Fatalf("%s holds %v after it was set", p, got)
		}
	})
}

func TestPropertyQuantitiesHaveOneText(t *testing.T) {
	number := rapid.StringMatching(`-?[0-9]{1,20}(\.[0-9]{0,12})?`)
	suffix := rapid.SampledFrom([]string{"", "n", "u", "m", "k", "M", "G", "E", "Ki", "Mi", "Gi", "Ei", "e3", "E-6"})
	rapid.Check(t, func(t *rapid.T) {
		a := number.Draw(t, "a") + suffix.Draw(t, "unit of a")
		b := number.Draw(t, "b") + suffix.Draw(t, "unit of b")
		x, y := resource.MustParse(a), resource.MustParse(b)
		if rapid.Bool().Draw(t, "same value") {
			// Another text of the same value.
			b = resource.NewDecimalQuantity(*x.AsDec(), resource.BinarySI).String()
			y = resource.MustParse(b)
		}
		textA, okA := quantityOf(a)
		textB, okB := quantityOf(b)
		if !okA || !okB {
			t.Fatalf("quantityOf(%s) and quantityOf(%s): %v, %v", a, b, okA, okB)
		}
		if (textA == textB) != (x.Cmp(y) == 0) {
			t.Fatalf("%s and %s have the texts %s and %s, but compare as %d", a, b, textA, textB, x.Cmp(y))
		}
	})
}

// Whatever the keys are, paths that are joined are the same when they are split again.
func TestJoinedPathsAreSplit(t *testing.T) {
	anyKey := rapid.OneOf(anyName, rapid.StringOf(rapid.RuneFrom([]rune{',', '[', ']', '\'', '"', '\\', '@', '*', ' ', '\n', 'a'})))
	awkward := rapid.Custom(func(t *rapid.T) Pattern {
		return append(slices.Clone(anyPattern.Draw(t, "pattern")), fieldSegment(anyKey.Draw(t, "key")))
	})
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.OneOf(anyPattern, awkward), 1, 4).Draw(t, "patterns")
		texts := make([]string, 0, len(want))
		for _, p := range want {
			texts = append(texts, p.String()+rapid.SampledFrom([]string{"", "@0123456789ab"}).Draw(t, "digest"))
		}
		split := SplitPaths(JoinPaths(texts))
		if diff := cmp.Diff(texts, split); diff != "" {
			t.Fatalf("split (-want +got):\n%s", diff)
		}
		for i, text := range split {
			p, err := ParsePattern(strings.TrimSuffix(text, "@0123456789ab"))
			if diff := cmp.Diff(want[i], p); diff != "" || err != nil {
				t.Fatalf("%s is another pattern, %v (-want +got):\n%s", text, err, diff)
			}
		}
	})
}
