package tool

import (
	"fmt"
	"strings"

	"github.com/freshet/freshet/sync/merkle"
)

// ShellWord quotes an argument for a POSIX shell when it needs it. A quoted path is
// written as its bytes would have to be typed.
func ShellWord(s string) string {
	if raw, err := merkle.UnquotePath(s); err == nil {
		s = raw
	}
	safe := s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+=,", r)
	}) < 0
	if safe {
		return s
	}
	if Visible(s) != s || strings.Contains(s, "\n") {
		return "$" + escapedWord(s)
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// escapedWord writes bytes that no terminal shows as escapes.
func escapedWord(s string) string {
	var b strings.Builder
	b.WriteByte('\'')
	for _, c := range []byte(s) {
		switch {
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('\'')
	return b.String()
}
