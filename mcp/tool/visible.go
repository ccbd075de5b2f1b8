package tool

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/freshet/freshet/sync/merkle"
)

// Visible shows text that comes from files so that it cannot deceive a reader or drive a
// terminal: control characters, invalid bytes, and characters that are invisible or change
// the direction of writing are written as escapes. Line ends and tabs stay.
func Visible(s string) string {
	if plainText(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\r' && strings.HasPrefix(s[i:], "\r\n"):
		case hidden(r) && r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case hidden(r) && r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		case hidden(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

func plainText(s string) bool {
	for _, c := range []byte(s) {
		if c >= utf8.RuneSelf || (c < ' ' && c != '\n' && c != '\t') || c == 0x7f {
			return false
		}
	}
	return true
}

// hidden is merkle.Hidden without line ends and tabs.
func hidden(r rune) bool { return r != '\n' && r != '\t' && merkle.Hidden(r) }
