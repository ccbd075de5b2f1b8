package merkle

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestQuotePath(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ path, want string }{
		"plain":             {"a/b.go", "a/b.go"},
		"printable UTF-8":   {"é/ü", "é/ü"},
		"newline and tab":   {"a\nb\tc", `"a\nb\tc"`},
		"ANSI escape":       {"\x1b[31m", `"\033[31m"`},
		"invalid UTF-8":     {"a\xff", `"a\377"`},
		"leading quote":     {`"a`, `"\"a"`},
		"inner quote":       {`a"b`, `a"b`},
		"right to left":     {"a\u202eb", `"a\342\200\256b"`},
		"replacement rune":  {"\ufffd", "\ufffd"},
		"backslash":         {`a\b`, `a\b`},
		"backslash, quoted": {"a\\\n", `"a\\\n"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := QuotePath(tc.path); got != tc.want {
				t.Fatalf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func FuzzQuotePath(f *testing.F) {
	for _, seed := range []string{"a", "\xff\n", `"`, "\u202e\\", "\x00\x7f"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		quoted := QuotePath(path)
		back, err := UnquotePath(quoted)
		if err != nil || back != path {
			t.Fatalf("%q became %q, %v", path, back, err)
		}
		if !utf8.ValidString(quoted) || strings.ContainsAny(quoted, "\n\x1b\x00") {
			t.Fatalf("%q is not printable", quoted)
		}
	})
}

func FuzzUnquotePath(f *testing.F) {
	for _, seed := range []string{`"\377"`, `"\9"`, `"a`, `"\400"`, `"\"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, quoted string) {
		path, err := UnquotePath(quoted)
		if err != nil {
			return
		}
		if back, err := UnquotePath(QuotePath(path)); err != nil || back != path {
			t.Fatalf("%q became %q, %v", path, back, err)
		}
	})
}
