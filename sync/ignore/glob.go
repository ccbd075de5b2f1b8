package ignore

import "math/bits"

// glob is a compiled wildcard pattern: a row of tokens, matched as an automaton whose
// state i means "the tokens before i are matched". All states are followed at once, so
// that no pattern costs more than its length times the text's.
type glob struct {
	tokens []token
	never  bool // a malformed pattern, which matches nothing
}

type tokenKind uint8

const (
	oneByte   tokenKind = iota // the byte itself
	anyByte                    // "?"
	oneOf                      // a character class
	star                       // "*": bytes other than '/', or any when slash is set
	maybeSkip                  // "**/": may be skipped with the two tokens after it
)

type token struct {
	kind  tokenKind
	slash bool // anyByte and star: '/' is matched too
	b     byte
	set   *byteSet
}

// compile reads a pattern. With path, '/' is matched by itself and "**" only, as fnmatch
// does with FNM_PATHNAME; without, the text is a base name.
func compile(pattern string, path bool) *glob {
	g := &glob{}
	for i := 0; i < len(pattern); {
		switch c := pattern[i]; c {
		case '*':
			i = g.compileStar(pattern, i, path)
		case '?':
			g.tokens = append(g.tokens, token{kind: anyByte, slash: !path})
			i++
		case '[':
			set, next, ok := parseClass(pattern, i+1)
			if !ok {
				return &glob{never: true}
			}
			if path {
				set['/'>>6] &^= 1 << ('/' & 63)
			}
			g.tokens = append(g.tokens, token{kind: oneOf, set: set})
			i = next
		case '\\':
			if i++; i == len(pattern) {
				return &glob{never: true}
			}
			fallthrough
		default:
			g.tokens = append(g.tokens, token{kind: oneByte, b: pattern[i]})
			i++
		}
	}
	return g
}

// compileStar reads the stars at i and returns the place behind what it has read.
func (g *glob) compileStar(pattern string, i int, path bool) int {
	first := i
	for i < len(pattern) && pattern[i] == '*' {
		i++
	}
	rest := pattern[i:]
	double := i-first > 1 && (first == 0 || pattern[first-1] == '/') &&
		(rest == "" || rest[0] == '/' || (len(rest) > 1 && rest[:2] == `\/`))
	switch {
	case !path:
		g.tokens = append(g.tokens, token{kind: star, slash: true})
	case !double:
		g.tokens = append(g.tokens, token{kind: star})
	case rest != "" && rest[0] == '/':
		g.tokens = append(g.tokens, token{kind: maybeSkip}, token{kind: star, slash: true}, token{kind: oneByte, b: '/'})
		i++
	default:
		g.tokens = append(g.tokens, token{kind: star, slash: true})
	}
	return i
}

// match reports whether the glob matches the whole text.
func (g *glob) match(text string) bool {
	if g.never {
		return false
	}
	var fixed [4]uint64
	now := fixed[:]
	words := len(g.tokens)/64 + 1
	if words > len(fixed) {
		now = make([]uint64, words)
	}
	now = now[:words]
	if words == 1 {
		return g.matchShort(text)
	}
	g.enter(now, 0)
	next := make([]uint64, words)
	for i := range len(text) {
		clear(next)
		alive := false
		for w, word := range now {
			for ; word != 0; word &= word - 1 {
				if to, ok := g.step(w<<6|bits.TrailingZeros64(word), text[i]); ok {
					g.enter(next, to)
					alive = true
				}
			}
		}
		if !alive {
			return false
		}
		now, next = next, now
	}
	last := len(g.tokens)
	return now[last>>6]&(1<<(last&63)) != 0
}

// matchShort is match for fewer than 64 tokens: one word holds all states.
func (g *glob) matchShort(text string) bool {
	now := g.enterShort(0, 0)
	for i := range len(text) {
		var next uint64
		for word := now; word != 0; word &= word - 1 {
			if to, ok := g.step(bits.TrailingZeros64(word), text[i]); ok {
				next = g.enterShort(next, to)
			}
		}
		if next == 0 {
			return false
		}
		now = next
	}
	return now&(1<<len(g.tokens)) != 0
}

// step returns the state that follows state when b is read.
func (g *glob) step(state int, b byte) (int, bool) {
	if state == len(g.tokens) {
		return 0, false
	}
	t := &g.tokens[state]
	switch t.kind {
	case oneByte:
		return state + 1, t.b == b
	case anyByte:
		return state + 1, t.slash || b != '/'
	case oneOf:
		return state + 1, t.set.has(b)
	case star:
		return state, t.slash || b != '/'
	}
	return 0, false // maybeSkip reads nothing
}

// enter adds a state and those reached from it without reading.
func (g *glob) enter(states []uint64, state int) {
	for {
		states[state>>6] |= 1 << (state & 63)
		if state == len(g.tokens) {
			return
		}
		switch g.tokens[state].kind {
		case star:
		case maybeSkip:
			g.enter(states, state+3)
		default:
			return
		}
		state++
	}
}

func (g *glob) enterShort(states uint64, state int) uint64 {
	for {
		states |= 1 << state
		if state == len(g.tokens) {
			return states
		}
		switch g.tokens[state].kind {
		case star:
		case maybeSkip:
			states = g.enterShort(states, state+3)
		default:
			return states
		}
		state++
	}
}
