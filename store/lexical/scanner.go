package lexical

import (
	"unicode"
	"unicode/utf8"
)

// Bounds of what a text can give.
const (
	// MaxToken is the most bytes of a token; the rest of a longer word is dropped.
	MaxToken = 64
	// blobRun is the length from which a run of letters and digits may be a blob: a hash, a
	// key, encoded data.
	blobRun = 32
	// blobWord makes such a run a blob when its words are shorter than this on average.
	blobWord = 3
	// blobToken is how much of a blob is kept, as one token.
	blobToken = 32
)

// The classes of bytes.
const (
	other uint8 = iota
	lower
	upper
	digit
	wide  // a byte of a rune beyond ASCII
	ideal // a rune that is a word of its own: Han, Hiragana, Katakana
)

var classes = classTable()

func classTable() (table [256]uint8) {
	for c := range table {
		switch {
		case 'a' <= c && c <= 'z':
			table[c] = lower
		case 'A' <= c && c <= 'Z':
			table[c] = upper
		case '0' <= c && c <= '9':
			table[c] = digit
		case c >= utf8.RuneSelf:
			table[c] = wide
		}
	}
	return table
}

// Scanner iterates over the tokens of a text without allocating. The zero value scans an
// empty text. It must not be used from two goroutines at once.
type Scanner struct {
	src         []byte
	pos, end    int // what is left of the current run of word bytes
	start, stop int // the current token
	narrow      bool
	token       []byte
	buf         [MaxToken + utf8.UTFMax]byte
}

// Reset starts over with a text, which must not change while it is scanned.
func (s *Scanner) Reset(src []byte) {
	s.src, s.pos, s.end, s.start, s.stop, s.token = src, 0, 0, 0, 0, nil
}

// Next moves to the next token and reports whether there is one.
func (s *Scanner) Next() bool {
	for {
		if s.pos >= s.end && !s.nextRun() {
			return false
		}
		if s.end-s.pos >= blobRun && s.startsRun() && s.blob() {
			s.start, s.stop = s.pos, s.end
			s.lowerASCII(s.pos, s.pos+blobToken)
			s.pos = s.end
			return true
		}
		if s.narrow {
			s.nextNarrow()
		} else {
			s.nextWide()
		}
		if len(s.token) > 0 {
			return true
		}
	}
}

// Token returns the current token, lower-cased. It is valid until the next call of Next or
// Reset and must not be written.
func (s *Scanner) Token() []byte { return s.token }

// Span returns where the current token stands in the text.
func (s *Scanner) Span() (start, end int) { return s.start, s.stop }

func (s *Scanner) startsRun() bool { return s.pos != s.stop || s.pos == 0 }

// nextRun finds the next run of letters and digits.
func (s *Scanner) nextRun() bool {
	src, i := s.src, s.end
	for {
		for i < len(src) && classes[src[i]] == other {
			i++
		}
		if i >= len(src) {
			s.pos, s.end = len(src), len(src)
			return false
		}
		if classes[src[i]] != wide {
			break
		}
		class, size := runeClass(src[i:])
		if class != other {
			break
		}
		i += size
	}
	s.pos, s.narrow = i, true
	for i < len(src) {
		class := classes[src[i]]
		if class == other {
			break
		}
		if class != wide {
			i++
			continue
		}
		class, size := runeClass(src[i:])
		if class == other {
			break
		}
		s.narrow = false
		i += size
	}
	s.end = i
	return true
}

// nextNarrow takes the next word of a run of ASCII letters and digits.
func (s *Scanner) nextNarrow() {
	src, i, end := s.src, s.pos, s.end
	class, j := classes[src[i]], i+1
	for j < end && classes[src[j]] == class {
		j++
	}
	if class == upper && j < end && classes[src[j]] == lower {
		switch {
		case j-i == 1:
			for j++; j < end && classes[src[j]] == lower; j++ {
			}
		case src[j] == 's' && (j+1 == end || classes[src[j+1]] != lower):
			j++ // URLs, IDs
		default:
			j-- // the last capital begins the next word
		}
	}
	s.start, s.stop, s.pos = i, j, j
	if class == upper {
		s.lowerASCII(i, min(j, i+MaxToken))
		return
	}
	s.token = src[i:min(j, i+MaxToken):j]
}

func (s *Scanner) lowerASCII(i, j int) {
	token := s.buf[:j-i]
	for k, c := range s.src[i:j] {
		if classes[c] == upper {
			c |= 0x20
		}
		token[k] = c
	}
	s.token = token
}

// nextWide takes the next word of a run that holds runes beyond ASCII, by the same rules.
func (s *Scanner) nextWide() {
	src, i, end := s.src, s.pos, s.end
	class, size := runeClass(src[i:end])
	j := i + size
	last := i // where the last rune of the capitals begins
	capitals := 1
	for j < end {
		next, size := runeClass(src[j:end])
		if next != class || class == ideal {
			break
		}
		last = j
		capitals++
		j += size
	}
	if class == upper && j < end {
		j = s.afterCapitals(j, last, capitals)
	}
	s.start, s.stop, s.pos = i, j, j
	s.lowerRunes(i, j)
}

// afterCapitals returns where a word ends whose capitals end at j, the last of them
// beginning at last.
func (s *Scanner) afterCapitals(j, last, capitals int) int {
	next, size := runeClass(s.src[j:s.end])
	if next != lower {
		return j
	}
	if capitals > 1 {
		after := other
		if j+size < s.end {
			after, _ = runeClass(s.src[j+size : s.end])
		}
		if s.src[j] == 's' && after != lower {
			return j + size
		}
		return last
	}
	for next == lower {
		j += size
		if j >= s.end {
			break
		}
		next, size = runeClass(s.src[j:s.end])
	}
	return j
}

func (s *Scanner) lowerRunes(i, j int) {
	token := s.buf[:0]
	for i < j {
		r, size := utf8.DecodeRune(s.src[i:j])
		r = unicode.ToLower(r)
		if len(token)+utf8.RuneLen(r) > MaxToken {
			break
		}
		token = utf8.AppendRune(token, r)
		i += size
	}
	s.token = token
}

// blob reports whether the run from pos looks like encoded data and not like words.
func (s *Scanner) blob() bool {
	words, before := 0, other
	for _, c := range s.src[s.pos:s.end] {
		class := classes[c]
		if class == wide {
			return false
		}
		if class != before && (before != upper || class != lower) {
			words++
		}
		before = class
	}
	return words*blobWord > s.end-s.pos
}

// runeClass returns the class of the first rune and its size. A mark belongs to the letter
// before it, and a letter without case counts as a small one.
func runeClass(src []byte) (class uint8, size int) {
	if src[0] < utf8.RuneSelf {
		return classes[src[0]], 1
	}
	r, size := utf8.DecodeRune(src)
	switch {
	case r == utf8.RuneError && size <= 1:
		return other, 1
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
		return ideal, size
	case unicode.IsUpper(r):
		return upper, size
	case unicode.IsLetter(r), unicode.IsMark(r):
		return lower, size
	case unicode.IsDigit(r):
		return digit, size
	}
	return other, size
}
