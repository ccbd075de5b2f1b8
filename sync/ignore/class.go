package ignore

import "strings"

type byteSet [4]uint64

func (s *byteSet) add(b byte)      { s[b>>6] |= 1 << (b & 63) }
func (s *byteSet) has(b byte) bool { return s[b>>6]&(1<<(b&63)) != 0 }

// parseClass reads a character class from behind its "[" and returns its bytes and the
// place behind its "]". It reports false for one that is malformed.
func parseClass(pattern string, i int) (*byteSet, int, bool) {
	set := &byteSet{}
	negated := i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^')
	if negated {
		i++
	}
	var previous byte // the start of a range, 0 when there is none
	for first := true; ; first = false {
		if i >= len(pattern) {
			return nil, 0, false
		}
		c := pattern[i]
		if c == ']' && !first {
			break
		}
		switch {
		case c == '\\':
			if i++; i == len(pattern) {
				return nil, 0, false
			}
			previous = pattern[i]
			set.add(previous)
		case c == '-' && previous != 0 && i+1 < len(pattern) && pattern[i+1] != ']':
			if i++; pattern[i] == '\\' {
				if i++; i == len(pattern) {
					return nil, 0, false
				}
			}
			for b := int(previous); b <= int(pattern[i]); b++ {
				set.add(byte(b))
			}
			previous = 0
		case c == '[' && i+1 < len(pattern) && pattern[i+1] == ':':
			next, named, ok := set.addNamed(pattern, i+2)
			if !ok {
				return nil, 0, false
			}
			i, previous = next, 0
			if !named {
				previous = '['
			}
		default:
			set.add(c)
			previous = c
		}
		i++
	}
	if negated {
		for w := range set {
			set[w] = ^set[w]
		}
	}
	return set, i + 1, true
}

// addNamed reads "name:]" at i and adds the bytes of the class. When no ":]" ends it, the
// "[" stands for itself. It returns the place of the last byte read.
func (s *byteSet) addNamed(pattern string, i int) (last int, named, ok bool) {
	length := strings.IndexByte(pattern[i:], ']')
	if length < 0 {
		return 0, false, false
	}
	if length == 0 || pattern[i+length-1] != ':' {
		s.add('[')
		return i - 2, false, true
	}
	member := namedClass(pattern[i : i+length-1])
	if member == nil {
		return 0, false, false
	}
	for b := range 128 {
		if member(byte(b)) {
			s.add(byte(b))
		}
	}
	return i + length, true, true
}

// namedClass returns the ASCII members of a POSIX class, or nil.
func namedClass(name string) func(byte) bool {
	upper := func(b byte) bool { return b >= 'A' && b <= 'Z' }
	lower := func(b byte) bool { return b >= 'a' && b <= 'z' }
	digit := func(b byte) bool { return b >= '0' && b <= '9' }
	graph := func(b byte) bool { return b > ' ' && b < 0x7f }
	alnum := func(b byte) bool { return upper(b) || lower(b) || digit(b) }
	switch name {
	case "alnum":
		return alnum
	case "alpha":
		return func(b byte) bool { return upper(b) || lower(b) }
	case "blank":
		return func(b byte) bool { return b == ' ' || b == '\t' }
	case "cntrl":
		return func(b byte) bool { return b < ' ' || b == 0x7f }
	case "digit":
		return digit
	case "graph":
		return graph
	case "lower":
		return lower
	case "print":
		return func(b byte) bool { return b == ' ' || graph(b) }
	case "punct":
		return func(b byte) bool { return graph(b) && !alnum(b) }
	case "space":
		return func(b byte) bool { return b == ' ' || (b >= '\t' && b <= '\r') }
	case "upper":
		return upper
	case "xdigit":
		return func(b byte) bool { return digit(b) || (b|0x20 >= 'a' && b|0x20 <= 'f') }
	}
	return nil
}
