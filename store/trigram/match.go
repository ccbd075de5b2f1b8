package trigram

import (
	"fmt"
	"math/bits"
	"slices"
)

// Set is a set of texts by their numbers.
type Set []uint64

// NewSet returns an empty set of numbers below n.
func NewSet(n int) Set { return make(Set, (n+63)/64) }

// Has reports whether a number is in the set.
func (s Set) Has(i int) bool { return s[i>>6]&(1<<(i&63)) != 0 }

func (s Set) set(i uint32) { s[i>>6] |= 1 << (i & 63) }

// Count returns how many numbers are in the set.
func (s Set) Count() (n int) {
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

func (s Set) fill(n int) {
	for i := range s {
		s[i] = ^uint64(0)
	}
	if n%64 != 0 {
		s[len(s)-1] = 1<<(n%64) - 1
	}
}

// enough is how few texts are looked at rather than more lists.
const enough = 4

// Match returns the texts that may match a query, and those that could not be read when
// the index was made. The error wraps ErrCorrupt.
func (x *Index) Match(q *Query) (Set, error) {
	found, err := x.match(q)
	if err != nil {
		return nil, err
	}
	e, err := x.find(unread)
	if err != nil {
		return nil, err
	}
	if e.count > 0 && common(e.count, x.texts) {
		found.fill(int(x.texts))
		return found, nil
	}
	return found, e.texts(x.texts, found.set)
}

func (x *Index) match(q *Query) (Set, error) {
	if q.any {
		return x.matchAny(q)
	}
	found, err := x.matchAll(q.all)
	if err != nil {
		return nil, err
	}
	for i := range q.subs {
		if found.Count() <= enough {
			break
		}
		sub, err := x.match(&q.subs[i])
		if err != nil {
			return nil, err
		}
		for i := range found {
			found[i] &= sub[i]
		}
	}
	return found, nil
}

func (x *Index) matchAny(q *Query) (Set, error) {
	found := NewSet(int(x.texts))
	for i := range q.subs {
		sub, err := x.match(&q.subs[i])
		if err != nil {
			return nil, err
		}
		for i := range found {
			found[i] |= sub[i]
		}
	}
	return found, nil
}

// matchAll returns the texts that hold every trigram, or a few more: it reads the shortest
// lists first, and no further than they tell more than a look at the texts would.
func (x *Index) matchAll(all []uint32) (Set, error) {
	found := NewSet(int(x.texts))
	var entries []entry
	for _, code := range all {
		e, err := x.find(code)
		switch {
		case err != nil:
			return nil, err
		case e.count == 0:
			return found, nil
		case common(e.count, x.texts):
		default:
			entries = append(entries, e)
		}
	}
	found.fill(int(x.texts))
	slices.SortFunc(entries, func(a, b entry) int { return int(a.count) - int(b.count) })
	left := int(x.texts)
	next := NewSet(int(x.texts))
	for _, e := range entries {
		if left <= enough {
			break
		}
		clear(next)
		left = 0
		err := e.texts(x.texts, func(text uint32) {
			if found.Has(int(text)) {
				next.set(text)
				left++
			}
		})
		if err != nil {
			return nil, fmt.Errorf("list of %d texts: %w", e.count, err)
		}
		found, next = next, found
	}
	return found, nil
}
