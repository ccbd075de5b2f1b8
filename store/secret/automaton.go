package secret

// automaton finds any of many words in one pass over a text, without regard to the case of
// ASCII letters: the algorithm of Aho and Corasick with all transitions filled in.
type automaton struct {
	classes [256]uint8 // of the bytes, below 1<<shift; 0 for those that no word has
	next    []uint16   // state<<shift + class; the top bit says that words end there
	found   [][]int32  // words that end in a state, nil for nearly all
}

const (
	// shift is the logarithm of how many classes of bytes there may be.
	shift = 6
	ended = 1 << 15
)

// newAutomaton builds one of words in lower case, which have fewer than 64 different bytes.
func newAutomaton(words []string) *automaton {
	a := &automaton{}
	classes := uint8(1)
	for _, w := range words {
		for i := range len(w) {
			if a.classes[w[i]] == 0 {
				a.classes[w[i]] = classes
				classes++
			}
		}
	}
	if classes > 1<<shift {
		panic("secret: the words have too many different bytes")
	}
	for b := byte('A'); b <= 'Z'; b++ {
		a.classes[b] = a.classes[b|0x20]
	}
	a.state()
	for n, w := range words {
		at := 0
		for i := range len(w) {
			edge := at<<shift | int(a.classes[w[i]])
			if a.next[edge] == 0 {
				a.next[edge] = a.state()
			}
			at = int(a.next[edge])
		}
		a.found[at] = append(a.found[at], int32(n)) //nolint:gosec // a few hundred words
	}
	a.link()
	return a
}

func (a *automaton) state() uint16 {
	if len(a.found) == ended {
		panic("secret: the words have too many bytes")
	}
	a.next = append(a.next, make([]uint16, 1<<shift)...)
	a.found = append(a.found, nil)
	return uint16(len(a.found) - 1) //nolint:gosec // checked above
}

// link fills in where a state goes on when a word ends in nothing, breadth first, and marks
// the states in which words end.
func (a *automaton) link() {
	fail := make([]uint16, len(a.found))
	var queue []uint16
	for c := range 1 << shift {
		if to := a.next[c]; to != 0 {
			queue = append(queue, to)
		}
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		a.found[at] = append(a.found[at], a.found[fail[at]]...)
		for c := range 1 << shift {
			edge, instead := int(at)<<shift|c, a.next[int(fail[at])<<shift|c]
			if to := a.next[edge]; to != 0 {
				fail[to] = instead
				queue = append(queue, to)
			} else {
				a.next[edge] = instead
			}
		}
	}
	for i, to := range a.next {
		if a.found[to] != nil {
			a.next[i] |= ended
		}
	}
}

// each calls fn with each word that data holds and the place behind it.
func (a *automaton) each(data []byte, fn func(word, end int)) {
	next, state := a.next, uint16(0)
	for i, b := range data {
		state = next[int(state&^ended)<<shift|int(a.classes[b])]
		if state&ended == 0 {
			continue
		}
		for _, n := range a.found[state&^ended] {
			fn(int(n), i+1)
		}
	}
}

// any reports whether a text holds one of the words.
func (a *automaton) any(text string) bool {
	next, state := a.next, uint16(0)
	for i := range len(text) {
		if state = next[int(state)<<shift|int(a.classes[text[i]])]; state&ended != 0 {
			return true
		}
	}
	return false
}
