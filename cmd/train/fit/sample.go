package fit

import "github.com/freshet/freshet/cmd/train/pairs"

// Sample keeps one pair in n of a set, for quick trials.
func Sample(set *pairs.Set, n int) {
	kept := set.Pairs[:0]
	for i := 0; i < len(set.Pairs); i += n {
		kept = append(kept, set.Pairs[i])
	}
	set.Pairs = kept
}

// Caps are the most pairs of a kind that a language brings in.
type Caps [pairs.Kinds]int

// DefaultCaps returns the caps of the shipped model: without them the languages with the
// most packages would decide it.
func DefaultCaps() Caps {
	return Caps{pairs.Doc: 60_000, pairs.Inline: 15_000, pairs.Name: 20_000, pairs.Path: 10_000, pairs.Test: 10_000,
		pairs.Section: 25_000}
}

// Balance keeps at most as many pairs of each language and kind as the caps say, spread
// evenly over its sources.
func Balance(set *pairs.Set, caps Caps) {
	type class struct {
		language int16
		kind     pairs.Kind
	}
	counts, seen := map[class]int{}, map[class]int{}
	for _, p := range set.Pairs {
		counts[class{p.Language, p.Kind}]++
	}
	kept := set.Pairs[:0]
	for _, p := range set.Pairs {
		c := class{p.Language, p.Kind}
		n, most := counts[c], caps[p.Kind]
		i := seen[c]
		seen[c]++
		if n <= most || i*most/n != (i+1)*most/n {
			kept = append(kept, p)
		}
	}
	set.Pairs = kept
}
