package tool

import (
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/freshet/freshet/sync/merkle"
)

// pathful is implemented by parameters that hold absolute paths. They come quoted by
// merkle.QuotePath where JSON would lose bytes of them, and are unquoted before a handler
// sees them. Paths inside a codebase stay quoted until they are resolved.
type pathful interface{ unquote() error }

func (s *Scope) unquote() error {
	if err := unquotePath("cwd", &s.CWD); err != nil {
		return err
	}
	ref, err := merkle.UnquotePath(s.Codebase)
	if err == nil && filepath.IsAbs(ref) { // anything else is a name, which may hold quotes
		s.Codebase = ref
	}
	return nil
}

func (p *ManageParams) unquote() error {
	if err := p.Scope.unquote(); err != nil {
		return err
	}
	return unquotePath("path", &p.Path)
}

func (p *manageParams) unquote() error {
	if err := p.Scope.unquote(); err != nil {
		return err
	}
	return unquotePath("path", &p.Path)
}

func (p *RecordParams) unquote() error { return unquotePath("file", &p.File) }

func (p *ReplayParams) unquote() error { return unquotePath("file", &p.File) }

func unquotePath(field string, path *string) error {
	raw, err := merkle.UnquotePath(*path)
	if err != nil {
		return Invalid(field, "bad quotes in "+*path)
	}
	*path = raw
	return nil
}

// QuotePath writes a path of any bytes so that it crosses JSON whole, as answers show it.
func QuotePath(path string) string { return merkle.QuotePath(path) }

// UnquotePath is the reverse of QuotePath. What is not quoted stays as it is.
func UnquotePath(quoted string) (string, error) { return merkle.UnquotePath(quoted) }

// QuoteTarget writes a path, or a path with a range of lines, as typed bytes, so that it
// crosses JSON whole. A target that JSON does not change stays as it is: it may be quoted
// already, or be a symbol.
func QuoteTarget(target string) string {
	if utf8.ValidString(target) {
		return target
	}
	name, _, _, _ := splitRange(target)
	return merkle.QuotePath(name) + strings.TrimPrefix(target, name)
}

// absoluteTarget returns the path of a target that is absolute, "" for any other.
func absoluteTarget(target string) string {
	if strings.HasPrefix(target, `"`) {
		target, _, _, _ = splitRange(target)
	}
	if raw, err := merkle.UnquotePath(target); err == nil && filepath.IsAbs(raw) {
		return raw
	}
	return ""
}
