package trigram

import (
	"unicode"
	"unicode/utf8"
)

// lower maps the ASCII letters to lower case and every other byte to itself.
var lower = func() (table [256]byte) {
	for i := range table {
		table[i] = byte(i)
		if 'A' <= i && i <= 'Z' {
			table[i] += 'a' - 'A'
		}
	}
	return table
}()

// foldRune returns the representative of the characters that differ from r by case only:
// the ASCII one in lower case if there is one, else the least.
func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		return rune(lower[r])
	}
	if 0x2E80 <= r && r < 0xA640 { // the ideographs and syllables of East Asia
		return r
	}
	least := r
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		least = min(least, other)
	}
	if least < utf8.RuneSelf {
		return rune(lower[least])
	}
	return least
}

// Fold appends a text to dst with every letter folded. Bytes that are not UTF-8 stay. It
// maps character by character: a text that holds another holds it folded, too.
func Fold(dst, text []byte) []byte {
	for at := 0; at < len(text); {
		c := text[at]
		if c < utf8.RuneSelf {
			dst = append(dst, lower[c])
			at++
			continue
		}
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 {
			dst = append(dst, c)
		} else {
			dst = utf8.AppendRune(dst, foldRune(r))
		}
		at += size
	}
	return dst
}
