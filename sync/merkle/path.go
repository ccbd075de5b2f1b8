package merkle

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Hidden reports whether a character shows nothing of itself, or changes how others are
// shown: control and format characters, separators other than the space, private and
// unassigned code points, and the blanks that scripts disguise as letters. Paths, answers,
// logs and errors all show such a character as an escape.
func Hidden(r rune) bool {
	switch r {
	case 0x115f, 0x1160, 0x2800, 0x3164, 0xffa0:
		return true
	}
	if unicode.Is(unicode.Variation_Selector, r) {
		return r != 0xfe0f && r != 0xfe0e // the two that choose how an emoji looks
	}
	return !unicode.IsPrint(r)
}

// QuotePath writes a path so that it survives JSON, terminals and sorted lines: a path of
// UTF-8 without Hidden characters stays as it is; any other is put in double quotes with C escapes, as git
// does with core.quotePath (control bytes and invalid UTF-8 as three octal digits).
// UnquotePath gives back the same bytes.
func QuotePath(path string) string {
	if plainPath(path) {
		return path
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(path); {
		r, size := utf8.DecodeRuneInString(path[i:])
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case (r == utf8.RuneError && size == 1) || Hidden(r):
			for _, c := range []byte(path[i : i+size]) {
				fmt.Fprintf(&b, `\%03o`, c)
			}
		default:
			b.WriteRune(r)
		}
		i += size
	}
	b.WriteByte('"')
	return b.String()
}

func plainPath(path string) bool {
	if strings.HasPrefix(path, `"`) || !utf8.ValidString(path) {
		return false
	}
	for _, r := range path {
		if Hidden(r) {
			return false
		}
	}
	return true
}

// ErrBadQuote is returned by UnquotePath for text that QuotePath cannot have written.
var ErrBadQuote = errors.New("bad quoted path")

// UnquotePath reverses QuotePath. Text that does not begin with a double quote is returned
// unchanged.
func UnquotePath(quoted string) (string, error) {
	if !strings.HasPrefix(quoted, `"`) {
		return quoted, nil
	}
	if len(quoted) < 2 || !strings.HasSuffix(quoted, `"`) {
		return "", ErrBadQuote
	}
	body := quoted[1 : len(quoted)-1]
	out := make([]byte, 0, len(body))
	for i := 0; i < len(body); i++ {
		c := body[i]
		if c == '"' {
			return "", ErrBadQuote
		}
		if c != '\\' {
			out = append(out, c)
			continue
		}
		i++
		if i == len(body) {
			return "", ErrBadQuote
		}
		switch body[i] {
		case '"', '\\':
			out = append(out, body[i])
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		default:
			c, ok := octal(body[i:])
			if !ok {
				return "", ErrBadQuote
			}
			out = append(out, c)
			i += 2
		}
	}
	return string(out), nil
}

func octal(s string) (byte, bool) {
	if len(s) < 3 {
		return 0, false
	}
	n := 0
	for _, c := range []byte(s[:3]) {
		if c < '0' || c > '7' {
			return 0, false
		}
		n = n*8 + int(c-'0')
	}
	return byte(n), n < 256
}
